//! Migrations, where the tasks ran, and what the kernel counted.
//!
//! Must not know: how a migration is seen.

use super::layout::{NONE, bar, count, gap, lines, percent, percent_of, table, time, wrapped};
use crate::base::unit;
use crate::report::{HostFacts, InstanceResidency, Migrations, Run, Share, Sourced};
use std::collections::BTreeMap;

/// More CPUs than this are told in a sentence.
const MOST_CPUS: usize = 32;
/// Columns of a CPU's number, share and bar.
const CELL: usize = 24;
const CELL_BAR: usize = 10;
const BAR: usize = 40;

pub(super) fn sections(host: &HostFacts, run: &Run, width: usize) -> Vec<String> {
    vec![migrations(host, run, width), residency(run, width), kernel(run, width)]
}

fn migrations(host: &HostFacts, run: &Run, width: usize) -> String {
    let all = &run.migrations;
    let title = "migrations in the window, as seen by the tasks";
    let mut text = format!("{title}: none\n");
    if all.total > 0 {
        text = format!("{title}\n{}", by_distance(host, all, run.window_s, width));
        let mut facts = format!(
            "returned within 10 ms: {} ({}), within 100 ms: {} ({})",
            count(all.returned_10ms),
            percent_of(all.returned_10ms, all.total),
            count(all.returned_100ms),
            percent_of(all.returned_100ms, all.total),
        );
        // Into the only LLC or node there is nobody can be pulled.
        if host.llcs > 1 {
            facts += &format!("; pulled to the waker's LLC: {}", count(all.pulled_llc));
        }
        if host.nodes > 1 {
            facts += &format!(", to its node: {}", count(all.pulled_node));
        }
        text += &wrapped("  ", &facts, width);
    }
    let mut kernel = format!("the kernel counted {} in the whole run", counted(&all.kernel));
    if all.by_cause.value.is_some() {
        kernel += &format!("; by cause: {}", counted(&all.by_cause));
    }
    text + &wrapped("  ", &kernel, width)
}

/// Whether two of the allowed CPUs are so far apart; a column of what cannot be says nothing.
fn is_possible(distance: &str, host: &HostFacts) -> bool {
    match distance {
        "smt" => host.cpus > host.cores,
        "same_llc" => host.cores > host.llcs,
        "same_node" => host.llcs > host.nodes,
        "cross_node" => host.nodes > 1,
        _ => true,
    }
}

fn by_distance(host: &HostFacts, all: &Migrations, window_s: f64, width: usize) -> String {
    let seen = all.by_distance.iter().filter(|(name, n)| **n > 0 || is_possible(name, host));
    let distances: Vec<&String> = seen.map(|(name, _)| name).collect();
    let mut header = vec!["", "total", "share", "per s"];
    // The nearest first, as everywhere; the map has them by name.
    let near_first = crate::report::relation_names();
    let names: Vec<&str> =
        near_first.filter(|name| distances.iter().any(|known| known == name)).collect();
    header.extend(&names);
    let row = |name: &str, total: u64, by: &BTreeMap<String, u64>| {
        let per_s = match window_s > 0.0 {
            true => unit::count(total as f64 / window_s),
            false => NONE.to_owned(),
        };
        let share = percent_of(total, all.total);
        let mut cells = vec![name.to_owned(), count(total), share, per_s];
        let at = |name: &&str| by.get(*name).map_or(NONE.to_owned(), |n| count(*n));
        cells.extend(names.iter().map(at));
        cells
    };
    let rows = [
        row("across sleep", all.across_sleep, &all.across_sleep_by_distance),
        row("while running", all.while_running, &all.while_running_by_distance),
        row("all", all.total, &all.by_distance),
    ];
    table(&header, &rows, gap(width))
}

/// A number of the kernel, or the state of its source.
fn counted(sourced: &Sourced) -> String {
    match (sourced.value, sourced.reason.as_deref()) {
        (Some(value), None) => count(value),
        (Some(value), Some(limit)) => format!("{} ({limit})", count(value)),
        (None, _) => format!("{NONE} ({})", sourced.state),
    }
}

