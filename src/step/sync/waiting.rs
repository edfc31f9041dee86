//! The two ways to wait: awake for some rounds, and asleep on a futex.
//!
//! Must not know: what is waited for.

use super::{Call, Hitch, Scope, Visit, Visitor};
use crate::sys::{Errno, futex};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Rounds of spinning between two questions whether the run is over: some 20 us with a `pause` of
/// 40 cycles, 0.1 ms with one of 140.
const ASK_EVERY: u32 = 2048;

/// How a task waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    /// Rounds that it spins first.
    pub spins: u32,
    pub then: Then,
}

/// What comes after spinning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// More of it.
    Spin,
    /// The same, giving up the CPU in each round, for those who have to come and find none.
    Yield,
    Sleep,
}

/// Waits awake until `done`; whether it came to that before it is time to sleep.
#[inline]
pub(super) fn spin(
    patience: Patience,
    visitor: &impl Visitor,
    mut done: impl FnMut() -> bool,
) -> Result<bool, Hitch> {
    let mut round = 0;
    loop {
        if done() {
            return Ok(true);
        }
        if round % ASK_EVERY == ASK_EVERY - 1 && visitor.over() {
            return Err(Hitch::Interrupted);
        }
        match patience.then {
            _ if round < patience.spins => std::hint::spin_loop(),
            Then::Spin => std::hint::spin_loop(),
            Then::Yield => {
                if visitor.over() {
                    return Err(Hitch::Interrupted);
                }
                std::thread::yield_now();
            }
            Then::Sleep => return Ok(false),
        }
        // The count goes round where there is no end to it.
        round = round.checked_add(1).unwrap_or(patience.spins);
    }
}

/// Sleeps until the word is as `done` wants it, among `sleepers`, whom a waker looks for after it
/// has changed the word.
#[inline]
pub(super) fn sleep(
    word: &AtomicU32,
    sleepers: &AtomicU32,
    scope: Scope,
    visit: &mut Visit,
    done: impl Fn(u32) -> bool,
) -> Result<(), Hitch> {
    // SeqCst, as the waker's store to the word and its look at `sleepers`: either it sees us, or
    // we see what it stored.
    sleepers.fetch_add(1, SeqCst);
    let slept = loop {
        let now = word.load(SeqCst);
        if done(now) {
            break Ok(());
        }
        match futex::sleep(word, now, scope) {
            Ok(slept) => visit.slept |= slept,
            Err(Errno::INTERRUPTED) => break Err(Hitch::Interrupted),
            Err(errno) => break Err(Hitch::Failed { call: Call::FutexWait, errno }),
        }
    };
    sleepers.fetch_sub(1, Relaxed);
    slept
}

/// Wakes up to `n` who sleep on the word.
#[inline]
pub(super) fn wake(word: &AtomicU32, n: u32, scope: Scope) -> Result<(), Hitch> {
    let woken = futex::wake(word, n, scope);
    woken.map(drop).map_err(|errno| Hitch::Failed { call: Call::FutexWake, errno })
}

/// As many as there are.
pub(super) const ALL: u32 = u32::MAX >> 1;

/// Whether a count that goes round has come to `wanted` or past it.
#[inline]
pub(super) fn reached(count: u32, wanted: u32) -> bool {
    count.wrapping_sub(wanted) as i32 >= 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_round() {
        let check = |count, wanted, expected| assert_eq!(reached(count, wanted), expected);
        check(0, 0, true);
        check(0, 1, false);
        check(3, 1, true);
        check(u32::MAX, 0, false);
        check(0, u32::MAX, true);
    }
}
