//! Prints a profile as TOML that reads back as the same profile.
//!
//! Comments and the order of keys are not kept; what has its default is left out. Must not know:
//! whether the profile is sound. What is wrong in it is printed as it is, for the parser to find.

use crate::base::Unit;
use crate::profile::keys::{FACTS, is_name};
use crate::profile::{
    Action, Address, Cgroup, Channel, Choice, Expr, Param, ParamValue, Profile, Region, Step, Team,
    Use, Which, Word,
};
use std::fmt::Write;

impl Profile {
    /// The profile in the language of its files.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        line(&mut out, "about", &quoted(&self.about));
        if self.copies.text != "1" {
            line(&mut out, "copies", &number(&self.copies));
        }
        optional(&mut out, "instances", self.instances.as_ref().map(number));
        optional(&mut out, "cgroup", self.cgroup.as_ref().map(cgroup));
        optional(&mut out, "nodes", self.nodes.as_ref().map(number));
        optional(&mut out, "duration", self.duration.as_ref().map(number));
        optional(&mut out, "warmup", self.warmup.as_ref().map(number));
        if !self.watch.is_empty() {
            out.push_str("\n[watch]\n");
            for watch in &self.watch {
                line(&mut out, &key(&watch.metric.text), &quoted(&watch.about));
            }
        }
        if !self.params.is_empty() {
            out.push_str("\n[param]\n");
            for param in &self.params {
                line(&mut out, &key(&param.name), &inline(&param_fields(param)));
            }
        }
        self.channels.iter().for_each(|channel| print_channel(&mut out, channel));
        self.memory.iter().for_each(|region| print_region(&mut out, region));
        self.teams.iter().for_each(|team| print_team(&mut out, team));
        out
    }
}

fn line(out: &mut String, key: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{key} = {value}");
}

fn optional(out: &mut String, key: &str, value: Option<String>) {
    if let Some(value) = value {
        line(out, key, &value);
    }
}

