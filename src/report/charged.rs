//! The stored form of what the kernel charged to the cgroups of instances.
//!
//! None for a plan without cgroups. Must not know: how it was read, what else is known of memory.

use crate::base::{NodeId, Reading};
use crate::record::timeline::CgroupRecord;
use crate::report::Sourced;
use crate::report::judge::Case;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The cgroup of one instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceCgroup {
    pub instance: u32,
    /// By how much the counters of memory.stat grew from the gate to the end of the run.
    pub counters: BTreeMap<String, Sourced>,
    /// Its anonymous memory when the gate was opened, and at the last look that saw its tasks.
    pub anon: [Anon; 2],
}

/// Anonymous memory by node (memory.numa_stat).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Anon {
    /// The word of a [`crate::base::State`].
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Empty where it is not known.
    pub nodes: Vec<NodeBytes>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeBytes {
    pub node: u32,
    pub bytes: u64,
}

/// One for each instance that has one.
pub(super) fn all(case: &Case<'_>) -> Vec<InstanceCgroup> {
    (0..).zip(&case.recording.cgroups).map(|(at, record)| of_instance(at, record)).collect()
}

fn of_instance(instance: u32, record: &CgroupRecord) -> InstanceCgroup {
    let counters = record.counters.iter();
    InstanceCgroup {
        instance,
        counters: counters.map(|it| (it.key.clone(), Sourced::of(it.value.clone()))).collect(),
        anon: record.anon.each_ref().map(anon),
    }
}

fn anon(reading: &Reading<Vec<(NodeId, u64)>>) -> Anon {
    let reason = (!reading.reason().is_empty()).then(|| reading.reason().to_owned());
    let nodes = reading.value().into_iter().flatten();
    Anon {
        state: reading.state().name().to_owned(),
        reason,
        nodes: nodes.map(|&(node, bytes)| NodeBytes { node: node.0, bytes }).collect(),
    }
}
