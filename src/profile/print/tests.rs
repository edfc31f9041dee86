//! What is printed reads back as the same profile.

use super::*;
use crate::profile::keys::{CHOICES, FORMS, PATTERNS};
use crate::profile::{Source, SyncObject, catalogue};
use proptest::prelude::*;
use std::time::Duration;

/// Debug text without spans, the only thing that printing a profile changes.
fn without_spans(profile: &Profile) -> String {
    let profile = Profile { source: Source::default(), ..profile.clone() };
    let text = format!("{profile:?}");
    let mut parts = text.split("span: ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'));
    }
    out
}

#[test]
fn built_ins_print_as_they_are() {
    for builtin in catalogue::BUILTINS {
        let profile = builtin.profile().unwrap();
        let read = profile.clone().checked().unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(without_spans(&read), without_spans(&profile));
        assert_eq!(read.to_toml(), profile.to_toml());
    }
}

#[test]
fn prints_readably() {
    let profile = catalogue::find("pingpong").unwrap().profile().unwrap();
    let printed = profile.to_toml();
    let from = printed.find("\n[channel.pong]").unwrap();
    insta::assert_snapshot!(&printed[from..], @r#"

    [channel.pong]
    kind = "kind"
    bytes = "bytes"

    [team.ping]
    size = 1
    as = "as"
    steps = [
        { repeat = "loops", steps = [
            { measure = "round_trip", steps = [
                { send = "ping[*]" },
                { receive = "pong[*]" },
            ] },
            { spin = "work" },
        ] },
    ]

    [team.pong]
    size = 1
    as = "as"
    steps = [
        { repeat = "tokens - 1", steps = [
            { send = "pong[*]" },
        ] },
        { repeat = "loops - (tokens - 1)", steps = [
            { receive = "ping[*]" },
            { spin = "work" },
            { send = "pong[*]" },
        ] },
        { repeat = "tokens - 1", steps = [
            { receive = "ping[*]" },
        ] },
    ]
    "#);
}

/// Any options; those that the verb does not have are left out.
fn use_of_memory() -> impl Strategy<Value = Step> {
    let verb = prop::sample::select(&["sweep", "touch", "chase", "copy", "triad"][..]);
    let address = prop_oneof![Just("r[*]"), Just("r[me]"), Just("q[(me + 1) % size]")];
    let access = prop::sample::select(&["read", "zero", "acc"][..]);
    let (count, skew) = (0..9u32, prop::option::of(0..10u32));
    (verb, address.clone(), address, access, count, skew).prop_map(
        |(verb, region, other, access, count, skew)| {
            let touches = verb == "touch";
            let arrays = ["copy", "triad"].contains(&verb);
            Step::from(Action::Use(Box::new(Use {
                verb: Word::from(verb),
                region: Address::from(region),
                from: arrays.then(|| Address::from(other)),
                and: (verb == "triad").then(|| Address::from(region)),
                access: (touches || verb == "sweep").then(|| Word::from(access)),
                halo: (verb == "sweep" && count > 4).then(|| Expr::from("50%")),
                count: (touches || verb == "chase").then(|| Expr::from(count)),
                bytes: (verb == "sweep" && count < 3).then(|| Expr::from(count)),
                skew: skew.filter(|_| touches).map(Expr::from),
            })))
        },
    )
}

/// Steps at the objects `b`, `l`, `g`, `s` and `d`.
fn sync_steps() -> Vec<Step> {
    let inside = || [Step::act("spin", Duration::from_nanos(5))];
    vec![
        Step::barrier("b"),
        Step::lock("l[any]", inside()).skewed("n / 100").mode("read"),
        Step::lock("l[me % 2]", inside()),
        Step::commit("g"),
        Step::safepoint("s"),
        Step::collect("s"),
        Step::pause("s", inside()),
        Step::ask("d"),
        Step::serve("d"),
        Step::serve("d").fill("r").bytes("n * 1B"),
    ]
}

/// Sound steps, in a team of a profile with the channel `c`, the regions `r` and `q`, and objects.
fn step() -> impl Strategy<Value = Step> {
    let count = prop_oneof![Just("2"), Just("n * 3"), Just("cpus - (n - 1)"), Just("me % 2")];
    let address = prop_oneof![Just("c[me]"), Just("c[*]"), Just("c[next]"), Just("c[any]")];
    let leaf = prop_oneof![
        address.clone().prop_map(Step::send),
        (address, 0..9000u32).prop_map(|(from, bytes)| Step::receive(from).bytes(bytes)),
        (0..5u32).prop_map(|i| Step::send(format!("c[(me + {i}) % size]").as_str())),
        ("spin|work|sleep", 0..10_000u64)
            .prop_map(|(verb, ns)| Step::act(&verb, Duration::from_nanos(ns))),
        use_of_memory(),
        (0..9_000u64, "lognormal|uniform").prop_map(|(ns, of)| {
            Step::act("spin", Duration::from_nanos(ns)).spread(&of, "20%")
        }),
        Just(Step::spawn("t0")),
        prop::sample::select(sync_steps()),
        Just(Step::join("w")),
    ];
    leaf.prop_recursive(3, 12, 3, move |inner| {
        let block = prop::collection::vec(inner, 1..3);
        prop_oneof![
            (count.clone(), block.clone()).prop_map(|(count, steps)| Step::repeat(count, steps)),
            ("[a-z][a-z0-9_]{0,6}", block.clone())
                .prop_map(|(name, steps)| Step::measure(&name, steps)),
            (1..9_000u64, block.clone(), 0..3u32).prop_map(|(ns, steps, count)| {
                let (period, offset) =
                    (Expr::from(Duration::from_nanos(ns)), Expr::from("n * 1us"));
                let flow = match count {
                    0 => Flow::Every { period, offset: None, count: None, steps },
                    _ => Flow::Every {
                        period,
                        offset: Some(offset),
                        count: Some(count.into()),
                        steps,
                    },
                };
                Action::Flow(Box::new(flow)).into()
            }),
            (1..9_000u32, block.clone(), 0..3u32).prop_map(|(rate, steps, n)| {
                let (rate, pattern) = (Expr::from(rate), Word::from(PATTERNS[n as usize]));
                let (burst, awake) = match n {
                    0 => (None, None),
                    _ => (Some(n.into()), Some("5us".into())),
                };
                Action::Flow(Box::new(Flow::Arrive { rate, pattern, burst, awake, steps })).into()
            }),
            block.clone().prop_map(|steps| Step::measure_from_arrival("answer", steps)),
            (block.clone(), prop::sample::select(CHOICES))
                .prop_map(|(steps, choose)| Step::active("1 / n", choose, steps)),
            (count.clone(), block.clone(), prop::sample::select(&["random", "deck"][..])).prop_map(
                |(weight, steps, deal)| {
                    let arms = [Step::arm(weight, steps.clone()), Step::arm(1, steps)];
                    Step::choose(deal, arms)
                }
            ),
            (0..9_000u64, block)
                .prop_map(|(ns, steps)| Step::during(Duration::from_nanos(ns), steps)),
        ]
    })
}

prop_compose! {
    fn team()(
        size in 1..100u32,
        steps in prop::collection::vec(step(), 1..4),
        forms in prop_oneof![Just("threads"), Just("processes"), Just("w")],
        on in prop_oneof![Just(""), Just("node:0"), Just("llc:me % llcs"), Just("cpus:0-3,8")],
        nice in prop::option::of(-20..20i32),
        background in any::<bool>(),
        endless in any::<bool>(),
        start in prop_oneof![Just("gate"), Just("spawned"), Just("st")],
        process in prop::option::of(prop_oneof![Just("p"), Just("other")]),
        start_on in prop_oneof![Just(""), Just("node:instance % nodes"), Just("place")],
    ) -> Team {
        let mut team = Team::new("t", size).form(forms);
        team.start = Word::from(start);
        team.process = process.map(Word::from);
        team.placement.start_on = (!start_on.is_empty()).then(|| Word::from(start_on));
        team.background = background;
        team.placement.on = (!on.is_empty()).then(|| Word::from(on));
        team.scheduling.nice = nice.map(Expr::from);
        team.steps = if endless { vec![Step::forever(steps)] } else { steps };
        team
    }
}

prop_compose! {
    fn region(name: &'static str)(
        bytes in prop_oneof![Just("0B"), Just("n * 1 MiB"), Just("4096")],
        count in prop_oneof![Just("1"), Just("n + 1"), Just("cpus")],
        first_touch in prop::sample::select(
            &["owner", "t0", "node:me % nodes", "place"][..]
        ),
        policy in prop_oneof![Just("default"), Just("bind:instance"), Just("interleave")],
        huge in prop::sample::select(&["always", "never", "leave", "h"][..]),
        shared in prop::sample::select(&["process", "instance", "all"][..]),
    ) -> Region {
        let mut region = Region::new(name, bytes).count(count).first_touch(first_touch);
        region.policy = Word::from(policy);
        region.huge = Word::from(huge);
        region.shared = Word::from(shared);
        region
    }
}

prop_compose! {
    fn profile()(
        about in "[ -~é\"\\\\]{0,12}",
        teams in prop::collection::vec(team(), 1..3),
        n in 0..1000u32,
        max in prop::option::of(1000..5000u32),
        share in 0..100u32,
        duration in prop::option::of(1..10_000u64),
        choices in prop_oneof![Just(&[][..]), Just(&["threads"][..]), Just(FORMS)],
        regions in (region("r"), region("q")),
        instances in prop::option::of(1..5u32),
        nodes in prop::option::of(1..5u32),
        n_processes in 0..3usize,
    ) -> Profile {
        let number = Param::number("n", n).short('n').about(&about);
        let mut profile = Profile::new("test").about(&about).watch("m", &about)
            .condition("m", ("1", "cpus"), &about).when("n")
            .param(max.map_or(number.clone(), |max| number.at_most(max)))
            .param(Param::number("s", format!("{share}%").as_str()).at_most(1))
            .param(Param::word("w", "threads").choices(choices.iter().copied()))
            .channel(Channel::new("c", "pipe").count("n + 1").bytes("4 KiB"))
            .memory(regions.0).memory(regions.1)
            .sync(SyncObject::barrier("b", if nodes.is_some() { "spin" } else { "how" }))
            .sync(SyncObject::lock("l", "mutex").count("n + 2"))
            .sync(SyncObject::commit("g", Duration::from_nanos(n.into())))
            .sync(SyncObject::desk("d"))
            .sync(SyncObject::safepoint("s"));
        let words = [("acc", "read"), ("st", "gate"), ("h", "never"), ("place", "any")];
        for (name, word) in words {
            profile = profile.param(Param::word(name, word));
        }
        let sets = |value: &str| vec![(Word::from("n"), value.to_owned())];
        let choices = [("few", sets("1")), ("many", sets("cpus * 2")), ("any", Vec::new())];
        let choices = choices.map(|(word, sets)| Choice { word: word.to_owned(), sets });
        let value = ParamValue::Word { default: Word::from("any"), choices: choices.to_vec() };
        profile = profile.param(Param { value, ..Param::word("how", "any") });
        for name in &["p", "q"][..n_processes] {
            profile = profile.process(name);
            profile.processes[0].about = about.clone();
        }
        profile.instances = instances.map(Expr::from);
        profile.nodes = nodes.map(Expr::from);
        profile.duration = duration.map(|ms| Expr::from(Duration::from_millis(ms)));
        for (i, team) in teams.into_iter().enumerate() {
            profile = profile.team(Team { name: format!("t{i}"), ..team });
        }
        profile
    }
}

/// So many cases, and no file of those that failed.
fn cases(count: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(count) }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn reads_what_it_prints(profile in profile()) {
        let read = profile.clone().checked();
        let read = read.map_err(|faults| TestCaseError::fail(faults.to_string()))?;
        prop_assert_eq!(without_spans(&read), without_spans(&profile));
    }
}
