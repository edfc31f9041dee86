//! Where tasks ran and where pages were, over time: what the coordinator saw each time it looked.
//!
//! Times are nanoseconds since the gate was opened. Nodes and regions are known by their position
//! in the plan. Must not know: how the kernel was asked, verdicts.

use crate::base::{Absence, NodeId, Reading};

/// All looks of a run, in order of time; none for a plan without memory regions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timeline {
    /// Time between two looks that was asked for.
    pub interval_ns: u64,
    /// CPU time that looking took, all in all.
    pub cost_ns: u64,
    /// Why move_pages(2) was not used, where it was refused.
    pub refused: Option<Absence>,
    pub samples: Vec<Sample>,
}

/// One look.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub at_ns: u64,
    /// By instance.
    pub instances: Vec<InstanceSample>,
}

/// What was seen of one instance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InstanceSample {
    /// Tasks between their first and last step, by the node (position in `Plan::nodes`) of the CPU
    /// they last ran on.
    pub tasks: Vec<u32>,
    /// By region (position in `Plan::memory`).
    pub regions: Vec<Reading<Pages>>,
}

/// Pages of a region, a sample or all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pages {
    /// By node (position in `Plan::nodes`).
    pub by_node: Vec<u32>,
    /// Not seen: never touched, swapped out, on their way, or marked by the NUMA balancer for a
    /// hint fault that has not come yet, which move_pages(2) of some kernels (6.1) does not see
    /// through.
    pub absent: u32,
    pub method: Method,
    /// Of the slices that each belong to one task that runs, the pages by the node that their task
    /// last ran on, and in that by their own. `None` of a region without such slices, or where its
    /// slices could not be told apart.
    pub own: Option<Vec<Vec<u32>>>,
}

/// How pages were looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Method {
    /// move_pages(2) on a sample of them.
    #[default]
    Sample,
    /// All of them by /proc/PID/numa_maps.
    NumaMaps,
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Method::Sample => "move_pages sample",
            Method::NumaMaps => "numa_maps",
        }
    }
}

impl InstanceSample {
    /// Whether any of its tasks was at its steps.
    pub fn has_tasks(&self) -> bool {
        self.tasks.iter().any(|n| *n > 0)
    }
}

impl Pages {
    /// As many pages more, of another address space that has the region too; whose slices are
    /// whose is not told then.
    pub fn add(&mut self, other: &Pages) {
        for (sum, n) in self.by_node.iter_mut().zip(&other.by_node) {
            *sum += n;
        }
        self.absent += other.absent;
        self.own = None;
    }
}

/// What one address space left behind.
#[derive(Debug, Clone, PartialEq)]
pub struct SpaceRecord {
    /// The signal that killed it, or one of its tasks that was a process.
    pub signal: Option<i32>,
    /// `mm->numa_scan_seq`, passes of the NUMA balancer over it, when the window began and when its
    /// last task ended.
    pub scan_seq: [Reading<u64>; 2],
}

/// What the kernel charged to the cgroup of an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct CgroupRecord {
    /// Of memory.stat, from the gate to the end of the run.
    pub counters: Vec<Growth>,
    /// Its anonymous memory (bytes) by node, at the gate and at the last look that saw its tasks.
    pub anon: [Reading<Vec<(NodeId, u64)>>; 2],
}

/// A counter of the kernel and by how much it grew from the gate to the end of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    /// The kernel's own name: `numa_hint_faults`.
    pub key: String,
    pub value: Reading<u64>,
}
