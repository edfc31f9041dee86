//! Tasks as processes: a leader is this program started again, which forks them and reaps them.
//!
//! A process with threads cannot be forked safely, and the caller may have any number; a fresh
//! leader has one. It reads its plan from a descriptor, opens the channels of the copies that share
//! an address space (so that a task inherits the descriptors of its own only), maps the regions of
//! one of their processes at a time, forks its tasks, closes the channels, and in the end waits for
//! all. Thread teams get a process of their own: each of an instance's, or, beside process teams,
//! one in each copy. Must not know: the window, what ends a run.

use super::areas::{AreaError, Areas};
use super::claims::Claims;
use super::gate::TaskGate;
use super::program::Channels;
use super::roster;
use super::stage::{Pace, Stage};
use super::worker::Worker;
use super::{crew, failure};
use crate::plan::{Form, Plan, Sharing, Space};
use crate::record::Layout;
use crate::record::memory::{Memory, Phase, TaskState};
use crate::record::recorder::Recorders;
use crate::sys::cpu::CurrentCpu;
use crate::sys::process::{self, Ended, FIRST_FD, Forked, Forker};
use crate::sys::shared::page_bytes;
use crate::sys::thread::Seeds;
use crate::sys::thread::Task;
use crate::sys::usage::{Of, Usage, of_thread_now, usage};
use crate::sys::{Errno, Shared, clock, fd, raw, signal, thread};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// The hidden first argument of a leader.
const ARGUMENT: &str = "--schedload-leader";

/// Whether this program can be started as a leader.
static CAN_LEAD: AtomicBool = AtomicBool::new(false);

/// What a leader is told.
#[derive(Serialize, Deserialize)]
struct Orders {
    plan: Plan,
    /// By instance, the file through which its processes go into their cgroup.
    doors: Vec<PathBuf>,
    pace: Pace,
}

/// What a leader could not do; the number is in the control block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Could {
    Lead = 1,
    OpenChannels,
    Fork,
    StartThreads,
    Map,
    Bind,
    AdviseHuge,
    SetPolicy,
    EnterCgroup,
    TouchShared,
}

/// The others in words.
const WORDS: [(Could, &str); 6] = [
    (Could::Lead, "lead"),
    (Could::OpenChannels, "open the channels"),
    (Could::Fork, "fork a task"),
    (Could::StartThreads, "start a thread"),
    (Could::EnterCgroup, "enter the cgroup of its instance"),
    (Could::TouchShared, "have a process touch the memory that an instance shares"),
];

/// The calls that place memory.
const ON_MEMORY: [(Could, &str); 4] = [
    (Could::Map, "mmap"),
    (Could::Bind, "mbind"),
    (Could::AdviseHuge, "madvise"),
    (Could::SetPolicy, "set_mempolicy"),
];

impl Could {
    /// The call that a number stands for, if it is one that places memory.
    pub(super) fn call_on_memory(number: u32) -> Option<&'static str> {
        ON_MEMORY.iter().find(|(could, _)| *could as u32 == number).map(|(_, call)| *call)
    }

    pub(super) fn words(number: u32) -> &'static str {
        let row = WORDS.iter().find(|(could, _)| *could as u32 == number);
        row.map_or("lead", |(_, words)| *words)
    }
}

/// Becomes a leader if this process was started as one, and then never returns.
///
/// To be called first thing in `main` of any program that runs profiles with processes: the run
/// starts the program again, and it must come here before it does anything else.
pub fn enter_if_asked() {
    CAN_LEAD.store(true, Relaxed);
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == ARGUMENT) {
        let status = lead();
        process::exit_now(status);
    }
}

pub(super) fn can_lead() -> bool {
    CAN_LEAD.load(Relaxed)
}

/// Starts the leader of a run. It holds `ready` open until it has reaped everybody.
pub(super) fn spawn(
    plan: &Plan,
    doors: &[PathBuf],
    pace: Pace,
    memory: &Memory,
    ready: BorrowedFd<'_>,
    go: BorrowedFd<'_>,
    event: BorrowedFd<'_>,
) -> Result<Child, Errno> {
    let orders = Orders { plan: plan.clone(), doors: doors.to_vec(), pace };
    let text = serde_json::to_vec(&orders).map_err(|_| Errno(libc::EINVAL))?;
    let file = fd::memory_file(&text)?;
    let fds = [file.as_fd(), memory.shared.file(), ready, go, event];
    process::spawn_self(ARGUMENT, &fds)
}

