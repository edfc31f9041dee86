//! The points of a sweep by the names that the profile gives them (`tput-4`), and their score.
//!
//! Must not know: how a point is run, what else is told of it.

use crate::metric::{self, Of};
use crate::plan::RampPlan;
use crate::report::Report;
use serde::{Deserialize, Serialize};

/// Each point's result as one number, in the order of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ramp {
    /// The metric that the numbers are of.
    pub metric: String,
    pub unit: String,
    pub rows: Vec<Row>,
    pub score: Score,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `tput-4`.
    pub name: String,
    /// Runs that had a value.
    pub n: u32,
    /// The harmonic mean over these; `None` without any.
    pub hmean: Option<f64>,
    /// With several instances: the same of the one that had least in a run, and of the one that had
    /// most; `None` where they are not kept apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instances: Option<Spread>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub least: f64,
    pub most: f64,
}

/// The mean of the rows from the peak to twice it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    pub from: u32,
    pub to: u32,
    /// Those that there are.
    pub rows: Vec<String>,
    /// `None` without any.
    pub mean: Option<f64>,
}

impl Ramp {
    /// `None` if the profile has no names for points of this parameter.
    pub fn of(swept: &str, points: &[Report]) -> Option<Ramp> {
        let first = points.first()?;
        let RampPlan { over, row, peak } =
            first.profile.ramp.as_ref().filter(|it| it.over == swept)?;
        let metric = first.profile.primary.clone()?;
        let (from, to) = (*peak, peak.saturating_mul(2));
        let mut score = Score { from, to, rows: Vec::new(), mean: None };
        let (mut rows, mut scored) = (Vec::new(), Vec::new());
        for point in points {
            let Some(n) = point.profile.params.get(over) else { continue };
            let values = values(&metric, point);
            let row = Row {
                name: format!("{row}-{n}"),
                n: values.len() as u32,
                hmean: harmonic_mean(&values),
                instances: spread(&metric, point),
            };
            let is_scored = n.parse().is_ok_and(|n: u32| (from..=to).contains(&n));
            if let Some(hmean) = row.hmean.filter(|_| is_scored) {
                score.rows.push(row.name.clone());
                scored.push(hmean);
            }
            rows.push(row);
        }
        if !scored.is_empty() {
            score.mean = Some(scored.iter().sum::<f64>() / scored.len() as f64);
        }
        let unit = first.runs.iter().find_map(|run| Some(run.metrics.get(&metric)?.unit.clone()));
        Some(Ramp { metric, unit: unit.unwrap_or_default(), rows, score })
    }

    /// A line for each row and one for the score, names and numbers in columns.
    pub fn text(&self) -> String {
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |it| format!("{it:.2}"));
        let Score { from, to, rows, mean } = &self.score;
        let of = match rows.is_empty() {
            true => "none of the points is there".to_owned(),
            false => rows.join(", "),
        };
        let mut lines: Vec<(&str, String, String)> = Vec::new();
        for row in &self.rows {
            let of = row.instances.map_or(String::new(), |Spread { least, most }| {
                format!("  instances from {least:.2} to {most:.2}")
            });
            lines.push((&row.name, number(row.hmean), of));
        }
        lines.push(("score", number(*mean), format!("  mean from {from} to {to}: {of}")));
        let widest = |of: fn(&(&str, String, String)) -> usize| lines.iter().map(of).max();
        let name = widest(|line| line.0.len()).unwrap_or_default();
        let value = widest(|line| line.1.len()).unwrap_or_default();
        let runs = self.rows.iter().map(|row| row.n).max().unwrap_or_default();
        let runs = match runs {
            1 => "one run".to_owned(),
            n => format!("{n} runs"),
        };
        let mut text = format!("Hmean of {} ({}) over {runs} a point\n", self.metric, self.unit);
        for (row, mean, of) in &lines {
            text += &format!("  {row:<name$}  {mean:>value$}{of}\n");
        }
        text
    }
}

/// The metric in each run that has it.
fn values(metric: &str, point: &Report) -> Vec<f64> {
    let value = |run: &crate::report::Run| run.metrics.get(metric)?.value;
    point.runs.iter().filter_map(value).collect()
}

