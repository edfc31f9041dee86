//! `schedload run`: plan every point, run every repeat, store after each, print at the end.
//!
//! What can be found wrong is found before anything runs: the profile, the host's limits, files
//! that cannot be written. Must not know: how a task is made or a report judged.

use crate::cli::document::Document;
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::outputs::Outputs;
use crate::cli::progress::{Line, Show};
use crate::cli::sink::WriteError;
use crate::cli::sweep::{self, Sweep};
use crate::cli::{complain, param};
use crate::host::Host;
use crate::plan::{Overrides, Plan};
use crate::profile::Profile;
use crate::record::Recording;
use crate::record::recording::End;
use crate::report::Report;
use crate::run::{Control, Progress};
use crate::sys::signal::{self, Stopping};
use clap::ArgMatches;

/// What the flags of a run ask for, not yet checked against a machine.
pub struct Order {
    pub overrides: Overrides,
    pub repeat: u32,
    pub sweep: Option<Sweep>,
}

/// A plan of a sweep and what titles it, or the only plan.
struct Point {
    title: String,
    plan: Plan,
}

pub fn run(matches: &ArgMatches, profile: &Profile) -> Result<Exit, Error> {
    let order = Order::read(matches, profile)?;
    let host = Host::read()?;
    let points = order.points(profile, &host)?;
    can_be_drawn(matches, &order, &points)?;
    // From here on a signal ends the run and not the program, so that nothing is left behind.
    let _stopping = Stopping::catch().map_err(Error::Signals)?;
    let mut outputs = Outputs::open(matches)?;
    let mut session = Session {
        host: &host,
        repeat: order.repeat,
        show: outputs.progress(),
        sweep: order.sweep.as_ref().map(|sweep| sweep.name.as_str()),
        reports: Vec::new(),
    };
    let exit = session.run(&points, &mut outputs);
    // What was measured is shown whatever ended it.
    let shown = match session.document() {
        Some(document) => outputs.finish(&document),
        None => Ok(()),
    };
    let exit = exit?;
    session.reports.iter().for_each(say_faults);
    match shown {
        Err(Error::Write(WriteError::Closed)) | Ok(()) => Ok(exit),
        Err(error) => Err(error),
    }
}

/// Refuses `--plot` where nothing would be drawn, before hours are spent on it.
fn can_be_drawn(matches: &ArgMatches, order: &Order, points: &[Point]) -> Result<(), Error> {
    if !matches.contains_id("plot") {
        return Ok(());
    }
    let why = match &order.sweep {
        Some(sweep) => format!("`{}` is swept: run one point at a time", sweep.name),
        None => match points.iter().find(|point| point.plan.memory.is_empty()) {
            Some(point) => format!("profile `{}` uses no memory: leave it out", point.plan.profile),
            None => return Ok(()),
        },
    };
    Err(Error::Usage(format!("--plot draws where tasks and pages were over time, and {why}")))
}

/// One run, with its progress on a terminal.
pub fn measure(plan: &Plan, host: &Host, line: &Line) -> Result<Recording, Error> {
    measure_with(plan, host, line, Control::default())
}

/// The same, with something else for the coordinating thread to do.
pub fn measure_with(
    plan: &Plan,
    host: &Host,
    line: &Line,
    control: Control<'_>,
) -> Result<Recording, Error> {
    let draw = |progress| line.draw(progress);
    let progress: Option<&dyn Fn(Progress)> = match line.is_shown() {
        true => Some(&draw),
        false => None,
    };
    let control = Control { progress, ..control };
    Ok(crate::run::run(plan, host, &control)?)
}

impl Order {
    fn read(matches: &ArgMatches, profile: &Profile) -> Result<Order, Error> {
        let overrides = overrides(matches, profile);
        let sweep =
            matches.get_one::<String>("sweep").map(|text| Sweep::parse(text)).transpose()?;
        if let Some(sweep) = &sweep {
            sweep.check(profile, &overrides.params)?;
        }
        Ok(Order { overrides, repeat: matches.get_one("repeat").copied().unwrap_or(1), sweep })
    }

