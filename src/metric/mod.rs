//! The numbers a run yields, one row each: key, unit, which way is better, what it is.
//!
//! A number without a row does not exist. Must not know: how a report is laid out, or how a number
//! is computed (`report::metrics`).

use crate::base::unit;

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Higher,
    Lower,
    /// It tells, it does not judge.
    Neither,
}

impl Better {
    /// What follows a number for people: `higher is better`; nothing where it does not judge.
    pub fn words(self) -> &'static str {
        match self {
            Better::Higher => "higher is better",
            Better::Lower => "lower is better",
            Better::Neither => "",
        }
    }
}

/// What there is one number of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The run.
    Run,
    /// Each measure block, by its name.
    Measure,
    /// Each team, by its name.
    Team,
}

/// What a metric is. In the key of one that is not of the run `*` is the name of what it is of.
pub struct Metric {
    pub key: &'static str,
    pub of: Of,
    /// As printed in JSON: `1/s`, `ns`, `s`, `1`.
    pub unit: &'static str,
    pub better: Better,
    pub about: &'static str,
}

const fn row(key: &'static str, unit: &'static str, better: Better, about: &'static str) -> Metric {
    Metric { key, of: Of::Run, unit, better, about }
}

impl Metric {
    const fn of(self, of: Of) -> Metric {
        Metric { of, ..self }
    }
}

use Better::{Higher, Lower, Neither};

