//! Any small profile plans or faults, and what plans keeps its promises.

use super::*;
use crate::plan::{Op, Pick, show};
use proptest::prelude::*;

fn number() -> impl Strategy<Value = String> {
    const NUMBERS: [&str; 11] = [
        "0", "1", "2", "3", "cpus", "nodes", "n", "cpus / 3", "n - 1", "size", "2 * n",
    ];
    const MEMBERS: [&str; 6] = [
        "me",
        "me + 1",
        "(me + 1) % size",
        "me - 1",
        "1 / me",
        "me % 2",
    ];
    prop_oneof![
        4 => prop::sample::select(&NUMBERS[..]).prop_map(str::to_owned),
        1 => prop::sample::select(&MEMBERS[..]).prop_map(str::to_owned),
    ]
}

fn address() -> impl Strategy<Value = String> {
    let which = prop_oneof![
        Just("*".to_owned()),
        Just("next".to_owned()),
        Just("any".to_owned()),
        number(),
    ];
    prop_oneof![
        Just("one".to_owned()),
        which.prop_map(|which| format!("many[{which}]"))
    ]
}

fn step() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => address().prop_map(|to| format!("{{ send = '{to}' }}")),
        3 => address().prop_map(|from| format!("{{ receive = '{from}' }}")),
        1 => number().prop_map(|n| format!("{{ spin = '({n}) * 1us' }}")),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        let steps = prop::collection::vec(inner, 0..3).prop_map(|steps| steps.join(", "));
        prop_oneof![
            4 => (number(), steps.clone())
                .prop_map(|(n, steps)| format!("{{ repeat = '{n}', steps = [ {steps} ] }}")),
            1 => steps.clone().prop_map(|steps| format!("{{ forever = [ {steps} ] }}")),
            1 => steps.prop_map(|steps| format!("{{ measure = 'm', steps = [ {steps} ] }}")),
        ]
    })
}

fn team(name: &'static str) -> impl Strategy<Value = String> {
    const KEYS: [&str; 5] = [
        "",
        "pin = true",
        "spread = 'llc'",
        "on = 'node:me'",
        "as = 'processes'",
    ];
    let keys = prop::sample::select(&KEYS[..]);
    let steps = prop::collection::vec(step(), 0..4).prop_map(|steps| steps.join(", "));
    (1..4, keys, steps).prop_map(move |(size, keys, steps)| {
        format!("[team.{name}]\nsize = {size}\n{keys}\nsteps = [ {steps} ]\n")
    })
}

fn text() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(&["pipe", "futex", "queue"][..]);
    let duration = prop::sample::select(&["", "duration = '1s'"][..]);
    (kind, 1..4, duration, team("a"), team("b")).prop_map(|(kind, count, duration, a, b)| {
        format!(
            "about = 'x'\n{duration}\n[param]\nn = {{ default = 2, about = 'n' }}\n\
             [channel.one]\nkind = '{kind}'\n[channel.many]\nkind = '{kind}'\n\
             count = '{count} * 1'\n{a}{b}"
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_profile_plans_or_faults(text in text(), machine in 0..3usize) {
        let machine = ["pu:1", "core:3", TWO_NODES][machine];
        let source = Source { path: String::new(), text };
        let Ok(profile) = Profile::parse("test", source) else { return Ok(()) };
        let host = host(machine);
        match Plan::new(&profile, &host, &Overrides::default()) {
            Err(PlanError::Faults(faults)) => prop_assert!(!faults.list.is_empty()),
            Err(PlanError::Host(refusals)) => prop_assert!(!refusals.is_empty()),
            Ok(plan) => {
                show(&plan);
                keeps_its_promises(&plan, &host)?;
                let again = Plan::new(&profile, &host, &Overrides::default());
                prop_assert_eq!(again.unwrap(), plan);
            }
        }
    }
}

fn keeps_its_promises(plan: &Plan, host: &Host) -> Result<(), TestCaseError> {
    for team in &plan.teams {
        for cpus in &team.cpus {
            prop_assert!(!cpus.is_empty() && cpus.without(&host.allowed).is_empty());
        }
        for (at, op) in team.ops.iter().enumerate() {
            match op {
                Op::Loop { end, .. } | Op::Forever { end } => {
                    let again = &team.ops[*end as usize - 1];
                    prop_assert_eq!(again, &Op::Again { begin: at as u32 });
                }
                Op::Send { channel, pick, .. } | Op::Receive { channel, pick, .. } => {
                    let channel = &plan.channels[*channel as usize];
                    prop_assert!(channel.wakees > 0);
                    if let Pick::At(crate::plan::Amount::Fixed(index)) = pick {
                        prop_assert!(*index < u64::from(channel.count));
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}
