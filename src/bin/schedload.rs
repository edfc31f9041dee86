//! The front door: every profile, and everything about them.

use std::process::ExitCode;

fn main() -> ExitCode {
    schedload::run::leader::enter_if_asked();
    schedload::cli::main(std::env::args_os())
}
