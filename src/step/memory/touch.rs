//! Using random lines of memory, all alike or some more than others.
//!
//! Must not know: what the lines hold.

use super::{Access, Between, Span};
use crate::base::{Random, Zipf};
use crate::sys::region::LINE_BYTES;

/// Touches between two questions whether to stop: 0.1 ms if each misses every cache and the TLB
/// (100 ns), far less if the CPU overlaps them.
const PIECE_TOUCHES: u64 = 1024;

/// Uses `n` lines of the span, each drawn by `pick`; `bytes` are those of the lines, 64 for each
/// touch. Whether it came to the end. `zero` clears the line that it touches.
///
/// # Panics
///
/// If `pick` was made for more lines than the span has.
pub fn touch(
    span: Span<'_>,
    n: u64,
    access: Access,
    pick: &Pick,
    random: &mut Random,
    between: &mut Between<'_>,
) -> bool {
    let lines = span.lines();
    assert!(pick.n_lines() <= lines.len() as u64, "lines picked past the end of a span");
    let mut left = n;
    while left > 0 {
        let piece = left.min(PIECE_TOUCHES);
        // Draws are inside: only indexing knows what the assertion says.
        access.each((0..piece).map(|_| &lines[pick.line(random) as usize]));
        left -= piece;
        if !between(piece * LINE_BYTES as u64) {
            return false;
        }
    }
    true
}

/// How random lines are drawn. Made before the window; drawing allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pick {
    n_lines: u64,
    zipf: Option<Zipf>,
}

impl Pick {
    /// Over so many lines (at least 1), with a skew: 0 draws all alike; above that, line k (from 1)
    /// is drawn in proportion to k^-skew, so that the first lines, and with them the first pages,
    /// are the hot ones. `None` if the skew is negative or not a number, or there is no line.
    pub fn new(n_lines: u64, skew: f64) -> Option<Pick> {
        let usable = n_lines > 0 && skew >= 0.0 && skew.is_finite();
        let zipf = (skew > 0.0).then(|| Zipf::new(n_lines, skew));
        usable.then_some(Pick { n_lines, zipf })
    }

    /// Over all lines of a span; see [`new`](Pick::new).
    pub fn of(span: Span<'_>, skew: f64) -> Option<Pick> {
        Pick::new((span.bytes / LINE_BYTES) as u64, skew)
    }

    pub fn n_lines(&self) -> u64 {
        self.n_lines
    }

    /// A line, from 0.
    #[inline(always)]
    pub fn line(&self, random: &mut Random) -> u64 {
        match &self.zipf {
            None => random.below(self.n_lines),
            Some(zipf) => zipf.draw(random) - 1,
        }
    }
}
