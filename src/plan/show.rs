//! A plan as text: what will run here, in the words of the profile with every number resolved.
//!
//! At most 96 columns wide, which leaves room for an indent. Must not know: the profile or the
//! host; a plan that was sent somewhere prints the same there.

use super::check::{shape, shape_name};
use super::flow::Flow;
use super::traffic::{self, Traffic};
use super::{
    Amount, ChannelPlan, FirstTouch, Form, HugePages, MemoryPlan, MemoryPolicy, Op, Pick, Plan,
    RampPlan, Scheduling, Sharing, Slice, TeamPlan, Use,
};
use crate::base::unit::{self, Unit, counted};
use crate::base::{CpuList, NodeId};
use crate::step::channel::find;
use std::collections::HashSet;

mod sync;

const WIDTH: usize = 96;
/// Of a longer pattern of CPUs only so many are printed.
const CPUS_SHOWN: usize = 16;

/// The whole plan, ending with a newline.
pub fn show(plan: &Plan) -> String {
    let mut lines = Lines::default();
    head(plan, &mut lines);
    let (traffic, _) = traffic::of(&plan.teams, &plan.channels);
    if !plan.channels.is_empty() {
        lines.blank();
        let each = in_each_copy(plan);
        lines.line(0, &format!("channels{each}"));
    }
    for (channel, traffic) in plan.channels.iter().zip(&traffic) {
        lines.line(1, &self::channel(channel, traffic));
    }
    if !plan.memory.is_empty() {
        lines.blank();
        let each = if plan.instances == 1 { "" } else { " in each instance" };
        lines.line(0, &format!("memory{each}"));
    }
    for (index, it) in plan.memory.iter().enumerate() {
        lines.line(1, &(region(it, plan) + &processes_of(index, plan)));
    }
    if !plan.syncs.is_empty() {
        lines.blank();
        lines.line(0, &format!("sync objects{}", in_each_copy(plan)));
    }
    for it in &plan.syncs {
        lines.line(1, &sync::object(it));
    }
    for it in &plan.teams {
        lines.blank();
        team(it, plan, &mut lines);
    }
    lines.blank();
    needs(plan, &mut lines);
    if !plan.notes.is_empty() {
        lines.blank();
        lines.line(0, "notes");
    }
    for note in &plan.notes {
        lines.line(1, note);
    }
    lines.text
}

/// Text that is broken at spaces where it grows too wide.
#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line at this depth; what does not fit goes on in the next, four columns further in.
    fn line(&mut self, depth: usize, text: &str) {
        let mut line = "  ".repeat(depth);
        let mut is_empty = true;
        for word in text.split(' ') {
            let width = line.chars().count() + 1 + word.chars().count();
            if !is_empty && width > WIDTH {
                self.push(&line);
                line = "  ".repeat(depth + 2);
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(word);
            is_empty = false;
        }
        self.push(&line);
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }
}

fn head(plan: &Plan, lines: &mut Lines) {
    lines.line(0, &format!("{}: {}", plan.profile, plan.about));
    lines.blank();
    let params: Vec<String> =
        plan.params.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if !params.is_empty() {
        lines.line(1, &format!("params   {}", params.join(", ")));
    }
    if !plan.watch.is_empty() {
        lines.line(1, &format!("watch    {}", plan.watch.join(", ")));
    }
    for it in &plan.conditions {
        let limit = |name: &str, limit: Option<f64>| limit.map(|it| format!(" {name} {it}"));
        let limits: String =
            [limit("from", it.min), limit("to", it.max)].into_iter().flatten().collect();
        lines.line(1, &format!("tests    only with {}{limits}: {}", it.metric, it.about));
    }
    if let Some(RampPlan { over, row, peak }) = &plan.ramp {
        let score = format!("score over {row}-{peak} to {row}-{}", 2 * u64::from(*peak));
        lines.line(1, &format!("ramp     {row}-N for each N of {over} swept, {score}"));
    }
    let tasks = plan.n_tasks();
    let copies = u64::from(plan.copies);
    let tasks = match copies {
        1 => tasks.to_string(),
        _ => format!("{tasks}: {copies} copies of {}", tasks / copies.max(1)),
    };
    if plan.own_processes {
        let instances = counted(plan.instances.into(), "instance");
        let cgroup = if plan.cgroups.is_empty() { "" } else { ", each in a cgroup of its own" };
        let each = match plan.n_processes() {
            1 => "each an address space of its own".to_owned(),
            n => format!("each {n} address spaces"),
        };
        lines.line(1, &format!("process  {instances}, {each}{cgroup}"));
    }
    for process in &plan.processes {
        let teams = process.teams.iter().map(|team| plan.teams[*team as usize].name.as_str());
        let teams: Vec<&str> = teams.collect();
        let about = match process.about.as_str() {
            "" => String::new(),
            about => format!(": {about}"),
        };
        lines.line(2, &format!("{} ({}){about}", process.name, teams.join(", ")));
    }
    lines.line(1, &format!("tasks    {tasks}"));
    lines.line(1, &format!("machine  {}", machine(plan)));
    let time = |ns: u64| unit::exact(ns as f64, Unit::Time);
    let length = match (plan.duration_ns, plan.warmup_ns) {
        (None, _) => "until the foreground teams have done their steps".to_owned(),
        (Some(ns), 0) => format!("{}, without a warm-up", time(ns)),
        (Some(ns), warmup) => format!("{}, after a warm-up of {}", time(ns), time(warmup)),
    };
    lines.line(1, &format!("length   {length}"));
    lines.line(1, &format!("seed     {}", plan.seed));
    lines.line(1, &format!("hash     {}", plan.hash));
}

