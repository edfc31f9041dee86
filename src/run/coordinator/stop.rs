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
use crate::sys::{clock, process, signal};
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
    /// to interrupt, hence again and again; ever less often, since those whose waits no signal ends
    /// (parking_lot's) have to have the CPU meanwhile, to let each other go.
    pub(super) fn get_out(&self, tasks: Tasks<'_, '_>) {
        const PAUSE_NS: u64 = 500_000;
        /// The longest time between two signals to a task.
        const TELL_MAX_NS: u64 = 64_000_000;
        /// Between two attempts to have stopped processes (SIGSTOP) go on, so that they end.
        const CONTINUE_EVERY_NS: u64 = 100_000_000;
        if let Some(progress) = self.control.progress {
            progress(Progress::Stopping);
        }
        // A task that has nothing to wait for any more leaves by itself.
        let told_at_once = !matches!(self.end, End::Done);
        let begin_ns = clock::monotonic_ns();
        let (mut continued_ns, mut every_ns) = (begin_ns, PAUSE_NS);
        let mut tell_ns = if told_at_once { begin_ns } else { begin_ns + PAUSE_NS };
        for round in 0u64.. {
            let now_ns = clock::monotonic_ns();
            let tell = now_ns >= tell_ns;
            if tell {
                tell_ns = now_ns + every_ns;
                // By a quarter: some twelve times in the first 30 ms.
                every_ns = TELL_MAX_NS.min(every_ns + every_ns / 4);
            }
            let again = now_ns - continued_ns >= CONTINUE_EVERY_NS;
            if again {
                continued_ns = now_ns;
            }
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
