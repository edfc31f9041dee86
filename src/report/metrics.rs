//! The value of every row of `metric::METRICS`, or the reason why there is none.
//!
//! Must not know: how metrics are printed or compared.

use crate::base::Reading;
use crate::metric::{Metric as Row, Of};
use crate::plan::Op;
use crate::record::memory::Moved;
use crate::record::recording::{CpuTime, End, SeriesKind, TaskRecord};
use crate::report::histogram::{Histogram, P50, P95, P99, P999};
use crate::report::judge::{Case, seconds};
use crate::report::sources::Kernel;
use crate::report::{
    InstancePlacement, Judged, Metric, NO_ACTIVE, NO_ARRIVALS, NO_BLOCK, NO_FLOPS, NO_MEMORY,
    NO_MESSAGES, NO_RECEIVER, NO_SUCH_STEP, NO_TRIAL, Sourced, arrivals, asleep, latency,
    memory_steps, placement, queues, sync, sync_metrics,
};
use std::collections::BTreeMap;

/// A number, or why it could not be had.
pub(super) type Value = Result<f64, String>;

/// Why there is no share or rate of a window of no length.
pub(super) const NO_WINDOW: &str = "the measured window has no length";

pub(super) fn all(case: &Case<'_>) -> BTreeMap<String, Metric> {
    let wakeups =
        latency::merged(case.recording, |series| matches!(series.kind, SeriesKind::Wakeup { .. }));
    let value = |row: &Row, name: &str| match row.of {
        Of::Run => own(row.key, case, &wakeups),
        Of::Measure => of_measure(row.key, name, case),
        Of::Team => of_team(row.key, name, case),
    };
    let mut keys = case.plan.metrics();
    // A block or team of an unlucky name does not shadow a metric of our own.
    keys.sort_by_key(|(row, _)| row.of == Of::Run);
    let metrics = keys.into_iter();
    metrics.map(|(row, name)| (row.key_for(name), metric(row, value(row, name)))).collect()
}

fn metric(row: &Row, value: Value) -> Metric {
    let (value, reason) = match value {
        Ok(value) => (Some(value), None),
        Err(reason) => (None, Some(reason)),
    };
    Metric { value, unit: row.unit.to_owned(), better: row.better, reason }
}

fn own(key: &str, case: &Case<'_>, wakeups: &Histogram) -> Value {
    let recording = case.recording;
    let messages = &case.messages;
    let totals = &case.kernel.totals;
    match key {
        "messages_per_s" => receives(case).and_then(|()| per_s(messages.received_window, case)),
        "memory_bytes_per_s" => accesses(case),
        "copy_bytes_per_s" => stream(case, Moved::Copy),
        "scale_bytes_per_s" => stream(case, Moved::Scale),
        "add_bytes_per_s" => stream(case, Moved::Add),
        "triad_bytes_per_s" => stream(case, Moved::Triad),
        "flop_per_s" => flops(case),
        "wakeups_per_s" => waits(case).and_then(|()| per_s(wakeups.count(), case)),
        "migrations_per_s" => per_s(case.migrations.total, case),
        "offered_per_s" | "arrivals_per_s" | "arrival_lateness_ns_p999" => of_arrivals(key, case),
        "round_lateness_ns_p99" => round_lateness(case),
        "queued_most" => queues::most(case),
        "elapsed_s" => elapsed(case),
        "wakeup_latency_ns_p50" => waits(case).and_then(|()| percentile(wakeups, P50, "wakeup")),
        "wakeup_latency_ns_p99" => waits(case).and_then(|()| percentile(wakeups, P99, "wakeup")),
        "wakeup_latency_ns_p999" => waits(case).and_then(|()| percentile(wakeups, P999, "wakeup")),
        "cpu_ns_per_message" => receives(case).and_then(|()| cpu_per_message(case)),
        "found_ready_share" => receives(case).and_then(|()| {
            ratio(
                case.found_ready as f64,
                messages.received_window,
                "no message was received in the window",
            )
        }),
        "cross_node_wakeup_share" => case.counts.cross_node(case),
        "pulled_node_share" => case.counts.pulled_node(case),
        "pulled_llc_share" => case.counts.pulled_llc(case),
        "returned_share" => case.counts.returned(),
        "runnable" => runnable(case, &case.kernel),
        "busy_cpus" => busy(case, &case.kernel),
        "other_busy_cpus" => placement::other_busy_cpus(case, busy(case, &case.kernel)?),
        "home_llc_share" => placement::home_llc_share(case),
        "kernel_migrations" => kernel(&case.kernel.migrations),
        "run_delay_ns_per_timeslice" => {
            kernel(&totals.timeslices)?;
            let timeslices = totals.timeslices.value.unwrap_or_default();
            let delay = kernel(&totals.run_delay_ns)?;
            ratio(delay, timeslices, "no task was ever put on a CPU")
        }
        "voluntary_switches" => kernel(&totals.voluntary_switches),
        "involuntary_switches" => kernel(&totals.involuntary_switches),
        "user_s" => Ok(seconds(cpu(case)?.user_ns)),
        "sys_s" => Ok(seconds(cpu(case)?.sys_ns)),
        "start_s" => Ok(seconds(recording.start_ns)),
        _ => sync_metrics::of(key, case).unwrap_or_else(|| of_memory(key, case)),
    }
}

