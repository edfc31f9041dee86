//! Barriers, locks, group commits and safepoints: a line for each team at each object.
//!
//! Must not know: how a wait was told from none.

use super::layout::{NONE, count, gap, percent, percent_of, table, time, wrapped};
use crate::report::{Run, SyncRow};

const HEADER: [&str; 9] =
    ["sync", "team", "passes", "spun", "slept", "wait p50", "p95", "max", "waiting"];

/// Nothing for a run without such objects.
pub(super) fn section(run: &Run, width: usize) -> String {
    if run.sync.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = run.sync.iter().map(cells).collect();
    let mut text = format!(
        "waits at sync objects, of all passes in the window\n{}",
        table(&HEADER, &rows, gap(width))
    );
    for row in &run.sync {
        text += &more(row, run.window_s, width);
    }
    text
}

fn cells(row: &SyncRow) -> Vec<String> {
    vec![
        row.name.clone(),
        row.team.clone(),
        count(row.passes),
        percent_of(row.spun, row.passes),
        percent_of(row.slept, row.passes),
        time(row.p50),
        time(row.p95),
        time(row.max),
        row.wait_share.map_or(NONE.to_owned(), percent),
    ]
}

/// Which kind it is, and what only an object of its sort has.
fn more(row: &SyncRow, window_s: f64, width: usize) -> String {
    let per_s = |n: u64| match window_s > 0.0 {
        true => format!(", {} per s", count((n as f64 / window_s).round() as u64)),
        false => String::new(),
    };
    let kind = match row.sort == row.kind {
        true => row.sort.clone(),
        false => format!("{} {}", row.sort, row.kind),
    };
    let led = match (row.rounds, row.pauses, row.groups, row.grouped) {
        (Some(n @ 1..), ..) => format!(", {} rounds ended{}", count(n), per_s(n)),
        (_, Some(n @ 1..), ..) => format!(", {} pauses ended{}", count(n), per_s(n)),
        (.., Some(groups @ 1..), Some(grouped)) if row.sort == "desk" => format!(
            ", {} batches served{}, of {:.1} asks on average",
            count(groups),
            per_s(groups),
            grouped as f64 / groups as f64
        ),
        (.., Some(groups @ 1..), Some(grouped)) => format!(
            ", {} groups led{}, of {:.1} commits on average",
            count(groups),
            per_s(groups),
            grouped as f64 / groups as f64
        ),
        _ => String::new(),
    };
    wrapped("  ", &format!("{} by {}: {kind}{led}", row.name, row.team), width)
}
