//! Stands in for schbench.

use std::process::ExitCode;

fn main() -> ExitCode {
    schedload::run::leader::enter_if_asked();
    schedload::cli::schbench_main(std::env::args_os())
}
