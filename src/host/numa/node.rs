//! Memory by node: of a node, of a cgroup on each node, and which nodes may be used.
//!
//! Must not know: how much of it is wanted.

use crate::base::{CpuList, NodeId, Reading, State};
use crate::host::Root;
use crate::host::files::parsed;
use crate::host::numa::of_controller;
use crate::host::task::value_of;

/// Memory of one node (bytes), by /sys/devices/system/node/nodeN/meminfo (drivers/base/node.c,
/// node_read_meminfo, v6.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeMemory {
    pub total: u64,
    /// Of which nothing is made.
    pub free: u64,
    /// File pages and slabs that the kernel gives back, when an allocation may go nowhere else.
    pub reclaimable: u64,
}

impl NodeMemory {
    pub fn read(root: &Root, node: NodeId) -> Reading<NodeMemory> {
        let path = format!("/sys/devices/system/node/node{node}/meminfo");
        root.text(&path).and_then(|text| NodeMemory::parse(&path, &text))
    }

    fn parse(path: &str, text: &str) -> Reading<NodeMemory> {
        let of = |key: &str| bytes(path, text, key);
        // A kernel that lacks a key has at least the rest to give back.
        let given_back = ["Active(file)", "Inactive(file)", "SReclaimable"];
        let reclaimable = given_back.iter().filter_map(|key| of(key).value().copied()).sum();
        of("MemTotal")
            .and_then(|total| of("MemFree").map(|free| NodeMemory { total, free, reclaimable }))
    }
}

/// Of a line `Node 0 MemFree:  4650356 kB`.
fn bytes(path: &str, text: &str, key: &str) -> Reading<u64> {
    let line = text.lines().find_map(|line| {
        let (head, value) = line.split_once(':')?;
        (head.split_ascii_whitespace().next_back() == Some(key)).then_some(value)
    });
    match line {
        Some(value) => {
            let number = value.trim().trim_end_matches("kB").trim_end();
            parsed::<u64>(path, number, "a number").map(|kib| kib.saturating_mul(1024))
        }
        None => Reading::absent(State::NotSupported, format!("{path} has no line {key}")),
    }
}

/// The nodes that the cpuset allows (Mems_allowed_list of /proc/self/status), which also a policy
/// of one's own cannot leave. It is a list as those of CPUs are.
pub fn mems_allowed(status: &str) -> Reading<Vec<NodeId>> {
    const PATH: &str = "/proc/self/status";
    match value_of(status, "Mems_allowed_list") {
        Some(list) => parsed::<CpuList>(PATH, list, "a list of nodes")
            .map(|list| list.iter().map(|id| NodeId(id.0)).collect()),
        None => Reading::absent(
            State::Absent,
            format!("{PATH} has no line Mems_allowed_list: a kernel without CONFIG_CPUSETS"),
        ),
    }
}

/// Anonymous memory of a cgroup v2 and all below it (bytes), by node: `anon` of memory.numa_stat
/// (mm/memcontrol.c, memory_numa_stat_show, v6.12). Pages of shared memory count as `file` there.
pub fn cgroup_anon(root: &Root, directory: &str) -> Reading<Vec<(NodeId, u64)>> {
    let (path, text) = of_controller(root, directory, "memory.numa_stat");
    text.and_then(|text| anon(&path, &text))
}

