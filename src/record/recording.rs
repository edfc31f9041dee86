//! One run as it was measured: plain values, nothing derived, nothing rounded.
//!
//! Times are nanoseconds. Everything named "in the window" leaves out the warm-up and whatever
//! came after the window. Must not know: percentiles, units for people, caveats.

use super::timeline::{CgroupRecord, Growth, SpaceRecord, Timeline};
use crate::base::{CpuId, NodeId, Reading, Relation};
use crate::sys::clock::Source;
use serde::{Deserialize, Serialize};

/// Everything that one run left behind.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// From opening the gate until the last task was reaped.
    pub elapsed_ns: u64,
    /// Length of the measured window.
    pub window_ns: u64,
    /// CPU time from opening the gate to the end, of all tasks and of the process that created
    /// them (getrusage); not known where that process is gone.
    pub cpu: Reading<CpuTime>,
    /// From the first task's creation until all were ready at the gate.
    pub start_ns: u64,
    pub end: End,
    /// Every histogram with at least one entry.
    pub series: Vec<Series>,
    /// By team, as in the plan.
    pub teams: Vec<TeamRecord>,
    /// By instance: LLCs (`Place::llc`), and the time of the window for which its tasks had the CPU
    /// that they last ran on there (ns), summed over them; LLCs without any are left out.
    pub instances: Vec<Vec<(u32, u64)>>,
    /// By task, in order of creation.
    pub tasks: Vec<TaskRecord>,
    /// By address space, as in the plan.
    pub spaces: Vec<SpaceRecord>,
    /// By channel of the plan: the most messages that were on one of its instances when one of them
    /// was taken in the window, that one among them.
    pub queues: Vec<Reading<u64>>,
    /// By team and sync object.
    pub syncs: Vec<SyncRecord>,
    /// By instance; empty without cgroups.
    pub cgroups: Vec<CgroupRecord>,
    pub timeline: Timeline,
    /// The machine's counters of /proc/vmstat about NUMA balancing, from the gate to the end.
    pub vmstat: Vec<Growth>,
    /// The share of its time for which each CPU was busy, whoever kept it so, from the gate to the
    /// end.
    pub busy: Reading<Vec<(CpuId, f64)>>,
    /// Clock differences below zero, which are in the histograms as 0.
    pub negative_differences: u64,
    pub harness: HarnessCost,
    /// Faults of the run that did not end it ("cpu 3 went offline"), for caveats.
    pub notes: Vec<String>,
}

/// Time on a CPU (ns).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    pub user_ns: u64,
    pub sys_ns: u64,
}

impl CpuTime {
    pub fn total_ns(self) -> u64 {
        self.user_ns + self.sys_ns
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The foreground teams did all their steps.
    Done,
    /// The window's time was up.
    TimeUp,
    /// A signal (its number) asked us to stop; what was measured until then counts.
    Interrupted(i32),
    /// A task failed; what was measured until then is kept.
    Failed(Failure),
    /// The leader process ended before its tasks did, as its status has it, and they with it; what
    /// was measured until then is kept.
    LeaderGone(String),
    /// Nobody could go on: each task that had not left waited for another. By team and step.
    Stalled(Vec<Waiting>),
}

/// The first thing that went wrong in a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub team: String,
    pub task_idx: u32,
    /// The step at which it happened, as the profile has it: `send inbox[*]`; or `start`.
    pub step: String,
    /// What was tried: `write`.
    pub call: String,
    /// The error in words: `broken pipe (EPIPE)`, `killed by signal 9`.
    pub error: String,
}

impl Failure {
    /// In place of a call: the task was killed, wherever it was.
    pub const NO_CALL: &'static str = "none";
}

/// Tasks of a team that wait at one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub team: String,
    /// The first of them, and how many they are.
    pub task_idx: u32,
    pub tasks: u32,
    /// What each of them waits for: "a message on `inbox`".
    pub wants: String,
    /// Of the profile, from 1; `None` if it was built in Rust.
    pub line: Option<u32>,
}

