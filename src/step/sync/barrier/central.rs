//! What barriers of one count have in common: tickets, and the number of rounds that are complete.
//!
//! Must not know: which kind it is; [`Patience`] says how it waits.

use super::super::slip::{self, Slip};
use super::super::waiting::{self, ALL, Patience, reached};
use super::super::{Hitch, Passed, Scope, Visit, Visitor, Wait};
use super::Opening;
use crate::plain;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

plain! {
    struct State {
        arrivals: Arrivals,
        rounds: Rounds,
    }
}

plain! {
    /// Written by everybody who comes.
    struct Arrivals {
        tickets: AtomicU64,
    }
}

plain! {
    /// What those who wait look at, written once in a round by the last who comes.
    struct Rounds {
        /// Rounds that are complete; goes round.
        complete: AtomicU32,
        sleepers: AtomicU32,
        slip: Slip,
    }
}

pub(super) struct Central<'a> {
    state: &'a State,
    parties: u64,
    patience: Patience,
    scope: Scope,
}

pub(super) fn state_bytes(_parties: u32) -> usize {
    size_of::<State>()
}

impl<'a> Central<'a> {
    pub(super) fn new(opening: &Opening<'a>, patience: Patience) -> Central<'a> {
        let state = opening.shared.at(opening.offset);
        Central { state, parties: opening.parties.into(), patience, scope: opening.scope }
    }

    #[inline]
    pub(super) fn pass(
        &self,
        visit: &mut Visit,
        visitor: &mut impl Visitor,
    ) -> Result<Passed, Hitch> {
        let wanted = match visit.pending {
            Some(wanted) => wanted as u32,
            None => {
                // Tickets of a round are all given before the first of the next, also where there
                // are more tasks than parties.
                let ticket = self.state.arrivals.tickets.fetch_add(1, AcqRel);
                let wanted = (ticket / self.parties + 1) as u32;
                if ticket % self.parties == self.parties - 1 {
                    self.complete(wanted, visitor)?;
                    return Ok(Passed { wait: Wait::Open, led: self.parties as u32 });
                }
                visit.pending = Some(wanted.into());
                wanted
            }
        };
        let wait = self.wait(wanted, visit, visitor)?;
        (visit.pending, visit.slept) = (None, false);
        Ok(Passed { wait, led: 0 })
    }

    /// Ends round number `wanted`, and with it any before.
    fn complete(&self, wanted: u32, visitor: &mut impl Visitor) -> Result<(), Hitch> {
        let rounds = &self.state.rounds;
        let mut now = rounds.complete.load(Relaxed);
        // SeqCst against `sleepers`, see `waiting::sleep`.
        while !reached(now, wanted) {
            match rounds.complete.compare_exchange_weak(now, wanted, SeqCst, Relaxed) {
                Ok(_) => break,
                Err(other) => now = other,
            }
        }
        if rounds.sleepers.load(SeqCst) == 0 {
            return Ok(());
        }
        // Whoever sleeps is woken after this, and reads it before it can come to the next round.
        slip::put(&rounds.slip, visitor.note(), wanted);
        waiting::wake(&rounds.complete, ALL, self.scope)
    }

    fn wait(&self, wanted: u32, visit: &mut Visit, visitor: &impl Visitor) -> Result<Wait, Hitch> {
        let rounds = &self.state.rounds;
        let done = || reached(rounds.complete.load(Acquire), wanted);
        if !visit.slept && waiting::spin(self.patience, visitor, done)? {
            return Ok(Wait::Spun);
        }
        let done = |now| reached(now, wanted);
        waiting::sleep(&rounds.complete, &rounds.sleepers, self.scope, visit, done)?;
        Ok(match visit.slept {
            true => Wait::Slept(slip::take(&rounds.slip, wanted)),
            false => Wait::Spun,
        })
    }
}
