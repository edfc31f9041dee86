//! What this process may use at most: descriptors, tasks, mappings, memory, priorities.
//!
//! A limit that is not known is `None`, never 0. Must not know: what a plan needs.

use super::cgroup::{Cgroups, Version};
use super::files::Root;
use super::numa::node::{NodeMemory, mems_allowed};
use super::{CgroupLimit, Limit, Limits, NodeLimit, SystemLimit};
use crate::base::{NodeId, Reading};

/// Bits of CapEff (include/uapi/linux/capability.h).
const CAP_SYS_ADMIN: u32 = 21;
const CAP_SYS_NICE: u32 = 23;
const CAP_SYS_RESOURCE: u32 = 24;

/// From here on a limit of version 1 means none: the kernel prints the largest multiple of the
/// page size that fits (mm/page_counter.c, PAGE_COUNTER_MAX).
const NO_LIMIT_V1: u64 = 1 << 62;

impl Limits {
    pub(super) fn read(root: &Root, cgroups: &Reading<Cgroups>, nodes: &[NodeId]) -> Limits {
        let text = |path: &str| match root.text(path) {
            Reading::Value(text) => text,
            Reading::Absent(_) => String::new(),
        };
        let limits = text("/proc/self/limits");
        let status = text("/proc/self/status");
        let rights = Rights::parse(&status, &text("/proc/self/uid_map"));
        let cgroups = cgroups.value();
        let user_tasks = limit(&limits, "Max processes");
        let counts = |limit: &Limit| !rights.any_number_of_tasks && limit.soft != u64::MAX;
        Limits {
            file_bytes: limit(&limits, "Max file size"),
            open_files: limit(&limits, "Max open files"),
            user_tasks_used: user_tasks
                .filter(counts)
                .and_then(|_| tasks_of_user(root, user(&status, Id::Real)?)),
            user_tasks,
            user_tasks_enforced: !rights.any_number_of_tasks,
            cgroup_tasks: cgroups.and_then(|it| tightest(it, "pids", |v, d| tasks(root, v, d))),
            system_tasks: system_tasks(root),
            max_map_count: root.number("/proc/sys/vm/max_map_count").value().copied(),
            open_files_max: root.number("/proc/sys/fs/nr_open").value().copied(),
            memory_available_bytes: memory_available(&text("/proc/meminfo")),
            cgroup_v2_barred: cgroups
                .and_then(Cgroups::own_v2)
                .and_then(|own| barred(root, &own, user(&status, Id::Effective)?)),
            cgroup_v2_controllers: cgroups.and_then(Cgroups::own_v2).and_then(|own| {
                let names = root.text(&format!("{own}/cgroup.controllers"));
                Some(names.value()?.split_whitespace().map(str::to_owned).collect())
            }),
            cgroup_v2: cgroups.and_then(Cgroups::own_v2),
            cgroup_memory: cgroups.and_then(|it| tightest(it, "memory", |v, d| memory(root, v, d))),
            nodes: node_limits(root, &status, nodes),
            rt_priority: limit(&limits, "Max realtime priority"),
            nice: limit(&limits, "Max nice priority"),
            can_set_nice: rights.sys_nice,
            can_raise_limits: rights.sys_resource,
        }
    }
}

/// A line of /proc/self/limits: the name, soft, hard, unit; `unlimited` is `u64::MAX`.
fn limit(text: &str, name: &str) -> Option<Limit> {
    let mut words = text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace();
    let mut number = || match words.next()? {
        "unlimited" => Some(u64::MAX),
        word => word.parse().ok(),
    };
    Some(Limit { soft: number()?, hard: number()? })
}

/// Which of the ids in a status file.
#[derive(Clone, Copy)]
enum Id {
    Real = 0,
    Effective = 1,
}

/// The user of a process, from its status file (fs/proc/array.c, task_state, v6.12).
fn user(status: &str, id: Id) -> Option<u32> {
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_whitespace().nth(id as usize)?.parse().ok()
}

/// Threads of all processes of a user that can be seen, each of which is read: RLIMIT_NPROC counts
/// them by the real user (kernel/fork.c, copy_process, v6.12).
fn tasks_of_user(root: &Root, wanted: u32) -> Option<u64> {
    let names = root.names("/proc");
    let processes = names.value()?.iter().filter(|name| name.parse::<u32>().is_ok());
    let threads = |name: &String| {
        let status = root.text(&format!("/proc/{name}/status"));
        let status = status.value().filter(|it| user(it, Id::Real) == Some(wanted))?;
        let threads = status.lines().find_map(|line| line.strip_prefix("Threads:"))?;
        threads.trim().parse::<u64>().ok()
    };
    Some(processes.filter_map(threads).sum())
}

