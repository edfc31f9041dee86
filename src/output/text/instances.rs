//! What each of several instances got done: a row for each measure block and instance.
//!
//! Must not know: where instances ran (`placement.rs`), how they are told apart.

use super::layout::{NONE, count, gap, table, time};
use crate::base::unit;
use crate::report::{InstanceBlocks, Run};

const HEADER: [&str; 9] =
    ["block", "instance", "count", "per s", "p50", "p90", "p99", "p99.9", "max"];

/// `None` for a run of one instance, or without measure blocks.
pub(super) fn section(run: &Run, width: usize) -> Option<String> {
    let rows: Vec<Vec<String>> = run.instances.iter().map(cells).collect();
    let text = || format!("blocks by instance\n{}", table(&HEADER, &rows, gap(width)));
    (!rows.is_empty()).then(text)
}

fn cells(it: &InstanceBlocks) -> Vec<String> {
    let all = &it.time;
    vec![
        it.measure.clone(),
        it.instance.to_string(),
        count(all.count),
        it.per_s.map_or(NONE.to_owned(), unit::count),
        time(all.p50),
        time(all.p90),
        time(all.p99),
        time(all.p999),
        time(all.max),
    ]
}
