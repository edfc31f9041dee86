//! A desk: who asks there sleeps until it is let go on, and who serves takes all that have asked,
//! at once, and lets them go one after the other. So works a server thread with a list of workers.
//!
//! Each server has a list of its own, on which it sleeps, and its own askers; each of these has a
//! word to sleep on. The last who asked is the first to be let go. Must not know: what is asked
//! for.

use super::slip::{self, Slip};
use super::waiting;
use super::{Hitch, Note, Scope, Visit, Visitor, Wait};
use crate::plain;
use crate::sys::Shared;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};

plain! {
    /// The list of a server: who has asked since it was taken.
    struct Head {
        /// The member that asked last, plus one; 0: nobody.
        last: AtomicU32,
        sleepers: AtomicU32,
        slip: Slip,
    }
}

plain! {
    /// Of one member.
    struct Seat {
        /// How often it was let go; goes round.
        word: AtomicU32,
        sleepers: AtomicU32,
        /// Who asked before it, as in [`Head`].
        before: AtomicU32,
        /// Of the wake, and of when its batch was taken.
        slip: Slip,
        batch: Slip,
    }
}

const NOBODY: u32 = 0;

/// The round of the note of whoever asks first: who sleeps tells by its time whether it was meant.
const ROUND: u32 = 0;

/// What it is, for lists.
pub const ABOUT: &str = "who asks sleeps; who serves takes all that asked, and wakes each";

/// A desk of any number of servers and of members, servers among them; member i belongs to the list
/// i modulo the servers.
pub struct Desk<'a> {
    heads: &'a [Head],
    seats: &'a [Seat],
    scope: Scope,
}

/// How who asked was let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    pub wait: Wait,
    /// The note of when its batch was taken.
    pub batch: Option<Note>,
}

/// Those that were taken from the list, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    last: u32,
}

/// Bytes of shared memory for so many servers, and for these and all who ask.
pub fn state_bytes(servers: u32, members: u32) -> usize {
    servers as usize * size_of::<Head>() + members as usize * size_of::<Seat>()
}

