//! Amounts that vary about a mean: a table of factors, made before the run, and a draw from it.
//!
//! A table has the mean of each 1024th of its distribution, so that a draw costs one random number
//! and one multiplication, and the mean over all of them is exact. Must not know: what is drawn.

use crate::base::Random;
use std::sync::{Arc, Mutex, PoisonError};

/// Entries of a table.
const ENTRIES: usize = 1024;
/// Points at which each 1024th is looked at.
const POINTS: usize = 64;

/// A distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Of times between events that know nothing of each other; its cv is 1.
    Exponential,
    /// As service times are: many near the mean, few far above.
    Lognormal,
    Uniform,
}

/// A distribution with its name in profiles.
pub struct SpreadRow {
    pub spread: Spread,
    pub name: &'static str,
    /// The largest coefficient of variation that it can have.
    pub cv_max: f64,
}

/// All distributions, in the order in which they are listed.
pub const SPREADS: &[SpreadRow] = &[
    SpreadRow { spread: Spread::Lognormal, name: "lognormal", cv_max: 10.0 },
    SpreadRow { spread: Spread::Exponential, name: "exponential", cv_max: 1.0 },
    // From 0 to twice the mean would be 1 / sqrt(3), or 0.577.
    SpreadRow { spread: Spread::Uniform, name: "uniform", cv_max: 0.5625 },
];

/// The row of that name.
pub fn find(name: &str) -> Option<&'static SpreadRow> {
    SPREADS.iter().find(|row| row.name == name)
}

/// Factors of a mean, each as likely, times 2^32.
#[derive(Debug, PartialEq)]
pub struct Table(Vec<u64>);

impl Table {
    /// `cv` is standard deviation over mean; an exponential distribution has its own.
    pub fn new(spread: Spread, cv: f64) -> Table {
        let normal = match spread {
            Spread::Lognormal => normal_quantiles(),
            _ => Vec::new(),
        };
        // Standard deviation of the logarithm.
        let sigma = (1.0 + cv * cv).ln().sqrt();
        let factor = |point: usize| {
            let below = (point as f64 + 0.5) / (ENTRIES * POINTS) as f64;
            match spread {
                Spread::Exponential => -(1.0 - below).ln(),
                Spread::Uniform => 1.0 + cv * 3f64.sqrt() * (2.0 * below - 1.0),
                Spread::Lognormal => (sigma * normal[point]).exp(),
            }
        };
        let entry = |entry: usize| {
            let points = entry * POINTS..(entry + 1) * POINTS;
            points.map(factor).sum::<f64>().max(0.0)
        };
        let sums: Vec<f64> = (0..ENTRIES).map(entry).collect();
        let mean = sums.iter().sum::<f64>() / ENTRIES as f64;
        let scaled = |sum: f64| (sum / mean * (1u64 << 32) as f64).round() as u64;
        Table(sums.into_iter().map(scaled).collect())
    }

    /// A draw of mean 1, times `mean`, with its fraction.
    #[inline]
    pub fn scaled(&self, mean: f64, random: &mut Random) -> f64 {
        let factor = self.0[random.below(ENTRIES as u64) as usize];
        mean * (factor as f64 / (1u64 << 32) as f64)
    }

    /// An amount whose mean is `mean`, rounded down.
    #[inline]
    pub fn draw(&self, mean: u64, random: &mut Random) -> u64 {
        let factor = self.0[random.below(ENTRIES as u64) as usize];
        ((u128::from(mean) * u128::from(factor)) >> 32) as u64
    }
}

/// The table of this distribution, the same for all tasks that use it: making one of a lognormal
/// distribution takes some milliseconds, and a table 8 KiB.
pub fn table(spread: Spread, cv: f64) -> Arc<Table> {
    type Known = (Spread, u64, Arc<Table>);
    static TABLES: Mutex<Vec<Known>> = Mutex::new(Vec::new());
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |it: &&Known| (it.0, it.1) == (spread, cv.to_bits());
    if let Some((.., table)) = tables.iter().find(is_it) {
        return Arc::clone(table);
    }
    let table = Arc::new(Table::new(spread, cv));
    tables.push((spread, cv.to_bits(), Arc::clone(&table)));
    table
}

/// The middle of each point's part of a normal distribution, in order: its density is summed up in
/// small steps, which is exact enough for a table and needs no series.
fn normal_quantiles() -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let n = ENTRIES * POINTS;
    let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    // The upper half, from the middle outwards; the lower one is its mirror.
    let (mut below, mut z) = (0.5, 0.0);
    let upper: Vec<f64> = (n / 2..n)
        .map(|point| {
            let wanted = (point as f64 + 0.5) / n as f64;
            while below < wanted {
                below += density(z + STEP / 2.0) * STEP;
                z += STEP;
            }
            z
        })
        .collect();
    let lower = upper.iter().rev().map(|z| -z);
    lower.chain(upper.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and coefficient of variation of a table.
    fn moments(table: &Table) -> (f64, f64) {
        let factors = || table.0.iter().map(|factor| *factor as f64 / (1u64 << 32) as f64);
        let mean = factors().sum::<f64>() / ENTRIES as f64;
        let square = factors().map(|it| (it - mean).powi(2)).sum::<f64>() / ENTRIES as f64;
        (mean, square.sqrt() / mean)
    }

    #[test]
    fn tables_have_their_mean_and_spread() {
        let check = |spread, cv: f64, expected_cv: f64| {
            let (mean, found) = moments(&Table::new(spread, cv));
            assert!((mean - 1.0).abs() < 1e-6, "{spread:?} {cv}: mean {mean}");
            // The mean of the outermost 1024th stands for all of it.
            assert!((found / expected_cv - 1.0).abs() < 0.02, "{spread:?} {cv}: cv {found}");
        };
        check(Spread::Uniform, 0.1, 0.1);
        check(Spread::Uniform, 0.5625, 0.5625);
        check(Spread::Exponential, 1.0, 1.0);
        check(Spread::Lognormal, 0.1, 0.1);
        check(Spread::Lognormal, 0.5, 0.5);
        check(Spread::Lognormal, 1.0, 1.0);
    }

    #[test]
    fn a_draw_is_the_mean_times_a_factor() {
        let table = Table::new(Spread::Uniform, 0.5);
        let mut random = Random::new(1, 1);
        assert_eq!(table.draw(0, &mut random), 0);
        let drawn: Vec<u64> = (0..10_000).map(|_| table.draw(1_000, &mut random)).collect();
        // 1 - 0.5 sqrt(3) and 1 + 0.5 sqrt(3).
        assert!(drawn.iter().all(|amount| (133..1_867).contains(amount)));
        let mean = drawn.iter().sum::<u64>() as f64 / 10_000.0;
        assert!((mean - 1_000.0).abs() < 25.0, "{mean}");
    }

    #[test]
    fn names_are_unique() {
        for row in SPREADS {
            assert_eq!(find(row.name).map(|found| found.spread), Some(row.spread));
        }
        assert!(find("normal").is_none());
    }
}
