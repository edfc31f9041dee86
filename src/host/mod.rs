//! What machine and kernel this is: topology, allowed CPUs, facts, knobs, limits.
//!
//! Read once at the start, before anything is pinned, from /proc and /sys under a root that tests
//! can fake, and from hwloc. Must not know: plans, profiles. A [`Host`] is a plain value: one made
//! from an hwloc XML file or synthetic string plans like the real one.

pub mod busy;
mod cgroup;
pub mod clock;
pub mod counts;
pub mod error;
mod fact;
pub mod files;
mod hwloc;
mod knob;
mod limits;
pub mod numa;
pub mod oom;
pub mod task;
pub mod topology;

pub use clock::cycle_counter_trusted;
pub use counts::Facts;
pub use error::HostError;
pub use files::Root;
pub use topology::Topology;

use crate::base::{CpuList, NodeId, Reading, State};
use cgroup::Cgroups;
use serde::{Deserialize, Serialize};
use std::path::Path;

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

impl Host {
    /// This machine. Call it before anything is pinned: both hwloc and the mask that this process
    /// was started with are read here, once.
    ///
    /// # Errors
    ///
    /// When hwloc cannot read the machine, or the environment makes it read another one.
    ///
    /// # Examples
    ///
    /// ```
    /// use schedload::Host;
    ///
    /// let host = Host::read()?;
    /// println!("{} CPUs may be used: {}", host.allowed.len(), host.allowed);
    /// assert!(host.topology.online().len() >= host.allowed.len());
    /// # Ok::<(), schedload::host::HostError>(())
    /// ```
    pub fn read() -> Result<Host, HostError> {
        Host::read_from(&Root::default(), Topology::read()?)
    }

    /// The machine with this topology whose /proc and /sys are under `root`.
    pub fn read_under(root: &Path, topology: Topology) -> Result<Host, HostError> {
        Host::read_from(&Root::new(root), topology)
    }

    /// A machine that is only planned for: all its CPUs may be used, and nothing limits.
    pub fn made_up(topology: Topology, label: impl Into<String>) -> Host {
        let label = label.into();
        let absent = || Reading::absent(State::Absent, format!("{label} is a made-up machine"));
        Host {
            allowed: topology.online(),
            topology,
            kernel_release: absent(),
            kernel_version: absent(),
            facts: fact::made_up(&label),
            limits: Limits::default(),
            made_up: Some(label),
        }
    }

    /// The fact with this key.
    pub fn fact(&self, key: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.key == key)
    }

    fn read_from(root: &Root, topology: Topology) -> Result<Host, HostError> {
        let cgroups = Cgroups::read(root);
        let nodes: Vec<NodeId> = topology.nodes.iter().map(|node| node.id).collect();
        Ok(Host {
            allowed: allowed(root, &topology)?,
            topology,
            made_up: None,
            kernel_release: root.text("/proc/sys/kernel/osrelease"),
            kernel_version: root.text("/proc/sys/kernel/version"),
            facts: fact::read(root, &cgroups),
            limits: Limits::read(root, &cgroups, &nodes),
        })
    }
}

/// The online CPUs in the mask of this process. /proc prints it as a list of any length, where
/// sched_getaffinity fails for masks longer than the caller thought of.
fn allowed(root: &Root, topology: &Topology) -> Result<CpuList, HostError> {
    let online = topology.online();
    let mask = root.text("/proc/self/status").and_then(|status| task::cpus_allowed(&status));
    // Without /proc nothing says that a CPU may not be used.
    let Reading::Value(mask) = mask else {
        return Ok(online);
    };
    let allowed = mask.and(&online);
    if allowed.is_empty() {
        let (allowed, online) = (mask.to_string(), online.to_string());
        return Err(HostError::NoneAllowed { allowed, online });
    }
    Ok(allowed)
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
    /// RLIMIT_FSIZE (bytes), which holds for shared memory too.
    #[serde(default)]
    pub file_bytes: Option<Limit>,
    /// Soft and hard RLIMIT_NOFILE.
    pub open_files: Option<Limit>,
    /// RLIMIT_NPROC, and the tasks of this user that count against it already.
    pub user_tasks: Option<Limit>,
    #[serde(default)]
    pub user_tasks_used: Option<u64>,
    /// Whether the kernel looks at it: not for root, CAP_SYS_RESOURCE or CAP_SYS_ADMIN.
    pub user_tasks_enforced: bool,
    /// pids.max and pids.current of the tightest cgroup above us, v1 or v2.
    pub cgroup_tasks: Option<CgroupLimit>,
    /// kernel.threads-max and kernel.pid_max, the lower, with the name of the file.
    pub system_tasks: Option<SystemLimit>,
    /// fs.nr_open: what even root cannot raise RLIMIT_NOFILE beyond.
    pub open_files_max: Option<u64>,
    /// vm.max_map_count.
    pub max_map_count: Option<u64>,
    /// MemAvailable (bytes).
    pub memory_available_bytes: Option<u64>,
    /// memory.max or memory.high, and what is used and can not be reclaimed, of the tightest
    /// cgroup above us.
    pub cgroup_memory: Option<CgroupLimit>,
    /// The directory of our own cgroup of version 2, if that is mounted.
    pub cgroup_v2: Option<String>,
    /// Why no cgroup can be made below it, as far as can be seen.
    #[serde(default)]
    pub cgroup_v2_barred: Option<String>,
    /// The controllers that may be enabled below it; those of version 1 are not among them.
    #[serde(default)]
    pub cgroup_v2_controllers: Option<Vec<String>>,
    /// What each node of the topology has to give; empty where nothing is known.
    pub nodes: Vec<NodeLimit>,
    /// RLIMIT_RTPRIO: the highest real-time priority that may be set.
    pub rt_priority: Option<Limit>,
    /// RLIMIT_NICE: 20 minus it is the lowest nice value that may be set.
    pub nice: Option<Limit>,
    /// CAP_SYS_NICE: any policy, priority and nice value.
    pub can_set_nice: bool,
    /// CAP_SYS_RESOURCE: hard limits may be raised.
    pub can_raise_limits: bool,
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

/// What a NUMA node has to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeLimit {
    pub id: NodeId,
    /// Free memory and what the kernel gives back for an allocation that may go nowhere else
    /// (bytes).
    pub free_bytes: Option<u64>,
    /// Whether the cpuset allows it (Mems_allowed); true where that is not known.
    pub allowed: bool,
}

#[cfg(test)]
mod tests;
