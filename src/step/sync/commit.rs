//! Group commit, as a database's log has it: who comes while nobody leads becomes the leader of a
//! group, flushes for all in it, and wakes them. Whoever comes meanwhile queues for the next group,
//! whose leader is the first of them.
//!
//! Each member has a word of its own to sleep on, so that nobody is woken who is not meant, and
//! nobody's note is written over before it has read it. Must not know: how long a flush takes.

use super::slip::{self, Slip};
use super::waiting;
use super::{Hitch, Scope, Visit, Visitor, Wait};
use crate::plain;
use crate::sys::Shared;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

plain! {
    /// Whether somebody leads, and who came last since the leader took its group.
    struct Head {
        queue: AtomicU32,
    }
}

plain! {
    /// Of one member.
    struct Seat {
        /// [`DONE`] or [`LEAD`] in the low bit, above it the number of the member's turns that are
        /// decided; goes round.
        word: AtomicU32,
        sleepers: AtomicU32,
        /// Who came before it, as in [`Head`].
        before: AtomicU32,
        slip: Slip,
    }
}

/// Nobody leads and nobody queues.
const IDLE: u32 = 0;
/// Somebody leads, and nobody queues. Above it: the member that came last, plus [`FIRST`].
const LED: u32 = 1;
const FIRST: u32 = 2;

const DONE: u32 = 0;
const LEAD: u32 = 1;

/// What it is, for lists.
pub const ABOUT: &str = "the first who comes leads, flushes for all who queue, and wakes them";

/// A group commit of any number of members.
pub struct Commit<'a> {
    head: &'a Head,
    seats: &'a [Seat],
    scope: Scope,
}

/// What has become of who came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Its commit was flushed by another.
    Done(Wait),
    /// It leads: it flushes, then calls [`Commit::finish`].
    Leads(Wait, Group),
}

/// The members that a leader leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    last: u32,
    pub size: u32,
}

/// The number of the turn after so many, as far as it fits beside what was decided.
fn turn(before: u32) -> u32 {
    before.wrapping_add(1) & (u32::MAX >> 1)
}

/// Bytes of shared memory for so many members.
pub fn state_bytes(members: u32) -> usize {
    size_of::<Head>() + members as usize * size_of::<Seat>()
}

impl<'a> Commit<'a> {
    /// At an offset of zeroed shared memory.
    pub fn at(shared: &'a Shared, offset: usize, members: u32, scope: Scope) -> Commit<'a> {
        let seats = shared.slice(offset + size_of::<Head>(), members as usize);
        Commit { head: shared.at(offset), seats, scope }
    }

    /// Comes with a commit, and waits until it is flushed or for the lead.
    #[inline]
    pub fn join(&self, visit: &mut Visit) -> Result<Turn, Hitch> {
        let seat = &self.seats[visit.me as usize];
        if visit.pending.is_none() && self.queue(seat, visit.me) {
            return Ok(Turn::Leads(Wait::Open, Group { last: LED, size: 1 }));
        }
        let decided = turn(visit.rounds as u32);
        visit.pending = Some(decided.into());
        let done = |word: u32| word >> 1 == decided;
        waiting::sleep(&seat.word, &seat.sleepers, self.scope, visit, done)?;
        let wait = match visit.slept {
            true => Wait::Slept(slip::take(&seat.slip, decided)),
            false => Wait::Spun,
        };
        visit.rounds += 1;
        (visit.pending, visit.slept) = (None, false);
        if seat.word.load(Acquire) & 1 == DONE {
            return Ok(Turn::Done(wait));
        }
        // Whoever has queued until now is in the group; pairs with the Release in `queue`.
        let last = self.head.queue.swap(LED, AcqRel);
        let size = self.walk(last).count() as u32;
        Ok(Turn::Leads(wait, Group { last, size }))
    }

    /// Whether the member leads at once; else it is in the queue.
    fn queue(&self, seat: &Seat, me: u32) -> bool {
        let mut now = self.head.queue.load(Relaxed);
        loop {
            let then = if now == IDLE { LED } else { me + FIRST };
            seat.before.store(now, Relaxed);
            match self.head.queue.compare_exchange_weak(now, then, AcqRel, Relaxed) {
                Ok(_) => return now == IDLE,
                Err(other) => now = other,
            }
        }
    }

    /// The members of a queue from the last to the first.
    fn walk(&self, last: u32) -> impl Iterator<Item = u32> + '_ {
        let member = |word: u32| word.checked_sub(FIRST);
        let before = move |me: &u32| member(self.seats[*me as usize].before.load(Acquire));
        std::iter::successors(member(last), before)
    }

