//! Where tasks ran and how they moved: sums over the teams, shares of CPUs, LLCs and nodes.
//!
//! Must not know: latencies, why the kernel moved a task.

use crate::base::{CpuId, CpuList, NodeId, Relation, State};
use crate::record::{Recording, recording};
use crate::report::judge::Case;
use crate::report::sources::Kernel;
use crate::report::{
    InstanceResidency, Migrations, NodeShare, RegionShare, Residency, Share, Sourced, looks,
};
use std::collections::BTreeMap;

/// The tasks' own counts of the window, with the kernel's of their whole lives beside.
pub(super) fn migrations(recording: &Recording, kernel: &Kernel) -> Migrations {
    let own = || recording.teams.iter().map(|team| &team.migrations);
    let both =
        |one: &recording::Migrations, at: usize| one.across_sleep[at] + one.while_running[at];
    let by_distance = |of: &dyn Fn(&recording::Migrations, usize) -> u64| {
        let far = Relation::ALL.iter().filter(|far| **far != Relation::SameCpu);
        let sum = |at: usize| own().map(|one| of(one, at)).sum();
        far.map(|far| (far.name().to_owned(), sum(*far as usize))).collect()
    };
    Migrations {
        total: own().map(|one| one.total()).sum(),
        across_sleep: own().flat_map(|one| one.across_sleep).sum(),
        while_running: own().flat_map(|one| one.while_running).sum(),
        by_distance: by_distance(&both),
        across_sleep_by_distance: by_distance(&|one, at| one.across_sleep[at]),
        while_running_by_distance: by_distance(&|one, at| one.while_running[at]),
        returned_10ms: own().map(|one| one.returned_10ms).sum(),
        returned_100ms: own().map(|one| one.returned_100ms).sum(),
        pulled_llc: own().map(|one| one.pulled_llc).sum(),
        pulled_node: own().map(|one| one.pulled_node).sum(),
        kernel: kernel.migrations.clone(),
        by_cause: Sourced {
            state: State::Absent.name().to_owned(),
            value: None,
            reason: Some("cause tracing is not part of this run".to_owned()),
        },
    }
}

/// Shares of the tasks' time in the window, by the CPU they last ran on. Allowed CPUs on which
/// nobody ever was are there with a share of 0, since that is an answer too.
pub(super) fn residency(case: &Case<'_>) -> Residency {
    let mut by_cpu: BTreeMap<CpuId, u64> = case.allowed().map(|cpu| (cpu.id, 0)).collect();
    for (cpu, ns) in case.recording.teams.iter().flat_map(|team| &team.residency) {
        *by_cpu.entry(*cpu).or_default() += ns;
    }
    let total: u64 = by_cpu.values().sum();
    if total == 0 {
        return Residency { instances: instances(case, None), cpus: Vec::new(), llcs: Vec::new() };
    }
    let share = |ns: u64| ns as f64 / total as f64;
    let mut by_node: BTreeMap<u32, u64> = BTreeMap::new();
    let mut by_llc: BTreeMap<u32, u64> = BTreeMap::new();
    for (cpu, ns) in &by_cpu {
        // A CPU that the plan does not know has no node; the check of CPUs names it.
        let Some(cpu) = case.cpu(*cpu) else { continue };
        *by_node.entry(cpu.place.node.0).or_default() += ns;
        *by_llc.entry(cpu.place.llc).or_default() += ns;
    }
    let cpus_of_llc = |llc: u32| -> CpuList {
        let all = case.plan.cpus.iter();
        all.filter(|cpu| cpu.place.llc == llc).map(|cpu| cpu.id).collect()
    };
    Residency {
        instances: instances(
            case,
            Some(
                by_node
                    .into_iter()
                    .map(|(node, ns)| NodeShare { node, share: share(ns) })
                    .collect(),
            ),
        ),
        cpus: by_cpu
            .into_iter()
            .map(|(cpu, ns)| Share { name: cpu.to_string(), share: share(ns) })
            .collect(),
        llcs: by_llc
            .into_iter()
            .map(|(llc, ns)| Share { name: cpus_of_llc(llc).to_string(), share: share(ns) })
            .collect(),
    }
}

/// One for each instance. Tasks tell their time for all instances together, so that of one among
/// several is known from the timeline only.
fn instances(case: &Case<'_>, of_all: Option<Vec<NodeShare>>) -> Vec<InstanceResidency> {
    if of_all.is_none() && case.plan.memory.is_empty() {
        return Vec::new();
    }
    let one = |instance: u32| {
        let (cpu, from) = match (&of_all, case.plan.instances) {
            (Some(of_all), 0 | 1) => (Some(of_all.clone()), "time"),
            _ => (seen_on(case, instance), "looks"),
        };
        InstanceResidency {
            instance,
            cpu_from: cpu.is_some().then(|| from.to_owned()),
            cpu: cpu.unwrap_or_default(),
            memory: memory(case, instance),
        }
    };
    (0..case.plan.instances.max(1)).map(one).collect()
}

