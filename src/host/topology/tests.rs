//! Machines of many shapes, each against what was made of it.

use super::*;
use crate::host::files::tests::fake;

fn list(text: &str) -> CpuList {
    text.parse().unwrap()
}

/// `node: cpus` of each node, `node: cpus (size)` of each LLC, cores and packages.
fn summary(topology: &Topology) -> Vec<String> {
    let mut lines = Vec::new();
    for node in &topology.nodes {
        lines.push(format!("node {}: {}", node.id, node.cpus));
    }
    for llc in &topology.llcs {
        let size = llc.bytes.map_or("unknown".to_owned(), |n| format!("{} MiB", n >> 20));
        lines.push(format!("llc on node {}: {} {size}", llc.node, llc.cpus));
    }
    lines.push(format!("{} cores, {} packages", topology.n_cores, topology.n_packages));
    lines
}

/// What everything above relies on.
fn assert_consistent(topology: &Topology) {
    let of_nodes: usize = topology.nodes.iter().map(|node| node.cpus.len()).sum();
    let of_llcs: usize = topology.llcs.iter().map(|llc| llc.cpus.len()).sum();
    assert_eq!((of_nodes, of_llcs), (topology.cpus.len(), topology.cpus.len()));
    for cpu in &topology.cpus {
        let llc = &topology.llcs[cpu.place.llc as usize];
        assert!(llc.cpus.contains(cpu.id) && llc.node == cpu.place.node);
        assert!(topology.node(cpu.place.node).unwrap().cpus.contains(cpu.id));
        assert!(cpu.place.core < topology.n_cores && cpu.package < topology.n_packages);
    }
}

fn check(topology: Topology, expected: &[&str]) {
    assert_consistent(&topology);
    assert_eq!(summary(&topology), expected);
}

#[test]
fn synthetic_machines() {
    let of = |text| Topology::from_synthetic(text).unwrap();
    let laptop = ["node 0: 0-7", "llc on node 0: 0-7 16 MiB", "4 cores, 1 packages"];
    check(of("pack:1 l3:1 core:4 pu:2"), &laptop);
    check(
        of("pack:2 [numa] l3:2(size=32MiB) core:4 pu:2"),
        &[
            "node 0: 0-15",
            "node 1: 16-31",
            "llc on node 0: 0-7 32 MiB",
            "llc on node 0: 8-15 32 MiB",
            "llc on node 1: 16-23 32 MiB",
            "llc on node 1: 24-31 32 MiB",
            "16 cores, 2 packages",
        ],
    );
    let smt4 = ["node 0: 0-15", "llc on node 0: 0-15 unknown", "4 cores, 1 packages"];
    check(of("pack:1 core:4 pu:4"), &smt4);
    let four = of("pack:2 numa:2 l3:1 core:2 pu:1");
    assert_consistent(&four);
    assert_eq!((four.nodes.len(), four.llcs.len(), four.n_cores), (4, 4, 8));
}

#[test]
fn more_than_1024_cpus() {
    let topology = Topology::from_synthetic("pack:4 [numa] l3:8 core:24 pu:2").unwrap();
    assert_consistent(&topology);
    let sizes = (topology.cpus.len(), topology.n_cores, topology.llcs.len());
    assert_eq!(sizes, (1536, 768, 32));
    assert_eq!(topology.online().to_string(), "0-1535");
    let relation = |a, b| topology.relation(CpuId(a), CpuId(b)).unwrap();
    assert_eq!(relation(1534, 1535), Relation::Smt);
    assert_eq!(relation(1488, 1535), Relation::SameLlc);
    assert_eq!(relation(1152, 1535), Relation::SameNode);
    assert_eq!(relation(1151, 1535), Relation::CrossNode);
    assert_eq!(topology.relation(CpuId(0), CpuId(1536)), None);
}

#[test]
fn made_up_memory() {
    let check = |text: &str, expected: u64| {
        let topology = Topology::from_synthetic(text).unwrap();
        let got: Vec<_> = topology.nodes.iter().map(|node| node.memory_bytes).collect();
        assert_eq!(got, [Some(expected << 30); 2], "of {text:?}");
    };
    check("pack:2 [numa] core:4 pu:2", 32);
    check("pack:2 [numa(memory=5GiB)] core:4 pu:2", 5);
}

#[test]
fn unreadable_descriptions_are_quoted() {
    let check = |text: &str, expected: &str| {
        let error = Topology::from_synthetic(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
    };
    check("pack:2 kore:4 pu:2", "`kore:4` of the made-up machine `pack:2 kore:4 pu:2`");
    check("pack:2 [nmua] core:4 pu:2", "`[nmua]`");
    check("pack:2 core:x pu:2", "`core:x`");
    check("pack:0 pu:1", "`pack:0`");
    check("", "the end");
    check("pack:99999 core:9999 pu:2", "has 1999780002 CPUs");
    check("pack:2 pu:99999999999999999999999", "CPUs; at most 65536");
    check("pack:2 \0 pu:1", "`\0`");
}

#[test]
fn xml_files() {
    let dir = fake(&[
        ("good.xml", include_str!("../fixture/llc-across-nodes.xml")),
        ("bad.xml", "<topology version=\"2.0\"><object type=\"Machine\""),
        ("other.xml", "<html></html>"),
        ("empty.xml", ""),
    ]);
    let topology = Topology::from_xml(dir.path().join("good.xml")).unwrap();
    assert_eq!(topology.distances, Some(vec![vec![10, 20], vec![20, 10]]));
    assert_eq!(topology.nodes[1].memory_bytes, Some(2 << 30));
    check(
        topology,
        &[
            "node 0: 0-1",
            "node 1: 2-3",
            "llc on node 0: 0-1 16 MiB",
            "llc on node 1: 2-3 16 MiB",
            "4 cores, 1 packages",
        ],
    );
    for name in ["bad.xml", "other.xml", "empty.xml", "missing.xml", ""] {
        let error = Topology::from_xml(dir.path().join(name)).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("lstopo"), "{error:?}");
    }
}

