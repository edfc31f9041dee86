//! Prints a profile as TOML that reads back as the same profile.
//!
//! Comments and the order of keys are not kept; what has its default is left out. Must not know:
//! whether the profile is sound. What is wrong in it is printed as it is, for the parser to find.

use crate::base::Unit;
use crate::profile::keys::{FACTS, is_name};
use crate::profile::{
    Action, Address, Arm, Cgroup, Channel, Choice, Condition, Expr, Flow, Param, ParamValue,
    Process, Profile, Ramp, Region, Step, Team, Use, Which, Word,
};
use std::fmt::Write;

mod sync;

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
        optional(&mut out, "ramp", self.ramp.as_ref().map(ramp));
        if !self.watch.is_empty() {
            out.push_str("\n[watch]\n");
            for watch in &self.watch {
                line(&mut out, &key(&watch.metric.text), &quoted(&watch.about));
            }
        }
        if !self.conditions.is_empty() {
            out.push_str("\n[condition]\n");
            for it in &self.conditions {
                line(&mut out, &key(&it.metric.text), &inline(&condition_fields(it)));
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
        self.processes.iter().for_each(|process| print_process(&mut out, process));
        self.syncs.iter().for_each(|object| sync::print_object(&mut out, object));
        self.teams.iter().for_each(|team| print_team(&mut out, team));
        out
    }
}

fn condition_fields(it: &Condition) -> Fields {
    let limit = |name, limit: &Option<Expr>| limit.as_ref().map(|it| (name, number(it)));
    let limits = limit("min", &it.min).into_iter().chain(limit("max", &it.max));
    let limits = limits.chain(limit("when", &it.when));
    limits.chain([("about", quoted(&it.about))]).collect()
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

fn ramp(ramp: &Ramp) -> String {
    let texts = [("over", quoted(&ramp.over)), ("row", quoted(&ramp.row))];
    inline(&[&texts[..], &[("peak", number(&ramp.peak))]].concat())
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

fn print_process(out: &mut String, process: &Process) {
    let _ = writeln!(out, "\n[process.{}]", key(&process.name));
    if !process.about.is_empty() {
        line(out, "about", &quoted(&process.about));
    }
}

fn print_team(out: &mut String, team: &Team) {
    let _ = writeln!(out, "\n[team.{}]", key(&team.name));
    line(out, "size", &number(&team.size));
    if team.form.text != "threads" {
        line(out, "as", &word(&team.form));
    }
    optional(out, "process", team.process.as_ref().map(word));
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
    optional(out, "timer_slack", scheduling.timer_slack.as_ref().map(number));
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
        Action::Measure { name, from, steps: inner } => {
            let mut fields = vec![("measure", word(name))];
            fields.extend(from.as_ref().map(|from| ("from", word(from))));
            fields.push(("steps", steps(inner, depth)));
            inline(&fields)
        }
        Action::During { time, steps: inner } => {
            inline(&[("during", number(time)), ("steps", steps(inner, depth))])
        }
        Action::Flow(flow) => print_flow(flow, depth),
        Action::Spawn { team } => inline(&[("spawn", word(team))]),
        Action::Join { team } => inline(&[("join", word(team))]),
        Action::Use(it) => use_of_memory(it),
        Action::Sync(it) => sync::step(it, depth),
        Action::Act { verb, amount, spread } => {
            let verb = key(&verb.text);
            let mut fields = vec![(verb.as_str(), number(amount))];
            fields.extend(spread.as_ref().map(|spread| ("spread", word(&spread.of))));
            let cv = spread.as_ref().and_then(|spread| spread.cv.as_ref());
            fields.extend(cv.map(|cv| ("cv", number(cv))));
            inline(&fields)
        }
    }
}

fn print_flow(flow: &Flow, depth: usize) -> String {
    match flow {
        Flow::Active { share, choose, steps: inner } => inline(&[
            ("active", number(share)),
            ("choose", word(choose)),
            ("steps", steps(inner, depth)),
        ]),
        Flow::Every { period, offset, count, steps: inner } => {
            let mut fields = vec![("every", number(period))];
            fields.extend(offset.as_ref().map(|offset| ("offset", number(offset))));
            fields.extend(count.as_ref().map(|count| ("count", number(count))));
            fields.push(("steps", steps(inner, depth)));
            inline(&fields)
        }
        Flow::Arrive { rate, pattern, burst, awake, steps: inner } => {
            let mut fields = vec![("arrive", number(rate)), ("as", word(pattern))];
            fields.extend(burst.as_ref().map(|burst| ("burst", number(burst))));
            fields.extend(awake.as_ref().map(|awake| ("awake", number(awake))));
            fields.push(("steps", steps(inner, depth)));
            inline(&fields)
        }
        Flow::Choose { arms, deal } => {
            let indent = "    ".repeat(depth);
            let arm = |arm: &Arm| {
                let inner = steps(&arm.steps, depth + 1);
                inline(&[("weight", number(&arm.weight)), ("steps", inner)])
            };
            let arms = arms.iter().map(|it| format!("{indent}    {},\n", arm(it)));
            let arms = format!("[\n{}{indent}]", arms.collect::<String>());
            inline(&[("choose", arms), ("as", word(deal))])
        }
    }
}

fn use_of_memory(it: &Use) -> String {
    let address = |address: &Address| quoted(&printed(address));
    let verb = key(&it.verb.text);
    let mut fields = vec![(verb.as_str(), address(&it.region))];
    fields.extend(it.from.as_ref().map(|from| ("from", address(from))));
    fields.extend(it.and.as_ref().map(|and| ("and", address(and))));
    fields.extend(it.count.as_ref().map(|count| ("count", number(count))));
    fields.extend(it.bytes.as_ref().map(|bytes| ("bytes", number(bytes))));
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
mod tests;
