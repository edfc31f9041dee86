//! Flags between neighbours, as in the sweeps of NAS LU: each task waits only for the one before
//! it and the one behind it in a ring, so that a delay travels instead of stopping all.
//!
//! Must not know: tasks farther away.

use super::super::slip::{self, Slip};
use super::super::waiting::{self, ALL, Patience, Then, reached};
use super::super::{Hitch, Passed, Scope, Visit, Visitor, Wait};
use super::{Barrier, Form, Opening};
use crate::plain;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, SeqCst};

plain! {
    /// Written by its member.
    struct Flag {
        /// Rounds that it has come to; goes round.
        rounds: AtomicU32,
        /// Neighbours that sleep on it.
        sleepers: AtomicU32,
        /// By parity of the round: its member can be a round ahead of who reads, not two.
        slips: [Slip; 2],
    }
}

pub(super) struct Neighbour<'a> {
    flags: &'a [Flag],
    patience: Patience,
    scope: Scope,
}

pub(super) fn state_bytes(parties: u32) -> usize {
    parties as usize * size_of::<Flag>()
}

pub(super) fn open<'a>(opening: &Opening<'a>) -> Barrier<'a> {
    Barrier(Form::Neighbour(Neighbour {
        flags: opening.shared.slice(opening.offset, opening.parties as usize),
        patience: Patience { spins: opening.spins, then: Then::Sleep },
        scope: opening.scope,
    }))
}

impl Neighbour<'_> {
    pub(super) fn pass(
        &self,
        visit: &mut Visit,
        visitor: &mut impl Visitor,
    ) -> Result<Passed, Hitch> {
        let n = self.flags.len();
        let me = visit.me as usize % n;
        let round = (visit.rounds as u32).wrapping_add(1);
        if visit.pending.is_none() {
            visit.pending = Some(round.into());
            self.raise(&self.flags[me], round, visitor)?;
        }
        let mut wait = Wait::Open;
        let before = if me == 0 { n } else { me } - 1;
        let behind = if me + 1 == n { 0 } else { me + 1 };
        for other in [before, behind] {
            match self.wait(&self.flags[other], round, visit, visitor)? {
                Wait::Open => {}
                Wait::Spun if wait == Wait::Open => wait = Wait::Spun,
                Wait::Spun => {}
                slept => wait = slept,
            }
        }
        visit.rounds += 1;
        (visit.pending, visit.slept) = (None, false);
        Ok(Passed { wait, led: 1 })
    }

    fn raise(&self, own: &Flag, round: u32, visitor: &mut impl Visitor) -> Result<(), Hitch> {
        // SeqCst against `sleepers`, see `waiting::sleep`.
        own.rounds.store(round, SeqCst);
        if own.sleepers.load(SeqCst) == 0 {
            return Ok(());
        }
        slip::put(&own.slips[round as usize % 2], visitor.note(), round);
        waiting::wake(&own.rounds, ALL, self.scope)
    }

    fn wait(
        &self,
        flag: &Flag,
        round: u32,
        visit: &mut Visit,
        visitor: &impl Visitor,
    ) -> Result<Wait, Hitch> {
        let done = || reached(flag.rounds.load(Acquire), round);
        if done() {
            return Ok(Wait::Open);
        }
        if waiting::spin(self.patience, visitor, done)? {
            return Ok(Wait::Spun);
        }
        // Of the two it may have slept on the other.
        visit.slept = false;
        let done = |now| reached(now, round);
        waiting::sleep(&flag.rounds, &flag.sleepers, self.scope, visit, done)?;
        Ok(match visit.slept {
            true => Wait::Slept(slip::take(&flag.slips[round as usize % 2], round)),
            false => Wait::Spun,
        })
    }
}
