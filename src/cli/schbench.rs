//! The stand-in for schbench: its flags, its lines on stderr and its JSON, run by schedload.
//!
//! Must not know: how its command line is read (`compat::schbench`), what its lines look like
//! (`compat::schbench_lines`).

use crate::base::Reading;
use crate::cli::document::Document;
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::hackbench::{messages, seed};
use crate::cli::progress::{Line, Show};
use crate::cli::run::{checked, ended, measure_with, say_faults};
use crate::cli::sink::{self, Sink};
use crate::cli::{outputs, program, words};
use crate::compat::schbench::{self, Options, Request, UsageError};
use crate::compat::schbench_lines::{self as lines, Header, OF_LATENCIES, OF_RPS, Samples};
use crate::host::Host;
use crate::plan::{Overrides, Plan, PlanError};
use crate::profile::catalogue;
use crate::record::Recording;
use crate::record::recording::{Series, SeriesKind, TaskRecord};
use crate::report::{Histogram, Report};
use crate::run::Control;
use crate::sys::signal::Stopping;
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

const S: u64 = 1_000_000_000;

/// `schedload-schbench`; `args` begin with the program's name.
pub fn schbench_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    program(args, |args| run(&words(args)))
}

fn run(args: &[String]) -> Result<Exit, Error> {
    let refused = |error: UsageError| Error::CompatUsage(error.to_string());
    let options = match schbench::parse(args.get(1..).unwrap_or_default()).map_err(refused)? {
        Request::Help => {
            sink::stdout(&schbench::help())?;
            return Ok(Exit::Done);
        }
        Request::Run(options) => *options,
    };
    let profile = catalogue::load("schbench")?;
    let host = Host::read()?;
    let plan = match Plan::new(&profile, &host, &overrides(&options, &host)?) {
        // Of this program's user, a parameter out of its range is a bad command line.
        Err(PlanError::Faults(faults)) => return Err(Error::CompatUsage(messages(&faults))),
        plan => plan?,
    };
    let _stopping = Stopping::catch().map_err(Error::Signals)?;
    let mut theirs = options.json.as_deref().map(Sink::open).transpose()?;
    let mut ours = options.added("report-json").flatten().map(Sink::open).transpose()?;
    if options.threads.is_none() {
        let threads = options.threads(host.allowed.len() as u64);
        say(&format!("setting worker threads to {threads}\n"));
    }
    let (recording, seconds) = measure(&plan, &host, &options)?;
    let exit = ended(&recording.end);
    let last = Last::of(&plan, &recording, seconds);
    say(&last.text());
    let report = Report::judge(&plan, &host, &[recording]);
    let exit = exit.worse(checked(&report));
    say_faults(&report);
    if let Some(sink) = &mut theirs {
        sink.finish(&last.json(&options, &report, &args.join(" ")))?;
    }
    let document = Document::One(Box::new(report));
    if options.added("report").is_some() {
        let text = outputs::text(&document)?;
        match [&theirs, &ours].iter().any(|sink| sink.as_ref().is_some_and(Sink::is_stdout)) {
            true => say(&text),
            false => sink::stdout(&text)?,
        }
    }
    if let Some(sink) = &mut ours {
        sink.finish(&document.json()?)?;
    }
    Ok(exit)
}

/// Where schbench writes. As for every diagnostic: where stderr is closed there is nobody to tell.
fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

fn overrides(options: &Options, host: &Host) -> Result<Overrides, Error> {
    let seed = seed(options.added("seed").flatten())?;
    Ok(Overrides {
        params: options.params(&host.allowed),
        duration: Some(format!("{}s", options.runtime_s)),
        warmup: Some(format!("{}s", options.warmup_s)),
        seed,
        allow_single_node: false,
    })
}

/// The run, with its reports on the way, and the requests that ended in each of its seconds.
fn measure(plan: &Plan, host: &Host, options: &Options) -> Result<(Recording, Vec<u64>), Error> {
    let line = Line::new(match options.added("quiet") {
        Some(_) => Show::Never,
        None => Show::OnTerminal,
    });
    line.title("schbench".to_string());
    let meter = RefCell::new(Meter::default());
    let each_second = |series: &[Series]| {
        if let Some(text) = meter.borrow_mut().second(plan, options, series) {
            say(&text);
        }
    };
    let control = Control { each_second: Some(&each_second), ..Control::default() };
    let recording = measure_with(plan, host, &line, control)?;
    Ok((recording, meter.into_inner().seconds))
}

