//! Barriers: a row and a file for each kind.
//!
//! Nobody gets through a round before all whom it waits for have come to it. To add a kind: a file
//! here and its row in [`KINDS`]; the conformance suite, help and documents walk the rows. Must not
//! know: how many CPUs there are, which `Opening` has judged.

mod central;
mod futex;
mod neighbour;
mod spin;
mod spin_then_futex;

#[cfg(test)]
mod conformance;

use super::{Hitch, Passed, Scope, Visit, Visitor};
use crate::sys::Shared;

/// One barrier of any kind.
pub struct Barrier<'a>(Form<'a>);

enum Form<'a> {
    Central(central::Central<'a>),
    Neighbour(neighbour::Neighbour<'a>),
}

/// What a barrier is made from.
pub struct Opening<'a> {
    pub scope: Scope,
    /// Tasks in a round.
    pub parties: u32,
    /// Rounds that a task spins before it does otherwise, where the kind spins.
    pub spins: u32,
    /// Whether there are more tasks than CPUs for them, so that spinning keeps away who has to
    /// come.
    pub crowded: bool,
    /// Zeroed memory that all tasks share, and where the row's `state_bytes` are.
    pub shared: &'a Shared,
    pub offset: usize,
}

/// What a kind is; everything that lists kinds walks these rows.
pub struct Kind {
    pub name: &'static str,
    pub about: &'static str,
    /// What it does after `spins` rounds where it is crowded, in a word; `None`: it never spins.
    pub spins_then: Option<&'static str>,
    /// Whether it knows its members one by one, so that all of them have to come.
    pub of_members: bool,
    /// Bytes of shared memory that a barrier of so many parties needs.
    pub state_bytes: fn(parties: u32) -> usize,
    pub open: for<'a> fn(&Opening<'a>) -> Barrier<'a>,
}

/// All kinds, in the order in which they are listed.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "spin_then_futex",
        about: "spins, then sleeps until the last one comes, as libgomp's",
        spins_then: Some("sleeps"),
        of_members: false,
        state_bytes: central::state_bytes,
        open: spin_then_futex::open,
    },
    Kind {
        name: "futex",
        about: "sleeps at once until the last one comes",
        spins_then: None,
        of_members: false,
        state_bytes: central::state_bytes,
        open: futex::open,
    },
    Kind {
        name: "spin",
        about: "spins until the last one comes; yields where tasks outnumber their CPUs",
        spins_then: Some("yields"),
        of_members: false,
        state_bytes: central::state_bytes,
        open: spin::open,
    },
    Kind {
        name: "neighbour",
        about: "waits for its two neighbours only, in a ring; spins, then sleeps",
        spins_then: Some("sleeps"),
        of_members: true,
        state_bytes: neighbour::state_bytes,
        open: neighbour::open,
    },
];

/// The row of that name.
pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

impl Barrier<'_> {
    /// Comes to the barrier and waits until the round is complete.
    #[inline]
    pub fn pass(&self, visit: &mut Visit, visitor: &mut impl Visitor) -> Result<Passed, Hitch> {
        match &self.0 {
            Form::Central(it) => it.pass(visit, visitor),
            Form::Neighbour(it) => it.pass(visit, visitor),
        }
    }
}
