//! The numbers of schbench, from histograms of a run: those of each second, and those of all.
//!
//! Must not know: what their lines look like (`compat::schbench_lines`).

use crate::base::Reading;
use crate::compat::schbench::{Options, Stamps};
use crate::compat::schbench_lines::{
    self as lines, Header, OF_LATENCIES, OF_RPS, OF_WAKES, Samples,
};
use crate::plan::Plan;
use crate::record::Recording;
use crate::record::recording::{Series, SeriesKind, TaskRecord};
use crate::report::{Histogram, Report};
use std::time::{SystemTime, UNIX_EPOCH};

pub const S: u64 = 1_000_000_000;

/// Whose numbers they are.
const WORKERS: &str = "worker";

/// What was counted until some second of the window.
#[derive(Default)]
pub struct Meter {
    pub seconds: Vec<u64>,
    requests: u64,
    /// Where the numbers of the next report begin.
    zero: Zero,
}

#[derive(Default)]
struct Zero {
    at_s: usize,
    wakeups: Samples,
    requests: Samples,
}

impl Meter {
    /// Another second has passed; the report that is due.
    pub fn second(&mut self, plan: &Plan, options: &Options, series: &[Series]) -> Option<String> {
        let (wakeups, requests) =
            (wakeups(plan, options, series), measured(plan, series, "request"));
        let so_far = requests.count();
        self.seconds.push(so_far - self.requests);
        self.requests = so_far;
        let now_s = self.seconds.len();
        let is_due = |every: u64| (now_s as u64).is_multiple_of(every);
        let (wakeups, requests) = (sampled(&wakeups), sampled(&requests));
        let text = is_due(options.interval_s).then(|| {
            let runtime_s = now_s as u64;
            let of_latencies = |label, all: &Samples, before: &Samples| {
                lines::block(label, "usec", runtime_s, &all.since(before), &OF_LATENCIES)
            };
            let last = self.seconds.last().copied().unwrap_or(0) as f64;
            let seconds = Samples::numbers(&self.seconds[self.zero.at_s..]);
            of_latencies("Wakeup Latencies", &wakeups, &self.zero.wakeups)
                + &of_latencies("Request Latencies", &requests, &self.zero.requests)
                + &lines::block("RPS", "requests", runtime_s, &seconds, &OF_RPS)
                + &format!("current rps: {last:.2}\n")
        });
        if options.zero_s.is_some_and(is_due) {
            self.zero = Zero { at_s: now_s, wakeups, requests };
        }
        text
    }
}

/// The numbers of the whole window.
pub struct Last {
    runtime_s: u64,
    wakeups: Samples,
    did: Did,
}

/// What workers did when they were woken.
enum Did {
    Requests {
        all: Samples,
        seconds: Samples,
        average: f64,
        /// The rate that was found for them.
        found: Option<u64>,
        delays: [Option<u64>; 2],
    },
    /// Each worker so often a second, so many bytes were written on either side.
    Transfers { per_s: f64, bytes: u64 },
}

impl Last {
    pub fn of(plan: &Plan, options: &Options, recording: &Recording, seconds: Vec<u64>) -> Last {
        let runtime_s = recording.window_ns / S;
        let series = &recording.series;
        Last {
            runtime_s,
            wakeups: sampled(&wakeups(plan, options, series)),
            did: match options.pipe() {
                0 => {
                    let all = measured(plan, series, "request");
                    Did::Requests {
                        seconds: Samples::numbers(&seconds),
                        average: per_s(all.count(), recording),
                        found: options.auto_rps.map(|_| options.rps),
                        delays: ["message", "worker"].map(|team| delay(plan, recording, team)),
                        all: sampled(&all),
                    }
                }
                bytes => {
                    let workers = plan.teams.iter().find(|team| team.name == WORKERS);
                    let n_workers = workers.map_or(1, |team| team.size.max(1));
                    let per_s = per_s(let_go(plan, recording), recording) / f64::from(n_workers);
                    Did::Transfers { per_s, bytes }
                }
            },
        }
    }

