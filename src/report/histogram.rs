//! A histogram off the hot path: merging, percentiles by integer rank, and the stored form.
//!
//! What a percentile is here: of n entries in order, the p-th is the one at rank ceil(p * n),
//! reckoned in integers, and its value is the highest that falls in the same bucket, but never
//! more than the exact maximum; in the last bucket, which has no upper end, it is that maximum.
//! So it is never below the true value and at most 0.8 % above it. An empty histogram has none.
//! (hdrhistogram's own rank goes through a float and is one entry off at some percentiles.)
//! Must not know: teams, reports.

use crate::base::bucket::{self, BUCKETS, HIGHEST};
use crate::record::recording::Series;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};

/// Entries by bucket, with their exact extremes and sum beside.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// By bucket of [`crate::base::bucket`].
    counts: Vec<u64>,
    extremes: Option<(u64, u64)>,
    sum: u128,
}

/// Why a stored histogram could not be read back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistogramError {
    #[error("reading a stored histogram: not base64: {0}")]
    Base64(String),
    #[error(
        "reading a stored histogram: its header is not that of HdrHistogram V2 from 1 to {HIGHEST} \
         at 2 digits, the only geometry that merges exactly with ours"
    )]
    Geometry,
    #[error("reading a stored histogram: {0}")]
    Damaged(String),
}

/// Length of the V2 header: cookie, payload length, index offset, digits, lowest, highest, ratio.
const HEADER_BYTES: usize = 40;
/// First word of the V2 format, uncompressed, with counts in up to nine bytes each.
const V2_COOKIE: u64 = 0x1c84_9313;

/// The p of a percentile in ten-thousandths.
pub const P50: u64 = 5_000;
pub const P90: u64 = 9_000;
pub const P95: u64 = 9_500;
pub const P99: u64 = 9_900;
pub const P999: u64 = 9_990;

const WHOLE: u64 = 10_000;

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; BUCKETS], extremes: None, sum: 0 }
    }
}

impl Histogram {
    /// Of single values, for whoever has them.
    pub fn of_values(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut all = Histogram::default();
        for value in values {
            all.counts[bucket::index(value)] += 1;
            all.stretch(value, value);
            all.sum += u128::from(value);
        }
        all
    }

    /// Adds the entries of a recorded series. Without any entry its extremes mean nothing.
    pub fn add_series(&mut self, series: &Series) {
        if series.count() == 0 {
            return;
        }
        self.add_counts(&series.counts);
        self.stretch(series.min, series.max);
        self.sum += series.sum;
    }

    pub fn add(&mut self, other: &Histogram) {
        self.add_counts(&other.counts);
        self.sum += other.sum;
        if let Some((min, max)) = other.extremes {
            self.stretch(min, max);
        }
    }

    fn add_counts(&mut self, counts: &[u64]) {
        // A series may have been cut after its last entry; it is never longer than all buckets.
        for (mine, other) in self.counts.iter_mut().zip(counts) {
            *mine += other;
        }
    }

    fn stretch(&mut self, min: u64, max: u64) {
        let (low, high) = self.extremes.unwrap_or((min, max));
        self.extremes = Some((low.min(min), high.max(max)));
    }

    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub fn min(&self) -> Option<u64> {
        self.extremes.map(|(min, _)| min)
    }

    pub fn max(&self) -> Option<u64> {
        self.extremes.map(|(_, max)| max)
    }

    pub fn sum(&self) -> u128 {
        self.sum
    }

    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    /// The value that `p` ten-thousandths of the entries do not exceed; see the head of this file.
    pub fn percentile(&self, p: u64) -> Option<u64> {
        let max = self.max()?;
        let rank = rank(p, self.count());
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        let (low, width) = bucket::range(at);
        let bounded = at < BUCKETS - 1;
        Some(if bounded { max.min(low + width - 1) } else { max })
    }

    /// HdrHistogram V2 in base64, the same counts bucket by bucket.
    pub fn encode(&self) -> Result<String, HistogramError> {
        let damaged = |error: &dyn std::fmt::Display| HistogramError::Damaged(error.to_string());
        let mut hdr = hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST, 2)
            .map_err(|error| damaged(&error))?;
        for (at, &count) in self.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let (low, _) = bucket::range(at);
            hdr.record_n(low, count).map_err(|error| damaged(&error))?;
        }
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&hdr, &mut bytes).map_err(|error| damaged(&error))?;
        Ok(STANDARD.encode(bytes))
    }

    /// The counts of a stored histogram by bucket; its exact extremes and sum are stored elsewhere.
    pub fn decode(text: &str) -> Result<Vec<u64>, HistogramError> {
        let bytes =
            STANDARD.decode(text).map_err(|error| HistogramError::Base64(error.to_string()))?;
        // Compared before anything is allocated by what the header claims.
        if !is_ours(&bytes) {
            return Err(HistogramError::Geometry);
        }
        let hdr: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| HistogramError::Damaged(error.to_string()))?;
        let counts = (0..BUCKETS).map(|at| hdr.count_at(bucket::range(at).0));
        Ok(counts.collect())
    }
}

/// Rank of the percentile among `count` entries, from 1: ceil(p * count / 10000).
fn rank(p: u64, count: u64) -> u64 {
    let rank = (u128::from(p) * u128::from(count)).div_ceil(u128::from(WHOLE));
    u64::try_from(rank).unwrap_or(u64::MAX).clamp(1, count.max(1))
}

