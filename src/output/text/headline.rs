//! What was run where, and what came out.
//!
//! Must not know: other runs than the one it is given.

use super::layout::{NONE, metric, pair, table, wrapped};
use crate::base::unit::counted;
use crate::metric::{self, Better, METRICS};
use crate::report::{HostFacts, Metric, Report, Run, UNSAID};

/// Host facts that explain most differences between two machines or boots; the others are in JSON.
const SHOWN: [&str; 6] = ["preempt", "smt", "governor", "numa_balancing", "thp", "scx"];

/// Profile, parameters, host.
pub(super) fn head(report: &Report, width: usize) -> String {
    let profile = &report.profile;
    let params: Vec<String> = profile
        .params
        .iter()
        .map(|(name, value)| pair(name, value))
        .chain([format!("seed {}", profile.seed)])
        .collect();
    let mut text = wrapped(&format!("{}: ", profile.name), &profile.about, width);
    text += &wrapped("  ", &params.join(", "), width);
    text += &wrapped("  ", &machine(&report.host), width);
    let knobs: Vec<String> = SHOWN
        .iter()
        .filter_map(|key| Some(pair(key, report.host.knobs.get(*key)?.as_ref()?)))
        .collect();
    text += &match knobs.is_empty() {
        true => String::new(),
        false => wrapped("  ", &knobs.join(", "), width),
    };
    text + &wrapped("  ", &format!("{}, plan {}", report.tool, profile.hash), width)
}

fn machine(host: &HostFacts) -> String {
    format!(
        "Linux {}, {} ({}), {}, {}, {}",
        host.kernel.as_deref().unwrap_or("of unknown version"),
        counted(host.cpus.into(), "CPU"),
        host.allowed,
        counted(host.cores.into(), "core"),
        counted(host.llcs.into(), "LLC"),
        counted(host.nodes.into(), "node"),
    )
}

/// The primary metric on a line of its own, how the run ended, and the other metrics.
pub(super) fn result(report: &Report, run: &Run, width: usize) -> String {
    let primary = report.profile.primary.as_deref();
    let mut text = match primary {
        Some(key) => big(key, run.metrics.get(key), width),
        None => String::new(),
    };
    text += &wrapped("  ", &length(run), width);
    let (mut judging, mut telling) = (Vec::new(), Vec::new());
    for (key, it) in ordered(run) {
        let Some(value) = it.value.filter(|_| Some(key) != primary) else {
            continue;
        };
        let value = metric(key, value, &it.unit);
        match it.better {
            Better::Neither => telling.push(pair(key, &value)),
            better => judging.push(vec![key.to_owned(), value, better.words().to_owned()]),
        }
    }
    if !judging.is_empty() {
        text += "\n";
        text += &table(&["metric", "value", ""], &judging, 2);
    }
    if !telling.is_empty() {
        text += "\n";
        text += &wrapped("  ", &telling.join(", "), width);
    }
    let says_itself = |it: &Metric| it.reason.as_deref().is_some_and(|it| UNSAID.contains(&it));
    let is_watched = |key: &str| report.profile.watch.iter().any(|it| it == key);
    let missing: Vec<(&str, &Metric)> = ordered(run)
        .into_iter()
        .filter(|(key, it)| it.value.is_none() && Some(*key) != primary)
        .filter(|(key, it)| is_watched(key) || !says_itself(it))
        .collect();
    text + &without(&missing, width)
}

fn big(key: &str, it: Option<&Metric>, width: usize) -> String {
    let Some(it) = it else {
        return wrapped(&format!("{key}  {NONE}  "), "this report has no such metric", width);
    };
    match (it.value, it.better.words()) {
        (Some(value), words) => {
            let value = metric(key, value, &it.unit);
            let words = if words.is_empty() { String::new() } else { format!(" ({words})") };
            wrapped(&format!("{key}  "), &format!("{value}{words}"), width)
        }
        (None, _) => {
            let reason = it.reason.as_deref().unwrap_or("no reason is given");
            wrapped(&format!("{key}  {NONE}  "), reason, width)
        }
    }
}

/// Metrics without a value, those with the same reason together.
fn without(missing: &[(&str, &Metric)], width: usize) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (key, it) in missing {
        let reason = it.reason.as_deref().unwrap_or("no reason is given");
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, keys)) => keys.push(key),
            None => reasons.push((reason, vec![key])),
        }
    }
    reasons
        .into_iter()
        .map(|(reason, keys)| {
            let text = format!("no {}: {reason}", keys.join(", "));
            wrapped("  ", &text, width)
        })
        .collect()
}

fn length(run: &Run) -> String {
    let end = match (run.end.as_str(), run.end_detail.as_deref()) {
        ("done", _) => "all steps done".to_owned(),
        ("time_up", _) => "time up".to_owned(),
        (end, None) => end.to_owned(),
        (end, Some(detail)) => format!("{} ({detail})", end.to_uppercase()),
    };
    format!(
        "{}, {end} after {:.3} s, window {:.3} s",
        counted(run.tasks.into(), "task"),
        run.elapsed_s,
        run.window_s
    )
}

/// Metrics in the order of their rows; such as have none come last.
pub(super) fn ordered(run: &Run) -> Vec<(&str, &Metric)> {
    let mut all: Vec<(&str, &Metric)> =
        run.metrics.iter().map(|(key, it)| (key.as_str(), it)).collect();
    all.sort_by_key(|(key, _)| position(key));
    all
}

/// Where the row of a metric stands.
pub(super) fn position(key: &str) -> usize {
    let row = metric::find(key).map(|row| row.key);
    let at = METRICS.iter().position(|other| Some(other.key) == row);
    at.unwrap_or(METRICS.len())
}
