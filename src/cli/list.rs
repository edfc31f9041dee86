//! `schedload list` and `schedload show`: what there is, from the rows that define it.
//!
//! Must not know: any name that a row has.

use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::{param, sink};
use crate::profile::catalogue::{self, BUILTINS};
use crate::profile::{Faults, Param, Profile};
use crate::step::{channel, sync, work};
use crate::{metric, output};
use clap::ArgMatches;

/// One line of a list.
struct Line {
    name: String,
    about: String,
}

pub fn list(matches: &ArgMatches) -> Result<Exit, Error> {
    let topic = matches.get_one::<String>("topic").map_or("profiles", String::as_str);
    let lines = match topic {
        "channels" => channels(),
        "sync" => sync_kinds(),
        "work" => work_kinds(),
        "metrics" => metrics(),
        "formats" => formats(),
        _ => profiles()?,
    };
    sink::stdout(&columns(&lines))?;
    Ok(Exit::Done)
}

pub fn show(matches: &ArgMatches) -> Result<Exit, Error> {
    let name = matches.get_one::<String>("PROFILE").map_or("", String::as_str);
    let profile = catalogue::load(name)?;
    let text = match matches.get_flag("params") {
        true => columns(&params(&profile)),
        false => profile.source.text,
    };
    sink::stdout(&text)?;
    Ok(Exit::Done)
}

fn line(name: impl Into<String>, about: impl Into<String>) -> Line {
    Line { name: name.into(), about: about.into() }
}

fn profiles() -> Result<Vec<Line>, Error> {
    let about = |profile: Profile| line(profile.name, profile.about);
    let lines: Result<Vec<Line>, Faults> =
        BUILTINS.iter().map(|builtin| builtin.profile().map(about)).collect();
    Ok(lines.map_err(catalogue::LoadError::from)?)
}

fn params(profile: &Profile) -> Vec<Line> {
    let about =
        |param: &Param| format!("{} [default {}]", param.about, param::range(param, profile));
    profile.params.iter().map(|param| line(&param.name, about(param))).collect()
}

fn channels() -> Vec<Line> {
    let about = |kind: &channel::Kind| match kind.processes {
        true => kind.about.to_string(),
        false => format!("{} (threads only)", kind.about),
    };
    channel::KINDS.iter().map(|kind| line(kind.name, about(kind))).collect()
}

/// The kinds of each sort of sync object.
fn sync_kinds() -> Vec<Line> {
    sync::rows().map(|row| line(row.name, row.about)).collect()
}

fn work_kinds() -> Vec<Line> {
    work::KINDS.iter().map(|kind| line(kind.name, kind.about)).collect()
}

fn metrics() -> Vec<Line> {
    let about = |row: &metric::Metric| match row.better.words() {
        "" => format!("{} [{}]", row.about, row.unit),
        better => format!("{} [{}, {better}]", row.about, row.unit),
    };
    metric::METRICS.iter().map(|row| line(row.key, about(row))).collect()
}

fn formats() -> Vec<Line> {
    output::FORMATS.iter().map(|format| line(format.name, format.about)).collect()
}

/// Names to the left, what they are beside them.
fn columns(lines: &[Line]) -> String {
    let width = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or_default();
    lines.iter().map(|line| format!("{:width$}  {}\n", line.name, line.about)).collect()
}
