//! CPUs, cores, LLCs, nodes and distances, as hwloc or a made-up machine has them.
//!
//! Must not know: affinity masks of threads, what is run. LLCs are split at node borders (see
//! `base::relation`).

use crate::base::{CpuId, CpuList, NodeId, Place, Relation};
use serde::{Deserialize, Serialize};

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
    pub fn cpu(&self, id: CpuId) -> Option<&Cpu> {
        self.cpus
            .binary_search_by_key(&id, |cpu| cpu.id)
            .ok()
            .map(|at| &self.cpus[at])
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
}