impl std::fmt::Display for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Waiting { team, task_idx, tasks, wants, line } = self;
        match tasks {
            1 => write!(f, "{team}-{task_idx} waits for {wants}")?,
            _ => write!(f, "{tasks} tasks of team {team} wait for {wants}")?,
        }
        match line {
            Some(line) => write!(f, " (line {line})"),
            None => Ok(()),
        }
    }
}

/// What a histogram holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SeriesKind {
    /// From the waker's stamp to the wakee running, by relation of the two CPUs and by whether the
    /// wakee resumed on another CPU than it last ran on.
    Wakeup {
        relation: Relation,
        moved: bool,
    },
    /// From the stamp of a message that was found ready to its receipt.
    FoundReady,
    /// Between two migrations of one task.
    BetweenMigrations,
    /// Response time of a `measure` block of this name in this instance; 0 where instances are not
    /// kept apart.
    Measure {
        name: String,
        instance: u32,
    },
    /// From the time at which a round of a paced block was to begin until it did; the number is
    /// that of the block in its team.
    Lateness(u16),
    /// From coming to the sync object of this name until through, whether or not there was a wait.
    Wait(String),
    /// Of the safepoint of this name: from asking for a pause to letting all go, and until all had
    /// parked. In the team whose task let them go.
    Pause(String),
    ToSafepoint(String),
}

/// One histogram of one team, in the window.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Index in `Recording::teams`.
    pub team: usize,
    pub kind: SeriesKind,
    /// Entries by bucket of `base::bucket`.
    pub counts: Vec<u64>,
    /// Exact, over all entries.
    pub min: u64,
    pub max: u64,
    pub sum: u128,
}

/// What the tasks of a team did together, in the window.
#[derive(Debug, Clone, PartialEq)]
pub struct TeamRecord {
    pub name: String,
    /// Number of tasks over all copies.
    pub size: u32,
    pub background: bool,
    /// Time of the window that tasks spent with this CPU as the one they last ran on (ns), summed
    /// over the tasks; CPUs without any are left out.
    pub residency: Vec<(CpuId, u64)>,
    /// Found ready, but with no stamp (small messages), so without a queueing time.
    pub found_ready_unstamped: u64,
}

/// Wakeups of a task, in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wakeups {
    pub total: u64,
    /// Those whose waker was on another node than the task resumed on.
    pub cross_node: u64,
    /// Those that resumed in the waker's LLC (node) after the task last ran in another.
    pub pulled_llc: u64,
    pub pulled_node: u64,
}

/// CPU changes between two looks of a task, in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Migrations {
    /// Seen between before a wait and after it, by distance; index by `Relation`, `SameCpu` unused.
    pub across_sleep: [u64; 5],
    /// Seen between two looks without a wait between them.
    pub while_running: [u64; 5],
    /// Back on the CPU it came from within 10 ms, and within 100 ms (which includes the former).
    pub returned_10ms: u64,
    pub returned_100ms: u64,
}

/// What the tasks of a team did at a sync object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncRecord {
    /// Index in `Recording::teams`.
    pub team: usize,
    /// Index in the plan's sync objects.
    pub object: usize,
    pub passes: PerPhase,
    /// Tasks that they let through, themselves among them: the last to come all of its round, a
    /// leader its group, who unlocks itself.
    pub led: PerPhase,
    /// In the window, as everything below: how often they did.
    pub leads: u64,
    /// Passes after a wait awake, and asleep.
    pub spun: u64,
    pub slept: u64,
    /// Of those asleep, the ones whose waker is not known, so that they are no wakeup.
    pub unstamped: u64,
}

