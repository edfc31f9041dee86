//! What a plan needs of the memory that a run is recorded in.
//!
//! Coordinator and leader each compute it, and must come to the same. Must not know: the memory.

use super::{Act, ChannelPlan, Plan, TeamPlan};
use crate::record::{layout, stamp};
use crate::step::channel;

/// Messages up to this size are not mixed with those of other wakers: PIPE_BUF (pipe(7)). Sockets
/// promise nothing, and do it all but always.
const WRITTEN_WHOLE: u32 = 4096;

/// More instances than this have their measure blocks in one histogram: each would have its own on
/// each CPU (30 KiB), and in each task's slot.
const APART_MAX: u32 = 16;

impl Plan {
    /// Instances whose measure blocks are kept apart; 1 if they are not, or there is one.
    pub fn instances_apart(&self) -> u32 {
        match self.instances {
            n @ 1..=APART_MAX => n,
            _ => 1,
        }
    }

    /// The counts and places that the layout of the shared memory is computed from.
    pub fn layout_spec(&self, page_bytes: usize) -> layout::Spec {
        let cpu = |cpu: &super::PlanCpu| layout::Cpu {
            id: cpu.id,
            place: cpu.place,
            allowed: cpu.allowed,
        };
        let team = |team: &super::TeamPlan| layout::Team {
            receives: team.receives || !team.syncs().is_empty(),
            measures: team.measures.clone(),
            paces: team.ops.iter().filter_map(super::Op::paced).count(),
            syncs: sync_names(self, team),
            pauses: pauses(self, team),
        };
        layout::Spec {
            cpus: self.cpus.iter().map(cpu).collect(),
            teams: self.teams.iter().map(team).collect(),
            n_tasks: self.n_tasks() as usize,
            channels: self
                .channels
                .iter()
                .map(|it| channel_spec(it, self.traces_origins()))
                .collect(),
            sync_bytes: self.syncs.iter().map(|it| it.state_bytes(self.cpu_numbers())).collect(),
            copies: self.copies as usize,
            instances_apart: self.instances_apart() as usize,
            n_instances: self.instances.max(1) as usize,
            spaces: self.n_spaces(),
            n_regions: self.memory.len(),
            page_bytes,
        }
    }
}

/// Entries of a ring whose stamps tell when requests arrived: of a message behind so many others,
/// that is lost. One has 128 KiB.
const ORIGINS: usize = 4096;

/// The objects that a team comes to.
fn sync_names(plan: &Plan, team: &TeamPlan) -> Vec<String> {
    let names = team.syncs().into_iter().map(|object| &plan.syncs[object as usize].name);
    names.cloned().collect()
}

/// The safepoints in whose pauses a team helps.
fn pauses(plan: &Plan, team: &TeamPlan) -> Vec<String> {
    let helps = |object: &u32| team.acts_at(*object).any(|act| *act == Act::Pause);
    let objects = team.syncs().into_iter().filter(helps);
    objects.map(|object| plan.syncs[object as usize].name.clone()).collect()
}

fn channel_spec(plan: &ChannelPlan, origins: bool) -> layout::Channel {
    let kind = channel::find(&plan.kind);
    let stamp_bytes = if origins { stamp::LONG_BYTES } else { stamp::BYTES };
    let alone = plan.wakers <= 1 && plan.wakees <= 1;
    let in_message = kind.is_some_and(|kind| kind.payload)
        && plan.bytes as usize >= stamp_bytes
        && (alone || plan.bytes <= WRITTEN_WHOLE);
    let least = if origins { ORIGINS } else { 1 };
    let entries = (plan.wakees as usize).max(least).next_power_of_two();
    layout::Channel {
        count: plan.count as usize,
        state_bytes: kind.map_or(0, |kind| kind.state_bytes),
        ring_entries: (!in_message).then_some(entries),
    }
}
