//! The facts and knobs that change what a run measures: one row each.
//!
//! To add one, add a row; everything that prints facts walks the rows. Must not know: how facts
//! are printed, what a profile wants. Readers that need more than a file are in `host::knob`.

use super::cgroup::Cgroups;
use super::clock::CLOCKSOURCE;
use super::files::Root;
use super::numa::knobs;
use super::{Fact, knob};
use crate::base::{Reading, State};

/// One fact: where it is and why a reader of the numbers wants to know it.
struct Row {
    key: &'static str,
    /// Files, tried in this order. `cpu*` stands for every CPU.
    from: &'static [&'static str],
    how: How,
    /// What it means if there is no such file; may be empty.
    missing: &'static str,
    about: &'static str,
}

/// How the text of a file becomes a value.
#[derive(Clone, Copy)]
enum How {
    /// As it is; an empty file means "none".
    Text,
    /// The word in brackets or parentheses: `always [madvise] never`.
    Chosen,
    /// The file of each CPU, summed up: `performance (0-3), powersave (4-7)`.
    EachCpu,
    /// By a function that looks at more than one file.
    Own(fn(&Root) -> Reading<String>),
    /// The same, for facts about our cgroups.
    OfCgroups(fn(&Root, &Cgroups) -> Reading<String>),
}

/// All facts, in the order in which they are printed.
pub(super) fn read(root: &Root, cgroups: &Reading<Cgroups>) -> Vec<Fact> {
    ROWS.iter().map(|row| row.read(root, cgroups)).collect()
}

/// The facts of a machine that is not there.
pub(super) fn made_up(machine: &str) -> Vec<Fact> {
    let absent = || Reading::absent(State::Absent, format!("{machine} is a made-up machine"));
    ROWS.iter().map(|row| row.plain(row.from[0], absent())).collect()
}

impl Row {
    fn read(&self, root: &Root, cgroups: &Reading<Cgroups>) -> Fact {
        match (self.how, cgroups) {
            (How::Own(read), _) => self.fact(self.from[0], read(root)),
            (How::OfCgroups(read), Reading::Value(it)) => self.fact(self.from[0], read(root, it)),
            (How::OfCgroups(_), Reading::Absent(absence)) => {
                self.fact(self.from[0], Reading::Absent(absence.clone()))
            }
            (How::Text | How::Chosen | How::EachCpu, _) => self.first(root),
        }
    }

    /// The first file that can be read; else why the one that came nearest to it can not.
    fn first(&self, root: &Root) -> Fact {
        let mut readings = Vec::new();
        for path in self.from {
            let reading = match self.how {
                How::EachCpu => knob::each_cpu(root, path),
                How::Chosen => root.text(path).map(|text| knob::chosen(&text)),
                _ => root.text(path).map(|text| knob::or_none(&text)),
            };
            if reading.state() == State::Ok {
                return self.fact(path, reading);
            }
            readings.push((path, reading));
        }
        let forbidden = readings.iter().position(|(_, it)| it.state() != State::Absent);
        let (path, reading) = readings.swap_remove(forbidden.unwrap_or(0));
        self.fact(path, reading)
    }

    /// With what an absence means.
    fn fact(&self, from: &str, value: Reading<String>) -> Fact {
        match value {
            Reading::Absent(mut it) if it.state == State::Absent && !self.missing.is_empty() => {
                it.reason = format!("{}: {}", it.reason, self.missing);
                self.plain(from, Reading::Absent(it))
            }
            other => self.plain(from, other),
        }
    }

    fn plain(&self, from: &str, value: Reading<String>) -> Fact {
        Fact {
            key: self.key.to_owned(),
            value,
            from: from.to_owned(),
            about: self.about.to_owned(),
        }
    }
}

const fn row(
    key: &'static str,
    from: &'static [&'static str],
    how: How,
    missing: &'static str,
    about: &'static str,
) -> Row {
    Row { key, from, how, missing, about }
}

use How::{Chosen, EachCpu, OfCgroups, Own, Text};

