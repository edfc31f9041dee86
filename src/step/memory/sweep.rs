//! Going through memory in order.
//!
//! Must not know: what was there before.

use super::{Access, Between, Span, WORD, WRITTEN};
use crate::sys::bulk;
use crate::sys::region::LINE_BYTES;
use crate::sys::shared::page_bytes;
use std::sync::atomic::Ordering::Relaxed;

/// Between two questions whether to stop (bytes): 50 us at 5 GB/s, and as many page faults as take
/// about that long.
const PIECE_BYTES: usize = 256 << 10;

/// The same for zeros: starting memset costs 5 % of a piece of 256 KiB.
const ZERO_PIECE_BYTES: usize = 1 << 20;

/// Spans of so many bytes or more are zeroed in pieces larger than the caches. There are CPUs that
/// go past the caches only if one memset is larger than the last of them, and are nearly twice as
/// fast then (AMD family 1ah, 32 MiB, with glibc 2.36: 53 GB/s in pieces of 24 MiB, 92 in one of
/// 512).
const LARGE_ZERO_BYTES: usize = 64 << 20;

/// Most of such a piece, some milliseconds. The larger the pieces the nearer to one memset of all:
/// 512 MiB came to 87 to 90 GB/s in pieces of 64 to 256 MiB there, and to 92 at once.
const LARGE_ZERO_PIECE_BYTES: usize = 128 << 20;

/// Uses every line of the span once, in order; `bytes` are those of the lines. Whether it came to
/// the end. Zeros into a span of 64 MiB or more ask only after each 64 to 128 MiB.
pub fn sweep(span: Span<'_>, access: Access, between: &mut Between<'_>) -> bool {
    let lines = span.lines();
    let piece_bytes = match access {
        Access::Zero if span.bytes >= LARGE_ZERO_BYTES => even_piece(span.bytes),
        Access::Zero => ZERO_PIECE_BYTES,
        _ => PIECE_BYTES,
    };
    lines.chunks(piece_bytes / LINE_BYTES).all(|piece| {
        match access {
            Access::Zero => bulk::zero(piece),
            _ => access.each(piece.iter()),
        }
        between(size_of_val(piece) as u64)
    })
}

/// Equal pieces, whole pages but for the last: a small one at the end would go through the caches.
fn even_piece(bytes: usize) -> usize {
    bytes.div_ceil(bytes.div_ceil(LARGE_ZERO_PIECE_BYTES)).next_multiple_of(page_bytes())
}

/// Writes a word of each page, so that each gets a page of memory, on the node that the policy of
/// the region or else of this thread has. The span should begin with a page; the word is that which
/// `write` writes, so a chase's way survives. `bytes` are those of the pages. Whether it came to
/// the end.
pub fn first_touch(span: Span<'_>, between: &mut Between<'_>) -> bool {
    let page = page_bytes();
    span.lines().chunks(PIECE_BYTES.max(page) / LINE_BYTES).all(|piece| {
        for of_page in piece.chunks(page / LINE_BYTES) {
            of_page[0].words[WORD].store(WRITTEN, Relaxed);
        }
        between(size_of_val(piece) as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::even_piece;

    #[test]
    fn large_pieces_are_even() {
        let check = |pages: usize, expected: usize| {
            let bytes = pages * super::page_bytes();
            assert_eq!(even_piece(bytes), expected * super::page_bytes(), "{pages} pages");
        };
        let most = super::LARGE_ZERO_PIECE_BYTES / super::page_bytes();
        check(1, 1);
        check(most / 2, most / 2);
        check(most, most);
        check(most + 1, most / 2 + 1);
        check(most + most / 4, most / 2 + most / 8);
        check(4 * most, most);
    }
}
