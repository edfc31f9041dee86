//! Which task is which, by the numbers that the shared memory knows them by.
//!
//! Tasks are numbered in the order in which they are created: copy by copy, team by team as in the
//! profile. Must not know: the memory.

use crate::plan::{Plan, TeamPlan};
use crate::record::gather::{TaskId, TeamId};

/// Number of the first task of a team in a copy.
pub(super) fn first_task(plan: &Plan, copy: u32, team: usize) -> usize {
    let sizes = |teams: &[TeamPlan]| -> usize { teams.iter().map(|team| team.size as usize).sum() };
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
    let id = |team: &TeamPlan| TeamId {
        name: team.name.clone(),
        size: team.size * plan.copies,
        background: team.background,
    };
    plan.teams.iter().map(id).collect()
}
