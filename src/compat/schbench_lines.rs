//! The lines and the JSON of schbench.
//!
//! A latency is printed in microseconds, rounded down; the number of samples of a row is of those
//! above the percentile before it. Must not know: how the numbers came about.

use crate::base::CpuId;
use crate::base::bucket;
use std::fmt::Write;

/// Which percentiles there are in a block, in hundredths of a percent, and which has the star.
pub struct Rows {
    pub percentiles: &'static [u64],
    pub star: u64,
}

pub const OF_LATENCIES: Rows = Rows { percentiles: &[5_000, 9_000, 9_900, 9_990], star: 9_900 };
pub const OF_WAKES: Rows = Rows { percentiles: &[2_000, 5_000, 9_000, 9_900, 9_990], star: 9_900 };
pub const OF_RPS: Rows = Rows { percentiles: &[2_000, 5_000, 9_000], star: 5_000 };
const OF_JSON: &[u64] = &[2_000, 5_000, 9_000, 9_900, 9_990];

const WHOLE: u128 = 10_000;

/// How many samples have which value, in the buckets of `base::bucket`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    counts: Vec<u64>,
    /// Exact, if they are known; else those of the buckets.
    pub extremes: Option<(u64, u64)>,
    /// What one of the unit printed is.
    per: u64,
}

impl Samples {
    /// Of times in ns, to be printed in us.
    pub fn times(counts: Vec<u64>, extremes: Option<(u64, u64)>) -> Samples {
        Samples { counts, extremes, per: 1_000 }
    }

    /// Of plain numbers.
    pub fn numbers(values: &[u64]) -> Samples {
        let mut counts = vec![0; bucket::BUCKETS];
        values.iter().for_each(|value| counts[bucket::index(*value)] += 1);
        let extremes = values.iter().min().copied().zip(values.iter().max().copied());
        Samples { counts, extremes, per: 1 }
    }

    /// What has come since `before`.
    pub fn since(&self, before: &Samples) -> Samples {
        let mut since = Samples { extremes: None, ..self.clone() };
        for (count, before) in since.counts.iter_mut().zip(&before.counts) {
            *count = count.saturating_sub(*before);
        }
        since
    }

    fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn extremes(&self) -> Option<(u64, u64)> {
        let first = self.counts.iter().position(|n| *n > 0)?;
        let last = self.counts.iter().rposition(|n| *n > 0)?;
        let (low, width) = bucket::range(last);
        let (min, max) = self.extremes.unwrap_or((bucket::range(first).0, low + width - 1));
        Some((min / self.per, max / self.per))
    }

    /// The percentile, and the samples that do not exceed it.
    fn percentile(&self, p: u64) -> Option<(u64, u64)> {
        let rank = (u128::from(self.count()) * u128::from(p)).div_ceil(WHOLE).max(1) as u64;
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        let (low, width) = bucket::range(at);
        let most = self.extremes.map_or(u64::MAX, |(_, max)| max);
        Some(((low + width - 1).min(most) / self.per, seen))
    }
}

/// A block: `Wakeup Latencies percentiles (usec) runtime 4 (s) (18924 total samples)` and its rows.
pub fn block(label: &str, units: &str, runtime_s: u64, samples: &Samples, rows: &Rows) -> String {
    let mut text = format!(
        "{label} percentiles ({units}) runtime {runtime_s} (s) ({} total samples)\n",
        samples.count()
    );
    let mut before = 0;
    for &p in rows.percentiles {
        let Some((value, seen)) = samples.percentile(p) else { continue };
        let star = if p == rows.star { "* " } else { "  " };
        let number = seen - before;
        before = seen;
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "\t{star}{:2.1}th: {value:<10} ({number} samples)", p as f64 / 100.0);
    }
    if let Some((min, max)) = samples.extremes() {
        let _ = writeln!(text, "\t  min={min}, max={max}");
    }
    text
}

/// How the footprint of a worker is shared out, so many percent of it being the worker's own, and
/// how long a side each of the three matrices has.
pub fn split(footprint_kib: u64, own: u64) -> String {
    let shared = 100 - own;
    let kib = |percent: u64| footprint_kib.saturating_mul(percent) / 100;
    let side = |percent: u64| {
        let bytes = footprint_kib.saturating_mul(1024 * percent) / 100;
        (bytes / (3 * 8)).isqrt()
    };
    format!(
        "split mode: {own}% private ({} KB per thread), {shared}% shared ({} KB total)\n\
         matrix sizes: private={}, shared={}\n",
        kib(own),
        kib(shared),
        side(own),
        side(shared)
    )
}

/// Where a message thread runs.
pub fn pinned(n: u64, cpu: CpuId) -> String {
    format!("Pinning to message thread index {n} cpu {}\n", cpu.0)
}

/// Time that threads of either sort waited for a CPU in each of their turns, on average (ns);
/// `None` where the kernel does not say.
pub fn delays(message_ns: Option<u64>, worker_ns: Option<u64>) -> String {
    let us = |ns: Option<u64>| ns.map_or("unknown".to_string(), |ns| (ns / 1_000).to_string());
    format!("sched delay: message {} (usec) worker {} (usec)\n", us(message_ns), us(worker_ns))
}

/// What a worker was handed, on average: so often a second, so many bytes each time.
pub fn transfer(per_s: f64, bytes: u64) -> String {
    let mut amount = per_s * bytes as f64;
    let mut units = ["B", "KB", "MB", "GB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    while let Some(next) = units.next().filter(|_| amount >= 1024.0) {
        (amount, unit) = (amount / 1024.0, next);
    }
    format!("avg worker transfer: {per_s:.2} ops/sec {amount:.2}{unit}/s\n")
}

