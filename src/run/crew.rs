//! Tasks of a copy, and threads for them.
//!
//! Must not know: the window, what ends a run.

use super::areas::Areas;
use super::program::Channels;
use super::stage::Stage;
use super::worker::Worker;
use crate::plan::Form;
use crate::sys::Errno;
use crate::sys::thread::Crew;

/// Room for a worker, its signal frames, and the files of /proc that it reads at its end. Messages
/// are not on the stack.
const STACK_BYTES: usize = 64 << 10;

/// The tasks of a copy that have this form, in the order of the profile.
pub(super) fn workers<'a>(
    stage: &Stage<'a>,
    copy: u32,
    channels: &'a Channels<'a>,
    areas: &'a Areas,
    form: Form,
) -> Vec<Worker<'a>> {
    let teams = stage.plan.teams.iter().enumerate();
    let members = |(team, size)| (0..size).map(move |me| (team, me));
    teams
        .filter(|(_, team)| team.form == form)
        .map(|(team, team_plan)| (team, team_plan.size))
        .flat_map(members)
        .map(|(team, me)| stage.worker(copy, team, me, channels, areas))
        .collect()
}

/// Starts a thread for each, in order, but for those that steps start.
///
/// # Errors
///
/// What pthread_create gave; those started before go on.
pub(super) fn start<'a>(crew: &mut Crew<'a>, workers: &'a mut [Worker<'_>]) -> Result<(), Errno> {
    let (at_gate, spawned): (Vec<_>, Vec<_>) =
        workers.iter_mut().partition(|worker| worker.gate.is_some());
    // First, since the gate opens as soon as all are there who wait at it.
    spawned.into_iter().for_each(|worker| crew.plant(worker.task, STACK_BYTES, worker));
    at_gate.into_iter().try_for_each(|worker| crew.spawn(STACK_BYTES, worker))
}
