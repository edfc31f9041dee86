//! Tasks of an address space, and threads for them.
//!
//! Must not know: the window, what ends a run.

use super::areas::Areas;
use super::program::Channels;
use super::stage::Stage;
use super::worker::Worker;
use crate::plan::{Form, Space};
use crate::sys::Errno;
use crate::sys::thread::Crew;

/// Room for a worker, its signal frames, and the files of /proc that it reads at its end. Messages
/// are not on the stack.
const STACK_BYTES: usize = 64 << 10;

/// The tasks of an address space that have this form, prepared one by one: copy by copy, in the
/// order of the profile. `channels` are those of its copies.
pub(super) fn workers<'a, 'b>(
    stage: &'b Stage<'a>,
    space: &'b Space,
    channels: &'a [Channels<'a>],
    areas: &'a Areas,
    form: Form,
) -> impl Iterator<Item = Worker<'a>> + use<'a, 'b> {
    let plan = stage.plan;
    space.copies.clone().zip(channels).flat_map(move |(copy, channels)| {
        let teams = space.teams.iter().filter(move |team| plan.teams[**team].form == form);
        teams.flat_map(move |&team| {
            let members = 0..plan.teams[team].size;
            members.map(move |me| stage.worker(copy, team, me, channels, areas))
        })
    })
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