/// One task, over its whole life.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRecord {
    /// Index in `Recording::teams`.
    pub team: usize,
    pub copy: u32,
    pub index: u32,
    /// Whether it ended by itself and its counts are complete.
    pub checked_out: bool,
    pub messages: Messages,
    pub woken: Wakeups,
    pub migrations: Migrations,
    /// When it began its first step (ns since the gate was opened) and on which CPU; `None` if it
    /// never did.
    pub begun: Option<Begun>,
    /// CPU time that it had used when it was ready for its first step (ns).
    pub ready_ns: u64,
    /// How long it had waited for a CPU by then (ns); 0 where it had nothing to do before, and so
    /// hardly did.
    pub ready_delay_ns: u64,
    /// How long its first and its last measured block of the window took (ns), of whatever name.
    pub blocks: Option<[u64; 2]>,
    /// What it used of memory in the window, by `record::memory::Moved`.
    pub moved: [MovedBytes; 5],
    /// By its blocks whose rounds have times of their own.
    pub paced: Vec<Paced>,
    /// Measured blocks of the window that lack the arrival from which to measure.
    pub without_origin: u64,
    /// How often it came to an `active` block in the window: not active, and active.
    pub draws: [u64; 2],
    /// Floating point operations that it did in the window, in work that counts them.
    pub flops: u64,
    /// Those bytes by the node on whose CPUs it was; nodes without any are left out.
    pub moved_on: Vec<(NodeId, [u64; 5])>,
    /// The kernel's own numbers, read by the task at its end.
    pub kernel: KernelCounts,
}

/// Bytes used of memory, and the time it took (ns).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MovedBytes {
    pub bytes: u64,
    pub ns: u64,
}

/// Rounds of a block that have times of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Paced {
    /// In the whole run.
    pub begun: u64,
    /// In the window, those left out since their time had passed.
    pub missed: u64,
}

/// The begin of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    pub at_ns: u64,
    pub cpu: CpuId,
}

/// Messages of a task before, in and after the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Messages {
    pub sent: PerPhase,
    pub received: PerPhase,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PerPhase {
    pub warmup: u64,
    pub window: u64,
    pub after: u64,
}

/// `/proc/thread-self/{sched,schedstat}` of a task, and its getrusage(2).
#[derive(Debug, Clone, PartialEq)]
pub struct KernelCounts {
    pub nr_migrations: Reading<u64>,
    pub voluntary_switches: Reading<u64>,
    pub involuntary_switches: Reading<u64>,
    pub run_ns: Reading<u64>,
    pub run_delay_ns: Reading<u64>,
    pub timeslices: Reading<u64>,
    /// The node that NUMA balancing wants it on; a value of `None`: it has not chosen any yet.
    pub preferred_node: Reading<Option<NodeId>>,
    /// See `host::numa::TaskNuma::faults`.
    pub numa_faults: Reading<u64>,
}

/// What measuring itself costs on this host, measured before the gate opened (ns).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HarnessCost {
    /// What the stamps are read from.
    pub clock: Source,
    /// One reading of the clock.
    pub clock_ns: f64,
    /// What a waker does before its call: clock, CPU, store into the message.
    pub stamp_ns: f64,
    /// What a wakee does after its wait: look at the CPU, relation, histogram.
    pub record_ns: f64,
}

impl PerPhase {
    pub fn total(&self) -> u64 {
        self.warmup + self.window + self.after
    }
}

impl std::ops::AddAssign for PerPhase {
    fn add_assign(&mut self, other: PerPhase) {
        self.warmup += other.warmup;
        self.window += other.window;
        self.after += other.after;
    }
}

impl std::ops::AddAssign for Wakeups {
    fn add_assign(&mut self, other: Wakeups) {
        self.total += other.total;
        self.cross_node += other.cross_node;
        self.pulled_llc += other.pulled_llc;
        self.pulled_node += other.pulled_node;
    }
}

impl std::ops::AddAssign for Migrations {
    fn add_assign(&mut self, other: Migrations) {
        for at in 0..self.across_sleep.len() {
            self.across_sleep[at] += other.across_sleep[at];
            self.while_running[at] += other.while_running[at];
        }
        self.returned_10ms += other.returned_10ms;
        self.returned_100ms += other.returned_100ms;
    }
}

impl Migrations {
    pub fn total(&self) -> u64 {
        self.across_sleep.iter().chain(&self.while_running).sum()
    }
}

impl Series {
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}