/// What was counted until some second of the window.
#[derive(Default)]
struct Meter {
    seconds: Vec<u64>,
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
    fn second(&mut self, plan: &Plan, options: &Options, series: &[Series]) -> Option<String> {
        let (wakeups, requests) = (wakeups(plan, series), measured(plan, series, "request"));
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
struct Last {
    runtime_s: u64,
    wakeups: Samples,
    requests: Samples,
    seconds: Samples,
    average: f64,
    delays: [Option<u64>; 2],
}

impl Last {
    fn of(plan: &Plan, recording: &Recording, mut seconds: Vec<u64>) -> Last {
        let requests = measured(plan, &recording.series, "request");
        let whole_s = recording.window_ns / S;
        // The end of the last second is that of the window.
        let before: u64 = seconds.iter().sum();
        if (seconds.len() as u64) < whole_s {
            seconds.push(requests.count() - before.min(requests.count()));
        }
        let delay = |team: &str| {
            let number = plan.teams.iter().position(|it| it.name == team);
            delay(recording.tasks.iter().filter(|task| Some(task.team) == number))
        };
        Last {
            runtime_s: whole_s,
            wakeups: sampled(&wakeups(plan, &recording.series)),
            seconds: Samples::numbers(&seconds),
            average: requests.count() as f64 * S as f64 / recording.window_ns.max(1) as f64,
            requests: sampled(&requests),
            delays: [delay("message"), delay("worker")],
        }
    }

    fn text(&self) -> String {
        let latencies =
            |label, samples| lines::block(label, "usec", self.runtime_s, samples, &OF_LATENCIES);
        latencies("Wakeup Latencies", &self.wakeups)
            + &latencies("Request Latencies", &self.requests)
            + &lines::block("RPS", "requests", self.runtime_s, &self.seconds, &OF_RPS)
            + &format!("average rps: {:.2}\n", self.average)
            + &lines::delays(self.delays[0], self.delays[1])
    }

    fn json(&self, options: &Options, report: &Report, cmdline: &str) -> String {
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
        let series = [
            ("wakeup_latency", &self.wakeups),
            ("request_latency", &self.requests),
            ("rps", &self.seconds),
        ];
        lines::json(&header, time_s, self.runtime_s, &series)
    }
}

fn sampled(histogram: &Histogram) -> Samples {
    let extremes = histogram.min().zip(histogram.max());
    Samples::times(histogram.counts().to_vec(), extremes)
}

/// Wakeup latencies as schbench has them: from when the message thread took the list. With `rps`
/// there is no list, and they are those of workers that slept.
fn wakeups(plan: &Plan, series: &[Series]) -> Histogram {
    let batches = measured(plan, series, "message_batch_wait");
    if batches.count() > 0 {
        return batches;
    }
    of_workers(plan, series, |kind| matches!(kind, SeriesKind::Wakeup { .. }))
}

fn measured(plan: &Plan, series: &[Series], name: &str) -> Histogram {
    of_workers(
        plan,
        series,
        |kind| matches!(kind, SeriesKind::Measure { name: it, .. } if it == name),
    )
}

fn of_workers(plan: &Plan, series: &[Series], is_it: impl Fn(&SeriesKind) -> bool) -> Histogram {
    let mut all = Histogram::default();
    let workers = plan.teams.iter().position(|team| team.name == "worker");
    for one in series.iter().filter(|one| Some(one.team) == workers && is_it(&one.kind)) {
        all.add_series(one);
    }
    all
}

/// How long these tasks waited for a CPU in each of their turns, on average (ns).
fn delay<'a>(tasks: impl Iterator<Item = &'a TaskRecord>) -> Option<u64> {
    let (mut delay_ns, mut turns) = (0, 0);
    for TaskRecord { kernel, .. } in tasks {
        let (Reading::Value(delay), Reading::Value(slices)) =
            (&kernel.run_delay_ns, &kernel.timeslices)
        else {
            return None;
        };
        (delay_ns, turns) = (delay_ns + delay, turns + slices);
    }
    (turns > 0).then(|| delay_ns / turns)
}
