//! What a run needs of the system, against the limits, before anything is started.
//!
//! A run that fails at its 900th thread has cost minutes and tells little; here it is refused
//! with the limit, its value, the need, and the command that raises it. Must not know: how limits
//! are read. `regions.rs` has what memory regions want of single nodes.

mod regions;

use super::{CheckedLimit, Form, Needs, Plan, Refusal, Space, SyncPlan};
use crate::base::unit;
use crate::host::{CgroupLimit, Host, Limits};
use crate::record::Layout;
use crate::step::channel::find;

/// Descriptors besides those of channels: standard streams, shared memory, /proc files.
const OPEN_FILES_RESERVE: u64 = 32;
/// Tasks besides those of teams: the leader, and one to spare.
const TASKS_RESERVE: u64 = 2;
/// Touched stack of a thread, and the stack and task that the kernel keeps of it (bytes).
const THREAD_BYTES: u64 = 40 * 1024;
/// A plan is the same for any size of page; this one only rounds the estimate.
const PAGE_BYTES: usize = 4096;
/// Page tables, stack and copied pages of a forked process (bytes).
const PROCESS_BYTES: u64 = 300 * 1024;
/// A stack and its guard.
const MAPPINGS_PER_THREAD: u64 = 2;
/// Program, libraries, allocator.
const MAPPINGS_RESERVE: u64 = 512;

/// The needs of a plan.
pub(super) fn of(plan: &Plan) -> Needs {
    let (copies, spaces) = (u64::from(plan.copies), plan.spaces());
    let mut descriptors = 0;
    for channel in &plan.channels {
        let Some(kind) = find(&channel.kind) else {
            continue;
        };
        descriptors += u64::from(kind.descriptors) * u64::from(channel.count);
    }
    // A leader makes the channels of the copies that share an address space, forks their tasks, and
    // closes them before the next.
    let open_copies = spaces.first().map_or(0, |space| space.copies.len() as u64);
    let mut memory_bytes = recording_bytes(plan).saturating_add(regions::bytes(plan));
    memory_bytes += copies * plan.syncs.iter().map(SyncPlan::own_bytes).sum::<u64>();
    for team in &plan.teams {
        let tasks = u64::from(team.size) * copies;
        let own_bytes = match team.form {
            Form::Threads => THREAD_BYTES,
            Form::Processes => PROCESS_BYTES,
        };
        memory_bytes += tasks * (own_bytes + u64::from(team.buffer_bytes));
    }
    let threads = spaces.iter().map(|space| threads(plan, space)).max().unwrap_or(0);
    Needs {
        tasks: plan.n_tasks(),
        open_files: OPEN_FILES_RESERVE + descriptors * open_copies,
        memory_bytes,
        mappings: MAPPINGS_RESERVE + MAPPINGS_PER_THREAD * threads + regions::mappings(plan),
        limits: Vec::new(),
    }
}

/// What is shared by all tasks, in one file of memory.
fn recording_bytes(plan: &Plan) -> u64 {
    Layout::new(plan.layout_spec(PAGE_BYTES)).bytes as u64
}

/// The threads of an address space.
fn threads(plan: &Plan, space: &Space) -> u64 {
    let teams = space.teams.iter().map(|team| &plan.teams[*team]);
    let threads = teams.filter(|team| team.form == Form::Threads);
    threads.map(|team| u64::from(team.size)).sum::<u64>() * space.copies.len() as u64
}

/// The main threads of processes of threads, which start these and are tasks besides them.
fn thread_hosts(plan: &Plan) -> u64 {
    if !plan.has_processes() {
        return 0;
    }
    plan.spaces().iter().filter(|space| threads(plan, space) > 0).count() as u64
}

/// Fills in the limits that leave room; refuses for each that does not.
pub(super) fn check(plan: &mut Plan, host: &Host, refusals: &mut Vec<Refusal>) {
    let mut checking = Checking { limits: &host.limits, checked: Vec::new(), refusals };
    let needs = &plan.needs;
    let raised = checking.open_files(needs.open_files);
    checking.tasks(needs.tasks + thread_hosts(plan) + TASKS_RESERVE);
    checking.memory(needs.memory_bytes, regions::bytes(plan));
    checking.shared_memory(recording_bytes(plan));
    checking.mappings(needs.mappings);
    plan.needs.limits = checking.checked;
    regions::check(plan, &host.limits, refusals);
    plan.notes.extend(raised);
}

struct Checking<'a> {
    limits: &'a Limits,
    checked: Vec<CheckedLimit>,
    refusals: &'a mut Vec<Refusal>,
}

/// One limit and how to raise it.
struct Bound<'a> {
    /// What is limited: "tasks".
    of: &'a str,
    name: &'a str,
    max: u64,
    /// What others use of it already.
    used: u64,
    help: String,
}

