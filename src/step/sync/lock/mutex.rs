//! parking_lot's mutex, with a count of those who wait, so that only they cost a note.
//!
//! Must not know: whether a wait slept; parking_lot does not tell.

use super::super::slip::{self, Slip};
use super::super::{Note, Wait};
use super::{Form, Locks, Opening, ROUND, woken};
use crate::sys::lock::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// On cache lines of its own.
#[derive(Default)]
#[repr(align(64))]
struct Lock {
    mutex: Mutex,
    waiting: AtomicU32,
    slip: Slip,
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
        self.0[which as usize].mutex.try_lock()
    }

    pub(super) fn lock(&self, which: u32) -> Wait {
        let lock = &self.0[which as usize];
        lock.waiting.fetch_add(1, Relaxed);
        lock.mutex.lock();
        lock.waiting.fetch_sub(1, Relaxed);
        // With the lock held nobody writes it.
        woken(slip::take(&lock.slip, ROUND))
    }

    #[inline]
    pub(super) fn unlock(&self, which: u32, note: impl FnOnce() -> Note) {
        let lock = &self.0[which as usize];
        if lock.waiting.load(Relaxed) > 0 {
            slip::put(&lock.slip, note(), ROUND);
        }
        lock.mutex.unlock();
    }
}
