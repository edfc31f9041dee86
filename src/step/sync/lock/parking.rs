//! What locks of parking_lot have in common: who waits leaves word, so that only then a note is
//! written for whom it wakes.
//!
//! Must not know: whether a wait slept, since parking_lot does not tell; modes.

use super::super::slip::{self, Slip};
use super::super::{Note, Wait};
use super::ROUND;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Beside each lock, on its cache lines.
#[derive(Default)]
pub(super) struct Waiters {
    n: AtomicU32,
    slip: Slip,
}

impl Waiters {
    /// Waits until it has the lock. A note that is newer than the wait says that the task was
    /// woken.
    pub(super) fn lock(&self, wait: impl FnOnce()) -> Wait {
        self.n.fetch_add(1, Relaxed);
        wait();
        self.n.fetch_sub(1, Relaxed);
        match slip::take(&self.slip, ROUND) {
            Some(note) => Wait::Slept(Some(note)),
            None => Wait::Spun,
        }
    }

    /// To be called before the lock is given back.
    #[inline]
    pub(super) fn note(&self, note: impl FnOnce() -> Note) {
        if self.n.load(Relaxed) > 0 {
            slip::put(&self.slip, note(), ROUND);
        }
    }
}
