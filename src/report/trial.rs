//! Who moved: the verdict on a run in which one spawned task iterates over one region.
//!
//! What counts as a move is in METHODOLOGY.md. Must not know: why the kernel moved anything.

use crate::report::convergence::Judged;
use crate::report::judge::{Case, seconds};
use crate::report::looks::{self, Look};
use serde::{Deserialize, Serialize};

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub team: String,
    pub region: String,
    /// `started_remote`, `started_local`, `unclear`.
    pub start: String,
    /// `task_moved`, `memory_moved`, `both`, `neither`, `ping_pong`, `unclear`.
    pub outcome: String,
    /// Why one of them is unclear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When the worker began (s since the gate).
    pub begun_s: Option<f64>,
    /// Where the worker began and was last seen.
    pub worker_nodes: [Option<u32>; 2],
    /// Which node had most of the memory when the worker began, and at the last look.
    pub memory_nodes: [Option<u32>; 2],
    /// Node changes between two looks.
    pub worker_changes: u32,
    pub memory_changes: u32,
    /// From the worker's begin until its node had nearly all of the memory, for good.
    pub time_to_local_s: Judged,
    /// How long the worker's first and its last measured pass over the memory took (s).
    #[serde(default)]
    pub pass_s: Option<[f64; 2]>,
    /// Share of the memory on another node than at the start, and the bytes that this makes.
    pub moved_share: Option<f64>,
    pub moved_bytes: Option<u64>,
}

/// A region is at home on a node that has so much of it; without one a start is unclear.
pub const HOME_SHARE: f64 = 0.75;
/// The node of a region is the one with more than this; while none has, it keeps the last one.
pub const MAJORITY: f64 = 0.5;
/// Local: so much of the region is on the worker's node.
pub const LOCAL: f64 = 0.9;
/// Ping-pong: a worker that came back so often to a node it had left (one excursion is the load
/// balancer's) ...
pub const WORKER_RETURNS: u32 = 2;
/// ... or a region of which most came back to a node that it had left.
pub const MEMORY_RETURNS: u32 = 1;

/// `None` for a plan that is no such trial: it has one spawned task and one region.
pub(super) fn of(case: &Case<'_>) -> Option<Trial> {
    let plan = case.plan;
    let spawned: Vec<_> = plan.teams.iter().filter(|team| team.spawned).collect();
    let ([team], [region]) = (spawned.as_slice(), plan.memory.as_slice()) else {
        return None;
    };
    (team.size == 1 && plan.copies == 1).then(|| {
        let path = Path::of(case);
        let (start, outcome) = (path.start(), path.outcome());
        let reason = start.as_ref().err().or(outcome.as_ref().err()).cloned();
        let node = |at: Option<&usize>| Some(plan.nodes.get(*at?)?.id.0);
        let moved_share = path.moved_share();
        let bytes = region.bytes() as f64;
        Trial {
            team: team.name.clone(),
            region: region.name.clone(),
            start: start.unwrap_or(UNCLEAR).to_owned(),
            outcome: outcome.unwrap_or(UNCLEAR).to_owned(),
            reason,
            begun_s: path.begun_ns.map(seconds),
            worker_nodes: [node(path.worker.first()), node(path.worker.last())],
            memory_nodes: [node(path.memory_at_start().as_ref()), node(path.memory.last())],
            worker_changes: changes(&path.worker),
            memory_changes: changes(&path.memory),
            time_to_local_s: Judged::of(path.time_to_local()),
            pass_s: looks::spawned(case, 0)
                .find_map(|task| task.blocks)
                .map(|blocks| blocks.map(seconds)),
            moved_share,
            moved_bytes: moved_share.map(|share| (share * bytes).round() as u64),
        }
    })
}

const UNCLEAR: &str = "unclear";
const STARTED_LOCAL: &str = "started_local";

/// The ways of both, as nodes that follow each other and differ.
struct Path {
    begun_ns: Option<u64>,
    worker: Vec<usize>,
    memory: Vec<usize>,
    /// The look by which the start is judged, then those at the worker.
    first: Option<Look>,
    looks: Vec<Look>,
}

impl Path {
    fn of(case: &Case<'_>) -> Path {
        let looks = looks::of(case, 0);
        let begun = looks::spawned(case, 0).find_map(|task| task.begun);
        let Some(begun) = begun else {
            let (worker, memory) = (Vec::new(), Vec::new());
            return Path { begun_ns: None, worker, memory, first: None, looks: Vec::new() };
        };
        let known = || looks.iter().filter(|look| look.pages.is_some());
        let before = known().rfind(|look| look.at_ns <= begun.at_ns);
        let first = before.or(known().next()).cloned();
        let later: Vec<Look> = looks.iter().filter(|look| look.tasks.is_some()).cloned().collect();
        let on = |look: &Look| Some(looks::most(look.tasks.as_ref()?)?.0);
        let seen = later.iter().filter_map(on);
        let worker = distinct(looks::node_of(case, begun).into_iter().chain(seen));
        let memory = distinct(first.iter().chain(&later).filter_map(majority));
        Path { begun_ns: Some(begun.at_ns), worker, memory, first, looks: later }
    }

