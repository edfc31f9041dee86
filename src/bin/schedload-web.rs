//! The web profile as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    schedload::run::leader::enter_if_asked();
    schedload::cli::profile_main("web", std::env::args_os())
}