type Fields = Vec<(&'static str, String)>;

fn inline(fields: &[(&str, String)]) -> String {
    let fields: Vec<String> =
        fields.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    format!("{{ {} }}", fields.join(", "))
}

fn key(name: &str) -> String {
    if is_name(name) { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A plain whole number as it is, everything else in quotes.
fn number(expr: &Expr) -> String {
    let text = &expr.text;
    let digits = !text.is_empty() && text.len() < 16 && text.bytes().all(|b| b.is_ascii_digit());
    let plain = digits && (text == "0" || !text.starts_with('0'));
    if plain { text.clone() } else { quoted(text) }
}

fn word(word: &Word) -> String {
    quoted(&word.text)
}

fn param_fields(param: &Param) -> Fields {
    let mut fields = Fields::new();
    match &param.value {
        ParamValue::Number { default, unit, min, max } => {
            let limit = |value| number(&Expr::number(value, *unit));
            fields.push(("default", number(default)));
            if *min != 0.0 {
                fields.push(("min", limit(*min)));
            }
            if max.is_finite() {
                fields.push(("max", limit(*max)));
            }
            let found = default.unit(&|_| Some(Unit::Count)).ok().flatten();
            if found.unwrap_or(Unit::Count) != *unit {
                fields.push(("unit", quoted(unit_name(*unit))));
            }
        }
        ParamValue::Word { default, choices } => {
            fields.push(("default", word(default)));
            let as_expected =
                is_name(&default.text) && !FACTS.iter().any(|row| row.name == default.text);
            if !choices.is_empty() {
                fields.push(("choices", printed_choices(choices)));
            } else if !as_expected {
                fields.push(("unit", quoted("word")));
            }
        }
    }
    if let Some(letter) = param.short {
        fields.push(("short", quoted(&letter.to_string())));
    }
    fields.push(("about", quoted(&param.about)));
    fields
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "count",
        Unit::Time => "time",
        Unit::Bytes => "bytes",
        Unit::Share => "share",
    }
}

fn print_channel(out: &mut String, channel: &Channel) {
    let _ = writeln!(out, "\n[channel.{}]", key(&channel.name));
    line(out, "kind", &word(&channel.kind));
    if channel.count.text != "1" {
        line(out, "count", &number(&channel.count));
    }
    optional(out, "bytes", channel.bytes.as_ref().map(number));
}

fn cgroup(cgroup: &Cgroup) -> String {
    let mut fields = Fields::new();
    fields.extend(cgroup.cpus.as_ref().map(|cpus| ("cpus", word(cpus))));
    fields.extend(cgroup.mems.as_ref().map(|mems| ("mems", number(mems))));
    fields.extend(cgroup.weight.as_ref().map(|weight| ("weight", number(weight))));
    fields.extend(cgroup.max.as_ref().map(|max| ("max", number(max))));
    inline(&fields)
}

fn printed_choices(choices: &[Choice]) -> String {
    if choices.iter().all(|choice| choice.sets.is_empty()) {
        let words: Vec<String> = choices.iter().map(|choice| quoted(&choice.word)).collect();
        return format!("[{}]", words.join(", "));
    }
    let one = |choice: &Choice| {
        let sets: Vec<String> = choice
            .sets
            .iter()
            .map(|(name, value)| format!("{} = {}", key(&name.text), quoted(value)))
            .collect();
        format!("{} = {{ {} }}", key(&choice.word), sets.join(", "))
    };
    let all: Vec<String> = choices.iter().map(one).collect();
    format!("{{ {} }}", all.join(", "))
}

fn print_region(out: &mut String, region: &Region) {
    let _ = writeln!(out, "\n[memory.{}]", key(&region.name));
    line(out, "bytes", &number(&region.bytes));
    if region.count.text != "1" {
        line(out, "count", &number(&region.count));
    }
    let words = [
        ("first_touch", &region.first_touch, "owner"),
        ("policy", &region.policy, "default"),
        ("huge", &region.huge, "leave"),
        ("shared", &region.shared, "process"),
    ];
    for (key, value, default) in words {
        if value.text != default {
            line(out, key, &word(value));
        }
    }
}

fn print_team(out: &mut String, team: &Team) {
    let _ = writeln!(out, "\n[team.{}]", key(&team.name));
    line(out, "size", &number(&team.size));
    if team.form.text != "threads" {
        line(out, "as", &word(&team.form));
    }
    if team.background {
        line(out, "background", "true");
    }
    if team.start.text != "gate" {
        line(out, "start", &word(&team.start));
    }
    optional(out, "start_on", team.placement.start_on.as_ref().map(word));
    optional(out, "on", team.placement.on.as_ref().map(word));
    optional(out, "spread", team.placement.spread.as_ref().map(word));
    if team.placement.pin {
        line(out, "pin", "true");
    }
    let scheduling = &team.scheduling;
    optional(out, "policy", scheduling.policy.as_ref().map(word));
    optional(out, "nice", scheduling.nice.as_ref().map(number));
    optional(out, "priority", scheduling.priority.as_ref().map(number));
    optional(out, "slice", scheduling.slice.as_ref().map(number));
    let bounds = [("min", &scheduling.uclamp_min), ("max", &scheduling.uclamp_max)];
    let bounds = bounds.into_iter().filter_map(|(key, bound)| Some((key, number(bound.as_ref()?))));
    let bounds: Fields = bounds.collect();
    optional(out, "uclamp", (!bounds.is_empty()).then(|| inline(&bounds)));
    if let Some(times) = &scheduling.deadline {
        let mut fields = vec![("runtime", number(&times.runtime))];
        fields.extend(times.deadline.as_ref().map(|deadline| ("deadline", number(deadline))));
        fields.push(("period", number(&times.period)));
        line(out, "deadline", &inline(&fields));
    }
    line(out, "steps", &steps(&team.steps, 0));
}

fn steps(list: &[Step], depth: usize) -> String {
    let indent = "    ".repeat(depth);
    let lines = list.iter().map(|item| format!("{indent}    {},\n", step(item, depth + 1)));
    format!("[\n{}{indent}]", lines.collect::<String>())
}

fn step(step: &Step, depth: usize) -> String {
    let message = |verb, address: &Address, bytes: &Option<Expr>| {
        let mut fields = vec![(verb, quoted(&printed(address)))];
        fields.extend(bytes.as_ref().map(|bytes| ("bytes", number(bytes))));
        inline(&fields)
    };
    match &step.action {
        Action::Send { to, bytes } => message("send", to, bytes),
        Action::Receive { from, bytes } => message("receive", from, bytes),
        Action::Repeat { count, steps: inner } => {
            inline(&[("repeat", number(count)), ("steps", steps(inner, depth))])
        }
        Action::Forever { steps: inner } => inline(&[("forever", steps(inner, depth))]),
        Action::Measure { name, steps: inner } => {
            inline(&[("measure", word(name)), ("steps", steps(inner, depth))])
        }
        Action::During { time, steps: inner } => {
            inline(&[("during", number(time)), ("steps", steps(inner, depth))])
        }
        Action::Spawn { team } => inline(&[("spawn", word(team))]),
        Action::Join { team } => inline(&[("join", word(team))]),
        Action::Use(it) => use_of_memory(it),
        Action::Act { verb, amount } => inline(&[(&key(&verb.text), number(amount))]),
    }
}

fn use_of_memory(it: &Use) -> String {
    let address = |address: &Address| quoted(&printed(address));
    let verb = key(&it.verb.text);
    let mut fields = vec![(verb.as_str(), address(&it.region))];
    fields.extend(it.from.as_ref().map(|from| ("from", address(from))));
    fields.extend(it.and.as_ref().map(|and| ("and", address(and))));
    fields.extend(it.count.as_ref().map(|count| ("count", number(count))));
    fields.extend(it.access.as_ref().map(|access| ("access", word(access))));
    fields.extend(it.halo.as_ref().map(|halo| ("halo", number(halo))));
    fields.extend(it.skew.as_ref().map(|skew| ("skew", number(skew))));
    inline(&fields)
}

fn printed(address: &Address) -> String {
    let which = match &address.which {
        Which::All => "*",
        Which::Next => "next",
        Which::Any => "any",
        Which::At(expr) => &expr.text,
    };
    format!("{}[{which}]", address.channel.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::keys::FORMS;
    use crate::profile::{Source, catalogue};
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
                    skew: skew.filter(|_| touches).map(Expr::from),
                })))
            },
        )
    }

    /// Sound steps, in a team of a profile with the channel `c` and the regions `r` and `q`.
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
            Just(Step::spawn("t0")),
            Just(Step::join("w")),
        ];
        leaf.prop_recursive(3, 12, 3, move |inner| {
            let block = prop::collection::vec(inner, 1..3);
            prop_oneof![
                (count.clone(), block.clone())
                    .prop_map(|(count, steps)| Step::repeat(count, steps)),
                ("[a-z][a-z0-9_]{0,6}", block.clone())
                    .prop_map(|(name, steps)| Step::measure(&name, steps)),
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
            start_on in prop_oneof![Just(""), Just("node:instance % nodes"), Just("place")],
        ) -> Team {
            let mut team = Team::new("t", size).form(forms);
            team.start = Word::from(start);
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
            shared in prop::sample::select(&["process", "all"][..]),
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
        ) -> Profile {
            let number = Param::number("n", n).short('n').about(&about);
            let mut profile = Profile::new("test").about(&about).watch("m", &about)
                .param(max.map_or(number.clone(), |max| number.at_most(max)))
                .param(Param::number("s", format!("{share}%").as_str()).at_most(1))
                .param(Param::word("w", "threads").choices(choices.iter().copied()))
                .channel(Channel::new("c", "pipe").count("n + 1").bytes("4 KiB"))
                .memory(regions.0).memory(regions.1);
            let words = [("acc", "read"), ("st", "gate"), ("h", "never"), ("place", "any")];
            for (name, word) in words {
                profile = profile.param(Param::word(name, word));
            }
            let sets = |value: &str| vec![(Word::from("n"), value.to_owned())];
            let choices = [("few", sets("1")), ("many", sets("cpus * 2")), ("any", Vec::new())];
            let choices = choices.map(|(word, sets)| Choice { word: word.to_owned(), sets });
            let value = ParamValue::Word { default: Word::from("any"), choices: choices.to_vec() };
            profile = profile.param(Param { value, ..Param::word("how", "any") });
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
}
