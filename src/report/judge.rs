//! From recordings to a report: sums over the tasks, then each part by its own file.
//!
//! Pure: the same plan, host and recordings give the same report. Must not know: how a run was
//! made, the system, anything about drawing.

use crate::base::{CpuId, Reading};
use crate::host::Host;
use crate::plan::{Plan, PlanCpu};
use crate::record::Recording;
use crate::record::recording::{End, Failure, PerPhase, SeriesKind, TaskRecord, Waiting};
use crate::report::{
    Harness, HostFacts, InstancePlacement, Messages, Migrations, ProfileFacts, Report, Run, SCHEMA,
    Trial, arrivals, caveats, charged, checks, conditions, convergence, instances, latency,
    memory_steps, metrics, placement, preferred, queues, shares, sources, summary, sync, timeline,
    trial,
};
use crate::sys::clock;
use std::collections::{BTreeMap, BTreeSet};

/// One recording with what it is judged against and the sums that several parts need.
pub(super) struct Case<'a> {
    pub plan: &'a Plan,
    pub host: &'a Host,
    pub recording: &'a Recording,
    pub messages: Messages,
    pub found_ready: u64,
    pub counts: shares::Counts,
    pub migrations: Migrations,
    pub kernel: sources::Kernel,
    /// By instance.
    pub placement: Vec<InstancePlacement>,
    pub trial: Option<Trial>,
}

/// The result of a profile that watches nothing.
const DEFAULT_RESULT: &str = "messages_per_s";

impl Report {
    /// Judges the recordings of one plan on one host, one run each, in their order.
    ///
    /// # Examples
    ///
    /// ```
    /// use schedload::plan::Overrides;
    /// use schedload::profile::catalogue;
    /// use schedload::run::{self, Control};
    /// use schedload::{Host, Plan, Report};
    ///
    /// let host = Host::read()?;
    /// let params = vec![("loops".to_owned(), "1000".to_owned())];
    /// let overrides = Overrides { params, ..Overrides::default() };
    /// let plan = Plan::new(&catalogue::load("pingpong")?, &host, &overrides)?;
    /// let recording = run::run(&plan, &host, &Control::default())?;
    /// let report = Report::judge(&plan, &host, &[recording]);
    ///
    /// assert_eq!(report.broken().count(), 0);
    /// for (name, metric) in &report.runs[0].metrics {
    ///     // 1/s, ns, s ...; a value that is not known is None, with its reason.
    ///     println!("{name}: {:?} {}", metric.value, metric.unit);
    /// }
    /// assert_eq!(Report::from_json(&report.to_json()?)?, report);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn judge(plan: &Plan, host: &Host, recordings: &[Recording]) -> Report {
        let mut report = Report {
            schema: SCHEMA,
            tool: format!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
            profile: ProfileFacts {
                name: plan.profile.clone(),
                about: plan.about.clone(),
                params: plan.params.iter().cloned().collect(),
                hash: plan.hash.clone(),
                seed: plan.seed,
                watch: plan.watch.clone(),
                ramp: plan.ramp.clone(),
                primary: Some(plan.watch.first().map_or(DEFAULT_RESULT, String::as_str).to_owned()),
            },
            host: host_facts(host),
            runs: Vec::new(),
            summary: BTreeMap::new(),
        };
        for recording in recordings {
            report.push(plan, host, recording);
        }
        report.summary = summary::across(&report.runs);
        report
    }

    /// Judges one more recording of the same plan on the same host: the same report as from all
    /// of them at once, without keeping them.
    pub fn add(&mut self, plan: &Plan, host: &Host, recording: &Recording) {
        self.push(plan, host, recording);
        self.summary = summary::across(&self.runs);
    }

    fn push(&mut self, plan: &Plan, host: &Host, recording: &Recording) {
        let n = u32::try_from(self.runs.len()).unwrap_or(u32::MAX);
        self.runs.push(run(n, &Case::new(plan, host, recording)));
        caveats::of_number_of_runs(&mut self.runs);
    }
}

impl<'a> Case<'a> {
    fn new(plan: &'a Plan, host: &'a Host, recording: &'a Recording) -> Self {
        let kernel = sources::Kernel::of(&recording.tasks);
        let counts = shares::of_run(&recording.tasks);
        let mut case = Case {
            plan,
            host,
            recording,
            messages: messages(recording),
            found_ready: found_ready(recording),
            migrations: placement::migrations(&counts, &kernel),
            counts,
            kernel,
            placement: Vec::new(),
            trial: None,
        };
        case.placement = convergence::all(&case);
        case.trial = trial::of(&case);
        case
    }

