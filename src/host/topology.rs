//! CPUs, cores, LLCs, nodes and distances, as hwloc or a made-up machine has them.
//!
//! Must not know: affinity masks of threads, what is run. LLCs are split at node borders (see
//! `base::relation`). What hwloc tells comes through `host::hwloc`; here it becomes dense, and
//! every CPU gets a core, an LLC and a node whatever the firmware left out.

use super::error::HostError;
use super::files::Root;
use super::hwloc::{self, Raw, RawCpu, RawNode};
use crate::base::{CpuId, CpuList, NodeId, Place, Reading, Relation};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::path::Path;

/// The online CPUs of a machine and how they hang together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Topology {
    /// Sorted by id.
    pub cpus: Vec<Cpu>,
    /// Sorted by id; also nodes without CPUs or without memory.
    pub nodes: Vec<Node>,
    /// By dense index.
    pub llcs: Vec<Llc>,
    /// Number of cores; `Place::core` is below it.
    pub n_cores: u32,
    pub n_packages: u32,
    /// SLIT distance between nodes, by position in `nodes`; `None` where the kernel tells none.
    pub distances: Option<Vec<Vec<u64>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    pub id: CpuId,
    pub package: u32,
    pub place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub id: NodeId,
    pub cpus: CpuList,
    /// Total memory of the node (bytes); 0 for a node without memory, `None` if not known.
    pub memory_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Llc {
    pub cpus: CpuList,
    pub node: NodeId,
    /// Size of the cache (bytes); `None` where there is no cache information and the LLC is
    /// assumed to be the package.
    pub bytes: Option<u64>,
}

impl Topology {
    /// This machine: its online CPUs, also those that this process may not use, since a wakeup
    /// can come from any of them. Call it before anything is pinned.
    pub fn read() -> Result<Topology, HostError> {
        let mut raw = hwloc::this_machine()?;
        take_cpus_of_nodes_from_kernel(&mut raw, &Root::default());
        Topology::assemble(raw, "this machine")
    }

    /// A made-up machine in hwloc's notation: `pack:2 [numa] l3:2 core:4 pu:2`. A node has 4 GiB
    /// for each of its CPUs unless the text says `memory=`.
    pub fn from_synthetic(text: &str) -> Result<Topology, HostError> {
        Topology::assemble(hwloc::synthetic(text)?, text)
    }

    /// The machine in a file that `lstopo --of xml` wrote.
    pub fn from_xml(path: impl AsRef<Path>) -> Result<Topology, HostError> {
        let path = path.as_ref();
        Topology::assemble(hwloc::xml(path)?, &path.display().to_string())
    }

    pub fn cpu(&self, id: CpuId) -> Option<&Cpu> {
        self.cpus.binary_search_by_key(&id, |cpu| cpu.id).ok().map(|at| &self.cpus[at])
    }

    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.binary_search_by_key(&id, |node| node.id).ok().map(|at| &self.nodes[at])
    }

    pub fn online(&self) -> CpuList {
        self.cpus.iter().map(|cpu| cpu.id).collect()
    }

    /// The relation of two online CPUs.
    pub fn relation(&self, a: CpuId, b: CpuId) -> Option<Relation> {
        if a == b {
            return Some(Relation::SameCpu);
        }
        Some(Relation::of_places(self.cpu(a)?.place, self.cpu(b)?.place))
    }

    /// Gives everything dense indices in the order of the CPUs.
    pub(super) fn assemble(mut raw: Raw, machine: &str) -> Result<Topology, HostError> {
        raw.cpus.sort_by_key(|cpu| cpu.id);
        raw.cpus.dedup_by_key(|cpu| cpu.id);
        if raw.cpus.is_empty() {
            return Err(HostError::NoCpu { machine: machine.to_owned() });
        }
        if raw.nodes.is_empty() {
            // A kernel without NUMA calls what it has node 0 wherever it has to name one.
            raw.nodes.push(RawNode { id: NodeId(0), cpus: CpuList::default(), memory_bytes: None });
        }
        raw.nodes.sort_by_key(|node| node.id);
        raw.nodes.dedup_by_key(|node| node.id);

        let nodes = nodes_of_cpus(&raw);
        let (mut packages, mut cores, mut llcs) = (Dense::new(), Dense::new(), Dense::new());
        let mut cpus = Vec::with_capacity(raw.cpus.len());
        let mut caches: Vec<(NodeId, Option<u64>, Vec<CpuId>)> = Vec::new();
        for (cpu, &node) in raw.cpus.iter().zip(&nodes) {
            let package = packages.index(cpu.package);
            // A core within two nodes would be a fault of the firmware; relations trust nodes.
            let core = cores.index((cpu.core, node));
            let cache = match cpu.cache {
                Some((cache, _)) => Shared::Cache(cache),
                None => Shared::Package(package),
            };
            let llc = llcs.index((cache, node));
            if llc as usize == caches.len() {
                caches.push((node, cpu.cache.and_then(|(_, bytes)| bytes), Vec::new()));
            }
            caches[llc as usize].2.push(cpu.id);
            cpus.push(Cpu { id: cpu.id, package, place: Place { core, llc, node } });
        }

        let members = |id: NodeId| cpus.iter().filter(move |cpu| cpu.place.node == id);
        let nodes: Vec<Node> = (raw.nodes.iter())
            .map(|node| Node {
                id: node.id,
                cpus: members(node.id).map(|cpu| cpu.id).collect(),
                memory_bytes: node.memory_bytes,
            })
            .collect();
        let llcs = caches.into_iter().map(|(node, bytes, cpus)| Llc {
            cpus: cpus.into_iter().collect(),
            node,
            bytes,
        });
        Ok(Topology {
            llcs: llcs.collect(),
            n_cores: cores.len(),
            n_packages: packages.len(),
            distances: matrix(&nodes, &raw.distances),
            cpus,
            nodes,
        })
    }
}