/// The rate that arrived, or the one that was found.
pub fn rate(average: f64, found: Option<u64>) -> String {
    match found {
        Some(rps) => format!("final rps goal was {rps}\n"),
        None => format!("average rps: {average:.2}\n"),
    }
}

/// What the JSON says of machine and command line.
pub struct Header<'a> {
    pub kernel: &'a str,
    pub jobname: Option<&'a str>,
    pub hostname: &'a str,
    /// Name of its scheduler, or `disabled`.
    pub sched_ext: &'a str,
    pub cmdline: &'a str,
}

/// The JSON document, on one line without an end; `series` by their names in the keys.
pub fn json(
    header: &Header<'_>,
    time_s: u64,
    runtime_s: u64,
    series: &[(&str, &Samples)],
) -> String {
    let mut normal = serde_json::json!({
        "version": header.kernel,
        "hostname": header.hostname,
        "sched_ext": header.sched_ext,
        "cmdline": header.cmdline,
    });
    if let Some(jobname) = header.jobname {
        normal["jobname"] = jobname.into();
    }
    let mut int = serde_json::json!({ "time": time_s, "runtime": runtime_s });
    for (name, samples) in series {
        for p in OF_JSON {
            if let Some((value, _)) = samples.percentile(*p) {
                int[format!("{name}_pct{:.1}", *p as f64 / 100.0)] = value.into();
            }
        }
        if let Some((min, max)) = samples.extremes() {
            int[format!("{name}_min")] = min.into();
            int[format!("{name}_max")] = max.into();
        }
    }
    serde_json::json!({ "normal": normal, "int": int }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values_us: &[u64]) -> Samples {
        let ns: Vec<u64> = values_us.iter().map(|us| us * 1_000).collect();
        let Samples { counts, extremes, .. } = Samples::numbers(&ns);
        Samples::times(counts, extremes)
    }

    #[test]
    fn a_block_is_schbenchs() {
        let samples = times(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 100]);
        assert_eq!(
            block("Wakeup Latencies", "usec", 4, &samples, &OF_LATENCIES),
            "Wakeup Latencies percentiles (usec) runtime 4 (s) (10 total samples)\n\
             \t  50.0th: 5          (5 samples)\n\
             \t  90.0th: 9          (4 samples)\n\
             \t* 99.0th: 100        (1 samples)\n\
             \t  99.9th: 100        (0 samples)\n\
             \t  min=1, max=100\n"
        );
        assert_eq!(
            block("RPS", "requests", 4, &Samples::numbers(&[10, 12]), &OF_RPS),
            "RPS percentiles (requests) runtime 4 (s) (2 total samples)\n\
             \t  20.0th: 10         (1 samples)\n\
             \t* 50.0th: 10         (0 samples)\n\
             \t  90.0th: 12         (1 samples)\n\
             \t  min=10, max=12\n"
        );
        let nothing = block("RPS", "requests", 4, &Samples::default(), &OF_RPS);
        assert_eq!(nothing, "RPS percentiles (requests) runtime 4 (s) (0 total samples)\n");
    }

    #[test]
    fn a_part_has_what_came_since() {
        let since = times(&[1, 5, 5]).since(&times(&[1, 5]));
        assert_eq!((since.count(), since.extremes()), (1, Some((4, 5))));
    }

    #[test]
    fn json_has_schbenchs_keys() {
        let header = Header {
            kernel: "6.12.0",
            jobname: Some("a \"job\""),
            hostname: "host",
            sched_ext: "disabled",
            cmdline: "schbench -j -",
        };
        let samples = times(&[7]);
        let text = json(&header, 1_700_000_000, 5, &[("wakeup_latency", &samples)]);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["normal"]["jobname"], "a \"job\"");
        assert_eq!(document["int"]["runtime"], 5);
        for key in ["pct20.0", "pct50.0", "pct90.0", "pct99.0", "pct99.9", "min", "max"] {
            assert_eq!(document["int"][format!("wakeup_latency_{key}")], 7, "{key}");
        }
    }

    #[test]
    fn a_transfer_is_in_the_unit_that_it_fills() {
        let check = |per_s, bytes, expected: &str| {
            assert_eq!(transfer(per_s, bytes), format!("avg worker transfer: {expected}\n"));
        };
        check(99.99, 1, "99.99 ops/sec 99.99B/s");
        check(49.99, 21, "49.99 ops/sec 1.03KB/s");
        check(73_716.22, 4096, "73716.22 ops/sec 287.95MB/s");
        check(43_810.42, 1 << 20, "43810.42 ops/sec 42.78GB/s");
        check(1e9, 1 << 20, "1000000000.00 ops/sec 976562.50GB/s");
    }

    #[test]
    fn a_rate_that_was_found_is_told_in_place_of_the_average() {
        assert_eq!(rate(99.5, None), "average rps: 99.50\n");
        assert_eq!(rate(99.5, Some(100)), "final rps goal was 100\n");
    }

    #[test]
    fn a_footprint_that_is_shared_out() {
        let expected = "split mode: 30% private (30 KB per thread), 70% shared (70 KB total)\n\
                        matrix sizes: private=35, shared=54\n";
        assert_eq!(split(100, 30), expected);
        let expected = "split mode: 100% private (256 KB per thread), 0% shared (0 KB total)\n\
                        matrix sizes: private=104, shared=0\n";
        assert_eq!(split(256, 100), expected);
    }

    #[test]
    fn a_delay_that_is_not_known_is_not_0() {
        let check = |message, worker, expected: &str| {
            assert_eq!(delays(message, worker), format!("sched delay: {expected}\n"));
        };
        check(Some(4_999), Some(0), "message 4 (usec) worker 0 (usec)");
        check(None, Some(1_000), "message unknown (usec) worker 1 (usec)");
    }
}
