//! The shared memory of a run by name: control block, task slots, shards.
//!
//! Must not know: how a worker uses them (`recorder.rs`), who maps it.

use super::layout::Layout;
use super::stamp::Ring;
use crate::base::NodeId;
use crate::plain;
use crate::sys::{Errno, Shared};
use std::mem::offset_of;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// Where a run stands. The word is read by every worker in every step and written twice or
/// three times in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Phase {
    Warmup = 0,
    Window = 1,
    /// The window is over: workers stop.
    After = 2,
}

impl Phase {
    #[inline(always)]
    pub fn of(word: u32) -> Phase {
        match word {
            0 => Phase::Warmup,
            1 => Phase::Window,
            _ => Phase::After,
        }
    }
}

plain! {
    /// Shared by coordinator, leader and workers.
    pub struct Control {
        /// A [`Phase`]; beside it on its cache line is only what is written before it is read.
        pub phase: AtomicU32,
        /// Ticks when the gate was opened.
        pub gate: AtomicU64,
        /// Ticks of the window, 0 while unknown.
        pub window: Window,
        /// Foreground tasks that have not done their steps.
        pub n_foreground: AtomicU32,
        /// Index of the first task that failed, plus one.
        pub failed: AtomicU32,
        /// What the leader could not do, see `run::leader`.
        pub leader_call: AtomicU32,
        /// Number of the channel or region that this was about.
        pub leader_object: AtomicU32,
        pub leader_errno: AtomicI32,
        /// CLOCK_MONOTONIC when the leader had reaped the last task (ns).
        pub reaped_ns: AtomicU64,
        /// User and system time (ns) that the leader, and the first threads of processes of
        /// threads, had used when they had created the tasks.
        pub creating: [AtomicU64; 2],
    }
}

plain! {
    /// Begin and end in ticks.
    pub struct Window {
        pub begin: AtomicU64,
        pub end: AtomicU64,
    }
}

/// What a task is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum TaskState {
    /// Not created, or not yet begun.
    Absent = 0,
    /// A step has it started; it has not begun.
    Starting,
    Running,
    /// Its steps are done; it waits for the end of the window.
    Leaving,
    /// It has ended by itself; its slot is complete.
    CheckedOut,
    /// It ended without checking out.
    Killed,
}

plain! {
    /// Written by one task; by the leader before its first step (`pid`) and after its death.
    pub struct TaskSlot {
        pub pid: AtomicU32,
        pub tid: AtomicU32,
        /// A [`TaskState`].
        pub state: AtomicU32,
        /// The signal that killed it.
        pub signal: AtomicI32,
        /// Step, call and error of its failure, see `run::failure`.
        pub failed_op: AtomicU32,
        pub failed_call: AtomicU32,
        pub failed_errno: AtomicI32,
        /// The CPU it was last seen on, plus one, for whoever samples; 0 before its first step.
        pub cpu: AtomicU32,
        /// The same of its first step, and when that was (ticks).
        pub first_cpu: AtomicU32,
        pub begun: AtomicU64,
        /// How long it had waited for a CPU when it was ready (ns), if it had memory to touch.
        pub ready_delay: AtomicU64,
        /// How often it found, awake, that what it waits for has not come.
        pub spun: AtomicU64,
        /// The operation at which it waits for what only other tasks can do, plus one, and above
        /// [`WAIT_BITS`] how many waits it was; 0 while it is at none. With the counts, which are
        /// written as often, on one cache line.
        pub waits_at: AtomicU64,
        /// By [`Phase`].
        pub sent: [AtomicU64; 3],
        pub received: [AtomicU64; 3],
        /// In the window: wakeups.
        pub woken: AtomicU64,
        /// In the window: wakeups from another node, and those that took it to its waker's LLC
        /// (node) from another.
        pub woken_cross_node: AtomicU64,
        pub pulled_llc: AtomicU64,
        pub pulled_node: AtomicU64,
        /// In the window, by distance: CPU changes.
        pub across_sleep: [AtomicU64; 5],
        pub while_running: [AtomicU64; 5],
        /// Those of them back to the CPU that it had left.
        pub returned_10ms: AtomicU64,
        pub returned_100ms: AtomicU64,
        /// User and system time that it had used when it was ready (ns).
        pub ready: [AtomicU64; 2],
        /// In the window: how long its first measured block took, and the last one so far (ticks,
        /// plus one; 0 without any).
        pub first_block: AtomicU64,
        pub last_block: AtomicU64,
        /// In the window, by [`Moved`]: bytes, and the time it took (ticks).
        pub moved: [[AtomicU64; 2]; 5],
        /// In the window: measured blocks of which it was not known when their request arrived.
        pub without_origin: AtomicU64,
        /// In the window: how often it came to an `active` block and was not active, and was.
        pub draws: [AtomicU64; 2],
        /// In the window: floating point operations.
        pub flops: AtomicU64,
        /// The kernel's numbers at its end by [`Kernel`], and the state of each: see
        /// `gather::state_word`.
        pub kernel: [AtomicU64; Kernel::N],
        pub kernel_state: [AtomicU32; Kernel::N],
    }
}

