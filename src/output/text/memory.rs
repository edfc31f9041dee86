//! Where memory was beside the tasks, by instance; who moved; trials counted over the runs.
//!
//! Nothing for runs without memory regions. Must not know: how a verdict came about.

use super::layout::{NONE, count, gap, percent, table, wrapped};
use crate::base::unit;
use crate::report::{InstancePlacement, InstanceResidency, Judged, Report, Run, TeamNuma, Trial};

/// Columns of the names, and of each node's share, at the most.
const NAMES: usize = 24;
const SHARE: usize = 9;

pub(super) fn sections(run: &Run, width: usize) -> Vec<String> {
    if run.placement.is_empty() {
        return Vec::new();
    }
    let trial = run.trial.iter().map(|trial| who_moved(trial, width));
    trial.chain([placement(run, width)]).collect()
}

/// `memory_moved` as words.
fn words(name: &str) -> String {
    match name {
        "ping_pong" => "ping-pong".to_owned(),
        _ => name.replace('_', " "),
    }
}

/// `memory moved (started remote)`.
pub(super) fn verdict(trial: &Trial) -> String {
    format!("{} ({})", words(&trial.outcome), words(&trial.start))
}

fn who_moved(trial: &Trial, width: usize) -> String {
    let mut text = wrapped("who moved: ", &verdict(trial), width);
    if let Some(reason) = &trial.reason {
        text += &wrapped("  ", &format!("unclear: {reason}"), width);
    }
    let (team, region) = (&trial.team, &trial.region);
    let node = |node: Option<u32>| match node {
        Some(node) => format!("on node {node}"),
        None => "on no one node".to_owned(),
    };
    let begun = match trial.begun_s {
        Some(s) => format!("{team} began after {}", unit::time(s * 1e9)),
        None => format!("{team} never began"),
    };
    let places = format!(
        "{begun}, {} with {region} {}; at the last look {} with {region} {}",
        node(trial.worker_nodes[0]),
        node(trial.memory_nodes[0]),
        node(trial.worker_nodes[1]),
        node(trial.memory_nodes[1]),
    );
    text += &wrapped("  ", &places, width);
    let local = match (trial.time_to_local_s.value, trial.time_to_local_s.reason.as_deref()) {
        (Some(s), _) => format!("local for good {} after it began", unit::time(s * 1e9)),
        (None, reason) => format!("local for good: {}", reason.unwrap_or(NONE)),
    };
    let moved = match (trial.moved_bytes, trial.moved_share) {
        (Some(bytes), Some(share)) => {
            format!("{} of {region} ({}) changed node", unit::bytes(bytes as f64), percent(share))
        }
        _ => format!("how much of {region} changed node is not known"),
    };
    let changes = format!(
        "node changes between looks: {team} {}, {region} {}",
        trial.worker_changes, trial.memory_changes
    );
    let pass = |[first, last]: [f64; 2]| {
        let (first, last) = (unit::time(first * 1e9), unit::time(last * 1e9));
        format!("; its first pass took {first}, its last {last}")
    };
    let passes = trial.pass_s.map(pass).unwrap_or_default();
    text + &wrapped("  ", &format!("{local}; {moved}; {changes}{passes}"), width)
}

/// A table of nodes, then what came of it for each instance.
fn placement(run: &Run, width: usize) -> String {
    let instances = &run.residency.instances;
    let title = "tasks by time in the window and memory at the last look, by node";
    let nodes = nodes(instances);
    let columns = (width.saturating_sub(2 + NAMES) / SHARE).max(1);
    let mut text = format!("{title}\n");
    for nodes in nodes.chunks(columns) {
        let names: Vec<String> = nodes.iter().map(|node| format!("node {node}")).collect();
        let header: Vec<&str> = [""].into_iter().chain(names.iter().map(String::as_str)).collect();
        let rows: Vec<_> = instances.iter().flat_map(|it| rows(run, it, nodes)).collect();
        text += &table(&header, &rows, gap(width));
    }
    for it in &run.placement {
        text += &wrapped("  ", &sentence(it, run.placement.len() > 1), width);
    }
    let preferred: Vec<String> = run.numa.iter().filter_map(preferred).collect();
    if !preferred.is_empty() {
        text += &wrapped("  preferred nodes: ", &preferred.join("; "), width);
    }
    text
}

