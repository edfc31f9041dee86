//! What a plan needs of the memory that a run is recorded in.
//!
//! Coordinator and leader each compute it, and must come to the same. Must not know: the memory.

use super::{ChannelPlan, Plan};
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
            receives: team.receives,
            measures: team.measures.clone(),
        };
        layout::Spec {
            cpus: self.cpus.iter().map(cpu).collect(),
            teams: self.teams.iter().map(team).collect(),
            n_tasks: self.n_tasks() as usize,
            channels: self.channels.iter().map(channel_spec).collect(),
            copies: self.copies as usize,
            spaces: self.n_spaces(),
            n_regions: self.memory.len(),
            page_bytes,
        }
    }
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
