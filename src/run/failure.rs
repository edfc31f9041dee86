//! What went wrong in a task, as numbers in its slot and as words in the recording.
//!
//! Must not know: what a failure leads to.

use crate::plan::{Op, Pick, Plan, Scheduling};
use crate::record::gather::TaskId;
use crate::record::memory::{Memory, TaskSlot, TaskState};
use crate::record::recording::Failure;
use crate::step::channel::{Call, Hitch};
use crate::step::sync;
use crate::sys::{Errno, signal};
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

/// What a task tried when it failed; the number is what its slot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Tried {
    SetAffinity = 1,
    SetScheduling,
    WaitAtGate,
    Read,
    Write,
    FutexWait,
    FutexWake,
    /// The other side of a channel is gone.
    ReadAtEnd,
    SetMemoryPolicy,
    Spawn,
    Join,
    Sleep,
}

const WORDS: &[(Tried, &str)] = &[
    (Tried::SetAffinity, "sched_setaffinity"),
    (Tried::SetScheduling, "sched_setattr"),
    (Tried::WaitAtGate, "poll"),
    (Tried::Read, "read"),
    (Tried::Write, "write"),
    (Tried::FutexWait, "futex wait"),
    (Tried::FutexWake, "futex wake"),
    (Tried::ReadAtEnd, "read"),
    (Tried::SetMemoryPolicy, "set_mempolicy"),
    (Tried::Spawn, "pthread_create"),
    (Tried::Join, "futex wait"),
    (Tried::Sleep, "clock_nanosleep"),
];

/// In place of an operation's number: before the first one.
pub(super) const AT_START: u32 = u32::MAX;

/// A failure on its way to the slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failed {
    pub op: u32,
    pub tried: Tried,
    pub errno: Errno,
}

impl Failed {
    /// The failure that a hitch is, unless it is an interrupt.
    pub(super) fn of_hitch(op: usize, hitch: Hitch) -> Option<Failed> {
        let (tried, errno) = match hitch {
            Hitch::Interrupted => return None,
            Hitch::Ended => (Tried::ReadAtEnd, Errno(libc::EPIPE)),
            Hitch::Failed { call: Call::Read, errno } => (Tried::Read, errno),
            Hitch::Failed { call: Call::Write, errno } => (Tried::Write, errno),
            Hitch::Failed { call: Call::FutexWait, errno } => (Tried::FutexWait, errno),
            Hitch::Failed { call: Call::FutexWake, errno } => (Tried::FutexWake, errno),
        };
        Some(Failed { op: op as u32, tried, errno })
    }

    /// The same of a hitch at a sync object.
    pub(super) fn of_sync(op: usize, hitch: sync::Hitch) -> Option<Failed> {
        let (tried, errno) = match hitch {
            sync::Hitch::Interrupted => return None,
            sync::Hitch::Failed { call: sync::Call::FutexWait, errno } => (Tried::FutexWait, errno),
            sync::Hitch::Failed { call: sync::Call::FutexWake, errno } => (Tried::FutexWake, errno),
        };
        Some(Failed { op: op as u32, tried, errno })
    }

    pub(super) fn store(self, slot: &TaskSlot) {
        slot.failed_op.store(self.op, Relaxed);
        slot.failed_call.store(self.tried as u32, Relaxed);
        slot.failed_errno.store(self.errno.0, Relaxed);
    }
}

/// Makes `task` the run's failed task if it is the first. The slot must have been written before;
/// pairs with the Acquire of who reads `failed`.
pub(super) fn announce(memory: &Memory, task: usize) {
    let failed = &memory.control().failed;
    let _ = failed.compare_exchange(0, task as u32 + 1, AcqRel, Relaxed);
}

/// The failure of a task in words.
pub(super) fn describe(plan: &Plan, memory: &Memory, ids: &[TaskId], task: usize) -> Failure {
    let slot = memory.slot(task);
    let id = ids[task];
    let team = &plan.teams[id.team];
    let task_idx = id.copy * team.size + id.index;
    let named = |step: String, call: &str, error: String| Failure {
        team: team.name.clone(),
        task_idx,
        step,
        call: call.to_owned(),
        error,
    };
    if slot.state.load(Relaxed) == TaskState::Killed as u32 {
        let who = plan.process_name(id.copy, id.team);
        let error = match (slot.signal.load(Relaxed), who) {
            (0, None) => "ended without having been told to".to_owned(),
            (0, Some(process)) => format!("{process} ended without having been told to"),
            (signal, None) => format!("killed by {}", signal::words(signal)),
            (signal, Some(process)) => format!("{process} was killed by {}", signal::words(signal)),
        };
        return named("unknown".to_owned(), Failure::NO_CALL, error);
    }
    let tried = slot.failed_call.load(Relaxed);
    let words = WORDS.iter().find(|(code, _)| *code as u32 == tried).map(|&(_, words)| words);
    let op = slot.failed_op.load(Relaxed);
    let asked = match tried == Tried::SetScheduling as u32 {
        true => asked(&team.scheduling, slot.failed_errno.load(Relaxed)),
        false => String::new(),
    };
    let step = match team.ops.get(op as usize) {
        _ if op == AT_START => "start".to_owned(),
        Some(op) => step_words(plan, op),
        None => "unknown".to_owned(),
    };
    let errno = Errno(slot.failed_errno.load(Relaxed));
    let error = match tried == Tried::ReadAtEnd as u32 {
        true => "end of file: everybody who could send is gone".to_owned(),
        false => errno.to_string(),
    };
    let call = words.unwrap_or("unknown");
    named(step, &format!("{call}{asked}"), error + meaning(call, errno))
}

