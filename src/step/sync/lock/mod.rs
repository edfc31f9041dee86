//! Locks: a row and a file for each kind. One object is a table of `count` of them.
//!
//! What is locked is given back by who has it, also when it leaves early, so that whoever waits
//! gets it in the end: kinds of parking_lot, whose waits no signal ends, rely on that. A task may
//! hold locks of several tables. To add a kind: a file here and its row in [`KINDS`]. Must not
//! know: what is done with a lock held.

mod futex;
mod mutex;
mod parking;
mod per_cpu;
mod rwlock;

#[cfg(test)]
mod conformance;

use super::{Hitch, Scope, Visit, Visitor, Wait};
use crate::sys::Shared;

/// A table of locks of any kind.
pub struct Locks<'a>(Form<'a>);

enum Form<'a> {
    Futex(futex::Table<'a>),
    Mutex(mutex::Table),
    Rwlock(rwlock::Table),
    PerCpu(per_cpu::Table<'a>),
}

/// What a table is made from.
pub struct Opening<'a> {
    pub scope: Scope,
    pub count: u32,
    /// One more than the largest number of a CPU.
    pub cpus: u32,
    /// Zeroed memory that all tasks share, and where the row's `state_bytes` are.
    pub shared: &'a Shared,
    pub offset: usize,
}

/// How a lock is had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// With others that read.
    Read,
    /// Alone.
    Write,
}

/// A lock that a task has; it goes back with [`Locks::unlock`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    which: u32,
    mode: Mode,
    /// Whose lock it is, where each CPU has its own.
    cpu: u32,
}

/// What a kind is; everything that lists kinds walks these rows.
pub struct Kind {
    pub name: &'static str,
    pub about: &'static str,
    /// Whether it works between processes.
    pub processes: bool,
    /// Whether several can have it for reading.
    pub modes: bool,
    /// Bytes of shared memory that so many locks need.
    pub state_bytes: fn(count: u32, cpus: u32) -> usize,
    /// Bytes of its own process that each lock needs.
    pub own_bytes: usize,
    pub open: for<'a> fn(&Opening<'a>) -> Locks<'a>,
}

/// All kinds, in the order in which they are listed.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "futex",
        about: "free, held, or held and waited for: a word with futex(2)",
        processes: true,
        modes: false,
        state_bytes: futex::state_bytes,
        own_bytes: 0,
        open: futex::open,
    },
    Kind {
        name: "mutex",
        about: "parking_lot's mutex, which spins a little before it parks",
        processes: false,
        modes: false,
        state_bytes: |_, _| 0,
        own_bytes: mutex::OWN_BYTES,
        open: mutex::open,
    },
    Kind {
        name: "rwlock",
        about: "parking_lot's reader-writer lock",
        processes: false,
        modes: true,
        state_bytes: |_, _| 0,
        own_bytes: rwlock::OWN_BYTES,
        open: rwlock::open,
    },
    Kind {
        name: "per_cpu",
        about: "a spinlock of each CPU, for who is on it, as schbench has",
        processes: true,
        modes: false,
        state_bytes: per_cpu::state_bytes,
        own_bytes: 0,
        open: per_cpu::open,
    },
];

/// The row of that name.
pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

impl Locks<'_> {
    /// Takes lock number `which` if nobody is in the way.
    #[inline]
    pub fn try_lock(&self, which: u32, mode: Mode) -> Option<Held> {
        let held = Held { which, mode, cpu: 0 };
        let free = match &self.0 {
            Form::Futex(it) => it.try_lock(which),
            Form::Mutex(it) => it.try_lock(which),
            Form::Rwlock(it) => it.try_lock(which, mode),
            Form::PerCpu(it) => return it.try_lock(which).map(|cpu| Held { cpu, ..held }),
        };
        free.then_some(held)
    }

    /// Waits for it; for who has tried.
    pub fn lock(
        &self,
        which: u32,
        mode: Mode,
        visit: &mut Visit,
        visitor: &mut impl Visitor,
    ) -> Result<(Wait, Held), Hitch> {
        let mut held = Held { which, mode, cpu: 0 };
        let wait = match &self.0 {
            Form::Futex(it) => it.lock(which, visit)?,
            Form::Mutex(it) => it.lock(which),
            Form::Rwlock(it) => it.lock(which, mode),
            Form::PerCpu(it) => {
                held.cpu = it.lock(which, visitor)?;
                Wait::Spun
            }
        };
        Ok((wait, held))
    }

    /// Gives it back, waking who waits for it.
    #[inline]
    pub fn unlock(&self, held: Held, visitor: &mut impl Visitor) -> Result<(), Hitch> {
        let note = || visitor.note();
        match &self.0 {
            Form::Futex(it) => it.unlock(held.which, note)?,
            Form::Mutex(it) => it.unlock(held.which, note),
            Form::Rwlock(it) => it.unlock(held.which, held.mode, note),
            Form::PerCpu(it) => it.unlock(held.which, held.cpu),
        }
        Ok(())
    }
}

/// Notes of locks whose owner does not know who sleeps: of one round only.
const ROUND: u32 = 0;
