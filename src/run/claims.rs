//! Who writes, before the run, what steps need to find in memory: the way of a chase, STREAM's
//! numbers.
//!
//! A way is written by one task for all that go it: two at once would leave a tangle of both, with
//! shorter cycles. STREAM's numbers are the same whoever writes them. Must not know: how they are
//! written.

use super::using::Using;
use crate::plan::{Op, Plan, Sharing, Slice};
use std::collections::HashMap;

/// A region and which of its slices; `None` is all of it.
pub(super) type Place = (u32, Option<u64>);

/// For each place that is chased, in each process that has it for itself: the team and its member
/// who write the way.
pub(super) struct Claims(HashMap<(usize, Place), (usize, u32)>);

/// The place of a step for a member.
pub(super) fn place(slice: &Slice, me: u32) -> Place {
    (slice.region, slice.number(me))
}

/// The process whose own region it is to a team; 0 for all that share it.
fn owner(plan: &Plan, team: usize, region: u32) -> usize {
    match plan.memory[region as usize].sharing {
        Sharing::Process => plan.process_of(team),
        Sharing::Instance | Sharing::All => 0,
    }
}

impl Claims {
    pub(super) fn of(plan: &Plan) -> Claims {
        let mut claims = HashMap::new();
        // Those that a step starts would come too late for those that are at the gate.
        let (late, early): (Vec<usize>, Vec<usize>) =
            (0..plan.teams.len()).partition(|team| plan.teams[*team].spawned);
        for team in early.into_iter().chain(late) {
            for op in &plan.teams[team].ops {
                let Op::Use(it) = op else { continue };
                if it.verb != "chase" || plan.is_own(team, it.at.region as usize) {
                    continue;
                }
                let owner = owner(plan, team, it.at.region);
                for me in 0..plan.teams[team].size {
                    claims.entry((owner, place(&it.at, me))).or_insert((team, me));
                }
            }
        }
        Claims(claims)
    }

    /// Whether a member writes what a step of its needs to find.
    pub(super) fn is_for(
        &self,
        plan: &Plan,
        (copy, team, me): (u32, usize, u32),
        using: &Using<'_>,
    ) -> bool {
        let place @ (region, slice) = using.place;
        if plan.is_own(team, region as usize) {
            return true;
        }
        let first = match plan.memory[region as usize].sharing {
            Sharing::All => copy == 0,
            Sharing::Instance => plan.is_first_in_instance(copy),
            Sharing::Process => plan.is_first_in_space(copy),
        };
        first
            && match using.is_chase() {
                true => self.0.get(&(owner(plan, team, region), place)) == Some(&(team, me)),
                false => slice.is_some() || me == 0,
            }
    }
}
