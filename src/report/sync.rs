//! Barriers, locks, group commits, desks and safepoints: what each team had of each, the laws of
//! it, and what its metrics are made from.
//!
//! Must not know: how a wakeup is told from a wait; the recording says so.

use crate::plan::{Act, SyncPlan, SyncSort};
use crate::record::recording::{End, Series, SeriesKind, SyncRecord};
use crate::report::checks::Outcome::{self, Broken, Holds, Untested};
use crate::report::histogram::{Histogram, P50, P90, P95, P99, P999};
use crate::report::judge::Case;
use crate::report::metrics::NO_WINDOW;
use crate::report::{NO_SAFEPOINT, latency};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a team had of a sync object in the window; percentiles are of all its waits, those of no
/// length too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SyncRow {
    pub name: String,
    /// `barrier`, `lock`, `commit`, `desk`, `safepoint`.
    pub sort: String,
    /// The kind of that sort; of a sort without kinds the sort.
    pub kind: String,
    pub team: String,
    pub passes: u64,
    /// Passes after a wait awake, and asleep; the others found it open.
    pub spun: u64,
    pub slept: u64,
    /// Of those asleep, the ones whose waker is not known, so that they are no wakeup.
    pub unstamped: u64,
    /// Waiting, of the time that the team's tasks had in the window; `None` for a window of no
    /// length, or in which nobody came through.
    pub wait_share: Option<f64>,
    /// Of a barrier of one count: rounds that were complete with a task of this team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u64>,
    /// Of a lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub releases: Option<u64>,
    /// Of a commit: groups that this team led, and the commits in them. Of a desk: batches that it
    /// served, and the asks in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grouped: Option<u64>,
    /// Of a safepoint: pauses that a task of this team ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<u64>,
    /// `ns`.
    pub unit: String,
    pub min: Option<u64>,
    pub max: Option<u64>,
    pub mean: Option<f64>,
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p95: Option<u64>,
    pub p99: Option<u64>,
    pub p999: Option<u64>,
    /// HdrHistogram V2, base64.
    pub hdr: String,
}

/// A row for each team and object, in the order of the teams.
pub(super) fn rows(case: &Case<'_>) -> Vec<SyncRow> {
    case.recording.syncs.iter().filter_map(|record| row(record, case)).collect()
}

fn object<'a>(case: &Case<'a>, record: &SyncRecord) -> Option<&'a SyncPlan> {
    case.plan.syncs.get(record.object)
}

/// The waits of a team at an object.
fn waits(case: &Case<'_>, record: &SyncRecord, name: &str) -> Histogram {
    latency::merged(case.recording, |series| {
        let is_it = matches!(&series.kind, SeriesKind::Wait(object) if object == name);
        is_it && series.team == record.team
    })
}

fn row(record: &SyncRecord, case: &Case<'_>) -> Option<SyncRow> {
    let object = object(case, record)?;
    let team = case.recording.teams.get(record.team)?;
    let waits = waits(case, record, &object.name);
    let (sort, kind) = object.words();
    let had_ns = case.recording.window_ns as f64 * f64::from(team.size);
    let waited_ns = waits.mean().unwrap_or(0.0) * waits.count() as f64;
    let of = |wanted: &str, n: u64| (sort == wanted).then_some(n);
    Some(SyncRow {
        name: object.name.clone(),
        sort: sort.to_owned(),
        kind: kind.unwrap_or(sort).to_owned(),
        team: team.name.clone(),
        passes: record.passes.window,
        spun: record.spun,
        slept: record.slept,
        unstamped: record.unstamped,
        wait_share: (had_ns > 0.0 && waits.count() > 0).then(|| waited_ns / had_ns),
        rounds: of("barrier", record.leads).filter(|_| object.has_rounds()),
        releases: of("lock", record.leads),
        groups: of("commit", record.leads).or(of("desk", record.leads)),
        grouped: of("commit", record.led.window).or(of("desk", record.led.window)),
        pauses: of("safepoint", record.leads),
        unit: "ns".to_owned(),
        min: waits.min(),
        max: waits.max(),
        mean: waits.mean(),
        p50: waits.percentile(P50),
        p90: waits.percentile(P90),
        p95: waits.percentile(P95),
        p99: waits.percentile(P99),
        p999: waits.percentile(P999),
        hdr: waits.encode().unwrap_or_default(),
    })
}

/// Wakeups of the window at sync objects, as far as their wakers are known.
pub(super) fn wakeups<'a>(syncs: impl Iterator<Item = &'a SyncRecord>) -> u64 {
    syncs.map(|record| record.slept - record.unstamped.min(record.slept)).sum()
}