fn of_memory(key: &str, case: &Case<'_>) -> Value {
    if case.plan.memory.is_empty() {
        return Err(NO_MEMORY.to_owned());
    }
    match key {
        "local_share" => {
            let shares = living(case, |it| &it.local_share)?;
            Ok(shares.iter().sum::<f64>() / shares.len() as f64)
        }
        "convergence_s" => {
            Ok(living(case, |it| &it.convergence_s)?.into_iter().fold(0.0, f64::max))
        }
        "time_to_local_s" => match &case.trial {
            Some(trial) => trial.time_to_local_s.result(),
            None => Err(NO_TRIAL.to_owned()),
        },
        "scan_passes" => {
            Ok(living(case, |it| &it.scan_passes)?.into_iter().fold(f64::INFINITY, f64::min))
        }
        "numa_hint_faults" | "numa_pages_migrated" | "numa_pte_updates" => growth(case, key),
        "numa_hint_faults_local_share" => {
            let faults = growth(case, "numa_hint_faults")?;
            let local = growth(case, "numa_hint_faults_local")?;
            match faults > 0.0 {
                true => Ok(local / faults),
                false => Err("n/a: there was no hint fault".to_owned()),
            }
        }
        "sampler_share" => sampler_share(case),
        _ => Err("this version does not compute it".to_owned()),
    }
}

/// A number of each instance that nobody killed; one without it leaves the run without.
fn living(case: &Case<'_>, of: fn(&InstancePlacement) -> &Judged) -> Result<Vec<f64>, String> {
    let living: Vec<_> = case.placement.iter().filter(|it| it.signal.is_none()).collect();
    if living.is_empty() {
        return Err("every instance was killed".to_owned());
    }
    let value = |it: &&InstancePlacement| {
        of(it).result().map_err(|reason| match case.placement.len() {
            1 => reason,
            _ => format!("instance {}: {reason}", it.instance),
        })
    };
    living.iter().map(value).collect()
}

/// By how much a counter of the machine grew.
fn growth(case: &Case<'_>, key: &str) -> Value {
    let growth = case.recording.vmstat.iter().find(|growth| growth.key == key);
    let growth = growth.ok_or_else(|| format!("{key} was not read from /proc/vmstat"))?;
    match &growth.value {
        Reading::Value(value) => Ok(*value as f64),
        Reading::Absent(absence) => Err(format!("{}: {}", absence.state, absence.reason)),
    }
}

/// Over the time that all allowed CPUs had in the window.
pub(super) fn sampler_share(case: &Case<'_>) -> Value {
    let cpus = case.allowed().count() as f64;
    let had_ns = case.recording.window_ns as f64 * cpus;
    let timeline = &case.recording.timeline;
    match (timeline.samples.is_empty(), had_ns > 0.0) {
        (true, _) => Err("nobody looked where tasks and pages were".to_owned()),
        (_, false) => Err(NO_WINDOW.to_owned()),
        _ => Ok(timeline.cost_ns as f64 / had_ns),
    }
}

fn of_measure(key: &str, name: &str, case: &Case<'_>) -> Value {
    if !case.plan.is_measured(name) {
        return Err(NO_BLOCK.to_owned());
    }
    let histogram =
        latency::merged(case.recording, |series| latency::is_measure(&series.kind, name));
    match key {
        "*s_per_s" => per_s(histogram.count(), case),
        "*s_at_once" => ratio(histogram.sum() as f64, case.recording.window_ns, NO_WINDOW),
        "*_ns_mean" => histogram.mean().ok_or_else(|| none_recorded(name)),
        "*_ns_p50" => percentile(&histogram, P50, name),
        "*_ns_p95" => percentile(&histogram, P95, name),
        "*_ns_p99" => percentile(&histogram, P99, name),
        _ => Err("this version does not compute it".to_owned()),
    }
}