    /// All plans, so that a fault of the last point is found before the first one runs.
    fn points(&self, profile: &Profile, host: &Host) -> Result<Vec<Point>, Error> {
        let Some(sweep) = &self.sweep else {
            let plan = Plan::new(profile, host, &self.overrides)?;
            return Ok(vec![Point { title: plan.profile.clone(), plan }]);
        };
        let point = |value: &String| {
            let mut overrides = self.overrides.clone();
            overrides.params.push((sweep.name.clone(), value.clone()));
            let title = format!("{} {}={value}", profile.name, sweep.name);
            Ok(Point { title, plan: Plan::new(profile, host, &overrides)? })
        };
        sweep.points(profile, host)?.iter().map(point).collect()
    }
}

/// What the command line sets of a plan.
pub fn overrides(matches: &ArgMatches, profile: &Profile) -> Overrides {
    Overrides {
        params: param::given(matches, profile),
        duration: matches.get_one("duration").cloned(),
        warmup: matches.get_one("warmup").cloned(),
        seed: matches.get_one("seed").copied(),
        allow_single_node: matches.get_flag("allow-single-node"),
    }
}

/// The runs of one command.
struct Session<'a> {
    host: &'a Host,
    repeat: u32,
    show: Show,
    /// The parameter that is swept.
    sweep: Option<&'a str>,
    /// One for each point that has been begun.
    reports: Vec<Report>,
}

impl Session<'_> {
    fn run(&mut self, points: &[Point], outputs: &mut Outputs) -> Result<Exit, Error> {
        let mut exit = Exit::Done;
        for point in points {
            let ended = self.point(point, outputs)?;
            exit = exit.worse(ended);
            if stops(ended) {
                break;
            }
        }
        Ok(exit)
    }

    /// All repeats of one plan.
    fn point(&mut self, point: &Point, outputs: &mut Outputs) -> Result<Exit, Error> {
        let line = Line::new(self.show);
        for repeat in 0..self.repeat {
            line.title(match self.repeat {
                1 => point.title.clone(),
                n => format!("{} run {} of {n}", point.title, repeat + 1),
            });
            let recording = measure(&point.plan, self.host, &line)?;
            let end = ended(&recording.end);
            match self.reports.last_mut() {
                Some(report) if repeat > 0 => report.add(&point.plan, self.host, &recording),
                _ => self.reports.push(Report::judge(&point.plan, self.host, &[recording])),
            }
            outputs.save(&|| self.document())?;
            if stops(end) {
                return Ok(end);
            }
            // One that came after the run had ended by itself.
            if let Some(signal) = signal::stop_signal() {
                return Ok(Exit::Interrupted(signal));
            }
        }
        Ok(self.reports.last().map_or(Exit::Done, checked))
    }

    /// Everything so far; nothing before the first run has ended.
    fn document(&self) -> Option<Document> {
        let reports = self.reports.clone();
        match self.sweep {
            Some(name) if !reports.is_empty() => {
                Some(Document::Sweep(sweep::Document::new(name, reports)))
            }
            Some(_) => None,
            None => reports.into_iter().next_back().map(|report| Document::One(Box::new(report))),
        }
    }
}

/// Whether nothing more is run after this.
fn stops(exit: Exit) -> bool {
    matches!(exit, Exit::Failed | Exit::Interrupted(_))
}

/// How a run ended, as an exit code.
pub fn ended(end: &End) -> Exit {
    match end {
        End::Done | End::TimeUp => Exit::Done,
        End::Interrupted(signal) => Exit::Interrupted(*signal),
        End::Failed(_) | End::LeaderGone(_) | End::Stalled(_) => Exit::Failed,
    }
}

/// Whether the numbers may be trusted.
pub fn checked(report: &Report) -> Exit {
    match report.broken().next() {
        Some(_) => Exit::CheckBroke,
        None => Exit::Done,
    }
}

/// Says on stderr what makes a run's numbers doubtful or missing, for those who only read that.
pub fn say_faults(report: &Report) {
    for run in &report.runs {
        if let end @ ("failed" | "stalled") = run.end.as_str() {
            let detail = run.end_detail.as_deref().unwrap_or("for an unknown reason");
            complain(&format!("error: run {} {end}: {detail}", run.run));
        }
        for check in run.checks.iter().filter(|check| !check.ok) {
            complain(&format!(
                "error: run {} is not to be trusted: {}: {}",
                run.run, check.name, check.detail
            ));
        }
    }
}