/// The kernel's numbers of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Kernel {
    Migrations,
    VoluntarySwitches,
    InvoluntarySwitches,
    RunNs,
    RunDelayNs,
    Timeslices,
    ScanSeq,
    /// See `gather::node_word`.
    PreferredNode,
    NumaFaults,
}

impl Kernel {
    pub const N: usize = Kernel::NumaFaults as usize + 1;
}

/// What each message and each wakeup writes is on one cache line.
const _: () = assert!(
    offset_of!(TaskSlot, waits_at) / 64
        == (offset_of!(TaskSlot, woken) + size_of::<AtomicU64>() - 1) / 64
);

/// Bits of the operation in [`TaskSlot::waits_at`].
pub const WAIT_BITS: u32 = 32;

/// The sums of bytes that a task keeps apart, by what moved them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Moved {
    /// `sweep`, `touch`, `chase`.
    Accesses = 0,
    Copy,
    Scale,
    Add,
    Triad,
}

impl Moved {
    pub const ALL: [Moved; 5] =
        [Moved::Accesses, Moved::Copy, Moved::Scale, Moved::Add, Moved::Triad];

    /// By the verb of the step.
    pub fn of_verb(verb: &str) -> Moved {
        match verb {
            "copy" => Moved::Copy,
            "scale" => Moved::Scale,
            "add" => Moved::Add,
            "triad" => Moved::Triad,
            _ => Moved::Accesses,
        }
    }

    /// `accesses`, or the verb.
    pub fn name(self) -> &'static str {
        match self {
            Moved::Accesses => "accesses",
            Moved::Copy => "copy",
            Moved::Scale => "scale",
            Moved::Add => "add",
            Moved::Triad => "triad",
        }
    }
}

/// What a task keeps of a block whose rounds have times of their own: rounds begun in the whole
/// run, and rounds of the window that were left out.
pub type PaceCount = [AtomicU64; 2];

plain! {
    /// What a task did at one sync object; the first two by [`Phase`], the others in the window.
    pub struct SyncCounts {
        pub passes: [AtomicU64; 3],
        /// Tasks that it let through, itself among them, and how often it did.
        pub led: [AtomicU64; 3],
        pub leads: AtomicU64,
        /// Passes for which it waited awake, and asleep.
        pub spun: AtomicU64,
        pub slept: AtomicU64,
        /// Of those asleep, the ones whose waker is not known.
        pub unstamped: AtomicU64,
    }
}

/// What a task keeps of a series: u64::MAX - minimum, maximum, sum. Zero means nothing yet.
pub type Extremes = [AtomicU64; 3];

/// Bytes that a task moved in the window while it ran on the CPUs of one node, by [`Moved`].
pub type MovedOnNode = [AtomicU64; 5];

plain! {
    /// What the tasks of a team did on one CPU.
    pub struct TeamShard {
        /// Ticks of the window for which tasks had this CPU as their last one.
        pub residency: AtomicU64,
        pub negative: AtomicU64,
        pub unstamped: AtomicU64,
        /// Looks that found a task on a CPU without a shard (counted in the first shard).
        pub strangers: AtomicU64,
    }
}

/// The mapping with its layout.
#[derive(Debug)]
pub struct Memory {
    pub shared: Shared,
    pub layout: Layout,
}

impl Memory {
    /// New memory, each shard bound to the node of its CPU and all of it in place.
    ///
    /// # Errors
    ///
    /// What making the mapping gave. That a shard could not be bound is not an error: the second
    /// value says so.
    pub fn create(layout: Layout) -> Result<(Memory, Option<String>), Errno> {
        let shared = Shared::create(layout.bytes)?;
        let mut unbound = None;
        let mut bind = |offset, bytes, nodes: &[NodeId]| {
            if let Err(errno) = shared.bind(offset, bytes, nodes) {
                unbound = Some(format!("harness memory is not bound to its nodes: mbind: {errno}"));
            }
        };
        let allowed = layout.spec.cpus.iter().filter(|cpu| cpu.allowed);
        let nodes: Vec<NodeId> = allowed.map(|cpu| cpu.place.node).collect();
        // What tasks of all nodes use may be on any of them, but like the shards it has a policy.
        bind(0, layout.shards, &nodes);
        for (shard, &node) in nodes.iter().enumerate() {
            bind(layout.shards + shard * layout.shard_stride, layout.shard_stride, &[node]);
        }
        shared.populate();
        Ok((Memory { shared, layout }, unbound))
    }