/// Of the instances' rates, where the metric is the rate of a measure block.
fn spread(metric: &str, point: &Report) -> Option<Spread> {
    let row = metric::find(metric).filter(|row| row.of == Of::Measure && row.unit == "1/s")?;
    let measure = row.name_in(metric)?;
    let (mut least, mut most) = (Vec::new(), Vec::new());
    for run in &point.runs {
        let blocks = run.instances.iter().filter(|it| it.measure == measure);
        let rates: Vec<f64> = blocks.filter_map(|it| it.per_s).collect();
        least.extend(rates.iter().copied().reduce(f64::min));
        most.extend(rates.iter().copied().reduce(f64::max));
    }
    Some(Spread { least: harmonic_mean(&least)?, most: harmonic_mean(&most)? })
}

/// What mmtests prints for rates; with a rate of 0 it is 0.
fn harmonic_mean(values: &[f64]) -> Option<f64> {
    let inverse: f64 = values.iter().map(|value| 1.0 / value).sum();
    (!values.is_empty()).then(|| values.len() as f64 / inverse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{InstanceBlocks, fixture};

    /// A point with runs of these rates.
    fn point(n: u32, rates: &[Option<f64>]) -> Report {
        let mut report = fixture::reports().remove("plain").unwrap();
        report.profile.params.insert("n".to_owned(), n.to_string());
        report.profile.ramp =
            Some(RampPlan { over: "n".to_owned(), row: "tput".to_owned(), peak: 2 });
        let run = report.runs[0].clone();
        report.runs = rates.iter().map(|_| run.clone()).collect();
        for (run, rate) in report.runs.iter_mut().zip(rates) {
            run.metrics.get_mut("messages_per_s").unwrap().value = *rate;
        }
        report
    }

    #[test]
    fn points_have_names_and_a_score() {
        let check = |points: &[(u32, &[Option<f64>])], expected: &str| {
            let points: Vec<Report> = points.iter().map(|(n, rates)| point(*n, rates)).collect();
            assert_eq!(Ramp::of("n", &points).unwrap().text(), expected);
            assert_eq!(Ramp::of("m", &points), None);
        };
        check(
            &[
                (1, &[Some(100.0), Some(300.0)]),
                (2, &[Some(400.0), Some(400.0)]),
                (4, &[Some(1000.0), None]),
                (5, &[Some(9.0), Some(9.0)]),
            ],
            "Hmean of messages_per_s (1/s) over 2 runs a point
  tput-1   150.00
  tput-2   400.00
  tput-4  1000.00
  tput-5     9.00
  score    700.00  mean from 2 to 4: tput-2, tput-4
",
        );
        check(
            &[(1, &[Some(0.0), Some(5.0)]), (3, &[None])],
            "Hmean of messages_per_s (1/s) over 2 runs a point
  tput-1  0.00
  tput-3     -
  score      -  mean from 2 to 4: none of the points is there
",
        );
    }

    #[test]
    fn instances_that_are_apart_are_beside_their_sum() {
        let mut point = point(4, &[Some(30.0), Some(60.0)]);
        point.profile.primary = Some("passs_per_s".to_owned());
        let time = point.runs[0].latency[0].clone();
        for (run, [first, second]) in point.runs.iter_mut().zip([[10.0, 20.0], [30.0, 30.0]]) {
            let metric = run.metrics["messages_per_s"].clone();
            run.metrics.insert("passs_per_s".to_owned(), metric);
            let rows = [(0, "pass", first), (1, "pass", second), (0, "other", 0.5)];
            run.instances = rows
                .map(|(instance, measure, per_s)| InstanceBlocks {
                    instance,
                    measure: measure.to_owned(),
                    per_s: Some(per_s),
                    time: time.clone(),
                })
                .into();
        }
        let ramp = Ramp::of("n", &[point]).unwrap();
        assert_eq!(
            ramp.text(),
            "Hmean of passs_per_s (1/s) over 2 runs a point
  tput-4  40.00  instances from 15.00 to 24.00
  score   40.00  mean from 2 to 4: tput-4
"
        );
    }

    #[test]
    fn without_names_there_are_no_rows() {
        let mut plain = point(1, &[Some(1.0)]);
        plain.profile.ramp = None;
        assert_eq!(Ramp::of("n", &[plain]), None);
        assert_eq!(Ramp::of("n", &[]), None);
    }
}
