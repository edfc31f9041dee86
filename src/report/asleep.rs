//! The part of what a team waits for that found it asleep: messages, and being let go at desks.
//!
//! Must not know: the other metrics.

use crate::plan::Act;
use crate::record::recording::{SeriesKind, SyncRecord};
use crate::report::NO_MESSAGES;
use crate::report::judge::Case;
use crate::report::metrics::{Value, ratio};
use crate::report::{latency, sync};

/// Of the window; wakeups at other objects than desks are no part of it.
pub(super) fn share(case: &Case<'_>, team: usize) -> Value {
    let (plan, recording) = (&case.plan.teams[team], case.recording);
    let asks =
        |it: &&SyncRecord| plan.acts_at(it.object as u32).any(|act| matches!(act, Act::Ask { .. }));
    let its = || recording.syncs.iter().filter(|it| it.team == team);
    if !plan.receives && !its().any(|it| asks(&it)) {
        return Err(NO_MESSAGES.to_owned());
    }
    let is_wakeup = |kind: &SeriesKind| matches!(kind, SeriesKind::Wakeup { .. });
    let woken = latency::of_team(recording, team, is_wakeup).count();
    let elsewhere = sync::wakeups(its().filter(|it| !asks(it)));
    let tasks = recording.tasks.iter().filter(|task| task.team == team);
    let received: u64 = tasks.map(|task| task.messages.received.window).sum();
    let let_go: u64 = its().filter(asks).map(|it| it.passes.window).sum();
    let found = woken.saturating_sub(elsewhere) as f64;
    ratio(found, received + let_go, "nothing that it waits for came in the window")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Relation;
    use crate::plan::{Op, SyncOp, SyncPlan, SyncSort};
    use crate::record::recording::PerPhase;
    use crate::report::{Report, fixture, fixture_sync};

    #[test]
    fn wakeups_elsewhere_are_none_at_a_desk() {
        let (mut plan, mut recording) = (fixture_sync::plan(), fixture_sync::recording());
        let share = |plan: &_, recording: &_| {
            let report = Report::judge(plan, &fixture::host(), std::slice::from_ref(recording));
            let metric = &report.runs[0].metrics["mutator_asleep_share"];
            metric.value.ok_or(metric.reason.clone().unwrap_or_default())
        };
        assert_eq!(share(&plan, &recording), Err(NO_MESSAGES.to_owned()));
        // It was let go 1000 times: of 600 times that it slept, the waker of 50 is not known.
        let sort = SyncSort::Desk { servers: 1 };
        let (name, object) = ("desk".to_owned(), plan.syncs.len());
        plan.syncs.push(SyncPlan { name, sort, members: 3, across_processes: false });
        let act = Act::Ask { measure: 0 };
        plan.teams[0].ops.push(Op::Sync(Box::new(SyncOp { object: object as u32, act })));
        let passes = PerPhase { window: 1_000, ..PerPhase::default() };
        recording.syncs.push(SyncRecord {
            team: 0,
            object,
            passes,
            led: PerPhase::default(),
            leads: 0,
            spun: 400,
            slept: 600,
            unstamped: 50,
        });
        let woken = SeriesKind::Wakeup { relation: Relation::SameCpu, moved: true };
        recording.series.push(fixture::series(0, woken, 550, 4_000));
        assert_eq!(share(&plan, &recording), Ok(0.55));
    }
}