    pub fn control(&self) -> &Control {
        self.shared.at(0)
    }

    pub fn slot(&self, task: usize) -> &TaskSlot {
        self.shared.at(self.layout.slots + task * self.layout.slot_stride)
    }

    /// Maps what a task of a team uses into the page table of its own process: its slot, the times
    /// of its instance, and on each CPU the team's counters and histograms. All of it is in place
    /// already.
    pub fn map_in(&self, task: usize, team: usize, instance: usize) {
        let layout = &self.layout;
        let homes_bytes = layout.llcs.len() * 8;
        self.shared.map_in(layout.homes + instance * homes_bytes, homes_bytes);
        self.shared.map_in(layout.slots + task * layout.slot_stride, layout.slot_stride);
        let series = &layout.teams[team];
        let series_bytes = crate::base::bucket::BUCKETS * 8;
        for shard in 0..layout.shard_cpus.len() {
            let shard = layout.shards + shard * layout.shard_stride;
            self.shared.map_in(shard, layout.histograms);
            let first = shard + layout.histograms + series.first_series * series_bytes;
            self.shared.map_in(first, series.kinds.len() * series_bytes);
        }
    }

    /// Where a region of memory is in an address space; 0 while it is not known, or not there.
    pub fn region_address(&self, space: usize, region: usize) -> &AtomicU64 {
        let layout = &self.layout;
        let at = space * layout.spec.n_regions + region;
        &self.shared.slice(layout.regions, layout.n_region_words)[at]
    }

    /// Ticks of the window for which an instance's tasks had their last CPU there, by the layout's
    /// LLCs.
    pub fn homes(&self, instance: usize) -> &[AtomicU64] {
        let n_llcs = self.layout.llcs.len();
        self.shared.slice(self.layout.homes + instance * n_llcs * 8, n_llcs)
    }

    /// By the number of a series within the task's team.
    pub fn extremes(&self, task: usize, n_series: usize) -> &[Extremes] {
        let slot = self.layout.slots + task * self.layout.slot_stride;
        self.shared.slice(slot + size_of::<TaskSlot>(), n_series)
    }

    /// By the number of a paced block within the task's team.
    pub fn paces(&self, task: usize, n_paces: usize) -> &[PaceCount] {
        let slot = self.layout.slots + task * self.layout.slot_stride;
        self.shared.slice(slot + self.layout.paces, n_paces)
    }

    /// By the layout's nodes.
    pub fn moved_on(&self, task: usize) -> &[MovedOnNode] {
        let slot = self.layout.slots + task * self.layout.slot_stride;
        self.shared.slice(slot + self.layout.moved_on, self.layout.moved_nodes.len())
    }

    /// By the number of a sync object within the task's team.
    pub fn sync_counts(&self, task: usize, n_syncs: usize) -> &[SyncCounts] {
        let slot = self.layout.slots + task * self.layout.slot_stride;
        self.shared.slice(slot + self.layout.sync_counts, n_syncs)
    }

    pub fn team_shard(&self, shard: usize, team: usize) -> &TeamShard {
        let shard = self.layout.shards + shard * self.layout.shard_stride;
        self.shared.at(shard + team * size_of::<TeamShard>())
    }

    /// All histograms of a shard, one after the other.
    pub fn histograms(&self, shard: usize) -> &[AtomicU64] {
        let shard = self.layout.shards + shard * self.layout.shard_stride;
        let buckets = self.layout.n_series * crate::base::bucket::BUCKETS;
        self.shared.slice(shard + self.layout.histograms, buckets)
    }

    /// The stamp ring of an instance, for channels whose messages have no room.
    pub fn ring(&self, copy: usize, channel: usize, instance: usize) -> Option<Ring<'_>> {
        let entries = self.layout.spec.channels[channel].ring_entries?;
        let (_, ring) = self.layout.channel(copy, channel, instance);
        Some(Ring::at(&self.shared, ring, entries))
    }
}
