//! The stall watch: whether anybody can still go on, and if nobody can, who waits for what.
//!
//! Tasks that can release each other are a circle: the teams of a copy that have a channel, a sync
//! object, or a spawn or join in common, directly or through others. The coordinator looks a few
//! times a second at each, and most looks end with the tasks' own words: one of them is at no wait,
//! or at another than at the last look. Only if not, the kernel is asked. A
//! task that sleeps in two looks and has not left a CPU between them did not run between them; one
//! that waits awake and has asked meanwhile, in the same wait, has done all that it had to. Where
//! one of these is true of a whole circle, nobody is left to release anybody there: the proof needs
//! no length of time, so slow or overloaded tasks cannot make it wrong (METHODOLOGY.md says what of
//! the kernel's can). A circle in which only the background is left has nothing to do any more.
//! Must not know: what is done about it.

use super::failure::{address, step_words};
use super::roster;
use crate::host;
use crate::plan::{Op, Plan};
use crate::record::memory::{Memory, TaskSlot, TaskState, WAIT_BITS};
use crate::record::recording::Waiting;
use crate::sys::clock;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Time between two looks (ns). It takes three of them to see a stall: within the first the last
/// message came, after the next two everybody waits.
const EVERY_NS: u64 = 300_000_000;

/// A task that is in a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rest {
    task: usize,
    /// Its word, which is another one for each wait.
    wait: u64,
    how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// How often it has left its CPU, of its own accord and not.
    Asleep([u64; 2]),
    /// How often it has asked in vain; not since the last look if it is only runnable.
    Awake(u64),
}

impl Rest {
    /// Whether it has released nobody since `before`, and will not.
    fn is_stuck(&self, before: &Rest) -> bool {
        (self.task, self.wait) == (before.task, before.wait)
            && match (before.how, self.how) {
                (How::Asleep(before), How::Asleep(now)) => before == now,
                (How::Awake(before), How::Awake(now)) => before < now,
                _ => false,
            }
    }
}

pub(super) struct Watch<'a> {
    plan: &'a Plan,
    memory: &'a Memory,
    next_ns: u64,
    circles: Vec<Circle>,
}

/// Tasks that can release each other, and nobody else can.
struct Circle {
    tasks: Vec<usize>,
    /// Those of the foreground: while one is there, the circle has something to do.
    foreground: Vec<usize>,
    /// Of the last look: see `waits` and `at_rest`.
    waits: Option<u64>,
    at_rest: Vec<Rest>,
    is_stuck: bool,
}

impl Circle {
    fn look(&mut self, memory: &Memory) -> bool {
        let waits = self.waits(memory);
        let quiet = waits.is_some() && waits == self.waits;
        let at_rest = if quiet { self.at_rest(memory) } else { None }.unwrap_or_default();
        let as_before = !at_rest.is_empty() && at_rest.len() == self.at_rest.len();
        let mut pairs = at_rest.iter().zip(&self.at_rest);
        self.is_stuck = as_before
            && pairs.all(|(now, before)| now.is_stuck(before))
            && present(memory, &self.foreground).next().is_some();
        (self.waits, self.at_rest) = (waits, at_rest);
        self.is_stuck
    }

    /// The sum of the words of those who are there, if all are in a wait, and there are any.
    fn waits(&self, memory: &Memory) -> Option<u64> {
        let mut sum = None;
        for (_, slot) in present(memory, &self.tasks) {
            match slot.waits_at.load(Relaxed) {
                0 => return None,
                wait => sum = Some(sum.unwrap_or(0u64).wrapping_add(wait)),
            }
        }
        sum
    }

    /// How those who are there wait, if all do so far as can be seen.
    fn at_rest(&self, memory: &Memory) -> Option<Vec<Rest>> {
        let one = |(task, slot): (usize, &TaskSlot)| {
            let wait = slot.waits_at.load(Relaxed);
            let (pid, tid) = (slot.pid.load(Relaxed), slot.tid.load(Relaxed));
            let status = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
            let how = match (host::task::asleep(&status), slot.spun.load(Relaxed)) {
                (Some(switches), _) => How::Asleep(switches),
                (None, 0) => return None,
                (None, spun) => How::Awake(spun),
            };
            Some(Rest { task, wait, how })
        };
        present(memory, &self.tasks).map(one).collect()
    }
}

/// Those of these tasks that are there.
fn present<'m>(memory: &'m Memory, tasks: &[usize]) -> impl Iterator<Item = (usize, &'m TaskSlot)> {
    tasks.iter().map(|task| (*task, memory.slot(*task))).filter(|(_, slot)| {
        let state = slot.state.load(Acquire);
        state == TaskState::Running as u32 || state == TaskState::Starting as u32
    })
}