/// `sweeper: 2 tasks node 0, 1 none yet, 18 k faults`; nothing of a team without any.
fn preferred(it: &TeamNuma) -> Option<String> {
    let faults = it.faults.value?;
    if faults == 0 && it.preferred.iter().all(|it| it.node.is_none()) {
        return None;
    }
    let nodes = it.preferred.iter().map(|it| match it.node {
        Some(node) => format!("{} on node {node}", it.tasks),
        None => format!("{} without any yet", it.tasks),
    });
    let nodes: Vec<String> = nodes.collect();
    Some(format!("{}: {}, by {} faults", it.team, nodes.join(", "), count(faults)))
}

/// Nodes on which anybody or anything was, in order.
fn nodes(instances: &[InstanceResidency]) -> Vec<u32> {
    let cpu = instances.iter().flat_map(|it| &it.cpu).filter(|it| it.share > 0.0);
    let memory = instances.iter().flat_map(|it| &it.memory);
    let memory = memory.filter(|it| it.share.is_none_or(|share| share > 0.0));
    let mut nodes: Vec<u32> = cpu.map(|it| it.node).chain(memory.map(|it| it.node)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

fn rows(run: &Run, instance: &InstanceResidency, nodes: &[u32]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = |name: String, share: &dyn Fn(u32) -> Option<f64>| {
        let name = name.chars().take(NAMES).collect();
        let cells = nodes.iter().map(|node| share(*node).map_or(NONE.to_owned(), percent));
        rows.push([name].into_iter().chain(cells).collect());
    };
    let name = match run.residency.instances.len() {
        1 => "tasks".to_owned(),
        _ => format!("instance {} tasks", instance.instance),
    };
    row(name, &|node| Some(instance.cpu.iter().find(|it| it.node == node)?.share));
    let mut regions: Vec<&str> = instance.memory.iter().map(|it| it.region.as_str()).collect();
    regions.dedup();
    for region in regions {
        let bytes = bytes(run, instance.instance, region);
        let size = bytes.map(|bytes| format!(", {}", unit::bytes(bytes as f64)));
        row(format!("  {region}{}", size.unwrap_or_default()), &|node| {
            let shares = instance.memory.iter();
            shares.filter(|it| it.region == region).find(|it| it.node == node)?.share
        });
    }
    rows
}

fn bytes(run: &Run, instance: u32, region: &str) -> Option<u64> {
    let all = run.timeline.as_ref()?.instances.iter();
    let regions = &all.into_iter().find(|it| it.instance == instance)?.regions;
    Some(regions.iter().find(|it| it.region == region)?.bytes)
}

fn sentence(it: &InstancePlacement, is_one_of_many: bool) -> String {
    let known = |judged: &Judged, print: &dyn Fn(f64) -> String| match judged.value {
        Some(value) => print(value),
        None => format!("{NONE} ({})", judged.reason.as_deref().unwrap_or("no reason is given")),
    };
    let mut text = match is_one_of_many {
        true => format!("instance {}: ", it.instance),
        false => String::new(),
    };
    if let Some(signal) = it.signal {
        let process = it.killed_process.as_ref().map(|name| format!("process `{name}` "));
        text += &format!("{}KILLED by signal {signal}; ", process.unwrap_or_default());
    }
    text += &format!("local share {}", known(&it.local_share, &percent));
    let time = |s: f64| format!("from {} on", unit::time(s * 1e9));
    text += &format!("; tasks and memory together {}", known(&it.convergence_s, &time));
    text + &format!("; scan passes {}", known(&it.scan_passes, &|n| format!("{n:.0}")))
        .replace("scan passes ", "scan\u{a0}passes\u{a0}")
}

/// `started remote 20: memory moved 17, neither 3`, one line for each start; nothing for one run.
pub(super) fn trials(report: &Report, width: usize) -> Option<String> {
    let trials: Vec<&Trial> = report.runs.iter().filter_map(|run| run.trial.as_ref()).collect();
    if trials.len() < 2 {
        return None;
    }
    let mut text = format!("who moved, in {} trials\n", trials.len());
    for (start, of_start) in counted(&trials, |trial| &trial.start) {
        let outcomes = counted(&of_start, |trial| &trial.outcome);
        let outcomes: Vec<String> =
            outcomes.iter().map(|(name, of)| format!("{} {}", words(name), of.len())).collect();
        let line = format!("{} {}: {}", words(start), of_start.len(), outcomes.join(", "));
        text += &wrapped("  ", &line, width);
    }
    Some(text)
}

/// Trials by a word of theirs, the most frequent first.
fn counted<'a>(trials: &[&'a Trial], of: fn(&Trial) -> &str) -> Vec<(&'a str, Vec<&'a Trial>)> {
    let mut groups: Vec<(&str, Vec<&Trial>)> = Vec::new();
    for trial in trials {
        match groups.iter_mut().find(|(name, _)| *name == of(trial)) {
            Some((_, group)) => group.push(trial),
            None => groups.push((of(trial), vec![trial])),
        }
    }
    groups.sort_by_key(|(name, group)| (usize::MAX - group.len(), *name));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::timeline::{NodePages, NodeTasks};
    use crate::report::{NodeShare, RegionShare, fixture};

    #[test]
    fn many_nodes_and_long_names_fit() {
        let mut report = fixture::reports()["two_instances"].clone();
        let run = &mut report.runs[0];
        let region = "a_region_of_a_very_long_name_indeed";
        for instance in &mut run.residency.instances {
            let share = 1.0 / 16.0;
            instance.cpu = (0..16).map(|node| NodeShare { node, share }).collect();
            let of = |node| RegionShare { region: region.to_owned(), node, share: Some(share) };
            instance.memory = (0..16).map(of).collect();
        }
        let timeline = run.timeline.as_mut().unwrap();
        let n = timeline.at_s.len();
        for instance in &mut timeline.instances {
            let tasks = vec![Some(1); n];
            instance.tasks = (0..16).map(|node| NodeTasks { node, tasks: tasks.clone() }).collect();
            instance.regions.truncate(1);
            instance.regions[0].region = region.to_owned();
            let pages = vec![Some(6); n];
            instance.regions[0].pages =
                (0..16).map(|node| NodePages { node, pages: pages.clone() }).collect();
        }
        for width in [80, 100] {
            let mut text = sections(run, width).concat();
            text += &super::super::timeline::section(run, width).unwrap();
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{line}");
            }
            for node in 0..16 {
                assert!(text.contains(&format!("node {node} ")), "{node} at {width}");
            }
        }
    }

    #[test]
    fn a_killed_process_is_named() {
        let mut report = fixture::reports()["two_instances"].clone();
        let killed = &mut report.runs[0].placement[1];
        killed.signal = Some(9);
        let told =
            |it: &InstancePlacement| sentence(it, true).split("; ").next().map(str::to_owned);
        assert_eq!(told(killed).as_deref(), Some("instance 1: KILLED by signal 9"));
        killed.killed_process = Some("server".to_owned());
        let text = "instance 1: process `server` KILLED by signal 9";
        assert_eq!(told(killed).as_deref(), Some(text));
    }

    #[test]
    fn columns_shorter_than_the_looks_are_no_fault() {
        let mut report = fixture::reports()["two_instances"].clone();
        let timeline = report.runs[0].timeline.as_mut().unwrap();
        timeline.instances[0].tasks[1].tasks.clear();
        timeline.instances[0].regions[0].pages[1].pages.truncate(3);
        timeline.instances[0].regions[0].absent.truncate(2);
        timeline.instances[1].tasks.clear();
        timeline.instances[1].regions.clear();
        let run = &report.runs[0];
        assert!(super::super::timeline::section(run, 80).is_some());
        assert!(crate::output::timeline_svg(&report).is_some());
    }
}
