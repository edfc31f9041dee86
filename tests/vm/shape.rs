//! The machines that are made up, one row each, and how QEMU is asked for them.
//!
//! Must not know: what is checked on them beside the names of the tables.

use crate::cpulist::{self, List};
use crate::guest::{Check, memory, moves, placement, profiles, topology};

/// A machine, and what must be true on it.
pub struct Shape {
    pub name: &'static str,
    /// QEMU's word for packages and cores. A package has one LLC.
    pub smp: &'static str,
    pub nodes: &'static [Node],
    /// From each node to each; if there are none, the kernel says 10 and 20.
    pub distances: &'static [&'static [u64]],
    /// CPUs of each LLC, as the hardware has it.
    pub llcs: &'static [&'static str],
    /// CPUs that are taken offline before the checks.
    pub offline: &'static str,
    /// CPUs for the kernel's `isolcpus`.
    pub isolated: &'static str,
    pub checks: &'static [&'static [Check]],
    /// Besides those.
    pub more: &'static [&'static [Check]],
}

pub struct Node {
    pub cpus: &'static str,
    pub mib: u32,
}

const fn node(cpus: &'static str, mib: u32) -> Node {
    Node { cpus, mib }
}

const PLAIN: Shape = Shape {
    name: "two-nodes",
    smp: "4,sockets=2,cores=2,threads=1",
    nodes: &[node("0-1", 1024), node("2-3", 1024)],
    distances: &[],
    llcs: &["0-1", "2-3"],
    offline: "",
    isolated: "",
    checks: &[
        topology::CHECKS,
        placement::LAWS,
        placement::ACROSS,
        placement::WITHIN,
        memory::CHECKS,
        moves::PLACED,
    ],
    more: &[],
};

/// Every shape boots once.
pub const SHAPES: &[Shape] = &[
    Shape {
        name: "four-nodes",
        smp: "8,sockets=4,cores=2,threads=1",
        nodes: &[node("0-1", 1024), node("2-3", 1024), node("4-5", 1024), node("6-7", 1024)],
        llcs: &["0-1", "2-3", "4-5", "6-7"],
        more: &[moves::WHO, profiles::CHECKS],
        ..PLAIN
    },
    PLAIN,
    Shape {
        name: "unequal-nodes",
        smp: "6,sockets=3,cores=2,threads=1",
        nodes: &[node("0-1", 1536), node("2-5", 768)],
        distances: &[&[10, 21], &[31, 10]],
        llcs: &["0-1", "2-3", "4-5"],
        more: &[placement::BETWEEN_LLCS],
        ..PLAIN
    },
    Shape {
        name: "node-without-cpus",
        nodes: &[node("0-1", 1024), node("2-3", 1024), node("", 512)],
        ..PLAIN
    },
    Shape {
        name: "llc-across-nodes",
        smp: "4,sockets=1,cores=4,threads=1",
        llcs: &["0-3"],
        ..PLAIN
    },
    Shape {
        name: "cpus-offline",
        offline: "2",
        checks: &[
            topology::CHECKS,
            placement::LAWS,
            placement::ACROSS,
            placement::WITHIN,
            placement::UNUSED,
        ],
        ..PLAIN
    },
    Shape {
        name: "isolcpus",
        isolated: "1,3",
        checks: &[
            topology::CHECKS,
            placement::LAWS,
            placement::ACROSS,
            placement::UNUSED,
            placement::ISOLATED,
        ],
        ..PLAIN
    },
];

