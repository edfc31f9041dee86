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

/// Uses every line of the span once, in order; `bytes` are those of the lines. Whether it came to
/// the end.
pub fn sweep(span: Span<'_>, access: Access, between: &mut Between<'_>) -> bool {
    span.lines().chunks(PIECE_BYTES / LINE_BYTES).all(|piece| {
        match access {
            Access::Zero => bulk::zero(piece),
            _ => access.each(piece.iter()),
        }
        between(size_of_val(piece) as u64)
    })
}

/// Writes a word of each page, so that each gets a page of memory, on the node that the policy of
/// the region or else of this thread has. The span should begin with a page; the word is that which
/// `write` writes, so a chase's way survives. `bytes` are those of the pages. Whether it came to the
/// end.
pub fn first_touch(span: Span<'_>, between: &mut Between<'_>) -> bool {
    let page = page_bytes();
    span.lines().chunks(PIECE_BYTES.max(page) / LINE_BYTES).all(|piece| {
        for of_page in piece.chunks(page / LINE_BYTES) {
            of_page[0].words[WORD].store(WRITTEN, Relaxed);
        }
        between(size_of_val(piece) as u64)
    })
}
