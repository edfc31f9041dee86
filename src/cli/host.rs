//! `schedload host`: the machine, its facts and limits, as text or JSON.
//!
//! Must not know: how any of it was read.

use crate::base::Reading;
use crate::base::unit::{self, counted};
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::{document, sink};
use crate::host::{CgroupLimit, Fact, Host, Limit, Limits, Topology};
use clap::ArgMatches;
use comfy_table::{ContentArrangement, Table, presets};

/// Columns of the text.
const WIDTH: u16 = 100;

pub fn host(matches: &ArgMatches) -> Result<Exit, Error> {
    let host = Host::read()?;
    let text = match matches.get_flag("json") {
        true => document::json("host", &host)?,
        false => show(&host),
    };
    sink::stdout(&text)?;
    Ok(Exit::Done)
}

fn show(host: &Host) -> String {
    format!(
        "{}\n{}\nFacts\n{}\nLimits\n{}",
        head(host),
        tree(&host.topology),
        facts(&host.facts),
        limits(&host.limits)
    )
}

fn head(host: &Host) -> String {
    let topology = &host.topology;
    format!(
        "Linux {}, {}\n{} of {} online CPUs may be used: {}\n{}, {}, {}, {}\n",
        shown(&host.kernel_release),
        shown(&host.kernel_version),
        host.allowed.len(),
        topology.cpus.len(),
        host.allowed,
        counted(topology.n_packages.into(), "package"),
        counted(topology.nodes.len() as u64, "node"),
        counted(topology.llcs.len() as u64, "LLC"),
        counted(topology.n_cores.into(), "core"),
    )
}

/// A value, or its state and why.
fn shown(reading: &Reading<String>) -> String {
    match reading {
        Reading::Value(value) => value.clone(),
        Reading::Absent(absence) => format!("{}: {}", absence.state, absence.reason),
    }
}

/// Nodes, in them LLCs, in them cores with their CPUs.
fn tree(topology: &Topology) -> String {
    let mut text = String::new();
    for node in &topology.nodes {
        let memory = match node.memory_bytes {
            Some(0) => "no memory".to_string(),
            Some(bytes) => unit::bytes(bytes as f64),
            None => "memory unknown".to_string(),
        };
        let cpus = match node.cpus.is_empty() {
            true => "no CPUs".to_string(),
            false => format!("CPUs {}", node.cpus),
        };
        text += &format!("node {}  {memory}  {cpus}\n", node.id);
        let llcs = topology.llcs.iter().enumerate().filter(|(_, llc)| llc.node == node.id);
        for (number, llc) in llcs {
            let size = match llc.bytes {
                Some(bytes) => unit::bytes(bytes as f64),
                None => "size unknown".to_string(),
            };
            text += &format!("  LLC {number}  {size}  CPUs {}\n", llc.cpus);
            text += &cores(topology, number as u32);
        }
    }
    text + &distances(topology)
}

/// The cores of an LLC, as many on a line as fit.
fn cores(topology: &Topology, llc: u32) -> String {
    let mut each: Vec<(u32, Vec<String>)> = Vec::new();
    for cpu in topology.cpus.iter().filter(|cpu| cpu.place.llc == llc) {
        match each.iter_mut().find(|(core, _)| *core == cpu.place.core) {
            Some((_, cpus)) => cpus.push(cpu.id.to_string()),
            None => each.push((cpu.place.core, vec![cpu.id.to_string()])),
        }
    }
    let mut text = String::new();
    let mut line = "   ".to_string();
    for (core, cpus) in each {
        let cell = format!(" core {core}: {} ", cpus.join(","));
        if line.len() + cell.len() > usize::from(WIDTH) {
            text += &format!("{}\n", line.trim_end());
            line = "   ".to_string();
        }
        line += &cell;
    }
    text + line.trim_end() + "\n"
}

/// What the firmware says of the way between nodes; nothing for a single one.
fn distances(topology: &Topology) -> String {
    match &topology.distances {
        Some(rows) if rows.len() > 1 => {
            let mut table = plain();
            let ids = || topology.nodes.iter().map(|node| format!("node {}", node.id));
            table.set_header(std::iter::once("distance".to_string()).chain(ids()));
            for (id, row) in ids().zip(rows) {
                let cells = row.iter().map(u64::to_string);
                table.add_row(std::iter::once(id).chain(cells));
            }
            lines(&table)
        }
        _ => String::new(),
    }
}

