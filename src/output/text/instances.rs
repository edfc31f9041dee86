//! What each of several instances got done, and what its tasks saw of wakeups and migrations.
//!
//! Must not know: where instances ran (`placement.rs`), how they are told apart.

use super::layout::{NONE, count, gap, percent, table, time};
use crate::base::unit;
use crate::report::{HostFacts, InstanceBlocks, InstanceCounts, Judged, Run};

/// Counts of more instances than this are left to the other formats.
const MOST: usize = 32;

const COUNTS: [&str; 7] =
    ["instance", "wakeups", "cross node", "pulled LLC", "pulled node", "migrations", "returned"];

/// None for a run of one instance.
pub(super) fn sections(host: &HostFacts, run: &Run, width: usize) -> Vec<String> {
    [blocks(run, width), counts(host, run, width)].into_iter().flatten().collect()
}

/// A row for each measure block and instance.
fn blocks(run: &Run, width: usize) -> Option<String> {
    const HEADER: [&str; 9] =
        ["block", "instance", "count", "per s", "p50", "p90", "p99", "p99.9", "max"];
    let rows: Vec<Vec<String>> = run.instances.iter().map(block).collect();
    let text = || format!("blocks by instance\n{}", table(&HEADER, &rows, gap(width)));
    (!rows.is_empty()).then(text)
}

fn block(it: &InstanceBlocks) -> Vec<String> {
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

/// A row for each instance; what one node, one LLC or no wakeup cannot have has no column.
fn counts(host: &HostFacts, run: &Run, width: usize) -> Option<String> {
    let instances = &run.residency.instances;
    if !(2..=MOST).contains(&instances.len()) {
        return None;
    }
    let known: Vec<(u32, &InstanceCounts)> =
        instances.iter().filter_map(|it| Some((it.instance, it.counts.as_ref()?))).collect();
    let woken = known.iter().any(|(_, it)| it.wakeups > 0);
    let (nodes, llcs) = (woken && host.nodes > 1, woken && host.llcs > 1);
    let shown = |cells: [String; 7]| -> Vec<String> {
        let shown = [true, woken, nodes, llcs, nodes, true, true];
        cells.into_iter().zip(shown).filter(|(_, shown)| *shown).map(|(cell, _)| cell).collect()
    };
    let header = shown(COUNTS.map(str::to_owned));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let share = |it: &Judged| it.value.map_or(NONE.to_owned(), percent);
    let row = |(instance, it): &(u32, &InstanceCounts)| {
        shown([
            instance.to_string(),
            count(it.wakeups),
            share(&it.cross_node_wakeup_share),
            share(&it.pulled_llc_share),
            share(&it.pulled_node_share),
            count(it.migrations),
            share(&it.returned_share),
        ])
    };
    let rows: Vec<Vec<String>> = known.iter().map(row).collect();
    let title = if woken { "wakeups and migrations" } else { "migrations" };
    let text = || format!("{title} by instance\n{}", table(&header, &rows, gap(width)));
    (!rows.is_empty()).then(text)
}