/// The circles of a plan, in the order of its copies.
fn circles(plan: &Plan) -> Vec<Circle> {
    let of_team = circle_of_team(plan);
    let all_in_background = plan.teams.iter().all(|team| team.background);
    let mut found: BTreeMap<(u32, usize), Circle> = BTreeMap::new();
    for (task, id) in roster::task_ids(plan).into_iter().enumerate() {
        let circle = found.entry((id.copy, of_team[id.team])).or_insert_with(|| Circle {
            tasks: Vec::new(),
            foreground: Vec::new(),
            waits: None,
            at_rest: Vec::new(),
            is_stuck: false,
        });
        circle.tasks.push(task);
        if all_in_background || !plan.teams[id.team].background {
            circle.foreground.push(task);
        }
    }
    found.into_values().collect()
}

/// What tasks of one copy can release each other through.
#[derive(PartialEq, Eq, Hash)]
enum Tie {
    Channel(u32),
    Sync(u32),
    Team(u32),
}

/// By team, the first team of its circle.
fn circle_of_team(plan: &Plan) -> Vec<usize> {
    let ties = |team: usize| -> HashSet<Tie> {
        let tie = |op: &Op| match op {
            Op::Send { channel, .. } | Op::Receive { channel, .. } => Some(Tie::Channel(*channel)),
            Op::Sync(it) => Some(Tie::Sync(it.object)),
            Op::Spawn { team } | Op::Join { team } => Some(Tie::Team(*team)),
            _ => None,
        };
        let own = std::iter::once(Tie::Team(team as u32));
        own.chain(plan.teams[team].ops.iter().filter_map(tie)).collect()
    };
    let mut circle: Vec<usize> = (0..plan.teams.len()).collect();
    let mut first_at = HashMap::new();
    for team in 0..plan.teams.len() {
        for tie in ties(team) {
            let first = *first_at.entry(tie).or_insert(team);
            let (a, b) = (circle[team], circle[first]);
            if a != b {
                let (to, from) = (a.min(b), a.max(b));
                circle.iter_mut().filter(|it| **it == from).for_each(|it| *it = to);
            }
        }
    }
    circle
}

impl<'a> Watch<'a> {
    /// The first look is due after a while.
    pub(super) fn new(plan: &'a Plan, memory: &'a Memory) -> Watch<'a> {
        let next_ns = clock::monotonic_ns() + EVERY_NS;
        Watch { plan, memory, next_ns, circles: circles(plan) }
    }

    /// Time until the next look (ns).
    pub(super) fn due_in_ns(&self) -> u64 {
        self.next_ns.saturating_sub(clock::monotonic_ns())
    }

    /// Looks if it is time to; whether this look and the one before show a stall somewhere.
    pub(super) fn look_if_due(&mut self) -> bool {
        self.due_in_ns() == 0 && self.look()
    }

    pub(super) fn look(&mut self) -> bool {
        self.next_ns = clock::monotonic_ns() + EVERY_NS;
        let mut stalled = false;
        for circle in &mut self.circles {
            stalled |= circle.look(self.memory);
        }
        stalled
    }

    /// Who of those that are stuck waits at which step, in the order of the plan.
    pub(super) fn waiting(&self) -> Vec<Waiting> {
        let ids = roster::task_ids(self.plan);
        let mut found: Vec<((usize, usize), Waiting)> = Vec::new();
        let stuck = self.circles.iter().filter(|circle| circle.is_stuck);
        for (task, slot) in stuck.flat_map(|circle| present(self.memory, &circle.tasks)) {
            let wait = slot.waits_at.load(Relaxed) & ((1 << WAIT_BITS) - 1);
            let Some(op) = (wait as usize).checked_sub(1) else { continue };
            let (id, key) = (ids[task], (ids[task].team, op));
            if let Some((_, waiting)) = found.iter_mut().find(|(known, _)| *known == key) {
                waiting.tasks += 1;
                continue;
            }
            let team = &self.plan.teams[id.team];
            found.push((
                key,
                Waiting {
                    team: team.name.clone(),
                    task_idx: id.copy * team.size + id.index,
                    tasks: 1,
                    wants: team.ops.get(op).map_or_else(String::new, |op| wants(self.plan, op)),
                    line: self.plan.line(id.team, op),
                },
            ));
        }
        found.sort_by_key(|(key, _)| *key);
        found.into_iter().map(|(_, waiting)| waiting).collect()
    }
}

/// What ends the wait of an operation.
fn wants(plan: &Plan, op: &Op) -> String {
    match op {
        Op::Send { channel, pick, .. } => format!("room in `{}`", address(plan, *channel, pick)),
        Op::Receive { channel, pick, .. } => {
            format!("a message on `{}`", address(plan, *channel, pick))
        }
        Op::Join { team } => format!("the end of team `{}`", plan.teams[*team as usize].name),
        Op::Sync(it) => it.act.wants(&plan.syncs[it.object as usize].name),
        _ => format!("`{}`", step_words(plan, op)),
    }
}

#[cfg(test)]
mod tests;
