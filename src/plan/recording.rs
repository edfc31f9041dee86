//! What a plan needs of the memory that a run is recorded in.
//!
//! Coordinator and leader each compute it, and must come to the same. Must not know: the memory.

use super::{Act, ChannelPlan, Plan, TeamPlan};
use crate::record::{layout, stamp};
use crate::step::channel;

/// Messages up to this size are not mixed with those of other wakers: PIPE_BUF (pipe(7)). Sockets
/// promise nothing, and do it all but always.
const WRITTEN_WHOLE: u32 = 4096;

impl Plan {
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
            syncs: sync_names(self, team),
            pauses: pauses(self, team),
        };
        layout::Spec {
            cpus: self.cpus.iter().map(cpu).collect(),
            teams: self.teams.iter().map(team).collect(),
            n_tasks: self.n_tasks() as usize,
            channels: self.channels.iter().map(channel_spec).collect(),
            sync_bytes: self.syncs.iter().map(|it| it.state_bytes(self.cpu_numbers())).collect(),
            copies: self.copies as usize,
            n_instances: self.instances.max(1) as usize,
            spaces: self.n_spaces(),
            n_regions: self.memory.len(),
            page_bytes,
        }
    }
}

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

fn channel_spec(plan: &ChannelPlan) -> layout::Channel {
    let kind = channel::find(&plan.kind);
    let alone = plan.wakers <= 1 && plan.wakees <= 1;
    let in_message = kind.is_some_and(|kind| kind.payload)
        && plan.bytes as usize >= stamp::BYTES
        && (alone || plan.bytes <= WRITTEN_WHOLE);
    let entries = (plan.wakees.max(1) as usize).next_power_of_two();
    layout::Channel {
        count: plan.count as usize,
        state_bytes: kind.map_or(0, |kind| kind.state_bytes),
        ring_entries: (!in_message).then_some(entries),
    }
}
