//! Why a command ended early, in words and as an exit code.
//!
//! Must not know: how an error is printed.

use crate::cli::exit::Exit;
use crate::cli::sink::WriteError;
use crate::host::HostError;
use crate::output::OutputError;
use crate::plan::PlanError;
use crate::profile::catalogue::LoadError;
use crate::report::ReportError;
use crate::run::RunError;
use crate::sys::Errno;
use std::io;
use std::path::PathBuf;

/// What can go wrong between the command line and the last line of output.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A usage error in clap's own form; also its help and version, which are no errors.
    #[error("{0}")]
    Clap(#[from] clap::Error),
    #[error("{0}")]
    Usage(String),
    /// What a stand-in for another program refuses.
    #[error("{0}")]
    CompatUsage(String),
    #[error(transparent)]
    Profile(#[from] LoadError),
    #[error("can not read `{}`: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The machine we run on.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The machine that the user made up.
    #[error("{0}")]
    Topology(HostError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("how busy the CPUs are is not known, so no rate can be found: {0}; give one as --rps")]
    NoRate(String),
    #[error("catching SIGINT and SIGTERM: {0}")]
    Signals(Errno),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("`{}` is no stored report: {error}", path.display())]
    NoReport { path: PathBuf, error: ReportError },
    #[error("can not put the {what} into JSON: {error}")]
    Json { what: &'static str, error: serde_json::Error },
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl Error {
    pub fn exit(&self) -> Exit {
        match self {
            Error::Clap(error) if !error.use_stderr() => Exit::Done,
            Error::Write(WriteError::Closed) => Exit::Done,
            Error::Clap(_)
            | Error::Usage(_)
            | Error::Profile(_)
            | Error::Read { .. }
            | Error::Topology(_)
            | Error::NoReport { .. }
            | Error::Plan(PlanError::Faults(_)) => Exit::Usage,
            Error::CompatUsage(_) => Exit::CompatUsage,
            Error::Host(_) | Error::NoRate(_) | Error::Plan(PlanError::Host(_)) => Exit::HostCannot,
            Error::Run(RunError::Interrupted(signal)) => Exit::Interrupted(*signal),
            Error::Run(RunError::Start(_) | RunError::Region { .. } | RunError::Cgroup { .. }) => {
                Exit::HostCannot
            }
            Error::Run(RunError::System { errno, .. }) if is_shortage(*errno) => Exit::HostCannot,
            Error::Run(_)
            | Error::Signals(_)
            | Error::Write(_)
            | Error::Json { .. }
            | Error::Report(_)
            | Error::Output(_) => Exit::Failed,
        }
    }
}

/// Whether the system had too little of something, or did not allow it.
fn is_shortage(errno: Errno) -> bool {
    let shortages = [
        libc::EAGAIN,
        libc::EMFILE,
        libc::ENFILE,
        libc::ENOMEM,
        libc::EPERM,
        libc::EACCES,
        // No loopback interface, as in a network namespace of its own.
        libc::ENETUNREACH,
        libc::EADDRNOTAVAIL,
    ];
    shortages.contains(&errno.0)
}
