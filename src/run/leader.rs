//! Tasks as processes: a leader is this program started again, which forks them and reaps them.
//!
//! A process with threads cannot be forked safely, and the caller may have any number; a fresh
//! leader has one. It reads its plan from a descriptor, opens the channels of one copy at a time
//! (so that a task inherits the descriptors of its own copy only), forks the copy's tasks, closes
//! the channels, and in the end waits for all. Thread teams beside process teams get a process of
//! their own in each copy. Must not know: the window, what ends a run.

use super::gate::TaskGate;
use super::program::Channels;
use super::stage::{Pace, Stage};
use super::{crew, failure, roster};
use crate::plan::{Form, Plan};
use crate::record::Layout;
use crate::record::memory::{Memory, TaskState};
use crate::record::recorder::Recorders;
use crate::sys::cpu::CurrentCpu;
use crate::sys::process::{self, Ended, FIRST_FD, Forked, Forker};
use crate::sys::shared::page_bytes;
use crate::sys::thread::Task;
use crate::sys::{Errno, Shared, clock, fd, raw, signal, thread};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::process::Child;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

/// The hidden first argument of a leader.
const ARGUMENT: &str = "--schedload-leader";

/// Whether this program can be started as a leader.
static CAN_LEAD: AtomicBool = AtomicBool::new(false);

/// What a leader is told.
#[derive(Serialize, Deserialize)]
struct Orders {
    plan: Plan,
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
}

impl Could {
    pub(super) fn words(number: u32) -> &'static str {
        match number {
            2 => "open the channels",
            3 => "fork a task",
            4 => "start a thread",
            _ => "lead",
        }
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
    pace: Pace,
    memory: &Memory,
    ready: BorrowedFd<'_>,
    go: BorrowedFd<'_>,
    event: BorrowedFd<'_>,
) -> Result<Child, Errno> {
    let orders = Orders {
        plan: plan.clone(),
        pace,
    };
    let text = serde_json::to_vec(&orders).map_err(|_| Errno(libc::EINVAL))?;
    let file = fd::memory_file(&text)?;
    let fds = [file.as_fd(), memory.shared.file(), ready, go, event];
    process::spawn_self(ARGUMENT, &fds)
}

/// A leader's whole life; its exit status.
fn lead() -> i32 {
    signal::leave_stopping_to_parent();
    let inherited = |n| fd::inherited(FIRST_FD + n);
    let (Ok(orders), Ok(memory), Ok(ready), Ok(go), Ok(event)) = (
        inherited(0),
        inherited(1),
        inherited(2),
        inherited(3),
        inherited(4),
    ) else {
        return 2;
    };
    let mut text = Vec::new();
    let read = std::fs::File::from(orders).read_to_end(&mut text);
    let orders = serde_json::from_slice::<Orders>(&text);
    let (Ok(_), Ok(orders), Ok(shared)) = (read, orders, Shared::map(memory)) else {
        return 2;
    };
    drop(text);
    let memory = Memory {
        shared,
        layout: Layout::new(orders.plan.layout_spec(page_bytes())),
    };
    let recorders = Recorders::new(&memory, orders.pace.clock, CurrentCpu::find());
    let stage = Stage {
        plan: &orders.plan,
        memory: &memory,
        recorders: &recorders,
        pace: orders.pace,
        gate: TaskGate {
            ready: ready.as_raw_fd(),
            go: go.as_raw_fd(),
        },
        event: event.as_raw_fd(),
    };
    let mut children = Children {
        stage: &stage,
        tasks: HashMap::new(),
    };
    if let Err((could, errno)) = children.start() {
        let control = memory.control();
        control.leader_errno.store(errno.0, Relaxed);
        // Pairs with the coordinator's Acquire.
        control.leader_call.store(could as u32, Release);
        children.wake_coordinator();
    }
    children.reap();
    memory
        .control()
        .reaped_ns
        .store(clock::monotonic_ns(), Release);
    // Our end of `ready` told the coordinator all the while that we are alive.
    drop(ready);
    0
}

/// The processes of a run.
struct Children<'a> {
    stage: &'a Stage<'a>,
    /// The tasks of each process: the first and how many.
    tasks: HashMap<u32, (usize, usize)>,
}

