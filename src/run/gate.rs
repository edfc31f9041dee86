//! The start gate: a byte from each task that is ready, then one byte that all poll and nobody
//! reads, so that a single write releases everybody at once.
//!
//! This is hackbench's start protocol, and the release is the thundering herd that its users know.
//! Must not know: who the tasks are.

use crate::sys::event::{self, Woken};
use crate::sys::{Errno, fd, raw};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// Both pipes, as the coordinator holds them.
pub(super) struct Gate {
    pub ready_out: OwnedFd,
    pub ready_in: OwnedFd,
    pub go_out: OwnedFd,
    pub go_in: OwnedFd,
}

/// The ends that a task uses.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskGate {
    pub ready: RawFd,
    pub go: RawFd,
}

/// What ended the wait for readiness.
pub(super) enum Readiness {
    AllReady,
    /// The event's descriptor can be read: a failure or a signal.
    Event,
    /// Nobody is left who could become ready.
    Ended,
}

impl Gate {
    pub(super) fn new() -> Result<Gate, Errno> {
        let (ready_out, ready_in) = fd::pipe()?;
        let (go_out, go_in) = fd::pipe()?;
        Ok(Gate { ready_out, ready_in, go_out, go_in })
    }

    pub(super) fn for_tasks(&self) -> TaskGate {
        TaskGate { ready: self.ready_in.as_raw_fd(), go: self.go_out.as_raw_fd() }
    }

    /// Counts tasks as they become ready, until there are `n` or something else happens; tells how
    /// far it is after each batch.
    pub(super) fn wait_ready(
        ready_out: &OwnedFd,
        ready: &mut u64,
        n: u64,
        event: BorrowedFd<'_>,
        progress: &dyn Fn(u64),
    ) -> Result<Readiness, Errno> {
        let mut buffer = [0; 512];
        while *ready < n {
            match event::wait_readable(&[event, ready_out.as_fd()], None)? {
                Woken::Ready(0) => return Ok(Readiness::Event),
                Woken::Ready(_) => match raw::read(ready_out.as_raw_fd(), &mut buffer) {
                    Ok(0) => return Ok(Readiness::Ended),
                    Ok(some) => *ready += some as u64,
                    Err(Errno::INTERRUPTED) => {}
                    Err(errno) => return Err(errno),
                },
                Woken::TimeUp => {}
                Woken::Interrupted => return Ok(Readiness::Event),
            }
            progress(*ready);
        }
        Ok(Readiness::AllReady)
    }

    /// Releases everybody.
    pub(super) fn open(go_in: &OwnedFd) -> Result<(), Errno> {
        raw::write(go_in.as_raw_fd(), b"!").map(|_| ())
    }
}

impl TaskGate {
    /// Says that this task is ready. Once all is `over`, nobody reads that any more, and a full
    /// pipe must not hold it here.
    pub(super) fn ready(self, over: impl Fn() -> bool) -> Result<(), Errno> {
        loop {
            match raw::write(self.ready, b".") {
                Err(Errno::INTERRUPTED) if !over() => {}
                other => return other.map(|_| ()),
            }
        }
    }

    /// Waits until the gate is open.
    pub(super) fn wait(self) -> Result<(), Errno> {
        loop {
            match event::wait_open(self.go) {
                Err(Errno::INTERRUPTED) => {}
                other => return other,
            }
        }
    }
}
