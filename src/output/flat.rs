//! One line `key: value` for each number, in a stable order, for grep and line-based harnesses.
//!
//! Keys are paths with dots (`run0.latency.wakeup.receiver.all.p99_ns`) and come once; what was not
//! measured is `null`. Must not know: units for people.

use crate::output::{Options, OutputError};
use crate::report::{
    Arrivals, InstanceBlocks, InstanceCounts, Latency, Migrations, Report, Run, Share, Sourced,
    SyncRow,
};
use std::collections::BTreeMap;
use std::fmt::Display;

pub(super) fn render(report: &Report, _: &Options) -> Result<String, OutputError> {
    let mut lines = Lines::default();
    lines.put("schema", report.schema);
    lines.put("tool", &report.tool);
    profile_and_host(&mut lines, report);
    for (key, summary) in &report.summary {
        let key = |part: &str| format!("summary.{key}.{part}");
        lines.put(key("n"), summary.n);
        lines.put(key("min"), summary.min);
        lines.put(key("mean"), summary.mean);
        lines.put(key("max"), summary.max);
        lines.known(key("cv"), summary.cv);
    }
    for run in &report.runs {
        lines.prefix = format!("run{}.", run.run);
        times_and_metrics(&mut lines, run);
        for row in &run.latency {
            latency(&mut lines, row);
        }
        run.instances.iter().for_each(|it| instance(&mut lines, it));
        for (number, row) in run.arrivals.iter().enumerate() {
            arrivals(&mut lines, number, row);
        }
        for row in &run.queues {
            lines.sourced(&format!("queues.{}.most", row.channel), &row.most);
        }
        counts(&mut lines, run);
        run.sync.iter().for_each(|row| sync(&mut lines, row));
        migrations(&mut lines, &run.migrations);
        memory_steps(&mut lines, run);
        residency(&mut lines, run);
        placement(&mut lines, run);
        trust(&mut lines, run);
    }
    Ok(lines.text)
}

#[derive(Default)]
struct Lines {
    prefix: String,
    text: String,
}

impl Lines {
    fn put(&mut self, key: impl AsRef<str>, value: impl Display) {
        // A line break in a value would begin a line without a key.
        let value = value.to_string().replace(['\n', '\r'], " ");
        self.text += &format!("{}{}: {value}\n", self.prefix, key.as_ref());
    }

    fn known(&mut self, key: impl AsRef<str>, value: Option<impl Display>) {
        match value {
            Some(value) => self.put(key, value),
            None => self.put(key, "null"),
        }
    }

    fn sourced(&mut self, key: &str, sourced: &Sourced) {
        self.known(key, sourced.value);
        self.put(format!("{key}.state"), &sourced.state);
    }
}

fn profile_and_host(lines: &mut Lines, report: &Report) {
    let (profile, host) = (&report.profile, &report.host);
    lines.put("profile.name", &profile.name);
    lines.put("profile.about", &profile.about);
    lines.put("profile.hash", &profile.hash);
    lines.put("profile.seed", profile.seed);
    lines.known("profile.primary", profile.primary.as_ref());
    for (name, value) in &profile.params {
        lines.put(format!("profile.params.{name}"), value);
    }
    lines.known("host.kernel", host.kernel.as_ref());
    lines.known("host.kernel_version", host.kernel_version.as_ref());
    lines.put("host.cpus", host.cpus);
    lines.put("host.cores", host.cores);
    lines.put("host.llcs", host.llcs);
    lines.put("host.nodes", host.nodes);
    lines.put("host.allowed", &host.allowed);
    for (key, value) in &host.knobs {
        lines.known(format!("host.knobs.{key}"), value.as_ref());
    }
}

fn times_and_metrics(lines: &mut Lines, run: &Run) {
    lines.put("end", &run.end);
    lines.known("end_detail", run.end_detail.as_ref());
    lines.put("elapsed_s", run.elapsed_s);
    lines.put("window_s", run.window_s);
    lines.known("user_s", run.user_s);
    lines.known("sys_s", run.sys_s);
    lines.put("start_s", run.start_s);
    lines.put("tasks", run.tasks);
    for (key, metric) in &run.metrics {
        lines.known(format!("metrics.{key}"), metric.value);
    }
}

fn latency(lines: &mut Lines, row: &Latency) {
    let moved = match row.moved {
        None => "",
        Some(false) => ".stayed",
        Some(true) => ".moved",
    };
    let path = format!("{}.{}.{}{moved}", row.series, row.team, row.relation);
    let unit = &row.unit;
    let key = |part: &str| format!("latency.{path}.{part}_{unit}");
    lines.put(format!("latency.{path}.count"), row.count);
    lines.known(key("min"), row.min);
    lines.known(key("p50"), row.p50);
    lines.known(key("p90"), row.p90);
    lines.known(key("p95"), row.p95);
    lines.known(key("p99"), row.p99);
    lines.known(key("p999"), row.p999);
    lines.known(key("max"), row.max);
    lines.known(key("mean"), row.mean);
}