fn machine(plan: &Plan) -> String {
    let allowed: Vec<_> = plan.cpus.iter().filter(|cpu| cpu.allowed).collect();
    let list: CpuList = allowed.iter().map(|cpu| cpu.id).collect();
    let cores: HashSet<_> = allowed.iter().map(|cpu| cpu.place.core).collect();
    let llcs: HashSet<_> = allowed.iter().map(|cpu| cpu.place.llc).collect();
    let nodes: HashSet<_> = allowed.iter().map(|cpu| cpu.place.node).collect();
    format!(
        "{} of {} ({list}), {}, {}, {}",
        allowed.len(),
        counted(plan.cpus.len() as u64, "CPU"),
        counted(cores.len() as u64, "core"),
        counted(llcs.len() as u64, "LLC"),
        counted(nodes.len() as u64, "node"),
    )
}

fn channel(channel: &ChannelPlan, traffic: &Traffic) -> String {
    let ChannelPlan { name, kind, count, .. } = channel;
    let (wakers, wakees) = (traffic.sent.tasks_max(), traffic.received.tasks_max());
    let shape = match wakers + wakees {
        0 => "not used".to_owned(),
        _ => format!(
            "{} ({}, {} each)",
            shape_name(shape(wakers, wakees)),
            counted(wakers, "waker"),
            counted(wakees, "wakee"),
        ),
    };
    let across = if channel.across_processes { ", between processes" } else { "" };
    let size = size(channel, channel.bytes);
    format!("{name}: {count} x {kind}{size}, {shape}{across}")
}

/// `, 100 B`; nothing for a kind that carries no bytes.
fn size(channel: &ChannelPlan, bytes: u32) -> String {
    match find(&channel.kind) {
        Some(kind) if !kind.payload => String::new(),
        _ => format!(", {}", unit::bytes(bytes.into())),
    }
}

fn in_each_copy(plan: &Plan) -> &'static str {
    if plan.copies == 1 { "" } else { " in each copy" }
}

fn team(team: &TeamPlan, plan: &Plan, lines: &mut Lines) {
    let background = match (team.background, team.spawned) {
        (true, true) => ", spawned, in the background",
        (true, false) => ", in the background",
        (false, true) => ", spawned",
        (false, false) => "",
    };
    let size = match (team.size, team.form) {
        (1, Form::Threads) => "1 thread".to_owned(),
        (1, Form::Processes) => "1 process".to_owned(),
        (n, form) => format!("{n} {}", form.name()),
    };
    let each = in_each_copy(plan);
    lines.line(0, &format!("team {}: {size}{each}{background}", team.name));
    lines.line(1, &placement(&team.cpus));
    if !team.start_cpus.is_empty() {
        lines.line(1, &format!("begins {}", placement(&team.start_cpus)));
    }
    if let Some(scheduling) = scheduling(&team.scheduling) {
        lines.line(1, &scheduling);
    }
    program(team, plan, lines);
}

fn placement(cpus: &[CpuList]) -> String {
    match cpus {
        [] => "on any allowed CPU".to_owned(),
        [all] => format!("on CPU {all}"),
        _ => {
            let shown = cpus.iter().take(CPUS_SHOWN).map(CpuList::to_string);
            let mut shown: Vec<String> = shown.collect();
            if cpus.len() > CPUS_SHOWN {
                shown.push(format!("... ({} in all)", cpus.len()));
            }
            format!("members in turn on CPU {}", shown.join(" | "))
        }
    }
}