fn of_team(key: &str, name: &str, case: &Case<'_>) -> Value {
    let teams = &case.plan.teams;
    let team = teams.iter().position(|team| team.name == name).ok_or("there is no such team")?;
    let of_kernel = || Kernel::of_team(&case.recording.tasks, team);
    match key {
        "*_asleep_share" => asleep::share(case, team),
        "*_wakeup_latency_ns_p99" => team_wakeups(case, team),
        "*_runnable" => runnable(case, &of_kernel()),
        "*_voluntary_switches" => kernel(&of_kernel().totals.voluntary_switches),
        "*_involuntary_switches" => kernel(&of_kernel().totals.involuntary_switches),
        "*_active_share" => {
            if !teams[team].ops.iter().any(Op::is_for_a_part) {
                return Err(NO_ACTIVE.to_owned());
            }
            let tasks = case.recording.tasks.iter().filter(|task| task.team == team);
            let [out, active] = tasks
                .fold([0, 0], |[out, active], task| [out + task.draws[0], active + task.draws[1]]);
            ratio(active as f64, out + active, "nobody came to such a block in the window")
        }
        "*_runnable_unpaused" => {
            let held = sync::held_share(case, team)?;
            let runnable = runnable(case, &of_kernel())?;
            match held < 1.0 {
                true => Ok(runnable / (1.0 - held)),
                false => Err("its tasks were held all the time".to_owned()),
            }
        }
        _ => Err("this version does not compute it".to_owned()),
    }
}

/// How long the wakeups of one team took. One that waits at sync objects alone need not have any.
fn team_wakeups(case: &Case<'_>, team: usize) -> Value {
    let is_wakeup = |kind: &SeriesKind| matches!(kind, SeriesKind::Wakeup { .. });
    let wakeups = latency::of_team(case.recording, team, is_wakeup);
    match wakeups.count() == 0 && !case.plan.teams[team].receives {
        true => Err(NO_MESSAGES.to_owned()),
        false => percentile(&wakeups, P99, "wakeup"),
    }
}

/// Time on a CPU once they were ready, over the time since the gate opened.
fn busy(case: &Case<'_>, of: &Kernel) -> Value {
    let run_ns = kernel(&of.totals.run_ns)? - of.ready_ns as f64;
    ratio(run_ns.max(0.0), case.recording.elapsed_ns, "the run has no length")
}

/// The same with the time of waiting for one.
fn runnable(case: &Case<'_>, of: &Kernel) -> Value {
    let delay_ns = kernel(&of.totals.run_delay_ns)? - of.ready_delay_ns as f64;
    let delayed = ratio(delay_ns.max(0.0), case.recording.elapsed_ns, "the run has no length")?;
    Ok(busy(case, of)? + delayed)
}

fn receives(case: &Case<'_>) -> Result<(), String> {
    let any = case.plan.teams.iter().any(|team| team.receives);
    any.then_some(()).ok_or(NO_RECEIVER.to_owned())
}

/// Whether a task can be woken at all, by a message or at a sync object.
fn waits(case: &Case<'_>) -> Result<(), String> {
    if case.plan.syncs.is_empty() { receives(case) } else { Ok(()) }
}

/// Bytes of all tasks' accesses per second of the window.
fn accesses(case: &Case<'_>) -> Result<f64, String> {
    let of_task = |task: &TaskRecord| task.moved[Moved::Accesses as usize].bytes;
    let bytes: u64 = case.recording.tasks.iter().map(of_task).sum();
    match bytes {
        0 => Err(NO_SUCH_STEP.to_owned()),
        _ => per_s(bytes, case),
    }
}

/// The tasks' bandwidths at one of STREAM's kernels, summed.
fn stream(case: &Case<'_>, kernel: Moved) -> Result<f64, String> {
    let tasks = case.recording.tasks.iter();
    let rates: Vec<f64> =
        tasks.filter_map(|task| memory_steps::bytes_per_s(task, kernel)).collect();
    match rates.is_empty() {
        true => Err(NO_SUCH_STEP.to_owned()),
        false => Ok(rates.iter().sum()),
    }
}

