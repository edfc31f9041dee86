//! How fast steps used memory: of all tasks, of the slowest and the fastest one, on each node.
//!
//! Nothing for runs without steps on memory. Must not know: whose memory it was.

use super::layout::{NONE, gap, metric, table};
use crate::report::Run;
use crate::report::memory_steps::{MemoryStep, TaskBandwidth};

/// Columns of the names, and of each node's bandwidth, at the most.
const NAMES: usize = 20;
const RATE: usize = 11;

pub(super) fn section(run: &Run, width: usize) -> Option<String> {
    if run.memory_steps.is_empty() {
        return None;
    }
    let mut text = "bandwidth of memory steps, while tasks were at them in the window\n".to_owned();
    let header = ["", "all", "a task: least", "median", "most"];
    let is_shared = run.memory_steps.iter().any(|step| step.by_task.len() > 1);
    let columns = if is_shared { header.len() } else { 2 };
    let rows: Vec<_> = run.memory_steps.iter().map(|step| row(step, columns)).collect();
    text += &table(&header[..columns], &rows, gap(width));
    Some(text + &by_node(run, width))
}

fn name(step: &MemoryStep) -> String {
    format!("{} {}", step.team, step.step).chars().take(NAMES).collect()
}

fn rate(bytes_per_s: Option<f64>) -> String {
    bytes_per_s.map_or(NONE.to_owned(), |rate| metric("bytes_per_s", rate, "B/s"))
}

fn row(step: &MemoryStep, columns: usize) -> Vec<String> {
    let mut known: Vec<(f64, &TaskBandwidth)> =
        step.by_task.iter().filter_map(|task| Some((task.bytes_per_s?, task))).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Of an even number the lower of the middle two, as of runs.
    let median = known.get(known.len().saturating_sub(1) / 2);
    let of = |it: Option<&(f64, &TaskBandwidth)>| rate(it.map(|&(rate, _)| rate));
    let named = |it: Option<&(f64, &TaskBandwidth)>| match it {
        Some((_, task)) => format!("{} ({})", of(it), task.task),
        None => NONE.to_owned(),
    };
    let cells =
        [name(step), rate(step.bytes_per_s), named(known.first()), of(median), named(known.last())];
    cells.into_iter().take(columns).collect()
}

/// A table by nodes, if tasks were on several.
fn by_node(run: &Run, width: usize) -> String {
    let steps = &run.memory_steps;
    let mut nodes: Vec<u32> =
        steps.iter().flat_map(|step| &step.by_node).map(|it| it.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    if nodes.len() < 2 {
        return String::new();
    }
    let columns = (width.saturating_sub(2 + NAMES) / RATE).max(1);
    let table_of = |nodes: &[u32]| {
        let names: Vec<String> = nodes.iter().map(|node| format!("node {node}")).collect();
        let header: Vec<&str> =
            ["on CPUs of"].into_iter().chain(names.iter().map(String::as_str)).collect();
        let row = |step: &MemoryStep| {
            let on = |node: &u32| step.by_node.iter().find(|it| it.node == *node);
            let cells = nodes.iter().map(|node| rate(on(node).and_then(|it| it.bytes_per_s)));
            [name(step)].into_iter().chain(cells).collect()
        };
        let rows: Vec<Vec<String>> = steps.iter().map(row).collect();
        table(&header, &rows, gap(width))
    };
    nodes.chunks(columns).map(table_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use crate::report::memory_steps::NodeBandwidth;

    #[test]
    fn many_nodes_and_tasks_and_long_names_fit() {
        let mut run = fixture::reports()["two_instances"].runs[0].clone();
        let step = &mut run.memory_steps[0];
        step.team = "a_team_of_a_very_long_name_indeed".to_owned();
        let on = |node| NodeBandwidth { node, bytes: 1, bytes_per_s: Some(123_456_789_012.0) };
        step.by_node = (0..64).map(on).collect();
        let of = |task| TaskBandwidth { task, bytes: 1, bytes_per_s: Some(1e12 + f64::from(task)) };
        step.by_task = (10_000..20_000).rev().map(of).collect();
        for width in [80, 100, 140] {
            let text = section(&run, width).unwrap();
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{line}");
            }
            assert!(text.contains("(10000)") && text.contains("(19999)"), "{text}");
            assert!((0..64).all(|node| text.contains(&format!("node {node}"))), "{text}");
        }
    }
}
