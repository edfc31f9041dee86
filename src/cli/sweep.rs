//! `--sweep groups=1,2..8*2,cpus`: its points, its one document, and its table.
//!
//! Must not know: how a point is run.

use crate::base::nearest::nearest;
use crate::base::unit;
use crate::cli::doubts;
use crate::cli::error::Error;
use crate::cli::points;
use crate::cli::ramp::Ramp;
use crate::host::Host;
use crate::metric::Better;
use crate::output;
use crate::profile::{ParamValue, Profile};
use crate::report::{Latency, Report, SCHEMA};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// One line for each point: the profile's result, how long its wakeups took or where tasks and
/// memory were, what else the profile watches and demands, then its rows, and below the doubts of
/// all points. Columns that do not fit have lines of their own.
pub fn table(sweep: &Points, width: usize) -> String {
    let Points { name, points, ramp } = sweep;
    let primary = points.iter().find_map(|point| point.profile.primary.clone());
    let result = primary.unwrap_or_else(|| "messages_per_s".to_string());
    let columns = columns(&result, points);
    let mut header = vec![name.to_string()];
    header.extend(columns.iter().map(Column::title));
    let mut rows = vec![header];
    rows.extend(points.iter().map(|point| {
        let value = point.profile.params.get(name).cloned().unwrap_or(UNKNOWN.to_string());
        [value].into_iter().chain(columns.iter().map(|column| column.cell(point))).collect()
    }));
    let has_wakeups = columns.contains(&Column::P50);
    let gap = gap(name, &result, points);
    let named = ramp.as_ref().map_or(String::new(), |ramp| format!("\n{}", ramp.text()));
    let numbers = blocks(&rows, width);
    head(name, points, has_wakeups) + &numbers + &gap + &named + &doubts::of(sweep, width)
}

/// What a table has of each point.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Column {
    Metric(String),
    /// Coefficient of variation of this metric.
    Cv(String),
    Wakeups,
    P50,
    P99,
    WhoMoved,
}

/// What a run that nobody was woken in has to tell besides its result.
const OF_MEMORY: [&str; 6] =
    ["elapsed_s", "user_s", "sys_s", "convergence_s", "time_to_local_s", "local_share"];

/// What the columns of wakeups have, if of one team.
const IN_WAKEUPS: [&str; 2] = ["wakeup_latency_ns_p50", "wakeup_latency_ns_p99"];

