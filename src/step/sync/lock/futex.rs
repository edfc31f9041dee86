//! A lock of three states on a futex: free, held, held and waited for (U. Drepper, "Futexes are
//! tricky", 2011, the second mutex). Who gives it back calls into the kernel only in the third.
//!
//! Must not know: fairness; who comes by may have it before who was woken.

use super::super::slip::{self, Slip};
use super::super::{Call, Hitch, Note, Scope, Visit, Wait, waiting};
use super::{Form, Locks, Opening, ROUND};
use crate::plain;
use crate::sys::{Errno, futex};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

plain! {
    struct Lock {
        state: AtomicU32,
        /// Of the last who gave it back while somebody waited; written with the lock held.
        slip: Slip,
    }
}

const FREE: u32 = 0;
const HELD: u32 = 1;
const WAITED_FOR: u32 = 2;

pub(super) struct Table<'a> {
    locks: &'a [Lock],
    scope: Scope,
}

pub(super) fn state_bytes(count: u32, _cpus: u32) -> usize {
    count as usize * size_of::<Lock>()
}

pub(super) fn open<'a>(opening: &Opening<'a>) -> Locks<'a> {
    let locks = opening.shared.slice(opening.offset, opening.count as usize);
    Locks(Form::Futex(Table { locks, scope: opening.scope }))
}

impl Table<'_> {
    #[inline]
    pub(super) fn try_lock(&self, which: u32) -> bool {
        let lock = &self.locks[which as usize];
        lock.state.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }

    pub(super) fn lock(&self, which: u32, visit: &mut Visit) -> Result<Wait, Hitch> {
        let lock = &self.locks[which as usize];
        // From here on it is ours as waited for, since others may sleep too.
        let mut now = lock.state.swap(WAITED_FOR, Acquire);
        while now != FREE {
            match futex::sleep(&lock.state, WAITED_FOR, self.scope) {
                Ok(slept) => visit.slept |= slept,
                Err(Errno::INTERRUPTED) => return Err(Hitch::Interrupted),
                Err(errno) => return Err(Hitch::Failed { call: Call::FutexWait, errno }),
            }
            now = lock.state.swap(WAITED_FOR, Acquire);
        }
        // With the lock held nobody writes the slip.
        Ok(match std::mem::take(&mut visit.slept) {
            true => Wait::Slept(slip::take(&lock.slip, ROUND)),
            false => Wait::Spun,
        })
    }

    #[inline]
    pub(super) fn unlock(&self, which: u32, note: impl FnOnce() -> Note) -> Result<(), Hitch> {
        let lock = &self.locks[which as usize];
        if lock.state.compare_exchange(HELD, FREE, Release, Relaxed).is_ok() {
            return Ok(());
        }
        // Once waited for, it stays so until we give it back.
        slip::put(&lock.slip, note(), ROUND);
        lock.state.store(FREE, Release);
        waiting::wake(&lock.state, 1, self.scope)
    }
}
