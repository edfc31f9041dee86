//! The stand-in for rt-tests' hackbench: its flags and its three lines, run by schedload.
//!
//! The lines are hackbench's own, so that `grep ^Time:` keeps working; a run that did not go
//! through has no Time line. Must not know: how its command line is read (`compat::hackbench`).

use crate::cli::document::Document;
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::run::{checked, ended, measure_with, say_faults};
use crate::cli::sink::{self, Sink};
use crate::cli::{outputs, program, stand_in};
use crate::compat::hackbench::{self, Fifo, Options, Request, UsageError};
use crate::host::Host;
use crate::plan::{Overrides, Plan};
use crate::profile::catalogue;
use crate::record::Recording;
use crate::report::Report;
use crate::run::Control;
use crate::sys::signal::Stopping;
use std::ffi::OsString;
use std::process::ExitCode;

/// `schedload-hackbench`; `args` begin with the program's name.
pub fn hackbench_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    program(args, |args| hackbench(stand_in::words(args).get(1..).unwrap_or_default()))
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
    let host = Host::read()?;
    let plan = stand_in::plan(&catalogue::load("hackbench")?, &host, &overrides(&options)?)?;
    let _stopping = Stopping::catch().map_err(Error::Signals)?;
    let mut json = options.added.value("json").map(Sink::open).transpose()?;
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
    if options.added.has("report") {
        lines.write(&outputs::text(&document)?)?;
    }
    if let Some(json) = &mut json {
        json.finish(&document.json()?)?;
    }
    Ok(exit)
}

fn measure(plan: &Plan, host: &Host, options: &Options) -> Result<Recording, Error> {
    let line = stand_in::line(&options.added);
    line.title("hackbench".to_string());
    let coordinator_fifo = match options.fifo {
        Fifo::Coordinator => Some(1),
        Fifo::AsInherited => None,
    };
    let control = Control { coordinator_fifo, ..Control::default() };
    measure_with(plan, host, &line, control)
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
                stand_in::say(text);
                Ok(())
            }
        }
    }
}

fn overrides(options: &Options) -> Result<Overrides, Error> {
    let text = |name| options.added.value(name).map(str::to_string);
    Ok(Overrides {
        params: options.params(),
        duration: text("duration"),
        warmup: text("warmup"),
        seed: stand_in::seed(&options.added)?,
        allow_single_node: false,
    })
}
