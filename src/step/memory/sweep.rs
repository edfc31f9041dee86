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

/// The same for zeros past the caches, 45 us at 95 GB/s: waiting for the last of them takes 1 % of
/// a piece of 1 MiB.
const UNCACHED_PIECE_BYTES: usize = 4 << 20;

/// Spans of so many bytes or more are zeroed past the caches, which hold less.
const UNCACHED_BYTES: usize = 64 << 20;

/// Uses every line of the span once, in order; `bytes` are those of the lines. Whether it came to
/// the end.
pub fn sweep(span: Span<'_>, access: Access, between: &mut Between<'_>) -> bool {
    let is_large = span.bytes >= UNCACHED_BYTES;
    let piece_bytes = match access {
        Access::Zero if is_large => UNCACHED_PIECE_BYTES,
        Access::Zero => ZERO_PIECE_BYTES,
        _ => PIECE_BYTES,
    };
    span.lines().chunks(piece_bytes / LINE_BYTES).all(|piece| {
        match access {
            Access::Zero if is_large => bulk::zero_uncached(piece),
            Access::Zero => bulk::zero(piece),
            _ => access.each(piece.iter()),
        }
        between(size_of_val(piece) as u64)
    })
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
