//! Conservation laws: what must hold in any run, whatever the scheduler does.
//!
//! A law is broken only by a fault of the harness or of this program, so a broken one makes the
//! report invalid. One that cannot be tested here is neither: it is listed with the reason.
//! Must not know: what a good number is.

use crate::base::{CpuId, Reading, Relation, bucket};
use crate::record::recording::{End, Series, SeriesKind, Wakeups};
use crate::report::judge::Case;
use crate::report::{Check, Unchecked, arrivals, sync};

/// What became of a law, with its numbers.
pub(super) enum Outcome {
    Holds(String),
    Broken(String),
    Untested(String),
    /// It is about something that the run does not have.
    Moot,
}

use Outcome::{Broken, Holds, Moot, Untested};

struct Law {
    name: &'static str,
    test: fn(&Case<'_>) -> Outcome,
}

const LAWS: &[Law] = &[
    Law { name: "tasks_checked_out", test: tasks_checked_out },
    Law { name: "messages_conserved", test: messages_conserved },
    Law { name: "receipts_explained", test: receipts_explained },
    Law { name: "wakeups_conserved", test: wakeups_conserved },
    Law { name: "arrivals_conserved", test: arrivals_conserved },
    Law { name: "histograms_consistent", test: histograms_consistent },
    Law { name: "cpus_allowed", test: cpus_allowed },
    Law { name: "own_migrations_within_kernels", test: own_migrations },
    Law { name: "on_cpu_within_elapsed", test: on_cpu },
    Law { name: "cpu_time_within_capacity", test: cpu_time },
];

/// These go without saying where there are no sync objects.
const SYNC_LAWS: &[Law] = &[
    Law { name: "sync_conserved", test: sync::conserved },
    Law { name: "sync_waits_explained", test: sync::explained },
];

/// Slack of the laws about time: the kernel's scheduler clock and CLOCK_MONOTONIC may differ in
/// rate (NTP slews by at most 0.05 %), and a task's life begins a little before its creator's look
/// at the clock returns.
const TIME_SLACK_SHARE: f64 = 0.01;
/// One tick at HZ=100, the coarsest that CPU time is accounted in.
const TICK_NS: f64 = 10e6;

pub(super) fn all(case: &Case<'_>) -> (Vec<Check>, Vec<Unchecked>) {
    let (mut checks, mut unchecked) = (Vec::new(), Vec::new());
    let of_syncs = if case.plan.syncs.is_empty() { &[] } else { SYNC_LAWS };
    for law in LAWS.iter().chain(of_syncs) {
        let name = law.name.to_owned();
        let check = |ok, detail| Check { name: law.name.to_owned(), ok, detail };
        match (law.test)(case) {
            Holds(detail) => checks.push(check(true, detail)),
            Broken(detail) => checks.push(check(false, detail)),
            Moot => {}
            Untested(reason) => unchecked.push(Unchecked { name, reason }),
        }
    }
    (checks, unchecked)
}

/// A message is sent for each arrival: it was served, or is queued at the end.
fn arrivals_conserved(case: &Case<'_>) -> Outcome {
    let Some((arrivals, sent)) = arrivals::arrivals_and_sent(case) else { return Moot };
    if case.n_missing() > 0 {
        return Untested("tasks did not check out, so not all are counted".to_owned());
    }
    let received = case.messages.received;
    let queued = case.messages.sent.saturating_sub(received);
    let detail = format!("{arrivals} arrivals, {sent} messages sent for them; {queued} queued");
    holds_if(|| arrivals == sent, detail)
}

fn holds_if(holds: impl FnOnce() -> bool, detail: String) -> Outcome {
    if holds() { Holds(detail) } else { Broken(detail) }
}

/// Laws about sums over all tasks need all tasks.
fn need_all(case: &Case<'_>) -> Result<(), Outcome> {
    match case.n_missing() {
        0 => Ok(()),
        n => Err(Untested(format!(
            "{n} of {} tasks did not check out, so the sums lack theirs",
            case.plan.n_tasks()
        ))),
    }
}

fn tasks_checked_out(case: &Case<'_>) -> Outcome {
    let out = case.checked_out().count() as u64;
    let all = case.plan.n_tasks();
    let never = case.n_never_spawned();
    let detail = match never {
        0 => format!("{out} of {all} tasks checked out"),
        _ => format!("{out} of {all} tasks checked out, {never} were not spawned before the end"),
    };
    match case.recording.end {
        End::Interrupted(_) | End::Failed(_) | End::LeaderGone(_) | End::Stalled(_)
            if out < all =>
        {
            Untested(format!("{detail}; the run did not end by itself"))
        }
        _ => holds_if(|| out + never == all, detail),
    }
}

/// No message is received that nobody sent, and if all tasks did all their steps, exactly as many
/// as the plan says were sent and received.
fn messages_conserved(case: &Case<'_>) -> Outcome {
    if let Err(outcome) = need_all(case) {
        return outcome;
    }
    let (sent, received) = (case.messages.sent, case.messages.received);
    let ran_out = case.recording.end == End::Done && case.plan.duration_ns.is_none();
    if let Some((to_send, to_receive)) = ran_out.then(|| case.plan.messages()).flatten() {
        let detail =
            format!("sent {sent} (planned {to_send}), received {received} (planned {to_receive})");
        return holds_if(|| (sent, received) == (to_send, to_receive), detail);
    }
    if case.plan.channels.iter().any(|channel| channel.kind == "null") {
        return Untested("a null channel receives what nobody sent".to_owned());
    }
    match sent.checked_sub(received) {
        Some(rest) => Holds(format!("sent {sent} = received {received} + outstanding {rest}")),
        None => Broken(format!(
            "sent {sent}, but received {received}: {} more than were sent",
            received - sent
        )),
    }
}

/// Each receipt of the window was either a wakeup or a message found ready.
fn receipts_explained(case: &Case<'_>) -> Outcome {
    if let Err(outcome) = need_all(case) {
        return outcome;
    }
    let (wakeups, ready) = (case.messages.wakeups, case.found_ready);
    let received = case.messages.received_window;
    let detail =
        format!("{wakeups} wakeups + {ready} found ready; {received} received in the window");
    holds_if(|| wakeups + ready == received, detail)
}

/// The wakeups that a team's tasks counted, of which instances have their parts, are those of its
/// histograms; so are those across nodes.
fn wakeups_conserved(case: &Case<'_>) -> Outcome {
    if let Err(outcome) = need_all(case) {
        return outcome;
    }
    for (team, record) in case.recording.teams.iter().enumerate() {
        let (mut counted, mut entries) = (Wakeups::default(), [0, 0]);
        let tasks = case.recording.tasks.iter().filter(|task| task.team == team);
        tasks.for_each(|task| counted += task.woken);
        for series in case.recording.series.iter().filter(|series| series.team == team) {
            if let SeriesKind::Wakeup { relation, .. } = series.kind {
                let n = series.count();
                entries[0] += n;
                entries[1] += if relation == Relation::CrossNode { n } else { 0 };
            }
        }
        let counted = [counted.total, counted.cross_node];
        if counted != entries {
            return Broken(format!(
                "tasks of team {} counted {} wakeups, {} across nodes; its histograms have {}, {}",
                record.name, counted[0], counted[1], entries[0], entries[1]
            ));
        }
    }
    let Wakeups { total, cross_node, .. } = case.counts.woken;
    Holds(format!("{total} wakeups by task, {cross_node} across nodes, as in the histograms"))
}

/// What is kept exactly beside a histogram fits its buckets.
fn histograms_consistent(case: &Case<'_>) -> Outcome {
    let all = &case.recording.series;
    let entries: u64 = all.iter().map(Series::count).sum();
    match all.iter().find(|series| !is_consistent(series)) {
        None => Holds(format!("{} histograms with {entries} entries", all.len())),
        Some(series) => Broken(format!(
            "{:?} of team {}: count {}, min {}, max {} and sum {} do not fit its buckets",
            series.kind,
            series.team,
            series.count(),
            series.min,
            series.max,
            series.sum
        )),
    }
}

fn is_consistent(series: &Series) -> bool {
    let filled = || series.counts.iter().enumerate().filter(|(_, n)| **n > 0);
    let (Some((first, _)), Some((last, _))) = (filled().next(), filled().next_back()) else {
        return true;
    };
    if last >= bucket::BUCKETS {
        return false;
    }
    let lowest: u128 =
        filled().map(|(at, &n)| u128::from(bucket::range(at).0) * u128::from(n)).sum();
    let above: u128 =
        filled().map(|(at, &n)| u128::from(bucket::range(at).1 - 1) * u128::from(n)).sum();
    // The last bucket has no upper end.
    let open = last == bucket::BUCKETS - 1;
    bucket::index(series.min) == first
        && bucket::index(series.max) == last
        && series.sum >= lowest
        && (open || series.sum <= lowest + above)
}

fn cpus_allowed(case: &Case<'_>) -> Outcome {
    let mut seen = 0;
    for team in &case.recording.teams {
        let planned = case.plan.teams.iter().find(|plan| plan.name == team.name);
        let placed = planned.map(|plan| plan.cpus.as_slice()).unwrap_or_default();
        let may_use = |id: CpuId| {
            case.cpu(id).is_some_and(|cpu| cpu.allowed)
                && (placed.is_empty() || placed.iter().any(|cpus| cpus.contains(id)))
        };
        let used = || team.residency.iter().filter(|(_, ns)| *ns > 0);
        if let Some((cpu, ns)) = used().find(|(cpu, _)| !may_use(*cpu)) {
            return Broken(format!(
                "team {} was on CPU {cpu} for {ns} ns, which it may not use",
                team.name
            ));
        }
        seen = seen.max(used().count());
    }
    Holds(format!("at most {seen} CPUs used by a team, all allowed"))
}

/// A migration that a task saw is one that the kernel counted (the other way round not: it may move
/// a task there and back between two looks).
fn own_migrations(case: &Case<'_>) -> Outcome {
    if let Err(outcome) = need_all(case) {
        return outcome;
    }
    let own = case.migrations.total;
    let kernel = &case.kernel.migrations;
    match kernel.value {
        Some(value) => holds_if(
            || own <= value,
            format!("{own} seen in the window, {value} counted by the kernel in the whole run"),
        ),
        None => Untested(format!(
            "nr_migrations: {}: {}",
            kernel.state,
            kernel.reason.as_deref().unwrap_or_default()
        )),
    }
}

fn on_cpu(case: &Case<'_>) -> Outcome {
    let bound = case.life_ns() as f64 * (1.0 + TIME_SLACK_SHARE) + TICK_NS;
    let times = || {
        let tasks = case.checked_out();
        tasks.filter_map(|task| Some((task, *task.kernel.run_ns.value()?)))
    };
    let Some((task, most)) = times().max_by_key(|(_, ns)| *ns) else {
        let kernel = &case.kernel.totals.run_ns;
        let reason = kernel.reason.as_deref().unwrap_or_default();
        return Untested(format!("schedstat: {}: {reason}", kernel.state));
    };
    let team = case.recording.teams.get(task.team);
    let detail = format!(
        "at most {most} ns on CPU ({} {} of copy {}), in a run of {} ns",
        team.map_or("?", |team| &team.name),
        task.index,
        task.copy,
        case.life_ns()
    );
    holds_if(|| most as f64 <= bound, detail)
}

fn cpu_time(case: &Case<'_>) -> Outcome {
    let used = match &case.recording.cpu {
        Reading::Value(cpu) => cpu.total_ns(),
        Reading::Absent(absence) => return Untested(absence.reason.clone()),
    };
    let cpus = case.allowed().count();
    let life = case.life_ns();
    let bound = (life as f64 * (1.0 + TIME_SLACK_SHARE) + TICK_NS) * cpus as f64;
    let detail = format!("{used} ns of CPU time, {life} ns on each of {cpus} CPUs");
    holds_if(|| used as f64 <= bound, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::State;
    use crate::record::Recording;
    use crate::record::recording::CpuTime;
    use crate::report::{Report, fixture};

    /// Judges a plain run with one thing changed, and tells what became of a law.
    fn check(law: &str, change: impl FnOnce(&mut Recording), expected: &str) {
        let mut recording = fixture::recording();
        change(&mut recording);
        let report = Report::judge(&fixture::plan(), &fixture::host(), &[recording]);
        let run = &report.runs[0];
        let made = run.checks.iter().find(|check| check.name == law);
        let word = match made {
            Some(check) if check.ok => "holds",
            Some(_) => "broken",
            None => "untested",
        };
        assert_eq!(word, expected, "{law}: {made:?}");
        assert_eq!(report.broken().any(|check| check.name == law), word == "broken");
    }

    #[test]
    fn all_laws_hold_in_a_plain_run() {
        // `arrivals.rs` has runs in which something arrives.
        for law in LAWS.iter().filter(|law| law.name != "arrivals_conserved") {
            check(law.name, |_| (), "holds");
        }
    }

    #[test]
    fn tasks_that_do_not_check_out() {
        let law = "tasks_checked_out";
        check(law, |run| run.tasks[0].checked_out = false, "broken");
        let interrupted = |run: &mut Recording| {
            run.tasks[0].checked_out = false;
            run.end = End::Interrupted(2);
        };
        for law in [law, "messages_conserved", "receipts_explained"] {
            check(law, interrupted, "untested");
        }
        check(law, |run| run.end = End::Interrupted(2), "holds");
    }

    #[test]
    fn messages_out_of_nothing() {
        let law = "messages_conserved";
        check(law, |run| run.tasks[0].messages.sent.after += 1, "broken");
        check(law, |run| run.tasks[2].messages.received.warmup += 1, "broken");
        let interrupted = |run: &mut Recording, sent| {
            run.end = End::Interrupted(2);
            run.tasks[0].messages.sent.window += sent;
        };
        check(law, |run| interrupted(run, 1), "holds");
        let received_more = |run: &mut Recording| {
            interrupted(run, 0);
            run.tasks[2].messages.received.window += 1;
        };
        check(law, received_more, "broken");
    }

    #[test]
    fn receipts_that_nothing_explains() {
        let law = "receipts_explained";
        check(law, |run| run.tasks[2].messages.received.window += 1, "broken");
        check(law, |run| run.teams[1].found_ready_unstamped += 1, "broken");
    }

    #[test]
    fn wakeups_that_no_task_counted() {
        let law = "wakeups_conserved";
        check(law, |run| run.tasks[2].woken.total += 1, "broken");
        check(law, |run| run.tasks[3].woken.cross_node -= 1, "broken");
        // Of another team.
        let elsewhere = |run: &mut Recording| {
            run.tasks[2].woken.total -= 1;
            run.tasks[0].woken.total += 1;
        };
        check(law, elsewhere, "broken");
        check(law, |run| run.tasks[3].checked_out = false, "untested");
    }

    #[test]
    fn extremes_outside_of_the_buckets() {
        let law = "histograms_consistent";
        check(law, |run| run.series[0].min = 0, "broken");
        check(law, |run| run.series[0].max *= 2, "broken");
        check(law, |run| run.series[0].sum *= 2, "broken");
        check(law, |run| run.series[0].sum /= 2, "broken");
    }

    #[test]
    fn cpus_that_may_not_be_used() {
        let law = "cpus_allowed";
        check(law, |run| run.teams[0].residency.push((CpuId(7), 1)), "broken");
        check(law, |run| run.teams[0].residency.push((CpuId(99), 1)), "broken");
        check(law, |run| run.teams[0].residency.push((CpuId(99), 0)), "holds");
    }

    #[test]
    fn more_than_the_kernel_saw() {
        let law = "own_migrations_within_kernels";
        check(law, |run| run.tasks[0].migrations.while_running[4] += 1_000_000, "broken");
        let unreadable = |run: &mut Recording| {
            run.tasks[0].kernel.nr_migrations = Reading::absent(State::Absent, "no sched file");
        };
        check(law, unreadable, "untested");
        let long = |run: &mut Recording| run.tasks[0].kernel.run_ns = Reading::Value(1 << 50);
        check("on_cpu_within_elapsed", long, "broken");
        let law = "cpu_time_within_capacity";
        let used = CpuTime { user_ns: 1 << 50, sys_ns: 0 };
        check(law, |run| run.cpu = Reading::Value(used), "broken");
        check(law, |run| run.cpu = Reading::absent(State::Absent, "gone"), "untested");
    }
}
