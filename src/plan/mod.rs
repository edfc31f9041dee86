//! A profile made exact for one machine: every number fixed, every name resolved, limits checked.
//!
//! [`Plan`] is a pure function of (profile, host, overrides, seed). It is small whatever the number
//! of tasks, since teams keep one list of operations for all members, and it is what a leader
//! process is sent. Must not know: threads, how anything is measured.
//! Reading on: `build.rs` has the order of things, `compile.rs` turns steps into operations,
//! `check.rs` asks whether that can work, `placement.rs` and `needs.rs` whether it can work here.

mod build;
mod cgroups;
mod check;
mod compile;
mod error;
pub mod flow;
mod hash;
mod machine;
mod memory;
mod metrics;
mod needs;
mod number;
mod owners;
mod placement;
mod recording;
mod resolve;
mod scheduling;
mod scope;
mod show;
mod space;
mod spawn;
mod sync;
mod traffic;

pub use error::{PlanError, Refusal};
pub use memory::{FirstTouch, HugePages, MemoryPlan, MemoryPolicy, Sharing};
pub use owners::{Owner, Usage};
pub use show::show;
pub use space::Space;
pub use sync::{Act, Fill, SyncOp, SyncPlan, SyncSort};

use crate::base::{CpuId, CpuList, NodeId, Place};
use crate::host::Host;
use crate::profile::Profile;
use crate::profile::expr::Node;
use serde::{Deserialize, Serialize};

/// What the command line sets besides the profile; texts as they were typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Parameters by name.
    pub params: Vec<(String, String)>,
    pub duration: Option<String>,
    pub warmup: Option<String>,
    pub seed: Option<u64>,
    /// Also where the profile wants more NUMA nodes than there are: a smoke test.
    pub allow_single_node: bool,
}

/// What will run here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub profile: String,
    pub about: String,
    /// Every parameter with the value used, printed with its unit.
    pub params: Vec<(String, String)>,
    /// The metrics the profile is about, the result first.
    pub watch: Vec<String>,
    /// What has to be so for the numbers to mean what the profile is about.
    pub conditions: Vec<ConditionPlan>,
    /// How the points of a sweep are called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<RampPlan>,
    pub seed: u64,
    /// Fingerprint of all that decides the work: 16 hex digits.
    pub hash: String,
    /// All online CPUs, sorted by id; tasks may use those that are allowed.
    pub cpus: Vec<PlanCpu>,
    /// All NUMA nodes, sorted by id, also those without CPUs or without memory.
    pub nodes: Vec<PlanNode>,
    /// Sets of processes that each run the whole pattern, with `copies / instances` copies.
    pub instances: u32,
    /// Whether instances are processes of their own; else there is one, in the caller's process.
    pub own_processes: bool,
    /// Those of each instance; empty: it is one.
    pub processes: Vec<ProcessPlan>,
    /// By instance; empty: they are in our own.
    pub cgroups: Vec<CgroupPlan>,
    /// The directory of our own, below which they are.
    pub own_cgroup: Option<String>,
    /// Over all instances.
    pub copies: u32,
    pub channels: Vec<ChannelPlan>,
    pub memory: Vec<MemoryPlan>,
    pub syncs: Vec<SyncPlan>,
    pub teams: Vec<TeamPlan>,
    /// Lines of the profile by team and operation, from 1; empty if it was built in Rust.
    pub lines: Vec<Vec<u32>>,
    /// Length of the window (ns); `None`: until the foreground teams have done their steps.
    pub duration_ns: Option<u64>,
    pub warmup_ns: u64,
    pub needs: Needs,
    /// What was decided and may surprise ("bytes are not carried by eventfd").
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanCpu {
    pub id: CpuId,
    pub place: Place,
    pub allowed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanNode {
    pub id: NodeId,
    pub has_memory: bool,
    /// The node with memory that is farthest from it; of several as far, the one behind it.
    pub farthest: NodeId,
}

/// A metric, and the values in which the run tests what the profile is about, in its unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConditionPlan {
    pub metric: String,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// What is not tested else.
    pub about: String,
}

/// How the points of a sweep over a parameter are called, and from which point to twice it their
/// score is taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RampPlan {
    pub over: String,
    pub row: String,
    pub peak: u32,
}

