//! Each metric across the runs of one plan: how much it varies when nothing was changed.
//!
//! Must not know: verdicts; two sets of runs are compared elsewhere.

use crate::report::{Metric, Run, Summary};
use std::collections::BTreeMap;

/// A summary of every metric that had a value in some run; none for a single run.
pub(super) fn across(runs: &[Run]) -> BTreeMap<String, Summary> {
    if runs.len() < 2 {
        return BTreeMap::new();
    }
    let mut by_key: BTreeMap<&str, Vec<&Metric>> = BTreeMap::new();
    for (key, metric) in runs.iter().flat_map(|run| &run.metrics) {
        by_key.entry(key).or_default().push(metric);
    }
    by_key.into_iter().filter_map(|(key, metrics)| Some((key.to_owned(), of(&metrics)?))).collect()
}

fn of(metrics: &[&Metric]) -> Option<Summary> {
    let first = metrics.first()?;
    let values: Vec<f64> = metrics.iter().filter_map(|metric| metric.value).collect();
    let lowest = values.iter().copied().reduce(f64::min)?;
    let highest = values.iter().copied().reduce(f64::max)?;
    let n = values.len() as f64;
    // Rounding must not make a spread out of equal values.
    let mean = match lowest == highest {
        true => lowest,
        false => values.iter().sum::<f64>() / n,
    };
    Some(Summary {
        n: values.len() as u32,
        min: lowest,
        mean,
        max: highest,
        cv: variation(&values, mean),
        unit: first.unit.clone(),
        better: first.better,
    })
}

fn variation(values: &[f64], mean: f64) -> Option<f64> {
    if values.len() < 2 || mean == 0.0 {
        return None;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Better;

    #[test]
    fn summarizes_only_what_has_a_value() {
        let check = |values: &[Option<f64>],
                     expected: Option<(u32, f64, f64, f64, Option<f64>)>| {
            let metrics: Vec<Metric> = values
                .iter()
                .map(|&value| Metric {
                    value,
                    unit: "1/s".to_owned(),
                    better: Better::Higher,
                    reason: None,
                })
                .collect();
            let got = of(&metrics.iter().collect::<Vec<_>>());
            let got = got.map(|s| (s.n, s.min, s.mean, s.max, s.cv));
            assert_eq!(got, expected, "{values:?}");
        };
        check(&[], None);
        check(&[None, None], None);
        check(&[Some(4.0), None], Some((1, 4.0, 4.0, 4.0, None)));
        check(&[Some(0.0), Some(0.0)], Some((2, 0.0, 0.0, 0.0, None)));
        check(&[Some(9.0), Some(11.0), Some(10.0)], Some((3, 9.0, 10.0, 11.0, Some(0.1))));
    }
}
