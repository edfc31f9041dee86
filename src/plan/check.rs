//! Can this pattern work at all? Everybody who waits is woken, everything sent is received,
//! whoever shares a channel may share it, and the run comes to an end.
//!
//! Must not know: the machine.

use super::traffic::{Side, Traffic, UNBOUNDED, Visit};
use super::{ChannelPlan, FirstTouch, Form, MemoryPlan, Op, ProcessPlan, Sharing, SyncPlan};
use super::{TeamPlan, flow, memory, scheduling, space, spawn, sync};
use crate::profile::{Fault, Profile, Span};
use crate::step::channel::{KINDS, Kind, Shape, find};

/// A compiled pattern, with the places of its operations in the profile.
pub(super) struct Pattern<'a> {
    pub profile: &'a Profile,
    pub channels: &'a [ChannelPlan],
    pub memory: &'a [MemoryPlan],
    pub processes: &'a [ProcessPlan],
    pub syncs: &'a [SyncPlan],
    pub visits: &'a [Visit],
    pub teams: &'a [TeamPlan],
    /// By team and operation.
    pub spans: &'a [Vec<Span>],
    pub traffic: &'a [Traffic],
    pub duration_ns: Option<u64>,
}

impl Pattern<'_> {
    /// Whether two teams are in the same process of an instance.
    pub fn in_one_process(&self, one: usize, other: usize) -> bool {
        space::process_of(self.processes, one) == space::process_of(self.processes, other)
    }
}

/// One end of a channel: the team and the operation.
#[derive(Clone, Copy)]
struct End {
    team: usize,
    op: usize,
    bytes: u32,
}

/// Every fault of the pattern; and what may surprise, as notes.
pub(super) fn check(pattern: &Pattern, faults: &mut Vec<Fault>, notes: &mut Vec<String>) {
    for index in 0..pattern.channels.len() {
        let channel = Checked::new(pattern, index);
        channel.sizes_agree(faults);
        channel.works_between_processes(faults);
        channel.has_a_shape_of_its_kind(faults);
        channel.is_heard(faults);
        channel.is_fed(faults);
        if pattern.duration_ns.is_none() {
            channel.balances(faults, notes);
        }
    }
    spawn::check(pattern, faults);
    flow::check(pattern, faults);
    scheduling::notes(pattern.teams, pattern.syncs, notes);
    regions(pattern, faults, notes);
    ways(pattern, faults);
    sync::check(pattern, faults, notes);
    ends(pattern, faults);
}

/// The shape of a channel with so many wakers and wakees on one instance.
pub(super) fn shape(wakers: u64, wakees: u64) -> Shape {
    match (wakers > 1, wakees > 1) {
        (false, false) => Shape::OneToOne,
        (true, false) => Shape::ManyToOne,
        (false, true) => Shape::OneToMany,
        (true, true) => Shape::ManyToMany,
    }
}

/// A shape in words.
pub(super) fn shape_name(shape: Shape) -> &'static str {
    match shape {
        Shape::OneToOne => "one to one",
        Shape::ManyToOne => "many to one",
        Shape::OneToMany => "one to many",
        Shape::ManyToMany => "many to many",
    }
}

struct Checked<'a> {
    pattern: &'a Pattern<'a>,
    plan: &'a ChannelPlan,
    kind: Option<&'static Kind>,
    traffic: &'a Traffic,
    senders: Vec<End>,
    receivers: Vec<End>,
}