/// Why a user can surely make no cgroup below a directory: it is not to be seen, or somebody
/// else's. What a group or a capability allows shows only when it is tried.
fn barred(root: &Root, directory: &str, user: u32) -> Option<String> {
    // The kernel says where cgroups are mounted, whatever is mounted over that.
    if let Reading::Absent(absence) = root.text(&format!("{directory}/cgroup.controllers")) {
        return Some(format!("{}: {}", absence.state, absence.reason));
    }
    let (owner, mode) = root.owner(directory)?;
    let may = user == 0 || (owner == user && mode & 0o200 != 0) || mode & 0o022 != 0;
    (!may).then(|| {
        format!("no permission: {directory} belongs to user {owner} and is not delegated to {user}")
    })
}

/// What the kernel lets this process do beyond its limits.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rights {
    sys_nice: bool,
    sys_resource: bool,
    /// RLIMIT_NPROC is not looked at (kernel/fork.c, copy_process, v6.12).
    any_number_of_tasks: bool,
}

impl Rights {
    /// The capabilities of a user namespace of its own do not count: the kernel asks for these in
    /// the first namespace.
    fn parse(status: &str, uid_map: &str) -> Rights {
        let map: Vec<&str> = uid_map.split_whitespace().collect();
        // A kernel without user namespaces has no such file.
        if !(map.is_empty() || map == ["0", "0", "4294967295"]) {
            return Rights::default();
        }
        let value = |key: &str| status.lines().find_map(|line| line.strip_prefix(key));
        let capabilities = value("CapEff:").and_then(|it| u64::from_str_radix(it.trim(), 16).ok());
        let has = |bit: u32| capabilities.is_some_and(|set| set >> bit & 1 == 1);
        let real_user = value("Uid:").and_then(|ids| ids.split_whitespace().next());
        Rights {
            sys_nice: has(CAP_SYS_NICE),
            sys_resource: has(CAP_SYS_RESOURCE),
            any_number_of_tasks: real_user == Some("0")
                || has(CAP_SYS_RESOURCE)
                || has(CAP_SYS_ADMIN),
        }
    }
}

/// Of the limits that `read` finds in the directories from our own cgroup outwards, the one that
/// leaves least.
fn tightest(
    cgroups: &Cgroups,
    controller: &str,
    read: impl Fn(Version, &str) -> Option<CgroupLimit>,
) -> Option<CgroupLimit> {
    let hierarchy = cgroups.of(controller)?;
    let found = hierarchy.directories.iter().filter_map(|it| read(hierarchy.version, it));
    found.min_by_key(|limit| limit.max.saturating_sub(limit.used))
}

fn tasks(root: &Root, _version: Version, directory: &str) -> Option<CgroupLimit> {
    let file = format!("{directory}/pids.max");
    // "max" is no number, and no limit.
    let max = *root.number(&file).value()?;
    let used = *root.number(&format!("{directory}/pids.current")).value()?;
    Some(CgroupLimit { file, max, used })
}

fn memory(root: &Root, version: Version, directory: &str) -> Option<CgroupLimit> {
    // Above memory.high a group is not killed but slowed down, which spoils a run as well.
    let (limits, used) = match version {
        Version::V1 => (&["memory.limit_in_bytes"][..], "memory.usage_in_bytes"),
        Version::V2 => (&["memory.max", "memory.high"][..], "memory.current"),
    };
    let limit = |name: &&str| {
        let file = format!("{directory}/{name}");
        let max = *root.number(&file).value()?;
        (max < NO_LIMIT_V1).then_some((max, file))
    };
    let (max, file) = limits.iter().filter_map(limit).min()?;
    let used = *root.number(&format!("{directory}/{used}")).value()?;
    let stat = root.text(&format!("{directory}/memory.stat"));
    let reclaimable = stat.value().map_or(0, |text| reclaimable(text, version));
    Some(CgroupLimit { file, max, used: used.saturating_sub(reclaimable) })
}

/// Bytes that the kernel takes back before it refuses: file pages, and caches of its own.
fn reclaimable(stat: &str, version: Version) -> u64 {
    let keys = match version {
        // Without `total_`, version 1 leaves out the groups below.
        Version::V1 => &["total_inactive_file", "total_active_file"][..],
        Version::V2 => &["inactive_file", "active_file", "slab_reclaimable"][..],
    };
    let pairs = stat.lines().filter_map(|line| line.split_once(' '));
    let counted = pairs.filter(|(key, _)| keys.contains(key));
    counted.filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok()).sum()
}

fn system_tasks(root: &Root) -> Option<SystemLimit> {
    let files = ["/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max"];
    let limits = files.iter().filter_map(|file| {
        let max = *root.number(file).value()?;
        Some(SystemLimit { file: (*file).to_owned(), max })
    });
    limits.min_by_key(|limit| limit.max)
}

fn node_limits(root: &Root, status: &str, nodes: &[NodeId]) -> Vec<NodeLimit> {
    let mems = mems_allowed(status);
    let limit = |&id: &NodeId| NodeLimit {
        id,
        free_bytes: NodeMemory::read(root, id).value().map(|it| it.free + it.reclaimable),
        allowed: mems.value().is_none_or(|allowed| allowed.contains(&id)),
    };
    nodes.iter().map(limit).collect()
}

fn memory_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}
