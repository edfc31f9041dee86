//! Where tasks ran and how they moved: sums over the teams, shares of CPUs, LLCs and nodes.
//!
//! Must not know: latencies, why the kernel moved a task.

use crate::base::{CpuId, CpuList, Relation, State};
use crate::record::{Recording, recording};
use crate::report::judge::Case;
use crate::report::sources::Kernel;
use crate::report::{InstanceResidency, Migrations, NodeShare, Residency, Share, Sourced};
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
        return Residency { instances: Vec::new(), cpus: Vec::new(), llcs: Vec::new() };
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
        instances: vec![InstanceResidency {
            instance: 0,
            cpu: by_node
                .into_iter()
                .map(|(node, ns)| NodeShare { node, share: share(ns) })
                .collect(),
            // No source of memory residency is part of a recording yet.
            memory: Vec::new(),
        }],
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
