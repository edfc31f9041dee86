//! Every built-in profile, and one with placements of all sorts, as planned on each machine.
//!
//! Must not know: how a plan is made.

use crate::{GOLDEN, Golden, compare, no_leftovers};
use schedload::host::{Host, Topology};
use schedload::plan::{Overrides, Plan, show};
use schedload::profile::{Profile, catalogue};
use std::path::Path;

/// A machine nobody needs to have.
struct Machine {
    name: &'static str,
    shape: Shape,
    /// The CPUs in the affinity mask, where these are not all.
    allowed: Option<&'static str>,
}

enum Shape {
    /// In hwloc's notation.
    Synthetic(&'static str),
    /// A file that lstopo could have written.
    Xml(&'static str),
}

const fn synthetic(name: &'static str, text: &'static str) -> Machine {
    Machine { name, shape: Shape::Synthetic(text), allowed: None }
}

const fn xml(name: &'static str, path: &'static str) -> Machine {
    Machine { name, shape: Shape::Xml(path), allowed: None }
}

const MACHINES: &[Machine] = &[
    synthetic("one-cpu", "pu:1"),
    synthetic("laptop", "pack:1 l3:1 core:4 pu:2"),
    synthetic("smt-off", "pack:1 l3:1 core:6 pu:1"),
    synthetic("two-nodes", "pack:2 [numa] l3:2 core:4 pu:2"),
    synthetic("four-nodes", "pack:2 numa:2 l3:2 core:4 pu:1"),
    synthetic("cpus-1200", "pack:2 [numa] l3:6 core:50 pu:2"),
    Machine {
        allowed: Some("1-6"),
        ..xml("offline-and-disallowed-cpus", "tests/golden/machines/offline-cpus.xml")
    },
    xml("memoryless-and-cpuless-nodes", "tests/golden/machines/memoryless-node.xml"),
    xml("llc-across-nodes", "src/host/fixture/llc-across-nodes.xml"),
];

/// Values of parameters under which a profile is planned.
type Params = &'static [(&'static str, &'static str)];

/// Each profile in both forms; the built-ins' own limits of size are left alone.
const PLANNED: &[(&str, Params)] = &[
    ("pingpong", &[("as", "threads")]),
    ("pingpong", &[("as", "processes"), ("tokens", "2"), ("bytes", "100 B")]),
    ("fanout", &[("as", "threads")]),
    ("fanout", &[("as", "processes"), ("kind", "eventfd"), ("work", "10us")]),
    ("hackbench", &[("as", "threads"), ("kind", "pipe")]),
    ("hackbench", &[("as", "processes")]),
    ("who-moves", &[("age", "8s")]),
    ("numa", &[]),
    ("numa05", &[("arm", "best")]),
    ("numa02", &[("arm", "worst"), ("bytes", "classic")]),
    ("linpack", &[]),
    ("stream", &[]),
    ("oltp", &[]),
    ("nas-third", &[]),
    ("nas-third", &[("threads", "2 * nodes"), ("choose", "random"), ("straggler", "50%")]),
    ("cas", &[]),
    ("cas", &[("arm", "single")]),
    ("web", &[]),
    ("web", &[("as", "processes"), ("arrivals", "closed")]),
    ("tests/golden/placement.toml", &[]),
    ("schbench", &[]),
    ("schbench", &[("messages", "nodes"), ("threads", "cpus_per_node"), ("rps", "1000")]),
    ("schbench", &[("messages", "2"), ("message_spread", "cpu"), ("pipe", "100 B")]),
    ("mix", &[]),
    ("jbb", &[]),
    ("jbb", &[("jvms", "nodes"), ("place", "node:instance"), ("gc", "0"), ("table", "0")]),
];

fn host(machine: &Machine) -> Host {
    let (topology, label) = match machine.shape {
        Shape::Synthetic(text) => (Topology::from_synthetic(text), text),
        Shape::Xml(path) => (Topology::from_xml(path), machine.name),
    };
    let topology = topology.unwrap_or_else(|error| panic!("{}: {error}", machine.name));
    let mut host = Host::made_up(topology, label);
    if let Some(allowed) = machine.allowed {
        host.allowed = allowed.parse().unwrap_or_else(|error| panic!("{allowed}: {error}"));
    }
    host
}

fn profile(name: &str) -> Profile {
    catalogue::load(name).unwrap_or_else(|error| panic!("{error}"))
}

fn planned(name: &str, params: Params, host: &Host) -> String {
    let params = params.iter();
    let overrides = Overrides {
        params: params.map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        ..Overrides::default()
    };
    match Plan::new(&profile(name), host, &overrides) {
        Ok(plan) => show(&plan),
        // That a machine is refused is worth keeping as well.
        Err(error) => format!("{error}\n"),
    }
}

/// All plans of a machine, under a line each that says what was asked for.
fn plans(machine: &Machine) -> Golden {
    let host = host(machine);
    let mut text = match machine.shape {
        Shape::Synthetic(text) => format!("{text}\n"),
        Shape::Xml(path) => format!("{path}\n"),
    };
    if let Some(allowed) = machine.allowed {
        text.push_str(&format!("allowed: {allowed}\n"));
    }
    for (name, params) in PLANNED {
        let flags: Vec<String> =
            params.iter().map(|(name, value)| format!(" --{name} '{value}'")).collect();
        text.push_str(&format!("\n==== {name}{}\n\n", flags.concat()));
        text.push_str(&planned(name, params, &host));
    }
    let file = format!("{}.txt", machine.name);
    Golden { path: Path::new(GOLDEN).join("plans").join(file), text }
}

#[test]
fn on_machines_of_many_shapes() {
    let all: Vec<Golden> = MACHINES.iter().map(plans).collect();
    no_leftovers("plans", "txt", &all);
    compare(&all);
}

#[test]
fn every_built_in_is_here() {
    for name in catalogue::names() {
        let planned = PLANNED.iter().filter(|(planned, _)| *planned == name);
        assert!(planned.count() > 0, "add {name} to PLANNED");
    }
}
