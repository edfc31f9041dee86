//! The command line: arguments in, text out, one exit code.
//!
//! [`main`] is the front door `schedload`, [`profile_main`] the programs of one profile, and
//! [`hackbench_main`] and [`schbench_main`] the stand-ins for hackbench and schbench. Results go to
//! stdout, errors and progress to stderr. Must not know: how anything is measured. Reading on:
//! `command.rs` for the flags, `run.rs` for what a run does.

mod command;
mod document;
mod doubts;
mod error;
mod exit;
mod hackbench;
mod host;
mod list;
mod outputs;
mod param;
mod plan;
mod points;
mod progress;
mod ramp;
mod report;
mod run;
mod schbench;
mod sink;
mod stand_in;
mod sweep;
mod wanted;

pub use exit::Exit;
pub use hackbench::hackbench_main;
pub use schbench::schbench_main;

use crate::base::nearest::nearest;
use crate::plan::PlanError;
use crate::profile::catalogue::{self, Builtin, LoadError};
use crate::profile::{Param, ParamValue, Profile};
use crate::sys::signal;
use clap::ArgMatches;
use error::Error;
use sink::WriteError;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// `schedload`; `args` begin with the program's name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    program(args, front_door)
}

/// `schedload-PROFILE`: what `schedload run PROFILE` does.
pub fn profile_main(profile: &str, args: impl IntoIterator<Item = OsString>) -> ExitCode {
    program(args, |args| standalone(profile, profile, args))
}

/// `schedload-PROFILE VARIANT`: what `schedload run VARIANT` does, where the words of a parameter
/// of the profile are profiles of their own. Without a VARIANT it is the profile itself.
pub fn variants_main(profile: &str, args: impl IntoIterator<Item = OsString>) -> ExitCode {
    program(args, |args| variants(profile, args))
}

fn variants(profile: &str, args: &[OsString]) -> Result<Exit, Error> {
    let variants = catalogue::find(profile).map(Builtin::variants).unwrap_or_default();
    let named = args.get(1).and_then(|arg| arg.to_str());
    let variant = named.filter(|arg| !arg.starts_with('-')).map(str::to_owned);
    let Some(variant) = variant else {
        return standalone(profile, profile, args);
    };
    if !variants.contains(&variant) {
        let known = variants.join(", ");
        let help = meant(&catalogue::load(profile)?, &variant, &variants);
        return Err(Error::Usage(format!("`{variant}` is none of {known}{help}")));
    }
    let mut args = args.to_vec();
    args.remove(1);
    standalone(profile, &variant, &args)
}

/// What a word may be that is no variant: of another parameter, or one of them mistyped.
fn meant(profile: &Profile, word: &str, variants: &[String]) -> String {
    let has = |param: &&Param| match &param.value {
        ParamValue::Word { choices, .. } => choices.iter().any(|choice| choice.word == word),
        ParamValue::Number { .. } => false,
    };
    let near = match profile.params.iter().find(has) {
        Some(param) => Some(format!("--{} {word}", param.name)),
        None => nearest(word, variants.iter().map(String::as_str)).map(str::to_owned),
    };
    near.map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}

fn front_door(args: &[OsString]) -> Result<Exit, Error> {
    // The flags of `run PROFILE` and `plan PROFILE` are known once PROFILE is.
    let wanted = wanted::profile(&command::schedload(), args);
    let profile = wanted.map(|name| catalogue::load(&name)).transpose()?;
    let flags = profile.as_ref().map(param::flags);
    let command = command::schedload_with(flags.unwrap_or_default());
    let matches = command.try_get_matches_from(args)?;
    match (matches.subcommand(), &profile) {
        (Some(("run", matches)), Some(profile)) => run::run(matches, profile),
        (Some(("plan", matches)), Some(profile)) => plan::plan(matches, profile),
        (Some((name, matches)), _) => other(name, matches),
        (None, _) => Err(Error::Usage("no subcommand; see --help".to_string())),
    }
}

fn other(name: &str, matches: &ArgMatches) -> Result<Exit, Error> {
    match name {
        "list" => list::list(matches),
        "show" => list::show(matches),
        "host" => host::host(matches),
        "report" => report::report(matches),
        "completions" => completions(matches),
        name => Err(Error::Usage(format!("subcommand `{name}` needs a PROFILE"))),
    }
}

/// The program of a profile, which may be run as a variant of it.
fn standalone(name: &str, profile: &str, args: &[OsString]) -> Result<Exit, Error> {
    let word = catalogue::find(name).and_then(|builtin| builtin.by_word);
    let word = word.filter(|_| profile == name);
    let profile = catalogue::load(profile)?;
    let flags = param::flags(&profile);
    let about = profile.about.clone();
    let command = command::standalone(format!("schedload-{name}"), about, flags, word);
    let matches = command.try_get_matches_from(args)?;
    run::run(&matches, &profile)
}

fn completions(matches: &ArgMatches) -> Result<Exit, Error> {
    let mut script = Vec::new();
    if let Some(&shell) = matches.get_one::<clap_complete::Shell>("shell") {
        clap_complete::generate(shell, &mut command::schedload(), "schedload", &mut script);
    }
    sink::stdout(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// What every program does with its arguments: says what went wrong and gives the exit code.
fn program(
    args: impl IntoIterator<Item = OsString>,
    run: impl FnOnce(&[OsString]) -> Result<Exit, Error>,
) -> ExitCode {
    signal::have_full_files_told();
    let args: Vec<OsString> = args.into_iter().collect();
    match run(&args) {
        Ok(exit) => exit.into(),
        Err(error) => {
            let exit = error.exit();
            say(&error);
            exit.into()
        }
    }
}

fn say(error: &Error) {
    match error {
        // Help to a closed pipe is nobody's failure, and stderr has no other place to complain.
        Error::Clap(error) => drop(error.print()),
        // These have a form of their own, which shows the place.
        Error::Profile(LoadError::Faulty(faults)) | Error::Plan(PlanError::Faults(faults)) => {
            complain(&faults.to_string());
        }
        Error::Plan(PlanError::Host(refusals)) => {
            refusals.iter().for_each(|refusal| complain(&format!("error: {refusal}")));
        }
        Error::Write(WriteError::Closed) => {}
        error => complain(&format!("error: {error}")),
    }
}

/// A diagnostic. Where stderr is closed there is nobody to tell.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
}