impl<'a> Desk<'a> {
    /// At an offset of zeroed shared memory.
    pub fn at(
        shared: &'a Shared,
        offset: usize,
        (servers, members): (u32, u32),
        scope: Scope,
    ) -> Desk<'a> {
        let heads: &[Head] = shared.slice(offset, servers as usize);
        let seats = shared.slice(offset + size_of_val(heads), members as usize);
        Desk { heads, seats, scope }
    }

    fn head(&self, member: u32) -> &'a Head {
        &self.heads[member as usize % self.heads.len()]
    }

    /// Asks, and sleeps until it is let go.
    #[inline]
    pub fn ask(&self, visit: &mut Visit, visitor: &mut impl Visitor) -> Result<Served, Hitch> {
        let seat = &self.seats[visit.me as usize];
        let turn = (visit.rounds as u32).wrapping_add(1);
        if visit.pending.is_none() {
            visit.pending = Some(turn.into());
            self.queue(seat, visit.me, visitor)?;
        }
        let done = |word: u32| word == turn;
        waiting::sleep(&seat.word, &seat.sleepers, self.scope, visit, done)?;
        let wait = match visit.slept {
            true => Wait::Slept(slip::take(&seat.slip, turn)),
            false => Wait::Spun,
        };
        visit.rounds += 1;
        (visit.pending, visit.slept) = (None, false);
        Ok(Served { wait, batch: slip::take(&seat.batch, turn) })
    }

    /// Puts a member on the list, and wakes who serves if it is the first there.
    fn queue(&self, seat: &Seat, me: u32, visitor: &mut impl Visitor) -> Result<(), Hitch> {
        let head = self.head(me);
        let mut now = head.last.load(Relaxed);
        loop {
            seat.before.store(now, Relaxed);
            if now == NOBODY {
                slip::put(&head.slip, visitor.note(), ROUND);
            }
            // SeqCst against `sleepers`, see `waiting::sleep`; pairs with the swap in `take`.
            match head.last.compare_exchange_weak(now, me + 1, SeqCst, Relaxed) {
                Ok(_) => break,
                Err(other) => now = other,
            }
        }
        if now != NOBODY || head.sleepers.load(SeqCst) == 0 {
            return Ok(());
        }
        waiting::wake(&head.last, 1, self.scope)
    }

    /// Waits until somebody has asked, and takes all who have.
    #[inline]
    pub fn take(&self, visit: &mut Visit) -> Result<(Wait, Batch), Hitch> {
        let head = self.head(visit.me);
        let asked = |word: u32| word != NOBODY;
        waiting::sleep(&head.last, &head.sleepers, self.scope, visit, asked)?;
        // Pairs with the exchange in `queue`.
        let last = head.last.swap(NOBODY, AcqRel);
        let wait = match visit.slept {
            true => Wait::Slept(slip::take(&head.slip, ROUND)),
            false => Wait::Open,
        };
        visit.slept = false;
        Ok((wait, Batch { last }))
    }

    /// Lets all of a batch go on; how many that were.
    pub fn serve(&self, batch: Batch, visitor: &mut impl Visitor) -> Result<u32, Hitch> {
        let taken = visitor.note();
        let (mut next, mut n_served) = (batch.last, 0);
        while let Some(member) = next.checked_sub(1) {
            let seat = &self.seats[member as usize];
            // Before it is woken, since it may ask again at once.
            next = seat.before.load(Acquire);
            let turn = seat.word.load(Relaxed).wrapping_add(1);
            visitor.lets_go(member);
            slip::put(&seat.batch, taken, turn);
            slip::put(&seat.slip, visitor.note(), turn);
            n_served += 1;
            // SeqCst against `sleepers`, see `waiting::sleep`.
            seat.word.store(turn, SeqCst);
            if seat.sleepers.load(SeqCst) > 0 {
                waiting::wake(&seat.word, 1, self.scope)?;
            }
        }
        Ok(n_served)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    const ASKERS: u32 = 4;
    const SERVERS: u32 = 2;
    const ASKS: u32 = 2_000;

    /// Numbers its notes, and counts on a page of each member how often it was let go.
    struct Task<'a> {
        me: u64,
        notes: u64,
        pages: &'a [AtomicU64],
    }

    impl Visitor for Task<'_> {
        fn lets_go(&mut self, member: u32) {
            let page = &self.pages[member as usize];
            // Its member waits, and nobody else writes there.
            page.store(page.load(Relaxed) + 1, Relaxed);
        }

        fn note(&mut self) -> Note {
            self.notes += 1;
            [self.me, self.notes]
        }

        fn over(&self) -> bool {
            false
        }
    }

    #[test]
    fn everybody_who_asks_is_let_go_once() {
        use crate::sys::{signal, thread};
        signal::be_interruptible().unwrap();
        for scope in [Scope::Private, Scope::Shared] {
            let members = ASKERS + SERVERS;
            let shared = Shared::create(state_bytes(SERVERS, members)).unwrap();
            let desk = Desk::at(&shared, 0, (SERVERS, members), scope);
            let done = AtomicBool::new(false);
            let pages: [AtomicU64; (ASKERS + SERVERS) as usize] = Default::default();
            let pages = &pages;
            let tids: [AtomicU32; SERVERS as usize] = Default::default();
            std::thread::scope(|threads| {
                let serve = |me: u32| {
                    tids[(me - ASKERS) as usize].store(thread::ids().1, SeqCst);
                    let (mut visit, mut n_served) = (Visit::new(me), 0);
                    let mut task = Task { me: me.into(), notes: 0, pages };
                    loop {
                        match desk.take(&mut visit) {
                            Ok((_, batch)) => n_served += desk.serve(batch, &mut task).unwrap(),
                            Err(Hitch::Interrupted) if done.load(SeqCst) => break n_served,
                            Err(Hitch::Interrupted) => {}
                            Err(other) => panic!("{other:?}"),
                        }
                    }
                };
                let ask = |me: u32| {
                    let (mut visit, mut last) = (Visit::new(me), 0);
                    let mut task = Task { me: me.into(), notes: 0, pages };
                    for turn in 1..=ASKS {
                        let served = desk.ask(&mut visit, &mut task).unwrap();
                        let written = pages[me as usize].load(Relaxed);
                        assert_eq!(
                            written,
                            u64::from(turn),
                            "what is written before a wake is seen"
                        );
                        let [server, taken] = served.batch.unwrap();
                        assert_eq!(server, u64::from(ASKERS + me % SERVERS));
                        assert!(taken > last, "each batch is later than the last");
                        last = taken;
                        if let Wait::Slept(note) = served.wait {
                            let [waker, woken] = note.unwrap();
                            assert_eq!(waker, server);
                            assert!(woken > taken, "a wake comes after its batch was taken");
                        }
                    }
                };
                let servers: Vec<_> =
                    (ASKERS..members).map(|me| threads.spawn(move || serve(me))).collect();
                let askers: Vec<_> = (0..ASKERS).map(|me| threads.spawn(move || ask(me))).collect();
                askers.into_iter().for_each(|asker| asker.join().unwrap());
                done.store(true, SeqCst);
                while !servers.iter().all(|server| server.is_finished()) {
                    for tid in &tids {
                        signal::interrupt(thread::ids().0, tid.load(SeqCst));
                    }
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                let served: u32 = servers.into_iter().map(|it| it.join().unwrap()).sum();
                assert_eq!(served, ASKERS * ASKS);
            });
            assert!(desk.heads.iter().all(|head| head.last.load(SeqCst) == NOBODY));
        }
    }

    #[test]
    fn all_who_asked_are_one_batch() {
        let shared = Shared::create(state_bytes(1, 3)).unwrap();
        let desk = Desk::at(&shared, 0, (1, 3), Scope::Private);
        let pages: [AtomicU64; 3] = Default::default();
        let mut task = Task { me: 2, notes: 0, pages: &pages };
        for me in 0..2 {
            desk.queue(&desk.seats[me as usize], me, &mut task).unwrap();
        }
        let (wait, batch) = desk.take(&mut Visit::new(2)).unwrap();
        assert_eq!(wait, Wait::Open, "somebody had asked");
        let first = task.notes + 1;
        assert_eq!(desk.serve(batch, &mut task), Ok(2));
        let notes = |me: usize| {
            [&desk.seats[me].batch, &desk.seats[me].slip]
                .map(|slip| slip::take(slip, 1).unwrap()[1])
        };
        assert_eq!(notes(1), [first, first + 1], "who asked last is let go first");
        assert_eq!(notes(0), [first, first + 2]);
        assert_eq!(pages.map(AtomicU64::into_inner), [1, 1, 0], "who serves is let go by nobody");
    }
}