    fn memory_at_start(&self) -> Option<usize> {
        self.first.as_ref().and_then(majority)
    }

    fn start(&self) -> Result<&'static str, String> {
        self.begun_ns.ok_or("the worker never began")?;
        let worker =
            self.worker.first().ok_or("the node of the worker's first CPU is not known")?;
        let first = self.first.as_ref().and_then(|look| look.pages.as_ref());
        let first = first.ok_or("no look told where the memory was")?;
        match looks::most(first) {
            Some((node, share)) if share >= HOME_SHARE => Ok(match node == *worker {
                true => STARTED_LOCAL,
                false => "started_remote",
            }),
            _ => Err("when the worker began the memory was on several nodes".to_owned()),
        }
    }

    fn outcome(&self) -> Result<&'static str, String> {
        self.begun_ns.ok_or("the worker never began")?;
        if !self.looks.iter().any(|look| look.pages.is_some()) {
            return Err("no look told of worker and memory together".to_owned());
        }
        if returns(&self.worker) >= WORKER_RETURNS || returns(&self.memory) >= MEMORY_RETURNS {
            return Ok("ping_pong");
        }
        let moved = |path: &[usize]| path.first() != path.last();
        Ok(match (moved(&self.worker), moved(&self.memory)) {
            (true, true) => "both",
            (true, false) => "task_moved",
            (false, true) => "memory_moved",
            (false, false) => "neither",
        })
    }

    fn time_to_local(&self) -> Result<f64, String> {
        let begun_ns = self.begun_ns.ok_or("the worker never began")?;
        if self.start() == Ok(STARTED_LOCAL) {
            return Err("it started local, so this run did not ask who moves".to_owned());
        }
        let local = |look: &Look| {
            let (node, _) = looks::most(look.tasks.as_ref()?)?;
            look.pages.as_ref()?.get(node).copied()
        };
        let last = self.looks.iter().rev().find_map(local);
        let last = last.ok_or("no look told of worker and memory together")?;
        match looks::since(&self.looks, |look| local(look).map(|share| share >= LOCAL)) {
            Some((at_ns, _)) => Ok(seconds(at_ns.saturating_sub(begun_ns))),
            None => Err(format!(
                "never: at the last look {:.0} % of the memory was on the worker's node",
                last * 100.0
            )),
        }
    }

    /// Half the sum of the differences: what must have gone from one node to another.
    fn moved_share(&self) -> Option<f64> {
        let first = self.first.as_ref()?.pages.as_ref()?;
        let last = self.looks.iter().rev().find_map(|look| look.pages.as_ref())?;
        Some(first.iter().zip(last).map(|(before, after)| (before - after).max(0.0)).sum())
    }
}

fn majority(look: &Look) -> Option<usize> {
    let (node, share) = looks::most(look.pages.as_ref()?)?;
    (share > MAJORITY).then_some(node)
}

/// Without those that repeat the one before.
fn distinct(nodes: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut path: Vec<usize> = nodes.collect();
    path.dedup();
    path
}

fn changes(path: &[usize]) -> u32 {
    path.len().saturating_sub(1) as u32
}

