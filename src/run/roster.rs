//! Which task is which, by the numbers that the shared memory knows them by.
//!
//! Tasks are numbered in the order in which they are created: copy by copy, team by team as in the
//! profile. Must not know: the memory.

use crate::plan::{Plan, TeamPlan};
use crate::record::gather::{TaskId, TeamId};
use std::sync::atomic::AtomicU32;

/// Number of the first task of a team in a copy.
pub(super) fn first_task(plan: &Plan, copy: u32, team: usize) -> usize {
    let sizes = |teams: &[TeamPlan]| -> usize { teams.iter().map(|team| team.size as usize).sum() };
    copy as usize * sizes(&plan.teams) + sizes(&plan.teams[..team])
}

/// The counter of a team's tasks in a copy that have not done their steps.
pub(super) fn at_work(plan: &Plan, copy: u32, team: usize) -> usize {
    copy as usize * plan.teams.len() + team
}

/// Those counters at the start.
pub(super) fn all_at_work(plan: &Plan) -> Vec<AtomicU32> {
    let copies = (0..plan.copies).flat_map(|_| &plan.teams);
    copies.map(|team| AtomicU32::new(team.size)).collect()
}

/// The instance of each task.
pub(super) fn instances(plan: &Plan) -> Vec<u32> {
    task_ids(plan).iter().map(|task| plan.instance(task.copy)).collect()
}

/// The address space of each task.
pub(super) fn spaces(plan: &Plan) -> Vec<usize> {
    task_ids(plan).iter().map(|task| plan.space_of(task.copy, task.team)).collect()
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
    let id = |team: &TeamPlan| TeamId {
        name: team.name.clone(),
        size: team.size * plan.copies,
        background: team.background,
    };
    plan.teams.iter().map(id).collect()
}
