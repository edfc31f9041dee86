//! How many messages there were on each channel at most.
//!
//! Must not know: how they were counted.

use crate::base::Reading;
use crate::report::Sourced;
use crate::report::judge::Case;
use crate::report::metrics::Value;
use serde::{Deserialize, Serialize};

/// Why there is no such number of a profile; it goes without saying.
pub(super) const NO_QUEUES: &str =
    "queues are counted only in profiles that measure something from its arrival";

/// The longest queue on a channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueRow {
    pub channel: String,
    /// The most messages that were on one of its instances when one was taken in the window, that
    /// one among them.
    pub most: Sourced,
}

/// The channels of the plan with their queues; none where rings have room for no more messages than
/// there are wakees.
fn queues<'a>(case: &Case<'a>) -> impl Iterator<Item = (&'a str, &'a Reading<u64>)> {
    let known = case.plan.traces_origins();
    let channels = case.plan.channels.iter().filter(move |_| known);
    channels.map(|channel| channel.name.as_str()).zip(&case.recording.queues)
}

/// By channel, in the order of the plan.
pub(super) fn all(case: &Case<'_>) -> Vec<QueueRow> {
    let row = |(channel, most): (&str, &Reading<u64>)| QueueRow {
        channel: channel.to_owned(),
        most: Sourced::of(most.clone()),
    };
    queues(case).map(row).collect()
}

/// Of all channels; one that does not tell leaves the run without.
pub(super) fn most(case: &Case<'_>) -> Value {
    let mut most = None;
    for (channel, queue) in queues(case) {
        match queue {
            Reading::Value(value) => most = most.max(Some(*value)),
            Reading::Absent(absence) => return Err(format!("{channel}: {}", absence.reason)),
        }
    }
    most.map(|most| most as f64).ok_or_else(|| NO_QUEUES.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::State;
    use crate::plan::flow::Flow;
    use crate::plan::{ChannelPlan, Op, Plan};
    use crate::report::{Report, Run, fixture};

    /// A plan of two channels in which something is measured from its arrival.
    fn plan() -> Plan {
        let mut plan = fixture::plan();
        let answered = Op::Flow(Box::new(Flow::Answered { measure: 0 }));
        plan.teams[0].ops.push(answered);
        plan.channels.push(ChannelPlan { name: "outbox".to_owned(), ..plan.channels[0].clone() });
        plan
    }

    fn run(plan: &Plan, queues: &[Reading<u64>]) -> Run {
        let mut recording = fixture::recording();
        recording.queues = queues.to_vec();
        Report::judge(plan, &fixture::host(), &[recording]).runs.remove(0)
    }

    #[test]
    fn the_longest_of_all_is_known_if_each_is() {
        let absent = Reading::absent(State::NotSupported, "who knows");
        let check = |queues: &[Reading<u64>], expected: Result<f64, &str>| {
            let run = run(&plan(), queues);
            let metric = &run.metrics["queued_most"];
            let got = metric.value.ok_or(metric.reason.as_deref().unwrap_or_default());
            assert_eq!(got, expected);
            let rows: Vec<_> = run.queues.iter().map(|row| row.most.value).collect();
            let values: Vec<_> = queues.iter().map(|it| it.value().copied()).collect();
            assert_eq!(rows, values);
        };
        check(&[Reading::Value(3), Reading::Value(17)], Ok(17.0));
        check(&[Reading::Value(0), Reading::Value(0)], Ok(0.0));
        check(&[Reading::Value(3), absent.clone()], Err("outbox: who knows"));
        check(&[absent, Reading::Value(3)], Err("inbox: who knows"));
    }

    #[test]
    fn without_arrivals_rings_do_not_tell() {
        let run = run(&fixture::plan(), &[Reading::Value(1)]);
        assert_eq!(run.queues, []);
        assert_eq!(run.metrics["queued_most"].reason.as_deref(), Some(NO_QUEUES));
    }
}
