//! The machine as the product reads it, against the kernel's files and against the shape's row.
//!
//! Must not know: what runs on it.

use super::Check;
use super::kernel_files::read;
use super::program;
use crate::cpulist::{self, List};
use crate::shape::Shape;
use serde_json::Value;
use std::collections::BTreeSet;

pub const CHECKS: &[Check] = &[
    Check { name: "topology::the_kernel_has_the_shape", body: the_kernel_has_the_shape },
    Check { name: "topology::cpus_and_nodes", body: cpus_and_nodes },
    Check { name: "topology::memory_of_nodes", body: memory_of_nodes },
    Check { name: "topology::distances", body: distances },
    Check { name: "topology::llcs", body: llcs },
    Check { name: "topology::allowed_cpus", body: allowed_cpus },
];

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// Without this the other checks could pass on a machine that is not the one asked for.
fn the_kernel_has_the_shape(shape: &Shape) {
    assert_eq!(cpulist::parse(&read(&format!("{CPUS}/online"))), shape.online());
    let offline = cpulist::parse(&read(&format!("{CPUS}/offline")));
    assert!(cpulist::parse(shape.offline).is_subset(&offline), "offline: {offline:?}");
    assert_eq!(read(&format!("{CPUS}/isolated")), shape.isolated);
    let nodes = shape.cpus_of_nodes();
    assert_eq!(nodes_online().len(), nodes.len());
    for (node, cpus) in nodes_online().into_iter().zip(nodes) {
        assert_eq!(cpus_of_node(node), cpus, "node {node}");
    }
    assert_eq!(kernel_distances(), shape.distances());
    let hardware: BTreeSet<List> = shape.online().into_iter().map(llc_of).collect();
    let row = shape.llcs.iter().map(|llc| &cpulist::parse(llc) & &shape.online()).collect();
    assert_eq!(hardware, row, "LLCs");
}

fn cpus_and_nodes(_: &Shape) {
    let topology = &program::host()["topology"];
    let cpus = topology["cpus"].as_array().unwrap();
    let ids: List = cpus.iter().map(|cpu| number(&cpu["id"])).collect();
    assert_eq!(ids, cpulist::parse(&read(&format!("{CPUS}/online"))));
    let nodes = topology["nodes"].as_array().unwrap();
    let node_ids: List = nodes.iter().map(|node| number(&node["id"])).collect();
    assert_eq!(node_ids, nodes_online());
    for node in nodes {
        assert_eq!(list(&node["cpus"]), cpus_of_node(number(&node["id"])), "{node}");
    }
    for cpu in cpus {
        // Places name nodes by their position.
        let node = &nodes[number(&cpu["place"]["node"]) as usize];
        assert!(list(&node["cpus"]).contains(&number(&cpu["id"])), "{cpu} is not in {node}");
    }
}

fn memory_of_nodes(_: &Shape) {
    for node in program::host()["topology"]["nodes"].as_array().unwrap() {
        let meminfo = read(&format!("{NODES}/node{}/meminfo", node["id"]));
        let line = meminfo.lines().find(|line| line.contains("MemTotal:")).unwrap();
        let kib: u64 = line.split_ascii_whitespace().rev().nth(1).unwrap().parse().unwrap();
        assert_eq!(node["memory_bytes"].as_u64(), Some(kib << 10), "{node}: {line}");
    }
}

fn distances(_: &Shape) {
    let told = program::host()["topology"]["distances"].clone();
    let told: Vec<Vec<u64>> = serde_json::from_value(told).expect("distances");
    assert_eq!(told, kernel_distances());
}

/// An LLC is what shares a cache within one node.
fn llcs(_: &Shape) {
    let topology = &program::host()["topology"];
    let told = topology["llcs"].as_array().unwrap();
    let told: BTreeSet<List> = told.iter().map(|llc| list(&llc["cpus"])).collect();
    let nodes: Vec<List> = nodes_online().into_iter().map(cpus_of_node).collect();
    let caches = cpulist::parse(&read(&format!("{CPUS}/online"))).into_iter().map(llc_of);
    let within = caches.flat_map(|cache| nodes.iter().map(move |node| node & &cache));
    assert_eq!(told, within.filter(|cpus| !cpus.is_empty()).collect());
}

fn allowed_cpus(_: &Shape) {
    let status = read("/proc/self/status");
    let mut lines = status.lines();
    let allowed = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let online = cpulist::parse(&read(&format!("{CPUS}/online")));
    assert_eq!(list(&program::host()["allowed"]), &cpulist::parse(allowed) & &online);
}

fn number(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

fn list(value: &Value) -> List {
    cpulist::parse(value.as_str().unwrap())
}

fn nodes_online() -> List {
    cpulist::parse(&read(&format!("{NODES}/online")))
}

fn cpus_of_node(node: u32) -> List {
    cpulist::parse(&read(&format!("{NODES}/node{node}/cpulist")))
}

fn kernel_distances() -> Vec<Vec<u64>> {
    let row = |node| {
        let line = read(&format!("{NODES}/node{node}/distance"));
        line.split_ascii_whitespace().map(|distance| distance.parse().unwrap()).collect()
    };
    nodes_online().into_iter().map(row).collect()
}

/// The online CPUs that share the third-level cache of a CPU.
fn llc_of(cpu: u32) -> List {
    let cache = format!("{CPUS}/cpu{cpu}/cache/index3");
    assert_eq!(read(&format!("{cache}/level")), "3");
    cpulist::parse(&read(&format!("{cache}/shared_cpu_list")))
}
