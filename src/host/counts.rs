//! The machine in ten numbers that profiles may use in expressions: `cpus / 3`.
//!
//! Counted over the CPUs that may be used, so that a profile made for a machine also fits one
//! node of it. Must not know: expressions.

use super::Topology;
use super::topology::Llc;
use crate::base::{CpuList, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// Numbers of things with at least one CPU that may be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub cpus: u32,
    pub cores: u32,
    pub llcs: u32,
    pub nodes: u32,
    /// Usable CPUs of the node that has most of them; the same for LLCs and, as `smt`, cores.
    pub cpus_per_node: u32,
    pub cpus_per_llc: u32,
    pub smt: u32,
    /// Bytes of the largest of those LLCs; where the kernel tells none, [`LLC_BYTES`].
    pub llc_bytes: u64,
    /// Ids of the first two nodes with a usable CPU and memory, whose ids need not be 0 and 1; of
    /// one such node both, of none 0.
    pub first_node: u32,
    pub second_node: u32,
}

/// What a last-level cache is taken for where its size is not known: more than most cores have.
pub const LLC_BYTES: u64 = 32 << 20;

impl Facts {
    pub const NAMES: [&'static str; 10] = [
        "cpus",
        "cores",
        "llcs",
        "nodes",
        "cpus_per_node",
        "cpus_per_llc",
        "smt",
        "llc_bytes",
        "first_node",
        "second_node",
    ];

    /// The number with this name, as expressions of profiles want it.
    pub fn get(&self, name: &str) -> Option<f64> {
        let number = match name {
            "cpus" => self.cpus,
            "cores" => self.cores,
            "llcs" => self.llcs,
            "nodes" => self.nodes,
            "cpus_per_node" => self.cpus_per_node,
            "cpus_per_llc" => self.cpus_per_llc,
            "smt" => self.smt,
            "llc_bytes" => return Some(self.llc_bytes as f64),
            "first_node" => self.first_node,
            "second_node" => self.second_node,
            _ => return None,
        };
        Some(f64::from(number))
    }
}

impl Topology {
    pub fn facts(&self, allowed: &CpuList) -> Facts {
        let cpus: Vec<_> = self.cpus.iter().filter(|cpu| allowed.contains(cpu.id)).collect();
        let (cores, smt) = groups(cpus.iter().map(|cpu| cpu.place.core));
        let used = |llc: &&Llc| !llc.cpus.and(allowed).is_empty();
        let llc_bytes = self.llcs.iter().filter(used).filter_map(|llc| llc.bytes).max();
        let llc_bytes = llc_bytes.filter(|bytes| *bytes > 0).unwrap_or(LLC_BYTES);
        let (llcs, cpus_per_llc) = groups(cpus.iter().map(|cpu| cpu.place.llc));
        let (nodes, cpus_per_node) = groups(cpus.iter().map(|cpu| cpu.place.node));
        let has_memory = |id| self.nodes.iter().any(|it| it.id == id && it.memory_bytes != Some(0));
        let homes: BTreeSet<NodeId> = cpus.iter().map(|cpu| cpu.place.node).collect();
        let mut homes = homes.into_iter().filter(|id| has_memory(*id)).map(|id| id.0);
        let first_node = homes.next().unwrap_or(0);
        let second_node = homes.next().unwrap_or(first_node);
        Facts {
            cpus: cpus.len() as u32,
            cores,
            llcs,
            nodes,
            cpus_per_node,
            cpus_per_llc,
            smt,
            llc_bytes,
            first_node,
            second_node,
        }
    }
}

impl Topology {
    /// Tasks on a node up to which the load balancer lets nodes be unequal: an eighth of a node's
    /// CPUs if it has one LLC, else the number of its LLCs (kernel/sched/topology.c,
    /// build_sched_domains, v6.12). Of all online CPUs, since scheduling domains have them all; of
    /// the node that has most, and the nearest level of nodes.
    pub fn imb_numa_nr(&self) -> u32 {
        let all: CpuList = self.cpus.iter().map(|cpu| cpu.id).collect();
        let facts = self.facts(&all);
        match facts.cpus_per_node / facts.cpus_per_llc.max(1) {
            0 | 1 => (facts.cpus_per_node / 8).max(1),
            llcs => llcs,
        }
    }
}

/// How many different keys there are, and how often the commonest comes.
fn groups<T: Eq + Hash>(keys: impl Iterator<Item = T>) -> (u32, u32) {
    let mut sizes: HashMap<T, u32> = HashMap::new();
    for key in keys {
        *sizes.entry(key).or_insert(0) += 1;
    }
    (sizes.len() as u32, sizes.values().copied().max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_may_be_used() {
        let check = |machine: &str, allowed: &str, expected: [u32; 7]| {
            let topology = Topology::from_synthetic(machine).unwrap();
            let facts = topology.facts(&allowed.parse().unwrap());
            let got: Vec<f64> =
                Facts::NAMES[..7].iter().map(|name| facts.get(name).unwrap()).collect();
            assert_eq!(got, expected.map(f64::from), "of {allowed:?} in {machine:?}");
            assert!(facts.get("llc_bytes").unwrap() > 0.0);
        };
        check("pack:1 l3:1 core:4 pu:2", "0-7", [8, 4, 1, 1, 8, 8, 2]);
        check("pack:1 l3:1 core:4 pu:2", "0,2,4", [3, 3, 1, 1, 3, 3, 1]);
        check("pack:2 [numa] l3:2 core:4 pu:2", "0-31", [32, 16, 4, 2, 16, 8, 2]);
        check("pack:2 [numa] l3:2 core:4 pu:2", "6-17,99", [12, 6, 3, 2, 10, 8, 2]);
        check("pack:2 [numa] l3:2 core:4 pu:4", "60-63", [4, 1, 1, 1, 4, 4, 4]);
        check("pack:1 l3:1 core:4 pu:2", "", [0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn unknown_names_have_no_number() {
        assert_eq!(Facts::default().get("sockets"), None);
    }

    #[test]
    fn nodes_need_not_begin_at_0() {
        let check = |machine: &str, allowed: &str, expected: [f64; 2]| {
            let topology = Topology::from_synthetic(machine).unwrap();
            let facts = topology.facts(&allowed.parse().unwrap());
            let got = ["first_node", "second_node"].map(|name| facts.get(name).unwrap());
            assert_eq!(got, expected, "of {allowed:?} in {machine:?}");
        };
        check("pack:2 [numa] core:4 pu:1", "0-7", [0.0, 1.0]);
        check("pack:2 [numa] core:4 pu:1", "4-7", [1.0, 1.0]);
        check("numa:4(indexes=4,5,6,7) core:2 pu:1", "0-7", [4.0, 5.0]);
        check("numa:4(indexes=4,5,6,7) core:2 pu:1", "2,6", [5.0, 7.0]);
        check("pack:2 [numa] core:4 pu:1", "", [0.0, 0.0]);
    }
}
