//! parking_lot's mutex.
//!
//! With the lock held nobody else writes the note. Must not know: who waits, and how.

use super::super::{Note, Wait};
use super::parking::Waiters;
use super::{Form, Locks, Opening};
use crate::sys::lock::Mutex;

/// On cache lines of its own.
#[derive(Default)]
#[repr(align(64))]
struct Lock {
    lock: Mutex,
    waiters: Waiters,
}

pub(super) const OWN_BYTES: usize = size_of::<Lock>();

pub(super) struct Table(Vec<Lock>);

pub(super) fn open<'a>(opening: &Opening<'a>) -> Locks<'a> {
    let locks = (0..opening.count).map(|_| Lock::default());
    Locks(Form::Mutex(Table(locks.collect())))
}

impl Table {
    #[inline]
    pub(super) fn try_lock(&self, which: u32) -> bool {
        self.0[which as usize].lock.try_lock()
    }

    pub(super) fn lock(&self, which: u32) -> Wait {
        let Lock { lock, waiters } = &self.0[which as usize];
        waiters.lock(|| lock.lock())
    }

    #[inline]
    pub(super) fn unlock(&self, which: u32, note: impl FnOnce() -> Note) {
        let Lock { lock, waiters } = &self.0[which as usize];
        waiters.note(note);
        lock.unlock();
    }
}