fn residency(run: &Run, width: usize) -> String {
    let all = &run.residency;
    let mut title = "where the tasks were, by time in the window".to_owned();
    if all.cpus.is_empty() {
        let text = format!("{title}: not known, as no time was recorded");
        return wrapped("", &text, width);
    }
    let has_groups = all.nodes.len() > 1 || all.llcs.len() > 1;
    if has_groups && all.cpus.iter().any(|it| it.busy.is_some()) {
        title += "; CPUs busy there, whole run";
    }
    let mut rows: Vec<Row> = Vec::new();
    // That all were on the only one goes without saying.
    for (word, groups) in [("node", &all.nodes), ("LLC of", &all.llcs)] {
        let of = |it: &Share| (format!("{word} {}", it.name), it.share, it.busy);
        rows.extend(groups.iter().filter(|_| groups.len() > 1).map(of));
    }
    if all.instances.len() > 1 {
        // Beside memory they are in its table.
        let by_node = run.timeline.is_none() && all.nodes.len() > 1;
        rows.extend(all.instances.iter().flat_map(|it| of_instance(it, by_node)));
    }
    format!("{title}\n{}{}", shares(&rows, width), cpus(&all.cpus, width))
}

/// A name, the share of the time there, and the CPUs of it that anybody kept busy.
type Row = (String, f64, Option<f64>);

/// Where an instance was: on each node, and on which LLC most.
fn of_instance(it: &InstanceResidency, by_node: bool) -> Vec<Row> {
    let nodes = it.cpu.iter().filter(|_| by_node);
    let row = |what: String, share| (format!("instance {} {what}", it.instance), share, None);
    let mut rows: Vec<Row> =
        nodes.map(|node| row(format!("node {}", node.node), node.share)).collect();
    let most = it.llcs.iter().max_by(|a, b| a.share.total_cmp(&b.share));
    rows.extend(
        most.filter(|_| it.llcs.len() > 1)
            .map(|llc| row(format!("mostly LLC of {}", llc.name), llc.share)),
    );
    rows
}

fn shares(rows: &[Row], width: usize) -> String {
    let longest = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
    let has_busy = rows.iter().any(|(.., busy)| busy.is_some());
    let busy = |busy: &Option<f64>| match busy {
        _ if !has_busy => String::new(),
        Some(cpus) => format!("  {cpus:>5.1} busy"),
        None => " ".repeat(12),
    };
    let before = 2 + longest + 9 + if has_busy { 12 } else { 0 } + 2;
    let line = |(name, share, cpus): &Row| {
        let drawn = bar(*share, BAR.min(width.saturating_sub(before)));
        lines(&format!("{name:longest$} {:>8}{}  {drawn}", percent(*share), busy(cpus)))
    };
    rows.iter().map(line).collect()
}

/// A cell for each CPU, its bar against the busiest; of many CPUs a sentence.
fn cpus(all: &[Share], width: usize) -> String {
    let most = all.iter().map(|cpu| cpu.share).fold(0.0, f64::max);
    let idle: Vec<&Share> = all.iter().filter(|cpu| cpu.share == 0.0).collect();
    if all.len() > MOST_CPUS {
        let busiest = all.iter().find(|cpu| cpu.share == most);
        let text = format!(
            "{} CPUs, {} of them never used; the busiest is {} with {}",
            all.len(),
            idle.len(),
            busiest.map_or(NONE, |cpu| &cpu.name),
            percent(most)
        );
        return wrapped("  ", &text, width);
    }
    let cell = |cpu: &Share| {
        let drawn = bar(cpu.share / most, CELL_BAR);
        format!("{:>3} {:>7} {drawn:CELL_BAR$}", cpu.name, percent(cpu.share))
    };
    let per_line = ((width - 6) / CELL).max(1);
    let mut text = String::new();
    for (at, line) in all.chunks(per_line).enumerate() {
        let begin = if at == 0 { "CPU" } else { "   " };
        let cells: Vec<String> = line.iter().map(cell).collect();
        text += &lines(&format!("{begin}{}", cells.join(" ")));
    }
    text
}

fn kernel(run: &Run, width: usize) -> String {
    let all = &run.kernel;
    let per_slice = match (all.run_delay_ns.value, all.timeslices.value) {
        (Some(delay), Some(slices)) if slices > 0 => {
            format!(" ({} a timeslice)", unit::time(delay as f64 / slices as f64))
        }
        _ => String::new(),
    };
    let spent = |it: &Sourced| match it.value {
        Some(ns) => time(Some(ns)),
        None => format!("{NONE} ({})", it.state),
    };
    let text = format!(
        "on CPU {}, waiting for one {}{per_slice}, timeslices {}, switches: voluntary {}, \
         involuntary {}",
        spent(&all.run_ns),
        spent(&all.run_delay_ns),
        counted(&all.timeslices),
        counted(&all.voluntary_switches),
        counted(&all.involuntary_switches),
    );
    let spent = |s: Option<f64>| s.map_or(NONE.to_owned(), |s| format!("{s:.3} s"));
    let since = format!("user {}, system {}", spent(run.user_s), spent(run.sys_s));
    wrapped("kernel, whole run: ", &text, width)
        + &wrapped("kernel, since the gate: ", &since, width)
}
