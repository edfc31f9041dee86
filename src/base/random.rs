//! Seeded random streams: the same seed gives the same run, whatever the number of threads.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014): one addition and a few shifts a number, no state but a word.

/// One stream. Streams of different (seed, index) are independent for our purposes.
#[derive(Debug, Clone)]
pub struct Random(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// The stream `index` of `seed`; a task uses its index over the whole run.
    pub fn new(seed: u64, index: u64) -> Random {
        Random(mix(seed ^ mix(index.wrapping_add(1).wrapping_mul(GOLDEN))))
    }

    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number in `0..n`, by multiplication (no division, bias below n / 2^64). `n` > 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_stream_and_streams_differ() {
        let take = |seed, index| {
            let mut r = Random::new(seed, index);
            [r.next_u64(), r.next_u64(), r.next_u64()]
        };
        assert_eq!(take(1, 0), take(1, 0));
        assert_ne!(take(1, 0), take(1, 1));
        assert_ne!(take(1, 0), take(2, 0));
    }

    #[test]
    fn below_stays_below_and_reaches_all() {
        let mut r = Random::new(7, 0);
        let mut seen = [0u32; 5];
        for _ in 0..5000 {
            seen[r.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 800), "{seen:?}");
    }
}
