//! Tasks as threads of this process.
//!
//! Must not know: the window, what ends a run.

use super::program::Channels;
use super::stage::Stage;
use crate::plan::Form;
use crate::sys::Errno;
use crate::sys::thread::Crew;

/// Room for a worker, its signal frames, and the files of /proc that it reads at its end. Messages
/// are not on the stack.
const STACK_BYTES: usize = 64 << 10;

/// Starts the thread teams of a copy, in the order of the profile.
///
/// # Errors
///
/// What pthread_create gave, with the number of tasks started before.
pub(super) fn start<'a>(
    crew: &mut Crew<'a>,
    stage: &Stage<'a>,
    copy: u32,
    channels: &'a Channels<'a>,
) -> Result<(), Errno> {
    for (team, team_plan) in stage.plan.teams.iter().enumerate() {
        if team_plan.form == Form::Processes {
            continue;
        }
        for me in 0..team_plan.size {
            let worker = stage.worker(copy, team, me, channels);
            crew.spawn(STACK_BYTES, Box::new(move || worker.run()))?;
        }
    }
    Ok(())
}
