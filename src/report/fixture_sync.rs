//! A made-up run with one sync object of each sort.
//!
//! Must not know: what is tested with it.

use super::fixture::{self, series, team};
use crate::base::Relation;
use crate::plan::{Act, Op, Pick, Plan, SyncOp, SyncPlan, SyncSort};
use crate::record::Recording;
use crate::record::recording::{PerPhase, SeriesKind, SyncRecord, Wakeups};
use crate::report::Report;

pub(super) fn plan() -> Plan {
    let object = |name: &str, sort| SyncPlan {
        name: name.to_owned(),
        sort,
        members: 2,
        across_processes: false,
    };
    let kind = "spin_then_futex".to_owned();
    let barrier = SyncSort::Barrier { kind, parties: 2, spins: 300_000, crowded: false };
    let by = "sleep".to_owned();
    let syncs = vec![
        object("phase", barrier),
        object("rows", SyncSort::Lock { kind: "mutex".to_owned(), count: 8 }),
        object("log", SyncSort::Commit { flush_ns: 200_000, by }),
        object("gc", SyncSort::Safepoint { mutators: 2, helpers: 2 }),
    ];
    let op = |object, act| Op::Sync(Box::new(SyncOp { object, act }));
    let lock = Act::Lock { pick: Pick::Any, skew: Some(0.9), reads: false };
    let acts = [(0, Act::Pass), (1, lock), (2, Act::Commit), (1, Act::Unlock { begin: 1 })];
    let acts = acts.into_iter().chain([(3, Act::Collect)]);
    let mutator = acts.map(|(object, act)| op(object, act)).collect();
    let helper = vec![op(3, Act::Pause), op(3, Act::Resume { begin: 0 })];
    let mut plan = fixture::plan();
    plan.channels.clear();
    plan.syncs = syncs;
    plan.teams = vec![team("mutator", mutator), team("helper", helper)];
    plan.watch = vec!["commits_per_s".to_owned()];
    plan
}

pub(super) fn recording() -> Recording {
    let mut recording = fixture::recording();
    let window = |window| PerPhase { window, ..PerPhase::default() };
    let record = |team, object, passes, leads, [spun, slept]: [u64; 2]| SyncRecord {
        team,
        object,
        passes: window(passes),
        led: window(passes),
        leads,
        spun,
        slept,
        unstamped: 0,
    };
    recording.syncs = vec![
        record(0, 0, 9_000, 4_500, [4_000, 500]),
        record(0, 1, 12_000, 12_000, [0, 0]),
        record(0, 2, 8_000, 2_000, [0, 7_000]),
        SyncRecord { led: window(0), ..record(0, 3, 60, 0, [0, 60]) },
        SyncRecord { led: window(60), ..record(1, 3, 60, 30, [0, 60]) },
    ];
    let wait = |name: &str| SeriesKind::Wait(name.to_owned());
    let woken = SeriesKind::Wakeup { relation: Relation::SameLlc, moved: false };
    recording.series = vec![
        series(0, wait("phase"), 9_000, 40_000),
        series(0, wait("rows"), 12_000, 90),
        series(0, wait("log"), 8_000, 300_000),
        series(0, wait("gc"), 60, 2_000_000),
        series(0, woken.clone(), 7_560, 4_000),
        series(1, wait("gc"), 60, 80_000_000),
        series(1, woken, 60, 5_000),
        series(1, SeriesKind::Pause("gc".to_owned()), 30, 1_500_000),
        series(1, SeriesKind::ToSafepoint("gc".to_owned()), 30, 60_000),
    ];
    for (task, total) in recording.tasks.iter_mut().zip([3_780, 3_780, 30, 30]) {
        task.messages = Default::default();
        task.woken = Wakeups { total, ..Wakeups::default() };
    }
    for (record, name) in recording.teams.iter_mut().zip(["mutator", "helper"]) {
        record.name = name.to_owned();
    }
    recording
}

pub(super) fn report() -> Report {
    let mut report = Report::judge(&plan(), &fixture::host(), &[recording()]);
    report.tool = "schedload 0.0.0".to_owned();
    report
}