    pub fn text(&self) -> String {
        let block =
            |label, samples, rows| lines::block(label, "usec", self.runtime_s, samples, rows);
        match &self.did {
            Did::Requests { all, seconds, average, found, delays: [message, worker] } => {
                block("Wakeup Latencies", &self.wakeups, &OF_LATENCIES)
                    + &block("Request Latencies", all, &OF_LATENCIES)
                    + &lines::block("RPS", "requests", self.runtime_s, seconds, &OF_RPS)
                    + &lines::rate(*average, *found)
                    + &lines::delays(*message, *worker)
            }
            Did::Transfers { per_s, bytes } => {
                block("Wakeup Latencies", &self.wakeups, &OF_WAKES)
                    + &lines::transfer(*per_s, *bytes)
            }
        }
    }

    pub fn json(&self, options: &Options, report: &Report, cmdline: &str) -> String {
        let knob = |key: &str| report.host.knobs.get(key).and_then(Option::as_deref);
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let header = Header {
            kernel: report.host.kernel.as_deref().unwrap_or("unknown"),
            jobname: options.jobname.as_deref(),
            hostname: hostname.trim_end(),
            sched_ext: match knob("scx") {
                Some("enabled") => knob("scx_ops").unwrap_or("unknown"),
                _ => "disabled",
            },
            cmdline,
        };
        let time_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let mut series = vec![("wakeup_latency", &self.wakeups)];
        if let Did::Requests { all, seconds, .. } = &self.did {
            series.extend([("request_latency", all), ("rps", seconds)]);
        }
        lines::json(&header, time_s, self.runtime_s, &series)
    }
}

fn sampled(histogram: &Histogram) -> Samples {
    let extremes = histogram.min().zip(histogram.max());
    Samples::times(histogram.counts().to_vec(), extremes)
}

/// Wakeup latencies as schbench has them: from when the message thread took the list. With `--rps`
/// there is no list, and with `--pipe` each wake has its stamp: they are of workers that slept.
fn wakeups(plan: &Plan, options: &Options, series: &[Series]) -> Histogram {
    match options.stamps() {
        Stamps::OfBatches => measured(plan, series, "message_batch_wait"),
        Stamps::OfWakes => {
            of_workers(plan, series, |kind| matches!(kind, SeriesKind::Wakeup { .. }))
        }
    }
}

fn per_s(count: u64, recording: &Recording) -> f64 {
    count as f64 * S as f64 / recording.window_ns.max(1) as f64
}

/// How often workers were let go, or had a message.
fn let_go(plan: &Plan, recording: &Recording) -> u64 {
    let received: u64 =
        tasks(plan, recording, WORKERS).map(|task| task.messages.received.window).sum();
    let is_desk = |object: usize| plan.syncs.get(object).is_some_and(|it| it.name == "message");
    let workers = plan.teams.iter().position(|team| team.name == WORKERS);
    let asked = recording.syncs.iter().filter(|it| Some(it.team) == workers && is_desk(it.object));
    received + asked.map(|it| it.passes.window).sum::<u64>()
}

fn tasks<'a>(
    plan: &Plan,
    recording: &'a Recording,
    team: &str,
) -> impl Iterator<Item = &'a TaskRecord> + use<'a> {
    let number = plan.teams.iter().position(|it| it.name == team);
    recording.tasks.iter().filter(move |task| Some(task.team) == number)
}

/// Blocks of that name.
fn measured(plan: &Plan, series: &[Series], name: &str) -> Histogram {
    of_workers(
        plan,
        series,
        |kind| matches!(kind, SeriesKind::Measure { name: it, .. } if it == name),
    )
}

fn of_workers(plan: &Plan, series: &[Series], is_it: impl Fn(&SeriesKind) -> bool) -> Histogram {
    let mut all = Histogram::default();
    let workers = plan.teams.iter().position(|team| team.name == WORKERS);
    for one in series.iter().filter(|one| Some(one.team) == workers && is_it(&one.kind)) {
        all.add_series(one);
    }
    all
}

/// How long tasks of a team waited for a CPU in each of their turns, on average (ns).
fn delay(plan: &Plan, recording: &Recording, team: &str) -> Option<u64> {
    let (mut delay_ns, mut turns) = (0, 0);
    for TaskRecord { kernel, .. } in tasks(plan, recording, team) {
        let (Reading::Value(delay), Reading::Value(slices)) =
            (&kernel.run_delay_ns, &kernel.timeslices)
        else {
            return None;
        };
        (delay_ns, turns) = (delay_ns + delay, turns + slices);
    }
    (turns > 0).then(|| delay_ns / turns)
}
