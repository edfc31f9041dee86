//! Readers of NUMA facts that are not simply the text of one file.
//!
//! Each is a function from the files under a root to a reading. Must not know: other facts.

use super::node::mems_allowed;
use super::{KNOB, Mode};
use crate::base::{CpuId, CpuList, NodeId, Reading, State, unit};
use crate::host::Root;
use crate::host::knob::or_none;

const NODES: &str = "/sys/devices/system/node";
const TIERS: &str = "/sys/devices/virtual/memory_tiering";

/// `off`, `normal`, `memory tiering`.
pub fn balancing_mode(root: &Root) -> Reading<String> {
    let mode = root.text(KNOB).and_then(|text| Mode::of_knob(&text));
    mode.map(|mode| mode.map_or("off", Mode::name).to_owned())
}

/// `0-1`.
pub fn allowed_nodes(root: &Root) -> Reading<String> {
    let nodes = root.text("/proc/self/status").and_then(|status| mems_allowed(&status));
    nodes.map(|nodes| {
        let list: CpuList = nodes.into_iter().map(|NodeId(id)| CpuId(id)).collect();
        or_none(&list.to_string())
    })
}

/// `512 of 2.00 MiB on node 0 (500 free)`, by node and size; `none` where each pool is empty.
pub fn huge_pages(root: &Root) -> Reading<String> {
    let names = match root.names(NODES) {
        Reading::Value(names) => names,
        Reading::Absent(absence) => return Reading::Absent(absence),
    };
    let mut pools = Vec::new();
    let mut has_pool = false;
    for node in names.iter().filter_map(|name| name.strip_prefix("node")?.parse().ok()) {
        for kib in page_sizes(root, node) {
            has_pool = true;
            match pool(root, node, kib) {
                Reading::Value(shown) => pools.extend(shown),
                Reading::Absent(absence) => return Reading::Absent(absence),
            }
        }
    }
    match has_pool {
        true => Reading::Value(or_none(&pools.join(", "))),
        false => Reading::absent(State::Absent, format!("there is no {NODES}/node*/hugepages")),
    }
}

/// The sizes (KiB) of which the node has a pool.
fn page_sizes(root: &Root, node: u32) -> Vec<u64> {
    let names = root.names(&format!("{NODES}/node{node}/hugepages"));
    let size = |name: &String| name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok();
    let names = names.value().map_or(&[][..], Vec::as_slice);
    let mut sizes: Vec<u64> = names.iter().filter_map(size).collect();
    sizes.sort_unstable();
    sizes
}

/// A pool in words, if there is anything in it.
fn pool(root: &Root, node: u32, kib: u64) -> Reading<Option<String>> {
    let number =
        |file: &str| root.number(&format!("{NODES}/node{node}/hugepages/hugepages-{kib}kB/{file}"));
    let free = match number("free_hugepages") {
        Reading::Value(free) => format!("{free} free"),
        Reading::Absent(_) => "free ones unknown".to_owned(),
    };
    let size = unit::bytes(kib as f64 * 1024.0);
    number("nr_hugepages")
        .map(|pages| (pages > 0).then(|| format!("{pages} of {size} on node {node} ({free})")))
}

/// `4: nodes 0-1, 22: nodes 2`, the fastest tier first (mm/memory-tiers.c, v6.12).
pub fn memory_tiers(root: &Root) -> Reading<String> {
    let names = match root.names(TIERS) {
        Reading::Value(names) => names,
        Reading::Absent(absence) => return Reading::Absent(absence),
    };
    let mut tiers = Vec::new();
    for name in &names {
        let Some(tier) = name.strip_prefix("memory_tier") else {
            continue;
        };
        match root.text(&format!("{TIERS}/{name}/nodelist")) {
            Reading::Value(nodes) => tiers.push(format!("{tier}: nodes {}", or_none(&nodes))),
            Reading::Absent(absence) => return Reading::Absent(absence),
        }
    }
    Reading::Value(or_none(&tiers.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::files::tests::fake;

    fn check(read: fn(&Root) -> Reading<String>, files: &[(&str, &str)], expected: &str) {
        let dir = fake(files);
        let shown = match read(&Root::new(dir.path())) {
            Reading::Value(value) => value,
            Reading::Absent(absence) => format!("{}: {}", absence.state, absence.reason),
        };
        assert_eq!(shown, expected, "of {files:?}");
    }

    #[test]
    fn modes_in_words() {
        for (text, expected) in [
            ("0\n", "off"),
            ("1\n", "normal"),
            ("2\n", "memory tiering"),
            ("3\n", "normal, memory tiering"),
        ] {
            check(balancing_mode, &[(KNOB, text)], expected);
        }
        check(balancing_mode, &[], &format!("absent: there is no {KNOB}"));
    }

    #[test]
    fn nodes() {
        let status = "/proc/self/status";
        check(allowed_nodes, &[(status, "Mems_allowed_list:\t0-1,4\n")], "0-1,4");
        check(allowed_nodes, &[], "absent: there is no /proc/self/status");
    }

    #[test]
    fn pools_of_huge_pages() {
        let file = |node: u32, kib: u32, name: &str| {
            format!("/sys/devices/system/node/node{node}/hugepages/hugepages-{kib}kB/{name}")
        };
        let paths = [
            file(0, 2048, "nr_hugepages"),
            file(0, 2048, "free_hugepages"),
            file(0, 1_048_576, "nr_hugepages"),
            file(1, 2048, "nr_hugepages"),
        ];
        let of = |values: [&'static str; 4]| -> Vec<(&str, &str)> {
            paths.iter().map(String::as_str).zip(values).collect()
        };
        let expected = "512 of 2.00 MiB on node 0 (500 free), 1 of 1.00 GiB on node 0 (free ones \
                        unknown), 7 of 2.00 MiB on node 1 (free ones unknown)";
        check(huge_pages, &of(["512", "500", "1", "7"]), expected);
        check(huge_pages, &of(["0", "0", "0", "0"]), "none");
        let odd = format!("not supported: {} holds `x`, not a number", paths[3]);
        check(huge_pages, &of(["0", "0", "0", "x"]), &odd);
        let none = "absent: there is no /sys/devices/system/node/node*/hugepages";
        check(huge_pages, &[("/sys/devices/system/node/node0/meminfo", "")], none);
        check(huge_pages, &[], "absent: there is no /sys/devices/system/node");
    }

    #[test]
    fn tiers() {
        let file = |tier: u32| format!("{TIERS}/memory_tier{tier}/nodelist");
        let (fast, slow) = (file(4), file(22));
        check(
            memory_tiers,
            &[(slow.as_str(), "2\n"), (fast.as_str(), "0-1\n")],
            "4: nodes 0-1, 22: nodes 2",
        );
        check(memory_tiers, &[], &format!("absent: there is no {TIERS}"));
    }
}
