//! What a plan holds.

use super::*;
use crate::plan::{Amount, Op, Pick, show};
use crate::profile::catalogue;

fn builtin(name: &str, params: &[(&str, &str)]) -> Plan {
    let profile = catalogue::find(name).unwrap().profile().unwrap();
    Plan::new(&profile, &host(TWO_NODES), &overrides(params)).unwrap()
}

#[test]
fn prints_hackbench() {
    let plan = builtin(
        "hackbench",
        &[("groups", "2"), ("fds", "3"), ("as", "threads")],
    );
    insta::assert_snapshot!(show(&plan), @"");
}

#[test]
fn prints_pingpong() {
    insta::assert_snapshot!(show(&builtin("pingpong", &[("tokens", "2")])), @"");
}

#[test]
fn prints_fanout() {
    let plan = builtin(
        "fanout",
        &[("kind", "eventfd"), ("work", "10us"), ("as", "processes")],
    );
    insta::assert_snapshot!(show(&plan), @"");
}

#[test]
fn every_builtin_plans_on_every_machine() {
    let machines = [
        "pu:1",
        "core:2",
        TWO_NODES,
        "pack:8 [numa] l3:4 core:8 pu:2",
    ];
    for machine in machines {
        for builtin in catalogue::BUILTINS {
            let profile = builtin.profile().unwrap();
            let plan = Plan::new(&profile, &host(machine), &Overrides::default());
            let plan = plan.unwrap_or_else(|why| panic!("{} on {machine}: {why}", builtin.name));
            for line in show(&plan).lines() {
                assert!(line.chars().count() <= 100, "too wide: {line}");
            }
        }
    }
}

#[test]
fn leaves_out_what_does_nothing() {
    let plan = planned(
        r#"
        about = "x"
        [param]
        n = { default = 0, about = "rounds" }
        [channel.c]
        kind = "pipe"
        [team.a]
        size = 1
        steps = [
            { repeat = "n", steps = [ { send = "c" } ] },
            { repeat = 3, steps = [ { spin = "n * 1us" } ] },
            { spin = "me * 1us" },
        ]
        "#,
        &host("core:2"),
    );
    let [op] = plan.teams[0].ops.as_slice() else {
        panic!("{:?}", plan.teams[0].ops)
    };
    assert!(
        matches!(
            op,
            Op::Work {
                amount: Amount::PerMember(_),
                ..
            }
        ),
        "{op:?}"
    );
    assert_eq!(plan.notes, ["nobody uses channel `c`"]);
}

#[test]
fn loops_nest_by_position() {
    let plan = planned(
        r#"
        about = "x"
        [team.a]
        size = 1
        steps = [ { repeat = 2, steps = [
            { repeat = "me + 1", steps = [ { spin = "1us" } ] }, { sleep = "1us" } ] } ]
        "#,
        &host("core:2"),
    );
    let shape: Vec<String> = plan.teams[0]
        .ops
        .iter()
        .map(|op| match op {
            Op::Loop { count, end } => format!("loop {} end {end}", count.of(3)),
            Op::Again { begin } => format!("again {begin}"),
            Op::Work { kind, .. } => kind.clone(),
            _ => format!("{op:?}"),
        })
        .collect();
    assert_eq!(
        shape,
        [
            "loop 2 end 6",
            "loop 4 end 4",
            "spin",
            "again 1",
            "sleep",
            "again 0"
        ]
    );
}

#[test]
fn keeps_only_me_in_addresses() {
    let plan = planned(
        r#"
        about = "x"
        [param]
        n = { default = 4, about = "tasks" }
        [channel.ring]
        kind  = "futex"
        count = "n"
        [team.node]
        size  = "n"
        steps = [ { send = "ring[(me + 1) % size]" }, { receive = "ring[me]" } ]
        "#,
        &host("core:2"),
    );
    let Op::Send {
        pick: Pick::At(to), ..
    } = &plan.teams[0].ops[0]
    else {
        panic!()
    };
    let Amount::PerMember(node) = to else {
        panic!("{to:?}")
    };
    assert_eq!(node.to_string(), "(me + 1) % 4");
    assert_eq!([0, 1, 2, 3].map(|me| to.of(me)), [1, 2, 3, 0]);
    let channel = &plan.channels[0];
    assert_eq!((channel.wakees, channel.across_processes), (1, false));
}

