//! Blocks whose rounds have times of their own: rates, and how late they were; queues.
//!
//! Must not know: when late is too late.

use super::layout::{NONE, count, gap, lines, pair, table, time, wrapped};
use crate::base::unit;
use crate::report::{Arrivals, QueueRow, Run};

/// A row for each; nothing for a run without.
pub(super) fn section(run: &Run, width: usize) -> Option<String> {
    if run.arrivals.is_empty() {
        return None;
    }
    let header = ["lateness", "asked/s", "done/s", "left out", "p50", "p99", "p99.9", "max"];
    let rows: Vec<Vec<String>> = run.arrivals.iter().map(cells).collect();
    let what = |it: &Arrivals| lines(&wrapped(&format!("{}: ", it.team), &it.at, width - 2));
    let what: String = run.arrivals.iter().map(what).collect();
    Some(table(&header, &rows, gap(width)) + &what + &queues(&run.queues, width))
}

/// `most messages at once: arrival 3, request 17`.
fn queues(all: &[QueueRow], width: usize) -> String {
    let one = |row: &QueueRow| match (row.most.value, row.most.reason.as_deref()) {
        (Some(most), _) => pair(&row.channel, &count(most)),
        (None, reason) => format!("{} {NONE} ({})", row.channel, reason.unwrap_or(NONE)),
    };
    let all: Vec<String> = all.iter().map(one).collect();
    match all.is_empty() {
        true => String::new(),
        false => wrapped("  most messages at once: ", &all.join(", "), width),
    }
}

fn cells(it: &Arrivals) -> Vec<String> {
    let late = &it.lateness;
    vec![
        it.team.clone(),
        unit::count(it.offered_per_s),
        it.achieved_per_s.map_or(NONE.to_owned(), unit::count),
        if it.open_loop { NONE.to_owned() } else { count(it.missed) },
        time(late.p50),
        time(late.p99),
        time(late.p999),
        time(late.max),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn long_names_and_steps_fit() {
        let mut run = fixture::reports()["plain"].runs[0].clone();
        let arrivals = Arrivals {
            team: "a_team_of_a_long_name".to_owned(),
            at: "every 10ms, from 10ms * me / 4 + the offset of its instance, and on".to_owned(),
            open_loop: false,
            offered_per_s: 12_345_678.0,
            achieved_per_s: Some(12_345_678.0),
            arrivals: 1,
            arrivals_total: 1,
            missed: 12_345,
            lateness: run.latency[0].clone(),
        };
        run.arrivals = vec![arrivals; 2];
        for width in [80, 100] {
            let text = section(&run, width).unwrap();
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{line}");
            }
            assert_eq!(text.matches("10ms, from 10ms").count(), 2, "{text}");
        }
    }
}