    pub fn window_s(&self) -> f64 {
        seconds(self.recording.window_ns)
    }

    /// From the first task's creation to the last one's end.
    pub fn life_ns(&self) -> u64 {
        self.recording.start_ns + self.recording.elapsed_ns
    }

    pub fn checked_out(&self) -> impl Iterator<Item = &'a TaskRecord> {
        self.recording.tasks.iter().filter(|task| task.checked_out)
    }

    /// Tasks that a step was to start, and the run was over before. They have no counts to miss.
    pub fn n_never_spawned(&self) -> u64 {
        let spawned = |team: usize| self.plan.teams.get(team).is_some_and(|team| team.spawned);
        let tasks = self.recording.tasks.iter();
        let never = tasks.filter(|it| !it.checked_out && it.begun.is_none() && spawned(it.team));
        never.count() as u64
    }

    /// Tasks of the plan whose counts are missing or incomplete.
    pub fn n_missing(&self) -> u64 {
        let out = self.checked_out().count() as u64 + self.n_never_spawned();
        self.plan.n_tasks().saturating_sub(out)
    }

    pub fn allowed(&self) -> impl Iterator<Item = &'a PlanCpu> {
        self.plan.cpus.iter().filter(|cpu| cpu.allowed)
    }

    pub fn cpu(&self, id: CpuId) -> Option<&'a PlanCpu> {
        self.plan.cpus.iter().find(|cpu| cpu.id == id)
    }

    /// The value of a host fact, if it could be read.
    pub fn fact(&self, key: &str) -> Option<&'a str> {
        let fact = self.host.facts.iter().find(|fact| fact.key == key)?;
        fact.value.value().map(String::as_str)
    }
}

pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn run(n: u32, case: &Case<'_>) -> Run {
    let recording = case.recording;
    let (end, end_detail) = end(&recording.end);
    let latency = latency::rows(case.plan, recording);
    let arrivals = arrivals::all(case.plan, recording);
    let (checks, unchecked) = checks::all(case);
    let metrics = metrics::all(case);
    let conditions = conditions::all(case, &metrics);
    let mut caveats = caveats::all(case, &latency, &arrivals);
    // First what the numbers are not of.
    caveats.splice(0..0, conditions::doubts(&conditions));
    Run {
        run: n,
        elapsed_s: seconds(recording.elapsed_ns),
        window_s: case.window_s(),
        user_s: recording.cpu.value().map(|cpu| seconds(cpu.user_ns)),
        sys_s: recording.cpu.value().map(|cpu| seconds(cpu.sys_ns)),
        start_s: seconds(recording.start_ns),
        end: end.to_owned(),
        end_detail,
        tasks: u32::try_from(recording.tasks.len()).unwrap_or(u32::MAX),
        metrics,
        caveats,
        latency,
        instances: instances::all(case),
        arrivals,
        queues: queues::all(case),
        messages: case.messages.clone(),
        found_ready: case.found_ready,
        migrations: case.migrations.clone(),
        kernel: case.kernel.totals.clone(),
        residency: placement::residency(case),
        sync: sync::rows(case),
        timeline: timeline::of(case),
        memory_steps: memory_steps::all(case),
        placement: case.placement.clone(),
        numa: preferred::all(case),
        cgroups: charged::all(case),
        trial: case.trial.clone(),
        sources: sources::all(case),
        harness: harness(case),
        checks,
        conditions,
        unchecked,
    }
}

fn end(end: &End) -> (&'static str, Option<String>) {
    match end {
        End::Done => ("done", None),
        End::TimeUp => ("time_up", None),
        End::Interrupted(signal) => ("interrupted", Some(format!("signal {signal}"))),
        End::Failed(failure) => {
            let Failure { team, task_idx, step, call, error } = failure;
            let detail = match call.as_str() {
                Failure::NO_CALL => format!("{team} {task_idx}: {error}"),
                _ => format!("{team} {task_idx}: step `{step}`: {call}: {error}"),
            };
            ("failed", Some(detail))
        }
        End::LeaderGone(how) => {
            ("failed", Some(format!("the leader process ended before its tasks: {how}")))
        }
        End::Stalled(waiting) => ("stalled", Some(stall(waiting))),
    }
}

/// Who waits for what, the first few of them.
fn stall(waiting: &[Waiting]) -> String {
    const NAMED_MAX: usize = 8;
    let mut parts: Vec<String> = waiting.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    if let Some(left @ 1..) = waiting.len().checked_sub(NAMED_MAX) {
        parts.push(format!("and at {left} more steps"));
    }
    format!("some can never go on: {}", parts.join("; "))
}

