//! What every task of a run is made from, whether as a thread here or forked by a leader.
//!
//! Must not know: how tasks are created or waited for.

use super::gate::TaskGate;
use super::program::{Channels, Program};
use super::roster;
use super::worker::Worker;
use crate::base::Random;
use crate::plan::{self, Op, Plan, Policy};
use crate::record::Memory;
use crate::record::recorder::{Recorder, Recorders};
use crate::step::work;
use crate::sys::clock::Clock;
use crate::sys::scheduling::{self, Attributes};
use serde::{Deserialize, Serialize};
use std::os::fd::RawFd;

/// How fast this machine's clock and CPUs are; measured once, sent along to a leader.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Pace {
    pub clock: Clock,
    /// See `step::work::calibrate`; 0 if no step needs it.
    pub rounds_per_us: u64,
}

/// The stage of one process of a run.
pub(super) struct Stage<'a> {
    pub plan: &'a Plan,
    pub memory: &'a Memory,
    pub recorders: &'a Recorders<'a>,
    pub pace: Pace,
    pub gate: TaskGate,
    pub event: RawFd,
}

impl Pace {
    pub(super) fn measure(plan: &Plan, clock: Clock) -> Pace {
        let mut kinds = plan.teams.iter().flat_map(|team| &team.ops).filter_map(Op::work);
        let needed = kinds.any(|kind| kind.calibrated);
        Pace { clock, rounds_per_us: if needed { work::calibrate() } else { 0 } }
    }
}

impl<'a> Stage<'a> {
    /// Member `me` of a team in a copy, ready to run.
    pub(super) fn worker(
        &self,
        copy: u32,
        team: usize,
        me: u32,
        channels: &'a Channels<'a>,
    ) -> Worker<'a> {
        let team_plan = &self.plan.teams[team];
        let task = roster::first_task(self.plan, copy, team) + me as usize;
        let member = copy as usize * team_plan.size as usize + me as usize;
        let cpus = (!team_plan.cpus.is_empty())
            .then(|| team_plan.cpus[member % team_plan.cpus.len()].clone());
        let program = Program::new(self.plan, team, me, channels);
        Worker {
            task,
            team,
            name: format!("{}-{member}", team_plan.name),
            channels,
            recorder: Recorder::new(self.recorders, task, team),
            memory: self.memory,
            random: Random::new(self.plan.seed, task as u64),
            clock: self.pace.clock,
            rounds_per_us: self.pace.rounds_per_us,
            attributes: attributes(&team_plan.scheduling),
            cpus,
            sleeps: team_plan.ops.iter().filter_map(Op::work).any(|kind| kind.sleeps),
            // Who has nothing to do would only burn a CPU until the time is up.
            starts_over: self.plan.duration_ns.is_some() && program.acts(),
            program,
            background: team_plan.background,
            gate: self.gate,
            event: self.event,
        }
    }
}

fn attributes(plan: &plan::Scheduling) -> Attributes {
    let deadline = plan.deadline;
    Attributes {
        policy: plan.policy.map(|policy| match policy {
            Policy::Other => scheduling::OTHER,
            Policy::Batch => scheduling::BATCH,
            Policy::Idle => scheduling::IDLE,
            Policy::Fifo => scheduling::FIFO,
            Policy::Rr => scheduling::RR,
            Policy::Deadline => scheduling::DEADLINE,
            Policy::Ext => scheduling::EXT,
        }),
        nice: plan.nice,
        priority: plan.priority,
        runtime_ns: deadline.map(|times| times.runtime_ns).or(plan.slice_ns),
        deadline_ns: deadline.map(|times| times.deadline_ns),
        period_ns: deadline.map(|times| times.period_ns),
        uclamp_min: plan.uclamp_min,
        uclamp_max: plan.uclamp_max,
    }
}
