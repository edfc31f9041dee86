//! parking_lot's reader-writer lock.
//!
//! Readers give it back side by side, so that their notes may be mixed; the slip tells. Must not
//! know: who waits, and how.

use super::super::{Note, Wait};
use super::parking::Waiters;
use super::{Form, Locks, Mode, Opening};
use crate::sys::lock::RwLock;

/// On cache lines of its own.
#[derive(Default)]
#[repr(align(64))]
struct Lock {
    lock: RwLock,
    waiters: Waiters,
}

pub(super) const OWN_BYTES: usize = size_of::<Lock>();

pub(super) struct Table(Vec<Lock>);

pub(super) fn open<'a>(opening: &Opening<'a>) -> Locks<'a> {
    let locks = (0..opening.count).map(|_| Lock::default());
    Locks(Form::Rwlock(Table(locks.collect())))
}

impl Table {
    #[inline]
    pub(super) fn try_lock(&self, which: u32, mode: Mode) -> bool {
        let Lock { lock, .. } = &self.0[which as usize];
        match mode {
            Mode::Read => lock.try_read(),
            Mode::Write => lock.try_write(),
        }
    }

    pub(super) fn lock(&self, which: u32, mode: Mode) -> Wait {
        let Lock { lock, waiters } = &self.0[which as usize];
        waiters.lock(|| match mode {
            Mode::Read => lock.read(),
            Mode::Write => lock.write(),
        })
    }

    #[inline]
    pub(super) fn unlock(&self, which: u32, mode: Mode, note: impl FnOnce() -> Note) {
        let Lock { lock, waiters } = &self.0[which as usize];
        waiters.note(note);
        match mode {
            Mode::Read => lock.unlock_read(),
            Mode::Write => lock.unlock_write(),
        }
    }
}
