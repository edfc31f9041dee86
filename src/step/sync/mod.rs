//! Where tasks meet in numbers: a directory or a file for each sort of object, a file for each kind.
//!
//! The contract of every object: a wait has no time limit, spinning ends when the run is over, and
//! a signal ends a sleep with [`Hitch::Interrupted`]; the same call with the same [`Visit`] then
//! goes on where it was, so that nobody arrives twice. State is in shared memory, zero at first. A
//! waker hands two words to those that it wakes ([`Note`]), which nobody here reads. Must not know:
//! recorder, plan, clock.

pub mod barrier;
mod slip;
mod waiting;

pub use crate::sys::futex::Scope;

use crate::sys::Errno;

/// What a waker leaves for those that it wakes.
pub type Note = [u64; 2];

/// A task at an object, as the object sees it.
pub trait Visitor {
    /// The note of a wake that is about to be made.
    fn note(&mut self) -> Note;

    /// Whether the run is over, so that nobody will come any more.
    fn over(&self) -> bool;
}

/// Where a task stands at one object; it belongs to one task and one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// Its index among the members of the object.
    pub me: u32,
    /// Rounds that it has been through.
    rounds: u64,
    /// It has arrived and waits: for the end of this round.
    pending: Option<u64>,
    /// It has slept since it arrived.
    slept: bool,
}

/// How a task came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    pub wait: Wait,
    /// Tasks that it let through by coming, itself among them.
    pub led: u32,
}

/// What a task waited like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    Open,
    /// Awake.
    Spun,
    /// Asleep, at least at last; with the note of who woke it, if it is known.
    Slept(Option<Note>),
}

/// Why a task did not come through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hitch {
    /// A signal ended the wait, or the run is over.
    Interrupted,
    /// This call failed.
    Failed { call: Call, errno: Errno },
}

/// The calls that objects make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    FutexWait,
    FutexWake,
}

impl Visit {
    pub fn new(me: u32) -> Visit {
        Visit { me, rounds: 0, pending: None, slept: false }
    }
}
