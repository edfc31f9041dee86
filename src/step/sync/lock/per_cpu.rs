//! A spinlock for each CPU, taken by who is on it: schbench's way to make preemption cost. Where a
//! task is preempted with it, or moved away, the next one there waits.
//!
//! Must not know: sleeping.

use super::super::{Hitch, Visitor};
use super::{Form, Locks, Opening};
use crate::plain;
use crate::sys::cpu::CurrentCpu;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

plain! {
    struct Lock {
        held: AtomicU32,
    }
}

/// Rounds between two questions whether the run is over.
const ASK_EVERY: u32 = 2048;

pub(super) struct Table<'a> {
    locks: &'a [Lock],
    cpus: u32,
    cpu: CurrentCpu,
}

pub(super) fn state_bytes(count: u32, cpus: u32) -> usize {
    count as usize * cpus as usize * size_of::<Lock>()
}

pub(super) fn open<'a>(opening: &Opening<'a>) -> Locks<'a> {
    let n = opening.count as usize * opening.cpus as usize;
    let locks = opening.shared.slice(opening.offset, n);
    Locks(Form::PerCpu(Table { locks, cpus: opening.cpus, cpu: CurrentCpu::find() }))
}

impl Table<'_> {
    /// That of the current CPU, whose number it gives; the task may have moved by the time it has
    /// it, and then gives it back.
    #[inline]
    pub(super) fn try_lock(&self, which: u32) -> Option<u32> {
        let cpu = self.here();
        if self.of(which, cpu).held.swap(1, Acquire) != 0 {
            return None;
        }
        if self.here() == cpu {
            return Some(cpu);
        }
        self.unlock(which, cpu);
        None
    }

    pub(super) fn lock(&self, which: u32, visitor: &impl Visitor) -> Result<u32, Hitch> {
        let mut round: u32 = 0;
        loop {
            if let Some(cpu) = self.try_lock(which) {
                return Ok(cpu);
            }
            while self.of(which, self.here()).held.load(Relaxed) != 0 {
                round = round.wrapping_add(1);
                if round.is_multiple_of(ASK_EVERY) && visitor.over() {
                    return Err(Hitch::Interrupted);
                }
                std::hint::spin_loop();
            }
        }
    }

    #[inline]
    pub(super) fn unlock(&self, which: u32, cpu: u32) {
        self.of(which, cpu).held.store(0, Release);
    }

    /// A CPU that came online since counts as the last one.
    #[inline]
    fn here(&self) -> u32 {
        self.cpu.get().min(self.cpus - 1)
    }

    #[inline]
    fn of(&self, which: u32, cpu: u32) -> &Lock {
        &self.locks[which as usize * self.cpus as usize + cpu as usize]
    }
}
