//! What every task of a run is made from, whether as a thread here or forked by a leader.
//!
//! Must not know: how tasks are created or waited for.

use super::areas::Areas;
use super::claims::Claims;
use super::gate::TaskGate;
use super::program::{Channels, Program};
use super::roster;
use super::worker::Worker;
use crate::base::CpuList;
use crate::base::Random;
use crate::plan::{self, FirstTouch, Op, Plan};
use crate::record::Memory;
use crate::record::recorder::{Recorder, Recorders};
use crate::step::memory::Span;
use crate::step::work;
use crate::sys::clock::Clock;
use crate::sys::policy::Policy;
use crate::sys::scheduling::{self, Attributes};
use crate::sys::thread::Seeds;
use serde::{Deserialize, Serialize};
use std::os::fd::RawFd;
use std::sync::atomic::AtomicU32;

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
    /// Tasks that steps start.
    pub seeds: &'a Seeds,
    /// By copy and team, see [`roster::at_work`].
    pub at_work: &'a [AtomicU32],
    pub claims: Claims,
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
        areas: &'a Areas,
    ) -> Worker<'a> {
        let team_plan = &self.plan.teams[team];
        let task = roster::first_task(self.plan, copy, team) + me as usize;
        let member = copy as usize * team_plan.size as usize + me as usize;
        let place = |places: &[CpuList]| {
            (!places.is_empty()).then(|| places[member % places.len()].clone())
        };
        let start_cpus = place(&team_plan.start_cpus);
        let who = (copy, team, me);
        let mut program = Program::new(self.plan, who, channels, areas);
        for using in &mut program.usings {
            using.prepares = self.claims.is_for(self.plan, who, using);
        }
        // A team is spawned once.
        let spawns = team_plan.ops.iter().any(|op| matches!(op, Op::Spawn { .. }));
        Worker {
            task,
            team,
            name: format!("{}-{member}", team_plan.name),
            channels,
            recorder: Recorder::new(self.recorders, task, team)
                .in_instance(self.plan.instance(copy)),
            memory: self.memory,
            random: Random::new(self.plan.seed, task as u64),
            origin: 0,
            clock: self.pace.clock,
            rounds_per_us: self.pace.rounds_per_us,
            attributes: attributes(&team_plan.scheduling),
            cpus: place(&team_plan.cpus).or_else(|| start_cpus.as_ref().map(|_| self.everywhere())),
            start_cpus,
            timer_slack_ns: self.plan.timer_slack_ns(team_plan),
            // Who has nothing to do would only burn a CPU until the time is up.
            starts_over: self.plan.duration_ns.is_some() && !spawns && program.acts(),
            program,
            background: team_plan.background,
            gate: (!team_plan.spawned).then_some(self.gate),
            event: self.event,
            touches: touches(self.plan, who, member, areas),
            seeds: self.seeds,
            at_work: self.at_work,
            own_at_work: roster::at_work(self.plan, copy, team),
        }
    }

    /// All CPUs that may be used.
    fn everywhere(&self) -> CpuList {
        self.plan.cpus.iter().filter(|cpu| cpu.allowed).map(|cpu| cpu.id).collect()
    }
}

/// What a member touches first, and with which policy meanwhile; `member` counts through all
/// copies.
fn touches<'a>(
    plan: &Plan,
    (_, team, me): (u32, usize, u32),
    member: usize,
    areas: &'a Areas,
) -> Vec<(Span<'a>, Policy)> {
    let mut touches = Vec::new();
    for (index, region) in plan.memory.iter().enumerate() {
        let policy = match region.first_touch {
            FirstTouch::Opposite => Policy::Bind(vec![plan.opposite(team, member)]),
            _ => Policy::Default,
        };
        let slices = plan.touches(index, team, me).into_iter();
        let spans = slices.filter_map(|slice| areas.span(plan, index, Some(slice), 0.0));
        touches.extend(spans.map(|span| (span, policy.clone())));
    }
    touches
}

fn attributes(plan: &plan::Scheduling) -> Attributes {
    let deadline = plan.deadline;
    Attributes {
        policy: plan.policy.map(|policy| match policy {
            plan::Policy::Other => scheduling::OTHER,
            plan::Policy::Batch => scheduling::BATCH,
            plan::Policy::Idle => scheduling::IDLE,
            plan::Policy::Fifo => scheduling::FIFO,
            plan::Policy::Rr => scheduling::RR,
            plan::Policy::Deadline => scheduling::DEADLINE,
            plan::Policy::Ext => scheduling::EXT,
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
