//! Stopping the world, as a collector of garbage does: a mutator asks for a pause, all mutators
//! park where they next look, helpers wake and do their share, and the last of them lets all go.
//!
//! A mutator that is elsewhere has to come to its safepoint before the pause begins; one that has
//! ended no longer counts. Must not know: what helpers do, how long anything takes.

use super::slip::{self, Slip};
use super::waiting::{self, ALL};
use super::{Hitch, Note, Scope, Visit, Visitor, Wait};
use crate::plain;
use crate::sys::Shared;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// What it is, for lists.
pub const ABOUT: &str = "all mutators park when one asks, helpers do their share, all are let go";

plain! {
    /// What mutators look at: even while they run, odd from when a pause is asked for until its
    /// end; goes round.
    struct World {
        pauses: AtomicU32,
        sleepers: AtomicU32,
        /// Of who let them go.
        released: Slip,
    }
}

plain! {
    struct Count {
        /// Mutators that have parked in this pause, and above them those that have ended.
        mutators: AtomicU64,
        /// Helpers that have done their share of it.
        helpers: AtomicU32,
    }
}

plain! {
    /// What helpers wait for.
    struct Bell {
        /// Pauses in which all mutators have parked; goes round.
        parked: AtomicU32,
        sleepers: AtomicU32,
        /// Of who asked for the pause, and of who parked last.
        asked: Slip,
        last: Slip,
    }
}

/// One that has ended, in a count.
const ENDED: u64 = 1 << 32;

/// One safepoint of any number of mutators and helpers.
pub struct Safepoint<'a> {
    world: &'a World,
    count: &'a Count,
    bell: &'a Bell,
    mutators: u64,
    helpers: u32,
    scope: Scope,
}

/// The end of a pause, as the helper that ended it knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Mutators that were let go.
    pub released: u32,
    /// The notes of who asked for it, of who parked last, and of who let them go.
    pub asked: Option<Note>,
    pub parked: Option<Note>,
    pub ended: Note,
}

pub fn state_bytes() -> usize {
    size_of::<World>() + size_of::<Count>() + size_of::<Bell>()
}

/// How many have come or ended.
fn total(count: u64) -> u64 {
    (count >> 32) + (count & (ENDED - 1))
}

