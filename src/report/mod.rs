//! A judged recording: the numbers people argue about, each with its doubts, in the stored form.
//!
//! [`Report`] is the JSON document itself (DESIGN of the schema: fields are added, never renamed).
//! Must not know: how a run was made, how anything is drawn. Numbers are `None` when they were not
//! measured, never 0 in their stead.

use crate::base::Relation;
use crate::metric::Better;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the stored form that this code writes.
pub const SCHEMA: u32 = 1;

/// One or more runs of one plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub schema: u32,
    /// `schedload 0.1.0`.
    pub tool: String,
    pub profile: ProfileFacts,
    pub host: HostFacts,
    pub runs: Vec<Run>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileFacts {
    pub name: String,
    pub about: String,
    /// Every parameter as it was used, printed with its unit.
    pub params: BTreeMap<String, String>,
    /// Fingerprint of the plan: equal hashes mean the same work on the same shape of machine.
    pub hash: String,
    pub seed: u64,
    /// The metric that is the profile's result.
    pub primary: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Kernel release; `None` if it could not be read.
    pub kernel: Option<String>,
    pub kernel_version: Option<String>,
    /// Allowed CPUs, and the nodes and LLCs that have one.
    pub cpus: u32,
    pub nodes: u32,
    pub llcs: u32,
    pub cores: u32,
    pub allowed: String,
    /// Facts that were read, by key.
    pub knobs: BTreeMap<String, Option<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub run: u32,
    pub elapsed_s: f64,
    pub window_s: f64,
    pub user_s: f64,
    pub sys_s: f64,
    /// Creation of all tasks until everybody was ready.
    pub start_s: f64,
    /// `done`, `time_up`, `interrupted`, `failed`.
    pub end: String,
    /// The signal of an interrupted run, the failure of a failed one.
    pub end_detail: Option<String>,
    pub tasks: u32,
    pub metrics: BTreeMap<String, Metric>,
    pub latency: Vec<Latency>,
    pub messages: Messages,
    pub found_ready: u64,
    pub migrations: Migrations,
    pub kernel: KernelTotals,
    pub residency: Residency,
    pub sources: Vec<Source>,
    pub harness: Harness,
    pub checks: Vec<Check>,
    pub caveats: Vec<Caveat>,
}

/// A number, its unit, and which way is better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    pub value: Option<f64>,
    pub unit: String,
    pub better: Better,
    /// Why `value` is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One histogram: all of a team, or one relation and moved/stayed of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// `wakeup`, `found_ready`, `between_migrations`, or the name of a measure block.
    pub series: String,
    pub team: String,
    /// `all` or the name of a [`Relation`].
    pub relation: String,
    pub moved: Option<bool>,
    /// `ns`.
    pub unit: String,
    pub count: u64,
    pub min: Option<u64>,
    pub max: Option<u64>,
    pub mean: Option<f64>,
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p99: Option<u64>,
    pub p999: Option<u64>,
    /// HdrHistogram V2, base64; rebuilt for drawing and merging.
    pub hdr: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Messages {
    /// Over the whole run.
    pub sent: u64,
    pub received: u64,
    /// In the window.
    pub sent_window: u64,
    pub received_window: u64,
    pub wakeups: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Migrations {
    pub total: u64,
    pub across_sleep: u64,
    pub while_running: u64,
    /// By name of distance (`smt`, `same_llc`, `same_node`, `cross_node`).
    pub by_distance: BTreeMap<String, u64>,
    pub returned_10ms: u64,
    pub returned_100ms: u64,
    pub pulled_llc: u64,
    pub pulled_node: u64,
    /// Sum of the tasks' nr_migrations, over their whole lives.
    pub kernel: Sourced,
    pub by_cause: Sourced,
}

/// A number of the kernel, or the state of its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sourced {
    /// The word of a [`crate::base::State`].
    pub state: String,
    pub value: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Sums over the tasks' whole lives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelTotals {
    pub voluntary_switches: Sourced,
    pub involuntary_switches: Sourced,
    pub run_ns: Sourced,
    pub run_delay_ns: Sourced,
    pub timeslices: Sourced,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Residency {
    pub instances: Vec<InstanceResidency>,
    /// Time-weighted share of each CPU, and of each LLC by its CPU list, over all instances.
    pub cpus: Vec<Share>,
    pub llcs: Vec<Share>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceResidency {
    pub instance: u32,
    pub cpu: Vec<NodeShare>,
    pub memory: Vec<RegionShare>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeShare {
    pub node: u32,
    pub share: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegionShare {
    pub region: String,
    pub node: u32,
    pub share: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// `3` for a CPU, `0-7` for an LLC.
    pub name: String,
    pub share: f64,
}

/// Where a number comes from, or why not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    pub name: String,
    pub state: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Harness {
    pub clock: String,
    pub clock_ns: f64,
    pub stamp_ns: f64,
    pub record_ns: f64,
}

/// A conservation law: when broken, the run is not to be trusted and the exit code says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    pub name: String,
    pub ok: bool,
    pub detail: String,
}

/// A doubt that travels with the numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Caveat {
    pub id: String,
    pub text: String,
}

/// The `relation` of a row over all relations.
pub const ALL: &str = "all";

/// The names of the rows of one team: `all`, then each relation.
pub fn relation_names() -> impl Iterator<Item = &'static str> {
    std::iter::once(ALL).chain(Relation::ALL.iter().map(|relation| relation.name()))
}