const NO_DEBUGFS: &str = "debugfs is not mounted, or the kernel is older than this knob";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // The scheduler.
    row("scx", &["/sys/kernel/sched_ext/state"], Text,
        "a kernel without CONFIG_SCHED_CLASS_EXT",
        "with a sched_ext scheduler loaded, the numbers are that scheduler's"),
    row("scx_ops", &["/sys/kernel/sched_ext/root/ops"], Own(knob::scx_ops),
        "",
        "the name of the sched_ext scheduler"),
    row("preempt", &["/sys/kernel/debug/sched/preempt"], Own(knob::preempt),
        "",
        "decides when a woken thread may take the CPU from a running one"),
    row("base_slice_ns", &["/sys/kernel/debug/sched/base_slice_ns",
                           "/sys/kernel/debug/sched/min_granularity_ns",
                           "/proc/sys/kernel/sched_min_granularity_ns"], Text,
        NO_DEBUGFS,
        "the least time a thread runs before it is preempted: the tail of wakeups behind a hog"),
    row("migration_cost_ns", &["/sys/kernel/debug/sched/migration_cost_ns",
                               "/proc/sys/kernel/sched_migration_cost_ns"], Text,
        NO_DEBUGFS,
        "threads that ran this recently are left where they are, and shorter idling pulls none"),
    row("sched_features", &["/sys/kernel/debug/sched/features",
                            "/sys/kernel/debug/sched_features"], Text,
        NO_DEBUGFS,
        "switches of the fair class, among them wakeup preemption, delayed dequeue, TTWU_QUEUE"),
    row("autogroup", &["/proc/sys/kernel/sched_autogroup_enabled"], Text,
        "a kernel without CONFIG_SCHED_AUTOGROUP",
        "1 puts each session into a group of its own, so that nice acts within the session only"),
    row("rt_runtime_us", &["/proc/sys/kernel/sched_rt_runtime_us"], Text,
        "",
        "real-time threads that use more of each period are stopped; -1: never"),
    row("energy_aware", &["/proc/sys/kernel/sched_energy_aware"], Text,
        "no energy model on this machine",
        "1 packs wakeups onto efficient CPUs instead of idle ones"),
    row("sched_schedstats", &["/proc/sys/kernel/sched_schedstats"], Text,
        "a kernel without CONFIG_SCHEDSTATS",
        "1 adds some cost to every wakeup, and fills the counters of /proc/schedstat"),
    // NUMA and memory.
    row("numa_balancing", &["/proc/sys/kernel/numa_balancing"], Text,
        "a kernel without CONFIG_NUMA_BALANCING",
        "not 0: threads and pages are moved towards each other, at the cost of hint faults"),
    row("numa_balancing_mode", &["/proc/sys/kernel/numa_balancing"], Own(knobs::balancing_mode),
        "a kernel without CONFIG_NUMA_BALANCING",
        "normal: tasks and pages come to each other; memory tiering: hot pages to faster nodes"),
    row("numa_scan_delay_ms",
        &["/sys/kernel/debug/sched/numa_balancing/scan_delay_ms",
          "/proc/sys/kernel/numa_balancing_scan_delay_ms"], Text,
        NO_DEBUGFS,
        "so long a new task is left alone: a shorter run sees no NUMA balancing"),
    row("numa_scan_period_min_ms",
        &["/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms",
          "/proc/sys/kernel/numa_balancing_scan_period_min_ms"], Text,
        NO_DEBUGFS,
        "how fast NUMA balancing can react at best"),
    row("numa_scan_period_max_ms",
        &["/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms",
          "/proc/sys/kernel/numa_balancing_scan_period_max_ms"], Text,
        NO_DEBUGFS,
        "how slow its scans become while pages are local or faults change nothing"),
    row("numa_scan_size_mb",
        &["/sys/kernel/debug/sched/numa_balancing/scan_size_mb",
          "/proc/sys/kernel/numa_balancing_scan_size_mb"], Text,
        NO_DEBUGFS,
        "memory that one scan covers: a region this many times larger takes as many scans"),
    row("numa_demotion", &["/sys/kernel/mm/numa/demotion_enabled"], Text,
        "a kernel without memory tiers",
        "true moves cold pages to slower nodes instead of reclaiming them"),
    row("memory_tiers", &["/sys/devices/virtual/memory_tiering"], Own(knobs::memory_tiers),
        "a kernel without memory tiers",
        "which nodes are fast and which slow; demotion and promotion go from tier to tier"),
    row("mems_allowed", &["/proc/self/status"], Own(knobs::allowed_nodes),
        "",
        "the nodes that the cpuset grants memory on; no policy reaches beyond them"),
    row("zone_reclaim_mode", &["/proc/sys/vm/zone_reclaim_mode"], Text,
        "a kernel without CONFIG_NUMA",
        "not 0 reclaims on a full node before memory of another node is used"),
    row("thp", &["/sys/kernel/mm/transparent_hugepage/enabled"], Chosen,
        "a kernel without CONFIG_TRANSPARENT_HUGEPAGE",
        "huge pages move and fault as a whole, which changes NUMA placement and TLB misses"),
    row("thp_defrag", &["/sys/kernel/mm/transparent_hugepage/defrag"], Chosen,
        "a kernel without CONFIG_TRANSPARENT_HUGEPAGE",
        "whether a fault that wants a huge page waits until one is made, which first touch pays"),
    row("thp_shmem", &["/sys/kernel/mm/transparent_hugepage/shmem_enabled"], Chosen,
        "a kernel without CONFIG_TRANSPARENT_HUGEPAGE and CONFIG_SHMEM",
        "whether memory that processes share gets huge pages"),
    row("huge_pages", &["/sys/devices/system/node"], Own(knobs::huge_pages),
        "a kernel without CONFIG_NUMA or CONFIG_HUGETLBFS",
        "pools set aside on each node, whose memory nothing else can use"),
    // CPUs.
    row("smt", &["/sys/devices/system/cpu/smt/control"], Own(knob::smt),
        "a kernel or architecture without SMT control",
        "a sibling that is busy slows its core's other CPUs; see the relation smt"),
    row("isolated", &["/sys/devices/system/cpu/isolated"], Text,
        "",
        "CPUs that load balancing leaves alone: threads only run there if they are pinned"),
    row("nohz_full", &["/sys/devices/system/cpu/nohz_full"], Text,
        "a kernel without CONFIG_NO_HZ_FULL",
        "CPUs whose tick stops while one thread runs, which makes entering the kernel dearer"),
    row("governor", &["/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"], EachCpu,
        "no frequency driver, as in most virtual machines",
        "with any but performance, short runs measure how fast the frequency rises"),
    row("frequency_driver", &["/sys/devices/system/cpu/cpu*/cpufreq/scaling_driver"], EachCpu,
        "no frequency driver, as in most virtual machines",
        "who decides on the frequency: the kernel, or the processor by itself"),
    row("energy_preference",
        &["/sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference"], EachCpu,
        "the frequency driver has none",
        "how eagerly the processor itself raises its frequency after a wakeup"),
    row("boost", &["/sys/devices/system/cpu/cpufreq/boost"], Own(knob::boost),
        "the frequency driver has none",
        "with boost, speed depends on how many CPUs are busy and how warm they are"),
    row("idle_driver", &["/sys/devices/system/cpu/cpuidle/current_driver"], Text,
        "a kernel without CONFIG_CPU_IDLE",
        "how idle CPUs are put to sleep: in a virtual machine by leaving it, which costs a wakeup"),
    row("idle_governor", &["/sys/devices/system/cpu/cpuidle/current_governor",
                           "/sys/devices/system/cpu/cpuidle/current_governor_ro"], Text,
        "a kernel without CONFIG_CPU_IDLE",
        "decides how deeply an idle CPU sleeps; haltpoll spins for a while instead"),
    row("idle_states", &["/sys/devices/system/cpu/cpu*/cpuidle/state*/name"],
        Own(knob::idle_states),
        "no idle driver, as in most virtual machines",
        "each state with its exit latency, which a wakeup of an idle CPU pays (first CPU)"),
    row("hypervisor", &["/proc/cpuinfo"], Own(knob::hypervisor),
        "",
        "in a virtual machine IPIs and idle exits cost more, and CPUs can be taken away"),
    row("mitigations", &["/sys/devices/system/cpu/vulnerabilities"], Own(knob::mitigations),
        "",
        "each makes system calls and context switches dearer: compare only what is alike"),
    // Time.
    row(CLOCKSOURCE, &["/sys/devices/system/clocksource/clocksource0/current_clocksource"], Text,
        "",
        "reading another clock than the CPU's own counter costs a microsecond and a system call"),
    row("counter_flags", &["/proc/cpuinfo"], Own(knob::counter_flags),
        "",
        "constant_tsc and nonstop_tsc: the counter keeps its pace over frequencies and idling"),
    row("timer_slack_ns", &["/proc/self/timerslack_ns"], Text,
        "",
        "how late sleeps of this process may end; workers that sleep set their own"),
    // What else may interfere.
    row("perf_event_paranoid", &["/proc/sys/kernel/perf_event_paranoid"], Text,
        "a kernel without CONFIG_PERF_EVENTS",
        "above 1, a user without CAP_PERFMON has no kernel counts; above 2, none at all"),
    row("loadavg", &["/proc/loadavg"], Text,
        "",
        "runnable threads over 1, 5 and 15 minutes: anything above 0 competes with the run"),
    row("cmdline", &["/proc/cmdline"], Text,
        "",
        "what the kernel was started with"),
    // Where this process stands.
    row("cgroup", &["/proc/self/cgroup"], OfCgroups(knob::cgroup),
        "",
        "CPU time is shared out between cgroups first, and between threads only within one"),
    row("cgroup_cpu_max", &["/proc/self/cgroup"], OfCgroups(knob::cgroup_cpu_max),
        "",
        "when this share of each period is used up, all threads stop: latencies near the period"),
    row("cgroup_cpuset", &["/proc/self/cgroup"], OfCgroups(knob::cgroup_cpuset),
        "",
        "the CPUs of the cgroup; a mask of its own can only narrow them"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::files::tests::fake;
    use std::collections::BTreeSet;

    #[test]
    fn rows_are_whole() {
        let keys: BTreeSet<&str> = ROWS.iter().map(|row| row.key).collect();
        assert_eq!(keys.len(), ROWS.len(), "a key comes twice");
        for row in ROWS {
            assert!(!row.from.is_empty() && !row.about.is_empty(), "{}", row.key);
            assert!(row.key.bytes().all(|b| b == b'_' || b.is_ascii_lowercase()), "{}", row.key);
        }
    }

    #[test]
    fn the_first_file_that_is_there_counts() {
        let old = "/proc/sys/kernel/sched_migration_cost_ns";
        let new = "/sys/kernel/debug/sched/migration_cost_ns";
        let check = |files: &[(&str, &str)], from: &str, expected: Option<&str>| {
            let dir = fake(files);
            let cgroups = Reading::absent(State::Absent, "there are none");
            let facts = read(&Root::new(dir.path()), &cgroups);
            let fact = facts.iter().find(|fact| fact.key == "migration_cost_ns").unwrap();
            let got = (fact.from.as_str(), fact.value.value().map(String::as_str));
            assert_eq!(got, (from, expected));
        };
        check(&[(old, "500000\n"), (new, "1\n")], new, Some("1"));
        check(&[(old, "500000\n")], old, Some("500000"));
        check(&[], new, None);
    }

    #[test]
    fn absence_says_what_it_means() {
        let dir = fake(&[]);
        let facts = read(&Root::new(dir.path()), &Reading::absent(State::Absent, "no /proc"));
        assert_eq!(facts.len(), ROWS.len());
        let reason = |key| facts.iter().find(|fact| fact.key == key).unwrap().value.reason();
        assert_eq!(
            reason("numa_balancing"),
            "there is no /proc/sys/kernel/numa_balancing: a kernel without CONFIG_NUMA_BALANCING"
        );
        assert_eq!(reason("cgroup"), "no /proc");
        assert!(facts.iter().all(|fact| fact.value.state() != State::Ok));
    }
}
