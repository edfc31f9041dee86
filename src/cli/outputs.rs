//! Where the flags of a run send its report: `--json`, `--format`, `--out`, `--plot`,
//! `--quiet`.
//!
//! Must not know: what is run.

use crate::cli::document::Document;
use crate::cli::error::Error;
use crate::cli::progress::Show;
use crate::cli::sink::Sink;
use crate::output::{self, Format, Options};
use clap::ArgMatches;
use std::io;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// Everything that is written of a run.
pub struct Outputs {
    json: Option<Sink>,
    /// The report in the format asked for.
    report: Option<Sink>,
    /// The timeline as a picture.
    plot: Option<Sink>,
    format: &'static Format,
    options: Options,
    show: Show,
    saves: Saves,
}

/// Keeps storing after every run from taking more time than the runs.
#[derive(Default)]
struct Saves {
    last: Option<(Instant, Duration)>,
}

/// Whether each of these flags, where given, has a file of its own.
pub fn apart(flags: &[(&str, Option<&str>)]) -> Result<(), String> {
    for (at, (one, file)) in flags.iter().enumerate() {
        let same = flags[..at].iter().find(|(_, other)| file.is_some() && other == file);
        if let (Some((other, _)), Some(file)) = (same, file) {
            return Err(format!(
                "{other} and {one} both write to `{file}`; give one of them another file"
            ));
        }
    }
    Ok(())
}

impl Outputs {
    /// Opens what is to be written, so that an unwritable file is found before anything runs.
    pub fn open(matches: &ArgMatches) -> Result<Outputs, Error> {
        let path = |name: &str| matches.get_one::<String>(name).map(String::as_str);
        let (json, out, plot) = (path("json"), path("out"), path("plot"));
        let flags = [("--json", json), ("--out", out), ("--plot", plot)];
        apart(&flags).map_err(Error::Usage)?;
        let quiet = matches.get_flag("quiet");
        let report = match out {
            Some(out) => Some(out),
            None if quiet || json == Some("-") || plot == Some("-") => None,
            None => Some("-"),
        };
        let (json, report) =
            (json.map(Sink::open).transpose()?, report.map(Sink::open).transpose()?);
        Ok(Outputs {
            options: options(matches, report.as_ref()),
            json,
            report,
            plot: plot.map(Sink::open).transpose()?,
            format: format(matches)?,
            show: if quiet { Show::Never } else { Show::OnTerminal },
            saves: Saves::default(),
        })
    }

    pub fn progress(&self) -> Show {
        self.show
    }

    /// Stores what there is so far, so that a crash later on loses nothing of it.
    pub fn save(&mut self, document: &dyn Fn() -> Option<Document>) -> Result<(), Error> {
        let stored = |sink: &&mut Sink| sink.is_stored();
        let json = self.json.as_mut().filter(stored);
        let report = self.report.as_mut().filter(stored);
        if (json.is_none() && report.is_none()) || !self.saves.due() {
            return Ok(());
        }
        let begun = Instant::now();
        let Some(document) = document() else {
            return Ok(());
        };
        if let Some(json) = json {
            json.save(&document.json()?)?;
        }
        if let Some(report) = report {
            report.save(&document.render(self.format, &self.options)?)?;
        }
        self.saves.last = Some((Instant::now(), begun.elapsed()));
        Ok(())
    }

    /// Writes the whole: all sinks are tried, the first failure is returned.
    pub fn finish(&mut self, document: &Document) -> Result<(), Error> {
        let json = match &mut self.json {
            Some(sink) => document.json().and_then(|text| Ok(sink.finish(&text)?)),
            None => Ok(()),
        };
        let report = match &mut self.report {
            Some(sink) => {
                document.render(self.format, &self.options).and_then(|text| Ok(sink.finish(&text)?))
            }
            None => Ok(()),
        };
        let plot = match &mut self.plot {
            Some(sink) => document.plot().and_then(|picture| Ok(sink.finish(&picture)?)),
            None => Ok(()),
        };
        json.and(report).and(plot)
    }
}

impl Saves {
    /// A save that takes long is put off until ten times that has passed; the last always comes.
    fn due(&self) -> bool {
        match self.last {
            Some((at, took)) if took > Duration::from_millis(20) => at.elapsed() > 10 * took,
            _ => true,
        }
    }
}

/// The row that `--format` names.
pub fn format(matches: &ArgMatches) -> Result<&'static Format, Error> {
    let name = matches.get_one::<String>("format").map_or("text", String::as_str);
    named(name)
}

fn named(name: &str) -> Result<&'static Format, Error> {
    output::find(name).ok_or_else(|| Error::Usage(format!("no format is called `{name}`")))
}

/// The document as text of the default width.
pub fn text(document: &Document) -> Result<String, Error> {
    document.render(named("text")?, &Options::default())
}

/// Of the terminal, as far as the text can make use of it; `None` without one.
fn terminal_width() -> Option<usize> {
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(usize::from(columns).clamp(*WIDTHS.start(), *WIDTHS.end()))
}

/// How wide text is on a terminal: what it needs at least, and what people read at most.
const WIDTHS: RangeInclusive<usize> = output::NARROWEST..=120;

/// How the text is drawn that goes there.
pub fn options(matches: &ArgMatches, to: Option<&Sink>) -> Options {
    let width = match matches.get_one::<u16>("width") {
        Some(&width) => Some(usize::from(width)),
        None => to.filter(|sink| sink.is_stdout()).and_then(|_| terminal_width()),
    };
    width.map_or(Options::default(), |width| Options { width })
}
