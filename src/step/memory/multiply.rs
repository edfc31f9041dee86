//! Multiplying matrices that fill a span: the work of schbench's requests, whose cost depends on
//! whether they still are in the cache.
//!
//! Must not know: what they hold; sums go round.

use super::{Between, Span};
use crate::sys::bulk;

/// Multiplications of numbers between two questions whether to stop: 0.1 ms or less within a cache.
const PIECE_PRODUCTS: usize = 1 << 16;

/// Rows of the largest three square matrices of 8-byte numbers in so many words.
fn side(words: usize) -> usize {
    (words / 3).isqrt()
}

/// Multiplies two matrices into a third, `n` times, in the order of the textbook: each number of
/// the result goes along a row of the first and down a column of the second, which takes as long as
/// schbench's. `bytes` are those of the three, once for each multiplication. Whether it came to the
/// end.
pub fn multiply(span: Span<'_>, n: u64, between: &mut Between<'_>) -> bool {
    let words = span.words();
    let side = side(words.len());
    if side == 0 {
        return true;
    }
    let (a, rest) = words.split_at(side * side);
    let (b, rest) = rest.split_at(side * side);
    let c = &rest[..side * side];
    let columns = (PIECE_PRODUCTS / side).clamp(1, side);
    let (mut products, mut bytes) = (0, 0);
    for _ in 0..n {
        for (row, results) in a.chunks_exact(side).zip(c.chunks_exact(side)) {
            for (first, results) in (0..).step_by(columns).zip(results.chunks(columns)) {
                bulk::row_by_columns(results, row, b, first);
                products += results.len() * side;
                bytes += 3 * size_of_val(results) as u64;
                if products >= PIECE_PRODUCTS {
                    if !between(bytes) {
                        return false;
                    }
                    (products, bytes) = (0, 0);
                }
            }
        }
    }
    bytes == 0 || between(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::region::Region;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn multiplies() {
        let region = Region::private(4096).unwrap();
        // 64 words hold three matrices of 4 x 4.
        let span = Span { region: &region, offset: 0, bytes: 512 };
        let words = span.words();
        for at in 0..16 {
            words[at].store(at as u64, Relaxed);
            // Exchanges columns 0 and 1, and doubles the others.
            let [row, column] = [at / 4, at % 4];
            let to = match column {
                0 | 1 => u64::from(row == 1 - column),
                _ => 2 * u64::from(row == column),
            };
            words[16 + at].store(to, Relaxed);
        }
        let mut bytes = 0;
        assert!(multiply(span, 3, &mut |more| {
            bytes += more;
            true
        }));
        assert_eq!(bytes, 3 * 3 * 16 * 8);
        let row =
            |row: usize| [0, 1, 2, 3].map(|column| words[32 + 4 * row + column].load(Relaxed));
        assert_eq!(row(0), [1, 0, 4, 6]);
        assert_eq!(row(3), [13, 12, 28, 30]);
    }

    #[test]
    fn each_piece_may_be_the_last() {
        let region = Region::private(1 << 20).unwrap();
        let check = |last: u32, expected| {
            let mut pieces = 0;
            let came_to_end = multiply(Span::all(&region), 2, &mut |_| {
                pieces += 1;
                pieces != last
            });
            assert_eq!(came_to_end, expected);
            pieces
        };
        assert_eq!(check(1, false), 1);
        assert_eq!(check(3, false), 3);
        assert!(check(u32::MAX, true) > 3);
    }

    /// A row of these alone is more products than a piece may be.
    #[test]
    fn pieces_end_within_rows() {
        let region = Region::private(3 * 8 * 400 * 400).unwrap();
        let (mut pieces, mut bytes) = (0, 0);
        assert!(multiply(Span::all(&region), 1, &mut |more| {
            assert!(more * 400 <= (3 * 8 * 2 * PIECE_PRODUCTS) as u64, "{more}");
            (pieces, bytes) = (pieces + 1, bytes + more);
            true
        }));
        let products: usize = 400 * 400 * 400;
        assert!(pieces >= products / (2 * PIECE_PRODUCTS), "{pieces}");
        assert_eq!(bytes, 3 * 8 * 400 * 400);
    }

    #[test]
    fn matrices_are_as_large_as_fit() {
        let check = |bytes: usize, expected| assert_eq!(side(bytes / 8), expected, "{bytes}");
        check(256 << 10, 104);
        check(24, 1);
        check(16, 0);
        check(0, 0);
    }
}