fn flops(case: &Case<'_>) -> Value {
    let mut work = case.plan.teams.iter().flat_map(|team| &team.ops).filter_map(Op::work);
    match work.any(|kind| kind.flops > 0) {
        true => per_s(case.recording.tasks.iter().map(|task| task.flops).sum(), case),
        false => Err(NO_FLOPS.to_owned()),
    }
}

pub(super) fn per_s(count: u64, case: &Case<'_>) -> Value {
    match case.recording.window_ns {
        0 => Err(NO_WINDOW.to_owned()),
        _ => Ok(count as f64 / case.window_s()),
    }
}

/// Where the time is fixed, or the work was not all done, the elapsed time is no result.
fn elapsed(case: &Case<'_>) -> Value {
    match &case.recording.end {
        End::Interrupted(_) | End::Failed(_) | End::LeaderGone(_) | End::Stalled(_) => {
            Err("the run ended before its work was done".to_owned())
        }
        _ if case.plan.duration_ns.is_some() => {
            Err("the length of the run is given, not measured".to_owned())
        }
        End::Done | End::TimeUp => Ok(seconds(case.recording.elapsed_ns)),
    }
}

/// Of all blocks at which requests arrive, open and closed.
fn of_arrivals(key: &str, case: &Case<'_>) -> Value {
    let found = arrivals::requests(case.plan, case.recording).ok_or(NO_ARRIVALS.to_owned())?;
    match key {
        "offered_per_s" => Ok(found.offered_per_s),
        "arrivals_per_s" => per_s(found.lateness.count(), case),
        _ => percentile(&found.lateness, P999, "arrival"),
    }
}

/// Of all periodic blocks.
fn round_lateness(case: &Case<'_>) -> Value {
    let found = arrivals::periodic(case.plan, case.recording);
    let found = found.ok_or(arrivals::NO_ROUNDS.to_owned())?;
    percentile(&found.lateness, P99, "periodic round")
}

pub(super) fn percentile(histogram: &Histogram, p: u64, what: &str) -> Value {
    let value = histogram.percentile(p).map(|ns| ns as f64);
    value.ok_or_else(|| none_recorded(what))
}

fn none_recorded(what: &str) -> String {
    format!("no {what} was recorded in the window")
}

fn cpu(case: &Case<'_>) -> Result<CpuTime, String> {
    match &case.recording.cpu {
        Reading::Value(cpu) => Ok(*cpu),
        Reading::Absent(absence) => Err(format!("{}: {}", absence.state, absence.reason)),
    }
}

fn cpu_per_message(case: &Case<'_>) -> Value {
    if case.n_missing() > 0 {
        return Err(format!(
            "{} tasks did not check out, so not all messages are counted",
            case.n_missing()
        ));
    }
    let cpu_ns = cpu(case)?.total_ns();
    if cpu_ns == 0 {
        return Err("the kernel accounted no CPU time to the tasks".to_owned());
    }
    ratio(cpu_ns as f64, case.messages.received, "no message was received")
}

pub(super) fn ratio(value: f64, count: u64, without: &str) -> Value {
    match count {
        0 => Err(without.to_owned()),
        _ => Ok(value / count as f64),
    }
}