/// What the CPUs of an LLC share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Shared {
    Cache(u64),
    Package(u32),
}

/// Numbers things from 0 in the order in which they are first seen.
struct Dense<T>(HashMap<T, u32>);

impl<T: Eq + Hash> Dense<T> {
    fn new() -> Self {
        Dense(HashMap::new())
    }

    fn index(&mut self, of: T) -> u32 {
        let next = self.len();
        *self.0.entry(of).or_insert(next)
    }

    fn len(&self) -> u32 {
        self.0.len() as u32
    }
}

/// hwloc tells which CPUs are *near* a node, and so puts the CPUs of a socket also into its
/// high-bandwidth or CXL node; the scheduler asks which node a CPU *belongs to*.
fn take_cpus_of_nodes_from_kernel(raw: &mut Raw, root: &Root) {
    let list = |id: NodeId| root.list(&format!("/sys/devices/system/node/node{id}/cpulist"));
    let lists: Vec<_> = raw.nodes.iter().map(|node| list(node.id)).collect();
    // All or none: with some from here and some from there, CPUs could be in two nodes.
    if lists.iter().all(|list| list.value().is_some()) {
        for (node, list) in raw.nodes.iter_mut().zip(lists) {
            if let Reading::Value(cpus) = list {
                node.cpus = cpus;
            }
        }
    }
}

/// The node of each CPU: of the nodes that claim it the one with the fewest CPUs, then the lowest.
/// A CPU that no node claims joins the node of its package, else the lowest that has CPUs (Linux
/// itself gives every such CPU some online node: numa_init_array, arch/x86/mm/numa.c, v6.12).
fn nodes_of_cpus(raw: &Raw) -> Vec<NodeId> {
    let mut claims: HashMap<CpuId, (usize, NodeId)> = HashMap::new();
    for node in &raw.nodes {
        let claim = (node.cpus.len(), node.id);
        for cpu in node.cpus.iter() {
            claims.entry(cpu).and_modify(|best| *best = claim.min(*best)).or_insert(claim);
        }
    }
    let claimed = |cpu: &RawCpu| claims.get(&cpu.id).map(|&(_, node)| node);
    let mut of_package: HashMap<u64, NodeId> = HashMap::new();
    for cpu in &raw.cpus {
        if let Some(node) = claimed(cpu) {
            of_package.entry(cpu.package).or_insert(node);
        }
    }
    let used: BTreeSet<NodeId> = raw.cpus.iter().filter_map(claimed).collect();
    let lowest = used.first().copied().unwrap_or(raw.nodes[0].id);
    let of = |cpu| claimed(cpu).or_else(|| of_package.get(&cpu.package).copied()).unwrap_or(lowest);
    raw.cpus.iter().map(of).collect()
}

/// The distances as a matrix by position; `None` unless every pair is known.
fn matrix(nodes: &[Node], distances: &BTreeMap<(NodeId, NodeId), u64>) -> Option<Vec<Vec<u64>>> {
    let row = |from: &Node| -> Option<Vec<u64>> {
        nodes.iter().map(|to| distances.get(&(from.id, to.id)).copied()).collect()
    };
    nodes.iter().map(row).collect()
}

#[cfg(test)]
mod tests;