/// A leader's whole life; its exit status.
fn lead() -> i32 {
    signal::leave_stopping_to_parent();
    // Started as /proc/self/exe, it would be called `exe`.
    thread::set_name("schedload");
    let inherited = |n| fd::inherited(FIRST_FD + n);
    let (Ok(orders), Ok(memory), Ok(ready), Ok(go), Ok(event)) =
        (inherited(0), inherited(1), inherited(2), inherited(3), inherited(4))
    else {
        return 2;
    };
    let mut text = Vec::new();
    let read = std::fs::File::from(orders).read_to_end(&mut text);
    let orders = serde_json::from_slice::<Orders>(&text);
    let (Ok(_), Ok(orders), Ok(shared)) = (read, orders, Shared::map(memory)) else {
        return 2;
    };
    drop(text);
    let memory = Memory { shared, layout: Layout::new(orders.plan.layout_spec(page_bytes())) };
    let recorders = Recorders::new(&memory, orders.pace.clock, CurrentCpu::find());
    let (seeds, at_work) = (Seeds::default(), roster::all_at_work(&orders.plan));
    let stage = Stage {
        plan: &orders.plan,
        memory: &memory,
        recorders: &recorders,
        pace: orders.pace,
        gate: TaskGate { ready: ready.as_raw_fd(), go: go.as_raw_fd() },
        event: event.as_raw_fd(),
        seeds: &seeds,
        at_work: &at_work,
        claims: Claims::of(&orders.plan),
    };
    let children = Children { stage: &stage, doors: &orders.doors };
    if let Err((could, errno)) = children.start() {
        children.could_not(could, errno);
    }
    // Of children, only those are counted that have ended.
    for used in [of_thread_now(), usage(Of::Children)] {
        children.has_created(used);
    }
    children.reap_until(None);
    let reaped_ns = clock::monotonic_ns();
    memory.control().reaped_ns.store(reaped_ns, Release);
    // Our end of `ready` told the coordinator all the while that we are alive.
    drop(ready);
    0
}

/// The processes of a run.
struct Children<'a> {
    stage: &'a Stage<'a>,
    doors: &'a [PathBuf],
}

