//! A histogram drawn with bars, by powers of two and, where there is room, halves between them.
//!
//! Both are edges of the stored buckets, so no entry is drawn in a row that is not its own. Must
//! not know: which series is drawn.

use super::layout::{bar, count, percent, table};
use crate::base::bucket;
use crate::report::{Histogram, Latency};

/// With more rows than this by halves, whole powers of two are drawn.
const MOST_ROWS: usize = 16;

/// One row: from which value on, up to the row below.
struct Step {
    from: u64,
    count: u64,
}

/// `None` if there is no stored histogram that can be read.
pub(super) fn drawn(row: &Latency, title: &str, width: usize) -> Option<String> {
    let counts = Histogram::decode(&row.hdr).ok()?;
    let halves = steps(&counts, 2);
    let steps = if halves.len() > MOST_ROWS { steps(&counts, 1) } else { halves };
    let most = steps.iter().map(|step| step.count).max()?;
    let total: u64 = steps.iter().map(|step| step.count).sum();
    let mut below = 0;
    let bar_width = width.saturating_sub(42);
    let rows: Vec<Vec<String>> = steps
        .iter()
        .map(|step| {
            below += step.count;
            // Rounded down, so that only the last row with entries has 100 %.
            let up_to = (below as f64 / total as f64 * 1e4).floor() / 1e4;
            let drawn = bar(step.count as f64 / most as f64, bar_width);
            vec![
                crate::base::unit::time(step.from as f64),
                count(step.count),
                percent(step.count as f64 / total as f64),
                format!("{:.2} %", up_to * 100.0),
                format!("{drawn:bar_width$}"),
            ]
        })
        .collect();
    let header = ["from", "count", "share", "cum.", ""];
    Some(format!("{title}: histogram\n{}", table(&header, &rows, 2)))
}

/// Entries by power of two, each in `parts`, without the empty ones at both ends.
fn steps(counts: &[u64], parts: u64) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (at, &count) in counts.iter().enumerate() {
        let (low, _) = bucket::range(at);
        let from = edge(low, parts);
        match steps.last_mut() {
            Some(step) if step.from == from => step.count += count,
            _ => steps.push(Step { from, count }),
        }
    }
    let first = steps.iter().position(|step| step.count > 0);
    let last = steps.iter().rposition(|step| step.count > 0);
    match (first, last) {
        (Some(first), Some(last)) => steps.drain(first..=last).collect(),
        _ => Vec::new(),
    }
}

/// The largest edge not above `value`.
fn edge(value: u64, parts: u64) -> u64 {
    let Some(power) = value.checked_ilog2() else {
        return 0;
    };
    let low = 1 << power;
    match (low / parts, value - low) {
        (0, _) => low,
        (part, above) => low + above / part * part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_powers_of_two_and_halves() {
        let check = |value, whole, half| {
            assert_eq!((edge(value, 1), edge(value, 2)), (whole, half), "of {value}");
        };
        check(0, 0, 0);
        check(1, 1, 1);
        check(2, 2, 2);
        check(3, 2, 3);
        check(1_023, 512, 768);
        check(1_024, 1_024, 1_024);
        check(1_535, 1_024, 1_024);
        check(1_536, 1_024, 1_536);
    }

    #[test]
    fn steps_hold_all_entries_and_no_empty_ends() {
        let counts = |values: &[u64]| {
            let histogram = Histogram::of_values(values.iter().copied());
            let steps = steps(histogram.counts(), 2);
            steps.iter().map(|step| (step.from, step.count)).collect::<Vec<_>>()
        };
        assert_eq!(counts(&[]), []);
        assert_eq!(counts(&[0]), [(0, 1)]);
        let spread = [(768, 1), (1_024, 2), (1_536, 0), (2_048, 1)];
        assert_eq!(counts(&[1_000, 1_030, 1_500, 2_999]), spread);
    }
}
