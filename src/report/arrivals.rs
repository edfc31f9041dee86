//! Blocks whose rounds have times of their own: how many there were, and how late.
//!
//! Must not know: what is done in a round.

use crate::plan::flow::{Flow, Pattern};
use crate::plan::{Op, Pick, Plan, TeamPlan};
use crate::record::recording::{Paced, Recording, SeriesKind};
use crate::report::judge::{Case, seconds};
use crate::report::{ALL, Arrivals, Histogram, latency};

/// The name of the series of lateness.
pub(super) const LATENESS: &str = "lateness";

/// A generator that is later than this with one arrival in a thousand is itself what is measured:
/// response times of loaded servers are of this size.
const LATE_NS: u64 = 1_000_000;
/// So many of the arrivals asked for must have come.
const ACHIEVED: f64 = 0.98;
/// Standard deviations by which a count may fall short by chance.
const CHANCE: f64 = 3.0;

/// A paced block of a plan.
struct Block<'a> {
    /// Number of its team, and its own among those of the team.
    team: usize,
    number: usize,
    of_team: &'a TeamPlan,
    flow: &'a Flow,
}

/// Of a team, in order.
fn flows(team: &TeamPlan) -> impl Iterator<Item = &Flow> {
    team.ops.iter().filter_map(Op::paced)
}

/// Of all teams, in the order of the rows.
fn blocks(plan: &Plan) -> impl Iterator<Item = Block<'_>> {
    plan.teams.iter().enumerate().flat_map(|(team, of_team)| {
        let numbered = flows(of_team).enumerate();
        numbered.map(move |(number, flow)| Block { team, number, of_team, flow })
    })
}

impl Block<'_> {
    /// Rounds asked for, per second, of all members in all copies.
    fn offered_per_s(&self, plan: &Plan) -> f64 {
        let one_copy = match self.flow {
            Flow::Arrive { rate, .. } => *rate as f64,
            Flow::Every { period, .. } => {
                (0..self.of_team.size).map(|me| 1e9 / period.of(me) as f64).sum()
            }
            _ => 0.0,
        };
        one_copy * f64::from(plan.copies)
    }

    /// By how much each of its rounds in the window was late.
    fn lateness(&self, recording: &Recording) -> Histogram {
        let kind = SeriesKind::Lateness(self.number as u16);
        latency::of_team(recording, self.team, |it| *it == kind)
    }

    /// Arrivals that come at once.
    fn burst(&self) -> f64 {
        match self.flow {
            Flow::Arrive { burst, pattern: Pattern::Burst, .. } => f64::from(*burst),
            _ => 1.0,
        }
    }
}

/// All of a run, team by team.
pub(super) fn all(plan: &Plan, recording: &Recording) -> Vec<Arrivals> {
    let row = |block: Block<'_>| {
        let Block { team, number, of_team, flow } = block;
        let lateness = block.lateness(recording);
        let tasks = || recording.tasks.iter().filter(|task| task.team == team);
        let sum = |count: fn(&Paced) -> u64| {
            tasks().filter_map(|task| task.paced.get(number)).map(count).sum::<u64>()
        };
        let in_window = lateness.count();
        let window_s = seconds(recording.window_ns);
        Arrivals {
            team: of_team.name.clone(),
            at: flow.words(),
            open_loop: is_open(flow),
            offered_per_s: block.offered_per_s(plan),
            achieved_per_s: (window_s > 0.0).then(|| in_window as f64 / window_s),
            arrivals: in_window,
            arrivals_total: sum(|paced| paced.begun),
            missed: sum(|paced| paced.missed),
            lateness: latency::row(LATENESS, &of_team.name, ALL, None, &lateness),
        }
    };
    blocks(plan).map(row).collect()
}

fn is_open(flow: &Flow) -> bool {
    matches!(flow, Flow::Arrive { pattern, .. } if *pattern != Pattern::Closed)
}

/// Why there is no lateness of rounds; it goes without saying.
pub(super) const NO_ROUNDS: &str = "no team of this profile does anything periodically";

/// The rounds of several blocks of the plan together.
pub(super) struct Rounds {
    pub offered_per_s: f64,
    /// Of each round in the window.
    pub lateness: Histogram,
}

