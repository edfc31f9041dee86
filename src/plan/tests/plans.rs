//! What a plan holds.

use super::*;
use crate::plan::{Amount, Op, Pick, show};
use crate::profile::catalogue;

fn builtin(name: &str, params: &[(&str, &str)]) -> Plan {
    let profile = catalogue::find(name).unwrap().profile().unwrap();
    Plan::new(&profile, &host(TWO_NODES), &overrides(params)).unwrap()
}

/// The plan as text; its fingerprint, which changes with every field of a plan, left out.
fn shown(mut plan: Plan) -> String {
    plan.hash = "(hash)".to_owned();
    show(&plan)
}

#[test]
fn prints_hackbench() {
    let plan = builtin("hackbench", &[("groups", "2"), ("fds", "3"), ("as", "threads")]);
    insta::assert_snapshot!(shown(plan), @r#"
    hackbench: Groups of senders that each write to every receiver of their group

      params   groups = 2, fds = 3, loops = 100, bytes = 100B, kind = socketpair, as = threads
      watch    messages_per_s, migrations_per_s, wakeup_latency_ns_p99
      tests    only with receiver_asleep_share from 0.001: wakeups, of which there are next to none
      tasks    12: 2 copies of 6
      machine  16 of 16 CPUs (0-15), 8 cores, 4 LLCs, 2 nodes
      length   until the foreground teams have done their steps
      seed     1
      hash     (hash)

    channels in each copy
      inbox: 3 x socketpair, 100 B, many to one (3 wakers, 1 wakee each)

    team receiver: 3 threads in each copy
      on any allowed CPU
      repeat 300
        receive inbox[me], 100 B

    team sender: 3 threads in each copy
      on any allowed CPU
      repeat 100
        send inbox[*], 100 B

    needs
      tasks      12, no limit known
      open files 44, no limit known
      memory     6.61 MiB, no limit known
      mappings   536, no limit known
    "#);
}

#[test]
fn prints_pingpong() {
    insta::assert_snapshot!(shown(builtin("pingpong", &[("tokens", "2")])), @r#"
    pingpong: Pairs of tasks that wake each other in turn

      params   pairs = 1, loops = 100000, tokens = 2, bytes = 4B, work = 0ns, kind = pipe, as =
          threads
      watch    round_trips_per_s, round_trip_ns_p50, wakeup_latency_ns_p99, migrations_per_s
      tasks    2
      machine  16 of 16 CPUs (0-15), 8 cores, 4 LLCs, 2 nodes
      length   until the foreground teams have done their steps
      seed     1
      hash     (hash)

    channels
      ping: 1 x pipe, 4 B, one to one (1 waker, 1 wakee each)
      pong: 1 x pipe, 4 B, one to one (1 waker, 1 wakee each)

    team ping: 1 thread
      on any allowed CPU
      repeat 100000
        measure round_trip
          send ping, 4 B
          receive pong, 4 B

    team pong: 1 thread
      on any allowed CPU
      repeat 1
        send pong, 4 B
      repeat 99999
        receive ping, 4 B
        send pong, 4 B
      repeat 1
        receive ping, 4 B

    needs
      tasks      2, no limit known
      open files 36, no limit known
      memory     11.8 MiB, no limit known
      mappings   516, no limit known
    "#);
}

#[test]
fn prints_fanout() {
    let plan = builtin("fanout", &[("kind", "eventfd"), ("work", "10us"), ("as", "processes")]);
    insta::assert_snapshot!(shown(plan), @r#"
    fanout: One waker and many wakees that sleep, one channel each

      params   wakees = 15, interval = 1ms, work = 10us, kind = eventfd, as = processes
      watch    wakeup_latency_ns_p99, wakeup_latency_ns_p50, migrations_per_s, messages_per_s
      tasks    16
      machine  16 of 16 CPUs (0-15), 8 cores, 4 LLCs, 2 nodes
      length   5s, after a warm-up of 500ms
      seed     1
      hash     (hash)

    channels
      inbox: 15 x eventfd, one to one (1 waker, 1 wakee each), between processes

    team wakee: 15 processes
      on any allowed CPU
      forever
        receive inbox[me]
        spin 10us

    team waker: 1 process
      on any allowed CPU
      forever
        send inbox[*]
        sleep 1ms

    needs
      tasks      16, no limit known
      open files 47, no limit known
      memory     10.8 MiB, no limit known
      mappings   512, no limit known

    notes
      team `waker` sleeps with a timer slack of 1 ns, not the usual 50 us
    "#);
}

#[test]
fn conditions_hold_when_they_say() {
    let check = |keys: &str, expected: Option<(Option<f64>, Option<f64>)>| {
        let text = format!(
            "about = 'x'\n[team.w]\nsize = 1\nsteps = [ {{ spin = '1us' }} ]\n\
             [condition.wakeups_per_s]\nabout = 'y'\n{keys}"
        );
        let plan = planned(&text, &host(TWO_NODES));
        let got = plan.conditions.first().map(|it| (it.min, it.max));
        assert_eq!(got, expected, "{keys}");
    };
    check("min = 1\nmax = '2 * cpus'", Some((Some(1.0), Some(32.0))));
    check("min = 1\nwhen = 'cpus - 15'", Some((Some(1.0), None)));
    check("min = 1\nwhen = 'cpus - 16'", None);
    check("min = '1 / (cpus - 16)'\nwhen = 'cpus - 16'", None);
}

#[test]
fn who_sleeps_has_the_least_timer_slack_or_its_own() {
    let check = |keys: &str, expected: Option<u64>, noted: Option<&str>| {
        let text = format!("about = 'x'\n[team.w]\nsize = 1\n{keys}");
        let plan = planned(&text, &host(TWO_NODES));
        assert_eq!(plan.timer_slack_ns(&plan.teams[0]), expected, "{keys}");
        let said = plan.notes.iter().find(|note| note.contains("timer slack"));
        assert_eq!(said.is_some(), noted.is_some(), "{keys}: {said:?}");
        assert!(
            noted.is_none_or(|words| said.is_some_and(|said| said.contains(words))),
            "{said:?}"
        );
    };
    let sleeps = "steps = [ { sleep = '1ms' } ]";
    check("steps = [ { spin = '1us' } ]", None, None);
    check(sleeps, Some(1), Some("timer slack of 1 ns"));
    check(&format!("timer_slack = '50us'\n{sleeps}"), Some(50_000), None);
    check(&format!("timer_slack = '2us'\n{sleeps}"), Some(2_000), Some("timer slack of 2.00 us"));
    let leads = "steps = [ { commit = 'log' } ]\n[commit.log]\nflush = '20us'";
    check(leads, Some(1), Some("timer slack of 1 ns"));
    check(&format!("timer_slack = '50us'\n{leads}"), Some(50_000), None);
    check(&format!("{leads}\nby = 'spin'"), None, None);
}

#[test]
fn every_builtin_plans_on_every_machine() {
    let machines = ["core:1 pu:1", "core:2 pu:1", TWO_NODES, "pack:8 [numa] l3:4 core:8 pu:2"];
    for machine in machines {
        for builtin in catalogue::BUILTINS {
            let profile = builtin.profile().unwrap();
            let overrides = Overrides { allow_single_node: true, ..Overrides::default() };
            let plan = Plan::new(&profile, &host(machine), &overrides);
            let plan = plan.unwrap_or_else(|why| panic!("{} on {machine}: {why}", builtin.name));
            for line in show(&plan).lines() {
                assert!(line.chars().count() <= 96, "too wide: {line}");
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
        [channel.d]
        kind = "pipe"
        [team.a]
        size = 1
        steps = [
            { repeat = "n", steps = [ { send = "c" } ] },
            { repeat = 3, steps = [ { spin = "n * 1us" } ] },
            { repeat = "me", steps = [ { spin = "1us" } ] },
            { spin = "(me + 1) * 1us" },
        ]
        "#,
        &host("core:2 pu:1"),
    );
    let [op] = plan.teams[0].ops.as_slice() else { panic!("{:?}", plan.teams[0].ops) };
    assert!(matches!(op, Op::Work { amount: Amount::Fixed(1000), .. }), "{op:?}");
    // The steps that use `c` are there, only not in this plan.
    assert_eq!(plan.notes, ["nobody uses channel `d`"]);
}

#[test]
fn loops_nest_by_position() {
    let plan = planned(
        r#"
        about = "x"
        [team.a]
        size = 4
        steps = [ { repeat = 2, steps = [
            { repeat = "me + 1", steps = [ { spin = "1us" } ] }, { sleep = "1us" } ] } ]
        "#,
        &host("core:2 pu:1"),
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
    assert_eq!(shape, ["loop 2 end 6", "loop 4 end 4", "spin", "again 1", "sleep", "again 0"]);
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
        &host("core:2 pu:1"),
    );
    let Op::Send { pick: Pick::At(to), .. } = &plan.teams[0].ops[0] else { panic!() };
    let Amount::PerMember(node) = to else { panic!("{to:?}") };
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
    check("spread = 'core'\non = 'cpus:1-5'", 1, &["1", "2-3", "4-5"]);
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
        Plan::new(&profile(text), &host(machine), &overrides).unwrap().hash
    };
    let text = "about = 'x'\n[team.a]\nsize = 2\nsteps = [ { spin = '1us' } ]";
    let base = hash(text, "core:2 pu:1", Overrides::default());
    assert_eq!(base.len(), 16);
    let same = |other: String| assert_eq!(other, base);
    let differs = |other: String| assert_ne!(other, base);
    let with = |change: fn(&mut Overrides)| {
        let mut overrides = Overrides::default();
        change(&mut overrides);
        overrides
    };
    same(hash(&text.replace("'x'", "'other words'"), "core:2 pu:1", Overrides::default()));
    same(hash(text, "core:2 pu:1", with(|it| it.seed = Some(7))));
    differs(hash(text, "core:2 pu:1", with(|it| it.duration = Some("1s".to_owned()))));
    differs(hash(text, "core:4 pu:1", Overrides::default()));
    differs(hash(&text.replace("1us", "2us"), "core:2 pu:1", Overrides::default()));
    differs(hash(&text.replace("size = 2", "size = 3"), "core:2 pu:1", Overrides::default()));
    differs(hash(&text.replace("size", "pin = true\nsize"), "core:2 pu:1", Overrides::default()));
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
        steps = [ { repeat = "me % 3 + 1", steps = [
            { send = "ring[me]" }, { receive = "ring[me]" } ] } ]
        "#;
    let plan = planned(text, &host(TWO_NODES));
    assert_eq!((plan.n_tasks(), plan.teams[0].cpus.len()), (20_000, 16));
}

#[test]
fn counts_the_messages_of_a_whole_run() {
    let check = |keys: &str, steps: &str, expected: Option<(u64, u64)>| {
        let text = format!(
            "about = 'x'\ncopies = 2\nduration = '1s'\n[channel.c]\nkind = 'pipe'\ncount = 3\n\
             [team.fed]\nsize = 1\nsteps = [ {{ receive = 'c[*]' }}, {{ send = 'c[*]' }} ]\n\
             [team.w]\nsize = 2\n{keys}\nsteps = [ {steps} ]"
        );
        let fed = 2 * 3;
        let expected = expected.map(|(sent, received)| (sent + fed, received + fed));
        assert_eq!(planned(&text, &host(TWO_NODES)).messages(), expected, "of {steps}");
    };
    check("", "{ send = 'c[*]' }", Some((12, 0)));
    check("", "{ send = 'c[1]' }, { receive = 'c[any]' }", Some((4, 4)));
    check("", "{ repeat = 5, steps = [ { send = 'c[next]' } ] }", Some((20, 0)));
    let nested = "{ send = 'c[0]' }, { repeat = 5, steps = [ { repeat = 2, steps = [ \
                  { send = 'c[0]' } ] } ] }";
    check("", nested, Some((44, 0)));
    // Member 0 does it once, member 1 twice.
    check("", "{ repeat = 'me + 1', steps = [ { receive = 'c[me]' } ] }", Some((0, 6)));
    check("", "{ forever = [ { send = 'c[0]' } ] }", None);
    check("background = true", "{ send = 'c[0]' }", None);
    check("background = true", "{ spin = '1us' }", Some((0, 0)));
    let many = "{ repeat = 9e15, steps = [ { repeat = 9e15, steps = [ { send = 'c[0]' } ] } ] }";
    check("", many, None);
}

/// The language lists its words without knowing what a plan makes of them.
#[test]
fn the_words_of_profiles_are_those_of_plans() {
    use crate::plan::{placement::SPREADS, resolve::FORMS, scheduling::POLICIES, scope};
    use crate::profile::keys;
    assert_eq!(FORMS.map(|row| row.0), keys::FORMS);
    assert_eq!(SPREADS.map(|row| row.0), keys::SPREADS);
    assert_eq!(POLICIES.map(|row| row.0), keys::POLICIES);
    let names = |rows: &[keys::NameRow]| rows.iter().map(|row| row.name).collect::<Vec<_>>();
    assert_eq!(names(keys::FACTS), crate::host::Facts::NAMES);
    assert_eq!(names(keys::MEMBER), [scope::ME, scope::SIZE, scope::INSTANCE]);
}

#[test]
fn the_opposite_node_is_that_of_each_member() {
    let plan = planned(
        r#"
        about = "x"
        instances = 2
        [memory.area]
        bytes = "1 MiB"
        count = 2
        first_touch = "opposite"
        [team.w]
        size = 2
        on = "node:instance"
        steps = [ { sweep = "area[me]" } ]"#,
        &host(TWO_NODES),
    );
    // Members count through the instances: two on node 0, two on node 1.
    let found: Vec<u32> = (0..4).map(|member| plan.opposite(0, member).0).collect();
    assert_eq!(found, [1, 1, 0, 0]);
}