/// What an error of a call means where the errno alone does not tell, as the end of a sentence.
pub(super) fn meaning(call: &str, errno: Errno) -> &'static str {
    match (call, errno.0) {
        ("mbind" | "set_mempolicy", libc::ENOSYS) => {
            ", as on a kernel without CONFIG_NUMA or under a seccomp filter that hides the call"
        }
        ("mbind" | "set_mempolicy" | "madvise", libc::EPERM)
        | ("clock_nanosleep", libc::EPERM | libc::ENOSYS) => {
            ", as a seccomp filter has it, for example that of a container"
        }
        ("mbind" | "set_mempolicy", libc::EINVAL) => {
            ": a node that is not there, has no memory, or is not allowed by the cpuset"
        }
        ("madvise", libc::EINVAL) => {
            ": a kernel without transparent huge pages (CONFIG_TRANSPARENT_HUGEPAGE)"
        }
        _ => "",
    }
}

/// Of the attributes that a team asked for, those that the kernel can have meant with this error
/// (kernel/sched/syscalls.c and deadline.c, v6.12): EOPNOTSUPP is of clamps in a kernel without
/// CONFIG_UCLAMP_TASK (uclamp_validate), EBUSY of a deadline for which no CPU time is left
/// (sched_dl_overflow).
fn asked(scheduling: &Scheduling, errno: i32) -> String {
    let Scheduling { policy, nice, priority, slice_ns, uclamp_min, uclamp_max, deadline, .. } =
        scheduling;
    let clamps = [("uclamp_min", uclamp_min.is_some()), ("uclamp_max", uclamp_max.is_some())];
    let others = [
        ("policy", policy.is_some()),
        ("nice", nice.is_some()),
        ("priority", priority.is_some()),
        ("slice", slice_ns.is_some()),
    ];
    let times = [("deadline", deadline.is_some())];
    let (mut names, mut why) = ([&others[..], &clamps, &times].concat(), "");
    match errno {
        libc::EOPNOTSUPP => names = clamps.to_vec(),
        libc::EBUSY => {
            names = times.to_vec();
            why = ": the CPUs' time for deadlines is given away";
        }
        _ => {}
    }
    let names: Vec<&str> =
        names.iter().filter(|(_, asked)| *asked).map(|(name, _)| *name).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!(" ({}{why})", names.join(", ")),
    }
}

/// A step as the profile has it.
pub(super) fn step_words(plan: &Plan, op: &Op) -> String {
    match op {
        Op::Send { channel, pick, .. } => format!("send {}", address(plan, *channel, pick)),
        Op::Receive { channel, pick, .. } => format!("receive {}", address(plan, *channel, pick)),
        Op::Work { kind, .. } => kind.clone(),
        Op::Loop { .. } | Op::Again { .. } => "repeat".to_owned(),
        Op::During { .. } => "during".to_owned(),
        Op::Flow(flow) => flow.verb().to_owned(),
        Op::Leave { .. } => "choose".to_owned(),
        Op::Spawn { team } => format!("spawn {}", plan.teams[*team as usize].name),
        Op::Join { team } => format!("join {}", plan.teams[*team as usize].name),
        Op::Sync(it) => {
            format!("{} {}", it.act.word(), plan.syncs[it.object as usize].name)
        }
        Op::Use(it) => format!("{} {}", it.verb, plan.memory[it.at.region as usize].name),
        Op::Forever { .. } => "forever".to_owned(),
        Op::Measure { .. } | Op::EndMeasure { .. } => "measure".to_owned(),
    }
}

/// Instances of a channel as the profile addresses them.
pub(super) fn address(plan: &Plan, channel: u32, pick: &Pick) -> String {
    let name = &plan.channels[channel as usize].name;
    match pick {
        Pick::All => format!("{name}[*]"),
        Pick::Next => format!("{name}[next]"),
        Pick::Any => format!("{name}[any]"),
        Pick::At(_) => name.clone(),
    }
}
