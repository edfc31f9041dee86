//! Going from line to line where each says which is next, so that no CPU can run ahead: the time of
//! a step is that of one load.
//!
//! The first word of each line holds the next one's place in the span. Must not know: whether
//! somebody has written over the way since; wherever that leads stays inside the span.

use super::{Between, Span};
use crate::base::Random;
use crate::sys::region::LINE_BYTES;
use std::sync::atomic::Ordering::Relaxed;

/// Steps between two questions whether to stop: 0.1 ms if each misses every cache and the TLB.
const PIECE_STEPS: u64 = 1024;

/// Words in a line: ways are in words, which the CPU scales by itself.
const STRIDE: u64 = (LINE_BYTES / 8) as u64;

/// Writes one random cycle over all lines of the span, by Sattolo's shuffle in place; it touches
/// every page. `bytes` are those of the lines written so far in each of its two passes. Stopped
/// halfway, it leaves shorter cycles. Whether it came to the end.
pub fn prepare_chase(span: Span<'_>, random: &mut Random, between: &mut Between<'_>) -> bool {
    let lines = span.lines();
    let piece = PIECE_STEPS as usize;
    let to_itself = lines.chunks(piece).enumerate().all(|(idx, lines)| {
        for (at, line) in (idx * piece..).zip(lines) {
            line.words[0].store(at as u64 * STRIDE, Relaxed);
        }
        between(size_of_val(lines) as u64)
    });
    // Each line, from the last one on, trades its way for that of one before it.
    to_itself
        && lines.chunks(piece).enumerate().rev().all(|(idx, chunk)| {
            for (at, line) in chunk.iter().enumerate().rev() {
                let at = idx * piece + at;
                if at == 0 {
                    break;
                }
                let other = &lines[random.below(at as u64) as usize].words[0];
                let way = line.words[0].load(Relaxed);
                line.words[0].store(other.load(Relaxed), Relaxed);
                other.store(way, Relaxed);
            }
            between(size_of_val(chunk) as u64)
        })
}

/// Goes `n` steps from line `start` of a prepared span, and returns the line where it is then, from
/// where to go on; `bytes` are 64 for each step. A way that leads out of the span goes on at its
/// first line.
pub fn chase(span: Span<'_>, n: u64, start: u64, between: &mut Between<'_>) -> u64 {
    let words = span.words();
    let mut at = start.wrapping_mul(STRIDE);
    let mut left = if words.is_empty() { 0 } else { n };
    while left > 0 {
        let piece = left.min(PIECE_STEPS);
        for _ in 0..piece {
            // Foretold every time, so it costs the chain nothing.
            at = match words.get(at as usize) {
                Some(word) => word.load(Relaxed),
                None => words[0].load(Relaxed),
            };
        }
        left -= piece;
        if !between(piece * LINE_BYTES as u64) {
            break;
        }
    }
    let inside = at < words.len() as u64;
    if inside { at / STRIDE } else { 0 }
}
