//! Ways to use memory: going through it in order, at random, along a chain, as matrices that are
//! multiplied, as an allocator does, and as STREAM does.
//!
//! A task may do any of this to memory that others are using. Long ways are gone in pieces of some
//! 0.1 ms, and after each the caller's [`Between`] is told how many bytes it was and says whether
//! to go on, so that a run ends in time. Nothing here allocates or fails; the system is called only
//! by page faults. Must not know: recorder, plan, channels, where pages should be.
//!
//! What `bytes` counts: a line (64 bytes) for each that is touched, however little of it, since
//! lines are what memory and caches pass on. For `modify`, and for `write` of memory that is in no
//! cache, twice that passes: each line is fetched before it is changed, and written back some day.
//! `zero` may spare the fetch, where the CPU sees that whole lines are written. A STREAM kernel
//! counts as STREAM does ([`stream::Kernel::bytes_per_element`]).

mod allocate;
mod chase;
mod multiply;
pub mod stream;
mod sweep;
mod touch;

#[cfg(test)]
mod tests;

pub use allocate::allocate;
pub use chase::{chase, prepare_chase};
pub use multiply::multiply;
pub use stream::stream;
pub use sweep::{first_touch, sweep};
pub use touch::{Pick, touch};

use crate::sys::region::{LINE_BYTES, Line, Region};
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Told after each piece how many bytes it was; `false` stops.
pub type Between<'a> = dyn FnMut(u64) -> bool + 'a;

/// A part of a region: whole lines.
#[derive(Debug, Clone, Copy)]
pub struct Span<'a> {
    pub region: &'a Region,
    /// Of the first byte in the region, a multiple of 64.
    pub offset: usize,
    /// A multiple of 64.
    pub bytes: usize,
}

impl<'a> Span<'a> {
    /// All of a region.
    pub fn all(region: &'a Region) -> Span<'a> {
        Span { region, offset: 0, bytes: region.bytes() }
    }

    /// So many bytes from its begin, rounded up to lines; or all of it.
    pub fn part(self, bytes: Option<u64>) -> Span<'a> {
        let most = bytes.map_or(self.bytes, |bytes| (bytes as usize).next_multiple_of(LINE_BYTES));
        Span { bytes: self.bytes.min(most), ..self }
    }

    /// # Panics
    ///
    /// If it is not in its region, or not whole lines: the plan is wrong, not the input.
    pub fn lines(&self) -> &'a [Line] {
        assert!(self.bytes.is_multiple_of(LINE_BYTES), "part of a line in a span");
        self.region.slice(self.offset, self.bytes / LINE_BYTES)
    }

    fn words(&self) -> &'a [AtomicU64] {
        assert!(self.bytes.is_multiple_of(LINE_BYTES), "part of a line in a span");
        self.region.slice(self.offset, self.bytes / size_of::<AtomicU64>())
    }
}

/// What is done to each line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    Modify,
    Zero,
}

/// An access with its name in profiles.
#[derive(Debug)]
pub struct AccessRow {
    pub access: Access,
    pub name: &'static str,
    pub about: &'static str,
}

/// All accesses, in the order in which they are listed.
pub const ACCESSES: &[AccessRow] = &[
    AccessRow { access: Access::Read, name: "read", about: "load a word of each line" },
    AccessRow { access: Access::Write, name: "write", about: "store a word into each line" },
    AccessRow {
        access: Access::Modify,
        name: "modify",
        about: "add one to a word of each line (load and store, not atomic)",
    },
    AccessRow { access: Access::Zero, name: "zero", about: "store zeros into all of each line" },
];

/// The row of that name.
pub fn find(name: &str) -> Option<&'static AccessRow> {
    ACCESSES.iter().find(|row| row.name == name)
}

/// The word of a line that is used. Not the first, in which a chase has its way.
const WORD: usize = 1;

/// What `write` leaves in that word.
pub const WRITTEN: u64 = 1;

impl Access {
    /// Uses lines one by one.
    #[inline(always)]
    fn each<'a>(self, lines: impl Iterator<Item = &'a Line>) {
        match self {
            Access::Read => {
                let sum = lines.map(|line| line.words[WORD].load(Relaxed));
                black_box(sum.fold(0, u64::wrapping_add));
            }
            Access::Write => lines.for_each(|line| line.words[WORD].store(WRITTEN, Relaxed)),
            Access::Modify => lines.for_each(|line| {
                let word = &line.words[WORD];
                word.store(word.load(Relaxed).wrapping_add(1), Relaxed);
            }),
            Access::Zero => lines.for_each(|line| {
                line.words.iter().for_each(|word| word.store(0, Relaxed));
            }),
        }
    }
}