fn facts(facts: &[Fact]) -> String {
    let mut table = plain();
    for fact in facts {
        let value = format!("{}\n({})", shown(&fact.value), fact.about);
        table.add_row([&fact.key, &value]);
    }
    lines(&table)
}

fn limits(limits: &Limits) -> String {
    let mut table = plain();
    let soft = |limit: Limit| format!("{} (hard {})", most(limit.soft), most(limit.hard));
    let group = |limit: &CgroupLimit| format!("{} of {} used", limit.used, most(limit.max));
    let mut row = |name: &str, value: Option<String>, from: &str| {
        let value = value.unwrap_or_else(|| "not known".to_string());
        table.add_row([name, &value, from]);
    };
    let from_group = |limit: &Option<CgroupLimit>| {
        limit.as_ref().map_or("no cgroup limits it".to_string(), |limit| limit.file.clone())
    };
    let memory = |limit: &CgroupLimit| {
        let (used, max) = (unit::bytes(limit.used as f64), unit::bytes(limit.max as f64));
        format!("{used} of {max} used")
    };
    let tasks = &limits.system_tasks;
    row("size of a file", limits.file_bytes.map(soft), "RLIMIT_FSIZE (bytes), ulimit -f");
    row("open files", limits.open_files.map(soft), "RLIMIT_NOFILE, ulimit -n");
    row("tasks of the user", limits.user_tasks.map(soft), "RLIMIT_NPROC, ulimit -u");
    let file = from_group(&limits.cgroup_tasks);
    row("tasks of the cgroup", limits.cgroup_tasks.as_ref().map(group), &file);
    let file = tasks.as_ref().map_or("", |limit| limit.file.as_str());
    row("tasks of the system", tasks.as_ref().map(|limit| limit.max.to_string()), file);
    row("mappings", limits.max_map_count.map(|max| max.to_string()), "vm.max_map_count");
    let available = limits.memory_available_bytes.map(|bytes| unit::bytes(bytes as f64));
    row("memory", available, "MemAvailable of /proc/meminfo");
    let file = from_group(&limits.cgroup_memory);
    row("memory of the cgroup", limits.cgroup_memory.as_ref().map(memory), &file);
    for node in &limits.nodes {
        let free = node.free_bytes.map(|bytes| unit::bytes(bytes as f64));
        let free = free.map(|it| if node.allowed { it } else { format!("{it}, not allowed") });
        let file = format!("free and reclaimable, node{}/meminfo", node.id);
        row(&format!("memory of node {}", node.id), free, &file);
    }
    row("real-time priority", limits.rt_priority.map(soft), "RLIMIT_RTPRIO, ulimit -r");
    lines(&table)
}

/// The kernel's largest number stands for none.
fn most(limit: u64) -> String {
    match limit {
        u64::MAX => "unlimited".to_string(),
        limit => limit.to_string(),
    }
}

fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table
}

/// Without the spaces that fill up the last column.
fn lines(table: &Table) -> String {
    table.trim_fmt() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_up(text: &str) -> Topology {
        Topology::from_synthetic(text).unwrap()
    }

    #[test]
    fn a_machine_is_drawn_from_nodes_to_cpus() {
        let text =
            tree(&made_up("pack:2 [numa(memory=1073741824)] l3:1(size=8388608) core:2 pu:2"));
        assert_eq!(
            text.lines().take(4).collect::<Vec<_>>(),
            [
                "node 0  1.00 GiB  CPUs 0-3",
                "  LLC 0  8.00 MiB  CPUs 0-3",
                "    core 0: 0,1  core 1: 2,3",
                "node 1  1.00 GiB  CPUs 4-7",
            ]
        );
    }

    #[test]
    fn many_cores_stay_within_the_width() {
        let text = tree(&made_up("pack:1 l3:1 core:64 pu:2"));
        assert!(text.lines().all(|line| line.len() <= usize::from(WIDTH)), "{text}");
        assert!(text.contains("core 63: 126,127"), "{text}");
    }
}