/// How often it came to a node where it had been.
fn returns(path: &[usize]) -> u32 {
    let back = |at: &usize| path[..*at].contains(&path[*at]);
    (0..path.len()).filter(back).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::record::Recording;
    use crate::report::fixture_memory::{self as made, pages, seen, unknown};
    use crate::report::{Report, fixture};

    fn judge(plan: &Plan, recording: Recording) -> Option<Trial> {
        Report::judge(plan, &fixture::host(), &[recording]).runs.remove(0).trial
    }

    fn trial(recording: Recording) -> Trial {
        judge(&made::who_moves_plan(), recording).unwrap()
    }

    /// The worker's node and the hundredths of the pages on node 1, so many looks long.
    fn of_looks(begun_on: u32, looks: &[(usize, u32, usize)]) -> Trial {
        let looks = looks.iter().flat_map(|&(node, on_1, n)| vec![(node, on_1); n]);
        trial(made::trial(begun_on, &looks.collect::<Vec<_>>()))
    }

    #[test]
    fn outcomes() {
        let check = |begun_on, looks: &[(usize, u32, usize)], start: &str, outcome: &str| {
            let trial = of_looks(begun_on, looks);
            assert_eq!((&*trial.start, &*trial.outcome), (start, outcome), "{looks:?}");
            assert_eq!(trial.reason, None);
        };
        let remote = "started_remote";
        check(1, &[(1, 0, 20)], remote, "neither");
        check(1, &[(1, 50, 20)], remote, "neither");
        check(1, &[(1, 0, 5), (1, 51, 5)], remote, "memory_moved");
        check(1, &[(1, 0, 5), (0, 0, 5)], remote, "task_moved");
        check(1, &[(1, 0, 5), (0, 90, 5)], remote, "both");
        // One excursion is no ping-pong, of the memory it is.
        check(1, &[(1, 0, 5), (0, 0, 5), (1, 0, 5)], remote, "neither");
        check(1, &[(1, 0, 5), (0, 0, 5), (1, 0, 5), (0, 0, 5)], remote, "ping_pong");
        check(1, &[(1, 0, 5), (1, 90, 5), (1, 10, 5)], remote, "ping_pong");
        check(0, &[(0, 0, 20)], "started_local", "neither");
        check(0, &[(0, 0, 5), (1, 0, 5)], "started_local", "task_moved");
    }

    #[test]
    fn the_worker_is_told_from_the_one_who_waits() {
        let moved = trial(made::task_moves());
        assert_eq!(moved.worker_nodes, [Some(1), Some(0)]);
        assert_eq!(moved.memory_nodes, [Some(0), Some(0)]);
        assert_eq!((moved.worker_changes, moved.memory_changes), (1, 0));
        assert_eq!(moved.begun_s, Some(1.9));
        // It left node 1 at the look at 4 s.
        assert_eq!(moved.time_to_local_s.value, Some(2.1));
    }

    #[test]
    fn memory_that_moved_is_told_in_bytes() {
        let moved = trial(made::memory_moves());
        assert_eq!(moved.memory_nodes, [Some(0), Some(1)]);
        assert_eq!((moved.worker_changes, moved.memory_changes), (0, 1));
        assert_eq!(moved.moved_share, Some(1.0));
        assert_eq!(moved.moved_bytes, Some(256 << 20));
        // 92 of a hundred at the 23rd look from 2 s on.
        assert_eq!(moved.time_to_local_s.value, Some(4.7));
        let none = trial(made::nothing_moves());
        assert_eq!((none.moved_share, none.moved_bytes), (Some(0.0), Some(0)));
        let local = of_looks(0, &[(0, 0, 20)]);
        assert!(local.time_to_local_s.result().unwrap_err().starts_with("it started local"));
        assert!(none.time_to_local_s.result().unwrap_err().contains("0 % of the memory"));
    }

    #[test]
    fn unclear_with_the_reason() {
        let check = |change: fn(&mut Recording), outcome: &str, reason: &str| {
            let mut recording = made::nothing_moves();
            change(&mut recording);
            let trial = trial(recording);
            assert_eq!((&*trial.start, &*trial.outcome), ("unclear", outcome), "{trial:?}");
            assert!(trial.reason.unwrap().contains(reason));
        };
        check(|run| run.tasks[1].begun = None, "unclear", "never began");
        let blind = |run: &mut Recording| {
            for sample in &mut run.timeline.samples {
                sample.instances[0].regions[0] = unknown();
            }
        };
        check(blind, "unclear", "no look told where the memory was");
        let split = |run: &mut Recording| {
            for sample in &mut run.timeline.samples[..10] {
                sample.instances[0].regions[0] = pages(26);
            }
        };
        check(split, "neither", "on several nodes");
    }

    #[test]
    fn looks_at_other_tasks_are_not_the_workers() {
        let mut recording = made::nothing_moves();
        // The worker is done, and the other task, which woke up for it, is somewhere.
        recording.timeline.samples.extend((60..65).map(|at| crate::record::timeline::Sample {
            at_ns: at * 200_000_000,
            instances: vec![seen([1, 0], vec![pages(0)])],
        }));
        assert_eq!(trial(recording).outcome, "neither");
    }

    #[test]
    fn other_plans_are_no_trial() {
        let check = |change: fn(&mut Plan), expected: bool| {
            let mut plan = made::who_moves_plan();
            change(&mut plan);
            assert_eq!(judge(&plan, made::nothing_moves()).is_some(), expected);
        };
        check(|_| (), true);
        check(|plan| plan.teams[1].spawned = false, false);
        check(|plan| plan.teams[0].spawned = true, false);
        check(|plan| plan.teams[1].size = 2, false);
        check(|plan| plan.memory.clear(), false);
        check(|plan| plan.memory.push(plan.memory[0].clone()), false);
    }
}
