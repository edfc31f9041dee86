//! `--sweep groups=1,2..8*2,cpus`: its points, its one document, and its table.
//!
//! Must not know: how a point is run.

use crate::base::nearest::nearest;
use crate::base::unit;
use crate::cli::error::Error;
use crate::cli::points;
use crate::cli::ramp::Ramp;
use crate::host::Host;
use crate::metric;
use crate::profile::{ParamValue, Profile};
use crate::report::{Latency, Report, SCHEMA};
use serde::{Deserialize, Serialize};

/// A parameter, and the values to run with in turn, as they were typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    pub name: String,
    pub values: Vec<String>,
}

/// All reports of a sweep as they are stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub schema: u32,
    pub sweep: Points,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Points {
    /// The parameter; each report has its value among its params.
    pub name: String,
    pub points: Vec<Report>,
    /// The points by the names that the profile gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Ramp>,
}

impl Document {
    pub fn new(name: &str, points: Vec<Report>) -> Document {
        let (name, ramp) = (name.to_string(), Ramp::of(name, &points));
        Document { schema: SCHEMA, sweep: Points { name, points, ramp } }
    }
}

impl Sweep {
    /// Reads `name=v1,v2`; commas within brackets belong to a value, as in `min(2, cpus)`.
    pub fn parse(text: &str) -> Result<Sweep, Error> {
        let refuse = |why: &str| {
            let form = "a sweep is written as groups=1,2,4, groups=1..cpus or groups=topology";
            Err(Error::Usage(format!("--sweep `{text}` {why}; {form}")))
        };
        let Some((name, list)) = text.split_once('=') else {
            return refuse("has no `=`");
        };
        let values = values(list);
        if values.iter().any(String::is_empty) {
            return refuse("has an empty value");
        }
        Ok(Sweep { name: name.trim().to_string(), values })
    }

    /// Whether the profile has that parameter, and nothing else sets it.
    pub fn check(&self, profile: &Profile, set: &[(String, String)]) -> Result<(), Error> {
        let name = &self.name;
        if set.iter().any(|(set, _)| set == name) {
            return Err(Error::Usage(format!("--sweep and --{name} both set `{name}`")));
        }
        let names = || profile.params.iter().map(|param| param.name.as_str());
        if names().any(|known| known == name) {
            return Ok(());
        }
        let help = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it has {}", names().collect::<Vec<_>>().join(", ")),
        };
        Err(Error::Usage(format!(
            "profile `{}` has no parameter `{name}` to sweep; {help}",
            profile.name
        )))
    }
}

fn values(list: &str) -> Vec<String> {
    let mut depth = 0_u32;
    let outside = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    list.split(outside).map(|value| value.trim().to_string()).collect()
}

impl Sweep {
    /// What it comes to on this machine: each value once, in the order of the list.
    pub fn points(&self, profile: &Profile, host: &Host) -> Result<Vec<String>, Error> {
        let param = profile.params.iter().find(|param| param.name == self.name);
        let is_word = param.is_some_and(|it| matches!(it.value, ParamValue::Word { .. }));
        if is_word {
            return Ok(self.values.clone());
        }
        let mut points: Vec<String> = Vec::new();
        for item in &self.values {
            for value in points::values(item, host)? {
                if !points.contains(&value) {
                    points.push(value);
                }
            }
        }
        Ok(points)
    }
}

/// One line for each point: the profile's result, and how long its wakeups took; then its rows.
pub fn table(sweep: &Points) -> String {
    let Points { name, points, ramp } = sweep;
    let primary = points.iter().find_map(|point| point.profile.primary.clone());
    let result = primary.unwrap_or_else(|| "messages_per_s".to_string());
    let mut rows = vec![[
        name.to_string(),
        result.clone(),
        "cv".to_string(),
        "wakeups".to_string(),
        "wakeup p50".to_string(),
        "p99".to_string(),
    ]];
    rows.extend(points.iter().map(|point| row(name, &result, point)));
    let named = ramp.as_ref().map_or(String::new(), |ramp| format!("\n{}", ramp.text()));
    head(name, points) + &aligned(&rows) + &gap(name, &result, points) + &named
}

/// What the columns are taken from.
fn head(name: &str, points: &[Report]) -> String {
    let Some(point) = points.first() else {
        return String::new();
    };
    let n_runs = points.iter().map(|point| point.runs.len()).max().unwrap_or_default();
    let runs = match n_runs {
        1 => "one run a point".to_string(),
        n => format!("{n} runs a point: mean of the result, wakeups of the median run"),
    };
    let profile = &point.profile.name;
    format!("{profile}, {name} swept\n  {runs}\n  wakeups of the team woken most\n\n")
}

const UNKNOWN: &str = "-";

/// The arms between which others are measured, where a sweep has both.
const WORST: &str = "worst";
const BEST: &str = "best";

/// How much of the way from the worst arm to the best each other arm went.
fn gap(name: &str, result: &str, points: &[Report]) -> String {
    let arm = |point: &Report| point.profile.params.get(name).cloned();
    let of = |wanted: &str| {
        let point = points.iter().find(|point| arm(point).as_deref() == Some(wanted))?;
        value_of(result, point)
    };
    let (Some(worst), Some(best)) = (of(WORST), of(BEST)) else {
        return String::new();
    };
    if worst == best {
        return format!("\n{WORST} and {BEST} do not differ in {result}\n");
    }
    let between = points.iter().filter_map(|point| {
        let arm = arm(point).filter(|arm| arm != WORST && arm != BEST)?;
        let closed = (value_of(result, point)? - worst) / (best - worst);
        Some(format!("{arm} {:.1}%", closed * 100.0))
    });
    let between: Vec<String> = between.collect();
    match between.is_empty() {
        true => String::new(),
        false => format!("\nof the gap from {WORST} to {BEST} closed: {}\n", between.join(", ")),
    }
}

