//! What machine and kernel this is: topology, allowed CPUs, facts, knobs, limits.
//!
//! Read once at the start, before anything is pinned, from /proc and /sys under a root that tests
//! can fake, and from hwloc. Must not know: plans, profiles. A [`Host`] is a plain value: one made
//! from an hwloc XML file or synthetic string plans like the real one.

pub mod counts;
pub mod error;
pub mod files;
mod hwloc;
pub mod topology;

pub use counts::Facts;
pub use error::HostError;
pub use files::Root;
pub use topology::Topology;

use crate::base::{CpuList, Reading};
use serde::{Deserialize, Serialize};

/// This machine as far as a run cares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    pub topology: Topology,
    /// The CPUs that may be used: the affinity mask inherited at the start, those online.
    pub allowed: CpuList,
    /// Why this is not the machine we run on ("synthetic pack:2 ..."); `None` for the real one.
    pub made_up: Option<String>,
    /// `uname -r`, `uname -v`.
    pub kernel_release: Reading<String>,
    pub kernel_version: Reading<String>,
    /// Facts and knobs that change what a run measures, in the order they are printed.
    pub facts: Vec<Fact>,
    /// The limits that a plan is checked against.
    pub limits: Limits,
}

/// One fact about the kernel or the machine, with what it is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Stable key, used in JSON: `numa_balancing`, `thp`, `preempt`, `governor`, `smt`, `scx`, ...
    pub key: String,
    pub value: Reading<String>,
    /// Where it was read: `/proc/sys/kernel/numa_balancing`.
    pub from: String,
    /// Why a reader of the numbers wants to know.
    pub about: String,
}

/// What this process may use. `None`: no limit known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Soft and hard RLIMIT_NOFILE.
    pub open_files: Option<Limit>,
    /// RLIMIT_NPROC; not enforced for root with CAP_SYS_RESOURCE or CAP_SYS_ADMIN.
    pub user_tasks: Option<Limit>,
    /// pids.max minus pids.current of the tightest cgroup above us, v1 or v2.
    pub cgroup_tasks: Option<CgroupLimit>,
    /// kernel.threads-max and kernel.pid_max, the lower, with the name of the file.
    pub system_tasks: Option<SystemLimit>,
    /// vm.max_map_count.
    pub max_map_count: Option<u64>,
    /// MemAvailable (bytes).
    pub memory_available_bytes: Option<u64>,
    /// memory.max minus what cannot be reclaimed, of the tightest cgroup above us.
    pub cgroup_memory: Option<CgroupLimit>,
    /// RLIMIT_RTPRIO, and whether CAP_SYS_NICE is held.
    pub rt_priority: Option<Limit>,
    pub can_set_nice: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    pub soft: u64,
    pub hard: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupLimit {
    /// The file that holds the limit.
    pub file: String,
    pub max: u64,
    pub used: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemLimit {
    pub file: String,
    pub max: u64,
}
