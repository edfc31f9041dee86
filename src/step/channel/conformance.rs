//! One suite for all kinds: it walks the rows, so that a new kind is held to the contract.

use super::{Channel, Hitch, Instance, KINDS, Kind, Opening, Scope, Shape};
use crate::sys::{Shared, signal, thread};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const MESSAGES: u64 = 2_000;
const BYTES: usize = 24;

/// Kinds that wait at all.
fn waiting() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().filter(|kind| kind.name != "null")
}

fn with_channel(kind: &Kind, scope: Scope, test: impl FnOnce(&Instance<'_>)) {
    let shared = Shared::create(4096).unwrap();
    let opening = Opening { scope, bytes: BYTES, shared: &shared, offset: 0 };
    let channel = (kind.open)(&opening).unwrap();
    test(&channel);
}

/// `wakers` send numbered messages to `wakees`; everything sent must arrive once, as it was.
fn nothing_is_lost(kind: &Kind, scope: Scope, wakers: u64, wakees: u64) {
    let (count, sum) = (AtomicU64::new(0), AtomicU64::new(0));
    let total = MESSAGES * wakers * wakees;
    with_channel(kind, scope, |channel| {
        std::thread::scope(|threads| {
            for _ in 0..wakees {
                let (count, sum) = (&count, &sum);
                let body = move || {
                    let mut message = [0; BYTES];
                    for _ in 0..MESSAGES * wakers {
                        channel.wait(&mut message).unwrap();
                        count.fetch_add(1, Ordering::Relaxed);
                        let number = u64::from_ne_bytes(message[..8].try_into().unwrap());
                        sum.fetch_add(number, Ordering::Relaxed);
                    }
                };
                threads.spawn(body);
            }
            for waker in 0..wakers {
                let body = move || {
                    let mut message = [0; BYTES];
                    for i in 0..MESSAGES * wakees {
                        message[..8].copy_from_slice(&(waker * 1_000_000 + i).to_ne_bytes());
                        channel.wake(&message).unwrap();
                    }
                };
                threads.spawn(body);
            }
        });
    });
    assert_eq!(count.into_inner(), total, "{}", kind.name);
    if kind.payload {
        let numbers = |waker| (0..MESSAGES * wakees).map(move |i| waker * 1_000_000 + i);
        let expected: u64 = (0..wakers).flat_map(numbers).sum();
        assert_eq!(sum.into_inner(), expected, "{} changed a message", kind.name);
    }
}

#[test]
fn nothing_is_lost_in_any_declared_shape() {
    for kind in waiting() {
        for shape in kind.shapes {
            let (wakers, wakees) = match shape {
                Shape::OneToOne => (1, 1),
                Shape::ManyToOne => (3, 1),
                Shape::OneToMany => (1, 3),
                Shape::ManyToMany => (2, 2),
            };
            nothing_is_lost(kind, Scope::Private, wakers, wakees);
            if kind.processes {
                nothing_is_lost(kind, Scope::Shared, wakers, wakees);
            }
        }
    }
}

#[test]
fn a_wake_before_the_wait_is_kept() {
    for kind in waiting() {
        with_channel(kind, Scope::Private, |channel| {
            let mut message = [0; BYTES];
            for _ in 0..3 {
                channel.wake(&[7; BYTES]).unwrap();
            }
            for _ in 0..3 {
                channel.wait(&mut message).unwrap();
            }
        });
    }
}

/// Starts a task that repeats `body` until it returns `Interrupted`, and gets it out as the
/// coordinator of a run does.
fn gets_out(kind: &Kind, body: impl Fn(&Instance<'_>) -> Result<(), Hitch> + Send + Copy) {
    signal::be_interruptible().unwrap();
    let (tid, out) = (AtomicU32::new(0), AtomicU32::new(0));
    with_channel(kind, Scope::Private, |channel| {
        std::thread::scope(|threads| {
            let (tid, out) = (&tid, &out);
            let task = move || {
                tid.store(thread::ids().1, Ordering::Release);
                let hitch = loop {
                    if let Err(hitch) = body(channel) {
                        break hitch;
                    }
                };
                assert_eq!(hitch, Hitch::Interrupted, "{}", kind.name);
                out.store(1, Ordering::Release);
            };
            threads.spawn(task);
            while out.load(Ordering::Acquire) == 0 {
                if let tid @ 1.. = tid.load(Ordering::Acquire) {
                    channel.interrupt();
                    signal::interrupt(thread::ids().0, tid);
                }
                // Leave it time to fill the channel between two interrupts.
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
    });
}

#[test]
fn a_wait_for_nothing_is_interrupted() {
    for kind in waiting() {
        gets_out(kind, |channel| channel.wait(&mut [0; BYTES]));
    }
}

#[test]
fn a_blocked_wake_is_interrupted() {
    for kind in waiting().filter(|kind| kind.wake_blocks && kind.payload) {
        gets_out(kind, |channel| channel.wake(&[0; BYTES]));
    }
}

/// For kinds that a signal does not get out: not one of many each time they are interrupted.
#[test]
fn many_get_out_at_once() {
    const MANY: usize = 200;
    const CALLS: u32 = 20;
    for kind in KINDS.iter().filter(|kind| ["condvar", "queue"].contains(&kind.name)) {
        let out = AtomicU32::new(0);
        with_channel(kind, Scope::Private, |channel| {
            std::thread::scope(|threads| {
                for _ in 0..MANY {
                    threads.spawn(|| {
                        while channel.wait(&mut [0; BYTES]).is_ok() {}
                        out.fetch_add(1, Ordering::Release);
                    });
                }
                let mut calls = 0;
                while out.load(Ordering::Acquire) < MANY as u32 {
                    channel.interrupt();
                    calls += 1;
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
                assert!(calls <= CALLS, "{}: {calls} calls for {MANY} tasks", kind.name);
            });
        });
    }
}

#[test]
fn names_are_unique() {
    for kind in KINDS {
        let same = KINDS.iter().filter(|other| other.name == kind.name);
        assert_eq!(same.count(), 1, "{}", kind.name);
    }
}