    /// The group is flushed: wakes all of it, and hands the lead to the first who has come
    /// meanwhile.
    pub fn finish(
        &self,
        group: Group,
        visit: &Visit,
        visitor: &mut impl Visitor,
    ) -> Result<(), Hitch> {
        let mut next = group.last.checked_sub(FIRST);
        while let Some(member) = next {
            // Before it is woken, since it may come again at once.
            next = self.seats[member as usize].before.load(Acquire).checked_sub(FIRST);
            if member != visit.me {
                self.decide(member, DONE, visitor)?;
            }
        }
        let mut now = self.head.queue.load(Acquire);
        while now == LED {
            match self.head.queue.compare_exchange_weak(LED, IDLE, Release, Acquire) {
                Ok(_) => return Ok(()),
                Err(other) => now = other,
            }
        }
        match self.walk(now).last() {
            Some(first) => self.decide(first, LEAD, visitor),
            None => Ok(()),
        }
    }

    fn decide(&self, member: u32, what: u32, visitor: &mut impl Visitor) -> Result<(), Hitch> {
        let seat = &self.seats[member as usize];
        let decided = turn(seat.word.load(Relaxed) >> 1);
        // Nobody else writes to a seat that waits, so that it is whole when its member reads it.
        slip::put(&seat.slip, visitor.note(), decided);
        // SeqCst against `sleepers`, see `waiting::sleep`.
        seat.word.store(decided << 1 | what, SeqCst);
        if seat.sleepers.load(SeqCst) == 0 {
            return Ok(());
        }
        waiting::wake(&seat.word, 1, self.scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    const MEMBERS: u32 = 4;
    const COMMITS: u64 = 2_000;

    /// Tells the leader as its note.
    struct Task(u64);

    impl Visitor for Task {
        fn note(&mut self) -> [u64; 2] {
            [self.0, !self.0]
        }

        fn over(&self) -> bool {
            false
        }
    }

    #[test]
    fn every_commit_is_in_one_group_and_one_leads_at_a_time() {
        for scope in [Scope::Private, Scope::Shared] {
            let shared = Shared::create(state_bytes(MEMBERS)).unwrap();
            let commit = Commit::at(&shared, 0, MEMBERS, scope);
            let (leading, grouped) = (AtomicU32::new(0), AtomicU64::new(0));
            std::thread::scope(|threads| {
                for me in 0..MEMBERS {
                    let (commit, leading, grouped) = (&commit, &leading, &grouped);
                    threads.spawn(move || {
                        let mut visit = Visit::new(me);
                        for _ in 0..COMMITS {
                            let wait = match commit.join(&mut visit).unwrap() {
                                Turn::Done(wait) => wait,
                                Turn::Leads(wait, group) => {
                                    assert_eq!(leading.fetch_add(1, SeqCst), 0);
                                    std::thread::yield_now();
                                    grouped.fetch_add(group.size.into(), Relaxed);
                                    assert!((1..=MEMBERS).contains(&group.size));
                                    leading.fetch_sub(1, SeqCst);
                                    let mut task = Task(me.into());
                                    commit.finish(group, &visit, &mut task).unwrap();
                                    wait
                                }
                            };
                            // Somebody else has woken it, and it knows who.
                            if let Wait::Slept(note) = wait {
                                let [other, check] = note.unwrap();
                                assert_eq!(other, !check);
                                assert!(other < MEMBERS.into() && other != u64::from(me));
                            }
                        }
                    });
                }
            });
            assert_eq!(grouped.into_inner(), u64::from(MEMBERS) * COMMITS);
            assert_eq!(commit.head.queue.load(SeqCst), IDLE);
        }
    }

    #[test]
    fn a_member_that_nobody_flushes_gets_out() {
        use crate::sys::{signal, thread};
        signal::be_interruptible().unwrap();
        let shared = Shared::create(state_bytes(2)).unwrap();
        let commit = Commit::at(&shared, 0, 2, Scope::Private);
        let mut leader = Visit::new(0);
        let Ok(Turn::Leads(Wait::Open, group)) = commit.join(&mut leader) else {
            panic!("who comes first leads");
        };
        let (tid, out) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|threads| {
            let follower = threads.spawn(|| {
                tid.store(thread::ids().1, Release);
                let mut visit = Visit::new(1);
                assert_eq!(commit.join(&mut visit), Err(Hitch::Interrupted));
                out.store(1, Release);
                // It is still in the queue, once.
                loop {
                    match commit.join(&mut visit) {
                        Err(Hitch::Interrupted) => {}
                        other => break other.unwrap(),
                    }
                }
            });
            while out.load(Acquire) == 0 {
                if let tid @ 1.. = tid.load(Acquire) {
                    signal::interrupt(thread::ids().0, tid);
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            commit.finish(group, &leader, &mut Task(0)).unwrap();
            let turn = follower.join().unwrap();
            assert!(matches!(turn, Turn::Leads(_, Group { size: 1, .. })), "{turn:?}");
        });
    }
}
