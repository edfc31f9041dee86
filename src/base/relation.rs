//! Where two CPUs stand to each other: the classes every wakeup and migration is sorted into.
//!
//! An LLC here is a last-level cache *within one node*: where hardware lets one cache span two
//! nodes, `host::topology` has split it already, as the kernel's own LLC domain never spans nodes
//! (kernel/sched/topology.c, set_sched_topology and match_llc in arch/x86/kernel/smpboot.c, v6.12).

use crate::base::NodeId;
use serde::{Deserialize, Serialize};

/// Where one CPU sits. `core` and `llc` are dense indices over the machine, not kernel ids,
/// since the kernel's are unique only within a package, or missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub core: u32,
    pub llc: u32,
    pub node: NodeId,
}

/// The waker's CPU against the CPU on which the wakee resumes, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Relation {
    SameCpu = 0,
    Smt = 1,
    SameLlc = 2,
    SameNode = 3,
    CrossNode = 4,
}

impl Relation {
    pub const ALL: [Relation; 5] = [
        Relation::SameCpu,
        Relation::Smt,
        Relation::SameLlc,
        Relation::SameNode,
        Relation::CrossNode,
    ];

    /// The name used in profiles, reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Relation::SameCpu => "same_cpu",
            Relation::Smt => "smt",
            Relation::SameLlc => "same_llc",
            Relation::SameNode => "same_node",
            Relation::CrossNode => "cross_node",
        }
    }

    /// The relation of two different CPUs at these places.
    #[inline]
    pub fn of_places(a: Place, b: Place) -> Relation {
        if a.node != b.node {
            Relation::CrossNode
        } else if a.core == b.core {
            Relation::Smt
        } else if a.llc == b.llc {
            Relation::SameLlc
        } else {
            Relation::SameNode
        }
    }
}