/// Of a line `anon N0=4096 N1=0`.
fn anon(path: &str, text: &str) -> Reading<Vec<(NodeId, u64)>> {
    let Some(line) = text.lines().find_map(|line| line.strip_prefix("anon ")) else {
        return Reading::absent(State::NotSupported, format!("{path} has no line anon"));
    };
    let part = |word: &str| {
        let (node, bytes) = word.strip_prefix('N')?.split_once('=')?;
        Some((NodeId(node.parse().ok()?), bytes.parse().ok()?))
    };
    match line.split_ascii_whitespace().map(part).collect() {
        Some(parts) => Reading::Value(parts),
        None => Reading::absent(State::NotSupported, format!("{path} holds `anon {line}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::files::tests::fake;

    const MEMINFO: &str = "\
Node 1 MemTotal:       24684092 kB
Node 1 MemFree:         4650356 kB
Node 1 MemUsed:        20033736 kB
Node 1 Active:          7077416 kB
Node 1 Active(anon):       1536 kB
Node 1 Active(file):       1000 kB
Node 1 Inactive(file):      200 kB
Node 1 SReclaimable:         30 kB
Node 1 HugePages_Total:     0
";

    fn shown<T: std::fmt::Debug>(reading: Reading<T>) -> String {
        match reading {
            Reading::Value(value) => format!("{value:?}"),
            Reading::Absent(absence) => format!("{}: {}", absence.state, absence.reason),
        }
    }

    #[test]
    fn memory_of_a_node() {
        let path = "/sys/devices/system/node/node1/meminfo";
        let check = |text: Option<&str>, expected: &str| {
            let files: Vec<_> = text.map(|it| (path, it)).into_iter().collect();
            let got = NodeMemory::read(&Root::new(fake(&files).path()), NodeId(1));
            let got = got.map(|it| [it.total, it.free, it.reclaimable].map(|bytes| bytes >> 10));
            assert_eq!(shown(got), expected, "of {text:?}");
        };
        check(Some(MEMINFO), "[24684092, 4650356, 1230]");
        check(Some("Node 1 MemTotal: 0 kB\nNode 1 MemFree: 0 kB\n"), "[0, 0, 0]");
        check(None, &format!("absent: there is no {path}"));
        check(Some(""), &format!("not supported: {path} has no line MemTotal"));
        let no_free = format!("not supported: {path} has no line MemFree");
        check(Some("Node 1 MemTotal: 5 kB\n"), &no_free);
        let odd = format!("not supported: {path} holds `much`, not a number");
        check(Some("Node 1 MemTotal: much\n"), &odd);
    }

    #[test]
    fn nodes_that_may_be_used() {
        let check = |text: &str, expected: &str| {
            let got = mems_allowed(text).map(|it| it.iter().map(|id| id.0).collect::<Vec<_>>());
            assert_eq!(shown(got), expected, "of {text:?}");
        };
        check("Mems_allowed:\t00000000,0000000d\nMems_allowed_list:\t0,2-3\n", "[0, 2, 3]");
        check("Mems_allowed_list:\t\n", "[]");
        let missing = "absent: /proc/self/status has no line Mems_allowed_list: a kernel without \
                       CONFIG_CPUSETS";
        check("Mems_allowed:\t1\n", missing);
        let odd = "not supported: /proc/self/status holds `some`, not a list of nodes";
        check("Mems_allowed_list:\tsome\n", odd);
    }

    #[test]
    fn memory_of_a_cgroup() {
        let path = "/cg/memory.numa_stat";
        let check = |text: Option<&str>, expected: &str| {
            let files: Vec<_> = text.map(|it| (path, it)).into_iter().collect();
            let got = cgroup_anon(&Root::new(fake(&files).path()), "/cg");
            let got = got.map(|it| it.iter().map(|(id, n)| (id.0, *n)).collect::<Vec<_>>());
            assert_eq!(shown(got), expected, "of {text:?}");
        };
        let whole = "anon N0=4096 N2=8192\nanon_thp N0=1 N2=2\nfile N0=5 N2=6\n";
        check(Some(whole), "[(0, 4096), (2, 8192)]");
        let closed = "the controller memory is not enabled for it";
        check(None, &format!("absent: there is no {path}: {closed}"));
        let none = format!("not supported: {path} has no line anon");
        check(Some("file N0=5\n"), &none);
        check(Some(""), &none);
        check(Some("anon N0=x\n"), &format!("not supported: {path} holds `anon N0=x`"));
        check(Some("anon 4096\n"), &format!("not supported: {path} holds `anon 4096`"));
    }
}