fn raw_cpu(id: u32, core: u64, package: u64, cache: Option<u64>) -> RawCpu {
    let cache = cache.map(|cache| (cache, Some(8 << 20)));
    RawCpu { id: CpuId(id), core, package, cache }
}

fn raw_node(id: u32, cpus: &str) -> RawNode {
    RawNode { id: NodeId(id), cpus: list(cpus), memory_bytes: Some(1 << 30) }
}

fn check_raw(raw: Raw, expected: &[&str]) {
    check(Topology::assemble(raw, "a test").unwrap(), expected);
}

#[test]
fn nodes_with_holes_and_cpu_0_offline() {
    let cpus = vec![
        raw_cpu(9, 3, 1, None),
        raw_cpu(1, 1, 0, Some(0)),
        raw_cpu(5, 2, 1, None),
        raw_cpu(3, 1, 0, Some(0)),
    ];
    let nodes = vec![raw_node(7, "5-9"), raw_node(4, "0-3"), raw_node(6, "")];
    let expected = [
        "node 4: 1,3",
        "node 6: ",
        "node 7: 5,9",
        "llc on node 4: 1,3 8 MiB",
        "llc on node 7: 5,9 unknown",
        "3 cores, 2 packages",
    ];
    check_raw(Raw { cpus, nodes, ..Raw::default() }, &expected);
}

#[test]
fn no_nodes_at_all() {
    let cpus = vec![raw_cpu(0, 0, 0, None), raw_cpu(1, 1, 0, None)];
    let raw = Raw { cpus, ..Raw::default() };
    let topology = Topology::assemble(raw.clone(), "a test").unwrap();
    assert_eq!((topology.nodes[0].memory_bytes, topology.distances), (None, None));
    let expected = ["node 0: 0-1", "llc on node 0: 0-1 unknown", "2 cores, 1 packages"];
    check_raw(raw, &expected);
    let error = Topology::assemble(Raw::default(), "a test").unwrap_err();
    assert_eq!(error.to_string(), "a test has no CPU that is online");
}

#[test]
fn cpus_of_no_node_join_that_of_their_package() {
    let cpus = (0..6).map(|id| raw_cpu(id, id.into(), (id / 2).into(), Some(0))).collect();
    let nodes = vec![raw_node(1, "0"), raw_node(2, "3")];
    let expected = [
        "node 1: 0-1,4-5",
        "node 2: 2-3",
        "llc on node 1: 0-1,4-5 8 MiB",
        "llc on node 2: 2-3 8 MiB",
        "6 cores, 3 packages",
    ];
    check_raw(Raw { cpus, nodes, ..Raw::default() }, &expected);
}

#[test]
fn a_node_that_is_only_near_cpus_has_none() {
    let cpus = || (0..4).map(|id| raw_cpu(id, id.into(), 0, Some(0))).collect();
    let nodes =
        || vec![raw_node(0, "0-1"), raw_node(1, "2-3"), raw_node(2, "0-1"), raw_node(3, "0-3")];
    let expected = [
        "node 0: 0-1",
        "node 1: 2-3",
        "node 2: ",
        "node 3: ",
        "llc on node 0: 0-1 8 MiB",
        "llc on node 1: 2-3 8 MiB",
        "4 cores, 1 packages",
    ];
    check_raw(Raw { cpus: cpus(), nodes: nodes(), ..Raw::default() }, &expected);

    // The kernel's word counts, if it has one for every node.
    let told = [("node0", "2-3"), ("node1", "0-1"), ("node2", ""), ("node3", "")];
    let files = told.map(|(node, cpus)| (format!("/sys/devices/system/node/{node}/cpulist"), cpus));
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    for (n_told, node_of_0) in [(4, 1), (3, 0)] {
        let dir = fake(&files[..n_told]);
        let mut raw = Raw { cpus: cpus(), nodes: nodes(), ..Raw::default() };
        take_cpus_of_nodes_from_kernel(&mut raw, &Root::new(dir.path()));
        let topology = Topology::assemble(raw, "a test").unwrap();
        assert_eq!(topology.cpus[0].place.node, NodeId(node_of_0), "{n_told} nodes told");
    }
}

#[test]
fn this_machine_has_the_cpus_that_the_kernel_calls_online() {
    let topology = Topology::read().unwrap();
    assert_consistent(&topology);
    if let Reading::Value(online) = Root::default().list("/sys/devices/system/cpu/online") {
        assert_eq!(topology.online(), online);
    }
}
