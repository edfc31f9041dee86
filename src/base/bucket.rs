//! Where a value falls in a histogram: HdrHistogram's geometry at two significant digits.
//!
//! Values below 256 have a bucket each; above, every power of two is cut into 128 equal buckets,
//! so a bucket is never wider than 1/128 of its values (0.8 %). The geometry is that of
//! `hdrhistogram::Histogram::new_with_bounds(1, HIGHEST, 2)`, so that counts carry over exactly:
//!
//! | values             | width of a bucket |
//! |--------------------|-------------------|
//! | 0 .. 256           | 1                 |
//! | 256 .. 512         | 2                 |
//! | 512 .. 1024        | 4                 |
//! | 2^k .. 2^(k+1)     | 2^(k-7)           |

/// Largest value with a bucket of its own: 2^36 - 1 ns, 68.7 s. Larger values are counted in the
/// last bucket; the exact maximum is kept beside the histogram.
pub const HIGHEST: u64 = (1 << 36) - 1;

/// Number of buckets of a histogram.
pub const BUCKETS: usize = (29 + 1) * 128;

/// The bucket of `value`.
#[inline]
pub fn index(value: u64) -> usize {
    let value = if value > HIGHEST { HIGHEST } else { value };
    // Number of the power of two, 0 for values below 256.
    let power = 56 - (value | 255).leading_zeros();
    ((power as usize) << 7) + (value >> power) as usize
}

/// Smallest value of the bucket `index`, and the width of the bucket.
pub fn range(index: usize) -> (u64, u64) {
    if index < 256 {
        return (index as u64, 1);
    }
    let power = (index >> 7) - 1;
    (((index - (power << 7)) as u64) << power, 1 << power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;

    fn hdr() -> Histogram<u64> {
        Histogram::new_with_bounds(1, HIGHEST, 2).unwrap()
    }

    #[test]
    fn has_as_many_buckets_as_hdrhistogram() {
        assert_eq!(hdr().distinct_values(), BUCKETS);
        assert_eq!(index(HIGHEST), BUCKETS - 1);
        assert_eq!(index(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn buckets_are_those_of_hdrhistogram() {
        let hdr = hdr();
        for power in 0..36 {
            for value in [(1u64 << power) - 1, 1 << power, (1 << power) + 1, (3 << power) / 2] {
                let (low, width) = range(index(value));
                assert_eq!(low, hdr.lowest_equivalent(value), "of {value}");
                assert_eq!(low + width - 1, hdr.highest_equivalent(value), "of {value}");
            }
        }
    }

    #[test]
    fn ranges_follow_each_other_without_a_gap() {
        let mut next = 0;
        for i in 0..BUCKETS {
            let (low, width) = range(i);
            assert_eq!(low, next, "bucket {i}");
            assert_eq!((index(low), index(low + width - 1)), (i, i));
            next = low + width;
        }
        assert_eq!(next, HIGHEST + 1);
    }
}
