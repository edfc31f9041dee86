//! The stand-in for schbench: its flags, its lines on stderr and its JSON, run by schedload.
//!
//! Must not know: how its command line is read (`compat::schbench`), what its lines look like
//! (`compat::schbench_lines`).

mod numbers;
mod rate;

use self::numbers::{Last, Meter};
use self::rate::{Next, Search, Tried, Why};
use crate::base::Reading;
use crate::cli::document::Document;
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::progress::Line;
use crate::cli::run::{checked, ended, measure_with, say_faults};
use crate::cli::sink::{self, Sink};
use crate::cli::stand_in::{self, say};
use crate::cli::{outputs, program};
use crate::compat::schbench::{self, Options, Request, UsageError};
use crate::host::Host;
use crate::plan::{Overrides, Plan};
use crate::profile::{Profile, catalogue};
use crate::record::Recording;
use crate::record::recording::{End, Series};
use crate::report::Report;
use crate::run::{Control, Tell};
use crate::sys::signal::{self, Stopping};
use std::cell::RefCell;
use std::ffi::OsString;
use std::process::ExitCode;

/// `schedload-schbench`; `args` begin with the program's name.
pub fn schbench_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    program(args, |args| run(&stand_in::words(args)))
}

fn run(args: &[String]) -> Result<Exit, Error> {
    let refused = |error: UsageError| Error::CompatUsage(error.to_string());
    let mut options = match schbench::parse(args.get(1..).unwrap_or_default()).map_err(refused)? {
        Request::Help => {
            sink::stdout(&schbench::help())?;
            return Ok(Exit::Done);
        }
        Request::Run(options) => *options,
    };
    let host = Host::read()?;
    let bench = Bench::new(&host, &options)?;
    // What is wrong is told before a rate is looked for.
    let plan = bench.plan(&options, options.runtime_s)?;
    let _stopping = Stopping::catch().map_err(Error::Signals)?;
    let (theirs, ours) = (options.json.as_deref(), options.added.value("report-json"));
    outputs::apart(&[("-j", theirs), ("--report-json", ours)]).map_err(Error::CompatUsage)?;
    let mut theirs = theirs.map(Sink::open).transpose()?;
    let mut ours = ours.map(Sink::open).transpose()?;
    options.remarks(&host.allowed).iter().for_each(|line| say(line));
    let plan = match options.auto_rps {
        None => plan,
        Some(percent) => match bench.rate(&options, percent)? {
            Sought::Rate(rps) => {
                options.rps = rps;
                bench.plan(&options, options.runtime_s)?
            }
            Sought::Ended(exit) => return Ok(exit),
        },
    };
    let (recording, seconds) = bench.measure(&plan, &options)?;
    let exit = ended(&recording.end);
    let last = Last::of(&plan, &options, &recording, seconds);
    say(&last.text());
    let report = Report::judge(&plan, &host, &[recording]);
    let exit = exit.worse(checked(&report));
    say_faults(&report);
    if let Some(sink) = &mut theirs {
        sink.finish(&last.json(&options, &report, &args.join(" ")))?;
    }
    let document = Document::One(Box::new(report));
    if options.added.has("report") {
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

/// The profile on this host.
struct Bench<'a> {
    host: &'a Host,
    profile: Profile,
    seed: Option<u64>,
    line: Line,
}

/// What came of looking for a rate.
enum Sought {
    Rate(u64),
    /// A run of it did not go through.
    Ended(Exit),
}

impl Bench<'_> {
    fn new<'a>(host: &'a Host, options: &Options) -> Result<Bench<'a>, Error> {
        let (line, seed) = (stand_in::line(&options.added), stand_in::seed(&options.added)?);
        Ok(Bench { host, profile: catalogue::load("schbench")?, seed, line })
    }

    fn plan(&self, options: &Options, seconds: u64) -> Result<Plan, Error> {
        let overrides = Overrides {
            params: options.params(&self.host.allowed),
            duration: Some(format!("{seconds}s")),
            warmup: Some(format!("{}s", options.warmup_s)),
            seed: self.seed,
            allow_single_node: false,
        };
        stand_in::plan(&self.profile, self.host, &overrides)
    }

    /// The run, with its reports on the way, and the requests that ended in each of its seconds.
    fn measure(&self, plan: &Plan, options: &Options) -> Result<(Recording, Vec<u64>), Error> {
        self.line.title("schbench".to_string());
        let meter = RefCell::new(Meter::default());
        let each_second = |series: &[Series]| {
            if let Some(text) = meter.borrow_mut().second(plan, options, series) {
                say(&text);
            }
        };
        let each_second: Option<&Tell<'_>> = match options.pipe() {
            0 => Some(&each_second),
            _ => None,
        };
        let control = Control { each_second, ..Control::default() };
        let recording = measure_with(plan, self.host, &self.line, control)?;
        let mut meter = meter.into_inner();
        // The window's last second ends with it, and nobody was told.
        if options.pipe() == 0
            && (meter.seconds.len() as u64) < recording.window_ns / numbers::S
            && let Some(text) = meter.second(plan, options, &recording.series)
        {
            say(&text);
        }
        Ok((recording, meter.seconds))
    }

    /// The rate at which the CPUs are busy for so much of their time, found in runs of a second.
    fn rate(&self, options: &Options, percent: u64) -> Result<Sought, Error> {
        let mut options = Options { warmup_s: 0, ..options.clone() };
        let mut search = Search::new(percent as f64 / 100.0);
        loop {
            self.line.title(format!("schbench at {} requests a second", options.rps));
            let plan = self.plan(&options, 1)?;
            let recording = measure_with(&plan, self.host, &self.line, Control::default())?;
            if recording.end != End::TimeUp {
                let exit = ended(&recording.end);
                say_faults(&Report::judge(&plan, self.host, &[recording]));
                return Ok(Sought::Ended(exit));
            }
            // One that came after the run had ended by itself.
            if let Some(signal) = signal::stop_signal() {
                return Ok(Sought::Ended(Exit::Interrupted(signal)));
            }
            match search.after(tried(&plan, self.host, &recording, options.rps)?) {
                Next::Try(rps) => options.rps = rps,
                Next::Keep(rps, busy, why) => {
                    say(&remark(rps, busy, why));
                    return Ok(Sought::Rate(rps));
                }
            }
        }
    }
}

