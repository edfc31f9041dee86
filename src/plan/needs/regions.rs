//! What memory regions need, in all and of the nodes that they are put on by name.
//!
//! A region that a node cannot hold is not refused by the kernel: with a policy that binds, its
//! pages come one by one until the OOM killer comes, and without one they silently go elsewhere.
//! Hence the check beforehand. Must not know: how a region is placed.

use super::super::{FirstTouch, MemoryPlan, MemoryPolicy, Plan, Refusal};
use crate::base::{CpuId, CpuList, NodeId};
use crate::host::{Limits, NodeLimit};
use std::collections::{BTreeMap, BTreeSet};

/// Of a region's bytes, so many per cent more must be free. Its page tables take 0.2 %; the kernel
/// reclaims below its watermarks, some tenths of a per cent of a zone (mm/page_alloc.c,
/// __setup_per_zone_wmarks, v6.12), and a run that lives off reclaim measures reclaim; the rest is
/// for what others allocate meanwhile.
const SPARE_PERCENT: u64 = 5;

const MIB: u64 = 1 << 20;

/// What must be free besides regions of this size (bytes).
pub(super) fn spare(bytes: u64) -> u64 {
    bytes / 100 * SPARE_PERCENT
}

/// All regions of all instances.
pub(super) fn bytes(plan: &Plan) -> u64 {
    let all = plan.memory.iter().enumerate().map(|(index, region)| {
        plan.bytes_in_instance(index).saturating_mul(region.n_instances(plan))
    });
    all.fold(0, u64::saturating_add)
}

/// Mappings in one process: one for each slice where slices have policies of their own, also for
/// the time of their first touch; and a guard.
pub(super) fn mappings(plan: &Plan) -> u64 {
    let of = |region: &MemoryPlan| {
        let by_node = matches!(region.first_touch, FirstTouch::Nodes(_));
        let split = by_node || region.policies.len() > 1;
        1 + if split { u64::from(region.count) } else { 1 }
    };
    plan.memory.iter().map(of).sum()
}

/// Refuses nodes that cannot have memory of ours, and more on a node than is free there.
pub(super) fn check(plan: &Plan, limits: &Limits, refusals: &mut Vec<Refusal>) {
    let before = refusals.len();
    for region in &plan.memory {
        let nodes = named(region);
        refusals.extend(nodes.into_iter().filter_map(|node| unusable(region, node, plan, limits)));
    }
    // How much is free on a node that cannot be used at all is no matter.
    if refusals.len() == before {
        refusals.extend(too_large(plan, limits));
    }
}

/// The nodes that a region names.
fn named(region: &MemoryPlan) -> BTreeSet<NodeId> {
    let of_policies = region.policies.iter().flat_map(|policy| match policy {
        MemoryPolicy::Default => &[][..],
        MemoryPolicy::Bind(nodes) | MemoryPolicy::Interleave(nodes) => nodes,
        MemoryPolicy::Preferred(node) => std::slice::from_ref(node),
    });
    let of_touch = match &region.first_touch {
        FirstTouch::Nodes(nodes) => &nodes[..],
        _ => &[],
    };
    of_policies.chain(of_touch).copied().collect()
}

fn unusable(region: &MemoryPlan, id: NodeId, plan: &Plan, limits: &Limits) -> Option<Refusal> {
    let refusal = |why: String, help: &str| {
        let message = format!("region `{}` is to be on node {id}, {why}", region.name);
        Some(Refusal::new(message).with_help(help))
    };
    let ids = |has: &dyn Fn(&NodeId) -> bool| {
        list(plan.nodes.iter().map(|node| node.id).filter(|id| has(id)))
    };
    let Some(node) = plan.nodes.iter().find(|node| node.id == id) else {
        let why = format!("which is not there; nodes: {}", ids(&|_| true));
        return refusal(why, "ask for another");
    };
    if !node.has_memory {
        let full = |id: &NodeId| plan.nodes.iter().any(|it| it.id == *id && it.has_memory);
        let why = format!("which has no memory; nodes with memory: {}", ids(&full));
        return refusal(why, "ask for another");
    }
    if limit_of(id, limits).is_some_and(|limit| !limit.allowed) {
        let allowed = |id: &NodeId| limit_of(*id, limits).is_none_or(|limit| limit.allowed);
        let why = format!(
            "where the cpuset allows no memory; allowed (Mems_allowed_list of /proc/self/status): \
             {}",
            ids(&allowed)
        );
        return refusal(why, "ask for another, or start in a cgroup with this node in cpuset.mems");
    }
    None
}

