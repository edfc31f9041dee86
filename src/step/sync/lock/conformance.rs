//! One suite for all kinds: it walks the rows, so that a new kind is held to the contract.
//!
//! Must not know: how any kind waits.

use super::{KINDS, Kind, Locks, Mode, Opening};
use crate::step::sync::{Hitch, Scope, Visit, Visitor};
use crate::sys::{Shared, signal, thread};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const TASKS: u32 = 4;
/// Few: a kind that only spins waits for a turn of each holder that lost its CPU.
const ROUNDS: u64 = 500;
const COUNT: u32 = 2;
const CPUS: u32 = 1024;

struct Task<'t>(&'t AtomicU32);

impl Visitor for Task<'_> {
    fn note(&mut self) -> [u64; 2] {
        [7, !7]
    }

    fn over(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }
}

fn with_locks(kind: &Kind, scope: Scope, cpus: u32, test: impl FnOnce(&Locks<'_>)) {
    let shared = Shared::create((kind.state_bytes)(COUNT, cpus).max(1)).unwrap();
    let opening = Opening { scope, count: COUNT, cpus, shared: &shared, offset: 0 };
    test(&(kind.open)(&opening));
}

/// Readers and writers inside, as high and low halves.
const READER: u64 = 1 << 32;

#[test]
fn one_has_it_or_readers_do() {
    let over = AtomicU32::new(0);
    for kind in KINDS {
        // With one CPU's lock for all CPUs it is one lock.
        for (scope, cpus) in [(Scope::Private, 1), (Scope::Shared, 1)] {
            let inside: [AtomicU64; COUNT as usize] = Default::default();
            let begin = Barrier::new(TASKS as usize);
            with_locks(kind, scope, cpus, |locks| {
                std::thread::scope(|threads| {
                    for me in 0..TASKS {
                        let (inside, over, begin) = (&inside, &over, &begin);
                        threads.spawn(move || {
                            let mut visit = Visit::new(me);
                            begin.wait();
                            for round in 0..ROUNDS {
                                let which = ((round + u64::from(me)) % 3 / 2) as u32;
                                let reads = kind.modes && round % 2 == 0;
                                let mode = if reads { Mode::Read } else { Mode::Write };
                                let mut task = Task(over);
                                let held = locks.try_lock(which, mode).unwrap_or_else(|| {
                                    locks.lock(which, mode, &mut visit, &mut task).unwrap().1
                                });
                                let inside = &inside[which as usize];
                                let own = if reads { READER } else { 1 };
                                let found = inside.fetch_add(own, Ordering::SeqCst);
                                match reads {
                                    true => assert_eq!(found % READER, 0, "{}", kind.name),
                                    false => assert_eq!(found, 0, "{}", kind.name),
                                }
                                inside.fetch_sub(own, Ordering::SeqCst);
                                locks.unlock(held, &mut task).unwrap();
                            }
                        });
                    }
                });
            });
        }
    }
}

/// Kinds whose waits end by themselves: for the others the holder gives it back.
#[test]
fn who_waits_gets_out() {
    signal::be_interruptible().unwrap();
    for kind in KINDS.iter().filter(|kind| kind.processes) {
        let (tid, out, over) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
        with_locks(kind, Scope::Private, 1, |locks| {
            let mut task = Task(&over);
            let held = locks.try_lock(0, Mode::Write).unwrap();
            assert_eq!(locks.try_lock(0, Mode::Write), None, "{}", kind.name);
            std::thread::scope(|threads| {
                let (tid, out, over) = (&tid, &out, &over);
                threads.spawn(move || {
                    tid.store(thread::ids().1, Ordering::Release);
                    let mut visit = Visit::new(1);
                    let got = locks.lock(0, Mode::Write, &mut visit, &mut Task(over));
                    assert_eq!(got.map(|_| ()), Err(Hitch::Interrupted), "{}", kind.name);
                    out.store(1, Ordering::Release);
                });
                over.store(1, Ordering::Release);
                while out.load(Ordering::Acquire) == 0 {
                    if let tid @ 1.. = tid.load(Ordering::Acquire) {
                        signal::interrupt(thread::ids().0, tid);
                    }
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            });
            locks.unlock(held, &mut task).unwrap();
            assert!(locks.try_lock(0, Mode::Write).is_some(), "{}: it is free again", kind.name);
        });
    }
}

#[test]
fn each_cpu_has_its_own() {
    let kind = super::find("per_cpu").unwrap();
    let over = AtomicU32::new(0);
    with_locks(kind, Scope::Private, CPUS, |locks| {
        let (mut visit, mut task) = (Visit::new(0), Task(&over));
        for which in 0..COUNT {
            let (_, held) = locks.lock(which, Mode::Write, &mut visit, &mut task).unwrap();
            assert!(held.cpu < CPUS);
            locks.unlock(held, &mut task).unwrap();
        }
    });
}