fn scheduling(scheduling: &Scheduling) -> Option<String> {
    let time = |ns: u64| unit::exact(ns as f64, Unit::Time);
    let Scheduling { policy, nice, priority, slice_ns, deadline, .. } = scheduling;
    let Scheduling { timer_slack_ns, uclamp_min, uclamp_max, .. } = scheduling;
    let parts = [
        policy.map(|policy| format!("policy {}", policy.name())),
        nice.map(|nice| format!("nice {nice}")),
        priority.map(|priority| format!("priority {priority}")),
        slice_ns.map(|ns| format!("slice {}", time(ns))),
        timer_slack_ns.map(|ns| format!("timer slack {}", time(ns))),
        uclamp_min.map(|min| format!("uclamp_min {min}")),
        uclamp_max.map(|max| format!("uclamp_max {max}")),
        deadline.map(|times| {
            format!(
                "runtime {}, deadline {}, period {}",
                time(times.runtime_ns),
                time(times.deadline_ns),
                time(times.period_ns)
            )
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn program(team: &TeamPlan, plan: &Plan, lines: &mut Lines) {
    let mut depth = 1;
    if team.ops.is_empty() {
        lines.line(depth, "(nothing)");
    }
    for op in &team.ops {
        let ends = matches!(op, Op::Flow(flow) if matches!(**flow, Flow::Answered { .. }));
        match op {
            _ if ends => depth -= 1,
            Op::Again { .. } | Op::EndMeasure { .. } | Op::Leave { .. } => depth -= 1,
            Op::Sync(it) if !it.act.comes() => depth -= 1,
            _ => lines.line(depth, &step(op, team, plan)),
        }
        if matches!(
            op,
            Op::Loop { .. }
                | Op::During { .. }
                | Op::Forever { .. }
                | Op::Measure { .. }
                | Op::Flow(_)
        ) && !ends
        {
            depth += 1;
        }
        if let Op::Sync(it) = op {
            depth += usize::from(it.act.opens());
        }
    }
}

/// One operation in the words of the profile.
fn step(op: &Op, team: &TeamPlan, plan: &Plan) -> String {
    match op {
        Op::Send { channel, pick, bytes } => {
            format!("send {}", message(&plan.channels[*channel as usize], pick, *bytes))
        }
        Op::Receive { channel, pick, bytes } => {
            format!("receive {}", message(&plan.channels[*channel as usize], pick, *bytes))
        }
        Op::Loop { count, .. } => format!("repeat {}", count.shown(Unit::Count)),
        Op::During { time, .. } => format!("during {}", time.shown(Unit::Time)),
        Op::Spawn { team } => format!("spawn {}", plan.teams[*team as usize].name),
        Op::Join { team } => format!("join {}", plan.teams[*team as usize].name),
        Op::Use(it) => use_of_memory(it, plan),
        Op::Sync(it) => sync::step(it, plan),
        Op::Forever { .. } => "forever".to_owned(),
        Op::Measure { measure } => format!("measure {}", team.measures[*measure as usize]),
        Op::Work { kind, amount, spread } => {
            let unit = op.work().map_or(Unit::Count, |kind| kind.unit);
            let spread = spread.as_ref().map(|it| format!(", {}, cv {}", it.of, it.cv));
            format!("{kind} {}{}", amount.shown(unit), spread.unwrap_or_default())
        }
        Op::Flow(flow) => flow.words(),
        Op::Again { .. } | Op::EndMeasure { .. } | Op::Leave { .. } => String::new(),
    }
}

fn message(channel: &ChannelPlan, pick: &Pick, bytes: u32) -> String {
    let which = match pick {
        Pick::All => "[*]".to_owned(),
        Pick::Next => "[next]".to_owned(),
        Pick::Any => "[any]".to_owned(),
        Pick::At(_) if channel.count == 1 => String::new(),
        Pick::At(index) => format!("[{}]", index.shown(Unit::Count)),
    };
    format!("{}{which}{}", channel.name, size(channel, bytes))
}

fn use_of_memory(it: &Use, plan: &Plan) -> String {
    let place = |slice: &Slice| {
        let name = &plan.memory[slice.region as usize].name;
        match &slice.slice {
            Pick::At(at) => format!("{name}[{}]", at.shown(Unit::Count)),
            _ => name.clone(),
        }
    };
    let mut text = format!("{} {}", it.verb, place(&it.at));
    for (word, other) in [("from", &it.from), ("and", &it.and)] {
        if let Some(other) = other {
            text.push_str(&format!(", {word} {}", place(other)));
        }
    }
    if it.verb == "allocate" {
        return format!("{text}, {}", it.count.shown(Unit::Bytes));
    }
    if ["touch", "chase", "multiply"].contains(&it.verb.as_str()) {
        text.push_str(&format!(", {} times", it.count.shown(Unit::Count)));
    }
    if it.from.is_none() && !["chase", "multiply"].contains(&it.verb.as_str()) {
        text.push_str(&format!(", {}", it.access));
    }
    if let Some(bytes) = it.part {
        text.push_str(&format!(", {}", unit::exact(bytes as f64, Unit::Bytes)));
    }
    if it.halo > 0.0 {
        text.push_str(&format!(", halo {}", unit::exact(it.halo, Unit::Share)));
    }
    if let Some(skew) = it.skew {
        text.push_str(&format!(", skew {skew}"));
    }
    text
}

/// The processes that have a region each for themselves, where an instance has several.
fn processes_of(region: usize, plan: &Plan) -> String {
    let numbers = 0..plan.processes.len();
    let having = numbers.filter(|process| plan.has(*process, region));
    let names: Vec<&str> = having.map(|process| plan.processes[process].name.as_str()).collect();
    match plan.memory[region].sharing {
        Sharing::Process if !names.is_empty() => format!(", in {}", names.join(" and in ")),
        _ => String::new(),
    }
}

fn region(region: &MemoryPlan, plan: &Plan) -> String {
    let slices = match region.count {
        1 => String::new(),
        n => format!("{n} x "),
    };
    let nodes = |nodes: &[NodeId]| {
        let ids: Vec<String> = nodes.iter().map(|node| node.0.to_string()).collect();
        ids.join(",")
    };
    let touch = match &region.first_touch {
        FirstTouch::Owner => "its owner".to_owned(),
        FirstTouch::Team(team) => match plan.teams.get(*team as usize) {
            Some(team) => format!("team {}", team.name),
            None => "a team".to_owned(),
        },
        FirstTouch::Main => "the main thread".to_owned(),
        FirstTouch::Nodes(on) => format!("the main thread, onto node {}", nodes(on)),
        FirstTouch::Interleave => "the main thread, interleaved".to_owned(),
        FirstTouch::Opposite => "its owner, onto the farthest node".to_owned(),
        FirstTouch::Nobody => "nobody before the run".to_owned(),
    };
    let policy = |policy: &MemoryPolicy| match policy {
        MemoryPolicy::Default => "default".to_owned(),
        MemoryPolicy::Bind(on) => format!("bind:{}", nodes(on)),
        MemoryPolicy::Preferred(node) => format!("preferred:{}", node.0),
        MemoryPolicy::Interleave(on) => format!("interleave:{}", nodes(on)),
    };
    let policies: Vec<String> = region.policies.iter().map(policy).collect();
    let policies = match region.policies[..] {
        [MemoryPolicy::Default] => String::new(),
        _ => format!(", policy {}", policies.join(" | ")),
    };
    let huge = match region.huge {
        HugePages::Always => ", huge pages",
        HugePages::Never => ", no huge pages",
        HugePages::Leave => "",
    };
    let shared = match region.sharing {
        Sharing::Process => "",
        Sharing::Instance => ", one for the processes of an instance",
        Sharing::All => ", one for all processes",
    };
    let size = unit::bytes(region.slice_bytes as f64);
    format!("{}: {slices}{size}, first touched by {touch}{policies}{huge}{shared}", region.name)
}

impl Amount {
    /// The number with its unit, or the expression that differs by member.
    pub(super) fn shown(&self, unit: Unit) -> String {
        match self {
            Amount::Fixed(number) => unit::exact(*number as f64, unit),
            Amount::PerMember(node) => node.to_string(),
        }
    }
}

fn needs(plan: &Plan, lines: &mut Lines) {
    lines.line(0, "needs");
    let needs = &plan.needs;
    let rows = [
        ("tasks", needs.tasks, Unit::Count),
        ("open files", needs.open_files, Unit::Count),
        ("memory", needs.memory_bytes, Unit::Bytes),
        ("mappings", needs.mappings, Unit::Count),
    ];
    for (name, need, unit) in rows {
        let shown = |n: u64| match unit {
            Unit::Bytes => unit::bytes(n as f64),
            _ => n.to_string(),
        };
        let limits = needs.limits.iter().filter(|limit| limit.need == name);
        let limits = limits.map(|limit| format!("{} ({})", shown(limit.max), limit.name));
        let limits: Vec<String> = limits.collect();
        let of = match limits.is_empty() {
            true => "no limit known".to_owned(),
            false => format!("of {}", limits.join(", ")),
        };
        lines.line(1, &format!("{name:<11}{}, {of}", shown(need)));
    }
}
