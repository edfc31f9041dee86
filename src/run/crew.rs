//! Tasks as threads of this process.
//!
//! Must not know: the window, what ends a run.

use super::program::Channels;
use super::stage::Stage;
use super::worker::Worker;
use crate::plan::Form;
use crate::sys::Errno;
use crate::sys::thread::Crew;

/// Room for a worker, its signal frames, and the files of /proc that it reads at its end. Messages
/// are not on the stack.
const STACK_BYTES: usize = 64 << 10;

/// The thread teams of a copy, in the order of the profile.
pub(super) fn workers<'a>(
    stage: &Stage<'a>,
    copy: u32,
    channels: &'a Channels<'a>,
    workers: &mut Vec<Worker<'a>>,
) {
    for (team, team_plan) in stage.plan.teams.iter().enumerate() {
        if team_plan.form == Form::Threads {
            workers.extend((0..team_plan.size).map(|me| stage.worker(copy, team, me, channels)));
        }
    }
}

/// Starts a thread for each, in order.
///
/// # Errors
///
/// What pthread_create gave; those started before go on.
pub(super) fn start<'a>(crew: &mut Crew<'a>, workers: &'a mut [Worker<'_>]) -> Result<(), Errno> {
    workers
        .iter_mut()
        .try_for_each(|worker| crew.spawn(STACK_BYTES, worker))
}
