//! The rows of histograms: series of a recording merged by team, relation and moved or stayed.
//!
//! A row without entries is left out, but for the whole of a team that receives: there an absent
//! row would hide that nothing was ever woken. Must not know: how rows are drawn.

use crate::base::Relation;
use crate::plan::Plan;
use crate::record::Recording;
use crate::record::recording::{Series, SeriesKind};
use crate::report::histogram::{Histogram, P50, P90, P95, P99, P999};
use crate::report::{ALL, Latency};

/// Names of the series that are not those of measure blocks.
pub(super) const WAKEUP: &str = "wakeup";
const FOUND_READY: &str = "found_ready";
const BETWEEN_MIGRATIONS: &str = "between_migrations";

/// Entries in all series of such a kind.
pub(super) fn count(recording: &Recording, of: impl Fn(&SeriesKind) -> bool) -> u64 {
    let series = recording.series.iter().filter(|series| of(&series.kind));
    series.map(Series::count).sum()
}

/// All series that `of` picks, in one histogram.
pub(super) fn merged(recording: &Recording, of: impl Fn(&Series) -> bool) -> Histogram {
    let mut all = Histogram::default();
    for series in recording.series.iter().filter(|series| of(series)) {
        all.add_series(series);
    }
    all
}

pub(super) fn of_team(
    recording: &Recording,
    team: usize,
    of: impl Fn(&SeriesKind) -> bool,
) -> Histogram {
    merged(recording, |series| series.team == team && of(&series.kind))
}

/// All rows, team by team in the order of the plan.
pub(super) fn rows(plan: &Plan, recording: &Recording) -> Vec<Latency> {
    let mut rows = Vec::new();
    for (at, team) in recording.teams.iter().enumerate() {
        let planned = plan.teams.iter().find(|planned| planned.name == team.name);
        let whole = of_team(recording, at, |kind| matches!(kind, SeriesKind::Wakeup { .. }));
        if whole.count() > 0 || planned.is_some_and(|planned| planned.receives) {
            rows.push(row(WAKEUP, &team.name, ALL, None, &whole));
        }
        rows.extend(split(recording, at));
        let mut add = |name: &str, histogram: Histogram| {
            if histogram.count() > 0 {
                rows.push(row(name, &team.name, ALL, None, &histogram));
            }
        };
        let of = |wanted: &SeriesKind| of_team(recording, at, |kind| kind == wanted);
        add(FOUND_READY, of(&SeriesKind::FoundReady));
        add(BETWEEN_MIGRATIONS, of(&SeriesKind::BetweenMigrations));
        for name in planned.iter().flat_map(|planned| &planned.measures) {
            add(name, of_team(recording, at, |kind| is_measure(kind, name)));
        }
        for (name, wanted) in series_of_pauses(recording, at) {
            add(&name, of(&wanted));
        }
    }
    rows
}

/// Whether it is of the measure block of that name, of whatever instance.
pub(super) fn is_measure(kind: &SeriesKind, wanted: &str) -> bool {
    matches!(kind, SeriesKind::Measure { name, .. } if name == wanted)
}

/// Pauses of safepoints that the team ended, and the times to get there.
fn series_of_pauses(recording: &Recording, team: usize) -> Vec<(String, SeriesKind)> {
    let own = recording.series.iter().filter(|series| series.team == team);
    let named = |series: &Series| match &series.kind {
        SeriesKind::Pause(name) => Some((format!("{name}:pause"), series.kind.clone())),
        SeriesKind::ToSafepoint(name) => {
            Some((format!("{name}:to_safepoint"), series.kind.clone()))
        }
        _ => None,
    };
    own.filter_map(named).collect()
}

/// The wakeups of a team by relation: their sum, those that stayed, those that moved.
fn split(recording: &Recording, team: usize) -> Vec<Latency> {
    let name = &recording.teams[team].name;
    let mut rows = Vec::new();
    for wanted in Relation::ALL {
        for only in [None, Some(false), Some(true)] {
            let histogram = of_team(recording, team, |kind| match kind {
                SeriesKind::Wakeup { relation, moved } => {
                    *relation == wanted && only.is_none_or(|only| only == *moved)
                }
                _ => false,
            });
            if histogram.count() > 0 {
                rows.push(row(WAKEUP, name, wanted.name(), only, &histogram));
            }
        }
    }
    rows
}

pub(super) fn row(
    series: &str,
    team: &str,
    relation: &str,
    moved: Option<bool>,
    histogram: &Histogram,
) -> Latency {
    Latency {
        series: series.to_owned(),
        team: team.to_owned(),
        relation: relation.to_owned(),
        moved,
        unit: "ns".to_owned(),
        count: histogram.count(),
        min: histogram.min(),
        max: histogram.max(),
        mean: histogram.mean(),
        p50: histogram.percentile(P50),
        p90: histogram.percentile(P90),
        p95: histogram.percentile(P95),
        p99: histogram.percentile(P99),
        p999: histogram.percentile(P999),
        // Only a count above i64::MAX cannot be stored; the numbers beside it still stand.
        hdr: histogram.encode().unwrap_or_default(),
    }
}
