//! Percentiles by team and relation, what was found ready, and histograms.
//!
//! Must not know: how percentiles are reckoned.

use super::chart;
use super::layout::{WIDE, count, gap, mean_time, percent_of, table, time, wrapped};
use crate::report::{ALL, Latency, NO_RECEIVER, Run};

const WAKEUP: &str = "wakeup";
const HEADER: [&str; 10] =
    ["", "count", "share", "min", "p50", "p90", "p99", "p99.9", "max", "mean"];

pub(super) fn sections(run: &Run, width: usize) -> Vec<String> {
    let mut sections = Vec::new();
    let mut wholes: Vec<&Latency> = run.latency.iter().filter(|row| is_judged(row)).collect();
    // Wakeups first, then the measure blocks.
    wholes.sort_by_key(|row| row.series != WAKEUP);
    for whole in wholes {
        let title = title(whole);
        if whole.count == 0 {
            let text = format!("{title}: none in the window");
            sections.push(wrapped("", &text, width));
            continue;
        }
        let of_whole = |row: &&Latency| row.series == whole.series && row.team == whole.team;
        let rows: Vec<&Latency> = run.latency.iter().filter(of_whole).collect();
        sections.push(format!("{title}\n{}", percentiles(&rows, whole, width)));
        sections.extend(chart::drawn(whole, &title, width));
    }
    sections.push(others(run, width));
    sections
}

/// A row for each relation, split where some moved: that all stayed is what one expects and needs
/// no second row. Where it is narrow the mean goes first.
fn percentiles(rows: &[&Latency], whole: &Latency, width: usize) -> String {
    let n_columns = if width < WIDE { HEADER.len() - 1 } else { HEADER.len() };
    let has_moved = |relation: &str| {
        let mut moved = rows.iter().filter(|row| row.moved == Some(true));
        moved.any(|row| row.relation == relation)
    };
    let shown: Vec<Vec<String>> = rows
        .iter()
        .filter(|row| row.moved != Some(false) || has_moved(&row.relation))
        .map(|row| cells(row, whole.count)[..n_columns].to_vec())
        .collect();
    table(&HEADER[..n_columns], &shown, gap(width))
}

/// Wholes of the series that a run is judged by, each with a table and a histogram.
fn is_judged(row: &Latency) -> bool {
    row.relation == ALL && row.moved.is_none() && !is_other(row)
}

fn is_other(row: &Latency) -> bool {
    row.series == "found_ready" || row.series == "between_migrations"
}

fn title(whole: &Latency) -> String {
    match whole.series.as_str() {
        WAKEUP => format!("wakeup latency of {}", whole.team),
        measure => format!("{measure} of {}", whole.team),
    }
}

fn cells(row: &Latency, whole: u64) -> Vec<String> {
    let name = match row.moved {
        None => row.relation.clone(),
        Some(false) => "  stayed".to_owned(),
        Some(true) => "  moved".to_owned(),
    };
    vec![
        name,
        count(row.count),
        percent_of(row.count, whole),
        time(row.min),
        time(row.p50),
        time(row.p90),
        time(row.p99),
        time(row.p999),
        time(row.max),
        mean_time(row.mean),
    ]
}

/// Nothing for a run in which nobody sent any, unless there was somebody to receive them.
fn messages(run: &Run, width: usize) -> String {
    let messages = &run.messages;
    let expected = run
        .metrics
        .get("messages_per_s")
        .is_none_or(|it| it.reason.as_deref() != Some(NO_RECEIVER));
    if !expected && messages.sent == 0 && messages.received == 0 {
        return String::new();
    }
    let text = format!(
        "{} received in the window, {} by a wakeup, {} ({}) found ready; whole run: {} sent, {} \
         received",
        count(messages.received_window),
        count(messages.wakeups),
        count(run.found_ready),
        percent_of(run.found_ready, messages.received_window),
        count(messages.sent),
        count(messages.received),
    );
    wrapped("messages: ", &text, width)
}

/// Messages that needed no wakeup and times between migrations: a line each.
fn others(run: &Run, width: usize) -> String {
    let mut text = messages(run, width);
    for row in run.latency.iter().filter(|row| is_other(row)) {
        let what = match row.series.as_str() {
            "found_ready" => format!("found ready by {}, time queued: ", row.team),
            _ => format!("between migrations of {}: ", row.team),
        };
        let numbers = format!(
            "n {}, p50 {}, p90 {}, p99 {}, max {}",
            count(row.count),
            time(row.p50),
            time(row.p90),
            time(row.p99),
            time(row.max)
        );
        text += &wrapped("  ", &(what + &numbers), width);
    }
    text
}