/// What arrives; `None` in a plan in which nothing does.
pub(super) fn requests(plan: &Plan, recording: &Recording) -> Option<Rounds> {
    rounds(plan, recording, |flow| matches!(flow, Flow::Arrive { .. }))
}

/// What is done periodically; `None` in a plan in which nothing is.
pub(super) fn periodic(plan: &Plan, recording: &Recording) -> Option<Rounds> {
    rounds(plan, recording, |flow| matches!(flow, Flow::Every { .. }))
}

fn rounds(plan: &Plan, recording: &Recording, are: fn(&Flow) -> bool) -> Option<Rounds> {
    let mut found: Option<Rounds> = None;
    for block in blocks(plan).filter(|block| are(block.flow)) {
        let sum = found
            .get_or_insert_with(|| Rounds { offered_per_s: 0.0, lateness: Histogram::default() });
        sum.offered_per_s += block.offered_per_s(plan);
        sum.lateness.add(&block.lateness(recording));
    }
    found
}

/// Why the numbers of an open loop are the generator's own, if they are.
pub(super) fn generator_late(case: &Case<'_>, arrivals: &[Arrivals]) -> Option<String> {
    let late: Vec<String> = blocks(case.plan)
        .zip(arrivals)
        .filter(|(_, it)| it.open_loop)
        .filter_map(|(block, it)| {
            let asked = it.offered_per_s * case.window_s();
            let least = asked * ACHIEVED - CHANCE * (asked * block.burst()).sqrt();
            if (it.arrivals as f64) < least {
                let share = it.arrivals as f64 / asked * 100.0;
                return Some(format!("team {} achieved {share:.1} % of its rate", it.team));
            }
            let p999 = it.lateness.p999.filter(|ns| *ns > LATE_NS)?;
            let time = crate::base::unit::time(p999 as f64);
            Some(format!("0.1 % of the arrivals of team {} were {time} late or more", it.team))
        })
        .collect();
    (!late.is_empty())
        .then(|| format!("invalid: the generator was the bottleneck: {}", late.join(", ")))
}

/// Why response times lack requests, if they do.
pub(super) fn origin_lost(case: &Case<'_>) -> Option<String> {
    let lost: u64 = case.recording.tasks.iter().map(|task| task.without_origin).sum();
    (lost > 0).then(|| {
        format!(
            "of blocks that are measured from an arrival {lost} got no time: no message with an \
             arrival had come, or its stamp was lost in a queue longer than the ring of stamps (of \
             small messages)"
        )
    })
}