fn instance(lines: &mut Lines, it: &InstanceBlocks) {
    let row = &it.time;
    let path = format!("instances.{}.{}", it.instance, it.measure);
    lines.put(format!("{path}.count"), row.count);
    lines.known(format!("{path}.per_s"), it.per_s);
    let times = [row.min, row.p50, row.p90, row.p99, row.p999, row.max];
    for (part, time) in ["min", "p50", "p90", "p99", "p999", "max"].into_iter().zip(times) {
        lines.known(format!("{path}.{part}_{}", row.unit), time);
    }
}

/// By number: the name of a step is no part of a path.
fn arrivals(lines: &mut Lines, number: usize, row: &Arrivals) {
    let key = |part: &str| format!("arrivals.{number}.{part}");
    lines.put(key("team"), &row.team);
    lines.put(key("at"), &row.at);
    lines.put(key("offered_per_s"), row.offered_per_s);
    lines.known(key("achieved_per_s"), row.achieved_per_s);
    lines.put(key("arrivals"), row.arrivals);
    lines.put(key("missed"), row.missed);
    lines.known(key("lateness_p50_ns"), row.lateness.p50);
    lines.known(key("lateness_p99_ns"), row.lateness.p99);
    lines.known(key("lateness_p999_ns"), row.lateness.p999);
    lines.known(key("lateness_max_ns"), row.lateness.max);
}

fn memory_steps(lines: &mut Lines, run: &Run) {
    for step in &run.memory_steps {
        let path = format!("memory_steps.{}.{}", step.team, step.step);
        let mut put = |key: &str, bytes: u64, bytes_per_s: Option<f64>| {
            lines.put(format!("{path}{key}.bytes"), bytes);
            lines.known(format!("{path}{key}.bytes_per_s"), bytes_per_s);
        };
        put("", step.bytes, step.bytes_per_s);
        for on in &step.by_node {
            put(&format!(".node{}", on.node), on.bytes, on.bytes_per_s);
        }
        for of in &step.by_task {
            put(&format!(".task{}", of.task), of.bytes, of.bytes_per_s);
        }
    }
}

fn sync(lines: &mut Lines, row: &SyncRow) {
    let key = |part: &str| format!("sync.{}.{}.{part}", row.name, row.team);
    lines.put(key("kind"), &row.kind);
    lines.put(key("passes"), row.passes);
    lines.put(key("spun"), row.spun);
    lines.put(key("slept"), row.slept);
    lines.put(key("unstamped"), row.unstamped);
    lines.known(key("wait_share"), row.wait_share);
    let own = [
        ("rounds", row.rounds),
        ("releases", row.releases),
        ("groups", row.groups),
        ("grouped", row.grouped),
        ("pauses", row.pauses),
    ];
    for (part, n) in own.into_iter().filter(|(_, n)| n.is_some()) {
        lines.known(key(part), n);
    }
    let times = [row.min, row.p50, row.p90, row.p95, row.p99, row.p999, row.max];
    let parts = ["min", "p50", "p90", "p95", "p99", "p999", "max"];
    for (part, time) in parts.into_iter().zip(times) {
        lines.known(key(&format!("wait_{part}_{}", row.unit)), time);
    }
    lines.known(key(&format!("wait_mean_{}", row.unit)), row.mean);
}

fn counts(lines: &mut Lines, run: &Run) {
    let (messages, kernel) = (&run.messages, &run.kernel);
    lines.put("messages.sent", messages.sent);
    lines.put("messages.received", messages.received);
    lines.put("messages.sent_window", messages.sent_window);
    lines.put("messages.received_window", messages.received_window);
    lines.put("messages.wakeups", messages.wakeups);
    lines.put("found_ready", run.found_ready);
    lines.sourced("kernel.voluntary_switches", &kernel.voluntary_switches);
    lines.sourced("kernel.involuntary_switches", &kernel.involuntary_switches);
    lines.sourced("kernel.run_ns", &kernel.run_ns);
    lines.sourced("kernel.run_delay_ns", &kernel.run_delay_ns);
    lines.sourced("kernel.timeslices", &kernel.timeslices);
}

fn migrations(lines: &mut Lines, all: &Migrations) {
    lines.put("migrations.total", all.total);
    for (name, total, by_distance) in [
        ("across_sleep", all.across_sleep, &all.across_sleep_by_distance),
        ("while_running", all.while_running, &all.while_running_by_distance),
    ] {
        lines.put(format!("migrations.{name}"), total);
        for (distance, n) in by_distance {
            lines.put(format!("migrations.{name}.{distance}"), n);
        }
    }
    for (distance, n) in &all.by_distance {
        lines.put(format!("migrations.by_distance.{distance}"), n);
    }
    lines.put("migrations.returned_10ms", all.returned_10ms);
    lines.put("migrations.returned_100ms", all.returned_100ms);
    lines.put("migrations.pulled_llc", all.pulled_llc);
    lines.put("migrations.pulled_node", all.pulled_node);
    lines.sourced("migrations.kernel", &all.kernel);
    lines.sourced("migrations.by_cause", &all.by_cause);
}

