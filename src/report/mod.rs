//! A judged recording: the numbers people argue about, each with its doubts, in the stored form.
//!
//! [`Report`] is the JSON document itself (DESIGN of the schema: fields are added, never renamed).
//! Must not know: how a run was made, how anything is drawn. Numbers are `None` when they were not
//! measured, never 0 in their stead. Reading on: `judge.rs` makes it, one file for each part.

mod arrivals;
mod asleep;
mod caveats;
pub mod charged;
mod checks;
mod compact;
mod conditions;
pub mod convergence;
pub mod histogram;
mod instances;
mod judge;
mod latency;
mod looks;
mod memory_doubts;
pub mod memory_steps;
mod metrics;
mod placement;
pub mod preferred;
mod queues;
mod shares;
mod sources;
mod stored;
mod summary;
mod sync;
mod sync_metrics;
pub mod timeline;
pub mod trial;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
pub(crate) mod fixture_memory;
#[cfg(test)]
mod fixture_sync;

pub use charged::{Anon, InstanceCgroup, NodeBytes};
pub use conditions::Condition;
pub use convergence::{InstancePlacement, Judged};
pub use histogram::{Histogram, HistogramError};
pub use memory_steps::MemoryStep;
pub use preferred::{Preferred, TeamNuma};
pub use queues::QueueRow;
pub use shares::InstanceCounts;
pub use stored::ReportError;
pub use sync::SyncRow;
pub use timeline::{InstanceTimeline, RegionTimeline, Timeline};
pub use trial::Trial;

use crate::base::Relation;
use crate::metric::Better;
use crate::plan::RampPlan;
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
    /// Each metric across the runs; empty for a single run.
    #[serde(default)]
    pub summary: BTreeMap<String, Summary>,
}

/// One metric across several runs of the same plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Runs in which it had a value; the others are left out, not counted as 0.
    pub n: u32,
    pub min: f64,
    pub mean: f64,
    pub max: f64,
    /// Coefficient of variation: standard deviation (of n - 1) over mean; `None` below two values
    /// and for a mean of 0.
    pub cv: Option<f64>,
    pub unit: String,
    pub better: Better,
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
    /// The metrics that the profile is about, that one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watch: Vec<String>,
    /// How the points of a sweep are called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<RampPlan>,
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
    /// Every fact by key; `None` if it could not be read.
    pub knobs: BTreeMap<String, Option<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub run: u32,
    pub elapsed_s: f64,
    pub window_s: f64,
    /// From opening the gate to the end, as `elapsed_s`; `None` if not known.
    pub user_s: Option<f64>,
    pub sys_s: Option<f64>,
    /// Creation of all tasks until everybody was ready.
    pub start_s: f64,
    /// `done`, `time_up`, `interrupted`, `failed`.
    pub end: String,
    /// The signal of an interrupted run, the failure of a failed one.
    pub end_detail: Option<String>,
    pub tasks: u32,
    pub metrics: BTreeMap<String, Metric>,
    pub latency: Vec<Latency>,
    /// By measure block and instance; empty with one instance, and where they are not kept apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<InstanceBlocks>,
    /// Blocks whose rounds have times of their own: `arrive` and `every`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<Arrivals>,
    /// By channel; empty where nothing is measured from its arrival.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueRow>,
    pub messages: Messages,
    pub found_ready: u64,
    pub migrations: Migrations,
    pub kernel: KernelTotals,
    pub residency: Residency,
    /// A row for each team and barrier, lock, group commit or safepoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sync: Vec<SyncRow>,
    /// Where tasks and pages were over time; none for a profile without memory regions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// By team and kind of step, how fast memory was used; none without steps on memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_steps: Vec<MemoryStep>,
    /// By instance, how memory and tasks came together; empty without memory regions.
    #[serde(default)]
    pub placement: Vec<InstancePlacement>,
    /// By team, which nodes NUMA balancing wants its tasks on; empty without memory regions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numa: Vec<TeamNuma>,
    /// By instance, what the kernel charged to its cgroup; empty without cgroups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cgroups: Vec<InstanceCgroup>,
    /// Who moved, in a run that is a trial of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
    pub sources: Vec<Source>,
    pub harness: Harness,
    pub checks: Vec<Check>,
    /// What has to be so for the numbers to mean what the profile is about.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// Laws that could not be tested here, which is neither holding nor broken.
    #[serde(default)]
    pub unchecked: Vec<Unchecked>,
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
    #[serde(default)]
    pub p95: Option<u64>,
    pub p99: Option<u64>,
    pub p999: Option<u64>,
    /// HdrHistogram V2, base64; rebuilt for drawing and merging.
    pub hdr: String,
}

