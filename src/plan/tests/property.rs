//! Any small profile plans or faults, and what plans keeps its promises.

use super::*;
use crate::plan::flow::{Choice, Flow};
use crate::plan::{Act, Op, Pick, Space, SyncSort, TeamPlan, memory, show, traffic};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Most are fine where they are used; some are not.
fn number() -> impl Strategy<Value = String> {
    const GOOD: [&str; 6] = ["1", "2", "n", "me % 2 + 1", "me + 1", "size"];
    const DOUBTFUL: [&str; 7] = ["0", "me", "cpus / 3", "n - 3", "me - 1", "1 / me", "7"];
    prop_oneof![
        12 => prop::sample::select(&GOOD[..]).prop_map(str::to_owned),
        1 => prop::sample::select(&DOUBTFUL[..]).prop_map(str::to_owned),
    ]
}

fn address() -> impl Strategy<Value = String> {
    const GOOD: [&str; 6] = ["one", "many[*]", "many[me]", "many[0]", "many[next]", "many[any]"];
    prop_oneof![
        20 => prop::sample::select(&GOOD[..]).prop_map(str::to_owned),
        1 => number().prop_map(|which| format!("many[{which}]")),
    ]
}

/// A region, or a part of it that each member has or that some lack.
fn part() -> impl Strategy<Value = String> {
    const PARTS: [&str; 5] = ["area", "area[me]", "area[me % 2]", "none", "all[0]"];
    prop_oneof![
        12 => prop::sample::select(&PARTS[..]).prop_map(str::to_owned),
        1 => number().prop_map(|which| format!("area[{which}]")),
    ]
}

fn use_of_memory() -> impl Strategy<Value = String> {
    let access = prop::sample::select(&["read", "write", "zero"][..]);
    (0..9, part(), part(), access, number()).prop_map(|(verb, at, other, access, n)| match verb {
        0..4 => format!("{{ sweep = '{at}', access = '{access}' }}"),
        4 => format!("{{ sweep = '{at}', halo = '50%' }}"),
        5 => format!("{{ touch = '{at}', count = '{n}', access = '{access}', skew = 1 }}"),
        6 => format!("{{ allocate = '{at}', bytes = '{n}' }}"),
        7 => format!("{{ chase = '{at}', count = '{n}' }}"),
        _ => format!("{{ add = '{at}', from = '{other}', and = '{at}' }}"),
    })
}

fn sync() -> impl Strategy<Value = String> {
    const STEPS: [&str; 7] = [
        "{ barrier = 'phase' }",
        "{ commit = 'log' }",
        "{ safepoint = 'gc' }",
        "{ collect = 'gc' }",
        "{ pause = 'gc', steps = [ { spin = '1us' } ] }",
        "{ lock = 'rows[any]', skew = 1, steps = [ { spin = '1us' } ] }",
        "{ lock = 'rows[me]', steps = [ { lock = 'root', steps = [ { spin = '1us' } ] } ] }",
    ];
    prop::sample::select(&STEPS[..]).prop_map(str::to_owned)
}