/// A process of each instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessPlan {
    pub name: String,
    pub about: String,
    /// The teams whose threads it has, at least one (positions in `Plan::teams`).
    pub teams: Vec<u32>,
}

/// The cgroup of an instance; `None` leaves what the kernel has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupPlan {
    pub cpus: Option<CpuList>,
    pub node: Option<NodeId>,
    pub weight: Option<u32>,
    /// CPU time in each period (ns).
    pub quota_ns: Option<u64>,
    pub period_ns: u64,
}

/// `count` instances, in each copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelPlan {
    pub name: String,
    /// Name of a row of `step::channel::KINDS`.
    pub kind: String,
    pub count: u32,
    /// The largest message that any step sends (bytes), at least 1.
    pub bytes: u32,
    /// The most tasks that send to one instance, and that wait on one.
    pub wakers: u32,
    pub wakees: u32,
    /// Whether waker and wakee may be in different processes.
    pub across_processes: bool,
}

/// Identical tasks, in each copy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TeamPlan {
    pub name: String,
    /// Members in each copy.
    pub size: u32,
    pub form: Form,
    pub background: bool,
    /// Its tasks are started by a `spawn` step, not before the gate.
    pub spawned: bool,
    pub scheduling: Scheduling,
    /// Member i of copy c may run on `cpus[(c * size + i) % cpus.len()]`; empty: wherever the
    /// inherited mask allows.
    pub cpus: Vec<CpuList>,
    /// The same of where members begin, before they may run there; empty: there at once.
    pub start_cpus: Vec<CpuList>,
    pub ops: Vec<Op>,
    /// Names of its measure blocks; `Op::Measure` has the index.
    pub measures: Vec<String>,
    /// Whether it waits on any channel.
    pub receives: bool,
    /// The largest message that it sends or receives (bytes), 0 without any.
    pub buffer_bytes: u32,
}

/// What a member of a team is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    Threads,
    Processes,
}

/// Attributes for sched_setattr(2) and prctl(2); `None` leaves what is inherited.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduling {
    pub policy: Option<Policy>,
    pub nice: Option<i32>,
    pub priority: Option<u32>,
    pub slice_ns: Option<u64>,
    /// How late sleeps may end; `None`: 1 ns for who sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_slack_ns: Option<u64>,
    pub uclamp_min: Option<u32>,
    pub uclamp_max: Option<u32>,
    pub deadline: Option<DeadlineTimes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    Other,
    Batch,
    Idle,
    Fifo,
    Rr,
    Deadline,
    Ext,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadlineTimes {
    pub runtime_ns: u64,
    pub deadline_ns: u64,
    pub period_ns: u64,
}

/// One operation of a team's flat program. Loops nest by position: a `Loop` jumps to its `end`
/// when done, the `Again` at the end of its body jumps back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    Send {
        channel: u32,
        pick: Pick,
        bytes: u32,
    },
    Receive {
        channel: u32,
        pick: Pick,
        bytes: u32,
    },
    /// Do the operations before `end`, the last of which is its `Again`, `count` times.
    Loop {
        count: Amount,
        end: u32,
    },
    /// Do the operations before `end` until the run stops.
    Forever {
        end: u32,
    },
    /// Back to the `Loop`, `Forever` or `During` at `begin`.
    Again {
        begin: u32,
    },
    /// Do the operations before `end` until this time has passed (ns).
    During {
        time: Amount,
        end: u32,
    },
    /// Who does what follows, and which of it.
    Flow(Box<flow::Flow>),
    /// Past the block that ends at `end`.
    Leave {
        end: u32,
    },
    /// Start the tasks of a team, in this copy.
    Spawn {
        team: u32,
    },
    /// Sleep until they have done their steps.
    Join {
        team: u32,
    },
    /// A step on memory.
    Use(Box<Use>),
    /// A step at a barrier, a lock, a group commit or a safepoint, or the end of its block.
    Sync(Box<SyncOp>),
    Measure {
        measure: u32,
    },
    EndMeasure {
        measure: u32,
    },
    /// A row of `step::work::KINDS`, with its amount in the row's unit.
    Work {
        kind: String,
        amount: Amount,
        /// Else it is the same each time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spread: Option<flow::Spread>,
    },
}