impl Checking<'_> {
    fn holds(&mut self, need: u64, bound: Bound) {
        let Bound { of, name, max, used, help } = bound;
        let max = max.saturating_sub(used);
        if need <= max {
            self.checked.push(CheckedLimit { need: of.to_owned(), max, name: name.to_owned() });
            return;
        }
        // Of available memory what others use is left out already.
        let verb = if used > 0 || of == "memory" { "leaves" } else { "allows" };
        let shown = |n: u64| match of {
            "memory" | "shared memory" => unit::bytes(n as f64),
            _ => n.to_string(),
        };
        let (mut has, mut wants) = (shown(max), shown(need));
        if has == wants {
            (has, wants) = (format!("{max} B"), format!("{need} B"));
        }
        let message = format!("{name} {verb} {has} {of}, and this plan needs {wants}");
        self.refusals.push(Refusal::new(message).with_help(help));
    }

    /// The note that the limit will be raised, if it will.
    fn open_files(&mut self, need: u64) -> Option<String> {
        let limit = self.limits.open_files?;
        // With CAP_SYS_RESOURCE the hard limit can be raised too, up to fs.nr_open.
        let raised_to = self.limits.open_files_max.filter(|_| self.limits.can_raise_limits);
        let (name, max, help) = match raised_to {
            Some(max) if max > limit.hard => {
                ("/proc/sys/fs/nr_open", max, format!("raise it as root: `echo {need} > {{}}`"))
            }
            _ => (
                "RLIMIT_NOFILE",
                limit.hard,
                format!("raise it as root with `ulimit -n {need}`, or by LimitNOFILE={need}"),
            ),
        };
        let help = help.replace("{}", name);
        self.holds(need, Bound { of: "open files", name, max, used: 0, help });
        let raised = limit.soft < need && need <= max;
        raised.then(|| {
            let soft = limit.soft;
            format!("the limit of open files (RLIMIT_NOFILE) is raised from {soft} to {need}")
        })
    }

    fn tasks(&mut self, need: u64) {
        let enforced = self.limits.user_tasks_enforced;
        if let Some(limit) = self.limits.user_tasks.filter(|_| enforced) {
            let used = self.limits.user_tasks_used.unwrap_or(0);
            let help = format!("it is {}; raise it with `ulimit -u {}`", limit.soft, used + need);
            self.holds(
                need,
                Bound { of: "tasks", name: "RLIMIT_NPROC", max: limit.soft, used, help },
            );
        }
        if let Some(CgroupLimit { file, max, used }) = &self.limits.cgroup_tasks {
            let help = format!("raise it as root: `echo {} > {file}`", used + need);
            self.holds(need, Bound { of: "tasks", name: file, max: *max, used: *used, help });
        }
        if let Some(limit) = &self.limits.system_tasks {
            self.holds(
                need,
                Bound {
                    of: "tasks",
                    name: &limit.file,
                    max: limit.max,
                    used: 0,
                    help: format!("raise it as root: `echo {} > {}`", 2 * need, limit.file),
                },
            );
        }
    }

    /// `regions`: what of the need is in memory regions (bytes).
    fn memory(&mut self, need: u64, regions: u64) {
        let spare = regions::spare(regions);
        let need = need.saturating_add(spare);
        let of_regions = match regions {
            0 => String::new(),
            _ => format!(
                " (the regions are {}, and {} more is left to the kernel)",
                unit::bytes(regions as f64),
                unit::bytes(spare as f64)
            ),
        };
        if let Some(available) = self.limits.memory_available_bytes {
            let what = if regions == 0 { "smaller messages" } else { "smaller regions" };
            self.holds(
                need,
                Bound {
                    of: "memory",
                    name: "MemAvailable in /proc/meminfo",
                    max: available,
                    used: 0,
                    help: format!("ask for fewer tasks or {what}{of_regions}"),
                },
            );
        }
        if let Some(CgroupLimit { file, max, used }) = &self.limits.cgroup_memory {
            let raised = used.saturating_add(need);
            let help = format!("raise it as root: `echo {raised} > {file}`{of_regions}");
            self.holds(need, Bound { of: "memory", name: file, max: *max, used: *used, help });
        }
    }

    /// It is a file to the kernel (fs/attr.c, inode_newsize_ok, v6.12).
    fn shared_memory(&mut self, need: u64) {
        if let Some(limit) = self.limits.file_bytes.filter(|limit| limit.soft != u64::MAX) {
            let (max, help) = (limit.soft, "raise it with `ulimit -f unlimited`".to_owned());
            let of = "shared memory";
            self.holds(need, Bound { of, name: "RLIMIT_FSIZE", max, used: 0, help });
        }
    }

    fn mappings(&mut self, need: u64) {
        if let Some(max) = self.limits.max_map_count {
            self.holds(
                need,
                Bound {
                    of: "mappings",
                    name: "vm.max_map_count",
                    max,
                    used: 0,
                    help: format!("raise it as root: `sysctl -w vm.max_map_count={need}`"),
                },
            );
        }
    }
}
