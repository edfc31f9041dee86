//! What a plan needs of the shared memory.
//!
//! Coordinator and leader each compute it, and must come to the same. Must not know: the memory.

use crate::plan::{ChannelPlan, Plan};
use crate::record::gather::{TaskId, TeamId};
use crate::record::{layout, stamp};
use crate::step::channel;
use crate::sys::shared::page_bytes;

/// The counts and places that the layout is computed from.
pub(super) fn spec(plan: &Plan) -> layout::Spec {
    layout::Spec {
        cpus: plan
            .cpus
            .iter()
            .map(|cpu| layout::Cpu {
                id: cpu.id,
                place: cpu.place,
                allowed: cpu.allowed,
            })
            .collect(),
        teams: plan
            .teams
            .iter()
            .map(|team| layout::Team {
                receives: team.receives,
                measures: team.measures.clone(),
            })
            .collect(),
        n_tasks: plan.n_tasks() as usize,
        channels: plan.channels.iter().map(channel_spec).collect(),
        copies: plan.copies as usize,
        page_bytes: page_bytes(),
    }
}

fn channel_spec(plan: &ChannelPlan) -> layout::Channel {
    let kind = channel::find(&plan.kind);
    let in_message = kind.is_some_and(|kind| kind.payload) && plan.bytes as usize >= stamp::BYTES;
    let entries = (plan.wakees.max(1) as usize).next_power_of_two();
    layout::Channel {
        count: plan.count as usize,
        state_bytes: kind.map_or(0, |kind| kind.state_bytes),
        ring_entries: (!in_message).then_some(entries),
    }
}

/// Number of the first task of a team in a copy; tasks are numbered in the order in which they are
/// created: copy by copy, team by team as in the profile.
pub(super) fn first_task(plan: &Plan, copy: u32, team: usize) -> usize {
    let sizes = |teams: &[crate::plan::TeamPlan]| -> usize {
        teams.iter().map(|team| team.size as usize).sum()
    };
    copy as usize * sizes(&plan.teams) + sizes(&plan.teams[..team])
}

/// Who each task is, by its number.
pub(super) fn task_ids(plan: &Plan) -> Vec<TaskId> {
    let mut ids = Vec::with_capacity(plan.n_tasks() as usize);
    for copy in 0..plan.copies {
        for (team, team_plan) in plan.teams.iter().enumerate() {
            ids.extend((0..team_plan.size).map(|index| TaskId { team, copy, index }));
        }
    }
    ids
}

pub(super) fn team_ids(plan: &Plan) -> Vec<TeamId> {
    let id = |team: &crate::plan::TeamPlan| TeamId {
        name: team.name.clone(),
        size: team.size * plan.copies,
        background: team.background,
    };
    plan.teams.iter().map(id).collect()
}
