//! The value of every row of `metric::METRICS`, or the reason why there is none.
//!
//! Must not know: how metrics are printed or compared.

use crate::metric::{METRICS, Metric as Row};
use crate::record::recording::{End, SeriesKind};
use crate::report::histogram::{Histogram, P50, P99, P999};
use crate::report::judge::{Case, seconds};
use crate::report::{Metric, Sourced, latency};
use std::collections::BTreeMap;

/// A number, or why it could not be had.
type Value = Result<f64, String>;

pub(super) fn all(case: &Case<'_>) -> BTreeMap<String, Metric> {
    let mut measures: Vec<&str> = Vec::new();
    for name in case.plan.teams.iter().flat_map(|team| &team.measures) {
        if !measures.contains(&name.as_str()) {
            measures.push(name);
        }
    }
    let wakeups =
        latency::merged(case.recording, |series| matches!(series.kind, SeriesKind::Wakeup { .. }));
    let mut metrics = BTreeMap::new();
    for row in METRICS.iter().filter(|row| row.of_measure()) {
        for name in &measures {
            metrics.insert(row.key_for(name), metric(row, of_measure(row.key, name, case)));
        }
    }
    // A measure block of an unlucky name does not shadow a metric of our own.
    for row in METRICS.iter().filter(|row| !row.of_measure()) {
        let value = own(row.key, case, &wakeups);
        metrics.insert(row.key.to_owned(), metric(row, value));
    }
    metrics
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
        "wakeups_per_s" => receives(case).and_then(|()| per_s(messages.wakeups, case)),
        "migrations_per_s" => per_s(case.migrations.total, case),
        "elapsed_s" => elapsed(case),
        "wakeup_latency_ns_p50" => percentile(wakeups, P50, "wakeup"),
        "wakeup_latency_ns_p99" => percentile(wakeups, P99, "wakeup"),
        "wakeup_latency_ns_p999" => percentile(wakeups, P999, "wakeup"),
        "cpu_ns_per_message" => cpu_per_message(case),
        "found_ready_share" => ratio(
            case.found_ready as f64,
            messages.received_window,
            "no message was received in the window",
        ),
        "kernel_migrations" => kernel(&case.kernel.migrations),
        "run_delay_ns_per_timeslice" => {
            kernel(&totals.timeslices)?;
            let timeslices = totals.timeslices.value.unwrap_or_default();
            let delay = kernel(&totals.run_delay_ns)?;
            ratio(delay, timeslices, "no task was ever put on a CPU")
        }
        "voluntary_switches" => kernel(&totals.voluntary_switches),
        "involuntary_switches" => kernel(&totals.involuntary_switches),
        "user_s" => Ok(seconds(recording.user_ns)),
        "sys_s" => Ok(seconds(recording.sys_ns)),
        "start_s" => Ok(seconds(recording.start_ns)),
        _ => Err("this version does not compute it".to_owned()),
    }
}

fn of_measure(key: &str, name: &str, case: &Case<'_>) -> Value {
    let histogram = latency::merged(
        case.recording,
        |series| matches!(&series.kind, SeriesKind::Measure(measure) if measure == name),
    );
    match key {
        "*s_per_s" => per_s(histogram.count(), case),
        "*_ns_p50" => percentile(&histogram, P50, name),
        "*_ns_p99" => percentile(&histogram, P99, name),
        _ => Err("this version does not compute it".to_owned()),
    }
}

fn receives(case: &Case<'_>) -> Result<(), String> {
    let any = case.plan.teams.iter().any(|team| team.receives);
    any.then_some(()).ok_or("no team of this profile receives messages".to_owned())
}

fn per_s(count: u64, case: &Case<'_>) -> Value {
    match case.recording.window_ns {
        0 => Err("the measured window has no length".to_owned()),
        _ => Ok(count as f64 / case.window_s()),
    }
}

/// Where the time is fixed, or the work was not all done, the elapsed time is no result.
fn elapsed(case: &Case<'_>) -> Value {
    match &case.recording.end {
        End::Interrupted(_) | End::Failed(_) => {
            Err("the run ended before its work was done".to_owned())
        }
        _ if case.plan.duration_ns.is_some() => {
            Err("the length of the run is given, not measured".to_owned())
        }
        End::Done | End::TimeUp => Ok(seconds(case.recording.elapsed_ns)),
    }
}

fn percentile(histogram: &Histogram, p: u64, what: &str) -> Value {
    let value = histogram.percentile(p).map(|ns| ns as f64);
    value.ok_or_else(|| format!("no {what} was recorded in the window"))
}

fn cpu_per_message(case: &Case<'_>) -> Value {
    if case.n_missing() > 0 {
        return Err(format!(
            "{} tasks did not check out, so not all messages are counted",
            case.n_missing()
        ));
    }
    let cpu_ns = case.recording.user_ns + case.recording.sys_ns;
    if cpu_ns == 0 {
        return Err("the kernel accounted no CPU time to the tasks".to_owned());
    }
    ratio(cpu_ns as f64, case.messages.received, "no message was received")
}

fn ratio(value: f64, count: u64, without: &str) -> Value {
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
    use crate::report::{Report, fixture};

    #[test]
    fn every_row_is_computed_or_says_why_not() {
        let recordings =
            [fixture::recording(), fixture::empty(), fixture::failed(), fixture::interrupted()];
        let report = Report::judge(&fixture::plan(), &fixture::host(), &recordings);
        for run in &report.runs {
            let expected = METRICS.iter().map(|row| row.key_for("round_trip"));
            for key in expected {
                let metric = &run.metrics[&key];
                assert_ne!(metric.value.is_some(), metric.reason.is_some(), "{key}");
                let reason = metric.reason.as_deref().unwrap_or_default();
                assert!(!reason.contains("this version"), "{key} has no arm");
                assert!(metric::find(&key).is_some(), "{key} has no row");
            }
        }
    }
}
