//! The looks of one instance in a form to reckon with: whose nodes count, and shares of pages.
//!
//! Nodes are positions in `Plan::nodes`. Must not know: verdicts, thresholds.

use crate::plan::{Plan, Usage};
use crate::record::recording::{Begun, TaskRecord};
use crate::record::timeline::{InstanceSample, Pages};
use crate::report::judge::Case;

/// One look at one instance.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Look {
    pub at_ns: u64,
    /// Tasks that touch the memory, by node; `None` if nobody was there, or not known.
    pub tasks: Option<Vec<f64>>,
    /// Shares of the resident pages of all regions together, by node; `None` if not known or none.
    pub pages: Option<Vec<f64>>,
    /// Chance that a task and a page of its memory are on one node; see [`local`].
    pub local: Option<f64>,
}

/// All looks of an instance. Where the plan has teams that a step spawns, theirs are the tasks that
/// count: those that started them have made the memory, and wait.
pub(super) fn of(case: &Case<'_>, instance: usize) -> Vec<Look> {
    let samples = &case.recording.timeline.samples;
    let seen: Vec<(u64, Option<&InstanceSample>)> =
        samples.iter().map(|sample| (sample.at_ns, sample.instances.get(instance))).collect();
    let spawned = Spawned::of(case, instance, &seen);
    let usages = case.plan.usages();
    let look = |&(at_ns, seen): &(u64, Option<&InstanceSample>)| {
        let tasks = seen.and_then(|seen| spawned.among(at_ns, &seen.tasks));
        Look {
            at_ns,
            pages: seen.and_then(|seen| pages(case.plan, seen)),
            local: seen.and_then(|seen| local(case, &usages, seen, tasks.as_deref())),
            tasks,
        }
    };
    seen.iter().map(look).collect()
}

/// The position of the node of a CPU.
pub(super) fn node_of(case: &Case<'_>, begun: Begun) -> Option<usize> {
    let node = case.cpu(begun.cpu)?.place.node;
    case.plan.nodes.iter().position(|other| other.id == node)
}

/// The records of an instance's tasks.
pub(super) fn tasks<'a>(
    case: &Case<'a>,
    instance: usize,
) -> impl Iterator<Item = &'a TaskRecord> + use<'a> {
    let (plan, tasks) = (case.plan, case.recording.tasks.iter());
    tasks.filter(move |task| plan.instance(task.copy) as usize == instance)
}

/// The tasks of an instance that a step started.
pub(super) fn spawned<'a>(
    case: &Case<'a>,
    instance: usize,
) -> impl Iterator<Item = &'a TaskRecord> + use<'a> {
    let plan = case.plan;
    let is_spawned = |team: usize| plan.teams.get(team).is_some_and(|team| team.spawned);
    tasks(case, instance).filter(move |task| is_spawned(task.team))
}

/// How the spawned tasks are told from the others, since a look has only sums.
struct Spawned {
    n: f64,
    /// When the first of them began; `None` if none ever did.
    first_ns: Option<u64>,
    /// The others right before that, by node; they wait, and so stay.
    others: Vec<f64>,
}

impl Spawned {
    fn of(case: &Case<'_>, instance: usize, seen: &[(u64, Option<&InstanceSample>)]) -> Spawned {
        let begun = spawned(case, instance).filter_map(|task| task.begun);
        let first_ns = begun.map(|begun| begun.at_ns).min();
        let before = |at: u64| first_ns.is_some_and(|first| at < first);
        let n_others = tasks(case, instance).count() - spawned(case, instance).count();
        // A look before all of them had passed the gate has not seen all of them.
        let sees_all = |seen: &Option<&InstanceSample>| {
            seen.is_some_and(|seen| seen.tasks.iter().sum::<u32>() as usize == n_others)
        };
        let last = seen.iter().rfind(|(at, seen)| before(*at) && sees_all(seen));
        let others = match last {
            Some((_, Some(seen))) => numbers(&seen.tasks),
            _ => Self::begun_before(case, instance),
        };
        Spawned { n: spawned(case, instance).count() as f64, first_ns, others }
    }

    fn begun_before(case: &Case<'_>, instance: usize) -> Vec<f64> {
        let mut others = vec![0.0; case.plan.nodes.len()];
        let is_spawned =
            |task: &TaskRecord| case.plan.teams.get(task.team).is_some_and(|team| team.spawned);
        for task in tasks(case, instance).filter(|task| !is_spawned(task)) {
            if let Some(at) = task.begun.and_then(|begun| node_of(case, begun)) {
                others[at] += 1.0;
            }
        }
        others
    }

