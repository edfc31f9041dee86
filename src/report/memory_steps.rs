//! Bandwidth of the steps on memory: of a team, of each of its tasks, on each node.
//!
//! Must not know: where the memory was, how it is drawn.

use crate::plan::{Op, TeamPlan};
use crate::record::memory::Moved;
use crate::record::recording::TaskRecord;
use crate::report::judge::{Case, seconds};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the tasks of a team moved in the window with steps of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryStep {
    pub team: String,
    /// `accesses` (sweep, touch and chase), or the verb of STREAM's kernel.
    pub step: String,
    pub bytes: u64,
    /// The sum over the tasks of each one's bytes by its time at these steps; `None` if no task
    /// was at them in the window.
    pub bytes_per_s: Option<f64>,
    /// On whose CPUs the tasks were; nodes where nothing was moved are left out.
    pub by_node: Vec<NodeBandwidth>,
    pub by_task: Vec<TaskBandwidth>,
}

/// The part of a [`MemoryStep`] of the CPUs of one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeBandwidth {
    pub node: u32,
    pub bytes: u64,
    /// Of each task's bandwidth the part of its bytes that it moved here, summed.
    pub bytes_per_s: Option<f64>,
}

/// The part of a [`MemoryStep`] of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskBandwidth {
    /// Its number within the team, counted through all copies.
    pub task: u32,
    pub bytes: u64,
    pub bytes_per_s: Option<f64>,
}

/// Of each team, in the order of [`Moved`], the kinds of steps that its program has.
pub(super) fn all(case: &Case<'_>) -> Vec<MemoryStep> {
    let of_team = |(at, team): (usize, &TeamPlan)| -> Vec<MemoryStep> {
        let tasks: Vec<&TaskRecord> =
            case.recording.tasks.iter().filter(|task| task.team == at).collect();
        let kinds = Moved::ALL.into_iter().filter(|&kind| has(team, kind));
        kinds.map(|kind| one(team, kind, &tasks)).collect()
    };
    case.plan.teams.iter().enumerate().flat_map(of_team).collect()
}

fn has(team: &TeamPlan, kind: Moved) -> bool {
    team.ops.iter().any(|op| match op {
        Op::Use(it) => Moved::of_verb(&it.verb) == kind,
        Op::Sync(it) => kind == Moved::Accesses && it.act.fill().is_some(),
        _ => false,
    })
}

fn one(team: &TeamPlan, kind: Moved, tasks: &[&TaskRecord]) -> MemoryStep {
    let by_task = tasks.iter().map(|task| TaskBandwidth {
        task: task.copy * team.size + task.index,
        bytes: task.moved[kind as usize].bytes,
        bytes_per_s: bytes_per_s(task, kind),
    });
    let by_task: Vec<TaskBandwidth> = by_task.collect();
    let rates: Vec<f64> = by_task.iter().filter_map(|task| task.bytes_per_s).collect();
    MemoryStep {
        team: team.name.clone(),
        step: kind.name().to_owned(),
        bytes: by_task.iter().map(|task| task.bytes).sum(),
        bytes_per_s: (!rates.is_empty()).then(|| rates.iter().sum()),
        by_node: by_node(kind, tasks),
        by_task,
    }
}

/// Of a task, while it was at steps of this kind.
pub(super) fn bytes_per_s(task: &TaskRecord, kind: Moved) -> Option<f64> {
    let moved = task.moved[kind as usize];
    (moved.ns > 0).then(|| moved.bytes as f64 / seconds(moved.ns))
}

fn by_node(kind: Moved, tasks: &[&TaskRecord]) -> Vec<NodeBandwidth> {
    let mut by_node: BTreeMap<u32, (u64, Option<f64>)> = BTreeMap::new();
    for task in tasks {
        let all = task.moved[kind as usize].bytes;
        for (node, on) in task.moved_on.iter().filter(|(_, on)| on[kind as usize] > 0) {
            let bytes = on[kind as usize];
            let (sum, rate) = by_node.entry(node.0).or_insert((0, Some(0.0)));
            *sum += bytes;
            let part = bytes_per_s(task, kind).map(|rate| rate * bytes as f64 / all as f64);
            *rate = rate.zip(part).map(|(sum, part)| sum + part);
        }
    }
    let row = |(node, (bytes, bytes_per_s))| NodeBandwidth { node, bytes, bytes_per_s };
    by_node.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::NodeId;
    use crate::record::recording::MovedBytes;
    use crate::report::{Report, fixture, fixture_memory as made};

    /// Per task: bytes, seconds, and of the bytes those on node 1.
    fn step(tasks: [(u64, u64, u64); 4]) -> MemoryStep {
        let mut recording = made::two_instances();
        for (task, (bytes, s, on_1)) in recording.tasks.iter_mut().zip(tasks) {
            task.moved[0] = MovedBytes { bytes, ns: s * 1_000_000_000 };
            let on = |node, bytes| (NodeId(node), [bytes, 0, 0, 0, 0]);
            task.moved_on = vec![on(0, bytes - on_1), on(1, on_1)];
        }
        let report = Report::judge(&made::two_instances_plan(), &fixture::host(), &[recording]);
        report.runs[0].memory_steps[0].clone()
    }

    #[test]
    fn sums_by_task_and_by_node() {
        type Rates<'a> = &'a [(u32, u64, Option<f64>)];
        let check = |tasks, all: (u64, Option<f64>), nodes: Rates<'_>, each: Rates<'_>| {
            let step = step(tasks);
            assert_eq!((step.team.as_str(), step.step.as_str()), ("sweeper", "accesses"));
            assert_eq!((step.bytes, step.bytes_per_s), all, "{tasks:?}");
            let by_node: Vec<_> =
                step.by_node.iter().map(|it| (it.node, it.bytes, it.bytes_per_s)).collect();
            assert_eq!(by_node, nodes, "{tasks:?}");
            let by_task: Vec<_> =
                step.by_task.iter().map(|it| (it.task, it.bytes, it.bytes_per_s)).collect();
            assert_eq!(by_task, each, "{tasks:?}");
        };
        let none = (0, 0, 0);
        check([none; 4], (0, None), &[], &[(0, 0, None), (1, 0, None), (2, 0, None), (3, 0, None)]);
        // The same work in half the time is twice the bandwidth.
        check(
            [(400, 2, 0), (400, 4, 400), (400, 4, 100), none],
            (1200, Some(400.0)),
            &[(0, 700, Some(275.0)), (1, 500, Some(125.0))],
            &[(0, 400, Some(200.0)), (1, 400, Some(100.0)), (2, 400, Some(100.0)), (3, 0, None)],
        );
        // Time without a whole piece is an answer.
        check(
            [(0, 3, 0), none, none, none],
            (0, Some(0.0)),
            &[],
            &[(0, 0, Some(0.0)), (1, 0, None), (2, 0, None), (3, 0, None)],
        );
    }
}
