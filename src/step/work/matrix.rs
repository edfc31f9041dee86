//! Multiplying matrices that stay in the first cache: floating point, and no memory.
//!
//! A product is C += A * B of three blocks of 32 x 32 f64, 8 KiB each: 65,536 floating point
//! operations (2 * 32^3). C is on the stack; with A and B there too, unoptimised code, which copies
//! them on the way, would not fit into a task's stack. Must not know: the time it takes.

use super::Tools;
use crate::sys::Errno;
use std::hint::black_box;

const SIDE: usize = 32;

/// Floating point operations of a product: a multiplication and an addition for each element of C
/// and each of its 32 terms.
pub(super) const FLOPS: u64 = 2 * (SIDE * SIDE * SIDE) as u64;

/// Between two questions whether to stop (products): some 0.1 ms.
const ASK: u64 = 16;

/// Elements of a row of C that are summed up at once, in registers.
const WIDE: usize = 8;

#[repr(align(64))]
struct Block([[f64; SIDE]; SIDE]);

/// C += A * B.
#[inline(never)]
fn multiply(a: &Block, b: &Block, c: &mut Block) {
    for (row_a, row_c) in a.0.iter().zip(&mut c.0) {
        for (column, part) in row_c.as_chunks_mut::<WIDE>().0.iter_mut().enumerate() {
            let mut sums = *part;
            for (factor, row_b) in row_a.iter().zip(&b.0) {
                let terms = &row_b.as_chunks::<WIDE>().0[column];
                for (sum, term) in sums.iter_mut().zip(terms) {
                    *sum += factor * term;
                }
            }
            *part = sums;
        }
    }
}

/// C is filled anew by each call, which takes a small part of the time of a product.
pub(super) fn perform(amount: u64, tools: &Tools<'_>) -> Result<(), Errno> {
    // C grows by 16 with each product, and stays exact for longer than anybody can wait.
    static A: Block = Block([[1.0; SIDE]; SIDE]);
    static B: Block = Block([[0.5; SIDE]; SIDE]);
    let mut c = Block([[0.0; SIDE]; SIDE]);
    let mut left = amount;
    while left > 0 {
        let now = left.min(ASK);
        for _ in 0..now {
            // Hidden from the compiler, which else would see that all products are the same.
            multiply(black_box(&A), black_box(&B), black_box(&mut c));
        }
        left -= now;
        if left > 0 && (tools.stop)() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock::{Clock, Source};
    use std::cell::Cell;

    fn block(element: impl Fn(usize, usize) -> f64) -> Block {
        let row = |i| std::array::from_fn(|j| element(i, j));
        Block(std::array::from_fn(row))
    }

    #[test]
    fn a_product_is_the_product() {
        // Small whole numbers, so that every order of the additions gives the same.
        let a = block(|i, j| (i * 7 + j * 3) as f64 % 11.0);
        let b = block(|i, j| (i * 5 + j) as f64 % 13.0);
        let mut c = block(|i, j| (i + j) as f64);
        multiply(&a, &b, &mut c);
        for (i, row) in c.0.iter().enumerate() {
            for (j, &got) in row.iter().enumerate() {
                let terms = (0..SIDE).map(|k| a.0[i][k] * b.0[k][j]);
                assert_eq!(got, (i + j) as f64 + terms.sum::<f64>(), "{i} {j}");
            }
        }
        assert_eq!(FLOPS, 65_536);
    }

    #[test]
    fn asks_after_each_batch_but_the_last() {
        let check = |amount, stop_at, expected| {
            let asked = Cell::new(0);
            let stop = || {
                asked.set(asked.get() + 1);
                asked.get() == stop_at
            };
            let clock = Clock::calibrate(Source::Monotonic);
            perform(amount, &Tools { clock, rounds_per_us: 0, stop: &stop }).unwrap();
            assert_eq!(asked.get(), expected, "{amount} products, stopped at {stop_at}");
        };
        check(0, 1, 0);
        check(ASK, 1, 0);
        check(ASK + 1, 9, 1);
        check(3 * ASK, 9, 2);
        check(u64::MAX, 3, 3);
    }
}