/// The mean of the result over the runs of a point, or that of its only run.
fn value_of(result: &str, point: &Report) -> Option<f64> {
    match point.summary.get(result) {
        Some(summary) => Some(summary.mean),
        None => point.median_run()?.metrics.get(result)?.value,
    }
}

fn row(name: &str, result: &str, point: &Report) -> [String; 6] {
    let run = point.median_run();
    let latency = run.and_then(|run| most_wakeups(&run.latency));
    let time = |ns: Option<u64>| ns.map_or(UNKNOWN.to_string(), |ns| unit::time(ns as f64));
    let value = value_of(result, point);
    let cv = point.summary.get(result).and_then(|summary| summary.cv);
    let unit = run.and_then(|run| Some(run.metrics.get(result)?.unit.as_str()));
    [
        point.profile.params.get(name).cloned().unwrap_or(UNKNOWN.to_string()),
        value.map_or(UNKNOWN.to_string(), |value| shown(value, unit.unwrap_or_default())),
        cv.map_or(UNKNOWN.to_string(), |cv| format!("{:.1}%", cv * 100.0)),
        latency.map_or(UNKNOWN.to_string(), |row| unit::count(row.count as f64)),
        time(latency.and_then(|row| row.p50)),
        time(latency.and_then(|row| row.p99)),
    ]
}

/// The team that was woken most, over all relations.
fn most_wakeups(rows: &[Latency]) -> Option<&Latency> {
    let whole = |row: &&Latency| {
        row.series == "wakeup" && row.relation == crate::report::ALL && row.moved.is_none()
    };
    rows.iter().filter(whole).max_by_key(|row| row.count)
}

fn shown(value: f64, unit: &str) -> String {
    match metric::unit(unit) {
        Some(unit::Unit::Time) => unit::time(value),
        Some(unit::Unit::Bytes) => unit::bytes(value),
        Some(unit::Unit::Share) => format!("{value:.1}%"),
        Some(unit::Unit::Count) => unit::count(value),
        None if unit == "B/s" => format!("{}/s", unit::bytes(value)),
        None => format!("{value:.3} {unit}"),
    }
}

/// Columns to the right edge, two spaces between them.
fn aligned(rows: &[[String; 6]]) -> String {
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or_default()
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let line = |row: &[String; 6]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_separated_by_commas_outside_brackets() {
        let check = |text: &str, name: &str, values: &[&str]| {
            let sweep = Sweep::parse(text).unwrap();
            assert_eq!((sweep.name.as_str(), sweep.values.as_slice()), (name, &owned(values)[..]));
        };
        check("groups=1", "groups", &["1"]);
        check("groups=1, 2,cpus", "groups", &["1", "2", "cpus"]);
        check("n=min(1,cpus),max(1,(2))", "n", &["min(1,cpus)", "max(1,(2))"]);
        check("kind=pipe,tcp", "kind", &["pipe", "tcp"]);
    }

    fn owned(values: &[&str]) -> Vec<String> {
        values.iter().map(|value| value.to_string()).collect()
    }

    #[test]
    fn a_sweep_without_points_is_refused() {
        let check = |text: &str, expected: &str| {
            let error = Sweep::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("groups", "has no `=`");
        check("groups=", "has an empty value");
        check("groups=1,,2", "has an empty value");
    }

    #[test]
    fn columns_are_aligned() {
        let row = |a: &str, b: &str| [a, b, "-", "-", "-", "-"].map(str::to_string);
        let text = aligned(&[row("groups", "x"), row("1", "1.00 k")]);
        assert_eq!(text, "groups       x  -  -  -  -\n     1  1.00 k  -  -  -  -\n");
    }

    #[test]
    fn how_much_of_a_gap_was_closed() {
        let point = |arm: &str, value: Option<f64>| {
            let mut report = crate::report::fixture::reports().remove("plain").unwrap();
            report.profile.params.insert("arm".to_owned(), arm.to_owned());
            report.summary.clear();
            for run in &mut report.runs {
                run.metrics.get_mut("messages_per_s").unwrap().value = value;
            }
            report
        };
        let check = |points: &[(&str, Option<f64>)], expected: &str| {
            let points: Vec<Report> =
                points.iter().map(|(arm, value)| point(arm, *value)).collect();
            assert_eq!(gap("arm", "messages_per_s", &points).trim(), expected);
        };
        let (worst, best) = (("worst", Some(100.0)), ("best", Some(300.0)));
        let closed = "of the gap from worst to best closed:";
        check(&[worst, ("free", Some(250.0)), best], &format!("{closed} free 75.0%"));
        // Lower may be better.
        check(
            &[("worst", Some(9.0)), ("free", Some(6.0)), ("best", Some(3.0))],
            &format!("{closed} free 50.0%"),
        );
        check(&[worst, ("free", Some(90.0)), best], &format!("{closed} free -5.0%"));
        check(&[worst, ("free", None), best], "");
        check(&[worst, ("free", Some(1.0))], "");
        check(&[worst, best], "");
        check(
            &[("worst", Some(1.0)), ("free", Some(2.0)), ("best", Some(1.0))],
            "worst and best do not differ in messages_per_s",
        );
    }
}
