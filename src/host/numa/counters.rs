//! Counters of the kernel about NUMA and page migration: of the system, and of one cgroup.
//!
//! To add one, add its row. All of them only grow; what happened in a time is the difference of
//! two readings. Must not know: which time.

use crate::base::{Reading, State};
use crate::host::Root;
use crate::host::files::parsed;
use crate::host::numa::of_controller;
use std::collections::HashMap;

/// Counters by the kernel's own names, in the order of the rows.
pub type Counters = Vec<(&'static str, Reading<u64>)>;

/// One counter of /proc/vmstat or of a cgroup's memory.stat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    pub key: &'static str,
    /// What it counts, and in which unit.
    pub about: &'static str,
    /// What it means if there is no such line.
    missing: &'static str,
}

const fn row(key: &'static str, missing: &'static str, about: &'static str) -> Counter {
    Counter { key, about, missing }
}

pub const VMSTAT: &str = "/proc/vmstat";

const NO_BALANCING: &str = "a kernel without CONFIG_NUMA_BALANCING";
const NO_MIGRATION: &str = "a kernel without CONFIG_MIGRATION";
const NO_THP_MIGRATION: &str =
    "a kernel without CONFIG_TRANSPARENT_HUGEPAGE and CONFIG_MIGRATION, or before 5.9";
const NO_TIERS: &str = "a kernel without CONFIG_NUMA_BALANCING, or before 5.18";
const NO_DEMOTION: &str = "a kernel before 5.15";
const NO_LINE: &str = "a kernel older than this line";

/// Lines of /proc/vmstat (mm/vmstat.c, vmstat_text, v6.12); all are of the whole system.
#[rustfmt::skip]
pub const OF_SYSTEM: &[Counter] = &[
    row("numa_pte_updates", NO_BALANCING,
        "base pages that a scan made to fault at next use (mm/mempolicy.c, change_prot_numa)"),
    row("numa_huge_pte_updates", "a kernel without CONFIG_NUMA_BALANCING, or before 3.13",
        "huge pages that a scan made to fault, each also 512 (x86) of numa_pte_updates"),
    row("numa_hint_faults", NO_BALANCING,
        "faults on such pages: one for a huge page, too (mm/memory.c, numa_migrate_check)"),
    row("numa_hint_faults_local", NO_BALANCING,
        "of these, on a page that was on the node of the faulting CPU"),
    row("numa_pages_migrated", NO_BALANCING,
        "base pages that came to the faulting CPU's node (mm/migrate.c, migrate_misplaced_folio)"),
    row("pgmigrate_success", NO_MIGRATION,
        "base pages migrated between nodes or within one, whatever for, compaction among it"),
    row("pgmigrate_fail", NO_MIGRATION,
        "base pages whose migration failed"),
    row("thp_migration_success", NO_THP_MIGRATION,
        "huge pages migrated whole, whatever for"),
    row("thp_migration_fail", NO_THP_MIGRATION,
        "huge pages neither migrated whole nor split for it"),
    row("pgpromote_success", NO_TIERS,
        "base pages promoted to a faster tier of memory"),
    row("pgdemote_kswapd", NO_DEMOTION,
        "base pages demoted to a slower tier by kswapd"),
    row("pgdemote_direct", NO_DEMOTION,
        "base pages demoted to a slower tier by a task that wanted memory"),
    row("pgdemote_khugepaged", NO_LINE,
        "base pages demoted to a slower tier for khugepaged"),
    row("pgdemote_proactive", NO_LINE,
        "base pages demoted to a slower tier because somebody asked for reclaim"),
];

const NO_CGROUP_COUNTERS: &str = "a kernel without CONFIG_NUMA_BALANCING, or before 6.12";

/// Lines of a cgroup v2's memory.stat (mm/memcontrol.c, memory_stats and memcg_vm_event_stat,
/// v6.12): of the group and all below it.
#[rustfmt::skip]
pub const OF_CGROUP: &[Counter] = &[
    row("numa_pte_updates", NO_CGROUP_COUNTERS,
        "base pages of its tasks that a scan made to fault at their next use"),
    row("numa_hint_faults", NO_CGROUP_COUNTERS,
        "faults of its tasks on such pages"),
    row("numa_pages_migrated", NO_CGROUP_COUNTERS,
        "base pages of its tasks that came to the faulting CPU's node"),
];

/// The counters of /proc/vmstat.
pub fn vmstat(root: &Root) -> Counters {
    of_text(VMSTAT, root.text(VMSTAT), OF_SYSTEM)
}

/// The counters in memory.stat of the cgroup v2 with this directory.
pub fn memory_stat(root: &Root, directory: &str) -> Counters {
    let (path, text) = of_controller(root, directory, "memory.stat");
    of_text(&path, text, OF_CGROUP)
}

fn of_text(path: &str, text: Reading<String>, rows: &[Counter]) -> Counters {
    match text {
        Reading::Value(text) => parse(path, &text, rows),
        Reading::Absent(absence) => {
            rows.iter().map(|row| (row.key, Reading::Absent(absence.clone()))).collect()
        }
    }
}

/// The rows' counters in a text of lines `key number`, which was read from `path`.
pub fn parse(path: &str, text: &str, rows: &[Counter]) -> Counters {
    let lines: HashMap<&str, &str> = text.lines().filter_map(|it| it.split_once(' ')).collect();
    let reading = |row: &Counter| match lines.get(row.key) {
        Some(value) => parsed(path, value, "a number"),
        None => Reading::absent(
            State::Absent,
            format!("{path} has no line {}: {}", row.key, row.missing),
        ),
    };
    rows.iter().map(|row| (row.key, reading(row))).collect()
}

/// By how much each counter grew between two readings of the same file.
pub fn grown(before: &Counters, after: &Counters) -> Counters {
    after
        .iter()
        .map(|(key, after)| {
            let before = before.iter().find(|(it, _)| it == key).map(|(_, reading)| reading);
            (*key, growth(key, before, after))
        })
        .collect()
}

fn growth(key: &str, before: Option<&Reading<u64>>, after: &Reading<u64>) -> Reading<u64> {
    let before = match before {
        Some(Reading::Value(before)) => before,
        Some(Reading::Absent(absence)) => return Reading::Absent(absence.clone()),
        None => {
            let reason = format!("{key} was not read before");
            return Reading::absent(State::Absent, reason);
        }
    };
    match after {
        Reading::Value(after) if after >= before => Reading::Value(after - before),
        Reading::Value(after) => Reading::absent(
            State::NotSupported,
            format!("{key} went backwards, from {before} to {after}"),
        ),
        Reading::Absent(absence) => Reading::Absent(absence.clone()),
    }
}

#[cfg(test)]
mod tests;