fn step() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => use_of_memory(),
        1 => prop::sample::select(&["{ join = 'late' }", "{ spawn = 'late' }"][..])
            .prop_map(str::to_owned),
        8 => address().prop_map(|it| format!("{{ send = '{it}' }}, {{ receive = '{it}' }}")),
        1 => address().prop_map(|to| format!("{{ send = '{to}' }}")),
        1 => address().prop_map(|from| format!("{{ receive = '{from}' }}")),
        3 => sync(),
        4 => number().prop_map(|n| format!("{{ spin = '({n}) * 1us' }}")),
        1 => number()
            .prop_map(|n| format!("{{ spin = '({n}) * 1us', spread = 'uniform', cv = '20%' }}")),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        let steps = prop::collection::vec(inner, 1..3).prop_map(|steps| steps.join(", "));
        prop_oneof![
            9 => (number(), steps.clone())
                .prop_map(|(n, steps)| format!("{{ repeat = '{n}', steps = [ {steps} ] }}")),
            1 => steps.clone().prop_map(|steps| format!("{{ forever = [ {steps} ] }}")),
            1 => (number(), steps.clone())
                .prop_map(|(n, steps)| format!("{{ during = '({n}) * 1ms', steps = [ {steps} ] \
                 }}")),
            1 => (number(), steps.clone()).prop_map(|(n, steps)| format!(
                "{{ active = '({n}) / 3', choose = 'rotating', steps = [ {steps} ] }}"
            )),
            1 => (number(), steps.clone()).prop_map(|(n, steps)| format!(
                "{{ active = '({n}) / 3', steps = [ {steps} ] }}"
            )),
            1 => (number(), steps.clone()).prop_map(|(n, steps)| format!(
                "{{ choose = [ {{ weight = '{n}', steps = [ {steps} ] }}, \
                 {{ weight = 3, steps = [ {steps}, {{ spin = '1us' }} ] }} ], as = 'deck' }}"
            )),
            1 => (number(), steps.clone()).prop_map(|(n, steps)| format!(
                "{{ every = '({n}) * 1ms', count = '{n}', offset = 'me * 1ms', \
                 steps = [ {steps} ] }}"
            )),
            1 => steps
                .clone()
                .prop_map(|steps| format!("{{ arrive = 'n * 5', steps = [ {steps} ] }}")),
            1 => steps.clone().prop_map(|steps| format!(
                "{{ measure = 'r', from = 'arrival', steps = [ {steps} ] }}"
            )),
            2 => steps.prop_map(|steps| format!("{{ measure = 'm', steps = [ {steps} ] }}")),
        ]
    })
}

fn team(name: &'static str) -> impl Strategy<Value = String> {
    const KEYS: [&str; 7] = [
        "",
        "pin = true",
        "spread = 'llc'",
        "on = 'node:me % nodes'",
        "on = 'core:me'",
        "as = 'processes'",
        "start_on = 'node:instance % nodes'",
    ];
    let keys = prop::sample::select(&KEYS[..]);
    let steps = prop::collection::vec(step(), 1..4).prop_map(|steps| steps.join(", "));
    (1..4, keys, steps).prop_map(move |(size, keys, steps)| {
        format!("[team.{name}]\nsize = {size}\n{keys}\nsteps = [ {steps} ]\n")
    })
}

/// Regions as most are: some in slices, one of no bytes, one for all.
fn regions() -> impl Strategy<Value = String> {
    let touch = ["owner", "main", "a", "late", "node:me % nodes", "interleave", "opposite"];
    let touch = prop::sample::select(Vec::from(touch));
    let policy = ["default", "bind:instance % nodes", "preferred:0", "interleave", "bind:7"];
    let policy = prop::sample::select(Vec::from(policy));
    let shared = prop::sample::select(&["all", "instance"][..]);
    (touch, policy, shared).prop_map(|(touch, policy, shared)| {
        format!(
            "[memory.area]\nbytes = '64 KiB'\ncount = 3\nfirst_touch = '{touch}'\n\
             policy = '{policy}'\n[memory.none]\nbytes = 0\n\
             [memory.all]\nbytes = '4 KiB'\nshared = '{shared}'\n"
        )
    })
}