#[test]
fn places_members() {
    let check = |placement: &str, copies: u32, expected: &[&str]| {
        let text = format!(
            "about = \"x\"\ncopies = {copies}\n[team.a]\nsize = 4\n{placement}\n\
             steps = [ {{ spin = \"1us\" }} ]"
        );
        let plan = planned(&text, &host(TWO_NODES));
        let cpus: Vec<String> = plan.teams[0].cpus.iter().map(ToString::to_string).collect();
        assert_eq!(cpus, expected, "for {placement:?}");
    };
    check("", 1, &[]);
    check("on = 'node:1'", 1, &["8-15"]);
    check("on = 'llc:1'", 1, &["4-7"]);
    check("on = 'core:7'", 1, &["14-15"]);
    check("on = 'cpus:3,5'", 1, &["3,5"]);
    check("on = 'node:me % nodes'", 1, &["0-7", "8-15"]);
    check("spread = 'node'", 1, &["0-7", "8-15"]);
    check("spread = 'llc'", 1, &["0-3", "4-7", "8-11", "12-15"]);
    check("spread = 'llc'\non = 'node:1'", 1, &["8-11", "12-15"]);
    check(
        "spread = 'core'\non = 'cpus:1-5'",
        1,
        &["1", "2-3", "4-5", "1"],
    );
    check("pin = true", 1, &["0", "1", "2", "3"]);
    check("pin = true\non = 'cpus:2-3'", 9, &["2", "3"]);
    check("pin = true\nspread = 'node'", 1, &["0", "8", "1", "9"]);
    check("pin = true\non = 'cpus:0-2'", 3, &["0", "1", "2"]);
    // Two members on each node take its cores in turn, whatever the nodes of the others.
    check(
        "pin = true\non = 'node:me % 2'\nspread = 'core'",
        2,
        &["0", "8", "2", "10", "4", "12", "6", "14"],
    );
}

#[test]
fn the_allowed_cpus_are_the_machine() {
    let mut host = host(TWO_NODES);
    host.allowed = "6-9".parse().unwrap();
    let text = "about = 'x'\n[team.a]\nsize = 'cpus'\non = 'llc:1'\nsteps = [ { spin = '1us' } ]";
    let plan = planned(text, &host);
    assert_eq!(plan.teams[0].size, 4);
    assert_eq!(plan.teams[0].cpus[0].to_string(), "8-9");
    assert_eq!(plan.cpus.iter().filter(|cpu| cpu.allowed).count(), 4);
}

#[test]
fn the_fingerprint_is_of_the_work() {
    let hash = |text: &str, machine: &str, overrides: Overrides| {
        Plan::new(&profile(text), &host(machine), &overrides)
            .unwrap()
            .hash
    };
    let text = "about = 'x'\n[team.a]\nsize = 2\nsteps = [ { spin = '1us' } ]";
    let base = hash(text, "core:2", Overrides::default());
    assert_eq!(base.len(), 16);
    let same = |other: String| assert_eq!(other, base);
    let differs = |other: String| assert_ne!(other, base);
    let with = |change: fn(&mut Overrides)| {
        let mut overrides = Overrides::default();
        change(&mut overrides);
        overrides
    };
    same(hash(
        &text.replace("'x'", "'other words'"),
        "core:2",
        Overrides::default(),
    ));
    same(hash(text, "core:2", with(|it| it.seed = Some(7))));
    differs(hash(
        text,
        "core:2",
        with(|it| it.duration = Some("1s".to_owned())),
    ));
    differs(hash(text, "core:4", Overrides::default()));
    differs(hash(
        &text.replace("1us", "2us"),
        "core:2",
        Overrides::default(),
    ));
    differs(hash(
        &text.replace("size = 2", "size = 3"),
        "core:2",
        Overrides::default(),
    ));
    differs(hash(
        &text.replace("size", "pin = true\nsize"),
        "core:2",
        Overrides::default(),
    ));
}

#[test]
fn a_plan_survives_being_sent() {
    let plan = builtin("fanout", &[]);
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}

#[test]
fn plans_twenty_thousand_tasks() {
    let text = r#"
        about = "x"
        [channel.ring]
        kind  = "futex"
        count = 20_000
        [team.node]
        size  = 20_000
        pin   = true
        steps = [ { repeat = "me % 3 + 1", steps = [ { send = "ring[me]" }, { receive = "ring[me]" } ] } ]
        "#;
    let plan = planned(text, &host(TWO_NODES));
    assert_eq!((plan.n_tasks(), plan.teams[0].cpus.len()), (20_000, 16));
}