/// Each look counts for the time until the next one; a single look for itself.
fn seen_on(case: &Case<'_>, instance: u32) -> Option<Vec<NodeShare>> {
    let samples = &case.recording.timeline.samples;
    let mut by_node = vec![0.0; case.plan.nodes.len()];
    for (at, sample) in samples.iter().enumerate() {
        let Some(seen) = sample.instances.get(instance as usize) else { continue };
        let until = samples.get(at + 1).map_or(sample.at_ns, |next| next.at_ns);
        let alone = samples.len() == 1;
        let weight = if alone { 1.0 } else { until.saturating_sub(sample.at_ns) as f64 };
        for (sum, n) in by_node.iter_mut().zip(&seen.tasks) {
            *sum += weight * f64::from(*n);
        }
    }
    let shares = looks::shares(&by_node)?;
    let nodes = case.plan.nodes.iter().zip(shares);
    let allowed = |node: NodeId| case.allowed().any(|cpu| cpu.place.node == node);
    // A node without CPUs for us has no share to tell of, as in the other form.
    let told = nodes.filter(|(node, share)| *share > 0.0 || allowed(node.id));
    Some(told.map(|(node, share)| NodeShare { node: node.id.0, share }).collect())
}

fn memory(case: &Case<'_>, instance: u32) -> Vec<RegionShare> {
    let mut rows = Vec::new();
    for (at, region) in case.plan.memory.iter().enumerate() {
        let samples = case.recording.timeline.samples.iter().rev();
        let known =
            samples.filter_map(|it| it.instances.get(instance as usize)?.regions.get(at)?.value());
        let shares = known.map(|pages| {
            looks::shares(&pages.by_node.iter().map(|n| f64::from(*n)).collect::<Vec<_>>())
        });
        let shares = shares.flatten().next();
        for (at, node) in case.plan.nodes.iter().enumerate() {
            let share = shares.as_ref().map(|shares| shares.get(at).copied().unwrap_or(0.0));
            if node.has_memory || share.is_some_and(|share| share > 0.0) {
                rows.push(RegionShare { region: region.name.clone(), node: node.id.0, share });
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Recording;
    use crate::report::fixture_memory as made;
    use crate::report::{Report, fixture};

    fn residency(change: impl FnOnce(&mut Recording)) -> Vec<InstanceResidency> {
        let mut recording = made::two_instances();
        change(&mut recording);
        let report = Report::judge(&made::two_instances_plan(), &fixture::host(), &[recording]);
        report.runs[0].residency.instances.clone()
    }

    fn percents(cpu: &[NodeShare]) -> Vec<(u32, f64)> {
        cpu.iter().map(|node| (node.node, (node.share * 1e3).round() / 10.0)).collect()
    }

    fn of_region(instance: &InstanceResidency, name: &str) -> Vec<(u32, Option<f64>)> {
        let rows = instance.memory.iter().filter(|row| row.region == name);
        rows.map(|row| (row.node, row.share)).collect()
    }

    #[test]
    fn instances_are_told_apart_by_looks() {
        let all = residency(|_| ());
        // Apart in the first 8 of 59 intervals.
        assert_eq!(percents(&all[0].cpu), [(0, 93.2), (1, 6.8)]);
        assert_eq!(percents(&all[1].cpu), [(0, 6.8), (1, 93.2)]);
        assert!(all.iter().all(|it| it.cpu_from.as_deref() == Some("looks")));
        assert_eq!(of_region(&all[0], "area"), [(0, Some(1.0)), (1, Some(0.0))]);
        assert_eq!(of_region(&all[1], "area"), [(0, Some(0.02)), (1, Some(0.98))]);
        assert_eq!(of_region(&all[1], "own"), [(0, Some(0.0)), (1, Some(1.0))]);
    }

    #[test]
    fn without_looks_nothing_is_known_of_several() {
        let all = residency(|run| run.timeline.samples.clear());
        assert_eq!(all.len(), 2);
        for instance in all {
            assert_eq!((instance.cpu.len(), instance.cpu_from), (0, None));
            assert!(instance.memory.iter().all(|row| row.share.is_none()));
            assert_eq!(instance.memory.len(), 4);
        }
    }

    #[test]
    fn one_instance_is_told_by_the_tasks_themselves() {
        let report = &crate::report::fixture_memory::reports()["memory_moved"];
        let instances = &report.runs[0].residency.instances;
        assert_eq!(instances.len(), 1);
        assert_eq!(instances[0].cpu_from.as_deref(), Some("time"));
        assert_eq!(of_region(&instances[0], "area"), [(0, Some(0.0)), (1, Some(1.0))]);
    }

    #[test]
    fn what_a_killed_instance_had_last_is_kept() {
        let all = residency(|run| *run = made::one_killed());
        assert_eq!(of_region(&all[1], "area"), [(0, Some(0.24)), (1, Some(0.76))]);
    }
}
