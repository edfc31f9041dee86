//! What the kernel charged to the cgroup of each instance, a line for each.
//!
//! Must not know: where the numbers come from.

use super::layout::{count, pair, wrapped};
use crate::base::unit;
use crate::report::{InstanceCgroup, NodeBytes, Run};

/// `None` for a run without cgroups.
pub(super) fn section(run: &Run, width: usize) -> Option<String> {
    let lines: String = run.cgroups.iter().map(|it| wrapped("  ", &line(it), width)).collect();
    (!lines.is_empty()).then(|| format!("charged to the cgroups of instances\n{lines}"))
}

/// `instance 0: anonymous memory node 0 64.0 MiB → 0 B; numa_hint_faults 12; not known: ...`
fn line(it: &InstanceCgroup) -> String {
    let counters = it.counters.iter();
    let counters = counters.filter_map(|(key, it)| Some(pair(key, &count(it.value?))));
    // One reason for each file is enough; the JSON document has all.
    let no_anon = it.anon.iter().find_map(|it| it.reason.as_deref());
    let no_counter = it.counters.values().find_map(|it| it.reason.as_deref());
    let reasons = no_anon.into_iter().chain(no_counter);
    let reasons = reasons.map(|reason| format!("not known: {reason}"));
    let parts: Vec<String> = anon(it).into_iter().chain(counters).chain(reasons).collect();
    format!("instance {}: {}", it.instance, parts.join("; "))
}

/// What each node had at the gate and at the last look, without nodes that never had any.
fn anon(it: &InstanceCgroup) -> Option<String> {
    let [begin, end] = &it.anon;
    let bytes = |bytes: u64| unit::bytes(bytes as f64);
    let node = |at: &NodeBytes| {
        let before = begin.nodes.iter().find(|it| it.node == at.node).map_or(0, |it| it.bytes);
        let (before, after) = (bytes(before), bytes(at.bytes));
        pair(&format!("node {}", at.node), &format!("{before} → {after}"))
    };
    let had = |at: &u32| begin.nodes.iter().any(|it| it.node == *at && it.bytes > 0);
    let nodes = end.nodes.iter().filter(|it| it.bytes > 0 || had(&it.node));
    let nodes: Vec<String> = nodes.map(node).collect();
    (!nodes.is_empty()).then(|| format!("anonymous memory {}", nodes.join(", ")))
}