/// The rounds of a block that have times of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    pub team: String,
    /// The step: `arrive 2000/s, poisson`, `every 10ms`.
    pub at: String,
    /// Whether it goes on whatever became of the rounds before (`arrive`, but if `closed`).
    pub open_loop: bool,
    /// As the plan has it, of all members.
    pub offered_per_s: f64,
    /// Rounds begun in the window, per second of it.
    pub achieved_per_s: Option<f64>,
    /// Rounds begun in the window, and in the whole run.
    pub arrivals: u64,
    pub arrivals_total: u64,
    /// Of `every`, rounds of the window that were left out since their time had passed.
    pub missed: u64,
    /// From the time of a round until it began.
    pub lateness: Latency,
}

/// What one instance of several did of a measure block in the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceBlocks {
    pub instance: u32,
    pub measure: String,
    /// `None` for a window of no length.
    pub per_s: Option<f64>,
    /// How long they took, of all its teams.
    pub time: Latency,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Messages {
    /// Over the whole run.
    pub sent: u64,
    pub received: u64,
    /// In the window.
    pub sent_window: u64,
    pub received_window: u64,
    /// Of these, the ones that woke who waited for them.
    pub wakeups: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Migrations {
    pub total: u64,
    pub across_sleep: u64,
    pub while_running: u64,
    /// By name of distance (`smt`, `same_llc`, `same_node`, `cross_node`).
    pub by_distance: BTreeMap<String, u64>,
    #[serde(default)]
    pub across_sleep_by_distance: BTreeMap<String, u64>,
    #[serde(default)]
    pub while_running_by_distance: BTreeMap<String, u64>,
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
    /// Why there is no value, or what it does not cover.
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

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Residency {
    pub instances: Vec<InstanceResidency>,
    /// Time-weighted share of each CPU, of each LLC by its CPU list, and of each node, over all
    /// instances.
    pub cpus: Vec<Share>,
    pub llcs: Vec<Share>,
    #[serde(default)]
    pub nodes: Vec<Share>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceResidency {
    pub instance: u32,
    pub cpu: Vec<NodeShare>,
    /// What `cpu` is from: `time` that tasks told themselves, or `looks` of the timeline, which
    /// version 0.1 had for several instances; `None` if it is not known.
    #[serde(default)]
    pub cpu_from: Option<String>,
    /// By LLC, from the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub llcs: Vec<Share>,
    /// At the last look that told of the region; a share is of its resident pages.
    pub memory: Vec<RegionShare>,
    /// What its tasks saw of wakeups and migrations; `None` in older reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<InstanceCounts>,
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
    /// `3` for a CPU or node, `0-7` for an LLC.
    pub name: String,
    pub share: f64,
    /// How many of its CPUs were busy from the gate to the end of the run, whoever kept them so;
    /// `None` if the kernel did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
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
    /// Stamps and records as a share of the tasks' CPU time, over the whole run.
    #[serde(default)]
    pub share: Option<f64>,
}

/// A conservation law: when broken, the run is not to be trusted and the exit code says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    pub name: String,
    pub ok: bool,
    pub detail: String,
}

/// A conservation law that lacked what it takes to test it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unchecked {
    pub name: String,
    pub reason: String,
}

/// A doubt that travels with the numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Caveat {
    pub id: String,
    pub text: String,
}

