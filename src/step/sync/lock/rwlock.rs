//! parking_lot's reader-writer lock.
//!
//! Readers give it back side by side, so that their notes may be mixed; the slip tells. Must not
//! know: whether a wait slept; parking_lot does not tell.

use super::super::slip::{self, Slip};
use super::super::{Note, Wait};
use super::{Form, Locks, Mode, Opening, ROUND, woken};
use crate::sys::lock::RwLock;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// On cache lines of its own.
#[derive(Default)]
#[repr(align(64))]
struct Lock {
    lock: RwLock,
    waiting: AtomicU32,
    slip: Slip,
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
        let lock = &self.0[which as usize].lock;
        match mode {
            Mode::Read => lock.try_read(),
            Mode::Write => lock.try_write(),
        }
    }

    pub(super) fn lock(&self, which: u32, mode: Mode) -> Wait {
        let Lock { lock, waiting, slip } = &self.0[which as usize];
        waiting.fetch_add(1, Relaxed);
        match mode {
            Mode::Read => lock.read(),
            Mode::Write => lock.write(),
        }
        waiting.fetch_sub(1, Relaxed);
        woken(slip::take(slip, ROUND))
    }

    #[inline]
    pub(super) fn unlock(&self, which: u32, mode: Mode, note: impl FnOnce() -> Note) {
        let Lock { lock, waiting, slip } = &self.0[which as usize];
        if waiting.load(Relaxed) > 0 {
            slip::put(slip, note(), ROUND);
        }
        match mode {
            Mode::Read => lock.unlock_read(),
            Mode::Write => lock.unlock_write(),
        }
    }
}
