//! Stands in for hackbench of rt-tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    schedload::run::leader::enter_if_asked();
    schedload::cli::hackbench_main(std::env::args_os())
}