/// Whether the team lets others through and is not let through itself: it helps in pauses, or
/// serves.
fn helps(case: &Case<'_>, record: &SyncRecord) -> bool {
    let team = case.plan.teams.get(record.team);
    team.is_some_and(|team| {
        team.acts_at(record.object as u32).any(|act| matches!(act, Act::Pause | Act::Serve { .. }))
    })
}

/// Nobody comes through whom nobody lets through, and in a run that did all its steps everybody who
/// is let through has come through.
pub(super) fn conserved(case: &Case<'_>) -> Outcome {
    if case.n_missing() > 0 {
        return Untested(format!("{} tasks did not check out", case.n_missing()));
    }
    let all_done = case.recording.end == End::Done && case.plan.duration_ns.is_none();
    let mut sums = Vec::new();
    for (index, object) in case.plan.syncs.iter().enumerate() {
        let its = || case.recording.syncs.iter().filter(|record| record.object == index);
        // Who helps in a pause is not let go by its end, nor who serves by those who ask.
        let comes = |it: &&SyncRecord| !helps(case, it);
        let passes: u64 = its().filter(comes).map(|record| record.passes.total()).sum();
        let led: u64 = its().map(|record| record.led.total()).sum();
        let sum = format!("{}: {passes} passes, {led} let through", object.name);
        // Who is in the background may be left waiting.
        let background = its().any(|it| case.recording.teams[it.team].background);
        let exact = matches!(object.sort, SyncSort::Lock { .. }) || (all_done && !background);
        if passes > led || (exact && passes != led) {
            return Broken(sum);
        }
        sums.push(sum);
    }
    Holds(sums.join("; "))
}

/// Each pass of the window has its wait, and no more have waited than came.
pub(super) fn explained(case: &Case<'_>) -> Outcome {
    if case.n_missing() > 0 {
        return Untested(format!("{} tasks did not check out", case.n_missing()));
    }
    let mut total = 0;
    for record in &case.recording.syncs {
        let Some(object) = object(case, record) else { continue };
        let waits = waits(case, record, &object.name).count();
        // A leader that was woken is through only when it has flushed.
        let tasks = u64::from(case.recording.teams[record.team].size);
        let (passes, waited) = (record.passes.window, record.spun + record.slept);
        if waits != passes || waited > passes + tasks || record.unstamped > record.slept {
            return Broken(format!(
                "{}: {passes} passes, {waits} waits, of which {} awake and {} asleep",
                object.name, record.spun, record.slept
            ));
        }
        total += passes;
    }
    Holds(format!("{total} passes in the window, each with its wait"))
}

/// How long tasks waited at barriers in the window (ns), and how long the teams that come to any
/// were in it.
pub(super) fn barrier_waits(case: &Case<'_>) -> (f64, f64) {
    let of_barriers = case.recording.syncs.iter().filter_map(|record| {
        let object = object(case, record).filter(|object| object.words().0 == "barrier")?;
        Some((record, waits(case, record, &object.name)))
    });
    let (mut waited_ns, mut tasks) = (0.0, BTreeMap::new());
    for (record, waits) in of_barriers {
        waited_ns += waits.mean().unwrap_or(0.0) * waits.count() as f64;
        let size = case.recording.teams.get(record.team).map_or(0, |team| team.size);
        tasks.insert(record.team, f64::from(size));
    }
    (waited_ns, case.recording.window_ns as f64 * tasks.into_values().sum::<f64>())
}

/// The part of the window in which safepoints held all tasks of a team: from when the last mutator
/// had parked to when all were let go, on average over copies.
pub(super) fn held_share(case: &Case<'_>, team: usize) -> Result<f64, String> {
    let of_team = case.plan.teams.get(team).ok_or("there is no such team")?;
    let mutates =
        |object: &u32| of_team.acts_at(*object).any(|act| matches!(act, Act::Poll | Act::Collect));
    let objects = (0..case.plan.syncs.len() as u32).filter(mutates);
    let names: Vec<&String> =
        objects.map(|object| &case.plan.syncs[object as usize].name).collect();
    if names.is_empty() {
        return Err(NO_SAFEPOINT.to_owned());
    }
    let held_ns = |series: &Series| match &series.kind {
        SeriesKind::Pause(name) if names.contains(&name) => series.sum as f64,
        SeriesKind::ToSafepoint(name) if names.contains(&name) => -(series.sum as f64),
        _ => 0.0,
    };
    let held_ns: f64 = case.recording.series.iter().map(held_ns).sum();
    let had_ns = case.recording.window_ns as f64 * f64::from(case.plan.copies);
    match had_ns > 0.0 {
        true => Ok(held_ns / had_ns),
        false => Err(NO_WINDOW.to_owned()),
    }
}

