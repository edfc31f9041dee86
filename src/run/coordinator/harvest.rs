//! What a run leaves behind, when a task has failed and when all have ended.
//!
//! Must not know: how it was run.

use super::Coordinator;
use crate::base::{Reading, State};
use crate::host::Root;
use crate::host::busy::BusyTimes;
use crate::host::oom::OomKills;
use crate::plan::TeamPlan;
use crate::record::gather;
use crate::record::memory::TaskState;
use crate::record::recording::{CpuTime, End, Failure, Recording};
use crate::record::timeline::SpaceRecord;
use crate::run::sampler::{Sampler, Seen};
use crate::run::{failure, roster};
use crate::sys::clock;
use crate::sys::usage::Usage;
use std::sync::atomic::Ordering::Relaxed;

impl Coordinator<'_> {
    /// The failure of a task in words; of one that may be the OOM killer's, whether it is.
    pub(super) fn failure(&self, task: usize) -> Failure {
        let ids = roster::task_ids(self.plan);
        let mut failure = failure::describe(self.plan, self.memory, &ids, task);
        if self.memory.slot(task).signal.load(Relaxed) == libc::SIGKILL {
            failure.error += &self.oom_kills_meanwhile();
        }
        failure
    }

    /// Whether the OOM killer was at work, as the end of a sentence.
    fn oom_kills_meanwhile(&self) -> String {
        let words = OomKills::read(&Root::default()).since(&self.oom_kills);
        words.map_or(String::new(), |words| format!(", {words}"))
    }

    fn spaces(&self, scan_seq: Vec<Reading<u64>>) -> Vec<SpaceRecord> {
        let space_of = roster::spaces(self.plan);
        let ended = gather::scan_seq(self.memory, &space_of);
        let mut signals = vec![None; ended.len()];
        for (task, space) in space_of.into_iter().enumerate() {
            let signal = self.memory.slot(task).signal.load(Relaxed);
            signals[space] = signals[space].or((signal != 0).then_some(signal));
        }
        let seqs = scan_seq.into_iter().zip(ended);
        let records = seqs.zip(signals);
        records
            .map(|((begun, ended), signal)| SpaceRecord { signal, scan_seq: [begun, ended] })
            .collect()
    }

    /// What children had used when they were ready: the tasks that start at the gate, and who
    /// created them.
    pub(super) fn used_before_gate(&self) -> Usage {
        let ids = roster::task_ids(self.plan).into_iter().enumerate();
        let at_gate = ids.filter(|(_, id)| !self.plan.teams[id.team].spawned);
        let of_tasks = at_gate.map(|(task, _)| &self.memory.slot(task).ready);
        let mut used = Usage::default();
        for [user, sys] in of_tasks.chain([&self.memory.control().creating]) {
            used.user_ns += user.load(Relaxed);
            used.sys_ns += sys.load(Relaxed);
        }
        used
    }

    /// What is left of a run whose leader has ended before its tasks, which have ended with it.
    pub(super) fn orphaned(&mut self, how: String) -> Recording {
        for task in 0..self.plan.n_tasks() as usize {
            let slot = self.memory.slot(task);
            let state = slot.state.load(Relaxed);
            let was_there = [TaskState::Running, TaskState::Leaving, TaskState::Starting];
            if was_there.iter().any(|it| *it as u32 == state) {
                // As it asked the kernel to do (`process::die_with_parent`).
                slot.signal.store(libc::SIGKILL, Relaxed);
                slot.state.store(TaskState::Killed as u32, Relaxed);
            }
        }
        self.end = End::LeaderGone(how + &self.oom_kills_meanwhile());
        let reason = "the leader process, to which the tasks' CPU time is charged, ended early";
        let elapsed_ns = clock::monotonic_ns() - self.gate_ns;
        self.recording(elapsed_ns, Reading::absent(State::Absent, reason))
    }

    pub(super) fn recording(&mut self, elapsed_ns: u64, used: Reading<Usage>) -> Recording {
        let busy = BusyTimes::read(&Root::default()).since(&self.busy);
        let window = &self.memory.control().window;
        let (begin, end) = (window.begin.load(Relaxed), window.end.load(Relaxed));
        // It has not begun where the run ended in the warm-up.
        let window_ticks = if begin == 0 { 0 } else { end.saturating_sub(begin) };
        let ids = roster::task_ids(self.plan);
        let Seen { timeline, vmstat, scan_seq, cgroups } =
            self.sampler.take().map(Sampler::end).unwrap_or_default();
        let objects: Vec<Vec<u32>> = self.plan.teams.iter().map(TeamPlan::syncs).collect();
        let (negative_differences, strangers) = gather::oddities(self.memory);
        if strangers > 0 {
            let note = format!("tasks were seen {strangers} times on CPUs that are not allowed");
            self.notes.push(note);
        }
        Recording {
            elapsed_ns,
            window_ns: self.pace.clock.ns(window_ticks),
            cpu: used.map(|it| CpuTime { user_ns: it.user_ns, sys_ns: it.sys_ns }),
            start_ns: self.start_ns,
            end: self.end.clone(),
            series: gather::series(self.memory, &ids),
            teams: gather::teams(self.memory, &roster::team_ids(self.plan), self.pace.clock),
            instances: gather::instances(self.memory, self.pace.clock),
            tasks: gather::tasks(self.memory, &ids, self.pace.clock),
            spaces: self.spaces(scan_seq),
            queues: gather::queues(self.memory),
            syncs: gather::syncs(self.memory, &ids, &objects),
            cgroups,
            timeline,
            vmstat,
            busy,
            negative_differences,
            harness: self.harness,
            notes: std::mem::take(&mut self.notes),
        }
    }
}
