//! The stand-in for rt-tests' hackbench: its flags and its three lines, run by schedload.
//!
//! The lines are hackbench's own, so that `grep ^Time:` keeps working; a run that did not go
//! through has no Time line. Must not know: how its command line is read (`compat::hackbench`).

use crate::cli::document::Document;
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::progress::{Line, Show};
use crate::cli::run::{checked, ended, measure_with, say_faults};
use crate::cli::sink::{self, Sink};
use crate::cli::{outputs, program, words};
use crate::compat::hackbench::{self, Fifo, Options, Request, UsageError};
use crate::host::Host;
use crate::plan::{Overrides, Plan, PlanError};
use crate::profile::{Faults, catalogue};
use crate::record::Recording;
use crate::report::Report;
use crate::run::Control;
use crate::sys::signal::Stopping;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

/// `schedload-hackbench`; `args` begin with the program's name.
pub fn hackbench_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    program(args, |args| hackbench(words(args).get(1..).unwrap_or_default()))
}

fn hackbench(args: &[String]) -> Result<Exit, Error> {
    let refused = |error: UsageError| Error::CompatUsage(error.to_string());
    let options = match hackbench::parse(args).map_err(refused)? {
        Request::Help => {
            sink::stdout(&hackbench::help())?;
            return Ok(Exit::Done);
        }
        Request::Run(options) => options,
    };
    let profile = catalogue::load("hackbench")?;
    let host = Host::read()?;
    let plan = match Plan::new(&profile, &host, &overrides(&options)?) {
        // Of this program's user, a parameter out of its range is a bad command line.
        Err(PlanError::Faults(faults)) => return Err(Error::CompatUsage(messages(&faults))),
        plan => plan?,
    };
    let _stopping = Stopping::catch().map_err(Error::Signals)?;
    let mut json = options.added("json").flatten().map(Sink::open).transpose()?;
    let lines = match &json {
        Some(sink) if sink.is_stdout() => Lines::Stderr,
        _ => Lines::Stdout,
    };
    lines.write(&options.banner())?;
    let recording = measure(&plan, &host, &options)?;
    let exit = ended(&recording.end);
    if exit == Exit::Done {
        lines.write(&hackbench::time_line(recording.elapsed_ns))?;
    }
    let report = Report::judge(&plan, &host, &[recording]);
    let exit = exit.worse(checked(&report));
    say_faults(&report);
    let document = Document::One(Box::new(report));
    if options.added("report").is_some() {
        lines.write(&outputs::text(&document)?)?;
    }
    if let Some(json) = &mut json {
        json.finish(&document.json()?)?;
    }
    Ok(exit)
}

fn measure(plan: &Plan, host: &Host, options: &Options) -> Result<Recording, Error> {
    let line = Line::new(match options.added("quiet") {
        Some(_) => Show::Never,
        None => Show::OnTerminal,
    });
    line.title("hackbench".to_string());
    let coordinator_fifo = match options.fifo {
        Fifo::Coordinator => Some(1),
        Fifo::AsInherited => None,
    };
    let control = Control { coordinator_fifo, ..Control::default() };
    measure_with(plan, host, &line, control)
}

/// What is wrong, without the place in a profile that this program's user never sees.
pub(super) fn messages(faults: &Faults) -> String {
    let each = faults.list.iter().map(|fault| fault.message.as_str());
    each.collect::<Vec<_>>().join("; ")
}

/// Where hackbench's lines and the report go: stdout, unless the JSON document has that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lines {
    Stdout,
    Stderr,
}

impl Lines {
    fn write(self, text: &str) -> Result<(), Error> {
        match self {
            Lines::Stdout => Ok(sink::stdout(text)?),
            Lines::Stderr => {
                // As for every diagnostic: where stderr is closed there is nobody to tell.
                let _ = io::stderr().write_all(text.as_bytes());
                Ok(())
            }
        }
    }
}

/// What a stand-in's own option `--seed` says.
pub(super) fn seed(text: Option<&str>) -> Result<Option<u64>, Error> {
    let number = |text: &str| {
        let why = format!("`{text}` of option `--seed` is not a whole number");
        text.parse().map_err(|_| Error::CompatUsage(why))
    };
    text.map(number).transpose()
}

fn overrides(options: &Options) -> Result<Overrides, Error> {
    let text = |name| options.added(name).flatten();
    let seed = seed(text("seed"))?;
    Ok(Overrides {
        params: options.params(),
        duration: text("duration").map(str::to_string),
        warmup: text("warmup").map(str::to_string),
        seed,
        allow_single_node: false,
    })
}
