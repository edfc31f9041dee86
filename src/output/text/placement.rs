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
    let title = "where the tasks were, by time in the window";
    if all.cpus.is_empty() {
        let text = format!("{title}: not known, as no time was recorded");
        return wrapped("", &text, width);
    }
    let mut rows: Vec<(String, f64)> = Vec::new();
    // That all were on the only node goes without saying.
    let says_more = |it: &&InstanceResidency| {
        let by_time = it.cpu_from.as_deref().is_none_or(|from| from == "time");
        by_time && (it.cpu.len() > 1 || all.instances.len() > 1)
    };
    for instance in all.instances.iter().filter(says_more) {
        let prefix = match all.instances.len() {
            1 => String::new(),
            _ => format!("instance {} ", instance.instance),
        };
        let nodes = instance.cpu.iter();
        rows.extend(nodes.map(|node| (format!("{prefix}node {}", node.node), node.share)));
    }
    if all.llcs.len() > 1 {
        let llcs = all.llcs.iter();
        rows.extend(llcs.map(|llc| (format!("LLC of {}", llc.name), llc.share)));
    }
    format!("{title}\n{}{}", shares(&rows), cpus(&all.cpus, width))
}

fn shares(rows: &[(String, f64)]) -> String {
    let names = rows.iter().map(|(name, _)| name.chars().count());
    let longest = names.max().unwrap_or(0);
    let line = |(name, share): &(String, f64)| {
        let drawn = bar(*share, BAR);
        lines(&format!("{name:longest$} {:>8}  {drawn}", percent(*share)))
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
         involuntary {}; user {:.3} s, system {:.3} s",
        spent(&all.run_ns),
        spent(&all.run_delay_ns),
        counted(&all.timeslices),
        counted(&all.voluntary_switches),
        counted(&all.involuntary_switches),
        run.user_s,
        run.sys_s
    );
    wrapped("kernel, whole run: ", &text, width)
}