/// Of teams that send one message in each arrival and none else: arrivals, and messages sent.
pub(super) fn arrivals_and_sent(case: &Case<'_>) -> Option<(u64, u64)> {
    let is_such = |team: &TeamPlan| {
        let sends: Vec<usize> =
            (0..team.ops.len()).filter(|at| matches!(team.ops[*at], Op::Send { .. })).collect();
        let [send] = sends[..] else { return false };
        let one = !matches!(team.ops[send], Op::Send { pick: Pick::All, .. });
        let arrives = |op: &Op| matches!(op.paced(), Some(Flow::Arrive { .. }));
        one && send > 0 && arrives(&team.ops[send - 1]) && flows(team).count() == 1
    };
    let teams = || case.plan.teams.iter().enumerate().filter(|(_, team)| is_such(team));
    teams().next()?;
    let tasks =
        || case.recording.tasks.iter().filter(|task| teams().any(|(at, _)| at == task.team));
    let begun = tasks().flat_map(|task| &task.paced).map(|paced| paced.begun).sum();
    Some((begun, tasks().map(|task| task.messages.sent.total()).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::recording::Series;
    use crate::report::{Report, fixture};

    /// A plain run whose senders send in an open loop of this rate, and were so late `n` times.
    fn run(rate: u64, n: u64, late_ns: u64, change: fn(&mut Recording)) -> crate::report::Run {
        let (mut plan, mut recording) = (fixture::plan(), fixture::recording());
        let pattern = Pattern::Constant;
        let arrive = Flow::Arrive { rate, pattern, burst: 1, awake_ns: 0, end: 3 };
        plan.teams[0].ops[0] = Op::Flow(Box::new(arrive));
        if let Op::Send { pick, .. } = &mut plan.teams[0].ops[1] {
            *pick = Pick::Next;
        }
        for task in recording.tasks.iter_mut().filter(|task| task.team == 0) {
            task.paced = vec![Paced { begun: task.messages.sent.total(), missed: 0 }];
        }
        let mut counts = vec![0; crate::base::bucket::BUCKETS];
        counts[crate::base::bucket::index(late_ns)] = n;
        let sum = u128::from(n * late_ns);
        let kind = SeriesKind::Lateness(0);
        recording.series.push(Series { team: 0, kind, counts, min: late_ns, max: late_ns, sum });
        change(&mut recording);
        Report::judge(&plan, &fixture::host(), &[recording]).runs.remove(0)
    }

    /// Arrivals of a rate of 1000/s in the window of a plain run.
    fn all_of_them() -> u64 {
        fixture::recording().window_ns / 1_000_000
    }

    #[test]
    fn rates_are_told() {
        let run = run(1_000, all_of_them(), 5_000, |_| ());
        let [row] = &run.arrivals[..] else { panic!("{:?}", run.arrivals) };
        assert_eq!((row.at.as_str(), row.open_loop), ("arrive 1000/s, constant", true));
        assert_eq!((row.offered_per_s, row.arrivals), (1_000.0, all_of_them()));
        assert!((row.achieved_per_s.unwrap() - 1_000.0).abs() < 1.0);
        assert_eq!(row.lateness.max, Some(5_000));
    }

    #[test]
    fn lateness_of_periodic_rounds_is_a_metric() {
        let of = |run: &crate::report::Run, key: &str| {
            let metric = run.metrics[key].clone();
            metric.value.ok_or_else(|| metric.reason.unwrap())
        };
        let arriving = run(1_000, 9, 5_000, |_| ());
        assert_eq!(of(&arriving, "round_lateness_ns_p99"), Err(NO_ROUNDS.to_owned()));
        assert_eq!(of(&arriving, "arrival_lateness_ns_p999"), Ok(5_000.0));
        let (mut plan, mut recording) = (fixture::plan(), fixture::recording());
        let [period, offset] = [10_000_000, 0].map(crate::plan::Amount::Fixed);
        let every = Flow::Every { period, offset, count: None, end: 3 };
        plan.teams[0].ops[0] = Op::Flow(Box::new(every));
        recording.series.push(fixture::series(0, SeriesKind::Lateness(0), 1_000, 60_000));
        let report = Report::judge(&plan, &fixture::host(), &[recording]);
        let periodic = &report.runs[0];
        let row = periodic.arrivals[0].lateness.p99.map(|ns| ns as f64);
        assert_eq!(of(periodic, "round_lateness_ns_p99").ok(), row);
        assert_eq!(of(periodic, "arrivals_per_s"), Err(crate::report::NO_ARRIVALS.to_owned()));
    }

    #[test]
    fn a_generator_that_is_the_bottleneck_is_told() {
        let check = |n, late_ns, expected: &str| {
            let run = run(1_000, n, late_ns, |_| ());
            let found = run.caveats.iter().find(|caveat| caveat.id == "generator_late");
            let text = found.map_or("", |caveat| caveat.text.as_str());
            assert!(text.contains(expected) && expected.is_empty() == text.is_empty(), "{text}");
        };
        check(all_of_them(), 5_000, "");
        check(all_of_them(), 990_000, "");
        check(all_of_them(), 2_000_000, "0.1 % of the arrivals of team ");
        check(all_of_them() / 2, 5_000, "achieved 50.0 % of its rate");
        check(0, 5_000, "achieved 0.0 % of its rate");
    }

    #[test]
    fn arrivals_are_sent() {
        let law = |change| {
            let run = run(1_000, 9, 5_000, change);
            run.checks.iter().find(|check| check.name == "arrivals_conserved").unwrap().ok
        };
        assert!(law(|_| ()));
        assert!(!law(|run| run.tasks[0].paced[0].begun += 1));
        let lost = run(1_000, 9, 5_000, |run| run.tasks[2].without_origin = 3);
        assert!(lost.caveats.iter().any(|caveat| caveat.id == "origin_lost"));
    }
}
