//! hwloc's tree of a machine, reduced to a flat list that says what each CPU shares with others.
//!
//! The only file that knows the hwlocality crate. Must not know: how CPUs without a node, cores
//! without an id and caches across nodes are dealt with (`host::topology`).

use super::error::HostError;
use crate::base::{CpuId, CpuList, NodeId};
use hwlocality::Topology as Tree;
use hwlocality::bitmap::BitmapIndex;
use hwlocality::object::TopologyObject as Object;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::distance::DistancesKind;
use hwlocality::object::types::ObjectType;
use hwlocality::topology::builder::{BuildFlags, TopologyBuilder};
use std::collections::BTreeMap;
use std::path::Path;

/// What hwloc told. Things that CPUs share are named by numbers that only mean "the same one".
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Raw {
    pub cpus: Vec<RawCpu>,
    pub nodes: Vec<RawNode>,
    pub distances: BTreeMap<(NodeId, NodeId), u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RawCpu {
    pub id: CpuId,
    pub core: u64,
    pub package: u64,
    /// The outermost data or unified cache, and its size (bytes) if known.
    pub cache: Option<(u64, Option<u64>)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RawNode {
    pub id: NodeId,
    pub cpus: CpuList,
    pub memory_bytes: Option<u64>,
}

/// CPUs that `base::CpuList` can hold.
const MOST_CPUS: u64 = 65_536;

/// Memory of a made-up node for each of its CPUs, as servers have it; hwloc would say 1 GiB for
/// the whole node, into which no profile of interest fits.
const MADE_UP_BYTES_PER_CPU: u64 = 4 << 30;

pub fn this_machine() -> Result<Raw, HostError> {
    let failed = |reason: String| HostError::Hwloc { reason };
    // The x86 component binds the calling thread to each CPU in turn, allowed or not, to ask it for
    // its caches; Linux tells us as much.
    let tree = TopologyBuilder::new()
        .without_component("x86")
        .map_err(|error| failed(error.to_string()))?
        .with_flags(BuildFlags::INCLUDE_DISALLOWED)
        .map_err(|error| failed(error.to_string()))?
        .build()
        .map_err(|error| failed(error.to_string()))?;
    // The environment can make hwloc read a file instead.
    if !tree.is_this_system() {
        return Err(HostError::OtherMachine);
    }
    Ok(flat(&tree))
}

pub fn synthetic(text: &str) -> Result<Raw, HostError> {
    let n_cpus = (words(text).iter()).fold(1, |n: u64, word| n.saturating_mul(arity(word)));
    if n_cpus > MOST_CPUS {
        return Err(HostError::TooLarge { text: text.to_owned(), n_cpus, most: MOST_CPUS });
    }
    let Some(tree) = synthetic_tree(text) else {
        return Err(HostError::Synthetic { text: text.to_owned(), part: unreadable_part(text) });
    };
    let mut raw = flat(&tree);
    if !text.contains("memory=") {
        for node in &mut raw.nodes {
            node.memory_bytes = Some(MADE_UP_BYTES_PER_CPU * node.cpus.len() as u64);
        }
    }
    Ok(raw)
}

pub fn xml(path: &Path) -> Result<Raw, HostError> {
    let failed = |reason: String| HostError::Xml { path: path.to_owned(), reason };
    // Not left to hwloc: hwlocality panics on an errno that it does not expect of a file.
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let tree = TopologyBuilder::new()
        .from_xml(&text)
        .map_err(|error| failed(error.to_string()))?
        .with_flags(BuildFlags::INCLUDE_DISALLOWED)
        .map_err(|error| failed(error.to_string()))?
        .build()
        .map_err(|error| failed(error.to_string()))?;
    Ok(flat(&tree))
}

fn synthetic_tree(text: &str) -> Option<Tree> {
    TopologyBuilder::new().from_synthetic(text).ok()?.build().ok()
}

/// Names the part of a synthetic description that hwloc refuses, which it does not tell: the
/// first word that can not be followed by `pu:1`.
fn unreadable_part(text: &str) -> String {
    let words = words(text);
    let mut good = String::new();
    for (nth, word) in words.iter().enumerate() {
        let whole = if nth + 1 == words.len() && word.starts_with("pu") { "" } else { "pu:1" };
        // One of each level is enough to learn whether the word is understood.
        if synthetic_tree(&format!("{good} {word} {whole}")).is_none() {
            return format!("`{word}`");
        }
        good = format!("{good} {word}");
    }
    "the end".to_owned()
}

/// Words separated by spaces outside of parentheses and brackets.
fn words(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let outside = |c: char| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        c.is_whitespace() && depth == 0
    };
    text.split(outside).filter(|word| !word.is_empty()).collect()
}

/// How many of this level are in the one above: 2 for `core:2(...)`, 1 where no number is given.
fn arity(word: &str) -> u64 {
    if word.starts_with('[') {
        return 1;
    }
    let number = word.split_once(':').map_or(word, |(_, number)| number);
    let digits = number.split(|c: char| !c.is_ascii_digit()).next().unwrap_or("");
    match digits.parse() {
        Ok(n) => n,
        Err(_) if digits.is_empty() => 1,
        Err(_) => u64::MAX,
    }
}

fn flat(tree: &Tree) -> Raw {
    let cpus = tree.objects_with_type(ObjectType::PU).filter_map(raw_cpu).collect();
    let nodes = tree.objects_with_type(ObjectType::NUMANode).filter_map(raw_node).collect();
    Raw { cpus, nodes, distances: distances(tree).unwrap_or_default() }
}

fn raw_cpu(pu: &Object) -> Option<RawCpu> {
    let same = |ty| pu.first_ancestor_with_type(ty).map(Object::global_persistent_index);
    let own = pu.global_persistent_index();
    let cache = pu.ancestors().filter(|it| it.object_type().is_cpu_data_cache()).last();
    let id = CpuId(u32::try_from(pu.os_index()?).ok()?);
    Some(RawCpu {
        id,
        core: same(ObjectType::Core).unwrap_or(own),
        package: same(ObjectType::Package).unwrap_or(0),
        cache: cache.map(|cache| (cache.global_persistent_index(), cache_bytes(cache))),
    })
}

fn cache_bytes(cache: &Object) -> Option<u64> {
    match cache.attributes() {
        Some(ObjectAttributes::Cache(it)) => it.size().map(u64::from),
        _ => None,
    }
}

fn raw_node(node: &Object) -> Option<RawNode> {
    let index = |index: BitmapIndex| u32::try_from(usize::from(index)).ok().map(CpuId);
    let set = node.cpuset();
    let cpus = set.iter().flat_map(|set| set.iter_set()).filter_map(index).collect();
    let memory_bytes = match node.attributes() {
        Some(ObjectAttributes::NUMANode(it)) => Some(it.local_memory().map_or(0, u64::from)),
        _ => None,
    };
    Some(RawNode { id: node_id(node)?, cpus, memory_bytes })
}

fn node_id(node: &Object) -> Option<NodeId> {
    Some(NodeId(u32::try_from(node.os_index()?).ok()?))
}

fn distances(tree: &Tree) -> Option<BTreeMap<(NodeId, NodeId), u64>> {
    let latency = Some(DistancesKind::MEANS_LATENCY);
    let all = tree.distances_with_type(latency, ObjectType::NUMANode).ok()?;
    let latencies = all.first()?;
    let nodes: Vec<_> = latencies.objects().map(|node| node.and_then(node_id)).collect();
    let pairs = latencies.enumerate_distances();
    Some(pairs.filter_map(|((from, to), it)| Some(((nodes[from]?, nodes[to]?), it))).collect())
}
