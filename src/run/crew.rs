//! Tasks of an address space, and threads for them.
//!
//! Must not know: the window, what ends a run.

use super::areas::Areas;
use super::program::Channels;
use super::stage::Stage;
use super::worker::Worker;
use crate::plan::{Form, Plan, Space};
use crate::record::gather::TaskId;
use crate::sys::Errno;
use crate::sys::thread::Crew;

/// Room for a worker, its signal frames, and the files of /proc that it reads at its end. Messages
/// are not on the stack.
const STACK_BYTES: usize = 64 << 10;

/// Who is in an address space and has this form: copy by copy, in the order of the profile.
pub(super) fn members(plan: &Plan, space: &Space, form: Form) -> Vec<TaskId> {
    let mut members = Vec::new();
    for copy in space.copies.clone() {
        for &team in space.teams.iter().filter(|team| plan.teams[**team].form == form) {
            let indices = 0..plan.teams[team].size;
            members.extend(indices.map(|index| TaskId { team, copy, index }));
        }
    }
    members
}

/// Workers for members of an address space; `channels` are those of its copies.
pub(super) fn workers<'a>(
    stage: &Stage<'a>,
    members: &[TaskId],
    space: &Space,
    channels: &'a [Channels<'a>],
    areas: &'a Areas,
) -> Vec<Worker<'a>> {
    let of = |copy: u32| &channels[(copy - space.copies.start) as usize];
    members.iter().map(|&member| stage.worker(member, of(member.copy), areas)).collect()
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