fn residency(lines: &mut Lines, run: &Run) {
    for instance in &run.residency.instances {
        let path = format!("residency.instance{}", instance.instance);
        for node in &instance.cpu {
            lines.put(format!("{path}.cpu.node{}", node.node), node.share);
        }
        for llc in &instance.llcs {
            lines.put(format!("{path}.llc.{}", llc.name), llc.share);
        }
        for region in &instance.memory {
            let key = format!("{path}.memory.{}.node{}", region.region, region.node);
            lines.known(key, region.share);
        }
        instance.counts.iter().for_each(|it| instance_counts(lines, &path, it));
    }
    let mut of = |what: &str, all: &[Share]| {
        for one in all {
            let key = format!("residency.{what}.{}", one.name);
            lines.known(format!("{key}.busy"), one.busy);
            lines.put(key, one.share);
        }
    };
    of("node", &run.residency.nodes);
    of("llc", &run.residency.llcs);
    of("cpu", &run.residency.cpus);
}

fn instance_counts(lines: &mut Lines, path: &str, it: &InstanceCounts) {
    for (key, n) in [
        ("wakeups", it.wakeups),
        ("cross_node_wakeups", it.cross_node_wakeups),
        ("pulled_llc", it.pulled_llc),
        ("pulled_node", it.pulled_node),
        ("migrations", it.migrations),
        ("returned_10ms", it.returned_10ms),
        ("returned_100ms", it.returned_100ms),
    ] {
        lines.put(format!("{path}.{key}"), n);
    }
    for (key, share) in [
        ("cross_node_wakeup_share", &it.cross_node_wakeup_share),
        ("pulled_llc_share", &it.pulled_llc_share),
        ("pulled_node_share", &it.pulled_node_share),
        ("returned_share", &it.returned_share),
    ] {
        lines.known(format!("{path}.{key}"), share.value);
    }
}

/// The timeline itself is for JSON: it would be a line for each look and node.
fn placement(lines: &mut Lines, run: &Run) {
    for it in &run.placement {
        let path = format!("placement.instance{}", it.instance);
        lines.known(format!("{path}.signal"), it.signal);
        if let Some(process) = &it.killed_process {
            lines.put(format!("{path}.killed_process"), process);
        }
        lines.known(format!("{path}.local_share"), it.local_share.value);
        lines.known(format!("{path}.convergence_s"), it.convergence_s.value);
        lines.known(format!("{path}.scan_passes"), it.scan_passes.value);
    }
    for it in &run.numa {
        let path = format!("numa.{}", it.team);
        lines.sourced(&format!("{path}.faults"), &it.faults);
        for preferred in &it.preferred {
            let node = preferred.node.map_or("none".to_owned(), |node| node.to_string());
            lines.put(format!("{path}.preferred.{node}"), preferred.tasks);
        }
    }
    for it in &run.cgroups {
        let path = format!("cgroup.instance{}", it.instance);
        for (key, counter) in &it.counters {
            lines.sourced(&format!("{path}.{key}"), counter);
        }
        for (when, anon) in ["start", "end"].into_iter().zip(&it.anon) {
            lines.put(format!("{path}.anon.{when}.state"), &anon.state);
            for node in &anon.nodes {
                lines.put(format!("{path}.anon.{when}.node{}", node.node), node.bytes);
            }
        }
    }
    if let Some(trial) = &run.trial {
        lines.put("trial.team", &trial.team);
        lines.put("trial.region", &trial.region);
        lines.put("trial.start", &trial.start);
        lines.put("trial.outcome", &trial.outcome);
        lines.known("trial.begun_s", trial.begun_s);
        let ends = trial.worker_nodes.iter().zip(&trial.memory_nodes);
        for (when, (worker, memory)) in ["start", "end"].into_iter().zip(ends) {
            lines.known(format!("trial.worker_node.{when}"), *worker);
            lines.known(format!("trial.memory_node.{when}"), *memory);
        }
        lines.put("trial.worker_changes", trial.worker_changes);
        lines.put("trial.memory_changes", trial.memory_changes);
        lines.known("trial.time_to_local_s", trial.time_to_local_s.value);
        lines.known("trial.moved_share", trial.moved_share);
        lines.known("trial.moved_bytes", trial.moved_bytes);
    }
}

fn trust(lines: &mut Lines, run: &Run) {
    for source in &run.sources {
        lines.put(format!("sources.{}", source.name), &source.state);
    }
    lines.put("harness.clock", &run.harness.clock);
    lines.put("harness.clock_ns", run.harness.clock_ns);
    lines.put("harness.stamp_ns", run.harness.stamp_ns);
    lines.put("harness.record_ns", run.harness.record_ns);
    lines.known("harness.share", run.harness.share);
    for check in &run.checks {
        let word = if check.ok { "ok" } else { "broken" };
        lines.put(format!("checks.{}", check.name), word);
    }
    for law in &run.unchecked {
        lines.put(format!("checks.{}", law.name), "untested");
    }
    let mut caveats: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for caveat in &run.caveats {
        caveats.entry(&caveat.id).or_default().push(&caveat.text);
    }
    for (id, texts) in caveats {
        lines.put(format!("caveats.{id}"), texts.join("; "));
    }
}
