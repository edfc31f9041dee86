//! Where many tasks meet: a directory or a file for each sort of object, a file for each kind.
//!
//! The contract of every object: a wait has no time limit, spinning ends when the run is over, and
//! a signal ends a sleep with [`Hitch::Interrupted`]; the same call with the same [`Visit`] then
//! goes on where it was, so that nobody arrives twice. State is in shared memory, zero at first. A
//! waker hands two words to those that it wakes ([`Note`]), which nobody here reads. Must not know:
//! recorder, plan, clock.

pub mod barrier;
pub mod commit;
pub mod desk;
pub mod lock;
pub mod safepoint;
mod slip;
mod waiting;

pub use crate::sys::futex::Scope;

use crate::sys::Errno;

/// What a waker leaves for those that it wakes.
pub type Note = [u64; 2];

/// A task at an object, as the object sees it.
pub trait Visitor {
    /// At a desk, before the note of a wake: the member that is about to be let go.
    fn lets_go(&mut self, _member: u32) {}

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

/// A kind of any sort, for lists: `barrier spin`.
pub struct Row {
    pub name: String,
    pub about: String,
}

/// All kinds of all sorts.
pub fn rows() -> impl Iterator<Item = Row> {
    let row = |sort: &str, name: &str, about: &str, processes: bool| Row {
        name: format!("{sort} {name}"),
        about: if processes { about.to_owned() } else { format!("{about} (threads only)") },
    };
    let barriers = barrier::KINDS.iter();
    let barriers = barriers.map(move |kind| row("barrier", kind.name, kind.about, true));
    let locks = lock::KINDS.iter();
    let locks = locks.map(move |kind| row("lock", kind.name, kind.about, kind.processes));
    let others =
        [("commit", commit::ABOUT), ("desk", desk::ABOUT), ("safepoint", safepoint::ABOUT)];
    let others = others.map(|(sort, about)| Row { name: sort.to_owned(), about: about.to_owned() });
    barriers.chain(locks).chain(others)
}

impl Visit {
    pub fn new(me: u32) -> Visit {
        Visit { me, rounds: 0, pending: None, slept: false }
    }
}
