//! What a command prints or stores: one report, or the reports of a sweep.
//!
//! Must not know: where it goes.

use crate::cli::error::Error;
use crate::cli::sweep;
use crate::output::{self, Format, Options, OutputError};
use crate::report::{Report, ReportError};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// Reports to be shown together.
pub enum Document {
    One(Box<Report>),
    Sweep(sweep::Document),
}

impl Document {
    /// Reads a stored document.
    pub fn from_json(text: &str) -> Result<Document, ReportError> {
        let sweep = matches!(serde_json::from_str(text), Ok(Kind { sweep: Some(_) }));
        match sweep {
            true => serde_json::from_str(text).map(Document::Sweep).map_err(ReportError::Json),
            false => Ok(Document::One(Box::new(Report::from_json(text)?))),
        }
    }

    pub fn json(&self) -> Result<String, Error> {
        match self {
            Document::One(report) => Ok(report.to_json()?),
            Document::Sweep(document) => json("sweep", document),
        }
    }

    /// In the given format; a sweep in text is a table, in other formats one report after another.
    pub fn render(&self, format: &Format, options: &Options) -> Result<String, Error> {
        let sweep = match self {
            Document::One(report) => return Ok((format.render)(report, options)?),
            Document::Sweep(document) => &document.sweep,
        };
        match format.name {
            "json" => self.json(),
            "text" => Ok(sweep::table(sweep, options.width)),
            _ => {
                let each = sweep.points.iter();
                let each: Result<Vec<String>, OutputError> =
                    each.map(|report| (format.render)(report, options)).collect();
                Ok(each?.join("\n"))
            }
        }
    }
}

impl Document {
    /// The timeline of where tasks and pages were, as SVG.
    pub fn plot(&self) -> Result<String, Error> {
        let picture = match self {
            Document::One(report) => output::timeline_svg(report),
            Document::Sweep(_) => None,
        };
        picture.ok_or_else(|| {
            let why = "--plot draws where tasks and pages were over time, and this run has no such \
                       timeline: its profile has no memory, or it is a sweep";
            Error::Usage(why.to_owned())
        })
    }
}

/// Tells a sweep from a report, whatever their versions.
#[derive(Deserialize)]
struct Kind {
    sweep: Option<IgnoredAny>,
}

/// A value as JSON for people and programs alike, with its last newline.
pub fn json(what: &'static str, value: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|error| Error::Json { what, error })?;
    Ok(text + "\n")
}