fn text() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(&["pipe", "futex", "queue"][..]);
    let top = ["", "", "duration = '1s'", "instances = 2", "instances = 3\nduration = '1s'"];
    let top = prop::sample::select(Vec::from(top));
    let spawner = prop_oneof![
        2 => Just(String::new()),
        1 => (team("late"), number()).prop_map(|(late, n)| {
            let late = late.replacen("size", "start = 'spawned'\nsize", 1);
            format!(
                "{late}[team.main]\nsize = 1\nsteps = [ {{ spin = '({n}) * 1us' }}, \
                 {{ spawn = 'late' }}, {{ join = 'late' }} ]\n"
            )
        }),
    ];
    // In some, each team is in a process: of `a`, `b`, `late` and `main`, the last two mostly in
    // the same.
    let processes = prop::sample::select(&["pppp", "pqpp", "qpqq", "pqpq"][..]);
    let processes = prop::option::of(processes);
    (kind, 1..4, top, regions(), (team("a"), team("b")), spawner, processes).prop_map(
        |(kind, count, top, regions, (a, b), spawner, processes)| {
            let mut teams = format!("{a}{b}{spawner}");
            if let Some(processes) = processes {
                for (name, process) in ["a", "b", "late", "main"].iter().zip(processes.chars()) {
                    let head = format!("[team.{name}]\n");
                    teams = teams.replacen(&head, &format!("{head}process = '{process}'\n"), 1);
                }
                teams = teams.replace("as = 'processes'", "") + "[process.p]\n[process.q]\n";
            }
            format!(
                "about = 'x'\ncopies = {count}\n{top}\n\
                 [param]\nn = {{ default = 2, about = 'n' }}\n\
                 [channel.one]\nkind = '{kind}'\n\
                 [channel.many]\nkind = '{kind}'\ncount = 'max({count}, 2)'\n\
                 [barrier.phase]\n[lock.rows]\ncount = 3\n[lock.root]\n[commit.log]\n\
                 flush = '1us'\n[safepoint.gc]\n{regions}{teams}"
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_profile_plans_or_faults(text in text(), machine in 0..3usize) {
        let machine = ["core:1 pu:1", "core:3 pu:1", TWO_NODES][machine];
        let source = Source { path: String::new(), text };
        let Ok(profile) = Profile::parse("test", source) else { return Ok(()) };
        let host = host(machine);
        match Plan::new(&profile, &host, &Overrides::default()) {
            Err(PlanError::Faults(faults)) => prop_assert!(!faults.list.is_empty()),
            Err(PlanError::Host(refusals)) => prop_assert!(!refusals.is_empty()),
            Ok(plan) => {
                show(&plan);
                keeps_its_promises(&plan, &host)?;
                counts_as_an_interpreter_would(&plan)?;
                let again = Plan::new(&profile, &host, &Overrides::default());
                prop_assert_eq!(again.unwrap(), plan);
            }
        }
    }
}

/// Slices that there are, and each page of a region touched by somebody of its toucher.
fn regions_are_whole(plan: &Plan) -> Result<(), TestCaseError> {
    for (index, region) in plan.memory.iter().enumerate() {
        prop_assert!(region.bytes() > 0 && region.bytes() < 1 << 47);
        for slice in 0..region.count {
            region.policy(region.slice_number(plan.instances - 1, slice));
        }
        for (team, team_plan) in plan.teams.iter().enumerate() {
            for me in 0..team_plan.size {
                let touched = plan.touches(index, team, me);
                prop_assert!(touched.iter().all(|slice| *slice < region.count));
            }
        }
    }
    for team in &plan.teams {
        for (region, pick) in team.ops.iter().flat_map(memory::used) {
            let count = u64::from(plan.memory[region as usize].count);
            if let Pick::At(slice) = pick {
                prop_assert!((0..team.size).all(|me| slice.of(me) < count));
            }
        }
    }
    Ok(())
}

/// Each task in one of them, in one instance.
fn spaces_are_apart(plan: &Plan) -> Result<(), TestCaseError> {
    let spaces = plan.spaces();
    prop_assert_eq!(spaces.len(), plan.n_spaces());
    for copy in 0..plan.copies {
        for team in 0..plan.teams.len() {
            let mut of = spaces.iter();
            let is_it = |it: &Space| it.copies.contains(&copy) && it.teams.contains(&team);
            let found: Vec<usize> =
                of.by_ref().filter(|it| is_it(it)).map(|it| it.number).collect();
            prop_assert_eq!(&found, &[plan.space_of(copy, team)]);
            prop_assert_eq!(spaces[found[0]].instance, plan.instance(copy));
        }
    }
    for channel in 0..plan.channels.len() {
        let uses = |team: &&usize| {
            let ops = &plan.teams[**team].ops;
            ops.iter().any(|op| match op {
                Op::Send { channel: it, .. } | Op::Receive { channel: it, .. } => {
                    *it as usize == channel
                }
                _ => false,
            })
        };
        let users = spaces.iter().filter(|space| space.copies.contains(&0));
        let n_users = users.filter(|space| space.teams.iter().any(|team| uses(&team))).count();
        prop_assert!(n_users < 2 || plan.channels[channel].across_processes);
    }
    Ok(())
}

/// Members have numbers of their own, blocks end, and nobody waits for more than there are.
fn meetings_are_whole(plan: &Plan) -> Result<(), TestCaseError> {
    for (index, object) in (0..).zip(&plan.syncs) {
        let mut numbers: Vec<u32> = Vec::new();
        for (team, of_team) in plan.teams.iter().enumerate() {
            if of_team.syncs().contains(&index) {
                let first = plan.first_member(index, team);
                numbers.extend(first..first + of_team.size);
            }
            let acts = || of_team.acts_at(index);
            let begins = acts().filter(|act| matches!(act, Act::Lock { .. } | Act::Pause));
            let ends = acts().filter(|act| matches!(act, Act::Unlock { .. } | Act::Resume { .. }));
            prop_assert_eq!(begins.count(), ends.count());
        }
        prop_assert_eq!(numbers, (0..object.members).collect::<Vec<u32>>());
        if let SyncSort::Barrier { parties, .. } = object.sort {
            prop_assert!(parties <= object.members);
        }
    }
    Ok(())
}

/// Each team starts at the gate or is spawned by one step, which is done once.
fn teams_start_once(plan: &Plan) -> Result<(), TestCaseError> {
    for (index, team) in plan.teams.iter().enumerate() {
        let is_it = |op: &&Op| matches!(op, Op::Spawn { team } if *team as usize == index);
        let by = plan.teams.iter().map(|it| it.ops.iter().filter(is_it).count() * it.size as usize);
        prop_assert_eq!(by.sum::<usize>(), usize::from(team.spawned));
    }
    Ok(())
}

fn keeps_its_promises(plan: &Plan, host: &Host) -> Result<(), TestCaseError> {
    regions_are_whole(plan)?;
    meetings_are_whole(plan)?;
    teams_start_once(plan)?;
    spaces_are_apart(plan)?;
    for team in &plan.teams {
        for cpus in team.cpus.iter().chain(&team.start_cpus) {
            prop_assert!(!cpus.is_empty() && cpus.without(&host.allowed).is_empty());
        }
        for (at, op) in team.ops.iter().enumerate() {
            match op {
                Op::Loop { end, .. } | Op::During { end, .. } | Op::Forever { end } => {
                    let again = &team.ops[*end as usize - 1];
                    prop_assert_eq!(again, &Op::Again { begin: at as u32 });
                }
                Op::Flow(flow) => blocks_are_closed(team, at, flow)?,
                Op::Leave { end } => prop_assert!(*end as usize > at),
                Op::Send { channel, pick, .. } | Op::Receive { channel, pick, .. } => {
                    let channel = &plan.channels[*channel as usize];
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

/// Blocks that are left lead behind themselves, and so do the arms of a choice.
fn blocks_are_closed(team: &TeamPlan, at: usize, flow: &Flow) -> Result<(), TestCaseError> {
    let Some(end) = team.ops[at].end() else { return Ok(()) };
    let expected = match flow.is_paced() {
        true => Op::Again { begin: at as u32 },
        false => Op::Leave { end },
    };
    prop_assert_eq!(&team.ops[end as usize - 1], &expected);
    let Flow::Choose { arms, .. } = flow else { return Ok(()) };
    prop_assert!(!arms.is_empty() && arms[0] as usize == at + 1);
    for arm in arms {
        let is_arm =
            matches!(&team.ops[*arm as usize], Op::Flow(it) if matches!(**it, Flow::Arm { .. }));
        prop_assert!(is_arm);
    }
    for next in arms.iter().skip(1).copied().chain([end - 1]) {
        prop_assert_eq!(&team.ops[next as usize - 1], &Op::Leave { end });
    }
    Ok(())
}

/// Messages by channel and instance; `None` for `[next]` and `[any]`.
type Messages = BTreeMap<(u32, Option<usize>), u128>;

/// Does every step of every member one by one.
fn interpreted(plan: &Plan) -> (Messages, Messages) {
    let (mut sent, mut received) = (Messages::new(), Messages::new());
    for team in &plan.teams {
        for me in 0..team.size {
            let mut left: Vec<u64> = Vec::new();
            let mut at = 0;
            while let Some(op) = team.ops.get(at) {
                at += 1;
                match op {
                    Op::Loop { count, end } if count.of(me) == 0 => at = *end as usize,
                    Op::Flow(flow) => {
                        let rounds = match &**flow {
                            Flow::Active { n, .. } if me >= *n => 0,
                            Flow::Every { count: Some(count), .. } => count.of(me),
                            _ => 1,
                        };
                        match (rounds, flow.is_paced()) {
                            (0, _) => at = op.end().unwrap() as usize,
                            (_, true) => left.push(rounds),
                            (_, false) => {}
                        }
                    }
                    Op::Loop { count, .. } => left.push(count.of(me)),
                    Op::Again { begin } => {
                        let rounds = left.last_mut().unwrap();
                        *rounds -= 1;
                        match *rounds {
                            0 => drop(left.pop()),
                            _ => at = *begin as usize + 1,
                        }
                    }
                    Op::Send { channel, pick, .. } => tell(&mut sent, plan, *channel, pick, me),
                    Op::Receive { channel, pick, .. } => {
                        tell(&mut received, plan, *channel, pick, me);
                    }
                    _ => {}
                }
            }
        }
    }
    (sent, received)
}

fn tell(messages: &mut Messages, plan: &Plan, channel: u32, pick: &Pick, me: u32) {
    let mut tell = |instance| *messages.entry((channel, instance)).or_default() += 1;
    match pick {
        Pick::All => (0..plan.channels[channel as usize].count as usize)
            .for_each(|instance| tell(Some(instance))),
        Pick::At(index) => tell(Some(index.of(me) as usize)),
        Pick::Next | Pick::Any => tell(None),
    }
}

fn counts_as_an_interpreter_would(plan: &Plan) -> Result<(), TestCaseError> {
    let mut ops = plan.teams.iter().flat_map(|team| &team.ops);
    let is_open = |op: &Op| match op {
        Op::Forever { .. } | Op::During { .. } => true,
        Op::Flow(flow) => match &**flow {
            Flow::Active { choose, .. } => *choose != Choice::Fixed,
            Flow::Every { count, .. } => count.is_none(),
            Flow::Choose { .. } | Flow::Arrive { .. } => true,
            Flow::Arm { .. } | Flow::Request { .. } | Flow::Answered { .. } => false,
        },
        _ => false,
    };
    if ops.any(is_open) {
        return Ok(());
    }
    let (sent, received) = interpreted(plan);
    let (traffic, _) = traffic::of(&plan.teams, &plan.channels);
    for (index, traffic) in traffic.iter().enumerate() {
        prop_assert_eq!(traffic.sent.is_used(), plan.channels[index].wakees > 0);
        for (side, messages) in [(&traffic.sent, &sent), (&traffic.received, &received)] {
            let of = |instance| messages.get(&(index as u32, instance)).copied().unwrap_or(0);
            prop_assert_eq!(side.somewhere, of(None));
            for instance in 0..plan.channels[index].count as usize {
                prop_assert_eq!(side.messages(instance), of(Some(instance)));
            }
        }
    }
    Ok(())
}
