//! Several runs of one plan: how each metric varied, and each run in a line.
//!
//! Must not know: verdicts.

use super::headline::position;
use super::layout::{NONE, gap, metric, percent, table, wrapped};
use super::memory;
use crate::report::{Report, Run};

/// What stands beside the primary metric of each run, with a short name.
const BESIDE: [(&str, &str); 3] = [
    ("wakeup_latency_ns_p50", "wakeup p50"),
    ("wakeup_latency_ns_p99", "wakeup p99"),
    ("migrations_per_s", "migrations"),
];

/// The spread of every metric, then the runs one by one; nothing for a single run.
pub(super) fn summary(report: &Report, width: usize) -> Option<String> {
    if report.runs.len() < 2 {
        return None;
    }
    let mut all: Vec<_> = report.summary.iter().collect();
    let primary = |key: &str| Some(key) != report.profile.primary.as_deref();
    all.sort_by_key(|(key, _)| (primary(key), position(key)));
    let rows: Vec<Vec<String>> = all
        .into_iter()
        .map(|(key, it)| {
            vec![
                key.clone(),
                it.n.to_string(),
                metric(key, it.min, &it.unit),
                metric(key, it.mean, &it.unit),
                metric(key, it.max, &it.unit),
                it.cv.map_or(NONE.to_owned(), percent),
                it.better.words().trim_end_matches(" is better").to_owned(),
            ]
        })
        .collect();
    let header = ["metric", "n", "min", "mean", "max", "CV", "better"];
    let mut text = format!("{} runs\n", report.runs.len());
    text += &table(&header, &rows, gap(width));
    text += "\n";
    text += &each(report, width);
    Some(text)
}

fn each(report: &Report, width: usize) -> String {
    let mut keys: Vec<(&str, &str)> = Vec::new();
    keys.extend(report.profile.primary.as_deref().map(|key| (key, key)));
    for (key, short) in BESIDE {
        if keys.iter().all(|(known, _)| *known != key) && report.summary.contains_key(key) {
            keys.push((key, short));
        }
    }
    let mut header = vec!["run", "end"];
    header.extend(keys.iter().map(|(_, short)| short));
    let trials = report.runs.iter().any(|run| run.trial.is_some());
    header.extend(trials.then_some("who moved"));
    header.push("checks");
    let rows: Vec<Vec<String>> = report
        .runs
        .iter()
        .map(|run| {
            let value = |key: &str| {
                let it = run.metrics.get(key)?;
                Some(metric(key, it.value?, &it.unit))
            };
            let mut row = vec![run.run.to_string(), run.end.replace('_', " ")];
            row.extend(keys.iter().map(|(key, _)| value(key).unwrap_or(NONE.to_owned())));
            row.extend(trials.then(|| run.trial.as_ref().map_or(NONE.to_owned(), memory::verdict)));
            let broken = run.checks.iter().filter(|check| !check.ok).count();
            row.push(match broken {
                0 => "hold".to_owned(),
                n => format!("{n} BROKEN"),
            });
            row
        })
        .collect();
    table(&header, &rows, gap(width))
}

/// Which of several runs the details are of.
pub(super) fn which(report: &Report, run: &Run, width: usize) -> Option<String> {
    let by = report.profile.primary.as_deref().unwrap_or("none");
    (report.runs.len() > 1).then(|| {
        let text =
            format!("run {}, the median by {by}; the other runs are in the JSON document", run.run);
        wrapped("details of ", &text, width)
    })
}
