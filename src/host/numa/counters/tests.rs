//! The counters of several kernels, and what lies between two readings.

use super::*;
use crate::host::files::tests::fake;
use std::collections::BTreeSet;

/// Linux 6.12, shortened. `numa_hit` and the like come before, and are another thing.
const VMSTAT_6_12: &str = "\
nr_free_pages 2468
numa_hit 456241697
numa_miss 0
numa_local 456241697
pgpromote_success 3
pgpromote_candidate 8
pgdemote_kswapd 4
pgdemote_direct 5
pgdemote_khugepaged 6
numa_pte_updates 1000
numa_huge_pte_updates 1
numa_hint_faults 700
numa_hint_faults_local 600
numa_pages_migrated 90
pgmigrate_success 190
pgmigrate_fail 2
thp_migration_success 11
thp_migration_fail 12
thp_migration_split 13
";

/// Each key with its number, or its state.
fn shown(counters: &Counters) -> String {
    let shown = counters.iter().map(|(key, reading)| match reading {
        Reading::Value(value) => format!("{key} {value}"),
        Reading::Absent(absence) => format!("{key} {}", absence.state),
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[test]
fn rows_are_whole() {
    for rows in [OF_SYSTEM, OF_CGROUP] {
        let keys: BTreeSet<&str> = rows.iter().map(|row| row.key).collect();
        assert_eq!(keys.len(), rows.len(), "a key comes twice");
        assert!(rows.iter().all(|row| !row.about.is_empty() && !row.missing.is_empty()));
    }
}

#[test]
fn counters_of_the_system() {
    let check = |text: &str, expected: &str| {
        assert_eq!(shown(&parse(VMSTAT, text, OF_SYSTEM)), expected, "of {text:?}");
    };
    check(
        VMSTAT_6_12,
        "numa_pte_updates 1000, numa_huge_pte_updates 1, numa_hint_faults 700, \
         numa_hint_faults_local 600, numa_pages_migrated 90, pgmigrate_success 190, \
         pgmigrate_fail 2, thp_migration_success 11, thp_migration_fail 12, pgpromote_success 3, \
         pgdemote_kswapd 4, pgdemote_direct 5, pgdemote_khugepaged 6, pgdemote_proactive absent",
    );
    let unbalanced = "pgmigrate_success 7\npgmigrate_fail -7\nnuma_hit 9\n";
    let [head, tail] = [
        "numa_pte_updates absent, numa_huge_pte_updates absent, numa_hint_faults absent, \
         numa_hint_faults_local absent, numa_pages_migrated absent, ",
        ", thp_migration_success absent, thp_migration_fail absent, pgpromote_success absent, \
         pgdemote_kswapd absent, pgdemote_direct absent, pgdemote_khugepaged absent, \
         pgdemote_proactive absent",
    ];
    check(unbalanced, &format!("{head}pgmigrate_success 7, pgmigrate_fail not supported{tail}"));
    check("", &format!("{head}pgmigrate_success absent, pgmigrate_fail absent{tail}"));
}

#[test]
fn counters_of_a_cgroup() {
    let check = |text: Option<&str>, expected: &str, reason: &str| {
        let files: Vec<_> = text.map(|it| ("/cg/a/memory.stat", it)).into_iter().collect();
        let counters = memory_stat(&Root::new(fake(&files).path()), "/cg/a");
        assert_eq!(shown(&counters), expected, "of {text:?}");
        assert_eq!(counters[0].1.reason(), reason);
    };
    check(
        Some("anon 4096\nnuma_pages_migrated 3\nnuma_pte_updates 2\nnuma_hint_faults 1\n"),
        "numa_pte_updates 2, numa_hint_faults 1, numa_pages_migrated 3",
        "",
    );
    let absent = "numa_pte_updates absent, numa_hint_faults absent, numa_pages_migrated absent";
    check(
        Some("anon 4096\npgmigrate_success 1\n"),
        absent,
        "/cg/a/memory.stat has no line numa_pte_updates: a kernel without \
         CONFIG_NUMA_BALANCING, or before 6.12",
    );
    check(
        None,
        absent,
        "there is no /cg/a/memory.stat: the controller memory is not enabled for it",
    );
}

#[test]
fn growth_of_counters() {
    let value = Reading::Value;
    let closed = || Reading::absent(State::NoPermission, "may not be read");
    let check = |before: Reading<u64>, after: Reading<u64>, expected: Reading<u64>| {
        let key = "numa_hint_faults";
        let got = grown(&vec![(key, before.clone())], &vec![(key, after.clone())]);
        assert_eq!(got, [(key, expected)], "from {before:?} to {after:?}");
    };
    check(value(5), value(9), value(4));
    check(value(5), value(5), value(0));
    let backwards = "numa_hint_faults went backwards, from 5 to 4";
    check(value(5), value(4), Reading::absent(State::NotSupported, backwards));
    check(value(5), closed(), closed());
    check(closed(), value(5), closed());
    let unread = Reading::absent(State::Absent, "pgmigrate_fail was not read before");
    assert_eq!(grown(&vec![], &vec![("pgmigrate_fail", value(1))]), [("pgmigrate_fail", unread)]);
}

/// The kernel that runs this has a vmstat, whatever is in it.
#[test]
fn this_kernel_is_read() {
    let counters = vmstat(&Root::default());
    assert_eq!(counters.len(), OF_SYSTEM.len());
    assert!(grown(&counters, &counters).iter().all(|(_, it)| it.value().is_none_or(|n| *n == 0)));
}
