//! One suite for all kinds: it walks the rows, so that a new kind is held to the contract.
//!
//! Must not know: how any kind waits.

use super::{Barrier, KINDS, Kind, Opening};
use crate::step::sync::{Hitch, Scope, Visit, Visitor, Wait};
use crate::sys::{Shared, signal, thread};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const PARTIES: u32 = 4;
const ROUNDS: u64 = 500;

/// Tells the round that it is at as its note.
struct Task<'t> {
    note: u64,
    over: &'t AtomicU32,
}

impl Visitor for Task<'_> {
    fn note(&mut self) -> [u64; 2] {
        [self.note, !self.note]
    }

    fn over(&self) -> bool {
        self.over.load(Ordering::Acquire) != 0
    }
}

fn with_barrier(kind: &Kind, scope: Scope, spins: u32, test: impl FnOnce(&Barrier<'_>)) {
    let shared = Shared::create((kind.state_bytes)(PARTIES)).unwrap();
    let opening =
        Opening { scope, parties: PARTIES, spins, crowded: true, shared: &shared, offset: 0 };
    test(&(kind.open)(&opening));
}

/// Whom member `me` may not be ahead of.
fn waited_for(kind: &Kind, me: u32) -> Vec<usize> {
    let all = 0..PARTIES;
    match kind.of_members {
        true => vec![((me + PARTIES - 1) % PARTIES) as usize, ((me + 1) % PARTIES) as usize],
        false => all.map(|it| it as usize).collect(),
    }
}

#[test]
fn nobody_is_ahead_of_whom_it_waits_for() {
    for kind in KINDS {
        for (scope, spins) in [(Scope::Private, 0), (Scope::Shared, 200)] {
            let came: [AtomicU64; PARTIES as usize] = Default::default();
            let led = AtomicU64::new(0);
            let over = AtomicU32::new(0);
            with_barrier(kind, scope, spins, |barrier| {
                std::thread::scope(|threads| {
                    for me in 0..PARTIES {
                        let (came, led, over) = (&came, &led, &over);
                        let others = waited_for(kind, me);
                        threads.spawn(move || {
                            let mut visit = Visit::new(me);
                            for round in 1..=ROUNDS {
                                came[me as usize].store(round, Ordering::Release);
                                let mut task = Task { note: round, over };
                                let passed = barrier.pass(&mut visit, &mut task).unwrap();
                                for &other in &others {
                                    let other = came[other].load(Ordering::Acquire);
                                    assert!(other >= round, "{}: {other} {round}", kind.name);
                                }
                                led.fetch_add(passed.led.into(), Ordering::Relaxed);
                                // Of the round that it was woken for, and of no other.
                                if let Wait::Slept(note) = passed.wait {
                                    assert_eq!(note, Some([round, !round]), "{}", kind.name);
                                }
                            }
                        });
                    }
                });
            });
            let passes = u64::from(PARTIES) * ROUNDS;
            assert_eq!(led.into_inner(), passes, "{}", kind.name);
        }
    }
}

/// Interrupts a task until it says that it is out.
fn interrupted(tid: &AtomicU32, out: &AtomicU32) {
    while out.load(Ordering::Acquire) == 0 {
        if let tid @ 1.. = tid.load(Ordering::Acquire) {
            signal::interrupt(thread::ids().0, tid);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn who_waits_for_nobody_gets_out_and_has_come_once() {
    signal::be_interruptible().unwrap();
    for kind in KINDS {
        let (tid, out, over) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
        with_barrier(kind, Scope::Private, 10, |barrier| {
            std::thread::scope(|threads| {
                let (tid, out, over) = (&tid, &out, &over);
                threads.spawn(move || {
                    tid.store(thread::ids().1, Ordering::Release);
                    let mut visit = Visit::new(0);
                    let mut pass = || barrier.pass(&mut visit, &mut Task { note: 1, over });
                    assert_eq!(pass(), Err(Hitch::Interrupted), "{}", kind.name);
                    over.store(0, Ordering::Release);
                    out.store(1, Ordering::Release);
                    // The others come, and with them the round is complete.
                    let passed = loop {
                        match pass() {
                            Err(Hitch::Interrupted) => {}
                            other => break other,
                        }
                    };
                    assert!(passed.is_ok(), "{}: {passed:?}", kind.name);
                });
                // What spins is not interrupted by a signal.
                over.store(1, Ordering::Release);
                interrupted(tid, out);
                for me in 1..PARTIES {
                    threads.spawn(move || {
                        let mut task = Task { note: 1, over };
                        barrier.pass(&mut Visit::new(me), &mut task).unwrap();
                    });
                }
            });
        });
    }
}

/// More tasks than parties, each as often as it takes.
#[test]
fn any_of_many_make_a_round() {
    for kind in KINDS.iter().filter(|kind| !kind.of_members) {
        let (led, over) = (AtomicU64::new(0), AtomicU32::new(0));
        let turns = AtomicU64::new(u64::from(PARTIES) * ROUNDS);
        with_barrier(kind, Scope::Private, 50, |barrier| {
            std::thread::scope(|threads| {
                for me in 0..PARTIES * 2 {
                    let (led, over, turns) = (&led, &over, &turns);
                    threads.spawn(move || {
                        let mut visit = Visit::new(me);
                        let take = |left: u64| left.checked_sub(1);
                        while turns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
                        {
                            let mut task = Task { note: 1, over };
                            let passed = barrier.pass(&mut visit, &mut task).unwrap();
                            led.fetch_add(passed.led.into(), Ordering::Relaxed);
                        }
                    });
                }
            });
        });
        assert_eq!(led.into_inner(), u64::from(PARTIES) * ROUNDS, "{}", kind.name);
    }
}
