//! Which profile a command line is about, found before its flags can be read.
//!
//! The flags of a profile's parameters exist only once it is loaded, so PROFILE is looked for with
//! the flags that every profile has. Must not know: profiles.

use clap::{Arg, Command};
use std::ffi::OsString;

/// `None` where there is none, or something that clap will find fault with.
pub fn profile(command: &Command, args: &[OsString]) -> Option<String> {
    let mut args = args.iter().skip(1).map(OsString::as_os_str);
    let subcommand = args.next()?.to_str()?;
    if !["run", "plan"].contains(&subcommand) {
        return None;
    }
    let flags: Vec<&Arg> = command.find_subcommand(subcommand)?.get_arguments().collect();
    while let Some(arg) = args.next() {
        let text = arg.to_str()?;
        if text == "--" {
            return args.next()?.to_str().map(str::to_string);
        }
        if !text.starts_with('-') || text == "-" {
            return Some(text.to_string());
        }
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        // What is not known here has no known number of values either: clap will refuse it.
        let flag = flags.iter().find(|flag| is(flag, name))?;
        if flag.get_action().takes_values() && name == text {
            args.next()?;
        }
    }
    None
}

/// Whether `text` is this flag, without a value.
fn is(flag: &Arg, text: &str) -> bool {
    match text.strip_prefix("--") {
        Some(long) => flag.get_long() == Some(long),
        None => text.strip_prefix('-').is_some_and(|rest| {
            let mut letters = rest.chars();
            letters.next() == flag.get_short() && letters.next().is_none()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    #[test]
    fn finds_the_profile_behind_flags() {
        let check = |line: &str, expected: Option<&str>| {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let wanted = profile(&command::schedload(), &args);
            assert_eq!(wanted.as_deref(), expected, "for {line}");
        };
        check("schedload run hackbench", Some("hackbench"));
        check("schedload run --duration 10s hackbench -g 3", Some("hackbench"));
        check("schedload run --duration=10s -q ./a.toml", Some("./a.toml"));
        check("schedload plan --topology pu:2 pingpong", Some("pingpong"));
        check("schedload plan --json -- pingpong", Some("pingpong"));
        check("schedload run", None);
        check("schedload run --help", None);
        check("schedload run --repeat", None);
        check("schedload run --groups 3 hackbench", None);
        check("schedload run -g3 hackbench", None);
        check("schedload show hackbench", None);
        check("schedload", None);
    }
}
