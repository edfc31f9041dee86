//! Blocks whose rounds have times of their own: rates, and how late they were.
//!
//! Must not know: when late is too late.

use super::layout::{NONE, count, gap, table, time};
use crate::base::unit;
use crate::report::{Arrivals, Run};

/// A row for each; nothing for a run without.
pub(super) fn section(run: &Run, width: usize) -> Option<String> {
    if run.arrivals.is_empty() {
        return None;
    }
    let header = ["lateness", "asked/s", "done/s", "left out", "p50", "p99", "p99.9", "max"];
    let rows: Vec<Vec<String>> = run.arrivals.iter().map(cells).collect();
    Some(table(&header, &rows, gap(width)))
}

fn cells(it: &Arrivals) -> Vec<String> {
    let late = &it.lateness;
    vec![
        format!("{}, {}", it.team, it.at),
        unit::count(it.offered_per_s),
        it.achieved_per_s.map_or(NONE.to_owned(), unit::count),
        if it.open_loop { NONE.to_owned() } else { count(it.missed) },
        time(late.p50),
        time(late.p99),
        time(late.p999),
        time(late.max),
    ]
}
