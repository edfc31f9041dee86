//! Where tasks ran and how they moved: sums over the teams, shares of CPUs, LLCs and nodes.
//!
//! Must not know: latencies, why the kernel moved a task.

use crate::base::{CpuId, CpuList, Reading, Relation, State};
use crate::plan::PlanCpu;
use crate::report::judge::Case;
use crate::report::shares::{self, Counts, InstanceCounts};
use crate::report::sources::Kernel;
use crate::report::{
    InstanceResidency, Migrations, NodeShare, ONE_LLC, RegionShare, Residency, Share, Sourced,
    looks,
};
use std::collections::{BTreeMap, BTreeSet};

/// The tasks' own counts of the window, with the kernel's of their whole lives beside.
pub(super) fn migrations(counts: &Counts, kernel: &Kernel) -> Migrations {
    let Counts { woken, migrations: own } = counts;
    let by_distance = |of: &dyn Fn(usize) -> u64| {
        let far = Relation::ALL.iter().filter(|far| **far != Relation::SameCpu);
        far.map(|far| (far.name().to_owned(), of(*far as usize))).collect()
    };
    Migrations {
        total: own.total(),
        across_sleep: own.across_sleep.iter().sum(),
        while_running: own.while_running.iter().sum(),
        by_distance: by_distance(&|at| own.across_sleep[at] + own.while_running[at]),
        across_sleep_by_distance: by_distance(&|at| own.across_sleep[at]),
        while_running_by_distance: by_distance(&|at| own.while_running[at]),
        returned_10ms: own.returned_10ms,
        returned_100ms: own.returned_100ms,
        pulled_llc: woken.pulled_llc,
        pulled_node: woken.pulled_node,
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
    // A CPU that the plan does not know has no place; the check of CPUs names it.
    let placed: Vec<(&PlanCpu, u64)> =
        by_cpu.iter().filter_map(|(cpu, ns)| Some((case.cpu(*cpu)?, *ns))).collect();
    let instances = instances(case);
    let total: u64 = by_cpu.values().sum();
    if total == 0 {
        return Residency { instances, ..Residency::default() };
    }
    let busy = case.recording.busy.value();
    let busy_of = |cpus: &mut dyn Iterator<Item = CpuId>| -> Option<f64> {
        let share = |cpu: CpuId| busy?.iter().find(|(it, _)| *it == cpu).map(|(_, share)| share);
        cpus.map(share).sum()
    };
    let share = |name: String, ns: u64, busy: Option<f64>| Share {
        name,
        share: ns as f64 / total as f64,
        busy,
    };
    let group = |of: fn(&PlanCpu) -> u32, name: &dyn Fn(u32) -> String| -> Vec<Share> {
        let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
        for (cpu, ns) in &placed {
            *sums.entry(of(cpu)).or_default() += ns;
        }
        let one = |(group, ns): (u32, u64)| {
            let mut its = case.allowed().filter(|cpu| of(cpu) == group).map(|cpu| cpu.id);
            share(name(group), ns, busy_of(&mut its))
        };
        sums.into_iter().map(one).collect()
    };
    Residency {
        nodes: group(|cpu| cpu.place.node.0, &|node| node.to_string()),
        llcs: group(|cpu| cpu.place.llc, &|llc| llc_name(case, llc)),
        cpus: by_cpu
            .iter()
            .map(|(cpu, ns)| share(cpu.to_string(), *ns, busy_of(&mut [*cpu].into_iter())))
            .collect(),
        instances,
    }
}

/// An LLC is called by its CPUs.
fn llc_name(case: &Case<'_>, llc: u32) -> String {
    let cpus = case.plan.cpus.iter().filter(|cpu| cpu.place.llc == llc);
    cpus.map(|cpu| cpu.id).collect::<CpuList>().to_string()
}

/// One for each instance.
fn instances(case: &Case<'_>) -> Vec<InstanceResidency> {
    let known = case.recording.instances.iter().any(|it| !it.is_empty());
    if !known && case.plan.memory.is_empty() {
        return Vec::new();
    }
    let one = |(instance, counts): (u32, InstanceCounts)| {
        let llcs = by_llc(case, instance).unwrap_or_default();
        let mut by_node: BTreeMap<u32, f64> = BTreeMap::new();
        for (llc, share) in &llcs {
            // An LLC is within one node.
            if let Some(cpu) = case.plan.cpus.iter().find(|cpu| cpu.place.llc == *llc) {
                *by_node.entry(cpu.place.node.0).or_default() += share;
            }
        }
        let named = |(llc, share): (&u32, &f64)| Share {
            name: llc_name(case, *llc),
            share: *share,
            busy: None,
        };
        InstanceResidency {
            instance,
            cpu_from: (!llcs.is_empty()).then(|| "time".to_owned()),
            cpu: by_node.into_iter().map(|(node, share)| NodeShare { node, share }).collect(),
            llcs: llcs.iter().map(named).collect(),
            memory: memory(case, instance),
            counts: Some(counts),
        }
    };
    (0..).zip(shares::by_instance(case)).map(one).collect()
}

/// The share of each LLC in an instance's time: of those with allowed CPUs, and of others where
/// anybody was. `None` if no time is known.
fn by_llc(case: &Case<'_>, instance: u32) -> Option<BTreeMap<u32, f64>> {
    let times = case.recording.instances.get(instance as usize)?;
    let total: u64 = times.iter().map(|(_, ns)| ns).sum();
    let mut shares: BTreeMap<u32, f64> = case.allowed().map(|cpu| (cpu.place.llc, 0.0)).collect();
    shares.extend(times.iter().map(|&(llc, ns)| (llc, ns as f64 / total as f64)));
    (total > 0).then_some(shares)
}

/// The largest share that an LLC has in an instance's time, as the mean of the instances that have
/// any.
pub(super) fn home_llc_share(case: &Case<'_>) -> Result<f64, String> {
    let llcs: BTreeSet<u32> = case.allowed().map(|cpu| cpu.place.llc).collect();
    if llcs.len() < 2 {
        return Err(ONE_LLC.to_owned());
    }
    let instances = 0..case.plan.instances.max(1);
    let homes = instances.filter_map(|it| by_llc(case, it)?.into_values().reduce(f64::max));
    let homes: Vec<f64> = homes.collect();
    match homes.len() {
        0 => Err("no time of the tasks in the window was recorded".to_owned()),
        n => Ok(homes.iter().sum::<f64>() / n as f64),
    }
}

/// CPUs that were busy for something else than the run's tasks, `tasks` of which it kept busy.
pub(super) fn other_busy_cpus(case: &Case<'_>, tasks: f64) -> Result<f64, String> {
    match &case.recording.busy {
        Reading::Value(all) => {
            let allowed = |cpu: CpuId| case.allowed().any(|it| it.id == cpu);
            let busy: f64 = all.iter().filter(|(cpu, _)| allowed(*cpu)).map(|(_, it)| it).sum();
            Ok((busy - tasks).max(0.0))
        }
        Reading::Absent(absence) => Err(format!("{}: {}", absence.state, absence.reason)),
    }
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
    fn instances_are_told_apart_by_time() {
        let all = residency(|_| ());
        assert_eq!(percents(&all[0].cpu), [(0, 95.5), (1, 4.5)]);
        assert_eq!(percents(&all[1].cpu), [(0, 0.0), (1, 100.0)]);
        assert_eq!(of_region(&all[0], "area"), [(0, Some(1.0)), (1, Some(0.0))]);
        assert_eq!(of_region(&all[1], "area"), [(0, Some(0.02)), (1, Some(0.98))]);
        assert_eq!(of_region(&all[1], "own"), [(0, Some(0.0)), (1, Some(1.0))]);
    }

    #[test]
    fn without_times_and_looks_nothing_is_known() {
        let all = residency(|run| {
            run.timeline.samples.clear();
            run.instances.clear();
        });
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
