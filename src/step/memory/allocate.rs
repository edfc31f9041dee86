//! Taking memory from a slice as an allocator takes it from its nursery: piece behind piece, each
//! zeroed, and from the front again at the end.
//!
//! Must not know: who uses what was taken.

use super::{Between, Span};
use crate::sys::bulk;
use crate::sys::region::LINE_BYTES;

/// Between two questions whether to stop (lines): 1 MiB, as a zero sweep.
const PIECE_LINES: usize = (1 << 20) / LINE_BYTES;

/// Zeroes `bytes`, rounded up to whole lines, from line `at` of the span on, and returns the line
/// from which to go on; `bytes` told are those of the lines.
pub fn allocate(span: Span<'_>, bytes: u64, at: usize, between: &mut Between<'_>) -> usize {
    let lines = span.lines();
    if lines.is_empty() {
        return 0;
    }
    let (mut at, mut left) = (at % lines.len(), bytes.div_ceil(LINE_BYTES as u64));
    while left > 0 {
        let room = (lines.len() - at).min(PIECE_LINES);
        let n = usize::try_from(left).unwrap_or(room).min(room);
        let piece = &lines[at..at + n];
        bulk::zero(piece);
        left -= n as u64;
        at = (at + n) % lines.len();
        if !between(size_of_val(piece) as u64) {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::region::Region;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn takes_line_behind_line_and_begins_again() {
        let region = Region::private(1 << 20).unwrap();
        let span = Span { region: &region, offset: 640, bytes: 640 };
        let check = |bytes, at, expected_at, zeroed: &[usize]| {
            let all = Span { region: &region, offset: 0, bytes: 30 * LINE_BYTES }.lines();
            all.iter().for_each(|line| line.words[7].store(1, Relaxed));
            assert_eq!(allocate(span, bytes, at, &mut |_| true), expected_at);
            let zero = |(n, line): (usize, &crate::sys::region::Line)| {
                (line.words[7].load(Relaxed) == 0).then_some(n)
            };
            let found: Vec<usize> = all.iter().enumerate().filter_map(zero).collect();
            assert_eq!(found, zeroed, "{bytes} B from {at}");
        };
        check(0, 3, 3, &[]);
        check(64, 0, 1, &[10]);
        check(65, 1, 3, &[11, 12]);
        check(256, 8, 2, &[10, 11, 18, 19]);
        check(6_400, 4, 4, &(10..20).collect::<Vec<_>>());
    }
}