/// A step on memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Use {
    /// `sweep`, `touch`, `chase`, `allocate`, or the name of a row of
    /// `step::memory::stream::KERNELS`.
    pub verb: String,
    pub at: Slice,
    pub from: Option<Slice>,
    pub and: Option<Slice>,
    /// Name of a row of `step::memory::ACCESSES`.
    pub access: String,
    /// Share of the next slice that belongs to it.
    pub halo: f64,
    /// Of a sweep, only so many bytes from the begin; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<u64>,
    /// Number of accesses, or bytes taken.
    pub count: Amount,
    /// Exponent of a Zipf distribution; `None`: all lines alike.
    pub skew: Option<f64>,
}

/// Part of a region: one slice, or all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Index in `Plan::memory`.
    pub region: u32,
    pub slice: Pick,
}

/// Which instances of a channel, or slices of a region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    All,
    Next,
    Any,
    At(Amount),
}

/// A whole number, the same for all members or depending on `me`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    Fixed(u64),
    /// An expression with no names left but `me`; checked for every member when planned.
    PerMember(Node),
}

/// What the run needs of the system, as checked against the limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    pub tasks: u64,
    /// Most descriptors open at once in one process.
    pub open_files: u64,
    pub memory_bytes: u64,
    /// Memory mappings in one process.
    pub mappings: u64,
    /// The limits that these were checked against.
    pub limits: Vec<CheckedLimit>,
}

/// A limit that leaves room for the need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedLimit {
    /// Which need: `tasks`, `open files`, `memory`, `shared memory`, `mappings`.
    pub need: String,
    pub max: u64,
    /// `RLIMIT_NOFILE`, or the file that holds it.
    pub name: String,
}

impl Plan {
    /// The profile with these values on this host, or everything that stands against it.
    ///
    /// # Errors
    ///
    /// [`PlanError::Faults`] for what is wrong in the profile or in the values, all of it;
    /// [`PlanError::Host`] for what this host lacks: a limit, a right, a CPU, a node.
    ///
    /// # Examples
    ///
    /// A machine with two nodes that need not be there:
    ///
    /// ```
    /// use schedload::host::Topology;
    /// use schedload::plan::{Overrides, show};
    /// use schedload::profile::catalogue;
    /// use schedload::{Host, Plan};
    ///
    /// let topology = Topology::from_synthetic("pack:2 [numa] l3:2 core:4 pu:2")?;
    /// let host = Host::made_up(topology, "two nodes");
    /// let profile = catalogue::load("hackbench")?;
    /// let params = vec![("groups".to_owned(), "cpus / 2".to_owned())];
    /// let plan = Plan::new(&profile, &host, &Overrides { params, ..Overrides::default() })?;
    /// assert_eq!(plan.n_tasks(), 16 * 40);
    /// println!("{}", show(&plan));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(profile: &Profile, host: &Host, overrides: &Overrides) -> Result<Plan, PlanError> {
        build::plan(profile, host, overrides)
    }

    /// Number of tasks over all copies.
    pub fn n_tasks(&self) -> u64 {
        let per_copy: u64 = self.teams.iter().map(|team| u64::from(team.size)).sum();
        per_copy * u64::from(self.copies)
    }

    /// Of these, those that start at the gate.
    pub fn n_at_gate(&self) -> u64 {
        let teams = self.teams.iter().filter(|team| !team.spawned);
        let per_copy: u64 = teams.map(|team| u64::from(team.size)).sum();
        per_copy * u64::from(self.copies)
    }

    /// Whether any task is a process of its own, so that a leader must fork it.
    pub fn has_processes(&self) -> bool {
        self.own_processes || self.teams.iter().any(|team| team.form == Form::Processes)
    }
}

impl Plan {
    /// The line of the profile that an operation of a team comes from.
    pub fn line(&self, team: usize, op: usize) -> Option<u32> {
        self.lines.get(team)?.get(op).copied()
    }
}

impl Amount {
    /// The number for the member with this index in its team. For an operation that this member
    /// never reaches it may be any number.
    pub fn of(&self, me: u32) -> u64 {
        match self {
            Amount::Fixed(number) => *number,
            Amount::PerMember(node) => number::of_member(node, me).map_or(0, |value| value as u64),
        }
    }
}

#[cfg(test)]
mod tests;