    fn among(&self, at_ns: u64, all: &[u32]) -> Option<Vec<f64>> {
        let all = numbers(all);
        let total: f64 = all.iter().sum();
        if self.n == 0.0 {
            return (total > 0.0).then_some(all);
        }
        if self.first_ns.is_none_or(|first| at_ns < first) {
            return None;
        }
        let other = |at: usize| self.others.get(at).copied().unwrap_or(0.0);
        let rest: Vec<f64> = all.iter().enumerate().map(|(at, n)| n - other(at)).collect();
        let n_rest: f64 = rest.iter().sum();
        if rest.iter().all(|n| *n >= 0.0) {
            return (n_rest > 0.0 && n_rest <= self.n).then_some(rest);
        }
        // Those that started them have left before them.
        (total > 0.0 && total <= self.n).then_some(all)
    }
}

fn numbers(counts: &[u32]) -> Vec<f64> {
    counts.iter().map(|n| f64::from(*n)).collect()
}

/// Shares over regions, each weighted by the bytes of it that are in memory. One region that could
/// not be looked at makes the whole unknown.
fn pages(plan: &Plan, seen: &InstanceSample) -> Option<Vec<f64>> {
    let mut sum: Vec<f64> = Vec::new();
    for at in 0..plan.memory.len() {
        let pages = seen.regions.get(at)?.value()?;
        sum.resize(sum.len().max(pages.by_node.len()), 0.0);
        for (node, n) in pages.by_node.iter().enumerate() {
            sum[node] += bytes_of(plan, at, pages, *n);
        }
    }
    shares(&sum)
}

/// The chance that a task and a page of its memory are on one node: of what all tasks use, that of
/// any two of them; of what is one task's own, with that task. Regions count by their bytes in
/// memory; one that could not be looked at makes the whole unknown.
fn local(
    case: &Case<'_>,
    usages: &[Usage],
    seen: &InstanceSample,
    tasks: Option<&[f64]>,
) -> Option<f64> {
    let (mut local, mut bytes) = (0.0, 0.0);
    for at in (0..usages.len()).filter(|at| counts(&usages[*at])) {
        let pages = seen.regions.get(at)?.value()?;
        let weight = |n: u32| bytes_of(case.plan, at, pages, n);
        match &usages[at] {
            Usage::Whole => {
                let tasks = shares(tasks?)?;
                let both = tasks.iter().zip(&pages.by_node);
                local += both.map(|(task, page)| task * weight(*page)).sum::<f64>();
                bytes += weight(pages.by_node.iter().sum());
            }
            Usage::Slices(_) => {
                for (home, on) in pages.own.as_ref()?.iter().enumerate() {
                    local += on.get(home).map_or(0.0, |n| weight(*n));
                    bytes += weight(on.iter().sum());
                }
            }
        }
    }
    (bytes > 0.0).then(|| local / bytes)
}

/// Whether a region says anything about where tasks have their memory.
pub(super) fn counts(usage: &Usage) -> bool {
    *usage == Usage::Whole || usage.is_own()
}

/// Whether a look saw the pages of an instance and could not tell whose they are.
pub(super) fn blind(case: &Case<'_>, instance: usize) -> bool {
    let usages = case.plan.usages();
    let samples = case.recording.timeline.samples.iter();
    let mut seen = samples.filter_map(|sample| sample.instances.get(instance));
    seen.any(|seen| {
        let regions = seen.regions.iter().zip(&usages).filter(|(_, usage)| usage.is_own());
        regions.filter_map(|(pages, _)| pages.value()).any(|pages| pages.own.is_none())
    })
}

/// So many of the pages that were looked at, in bytes.
fn bytes_of(plan: &Plan, region: usize, pages: &Pages, n: u32) -> f64 {
    match looked_at(pages) {
        0.0 => 0.0,
        all => plan.bytes_in_instance(region) as f64 * f64::from(n) / all,
    }
}

fn looked_at(pages: &Pages) -> f64 {
    pages.by_node.iter().chain([&pages.absent]).map(|n| f64::from(*n)).sum()
}

/// Shares of a sum; `None` of nothing.
pub(super) fn shares(parts: &[f64]) -> Option<Vec<f64>> {
    let total: f64 = parts.iter().sum();
    (total > 0.0).then(|| parts.iter().map(|part| part / total).collect())
}

/// The node with the most, and its share; of equal ones the first.
pub(super) fn most(shares: &[f64]) -> Option<(usize, f64)> {
    let all = shares.iter().copied().enumerate();
    all.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

/// From when on something holds for good: the first of the looks at the end of which all hold,
/// leaving out those of which it is not known.
pub(super) fn since(looks: &[Look], holds: impl Fn(&Look) -> Option<bool>) -> Option<(u64, usize)> {
    let known: Vec<(u64, bool)> =
        looks.iter().filter_map(|look| Some((look.at_ns, holds(look)?))).collect();
    let tail: Vec<&(u64, bool)> = known.iter().rev().take_while(|(_, holds)| *holds).collect();
    tail.last().map(|first| (first.0, tail.len()))
}
