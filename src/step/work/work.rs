//! A fixed amount of work: a chain of dependent operations, counted in microseconds of this
//! machine at its fastest.
//!
//! The same number of rounds every time, so a slower or shared CPU takes longer. Must not know:
//! the time it takes while it runs.

use super::Tools;
use crate::sys::Errno;
use crate::sys::clock::monotonic_ns;
use std::hint::black_box;

/// Between two questions whether to stop (us).
const ASK_US: u64 = 100;

pub(super) fn perform(amount_ns: u64, tools: &Tools<'_>) -> Result<(), Errno> {
    let mut left_us = amount_ns / 1_000;
    let rest_ns = amount_ns % 1_000;
    rounds(rest_ns * tools.rounds_per_us / 1_000);
    while left_us > 0 {
        let now_us = left_us.min(ASK_US);
        rounds(now_us * tools.rounds_per_us);
        left_us -= now_us;
        if (tools.stop)() {
            break;
        }
    }
    Ok(())
}

/// Each round multiplies and shifts what the one before gave, so that no CPU can overlap them.
#[inline(never)]
fn rounds(n: u64) {
    let mut x = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..n {
        x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    black_box(x);
}

/// Rounds in a microsecond: the best of many short trials, since everything that disturbs a trial
/// makes it longer. Takes some 4 ms.
pub fn calibrate() -> u64 {
    const ROUNDS: u64 = 20_000;
    let trial = |_| {
        let start = monotonic_ns();
        rounds(ROUNDS);
        (monotonic_ns() - start).max(1)
    };
    let best_ns = (0..100).map(trial).min().unwrap_or(1);
    (ROUNDS * 1_000 / best_ns).max(1)
}
