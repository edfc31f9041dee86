//! Waiting for descriptors with a time limit, for the coordinator (never for a worker in a step).
//!
//! Must not know: what the descriptors stand for.

use super::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};

/// What came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The descriptor of this index can be read, or its other end is gone.
    Ready(usize),
    TimeUp,
    Interrupted,
}

/// ppoll(2) for reading on up to four descriptors; `limit_ns` of `None` waits for ever.
pub fn wait_readable(fds: &[BorrowedFd<'_>], limit_ns: Option<u64>) -> Result<Woken, Errno> {
    let mut polled = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 4];
    for (slot, fd) in polled.iter_mut().zip(fds) {
        slot.fd = fd.as_raw_fd();
    }
    let limit = limit_ns.map(|ns| libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    });
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the array and the time outlive the call; a negative descriptor is skipped.
    let n = unsafe { libc::ppoll(polled.as_mut_ptr(), 4, limit, std::ptr::null()) };
    match Errno::check(n) {
        Ok(0) => Ok(Woken::TimeUp),
        Ok(_) => {
            let at = polled.iter().position(|slot| slot.revents != 0);
            Ok(at.map_or(Woken::TimeUp, Woken::Ready))
        }
        Err(Errno::INTERRUPTED) => Ok(Woken::Interrupted),
        Err(errno) => Err(errno),
    }
}

/// Sleeps for `ns`, or until a signal comes.
pub fn pause(ns: u64) {
    // Where ppoll(2) is refused nothing of a run works, and whoever pauses asks again.
    let _ = wait_readable(&[], Some(ns));
}

/// poll(2) for reading on one descriptor without a limit, as a worker waits at the gate.
pub fn wait_open(fd: i32) -> Result<(), Errno> {
    let mut slot = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: the one pollfd outlives the call.
    Errno::check(unsafe { libc::poll(&raw mut slot, 1, -1) }).map(|_| ())
}