impl<'a> Checked<'a> {
    fn new(pattern: &'a Pattern<'a>, index: usize) -> Checked<'a> {
        let plan = &pattern.channels[index];
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        for (team, it) in pattern.teams.iter().enumerate() {
            for (op, it) in it.ops.iter().enumerate() {
                match *it {
                    Op::Send { channel, bytes, .. } if channel as usize == index => {
                        senders.push(End { team, op, bytes });
                    }
                    Op::Receive { channel, bytes, .. } if channel as usize == index => {
                        receivers.push(End { team, op, bytes });
                    }
                    _ => {}
                }
            }
        }
        Checked {
            pattern,
            plan,
            kind: find(&plan.kind),
            traffic: &pattern.traffic[index],
            senders,
            receivers,
        }
    }

    fn span(&self, end: End) -> Span {
        self.pattern.spans[end.team][end.op].clone()
    }

    fn team(&self, end: End) -> &TeamPlan {
        &self.pattern.teams[end.team]
    }

    fn declared(&self) -> Span {
        let channels = self.pattern.profile.channels.iter();
        let mut declared = channels.filter(|channel| channel.name == self.plan.name);
        declared.next().map_or(0..0, |channel| channel.span.clone())
    }

    /// `inbox[3]`, or `inbox` if there is only one.
    fn instance(&self, index: usize) -> String {
        match self.plan.count {
            1 => self.plan.name.clone(),
            _ => format!("{}[{index}]", self.plan.name),
        }
    }

    fn ends(&self) -> impl Iterator<Item = End> + '_ {
        self.senders.iter().chain(&self.receivers).copied()
    }

    /// A byte stream with messages of two sizes would lose where they begin.
    fn sizes_agree(&self, faults: &mut Vec<Fault>) {
        let Some(first) = self.ends().next() else {
            return;
        };
        for end in self.ends().skip(1).filter(|end| end.bytes != first.bytes) {
            let message = format!(
                "messages of `{}` have {} B here and {} B in team `{}`",
                self.plan.name,
                end.bytes,
                first.bytes,
                self.team(first).name,
            );
            let fault = Fault::new(self.span(end), message);
            faults.push(fault.with_help("give all steps on one channel the same `bytes`"));
        }
    }

    fn works_between_processes(&self, faults: &mut Vec<Fault>) {
        let Some(kind) = self.kind.filter(|kind| !kind.processes) else {
            return;
        };
        let Some(first) = self.ends().next() else { return };
        let why = |end: End| {
            let team = self.team(end);
            match (team.form, self.pattern.in_one_process(end.team, first.team)) {
                (Form::Processes, _) => {
                    Some(format!("the members of team `{}` are processes", team.name))
                }
                (_, false) => {
                    let other = &self.team(first).name;
                    Some(format!("team `{}` is in another than team `{other}`", team.name))
                }
                (_, true) => None,
            }
        };
        let Some((end, why)) = self.ends().find_map(|end| Some((end, why(end)?))) else { return };
        let message = format!("`{}` does not work between processes, and {why}", kind.name);
        let able = KINDS.iter().filter(|kind| kind.processes);
        let able: Vec<&str> = able.map(|kind| kind.name).collect();
        let help = format!("kinds that do: {}", able.join(", "));
        faults.push(Fault::new(self.span(end), message).with_help(help));
    }

    fn has_a_shape_of_its_kind(&self, faults: &mut Vec<Fault>) {
        let Some(kind) = self.kind else { return };
        let (sent, received) = (&self.traffic.sent, &self.traffic.received);
        let shape = shape(sent.tasks_max(), received.tasks_max());
        if kind.shapes.contains(&shape) {
            return;
        }
        let message = format!(
            "`{}` has up to {} wakers and {} wakees on an instance: `{}` cannot be {}",
            self.plan.name,
            sent.tasks_max(),
            received.tasks_max(),
            kind.name,
            shape_name(shape),
        );
        let able = KINDS.iter().filter(|kind| kind.shapes.contains(&shape));
        let able: Vec<&str> = able.map(|kind| kind.name).collect();
        let help = format!("kinds that can: {}", able.join(", "));
        faults.push(Fault::new(self.declared(), message).with_help(help));
    }

    /// The instances that tasks of one side use and nobody of the other: the first, and how many.
    fn alone(&self, these: &Side, others: &Side) -> Option<(usize, usize)> {
        let mut alone = (0..self.plan.count as usize)
            .filter(|&at| these.tasks(at) > 0 && others.tasks(at) == 0);
        let first = alone.next()?;
        Some((first, alone.count()))
    }

    /// Where nobody receives, messages pile up until a waker waits for ever.
    fn is_heard(&self, faults: &mut Vec<Fault>) {
        let Traffic { sent, received, .. } = self.traffic;
        let (Some(&end), Some(alone)) = (self.senders.first(), self.alone(sent, received)) else {
            return;
        };
        let message = match received.is_used() {
            false => format!("nobody receives from `{}`", self.plan.name),
            true => format!("nobody receives from `{}`{}", self.instance(alone.0), more(alone.1)),
        };
        faults.push(Fault::new(self.span(end), message));
    }

    fn is_fed(&self, faults: &mut Vec<Fault>) {
        let Traffic { sent, received, .. } = self.traffic;
        let (Some(&end), Some(alone)) = (self.receivers.first(), self.alone(received, sent)) else {
            return;
        };
        let name = &self.team(end).name;
        let message = match sent.is_used() {
            false => format!("team `{name}` waits on `{}`, which nobody sends to", self.plan.name),
            true => format!(
                "team `{name}` waits on `{}`, which nobody sends to{}",
                self.instance(alone.0),
                more(alone.1)
            ),
        };
        faults.push(Fault::new(self.span(end), message));
    }

    /// Without a duration, the run ends when all that the foreground waits for has come.
    fn balances(&self, faults: &mut Vec<Fault>, notes: &mut Vec<String>) {
        let Traffic { sent, received, received_foreground: needed } = self.traffic;
        if self.alone(sent, received).is_some() || self.alone(received, sent).is_some() {
            return; // told already
        }
        let count = self.plan.count;
        let by_instance = sent.somewhere == 0 && received.somewhere == 0;
        // Where only totals are known, too few in total are still too few.
        let short = match by_instance {
            true => (0..count as usize)
                .map(|at| (self.instance(at), sent.messages(at), needed.messages(at)))
                .find(|(_, sent, needed)| sent < needed),
            false => Some((self.plan.name.clone(), sent.total(count), needed.total(count)))
                .filter(|(_, sent, needed)| sent < needed),
        };
        let waits = self.receivers.iter().find(|end| !self.team(**end).background);
        match (short, waits) {
            (Some((_, _, UNBOUNDED)), _) => {} // a `forever`, which is told by itself
            (Some((name, sent, needed)), Some(&end)) => {
                let message = format!(
                    "the run would never end: messages sent to `{name}`: {sent}, \
                     waited for: {needed}"
                );
                faults.push(Fault::new(self.span(end), message));
            }
            _ => self.note_left_over(notes),
        }
    }

    fn note_left_over(&self, notes: &mut Vec<String>) {
        let count = self.plan.count;
        let (sent, received) = (self.traffic.sent.total(count), self.traffic.received.total(count));
        if received < sent && sent < UNBOUNDED {
            notes.push(format!(
                "{} of {sent} messages to `{}` are never received (in each copy)",
                sent - received,
                self.plan.name,
            ));
        }
    }
}

fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        _ => format!(", and {others} more of it"),
    }
}

/// Regions that somebody uses, arrays of STREAM's steps that are equally long.
fn regions(pattern: &Pattern, faults: &mut Vec<Fault>, notes: &mut Vec<String>) {
    for (index, region) in pattern.memory.iter().enumerate() {
        if !pattern.teams.iter().any(|team| team.uses(index)) {
            notes.push(format!("nobody uses region `{}`", region.name));
        }
        if let (FirstTouch::Team(team), Sharing::Process) = (&region.first_touch, region.sharing) {
            touched_at_home(pattern, index, *team as usize, faults);
            if pattern.teams[*team as usize].form == Form::Processes {
                notes.push(format!("each process has its own region `{}`", region.name));
            }
        }
    }
    for (team, spans) in pattern.teams.iter().zip(pattern.spans) {
        for (op, span) in team.ops.iter().zip(spans) {
            let Op::Use(it) = op else { continue };
            let bytes = |slice: &super::Slice| {
                let region = &pattern.memory[slice.region as usize];
                match slice.slice {
                    super::Pick::At(_) => region.slice_bytes,
                    _ => region.bytes(),
                }
            };
            let others = [&it.from, &it.and].into_iter().flatten();
            if let Some(other) = others.map(bytes).find(|other| *other != bytes(&it.at)) {
                let message = format!(
                    "`{}` is over arrays of one length, and these have {} B and {other} B",
                    it.verb,
                    bytes(&it.at)
                );
                let help = "give their regions the same `bytes`, and name a slice of each or all";
                faults.push(Fault::new(span.clone(), message).with_help(help));
            }
        }
    }
}

