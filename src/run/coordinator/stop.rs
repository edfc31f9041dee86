//! The end of a run: everybody out of gate, step and wait, also where it never got to its window.
//!
//! Must not know: why it ends.

use super::{Coordinator, Tasks};
use crate::record::memory::{Phase, TaskState};
use crate::record::recording::End;
use crate::run::gate::Gate;
use crate::run::{Progress, door};
use crate::step::channel::Channel;
use crate::sys::event::{self, Woken};
use crate::sys::{process, signal};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed};

impl Coordinator<'_> {
    /// Ends what was begun: nobody waits at the gate or in a step any more.
    pub(super) fn abandon(&self, go_in: &OwnedFd, tasks: Tasks<'_, '_>) {
        self.set_phase(Phase::After);
        let _ = Gate::open(go_in);
        self.get_out(tasks);
    }

    /// Interrupts tasks until all have checked out. A signal can come before the call that it is
    /// to interrupt, hence again and again.
    pub(super) fn get_out(&self, tasks: Tasks<'_, '_>) {
        const PAUSE_NS: u64 = 500_000;
        /// Rounds between two attempts to have stopped processes (SIGSTOP) go on, so that they end.
        const CONTINUE_EVERY: u64 = 200;
        if let Some(progress) = self.control.progress {
            progress(Progress::Stopping);
        }
        // A task that has nothing to wait for any more leaves by itself.
        let told_at_once = !matches!(self.end, End::Done);
        for round in 0u64.. {
            let tell = told_at_once || round > 0;
            let again = round % CONTINUE_EVERY == CONTINUE_EVERY - 1;
            if round == 0 || again {
                // As many as can leave at once; each lets the next one go.
                door::release(&self.memory.control().phase, self.plan.cpus.len() as u32);
            }
            let (mut inside, mut last_pid) = (0, 0);
            for task in 0..self.plan.n_tasks() as usize {
                let slot = self.memory.slot(task);
                let state = slot.state.load(Acquire);
                let running = state == TaskState::Running as u32;
                if running || state == TaskState::Leaving as u32 {
                    inside += 1;
                    let (pid, tid) = (slot.pid.load(Relaxed), slot.tid.load(Relaxed));
                    if tell && running {
                        signal::interrupt(pid, tid);
                    }
                    // Threads are stopped and go on together: once for each process, since the
                    // kernel then looks at all its threads.
                    if again && pid != last_pid && matches!(tasks, Tasks::Processes { .. }) {
                        process::go_on(pid);
                        last_pid = pid;
                    }
                }
            }
            if inside == 0 {
                return;
            }
            if tell && let Tasks::Threads(channels) = tasks {
                let ends = channels.iter().flat_map(|channels| &channels.ends);
                ends.for_each(|end| end.channel.interrupt());
            }
            match tasks {
                Tasks::Threads(_) => event::pause(PAUSE_NS),
                Tasks::Processes { ready } => {
                    let waited = event::wait_readable(&[ready.as_fd()], Some(PAUSE_NS));
                    if waited == Ok(Woken::Ready(0)) {
                        return;
                    }
                }
            }
        }
    }
}