/// All metrics, the results first.
pub const METRICS: &[Metric] = &[
    row("messages_per_s", "1/s", Higher, "messages received in the window, per second"),
    row(
        "memory_bytes_per_s",
        "B/s",
        Higher,
        "cache lines that sweep, touch and chase used in the window, in bytes per second of it",
    ),
    row(
        "copy_bytes_per_s",
        "B/s",
        Higher,
        "bytes that STREAM's copy moved, over the time each task was at it, summed over the tasks",
    ),
    row("scale_bytes_per_s", "B/s", Higher, "the same of STREAM's scale"),
    row("add_bytes_per_s", "B/s", Higher, "the same of STREAM's add"),
    row("triad_bytes_per_s", "B/s", Higher, "the same of STREAM's triad"),
    row(
        "flop_per_s",
        "flop/s",
        Higher,
        "floating point operations of `matrix` in the window, per second: 2 * 32^3 a product",
    ),
    row(
        "*s_per_s",
        "1/s",
        Higher,
        "measure blocks of that name ended in the window, per second (`round_trips_per_s`)",
    )
    .of(Of::Measure),
    row("*_ns_mean", "ns", Lower, "mean time that a measure block of that name took")
        .of(Of::Measure),
    row("*_ns_p50", "ns", Lower, "median time that a measure block of that name took")
        .of(Of::Measure),
    row("*_ns_p95", "ns", Lower, "time that 95 % of them did not exceed").of(Of::Measure),
    row(
        "*_ns_p99",
        "ns",
        Lower,
        "time that 99 % of the measure blocks of that name did not exceed",
    )
    .of(Of::Measure),
    row(
        "asks_per_s",
        "1/s",
        Higher,
        "who asked at a desk and was let go in the window, per second",
    ),
    row(
        "*s_at_once",
        "1",
        Neither,
        "measure blocks of that name under way at once, on average: the sum of their times over \
         the window (Little's law); of one from its arrival, requests that are not through it",
    )
    .of(Of::Measure),
    row("offered_per_s", "1/s", Neither, "requests that were to arrive, by the plan, per second"),
    row("arrivals_per_s", "1/s", Neither, "requests that arrived in the window, per second"),
    row(
        "arrival_lateness_ns_p999",
        "ns",
        Lower,
        "time by which 99.9 % of the arrivals at most were late: the generator's own",
    ),
    row(
        "round_lateness_ns_p99",
        "ns",
        Lower,
        "time by which 99 % of the rounds of `every` at most began late",
    ),
    row(
        "queued_most",
        "1",
        Neither,
        "the most messages that were on one channel when one was taken in the window, of all \
         channels, where something is measured from its arrival",
    ),
    row(
        "commits_per_s",
        "1/s",
        Higher,
        "commits that were flushed in the window, per second, a leader's own among them",
    ),
    row("lock_acquisitions_per_s", "1/s", Higher, "locks taken in the window, per second"),
    row("pauses_per_s", "1/s", Neither, "pauses of safepoints in the window, per second"),
    row(
        "pause_ns_p50",
        "ns",
        Lower,
        "median time from asking for a pause until all mutators were let go",
    ),
    row("pause_ns_p99", "ns", Lower, "the same, of 99 % of the pauses at most"),
    row(
        "barrier_rounds_per_s",
        "1/s",
        Higher,
        "rounds of barriers that were complete in the window, per second; of `neighbour`, passes",
    ),
    row(
        "barrier_wait_share",
        "1",
        Neither,
        "part of the time in the window of the teams that come to barriers that they waited there",
    ),
    row(
        "barrier_asleep_share",
        "1",
        Neither,
        "part of the passes of barriers in the window that slept; the others spun or came last",
    ),
    row(
        "elapsed_s",
        "s",
        Lower,
        "from opening the gate until the last task ended, where the work is fixed and not the time",
    ),
    row("wakeup_latency_ns_p50", "ns", Lower, "median wakeup latency over all teams"),
    row(
        "wakeup_latency_ns_p99",
        "ns",
        Lower,
        "wakeup latency that 99 % of the wakeups of all teams did not exceed",
    ),
    row(
        "wakeup_latency_ns_p999",
        "ns",
        Lower,
        "wakeup latency that 99.9 % of the wakeups of all teams did not exceed",
    ),
    row(
        "*_wakeup_latency_ns_p99",
        "ns",
        Lower,
        "wakeup latency that 99 % of that team's wakeups did not exceed",
    )
    .of(Of::Team),
    row(
        "cpu_ns_per_message",
        "ns",
        Lower,
        "user and system time from the gate to the end over messages received, whole run",
    ),
    row(
        "wakeups_per_s",
        "1/s",
        Neither,
        "waits in the window that really slept and were woken, per second",
    ),
    row(
        "found_ready_share",
        "1",
        Neither,
        "part of the messages received in the window that needed no wakeup",
    ),
    row(
        "*_asleep_share",
        "1",
        Neither,
        "part of the messages received by the team of that name, and of the times that it was let \
         go at a desk, that found it asleep",
    )
    .of(Of::Team),
    row(
        "*_active_share",
        "1",
        Neither,
        "part of the `active` blocks that tasks of the team of that name came to in the window \
         that they did",
    )
    .of(Of::Team),
    row(
        "*_runnable",
        "1",
        Neither,
        "tasks of the team of that name that ran or waited for a CPU, on average over the run",
    )
    .of(Of::Team),
    row("runnable", "1", Neither, "the same of all teams"),
    row(
        "*_runnable_unpaused",
        "1",
        Neither,
        "the same of that team over the time in which no safepoint held it: outside of pauses",
    )
    .of(Of::Team),
    row("busy_cpus", "1", Neither, "CPUs that tasks kept busy, on average over the run"),
    row(
        "cross_node_wakeup_share",
        "1",
        Neither,
        "part of the wakeups after which the task ran on another node than its waker",
    ),
    row(
        "pulled_node_share",
        "1",
        Neither,
        "part of the wakeups after which the task ran on its waker's node, and before on another",
    ),
    row("pulled_llc_share", "1", Neither, "the same of last-level caches"),
    row(
        "other_busy_cpus",
        "1",
        Neither,
        "CPUs that were busy with anything else, the kernel and this program among it, on average",
    ),
    row(
        "home_llc_share",
        "1",
        Neither,
        "part of its time that an instance was on the last-level cache where it was most; mean of \
         the instances",
    ),
    row(
        "migrations_per_s",
        "1/s",
        Neither,
        "CPU changes of tasks that they saw themselves in the window, per second",
    ),
    row(
        "returned_share",
        "1",
        Neither,
        "part of the migrations that took a task back, within 100 ms, to the CPU that it had left",
    ),
    row(
        "kernel_migrations",
        "1",
        Neither,
        "the kernel's count of the tasks' migrations (nr_migrations), whole run",
    ),
    row(
        "run_delay_ns_per_timeslice",
        "ns",
        Neither,
        "time runnable but not running, for each time a task was put on a CPU, whole run",
    ),
    row(
        "*_voluntary_switches",
        "1",
        Neither,
        "times that tasks of the team of that name gave up the CPU to wait, whole run",
    )
    .of(Of::Team),
    row(
        "*_involuntary_switches",
        "1",
        Neither,
        "times that tasks of the team of that name were preempted, whole run",
    )
    .of(Of::Team),
    row("voluntary_switches", "1", Neither, "times that tasks gave up the CPU to wait, whole run"),
    row("involuntary_switches", "1", Neither, "times that tasks were preempted, whole run"),
    row("user_s", "s", Neither, "user time from the gate to the end, of tasks and who made them"),
    row("sys_s", "s", Neither, "system time from the gate to the end, of tasks and who made them"),
    row("start_s", "s", Neither, "from creating the first task until all were ready"),
    row(
        "local_share",
        "1",
        Neither,
        "chance that a task and a page of its memory, its own or what its instance shares, were on \
         one node, over time; mean of the instances",
    ),
    row(
        "convergence_s",
        "s",
        Lower,
        "from opening the gate until tasks and memory of the last instance were together for good",
    ),
    row(
        "time_to_local_s",
        "s",
        Lower,
        "from a spawned worker's begin until its node had nearly all of its memory for good",
    ),
    row(
        "scan_passes",
        "1",
        Neither,
        "passes of the NUMA balancer over an address space (mm->numa_scan_seq), the least of the \
         instances",
    ),
    row(
        "numa_hint_faults",
        "1",
        Neither,
        "faults by which the kernel learns who uses a page, of the whole machine, whole run",
    ),
    row(
        "numa_hint_faults_local_share",
        "1",
        Neither,
        "part of these that found the page on the faulting CPU's node, of the whole machine; says \
         nothing with few of them",
    ),
    row(
        "numa_pages_migrated",
        "1",
        Neither,
        "base pages that NUMA balancing moved, of the whole machine, whole run",
    ),
    row(
        "numa_pte_updates",
        "1",
        Neither,
        "base pages that were marked for a hint fault, of the whole machine, whole run",
    ),
    row(
        "sampler_share",
        "1",
        Neither,
        "CPU time of looking where tasks and pages are, over the window on all allowed CPUs",
    ),
];