impl Children<'_> {
    fn start(&mut self) -> Result<(), (Could, Errno)> {
        signal::be_interruptible().map_err(|errno| (Could::Lead, errno))?;
        let forker = Forker::new().map_err(|errno| (Could::Lead, errno))?;
        let stage = self.stage;
        for copy in 0..stage.plan.copies {
            let channels = Channels::open(stage.plan, stage.memory, copy)
                .map_err(|(_, error)| (Could::OpenChannels, error.errno))?;
            for (team, team_plan) in stage.plan.teams.iter().enumerate() {
                if team_plan.form == Form::Threads {
                    continue;
                }
                let first = roster::first_task(stage.plan, copy, team);
                for me in 0..team_plan.size {
                    let mut worker = stage.worker(copy, team, me, &channels);
                    let task = first + me as usize;
                    self.fork(&forker, (task, 1), || {
                        stage.memory.map_in(task, team);
                        worker.run();
                    })?;
                }
            }
            self.fork_threads(&forker, copy, &channels)?;
        }
        Ok(())
    }

    /// A process for the thread teams of a copy, if there are any.
    fn fork_threads(
        &mut self,
        forker: &Forker,
        copy: u32,
        channels: &Channels<'_>,
    ) -> Result<(), (Could, Errno)> {
        let stage = self.stage;
        let teams = stage.plan.teams.iter().enumerate();
        let threads: Vec<usize> = teams
            .filter(|(_, team)| team.form == Form::Threads)
            .map(|(team, _)| team)
            .collect();
        let Some(&first) = threads.first() else {
            return Ok(());
        };
        let first = roster::first_task(stage.plan, copy, first);
        let n = threads
            .iter()
            .map(|&team| stage.plan.teams[team].size as usize)
            .sum();
        let mut workers = Vec::new();
        crew::workers(stage, copy, channels, &mut workers);
        self.fork(forker, (first, n), || {
            for (task, team) in workers.iter().map(|worker| (worker.task, worker.team)) {
                stage.memory.map_in(task, team);
            }
            thread::crew(|crew| {
                if let Err(errno) = crew::start(crew, &mut workers) {
                    let control = stage.memory.control();
                    control.leader_errno.store(errno.0, Relaxed);
                    control
                        .leader_call
                        .store(Could::StartThreads as u32, Release);
                    let _ = raw::write(stage.event, &1u64.to_ne_bytes());
                }
            });
        })
    }

    fn fork(
        &mut self,
        forker: &Forker,
        tasks: (usize, usize),
        body: impl FnOnce(),
    ) -> Result<(), (Could, Errno)> {
        let leader = thread::ids().0;
        match forker.fork().map_err(|errno| (Could::Fork, errno))? {
            Forked::Child => {
                process::die_with_parent();
                if process::parent_id() == leader {
                    body();
                }
                process::exit_now(0)
            }
            Forked::Parent { child } => {
                self.tasks.insert(child, tasks);
                Ok(())
            }
        }
    }

    /// Waits for all children; who did not check out is marked, and ends the run.
    fn reap(&mut self) {
        loop {
            match process::reap() {
                Ok(Some((pid, ended))) => self.ended(pid, ended),
                Ok(None) => return,
                // Only signals can interrupt it.
                Err(_) => {}
            }
        }
    }

    fn ended(&self, pid: u32, ended: Ended) {
        let Some(&(first, n)) = self.tasks.get(&pid) else {
            return;
        };
        let memory = self.stage.memory;
        for task in first..first + n {
            let slot = memory.slot(task);
            if slot.state.load(Relaxed) == TaskState::CheckedOut as u32 {
                continue;
            }
            if let Ended::Killed { signal } = ended {
                slot.signal.store(signal, Relaxed);
            }
            slot.state.store(TaskState::Killed as u32, Release);
            failure::announce(memory, task);
            memory.control().n_foreground.fetch_sub(1, AcqRel);
            self.wake_coordinator();
        }
    }

    fn wake_coordinator(&self) {
        let _ = raw::write(self.stage.event, &1u64.to_ne_bytes());
    }
}