/// What a run at a rate showed.
fn tried(plan: &Plan, host: &Host, recording: &Recording, rps: u64) -> Result<Tried, Error> {
    let busy = match &recording.busy {
        Reading::Value(busy) => busy,
        Reading::Absent(absence) => return Err(Error::NoRate(absence.reason.clone())),
    };
    let allowed = busy.iter().filter(|(cpu, _)| host.allowed.contains(*cpu));
    let (n, sum) = allowed.fold((0u32, 0.0), |(n, sum), (_, share)| (n + 1, sum + share));
    let messages = || recording.tasks.iter().map(|task| &task.messages);
    let sent: u64 = messages().map(|it| it.sent.window).sum();
    let received: u64 = messages().map(|it| it.received.window).sum();
    // By chance some wait, at each worker or of those that came.
    let waiting = plan.n_tasks().max(sent / 10);
    Ok(Tried {
        rps,
        busy: sum / f64::from(n.max(1)),
        at_most: (sent.saturating_sub(received) > waiting).then_some(received),
    })
}

/// What is to be known of a rate that is not as it was to be.
fn remark(rps: u64, busy: f64, why: Why) -> String {
    let busy = format!("with the CPUs {:.0} % busy", busy * 100.0);
    match why {
        Why::Near => String::new(),
        Why::NoMore => format!("note: workers get no more than {rps} rps through, {busy}\n"),
        Why::Nearest => format!("note: {rps} rps is the nearest rate that was found, {busy}\n"),
    }
}
