//! The profiles numa01 to numa10 as one program: the first argument says which.

use std::process::ExitCode;

fn main() -> ExitCode {
    schedload::run::leader::enter_if_asked();
    schedload::cli::variants_main("numa", std::env::args_os())
}
