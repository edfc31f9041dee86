//! What the stand-ins for other programs have in common: their arguments, the options that
//! schedload adds to each, and what they say of a profile that their users never see.
//!
//! Must not know: which program it is, what its lines look like.

use crate::cli::error::Error;
use crate::cli::progress::{Line, Show};
use crate::compat::getopt::Added;
use crate::host::Host;
use crate::plan::{Overrides, Plan, PlanError};
use crate::profile::{Faults, Profile};
use std::ffi::OsString;
use std::io::{self, Write};

/// The arguments as text.
pub fn words(args: &[OsString]) -> Vec<String> {
    args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect()
}

/// What `--seed` says.
pub fn seed(added: &Added) -> Result<Option<u64>, Error> {
    let number = |text: &str| {
        let why = format!("`{text}` of option `--seed` is not a whole number");
        text.parse().map_err(|_| Error::CompatUsage(why))
    };
    added.value("seed").map(number).transpose()
}

/// The plan of the profile that does what the program does; a parameter out of its range is a bad
/// command line.
pub fn plan(profile: &Profile, host: &Host, overrides: &Overrides) -> Result<Plan, Error> {
    match Plan::new(profile, host, overrides) {
        Err(PlanError::Faults(faults)) => Err(Error::CompatUsage(messages(&faults))),
        plan => Ok(plan?),
    }
}

/// What is wrong, without the place in a profile.
fn messages(faults: &Faults) -> String {
    let each = faults.list.iter().map(|fault| fault.message.as_str());
    each.collect::<Vec<_>>().join("; ")
}

/// The line of progress, unless `--quiet` was given.
pub fn line(added: &Added) -> Line {
    Line::new(if added.has("quiet") { Show::Never } else { Show::OnTerminal })
}

/// To stderr. As for every diagnostic: where that is closed there is nobody to tell.
pub fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
