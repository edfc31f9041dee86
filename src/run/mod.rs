//! The only floor that starts threads and processes: from a [`Plan`] to a [`Recording`].
//!
//! ```text
//! coordinator  make the memory, open the channels, create the tasks      (crew.rs, leader.rs)
//!              everybody is ready at the gate; open it                   (gate.rs)
//! tasks        do their steps, recording as they go                      (worker.rs)
//! coordinator  warm-up, window, stop; reap; gather                       (coordinator.rs)
//! ```
//!
//! Threads run in the calling process. A profile with processes goes through a leader: this program
//! again, which forks the tasks and reaps them. Must not know: reports, what is printed.

mod areas;
mod cgroups;
mod charges;
mod claims;
mod coordinator;
mod cost;
mod crew;
mod door;
mod failure;
mod flow;
mod gate;
pub mod leader;
mod leftovers;
mod meet;
mod program;
mod residence;
mod roster;
mod sampler;
mod seconds;
mod stage;
mod using;
mod visitors;
mod watch;
mod worker;

use crate::host::{self, Host};
use crate::plan::Plan;
use crate::record::Recording;
use crate::record::recording::{Failure, Series};
use crate::sys::Errno;
use crate::sys::clock::Source;

/// What is done with the histograms of a run that goes on.
pub type Tell<'a> = dyn Fn(&[Series]) + 'a;

/// How a run is watched and what the coordinating thread does besides.
#[derive(Default)]
pub struct Control<'a> {
    /// Called by the coordinating thread some ten times a second. Without it that thread sleeps
    /// through the run, but for looks at regions of memory, and whether anybody can go on.
    pub progress: Option<&'a dyn Fn(Progress)>,
    /// Called by the coordinating thread when another second of the window has passed, with the
    /// histograms as they are then.
    pub each_second: Option<&'a Tell<'a>>,
    /// Makes the coordinating thread SCHED_FIFO of this priority once all tasks are ready.
    pub coordinator_fifo: Option<u8>,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// So many tasks are ready at the gate.
    Starting {
        ready: u64,
        of: u64,
    },
    Warmup {
        passed_ns: u64,
        of_ns: u64,
    },
    /// `of_ns` is `None` when the run ends with its teams' steps.
    Window {
        passed_ns: u64,
        of_ns: Option<u64>,
    },
    Stopping,
}

/// Why there is nothing to report.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunError {
    #[error("{what}: {errno}")]
    System { what: String, errno: Errno },
    /// A region of memory could not be had, or not as it is to be.
    #[error("placing region `{region}`: {call}: {errno}{}", failure::meaning(.call, *.errno))]
    Region { region: String, call: String, errno: Errno },
    /// The cgroup of an instance could not be made or entered.
    #[error("{what}: {errno}")]
    Cgroup { what: String, errno: Errno },
    /// A task could not be made ready: its attributes, or that it exists at all.
    #[error("{}: {}: {}", .0.team, .0.call, .0.error)]
    Start(Failure),
    /// A task ended before it was ready, by no doing of ours.
    #[error("a task of team {} before the run began: {}", .0.team, .0.error)]
    Killed(Failure),
    #[error(
        "this profile needs processes, which are forked by a leader: call \
         schedload::run::leader::enter_if_asked() first thing in main, or run it as threads"
    )]
    NoLeader,
    #[error("the leader process ended before the run did: {0}")]
    LeaderEnded(String),
    /// A signal (its number) came before the window began.
    #[error("stopped by signal {0} before anything was measured")]
    Interrupted(i32),
}

impl RunError {
    fn system(what: impl Into<String>) -> impl FnOnce(Errno) -> RunError {
        let what = what.into();
        move |errno| RunError::System { what, errno }
    }

    fn cgroup(what: impl Into<String>) -> impl FnOnce(Errno) -> RunError {
        let what = what.into();
        move |errno| RunError::Cgroup { what, errno }
    }
}

/// Runs a plan on this machine, which must be the one it was made for.
///
/// Blocks until all tasks have ended. A task that fails ends the run early; what was measured until
/// then is in the recording, marked as such.
///
/// # Errors
///
/// When the run could not begin, or nothing is left of it.
///
/// # Examples
///
/// ```
/// use schedload::{Host, Plan, Profile, plan::Overrides, profile::Source, run};
///
/// let text = r#"
///     about = "two threads, one token"
///     [channel.ball]
///     kind = "futex"
///     [team.server]
///     size = 1
///     steps = [ { repeat = 100, steps = [ { send = "ball" } ] } ]
///     [team.player]
///     size = 1
///     steps = [ { repeat = 100, steps = [ { receive = "ball" } ] } ]
/// "#;
/// let profile = Profile::parse("two", Source { text: text.to_owned(), ..Source::default() })?;
/// let host = Host::read()?;
/// let plan = Plan::new(&profile, &host, &Overrides::default())?;
/// let recording = run::run(&plan, &host, &run::Control::default())?;
/// let received: u64 = recording.tasks.iter().map(|task| task.messages.received.total()).sum();
/// assert_eq!(received, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(plan: &Plan, host: &Host, control: &Control<'_>) -> Result<Recording, RunError> {
    let source = match host::cycle_counter_trusted(host).value() {
        Some(()) => Source::Counter,
        None => Source::Monotonic,
    };
    coordinator::run(plan, source, control)
}

#[cfg(test)]
mod tests;