impl Shape {
    pub fn of_name(name: &str) -> Option<&'static Shape> {
        SHAPES.iter().find(|shape| shape.name == name)
    }

    pub fn checks(&self) -> impl Iterator<Item = &'static Check> {
        self.checks.iter().chain(self.more).copied().flatten()
    }

    /// All CPUs that may be online during the checks.
    pub fn online(&self) -> List {
        let all = self.nodes.iter().flat_map(|node| cpulist::parse(node.cpus));
        let offline = cpulist::parse(self.offline);
        all.filter(|cpu| !offline.contains(cpu)).collect()
    }

    /// The online CPUs of each node.
    pub fn cpus_of_nodes(&self) -> Vec<List> {
        let online = self.online();
        let of_node = |node: &Node| &cpulist::parse(node.cpus) & &online;
        self.nodes.iter().map(of_node).collect()
    }

    /// Online CPUs that the scheduler uses by itself.
    pub fn usable(&self) -> List {
        &self.online() - &cpulist::parse(self.isolated)
    }

    pub fn usable_of_nodes(&self) -> Vec<List> {
        let usable = self.usable();
        self.cpus_of_nodes().iter().map(|cpus| cpus & &usable).collect()
    }

    /// The nodes, by number, that have a usable CPU.
    pub fn nodes_in_use(&self) -> Vec<usize> {
        let nodes = self.usable_of_nodes();
        (0..nodes.len()).filter(|idx| !nodes[*idx].is_empty()).collect()
    }

    /// Two usable CPUs of one node that share an LLC.
    pub fn pair_within_an_llc(&self) -> Option<(u32, u32)> {
        self.pair_within_a_node(|a, b| self.llc_of(a) == self.llc_of(b))
    }

    /// Two usable CPUs of one node that share no LLC.
    pub fn pair_between_llcs(&self) -> Option<(u32, u32)> {
        self.pair_within_a_node(|a, b| self.llc_of(a) != self.llc_of(b))
    }

    fn pair_within_a_node(&self, fits: impl Fn(u32, u32) -> bool) -> Option<(u32, u32)> {
        self.usable_of_nodes().iter().find_map(|cpus| {
            let first = *cpus.first()?;
            let second = cpus.iter().skip(1).find(|cpu| fits(first, **cpu))?;
            Some((first, *second))
        })
    }

    fn llc_of(&self, cpu: u32) -> Option<usize> {
        self.llcs.iter().position(|llc| cpulist::parse(llc).contains(&cpu))
    }

    pub fn distances(&self) -> Vec<Vec<u64>> {
        let n_nodes = self.nodes.len();
        let usual = |from: usize| (0..n_nodes).map(|to| if from == to { 10 } else { 20 }).collect();
        match self.distances {
            [] => (0..n_nodes).map(usual).collect(),
            told => told.iter().map(|row| row.to_vec()).collect(),
        }
    }

    /// QEMU's arguments for the machine.
    pub fn arguments(&self) -> Vec<String> {
        let mib: u32 = self.nodes.iter().map(|node| node.mib).sum();
        let mut words: Vec<String> =
            ["-smp", self.smp, "-m"].into_iter().map(str::to_owned).collect();
        words.push(mib.to_string());
        for (idx, node) in self.nodes.iter().enumerate() {
            words.push("-object".to_owned());
            words.push(format!("memory-backend-ram,id=m{idx},size={}M", node.mib));
            let ranges = node.cpus.split(',').filter(|range| !range.is_empty());
            let cpus: String = ranges.map(|range| format!(",cpus={range}")).collect();
            words.push("-numa".to_owned());
            words.push(format!("node,nodeid={idx},memdev=m{idx}{cpus}"));
        }
        for (from, row) in self.distances.iter().enumerate() {
            for (to, value) in row.iter().enumerate().filter(|(to, _)| *to != from) {
                words.push("-numa".to_owned());
                words.push(format!("dist,src={from},dst={to},val={value}"));
            }
        }
        words
    }

    /// What the kernel is told beside what all shapes have in common.
    pub fn kernel_arguments(&self) -> String {
        match self.isolated {
            "" => String::new(),
            cpus => format!("isolcpus={cpus}"),
        }
    }
}

#[test]
fn shapes_in_the_words_of_qemu() {
    let check = |name: &str, expected: &str| {
        let shape = Shape::of_name(name).expect(name);
        assert_eq!(shape.arguments().join(" "), expected, "{name}");
    };
    let memory = |idx: u32, mib: u32| format!("-object memory-backend-ram,id=m{idx},size={mib}M");
    check(
        "unequal-nodes",
        &format!(
            "-smp 6,sockets=3,cores=2,threads=1 -m 2304 {} -numa node,nodeid=0,memdev=m0,cpus=0-1 \
             {} -numa node,nodeid=1,memdev=m1,cpus=2-5 -numa dist,src=0,dst=1,val=21 \
             -numa dist,src=1,dst=0,val=31",
            memory(0, 1536),
            memory(1, 768)
        ),
    );
    let cpuless = Shape::of_name("node-without-cpus").expect("a row");
    let last = cpuless.arguments().pop();
    assert_eq!(last.as_deref(), Some("node,nodeid=2,memdev=m2"));
    assert_eq!(cpuless.distances(), [[10, 20, 20], [20, 10, 20], [20, 20, 10]]);
}

#[test]
fn cpus_that_a_shape_has() {
    type Pair = Option<(u32, u32)>;
    let check = |name: &str, usable: &str, within: Pair, between: Pair| {
        let shape = Shape::of_name(name).expect(name);
        assert_eq!(shape.usable(), cpulist::parse(usable), "{name}");
        assert_eq!(shape.nodes_in_use()[..2], [0, 1], "{name}");
        assert_eq!(shape.pair_within_an_llc(), within, "{name}");
        assert_eq!(shape.pair_between_llcs(), between, "{name}");
    };
    check("four-nodes", "0-7", Some((0, 1)), None);
    check("unequal-nodes", "0-5", Some((0, 1)), Some((2, 4)));
    check("cpus-offline", "0-1,3", Some((0, 1)), None);
    check("isolcpus", "0,2", None, None);
}

#[test]
fn names_are_not_given_twice() {
    let mut names: Vec<&str> = SHAPES.iter().map(|shape| shape.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), SHAPES.len());
    for shape in SHAPES {
        let mut checks: Vec<&str> = shape.checks().map(|check| check.name).collect();
        let n_checks = checks.len();
        checks.sort_unstable();
        checks.dedup();
        assert_eq!(checks.len(), n_checks, "{}", shape.name);
    }
}