/// The row of a metric's key: its own, or else that of a block or team (`round_trips_per_s`), the
/// one that says most of it.
pub fn find(key: &str) -> Option<&'static Metric> {
    let own = METRICS.iter().find(|row| row.key == key);
    let of_others = METRICS.iter().filter(|row| row.name_in(key).is_some());
    own.or_else(|| of_others.max_by_key(|row| row.key.len()))
}

/// Every key there is of these measure blocks and teams, in the order of the rows.
pub fn keys<'a>(measures: &[&'a str], teams: &[&'a str]) -> Vec<(&'static Metric, &'a str)> {
    let each = |row: &'static Metric| {
        let names = match row.of {
            Of::Run => &[""],
            Of::Measure => measures,
            Of::Team => teams,
        };
        names.iter().map(move |name| (row, *name))
    };
    METRICS.iter().flat_map(each).collect()
}

impl Metric {
    /// The key for the block or team of that name; the row's own where it is of the run.
    pub fn key_for(&self, name: &str) -> String {
        match self.key.strip_prefix('*') {
            Some(rest) => format!("{name}{rest}"),
            None => self.key.to_owned(),
        }
    }

    /// The name of the block or team in `key`, if this row is that of such a metric.
    pub fn name_in<'a>(&self, key: &'a str) -> Option<&'a str> {
        let name = key.strip_suffix(self.key.strip_prefix('*')?)?;
        (!name.is_empty()).then_some(name)
    }
}

/// A value in the unit that JSON has, for people: `1.23 ms`, `4.56 k/s`, a share as `12.5 %`.
pub fn in_words(key: &str, value: f64, unit: &str) -> String {
    let per_second = |of: &str| {
        let count = unit::count(value);
        let space = if count.contains(' ') { "" } else { " " };
        format!("{count}{space}{of}")
    };
    match unit {
        "ns" => unit::time(value),
        "s" => unit::time(value * 1e9),
        "1/s" => per_second("/s"),
        "B/s" | "flop/s" => per_second(unit),
        "1" if key.ends_with("_share") => unit::percent(value),
        "1" => unit::count(value),
        other => format!("{value} {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_row_of_a_key() {
        let check = |key: &str, expected: Option<&str>| {
            assert_eq!(find(key).map(|row| row.key), expected, "of {key}");
        };
        check("messages_per_s", Some("messages_per_s"));
        check("wakeup_latency_ns_p99", Some("wakeup_latency_ns_p99"));
        check("round_trips_per_s", Some("*s_per_s"));
        check("round_trip_ns_p50", Some("*_ns_p50"));
        check("round_trips_at_once", Some("*s_at_once"));
        check("server_asleep_share", Some("*_asleep_share"));
        check("worker_wakeup_latency_ns_p99", Some("*_wakeup_latency_ns_p99"));
        check("runnable", Some("runnable"));
        check("s_per_s", None);
        check("speed", None);
    }

    #[test]
    fn keys_are_unique_and_rows_complete() {
        for (at, row) in METRICS.iter().enumerate() {
            assert!(!row.about.is_empty() && !row.unit.is_empty(), "{}", row.key);
            assert!(METRICS[..at].iter().all(|other| other.key != row.key));
            assert_eq!(row.name_in(&row.key_for("x")).is_some(), row.of != Of::Run);
        }
    }
}