impl<'a> Safepoint<'a> {
    /// At an offset of zeroed shared memory.
    pub fn at(
        shared: &'a Shared,
        offset: usize,
        (mutators, helpers): (u32, u32),
        scope: Scope,
    ) -> Safepoint<'a> {
        let count = offset + size_of::<World>();
        Safepoint {
            world: shared.at(offset),
            count: shared.at(count),
            bell: shared.at(count + size_of::<Count>()),
            mutators: mutators.into(),
            helpers,
            scope,
        }
    }

    /// Whether a pause is asked for: what a mutator looks at as it goes.
    #[inline(always)]
    pub fn is_asked(&self) -> bool {
        self.world.pauses.load(Relaxed) & 1 == 1
    }

    /// Asks for a pause; whether nobody had yet.
    pub fn ask(&self, visitor: &mut impl Visitor) -> bool {
        let now = self.world.pauses.load(Acquire);
        if now & 1 == 1 {
            return false;
        }
        let note = visitor.note();
        let won = self.world.pauses.compare_exchange(now, now.wrapping_add(1), AcqRel, Relaxed);
        if won.is_ok() {
            // All helpers read it after all have parked, us among them.
            slip::put(&self.bell.asked, note, now.wrapping_add(1));
        }
        won.is_ok()
    }

    /// Parks a mutator until the end of the pause that was asked for, if one was; how many it let
    /// go itself, where there is nobody to help, is the second value.
    pub fn park(
        &self,
        visit: &mut Visit,
        visitor: &mut impl Visitor,
    ) -> Result<Option<(Wait, u32)>, Hitch> {
        let pause = match visit.pending {
            Some(pause) => pause as u32,
            None => {
                let pause = self.world.pauses.load(Acquire);
                if pause & 1 == 0 {
                    return Ok(None);
                }
                visit.pending = Some(pause.into());
                let count = self.count.mutators.fetch_add(1, AcqRel) + 1;
                if total(count) == self.mutators {
                    let released = self.all_parked(pause, visitor)?;
                    if released > 0 {
                        visit.pending = None;
                        return Ok(Some((Wait::Open, released)));
                    }
                }
                pause
            }
        };
        let World { pauses, sleepers, released } = self.world;
        waiting::sleep(pauses, sleepers, self.scope, visit, |now| now != pause)?;
        let wait = match visit.slept {
            true => Wait::Slept(slip::take(released, pause)),
            false => Wait::Spun,
        };
        (visit.pending, visit.slept) = (None, false);
        Ok(Some((wait, 0)))
    }

    /// A mutator has done its last step, in no pause; how many it let go itself, where all others
    /// had parked and there is nobody to help.
    pub fn leave(&self, visitor: &mut impl Visitor) -> Result<u32, Hitch> {
        let count = self.count.mutators.fetch_add(ENDED, AcqRel) + ENDED;
        let parked = count & (ENDED - 1);
        match parked > 0 && total(count) == self.mutators {
            true => self.all_parked(self.world.pauses.load(Acquire), visitor),
            false => Ok(0),
        }
    }

    /// Everybody is there: the helpers' turn. How many were let go, if there are no helpers.
    fn all_parked(&self, pause: u32, visitor: &mut impl Visitor) -> Result<u32, Hitch> {
        if self.helpers == 0 {
            return self.release(pause, visitor).map(|(released, _)| released);
        }
        slip::put(&self.bell.last, visitor.note(), pause);
        // SeqCst against `sleepers`, see `waiting::sleep`.
        self.bell.parked.fetch_add(1, SeqCst);
        if self.bell.sleepers.load(SeqCst) > 0 {
            waiting::wake(&self.bell.parked, ALL, self.scope)?;
        }
        Ok(0)
    }

    /// A helper waits until all mutators have parked.
    pub fn wait_parked(&self, visit: &mut Visit) -> Result<Wait, Hitch> {
        let served = visit.rounds as u32;
        let Bell { parked, sleepers, .. } = self.bell;
        waiting::sleep(parked, sleepers, self.scope, visit, |now| now != served)?;
        visit.rounds += 1;
        let pause = self.world.pauses.load(Acquire);
        Ok(match std::mem::take(&mut visit.slept) {
            true => Wait::Slept(slip::take(&self.bell.last, pause)),
            false => Wait::Spun,
        })
    }

    /// A helper has done its share; the last one ends the pause.
    pub fn done(&self, visitor: &mut impl Visitor) -> Result<Option<Ended>, Hitch> {
        let pause = self.world.pauses.load(Acquire);
        let count = self.count.helpers.fetch_add(1, AcqRel) + 1;
        if count < self.helpers {
            return Ok(None);
        }
        let asked = slip::take(&self.bell.asked, pause);
        let parked = slip::take(&self.bell.last, pause);
        let (released, ended) = self.release(pause, visitor)?;
        Ok(Some(Ended { released, asked, parked, ended }))
    }

    /// Lets all mutators go, and tells how many, and with which note.
    fn release(&self, pause: u32, visitor: &mut impl Visitor) -> Result<(u32, Note), Hitch> {
        self.count.helpers.store(0, Relaxed);
        let released = self.count.mutators.fetch_and(!(ENDED - 1), AcqRel) & (ENDED - 1);
        let note = visitor.note();
        slip::put(&self.world.released, note, pause);
        // SeqCst against `sleepers`, see `waiting::sleep`.
        self.world.pauses.store(pause.wrapping_add(1), SeqCst);
        if self.world.sleepers.load(SeqCst) > 0 {
            waiting::wake(&self.world.pauses, ALL, self.scope)?;
        }
        Ok((released as u32, note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Task;

    impl Visitor for Task {
        fn note(&mut self) -> [u64; 2] {
            [7, 8]
        }

        fn over(&self) -> bool {
            false
        }
    }

    const MUTATORS: u32 = 3;
    const ROUNDS: u64 = 300;

    /// Mutators that each ask once in a while and end at different times, and helpers that serve
    /// as long as there are any.
    fn world_stops(helpers: u32, scope: Scope) {
        let shared = Shared::create(state_bytes()).unwrap();
        let safepoint = Safepoint::at(&shared, 0, (MUTATORS, helpers), scope);
        let (running, stopped) = (AtomicU32::new(0), AtomicU32::new(0));
        let tids: [AtomicU32; 2] = Default::default();
        let (passes, released) = (AtomicU64::new(0), AtomicU64::new(0));
        crate::sys::signal::be_interruptible().unwrap();
        std::thread::scope(|threads| {
            let mutators: Vec<_> = (0..MUTATORS)
                .map(|me| {
                    let (safepoint, running, stopped) = (&safepoint, &running, &stopped);
                    let (passes, released) = (&passes, &released);
                    threads.spawn(move || {
                        let mut visit = Visit::new(me);
                        for round in 0..ROUNDS * u64::from(me + 1) {
                            running.fetch_add(1, SeqCst);
                            assert_eq!(stopped.load(SeqCst), 0, "nobody runs in a pause");
                            running.fetch_sub(1, SeqCst);
                            if round % 10 == u64::from(me) {
                                safepoint.ask(&mut Task);
                            }
                            if safepoint.is_asked() {
                                let parked = safepoint.park(&mut visit, &mut Task).unwrap();
                                passes.fetch_add(u64::from(parked.is_some()), SeqCst);
                                let led = parked.map_or(0, |(_, led)| led);
                                released.fetch_add(led.into(), SeqCst);
                            }
                        }
                        let led = safepoint.leave(&mut Task).unwrap();
                        released.fetch_add(led.into(), SeqCst);
                    })
                })
                .collect();
            let help: Vec<_> = (0..helpers)
                .map(|me| {
                    let (safepoint, running, stopped) = (&safepoint, &running, &stopped);
                    let (tid, released) = (&tids[me as usize], &released);
                    threads.spawn(move || {
                        tid.store(crate::sys::thread::ids().1, SeqCst);
                        let mut visit = Visit::new(me);
                        while safepoint.wait_parked(&mut visit).is_ok() {
                            stopped.fetch_add(1, SeqCst);
                            assert_eq!(running.load(SeqCst), 0, "all have parked");
                            stopped.fetch_sub(1, SeqCst);
                            if let Some(ended) = safepoint.done(&mut Task).unwrap() {
                                released.fetch_add(ended.released.into(), SeqCst);
                                assert_eq!(ended.asked, Some([7, 8]));
                                assert_eq!(ended.parked, Some([7, 8]));
                            }
                        }
                    })
                })
                .collect();
            mutators.into_iter().for_each(|mutator| mutator.join().unwrap());
            // Nobody asks any more, and a signal gets the helpers out.
            let pid = crate::sys::thread::ids().0;
            while help.iter().any(|helper| !helper.is_finished()) {
                let known = tids.iter().map(|tid| tid.load(SeqCst)).filter(|tid| *tid > 0);
                known.for_each(|tid| crate::sys::signal::interrupt(pid, tid));
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        let (passes, released) = (passes.into_inner(), released.into_inner());
        assert!(passes > 0);
        assert_eq!(passes, released, "everybody who parked was let go");
    }

    #[test]
    fn all_park_and_all_are_let_go() {
        for scope in [Scope::Private, Scope::Shared] {
            world_stops(2, scope);
            world_stops(0, scope);
        }
    }
}