/// The result, and of the rest what any point has.
fn columns(result: &str, points: &[Report]) -> Vec<Column> {
    let mut columns = vec![Column::Metric(result.to_string()), Column::Cv(result.to_string())];
    let runs = || points.iter().flat_map(|point| &point.runs);
    if runs().any(|run| most_wakeups(&run.latency).is_some()) {
        columns.extend([Column::Wakeups, Column::P50, Column::P99]);
    } else {
        if runs().any(|run| run.trial.is_some()) {
            columns.push(Column::WhoMoved);
        }
        columns.extend(OF_MEMORY.map(|key| Column::Metric(key.to_owned())));
    }
    let watched = points.iter().flat_map(|point| &point.profile.watch);
    let demanded = runs().flat_map(|run| run.conditions.iter().map(|it| &it.metric));
    let has_p99 = columns.contains(&Column::P99);
    for key in
        watched.chain(demanded).filter(|key| !(has_p99 && IN_WAKEUPS.contains(&key.as_str())))
    {
        let column = Column::Metric(key.clone());
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let known = |key: &str| key == result || points.iter().any(|it| value_of(key, it).is_some());
    columns.retain(|column| !matches!(column, Column::Metric(key) if !known(key)));
    columns
}

impl Column {
    fn title(&self) -> String {
        let words = match self {
            Column::Metric(key) => key,
            Column::Cv(_) => "CV",
            Column::Wakeups => "wakeups",
            Column::P50 => "wakeup p50",
            Column::P99 => "p99",
            Column::WhoMoved => "who moved",
        };
        words.to_string()
    }

    fn cell(&self, point: &Report) -> String {
        let run = point.median_run();
        let latency = run.and_then(|run| most_wakeups(&run.latency));
        let time = |ns: Option<u64>| ns.map(|ns| unit::time(ns as f64));
        let cell = match self {
            Column::Metric(key) => {
                let unit = run.and_then(|run| run.metrics.get(key)).map(|it| it.unit.as_str());
                let value = value_of(key, point);
                value.map(|value| output::value(key, value, unit.unwrap_or_default()))
            }
            Column::Cv(key) => {
                let cv = point.summary.get(key).and_then(|summary| summary.cv);
                cv.map(|cv| format!("{:.1} %", cv * 100.0))
            }
            Column::Wakeups => latency.map(|row| unit::count(row.count as f64)),
            Column::P50 => time(latency.and_then(|row| row.p50)),
            Column::P99 => time(latency.and_then(|row| row.p99)),
            Column::WhoMoved => who_moved(point),
        };
        cell.unwrap_or(UNKNOWN.to_string())
    }
}

/// `memory moved`, or how often each of several outcomes.
fn who_moved(point: &Report) -> Option<String> {
    let trials = point.runs.iter().filter_map(|run| run.trial.as_ref());
    let mut outcomes: BTreeMap<String, u32> = BTreeMap::new();
    for trial in trials {
        let from = if trial.start == "started_remote" { "" } else { &trial.start };
        let outcome = match from {
            "" => trial.outcome.clone(),
            from => format!("{} ({from})", trial.outcome),
        };
        *outcomes.entry(outcome.replace('_', " ")).or_default() += 1;
    }
    let is_one = outcomes.len() == 1;
    let each = outcomes.into_iter().map(|(words, n)| match is_one {
        true => words,
        false => format!("{words} {n}"),
    });
    Some(each.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
}

/// What the columns are taken from.
fn head(name: &str, points: &[Report], has_wakeups: bool) -> String {
    let Some(point) = points.first() else {
        return String::new();
    };
    let n_runs = points.iter().map(|point| point.runs.len()).max().unwrap_or_default();
    let runs = match (n_runs, has_wakeups) {
        (1, _) => "one run a point".to_string(),
        (n, true) => format!("{n} runs a point: mean of the result, wakeups of the median run"),
        (n, false) => format!("{n} runs a point: means"),
    };
    let wakeups = if has_wakeups { "  wakeups of the team woken most\n" } else { "" };
    format!("{}, {name} swept\n  {runs}\n{wakeups}\n", point.profile.name)
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
    let metric = points.iter().find_map(|it| it.median_run()?.metrics.get(result));
    let is_gap = match metric.map(|it| it.better) {
        Some(Better::Higher) => best > worst,
        Some(Better::Lower) => best < worst,
        _ => best != worst,
    };
    if !is_gap {
        return format!(
            "\n{BEST} was no better than {WORST} in {result}: there is no gap to close\n"
        );
    }
    let between = points.iter().filter_map(|point| {
        let arm = arm(point).filter(|arm| arm != WORST && arm != BEST)?;
        let closed = (value_of(result, point)? - worst) / (best - worst);
        Some(format!("{arm} {:.1} %", closed * 100.0))
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

/// The team that was woken most, over all relations.
fn most_wakeups(rows: &[Latency]) -> Option<&Latency> {
    let whole = |row: &&Latency| {
        row.series == "wakeup" && row.relation == crate::report::ALL && row.moved.is_none()
    };
    rows.iter().filter(whole).max_by_key(|row| row.count)
}

/// Between two columns.
const GAP: &str = "  ";

/// Columns to the right edge; those beyond the width follow below, behind the first column again.
fn blocks(rows: &[Vec<String>], width: usize) -> String {
    let Some(header) = rows.first() else {
        return String::new();
    };
    let wide = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let mut blocks: Vec<Vec<usize>> = vec![vec![0]];
    let mut used = wide(0);
    for column in 1..header.len() {
        let more = GAP.len() + wide(column);
        match blocks.last_mut() {
            Some(block) if block.len() == 1 || used + more <= width => block.push(column),
            _ => {
                blocks.push(vec![0, column]);
                used = wide(0);
            }
        }
        used += more;
    }
    let line = |row: &Vec<String>, block: &[usize]| {
        let cells = block.iter().map(|at| format!("{:>1$}", row[*at], wide(*at)));
        cells.collect::<Vec<_>>().join(GAP) + "\n"
    };
    let block = |it: &Vec<usize>| rows.iter().map(|row| line(row, it)).collect::<String>();
    blocks.iter().map(block).collect::<Vec<_>>().join("\n")
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
        let row = |a: &str, b: &str| [a, b, "-", "-", "-", "-"].map(str::to_string).to_vec();
        let rows = [row("groups", "x"), row("1", "1.00 k")];
        let text = blocks(&rows, 100);
        assert_eq!(text, "groups       x  -  -  -  -\n     1  1.00 k  -  -  -  -\n");
        let narrow = "groups       x  -\n     1  1.00 k  -\n\ngroups  -  -  -\n     1  -  -  -\n";
        assert_eq!(blocks(&rows, 18), narrow);
    }

    #[test]
    fn how_much_of_a_gap_was_closed() {
        let point = |arm: &str, value: Option<f64>, better: Better| {
            let mut report = crate::report::fixture::reports().remove("plain").unwrap();
            report.profile.params.insert("arm".to_owned(), arm.to_owned());
            report.summary.clear();
            for run in &mut report.runs {
                let metric = run.metrics.get_mut("messages_per_s").unwrap();
                metric.value = value;
                metric.better = better;
            }
            report
        };
        let check_as = |better: Better, points: &[(&str, Option<f64>)], expected: &str| {
            let points: Vec<Report> =
                points.iter().map(|(arm, value)| point(arm, *value, better)).collect();
            assert_eq!(gap("arm", "messages_per_s", &points).trim(), expected);
        };
        let check = |points: &[(&str, Option<f64>)], expected: &str| {
            check_as(Better::Higher, points, expected);
        };
        let (worst, best) = (("worst", Some(100.0)), ("best", Some(300.0)));
        let closed = "of the gap from worst to best closed:";
        check(&[worst, ("free", Some(250.0)), best], &format!("{closed} free 75.0 %"));
        // Lower may be better.
        check_as(
            Better::Lower,
            &[("worst", Some(9.0)), ("free", Some(6.0)), ("best", Some(3.0))],
            &format!("{closed} free 50.0 %"),
        );
        check(&[worst, ("free", Some(90.0)), best], &format!("{closed} free -5.0 %"));
        check(&[worst, ("free", None), best], "");
        check(&[worst, ("free", Some(1.0))], "");
        check(&[worst, best], "");
        let none = "best was no better than worst in messages_per_s: there is no gap to close";
        check(&[("worst", Some(1.0)), ("free", Some(2.0)), ("best", Some(1.0))], none);
        check(&[("worst", Some(3.0)), ("free", Some(2.0)), ("best", Some(1.0))], none);
    }

    fn drawn(name: &str, points: Vec<Report>) -> String {
        table(&Document::new(name, points).sweep, 100)
    }

    #[test]
    fn a_sweep_about_memory_says_where_it_was_and_what_to_doubt() {
        let reports = crate::report::fixture::reports();
        let unwoken = |name: &str| {
            let mut report = reports[name].clone();
            report.runs.iter_mut().for_each(|run| run.latency.clear());
            report
        };
        let text = drawn("arm", vec![unwoken("two_instances")]);
        let header = text.lines().nth(3).unwrap();
        for column in ["elapsed_s", "user_s", "local_share"] {
            assert!(header.contains(column), "{text}");
        }
        assert!(!header.contains("wakeup"), "{text}");
        let trials = drawn("age", vec![unwoken("memory_moved")]);
        assert!(trials.contains("who moved") && trials.contains("memory moved"), "{trials}");
        let doubtful = drawn("n", vec![reports["plain"].clone(), reports["repeats"].clone()]);
        assert!(doubtful.contains("\ncaveats of the points\n  - "), "{doubtful}");
    }
}