fn messages(recording: &Recording) -> Messages {
    let sum = |count: fn(&TaskRecord) -> u64| recording.tasks.iter().map(count).sum();
    let wakeups = |kind: &SeriesKind| matches!(kind, SeriesKind::Wakeup { .. });
    Messages {
        sent: sum(|task| PerPhase::total(&task.messages.sent)),
        received: sum(|task| PerPhase::total(&task.messages.received)),
        sent_window: sum(|task| task.messages.sent.window),
        received_window: sum(|task| task.messages.received.window),
        wakeups: latency::count(recording, wakeups)
            .saturating_sub(sync::wakeups(recording.syncs.iter())),
    }
}

fn found_ready(recording: &Recording) -> u64 {
    let stamped = latency::count(recording, |kind| *kind == SeriesKind::FoundReady);
    let unstamped = recording.teams.iter().map(|team| team.found_ready_unstamped);
    stamped + unstamped.sum::<u64>()
}

fn host_facts(host: &Host) -> HostFacts {
    let cpus = || {
        let all = host.topology.cpus.iter();
        all.filter(|cpu| host.allowed.contains(cpu.id))
    };
    let distinct = |of: fn(&crate::base::Place) -> u32| {
        let set: BTreeSet<u32> = cpus().map(|cpu| of(&cpu.place)).collect();
        set.len() as u32
    };
    let knobs: BTreeMap<String, Option<String>> =
        host.facts.iter().map(|fact| (fact.key.clone(), fact.value.value().cloned())).collect();
    HostFacts {
        kernel: host.kernel_release.value().cloned(),
        kernel_version: Reading::value(&host.kernel_version).cloned(),
        cpus: cpus().count() as u32,
        nodes: distinct(|place| place.node.0),
        llcs: distinct(|place| place.llc),
        cores: distinct(|place| place.core),
        allowed: host.allowed.to_string(),
        knobs,
    }
}

fn harness(case: &Case<'_>) -> Harness {
    let cost = case.recording.harness;
    let clocksource = case.fact(caveats::CLOCKSOURCE).unwrap_or("not known");
    let clock = match cost.clock {
        clock::Source::Counter => format!("cycle counter ({clocksource})"),
        clock::Source::Monotonic => format!("clock_gettime ({clocksource})"),
    };
    Harness {
        clock,
        clock_ns: cost.clock_ns,
        stamp_ns: cost.stamp_ns,
        record_ns: cost.record_ns,
        share: harness_share(case),
    }
}

/// A stamp for each message sent, a clock reading and a record for each received and for each pass
/// of a sync object, over the tasks' CPU time.
pub(super) fn harness_share(case: &Case<'_>) -> Option<f64> {
    let recording = case.recording;
    let cpu_ns = recording.cpu.value()?.total_ns();
    let stamps = case.messages.sent as f64 * recording.harness.stamp_ns;
    let record_ns = recording.harness.clock_ns + recording.harness.record_ns;
    let passes: u64 = recording.syncs.iter().map(|it| it.passes.total()).sum();
    let records = (case.messages.received + passes) as f64 * record_ns;
    (cpu_ns > 0 && case.n_missing() == 0).then(|| (stamps + records) / cpu_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn failures_in_words() {
        let check = |step: &str, call: &str, expected: &str| {
            let (team, error) = ("w".to_owned(), "oh".to_owned());
            let (step, call) = (step.to_owned(), call.to_owned());
            let failure = Failure { team, task_idx: 3, step, call, error };
            assert_eq!(end(&End::Failed(failure)).1.as_deref(), Some(expected));
        };
        check("send c", "write", "w 3: step `send c`: write: oh");
        check("unknown", Failure::NO_CALL, "w 3: oh");
    }

    #[test]
    fn one_by_one_is_the_same_as_all_at_once() {
        let (plan, host) = (fixture::plan(), fixture::host());
        let recordings = [fixture::recording(), fixture::empty(), fixture::recording()];
        let mut report = Report::judge(&plan, &host, &recordings[..1]);
        assert!(report.runs[0].caveats.iter().any(|caveat| caveat.id == "one_run"));
        for n in 1..recordings.len() {
            report.add(&plan, &host, &recordings[n]);
            assert_eq!(report, Report::judge(&plan, &host, &recordings[..=n]));
        }
        let caveats = || report.runs.iter().flat_map(|run| &run.caveats);
        assert!(!caveats().any(|caveat| caveat.id == "one_run"));
    }
}
