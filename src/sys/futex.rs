//! futex(2) wait and wake on a word, between threads or between processes.
//!
//! Must not know: what the word counts. No time limits: a timer would change the path under study.

use super::{Errno, raw};
use std::sync::atomic::AtomicU32;

/// Who may share the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Threads of one process (FUTEX_PRIVATE_FLAG: no look-up of the mapping).
    Private,
    /// Processes that map the same memory.
    Shared,
}

impl Scope {
    #[inline(always)]
    fn flag(self) -> i32 {
        match self {
            Scope::Private => libc::FUTEX_PRIVATE_FLAG,
            Scope::Shared => 0,
        }
    }
}

/// Sleeps while the word is `expected`; returns when woken, or at once if it is not.
///
/// # Errors
///
/// EINTR after a signal. A word that has changed (EAGAIN) is not an error.
#[inline]
pub fn wait(word: &AtomicU32, expected: u32, scope: Scope) -> Result<(), Errno> {
    sleep(word, expected, scope).map(drop)
}

/// The same, telling whether it slept at all.
#[inline]
pub fn sleep(word: &AtomicU32, expected: u32, scope: Scope) -> Result<bool, Errno> {
    let op = (libc::FUTEX_WAIT | scope.flag()) as usize;
    let args = [std::ptr::from_ref(word) as usize, op, expected as usize, 0, 0, 0];
    // SAFETY: the word outlives the call; a null timeout waits without limit.
    match Errno::check_raw(unsafe { raw::syscall(libc::SYS_futex, args) }) {
        Ok(_) => Ok(true),
        Err(Errno(libc::EAGAIN)) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Wakes up to `n` sleepers on the word and returns how many there were.
#[inline]
pub fn wake(word: &AtomicU32, n: u32, scope: Scope) -> Result<usize, Errno> {
    let op = (libc::FUTEX_WAKE | scope.flag()) as usize;
    let args = [std::ptr::from_ref(word) as usize, op, n as usize, 0, 0, 0];
    // SAFETY: only the address of a live word is used.
    Errno::check_raw(unsafe { raw::syscall(libc::SYS_futex, args) })
}