/// Only a sum over all tasks is a metric: one over some of them would pass for a small one.
fn kernel(sourced: &Sourced) -> Value {
    match (sourced.value, sourced.reason.as_deref()) {
        (Some(value), None) => Ok(value as f64),
        (Some(_), Some(limit)) => Err(format!("only the sum {limit} is known")),
        (None, reason) => Err(format!("{}: {}", sourced.state, reason.unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric;
    use crate::plan::Plan;
    use crate::record::Recording;
    use crate::report::fixture_memory as made;
    use crate::report::{Report, fixture};

    #[test]
    fn runnable_is_since_the_gate() {
        let runnable = |change: fn(&mut TaskRecord)| {
            let mut recording = fixture::recording();
            recording.tasks.iter_mut().for_each(change);
            let report = Report::judge(&fixture::plan(), &fixture::host(), &[recording]);
            report.runs[0].metrics["runnable"].value.unwrap()
        };
        let now = runnable(|_| {});
        assert!((runnable(|task| longer(task, 5_000_000_000)) - now).abs() < 1e-9);
        assert!(runnable(|task| longer(task, 0)) > now + 0.1);
    }

    /// Another five seconds of waiting for a CPU, so many of them before it was ready.
    fn longer(task: &mut TaskRecord, before_ns: u64) {
        let delay = task.kernel.run_delay_ns.value().copied().unwrap_or(0);
        task.kernel.run_delay_ns = crate::base::Reading::Value(delay + 5_000_000_000);
        task.ready_delay_ns = before_ns;
    }

    #[test]
    fn every_row_is_computed_or_says_why_not() {
        let recordings =
            [fixture::recording(), fixture::empty(), fixture::failed(), fixture::interrupted()];
        let report = Report::judge(&fixture::plan(), &fixture::host(), &recordings);
        let mut with_memory = made::two_instances_plan();
        with_memory.teams[0].measures = vec!["round_trip".to_owned()];
        let recordings = [made::two_instances(), made::all_absent(), made::one_killed()];
        let keys_of = |plan: &Plan| -> Vec<String> {
            plan.metrics().iter().map(|(row, name)| row.key_for(name)).collect()
        };
        let keys = [keys_of(&fixture::plan()), keys_of(&with_memory)];
        let with_memory = Report::judge(&with_memory, &fixture::host(), &recordings);
        for (report, keys) in [&report, &with_memory].into_iter().zip(&keys) {
            for (run, key) in
                report.runs.iter().flat_map(|run| keys.iter().map(move |it| (run, it)))
            {
                let metric = &run.metrics[key];
                assert_ne!(metric.value.is_some(), metric.reason.is_some(), "{key}");
                let reason = metric.reason.as_deref().unwrap_or_default();
                assert!(!reason.contains("this version"), "{key} has no arm");
                assert!(metric::find(key).is_some(), "{key} has no row");
            }
        }
    }

    /// The value of a metric of a run of two instances, to a millionth, or its reason.
    fn of(key: &str, change: impl FnOnce(&mut Recording)) -> Result<f64, String> {
        let mut recording = made::two_instances();
        change(&mut recording);
        let report = Report::judge(&made::two_instances_plan(), &fixture::host(), &[recording]);
        let metric = &report.runs[0].metrics[key];
        let value = metric.value.map(|value| (value * 1e6).round() / 1e6);
        value.ok_or_else(|| metric.reason.clone().unwrap())
    }

    #[test]
    fn metrics_of_memory() {
        let check = |key: &str, change: fn(&mut Recording), expected: Result<f64, &str>| {
            let got = of(key, change);
            match (&got, expected) {
                (Ok(got), Ok(expected)) => assert_eq!(*got, expected, "{key}"),
                (Err(got), Err(expected)) => assert!(got.contains(expected), "{key}: {got}"),
                _ => panic!("{key}: {got:?}, not {expected:?}"),
            }
        };
        let same = |_: &mut Recording| ();
        check("scan_passes", same, Ok(6.0));
        check("time_to_local_s", same, Err(NO_TRIAL));
        check("numa_hint_faults", same, Ok(70_000.0));
        check("numa_hint_faults_local_share", same, Ok(0.75));
        check("numa_pages_migrated", same, Ok(65_536.0));
        check("numa_pte_updates", same, Ok(1_100_000.0));
        // 4 ms of 12 s on 8 CPUs.
        check("sampler_share", same, Ok(0.000_042));
        // The later of both instances: the first was together when its tasks were at 1.6 s.
        check("convergence_s", same, Ok(6.6));
        let faultless = |run: &mut Recording| {
            for growth in &mut run.vmstat {
                growth.value = Reading::Value(0);
            }
        };
        check("numa_hint_faults", faultless, Ok(0.0));
        check("numa_hint_faults_local_share", faultless, Err("n/a"));
        check("numa_pte_updates", |run| run.vmstat.clear(), Err("was not read"));
        let apart = |run: &mut Recording| {
            for sample in &mut run.timeline.samples {
                sample.instances[1].tasks = vec![2, 0];
            }
        };
        check("convergence_s", apart, Err("instance 1: never"));
        // Of those that are left.
        let killed = |run: &mut Recording| run.spaces[1].signal = Some(9);
        check("scan_passes", killed, Ok(7.0));
        check("convergence_s", killed, Ok(1.6));
        let all_killed =
            |run: &mut Recording| run.spaces.iter_mut().for_each(|it| it.signal = Some(9));
        check("scan_passes", all_killed, Err("every instance was killed"));
    }
}
