//! The stall watch: whether anybody can still go on, and if nobody can, who waits for what.
//!
//! The coordinator looks a few times a second, and most looks end with the tasks' own words: one of
//! them is at no wait, or messages were sent or received since the last look. Only if not, the
//! kernel is asked. A task that sleeps in two looks and has not left a CPU between them did not run
//! between them. Where that is true of all, each within a step that nothing but another task ends,
//! nobody is left to wake anybody: no length of time is needed for the proof, so an overloaded
//! machine cannot make it wrong. Must not know: what is done about it.

use super::failure::{address, step_words};
use super::roster;
use crate::host::task;
use crate::plan::{Op, Plan};
use crate::record::memory::{Memory, TaskSlot, TaskState};
use crate::record::recording::Waiting;
use crate::sys::clock;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Time between two looks (ns). It takes three of them to see a stall: within the first the last
/// message came, after the next two everybody sleeps.
const EVERY_NS: u64 = 300_000_000;

/// How often a task has left its CPU, of its own accord and not.
type Switches = [u64; 2];

pub(super) struct Watch<'a> {
    plan: &'a Plan,
    memory: &'a Memory,
    next_ns: u64,
    /// Of the last look: see `progress` and `asleep`.
    progress: Option<u64>,
    asleep: Option<Vec<Switches>>,
}

impl<'a> Watch<'a> {
    /// The first look is due after a while.
    pub(super) fn new(plan: &'a Plan, memory: &'a Memory) -> Watch<'a> {
        let next_ns = clock::monotonic_ns() + EVERY_NS;
        Watch { plan, memory, next_ns, progress: None, asleep: None }
    }

    /// Time until the next look (ns).
    pub(super) fn due_in_ns(&self) -> u64 {
        self.next_ns.saturating_sub(clock::monotonic_ns())
    }

    /// Looks if it is time to; whether this look and the one before show a stall.
    pub(super) fn look_if_due(&mut self) -> bool {
        self.due_in_ns() == 0 && self.look()
    }

    pub(super) fn look(&mut self) -> bool {
        self.next_ns = clock::monotonic_ns() + EVERY_NS;
        let progress = self.progress();
        let quiet = progress.is_some() && progress == self.progress;
        let asleep = if quiet { self.asleep() } else { None };
        // Messages once more: a task may have run while others were looked at.
        let stalled = asleep.is_some() && asleep == self.asleep && self.progress() == progress;
        (self.progress, self.asleep) = (progress, asleep);
        stalled
    }

    /// Tasks that are there.
    fn slots(&self) -> impl Iterator<Item = (usize, &'a TaskSlot)> {
        let (memory, n) = (self.memory, self.plan.n_tasks() as usize);
        (0..n).map(|task| (task, memory.slot(task))).filter(|(_, slot)| {
            let state = slot.state.load(Acquire);
            state == TaskState::Running as u32 || state == TaskState::Starting as u32
        })
    }

    /// Messages sent and received by those who are there, if all are in a wait, and there are any.
    fn progress(&self) -> Option<u64> {
        let mut sum = None;
        for (_, slot) in self.slots() {
            if slot.waits_at.load(Relaxed) == 0 {
                return None;
            }
            let messages = slot.sent.iter().chain(&slot.received);
            let messages = messages.map(|count| count.load(Relaxed));
            sum = Some(messages.fold(sum.unwrap_or(0), u64::wrapping_add));
        }
        sum
    }

    /// The switches of those who are there, if the kernel has all of them asleep.
    fn asleep(&self) -> Option<Vec<Switches>> {
        let one = |(_, slot): (usize, &TaskSlot)| {
            let (pid, tid) = (slot.pid.load(Relaxed), slot.tid.load(Relaxed));
            let status = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/status"));
            task::asleep(&status.ok()?)
        };
        self.slots().map(one).collect()
    }

    /// Who waits at which step, in the order of the plan.
    pub(super) fn waiting(&self) -> Vec<Waiting> {
        let ids = roster::task_ids(self.plan);
        let mut found: Vec<((usize, usize), Waiting)> = Vec::new();
        for (task, slot) in self.slots() {
            let Some(op) = (slot.waits_at.load(Relaxed) as usize).checked_sub(1) else { continue };
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
        _ => format!("`{}`", step_words(plan, op)),
    }
}

#[cfg(test)]
mod tests;
