//! Numbers with units as people write them (`10ms`, `64MiB`, `50%`), to and from base units.
//!
//! The base units are nanoseconds, bytes, and one. Printing picks the unit that leaves one to
//! three digits before the point, so that columns stay narrow.

use serde::{Deserialize, Serialize};

/// What a number counts. The base unit is in brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Things (1).
    Count,
    /// Time (ns).
    Time,
    /// Memory or message sizes (bytes).
    Bytes,
    /// A part of a whole (1, so that `50%` is 0.5).
    Share,
}

/// Every suffix with its unit and factor. Decimal byte units are what disks and message sizes use,
/// binary ones what memory uses; both are accepted as written.
const SUFFIXES: &[(&str, Unit, f64)] = &[
    ("ns", Unit::Time, 1.0),
    ("us", Unit::Time, 1e3),
    ("ms", Unit::Time, 1e6),
    ("s", Unit::Time, 1e9),
    ("min", Unit::Time, 60e9),
    ("B", Unit::Bytes, 1.0),
    ("kB", Unit::Bytes, 1e3),
    ("MB", Unit::Bytes, 1e6),
    ("GB", Unit::Bytes, 1e9),
    ("KiB", Unit::Bytes, 1024.0),
    ("MiB", Unit::Bytes, 1_048_576.0),
    ("GiB", Unit::Bytes, 1_073_741_824.0),
    ("%", Unit::Share, 0.01),
];

/// The unit and factor of a suffix; `None` for an unknown one.
pub fn suffix(text: &str) -> Option<(Unit, f64)> {
    let found = SUFFIXES.iter().find(|(name, ..)| *name == text);
    found.map(|&(_, unit, factor)| (unit, factor))
}

/// All suffixes, for messages.
pub fn suffixes() -> impl Iterator<Item = &'static str> {
    SUFFIXES.iter().map(|(name, ..)| *name)
}

/// Prints a number of base units exactly as a person would write it: the largest suffix that
/// divides it, so that it reads back as the same number.
pub fn exact(value: f64, unit: Unit) -> String {
    let whole = SUFFIXES.iter().filter(|(_, u, _)| *u == unit).filter(|(.., factor)| {
        let scaled = value / factor;
        scaled.fract() == 0.0 && scaled.abs() >= 1.0
    });
    match whole.max_by(|a, b| a.2.total_cmp(&b.2)) {
        Some((name, _, factor)) => format!("{}{name}", value / factor),
        None if unit == Unit::Time => format!("{value}ns"),
        None if unit == Unit::Bytes => format!("{value}B"),
        None if unit == Unit::Share => format!("{}%", value * 100.0),
        None => format!("{value}"),
    }
}

/// Three significant digits of `value` with the first scale that leaves fewer than four digits.
fn scaled(value: f64, scales: &[(f64, &str)]) -> String {
    let last = scales.len() - 1;
    let fits = |factor: f64| (value.abs() / factor) < 999.5;
    let at = scales.iter().position(|&(factor, _)| fits(factor)).unwrap_or(last);
    let (factor, name) = scales[at];
    let scaled = value / factor;
    let digits = match scaled.abs() {
        _ if factor == 1.0 && value.fract() == 0.0 => 0,
        x if x < 9.995 => 2,
        x if x < 99.95 => 1,
        _ => 0,
    };
    let space = if name.is_empty() { "" } else { " " };
    format!("{scaled:.digits$}{space}{name}")
}

/// `1234567 ns` as `1.23 ms`.
pub fn time(ns: f64) -> String {
    scaled(ns, &[(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")])
}

/// `65536` as `64.0 KiB`.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, &[(1.0, "B"), (1024.0, "KiB"), (1_048_576.0, "MiB"), (1_073_741_824.0, "GiB")])
}

/// `1234567` as `1.23 M`.
pub fn count(count: f64) -> String {
    scaled(count, &[(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")])
}

/// A share as `12.5 %`; one that is there but too small for a digit as `<0.1 %`.
pub fn percent(share: f64) -> String {
    match share {
        _ if share > 0.0 && share < 0.000_5 => "<0.1 %".to_owned(),
        _ => format!("{:.1} %", share * 100.0),
    }
}

/// `1 task`, `4 tasks`.
pub fn counted(n: u64, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        _ => format!("{n} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_times_with_three_digits() {
        let check = |ns, expected: &str| assert_eq!(time(ns), expected);
        check(0.0, "0 ns");
        check(999.0, "999 ns");
        check(1_000.0, "1.00 us");
        check(12_345.0, "12.3 us");
        check(999_600.0, "1.00 ms");
        check(7_300_000_000.0, "7.30 s");
        check(123_456_000_000_000.0, "123456 s");
    }

    #[test]
    fn prints_counts_and_bytes() {
        assert_eq!(count(12.0), "12");
        assert_eq!(count(1_234_567.0), "1.23 M");
        assert_eq!(bytes(65536.0), "64.0 KiB");
        assert_eq!(bytes(100.0), "100 B");
        assert_eq!([0, 1, 2].map(|n| counted(n, "CPU")), ["0 CPUs", "1 CPU", "2 CPUs"]);
    }

    #[test]
    fn exact_reads_back() {
        let check = |value, unit, expected: &str| assert_eq!(exact(value, unit), expected);
        check(10e6, Unit::Time, "10ms");
        check(1500.0, Unit::Time, "1500ns");
        check(100.0, Unit::Bytes, "100B");
        check(65536.0, Unit::Bytes, "64KiB");
        check(0.5, Unit::Share, "50%");
        check(20.0, Unit::Count, "20");
        check(0.0, Unit::Time, "0ns");
    }
}