/// A team can only touch first what its process has.
fn touched_at_home(pattern: &Pattern, region: usize, toucher: usize, faults: &mut Vec<Fault>) {
    let users = (0..pattern.teams.len()).filter(|team| pattern.teams[*team].uses(region));
    let Some(far) = users.into_iter().find(|team| !pattern.in_one_process(*team, toucher)) else {
        return;
    };
    let name = &pattern.memory[region].name;
    let declared = pattern.profile.memory.iter().find(|it| it.name == *name);
    let message = format!(
        "team `{}`, which touches region `{name}` first, is in another process than team `{}`, \
         which uses it",
        pattern.teams[toucher].name, pattern.teams[far].name
    );
    let fault = Fault::new(declared.map_or(0..0, |it| it.span.clone()), message);
    faults.push(fault.with_help("add `shared = \"instance\"`, or let its owner touch it"));
}

/// The way that a chase goes is written into memory beforehand, and nothing writes over it.
fn ways(pattern: &Pattern, faults: &mut Vec<Fault>) {
    let steps = || {
        let teams = pattern.teams.iter().zip(pattern.spans);
        let ops = teams.flat_map(|(team, spans)| team.ops.iter().zip(spans));
        ops.filter_map(|(op, span)| match op {
            Op::Use(it) => Some((op, &**it, span)),
            _ => None,
        })
    };
    let is_chase = |it: &super::Use| it.verb == "chase";
    let is_whole = |it: &super::Use| !matches!(it.at.slice, super::Pick::At(_));
    for (index, region) in (0..).zip(pattern.memory) {
        let mut chases =
            steps().filter(|(_, it, _)| is_chase(it) && it.at.region == index).map(|(_, it, _)| it);
        let Some(first) = chases.next() else { continue };
        for (op, it, span) in steps() {
            if !memory::used(op).iter().any(|(used, _)| *used == index) {
                continue;
            }
            let (name, verb) = (&region.name, &it.verb);
            let swept = ["sweep", "touch"].contains(&verb.as_str());
            let (message, help) = if is_chase(it) && is_whole(it) != is_whole(first) {
                let message = format!("`{name}` is chased as a whole and by slices");
                (message, "a line is on one way only: chase all of it, or slices")
            } else if !is_chase(it) && (!swept || it.access == "zero") {
                let what = if swept { "zeros" } else { verb };
                let message =
                    format!("{what} would write over the way that `chase` goes in `{name}`");
                (
                    message,
                    "use another region, or an access that leaves it: `read`, `write`, `modify`",
                )
            } else {
                continue;
            };
            faults.push(Fault::new(span.clone(), message).with_help(help));
        }
    }
}

/// Whether the run has an end, and something to wait for.
fn ends(pattern: &Pattern, faults: &mut Vec<Fault>) {
    if pattern.teams.is_empty() {
        faults.push(Fault::new(0..0, "this profile has no team"));
        return;
    }
    if pattern.duration_ns.is_some() {
        return;
    }
    let help = "give a duration: `--duration 10s`, or `duration = \"10s\"` in the profile";
    if pattern.teams.iter().all(|team| team.background) {
        let message = "all teams are in the background: the run would end as it begins";
        faults.push(Fault::new(0..0, message).with_help(help));
    }
    for (team, spans) in pattern.teams.iter().zip(pattern.spans) {
        let mut ops = team.ops.iter().zip(spans);
        let forever = ops.find(|(op, _)| op.is_endless());
        if let (false, Some((_, span))) = (team.background, forever) {
            let message = format!("the run would never end: team `{}` goes on for ever", team.name);
            faults.push(Fault::new(span.clone(), message).with_help(help));
        }
    }
}