fn is_ours(bytes: &[u8]) -> bool {
    let word =
        |at: usize| bytes.get(at..at + 4).map(|b| b.iter().fold(0, |n, &b| n << 8 | u64::from(b)));
    let long = |at: usize| Some(word(at)? << 32 | word(at + 4)?);
    let payload = bytes.len().checked_sub(HEADER_BYTES).map(|n| n as u64);
    payload.is_some()
        && word(0) == Some(V2_COOKIE)
        && word(4) == payload
        && word(8) == Some(0)
        && word(12) == Some(2)
        && long(16) == Some(1)
        && long(24) == Some(HIGHEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_are_by_integer_rank() {
        let check = |values: std::ops::RangeInclusive<u64>, p, expected| {
            let name = format!("{p} of {values:?}");
            assert_eq!(Histogram::of_values(values).percentile(p), expected, "{name}");
        };
        // Where a float rank is one entry off.
        for percent in [7, 14, 28, 55, 56] {
            check(1..=100, percent * 100, Some(percent));
        }
        check(1..=100, P50, Some(50));
        check(1..=100, P99, Some(99));
        check(1..=100, P999, Some(100));
        check(1..=1, P50, Some(1));
        check(1..=1, 0, Some(1));
        check(0..=0, P99, Some(0));
        check(1..=3, 10_000, Some(3));
        #[expect(clippy::reversed_empty_ranges)]
        check(1..=0, P50, None);
    }

    #[test]
    fn a_percentile_is_the_top_of_its_bucket_but_not_above_the_maximum() {
        let check = |values: &[u64], p, expected| {
            let histogram = Histogram::of_values(values.iter().copied());
            assert_eq!(histogram.percentile(p), Some(expected), "{values:?}");
        };
        check(&[1_000, 1_000, 5_000], P50, 1_003);
        check(&[1_000, 1_000, 1_001], P50, 1_001);
        check(&[5, HIGHEST + 7], P99, HIGHEST + 7);
    }

    #[test]
    fn an_empty_histogram_has_no_numbers() {
        let empty = Histogram::default();
        let all = (empty.min(), empty.max(), empty.mean(), empty.percentile(P50));
        assert_eq!(all, (None, None, None, None));
        let stored = empty.encode().unwrap();
        assert_eq!(Histogram::decode(&stored), Ok(vec![0; BUCKETS]));
    }

    #[test]
    fn large_counts_keep_their_rank() {
        // Beyond 2^53, where a float count is no longer exact.
        let mut counts = vec![0; BUCKETS];
        (counts[10], counts[20]) = ((1 << 53) + 3, 1);
        let series = Series {
            team: 0,
            kind: crate::record::recording::SeriesKind::FoundReady,
            counts,
            min: 10,
            max: 20,
            sum: 0,
        };
        let mut histogram = Histogram::default();
        histogram.add_series(&series);
        assert_eq!(histogram.percentile(10_000), Some(20));
        assert_eq!(histogram.percentile(P999), Some(10));
    }

    #[test]
    fn refuses_what_is_not_ours() {
        let other = |low, high, digits| {
            let hdr = hdrhistogram::Histogram::<u64>::new_with_bounds(low, high, digits).unwrap();
            let mut bytes = Vec::new();
            V2Serializer::new().serialize(&hdr, &mut bytes).unwrap();
            STANDARD.encode(bytes)
        };
        assert!(Histogram::decode(&other(1, HIGHEST, 2)).is_ok());
        let refused = [other(1, HIGHEST, 3), other(1, 1 << 20, 2), STANDARD.encode("HdrH")];
        for text in refused {
            assert_eq!(Histogram::decode(&text), Err(HistogramError::Geometry));
        }
        assert!(matches!(Histogram::decode("?"), Err(HistogramError::Base64(_))));
    }

    fn values() -> impl Strategy<Value = Vec<u64>> {
        let value = (0u32..38, any::<u64>()).prop_map(|(bits, noise)| noise & ((1 << bits) - 1));
        prop::collection::vec(value, 0..300)
    }

    proptest! {
        #[test]
        fn agrees_with_sorting(values in values(), p in 0u64..=10_000) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let histogram = Histogram::of_values(values);
            let oracle = (1..=sorted.len() as u64)
                .find(|rank| rank * 10_000 >= p * sorted.len() as u64)
                .map(|rank| sorted[rank as usize - 1]);
            match (histogram.percentile(p), oracle) {
                (Some(got), Some(true_value)) => {
                    prop_assert_eq!(bucket::index(got), bucket::index(true_value));
                    prop_assert!(got >= true_value && got <= *sorted.last().unwrap());
                }
                (got, oracle) => prop_assert_eq!(got, oracle),
            }
            prop_assert_eq!(histogram.min(), sorted.first().copied());
            prop_assert_eq!(histogram.max(), sorted.last().copied());
        }

        #[test]
        fn merging_is_recording_together(a in values(), b in values()) {
            let together = Histogram::of_values(a.iter().chain(&b).copied());
            let (a, b) = (Histogram::of_values(a), Histogram::of_values(b));
            let merge = |first: &Histogram, second: &Histogram| {
                let mut merged = first.clone();
                merged.add(second);
                merged
            };
            prop_assert_eq!(&merge(&a, &b), &together);
            prop_assert_eq!(&merge(&b, &a), &together);
        }

        #[test]
        fn stored_counts_come_back(values in values()) {
            let histogram = Histogram::of_values(values);
            let stored = histogram.encode().unwrap();
            prop_assert_eq!(Histogram::decode(&stored).unwrap(), histogram.counts());
        }

        #[test]
        fn damaged_text_is_refused_or_read(text in "[A-Za-z0-9+/]{0,120}") {
            let _ = Histogram::decode(&text);
        }
    }
}