/// Reasons that go without saying: of metrics about memory in a profile without any, and about who
/// moves where that is not the question.
pub const NO_MEMORY: &str = "the profile has no memory regions";
/// Why there is no active share of a team without `active` blocks.
pub const NO_ACTIVE: &str = "this team has no block for a part of it";
/// Why a metric of messages and wakeups has no value where nobody waits for one.
pub const NO_RECEIVER: &str = "no team of this profile receives messages";
/// Why a metric of a team's messages has no value where it waits for none.
pub const NO_MESSAGES: &str = "this team receives no messages";
/// Why a metric of a measure block has no value where parameters leave out all blocks of its name.
pub const NO_BLOCK: &str = "this run has no such measure block";
/// Why a metric of memory steps has no value where there are none of the kind.
pub const NO_SUCH_STEP: &str = "no step of this kind used memory in the window";
/// Why there is no rate of floating point operations where no step counts them.
pub const NO_FLOPS: &str = "no step of this profile computes";
/// Why a metric of a sort of sync object has no value where the profile has none.
pub const NO_SYNC: &str = "the profile has no such sync object";
/// Why a team has no number outside of pauses.
pub const NO_SAFEPOINT: &str = "no safepoint holds this team";
/// Why a metric of arrivals has no value where nothing arrives.
pub const NO_ARRIVALS: &str = "no team of this profile has requests arrive";
pub const NO_TRIAL: &str = "the profile is no trial of who moves";

/// Why a metric of what is apart has no value where nothing is.
pub const ONE_NODE: &str = "all CPUs that may be used are of one node";
pub const ONE_LLC: &str = "all CPUs that may be used share one last-level cache";

/// All of these.
pub const UNSAID: &[&str] = &[
    NO_ACTIVE,
    NO_FLOPS,
    NO_MEMORY,
    NO_TRIAL,
    NO_RECEIVER,
    NO_MESSAGES,
    NO_BLOCK,
    NO_SUCH_STEP,
    NO_SYNC,
    NO_SAFEPOINT,
    NO_ARRIVALS,
    arrivals::NO_ROUNDS,
    queues::NO_QUEUES,
    ONE_NODE,
    ONE_LLC,
];

/// The `relation` of a row over all relations.
pub const ALL: &str = "all";

/// The names of the rows of one team: `all`, then each relation.
pub fn relation_names() -> impl Iterator<Item = &'static str> {
    std::iter::once(ALL).chain(Relation::ALL.iter().map(|relation| relation.name()))
}

impl Report {
    /// The conservation laws that some run broke; with any, the numbers are not to be trusted.
    pub fn broken(&self) -> impl Iterator<Item = &Check> {
        let checks = self.runs.iter().flat_map(|run| &run.checks);
        checks.filter(|check| !check.ok)
    }

    /// The run whose value of the primary metric is the median one (of an even number, the lower
    /// of the middle two); without such values, the first.
    pub fn median_run(&self) -> Option<&Run> {
        let primary = self.profile.primary.as_deref();
        let value = |run: &Run| run.metrics.get(primary?)?.value;
        let mut valued: Vec<(f64, &Run)> =
            self.runs.iter().filter_map(|run| Some((value(run)?, run))).collect();
        valued.sort_by(|a, b| a.0.total_cmp(&b.0));
        let middle = valued.len().saturating_sub(1) / 2;
        let median = valued.get(middle).map(|&(_, run)| run);
        median.or(self.runs.first())
    }
}

impl Run {
    /// The row over all relations of this series and team.
    pub fn whole(&self, series: &str, team: &str) -> Option<&Latency> {
        self.latency.iter().find(|row| {
            row.series == series && row.team == team && row.relation == ALL && row.moved.is_none()
        })
    }
}