fn limit_of(id: NodeId, limits: &Limits) -> Option<&NodeLimit> {
    limits.nodes.iter().find(|limit| limit.id == id)
}

/// In the kernel's notation, which nodes share with CPUs.
fn list(ids: impl Iterator<Item = NodeId>) -> String {
    let list: CpuList = ids.map(|NodeId(id)| CpuId(id)).collect();
    list.to_string()
}

/// For each set of nodes that something is bound to: all that has to be within it against what is
/// free there.
fn too_large(plan: &Plan, limits: &Limits) -> Vec<Refusal> {
    let wanted = wanted(plan);
    let refusal = |nodes: &BTreeSet<NodeId>| {
        let inside = wanted.iter().filter(|(set, _)| set.is_subset(nodes));
        let bytes = inside.map(|(_, bytes)| *bytes).fold(0, u64::saturating_add);
        let free: Option<u64> = nodes.iter().map(|id| limit_of(*id, limits)?.free_bytes).sum();
        let need = bytes.saturating_add(spare(bytes));
        (need > free?).then(|| {
            let (s, on, leaves) = match nodes.len() {
                1 => ("", "it", "has"),
                _ => ("s", "them", "have"),
            };
            let message = format!(
                "node{s} {} {leaves} {} free or reclaimable \
                 (/sys/devices/system/node/node*/meminfo), and this plan puts {} on {on} and \
                 leaves {SPARE_PERCENT} % of that to the kernel, {} in all",
                list(nodes.iter().copied()),
                mib(free? / MIB),
                mib(bytes.div_ceil(MIB)),
                mib(need.div_ceil(MIB)),
            );
            Some(Refusal::new(message).with_help("ask for smaller regions or other nodes"))
        })?
    };
    wanted.keys().filter_map(refusal).collect()
}

/// Whole ones, those that are free rounded down and those that are wanted up, so that what does not
/// fit does not look as if it did.
fn mib(n: u64) -> String {
    format!("{n} MiB")
}

/// Bytes by the nodes that they have to be on.
fn wanted(plan: &Plan) -> BTreeMap<BTreeSet<NodeId>, u64> {
    let mut wanted = BTreeMap::new();
    for (index, region) in plan.memory.iter().enumerate() {
        let instances = region.n_instances(plan);
        // Where all slices of all instances are alike, once will do.
        let listed = match &region.first_touch {
            FirstTouch::Nodes(nodes) => nodes.len().max(region.policies.len()),
            _ => region.policies.len(),
        };
        let n_slices = u64::from(region.count).saturating_mul(instances);
        let n_looked = if listed <= 1 { n_slices.min(1) } else { n_slices };
        let bytes = match n_looked {
            0 => 0,
            n => region.slice_bytes.saturating_mul(n_slices / n),
        };
        let bytes = bytes.saturating_mul(plan.n_mappings(index));
        for at in 0..n_looked as usize {
            let nodes = required(region, at);
            if !nodes.is_empty() {
                let sum: &mut u64 = wanted.entry(nodes.iter().copied().collect()).or_default();
                *sum = sum.saturating_add(bytes);
            }
        }
    }
    wanted
}

/// The nodes on which a slice's pages are all to be (slices of all instances counted through):
/// those of a policy that binds, which decides whoever touches a page (mm/mempolicy.c,
/// get_vma_policy, v6.12), else of its first touch; none if it may be anywhere.
fn required(region: &MemoryPlan, at: usize) -> &[NodeId] {
    match (region.policy(at), &region.first_touch) {
        (MemoryPolicy::Bind(nodes), _) => nodes,
        (MemoryPolicy::Default, FirstTouch::Nodes(nodes)) if !nodes.is_empty() => {
            std::slice::from_ref(&nodes[at % nodes.len()])
        }
        _ => &[],
    }
}

#[cfg(test)]
mod tests;