/// What teams did at all objects of a sort in the window; `None` where nobody comes to any.
pub(super) fn sum_of(case: &Case<'_>, sort: &str, of: impl Fn(&SyncRecord) -> u64) -> Option<u64> {
    let is_it = |object: &SyncPlan| object.words().0 == sort;
    case.plan.syncs.iter().find(|object| is_it(object) && object.members > 0)?;
    let its = case.recording.syncs.iter().filter(|it| object(case, it).is_some_and(is_it));
    Some(its.map(of).sum())
}

#[cfg(test)]
mod tests {
    use crate::record::Recording;
    use crate::report::{NO_SAFEPOINT, Report, fixture, fixture_sync};

    /// What becomes of a law when one thing of a plain run is changed.
    fn check(law: &str, change: impl FnOnce(&mut Recording), expected: bool) {
        let mut recording = fixture_sync::recording();
        change(&mut recording);
        let report = Report::judge(&fixture_sync::plan(), &fixture::host(), &[recording]);
        let made = report.runs[0].checks.iter().find(|check| check.name == law).unwrap();
        assert_eq!(made.ok, expected, "{made:?}");
    }

    #[test]
    fn nobody_comes_through_by_nobody() {
        let law = "sync_conserved";
        check(law, |_| (), true);
        check(law, |run| run.syncs[0].passes.after += 1, false);
        check(law, |run| run.syncs[0].led.window += 1, false);
        check(law, |run| run.syncs[1].led.window -= 1, false);
        check(law, |run| run.syncs[2].led.window += 1, false);
        check(law, |run| run.syncs[3].passes.window += 1, false);
        // Who helps is not let go.
        check(law, |run| run.syncs[4].passes.window += 1, true);
    }

    #[test]
    fn where_nobody_came_through_nobody_knows_how_long_they_waited() {
        let mut recording = fixture_sync::recording();
        recording.syncs[0].passes.window = 0;
        recording.series.remove(0);
        let report = Report::judge(&fixture_sync::plan(), &fixture::host(), &[recording]);
        let run = &report.runs[0];
        let row = run.sync.iter().find(|row| row.sort == "barrier").unwrap();
        assert_eq!(row.wait_share, None);
        let metric = &run.metrics["barrier_wait_share"];
        let reason = "nobody passed a barrier in the window";
        assert_eq!((metric.value, metric.reason.as_deref()), (None, Some(reason)));
    }

    #[test]
    fn every_pass_has_its_wait() {
        let law = "sync_waits_explained";
        check(law, |_| (), true);
        check(law, |run| run.syncs[0].passes.window += 1, false);
        check(law, |run| run.syncs[3].slept += 3, false);
        check(law, |run| run.syncs[1].unstamped += 1, false);
        // Every wakeup is one of a message or one at an object.
        check("receipts_explained", |_| (), true);
        check("receipts_explained", |run| run.syncs[2].slept -= 1, false);
    }

    #[test]
    fn metrics_of_objects() {
        let run = [fixture_sync::recording()];
        let report = Report::judge(&fixture_sync::plan(), &fixture::host(), &run);
        let metrics = &report.runs[0].metrics;
        let check = |key: &str, expected: f64| {
            assert_eq!(metrics[key].value.map(f64::round), Some(expected), "{key}");
        };
        check("commits_per_s", 3_200.0);
        check("lock_acquisitions_per_s", 4_800.0);
        check("barrier_rounds_per_s", 1_800.0);
        check("pauses_per_s", 12.0);
        check("wakeups_per_s", 3_048.0);
        // 500 of 9,000 passes; the only barrier has a row.
        assert_eq!(metrics["barrier_asleep_share"].value, Some(500.0 / 9_000.0));
        let row = report.runs[0].sync.iter().find(|row| row.sort == "barrier").unwrap();
        assert_eq!(metrics["barrier_wait_share"].value, row.wait_share);
        assert!(metrics["pause_ns_p50"].value.unwrap() > 0.0);
        // Held from when the last has parked until the end of the pause.
        let took_s = |series: &str| {
            let row = report.runs[0].latency.iter().find(|row| row.series == series).unwrap();
            row.mean.unwrap() * row.count as f64 / 1e9
        };
        let held_s = took_s("gc:pause") - took_s("gc:to_safepoint");
        let of = |key: &str| metrics[key].value.unwrap();
        let held = 1.0 - of("mutator_runnable") / of("mutator_runnable_unpaused");
        let expected = held_s / report.runs[0].window_s / f64::from(fixture_sync::plan().copies);
        assert!(expected > 0.01 && (held - expected).abs() < 1e-9, "{held}, not {expected}");
        assert_eq!(metrics["helper_runnable_unpaused"].reason.as_deref(), Some(NO_SAFEPOINT));
    }
}