impl Children<'_> {
    fn start(&self) -> Result<(), (Could, Errno)> {
        let stage = self.stage;
        signal::be_interruptible().map_err(|errno| (Could::Lead, errno))?;
        let forker = Forker::new().map_err(|errno| (Could::Lead, errno))?;
        let plan = stage.plan;
        let shared = Areas::shared(plan).map_err(|error| self.no_memory(error))?;
        let touched = shared.touch(plan, 0, Sharing::All, &|| self.over());
        touched.map_err(|error| self.no_memory(error))?;
        let spaces = plan.spaces();
        for of_instance in spaces.chunk_by(|one, next| one.instance == next.instance) {
            let instance = of_instance[0].instance;
            let areas =
                shared.of_instance(plan, instance).map_err(|error| self.no_memory(error))?;
            self.touch_shared(&forker, instance, &areas)?;
            for together in of_instance.chunk_by(|one, next| one.copies == next.copies) {
                if self.over() {
                    return Ok(());
                }
                self.start_together(together, &forker, &areas)?;
            }
        }
        Ok(())
    }

    /// The processes of the same copies, which share their channels.
    fn start_together(
        &self,
        spaces: &[Space],
        forker: &Forker,
        areas: &Areas,
    ) -> Result<(), (Could, Errno)> {
        let (plan, memory) = (self.stage.plan, self.stage.memory);
        let open = |copy| {
            Channels::open(plan, memory, copy).map_err(|(channel, error)| {
                memory.control().leader_object.store(channel as u32, Relaxed);
                (Could::OpenChannels, error.errno)
            })
        };
        let copies = spaces.first().map_or(0..0, |space| space.copies.clone());
        let channels: Vec<Channels<'_>> = copies.map(open).collect::<Result<_, _>>()?;
        spaces.iter().try_for_each(|space| self.start_space(space, &channels, forker, areas))
    }

    /// One address space; `areas` are what its instance shares.
    fn start_space(
        &self,
        space: &Space,
        channels: &[Channels<'_>],
        forker: &Forker,
        areas: &Areas,
    ) -> Result<(), (Could, Errno)> {
        let (stage, plan) = (self.stage, self.stage.plan);
        let areas = areas.own(plan, space).map_err(|error| self.no_memory(error))?;
        areas.tell(plan, stage.memory, space.number);
        // Each process is prepared before its fork, in the memory of the one before: what all of
        // them need at once, each would have to give back as it ends.
        let workers = |form| crew::workers(stage, space, channels, &areas, form);
        let settle = || self.settle(space.instance, &areas, Sharing::Process);
        for mut worker in workers(Form::Processes) {
            let one = std::slice::from_mut(&mut worker);
            self.fork_tasks(forker, one, |one| {
                if settle() {
                    one[0].run();
                }
            })?;
        }
        let mut threads: Vec<_> = workers(Form::Threads).collect();
        if !threads.is_empty() {
            self.fork_tasks(forker, &mut threads, |workers| {
                if settle() {
                    self.run_threads(workers);
                }
            })?;
        }
        Ok(())
    }

    /// In a child, before its tasks: enters the cgroup of its instance and touches what the thread
    /// that starts the others does, of the regions that are shared so. Whether it went well; what
    /// did not is told.
    fn settle(&self, instance: u32, areas: &Areas, sharing: Sharing) -> bool {
        let entered = match self.doors.get(instance as usize) {
            // 0 is whoever writes it.
            Some(door) => fd::write_file(door, "0").map_err(|errno| (Could::EnterCgroup, errno)),
            None => Ok(()),
        };
        let settled = entered.and_then(|()| {
            let touched = areas.touch(self.stage.plan, instance, sharing, &|| self.over());
            touched.map_err(|error| self.no_memory(error))
        });
        match settled {
            Ok(()) => true,
            Err((could, errno)) => {
                self.could_not(could, errno);
                false
            }
        }
    }

    /// Touches what the processes of an instance share before any of them is there, which could be
    /// first; in a process of its own, since the leader is in no cgroup of an instance.
    fn touch_shared(
        &self,
        forker: &Forker,
        instance: u32,
        areas: &Areas,
    ) -> Result<(), (Could, Errno)> {
        let memory = &self.stage.plan.memory;
        if memory.iter().all(|region| region.sharing != Sharing::Instance) {
            return Ok(());
        }
        let child = self.fork(forker, || {
            self.settle(instance, areas, Sharing::Instance);
        })?;
        match self.reap_until(Some(child)) {
            Some(Ended::Exited(0)) => Ok(()),
            // Killed, since it has told whatever else it could not do.
            _ => Err((Could::TouchShared, Errno(libc::ECHILD))),
        }
    }

    /// Whether the run was given up while we were at it.
    fn over(&self) -> bool {
        Phase::of(self.stage.memory.control().phase.load(Relaxed)) == Phase::After
    }

    fn no_memory(&self, error: AreaError) -> (Could, Errno) {
        let control = self.stage.memory.control();
        control.leader_object.store(error.region as u32, Relaxed);
        let row = ON_MEMORY.iter().find(|(_, call)| *call == error.call);
        (row.map_or(Could::Map, |(could, _)| *could), error.errno)
    }

    /// In a process of their own: the thread teams of an address space.
    fn run_threads(&self, workers: &mut [Worker<'_>]) {
        thread::crew(self.stage.seeds, |crew| {
            if let Err(errno) = crew::start(crew, workers) {
                self.could_not(Could::StartThreads, errno);
            }
            self.has_created(of_thread_now());
        });
    }

    /// Keeps what somebody used who has created all tasks that it creates.
    fn has_created(&self, used: Usage) {
        let [user, sys] = &self.stage.memory.control().creating;
        user.fetch_add(used.user_ns, Relaxed);
        sys.fetch_add(used.sys_ns, Relaxed);
    }

    /// Forks a process that does this and ends; its id.
    fn fork(&self, forker: &Forker, body: impl FnOnce()) -> Result<u32, (Could, Errno)> {
        let leader = thread::ids().0;
        match forker.fork().map_err(|errno| (Could::Fork, errno))? {
            Forked::Child => {
                process::die_with_parent();
                if process::parent_id() == leader {
                    body();
                }
                process::exit_now(0)
            }
            Forked::Parent { child } => Ok(child),
        }
    }

    /// Forks a process for these tasks.
    fn fork_tasks<'w>(
        &self,
        forker: &Forker,
        workers: &'w mut [Worker<'_>],
        body: impl FnOnce(&'w mut [Worker<'_>]),
    ) -> Result<(), (Could, Errno)> {
        let memory = self.stage.memory;
        let tasks: Vec<usize> = workers.iter().map(|worker| worker.task).collect();
        let child = self.fork(forker, || {
            for worker in workers.iter() {
                memory.map_in(worker.task, worker.team, worker.recorder.instance());
            }
            body(workers);
        })?;
        // The tasks do it too, if they get so far.
        tasks.into_iter().for_each(|task| memory.slot(task).pid.store(child, Relaxed));
        Ok(())
    }

    /// Waits for this child, or for all; who did not check out is marked, and ends the run. Gives
    /// how this child ended.
    fn reap_until(&self, awaited: Option<u32>) -> Option<Ended> {
        loop {
            match process::reap() {
                Ok(Some((pid, ended))) if Some(pid) == awaited => return Some(ended),
                Ok(Some((_, Ended::Exited(0)))) => {}
                Ok(Some((pid, ended))) => self.killed(pid, ended),
                Ok(None) => return None,
                // Only signals can interrupt it.
                Err(_) => {}
            }
        }
    }

    fn killed(&self, pid: u32, ended: Ended) {
        let memory = self.stage.memory;
        for task in 0..self.stage.plan.n_tasks() as usize {
            let slot = memory.slot(task);
            let out = slot.state.load(Relaxed) == TaskState::CheckedOut as u32;
            if out || slot.pid.load(Relaxed) != pid {
                continue;
            }
            if let Ended::Killed { signal } = ended {
                slot.signal.store(signal, Relaxed);
            }
            slot.state.store(TaskState::Killed as u32, Release);
            failure::announce(memory, task);
        }
        self.wake_coordinator();
    }

    fn could_not(&self, could: Could, errno: Errno) {
        let control = self.stage.memory.control();
        control.leader_errno.store(errno.0, Relaxed);
        // Pairs with the coordinator's Acquire.
        control.leader_call.store(could as u32, Release);
        self.wake_coordinator();
    }

    fn wake_coordinator(&self) {
        let _ = raw::write(self.stage.event, &1u64.to_ne_bytes());
    }
}
