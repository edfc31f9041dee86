//! What a step at a sync object costs where nobody else is: the bare primitive, the object without
//! recording, and the whole step in a run.
//!
//! `cargo bench --bench sync` prints the median of several trials, with the least and the most.
//! Must not know: what is fast enough; these numbers are for people.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people: it prints, and stops where it cannot go on"
)]

use schedload::host::Host;
use schedload::plan::{Overrides, Plan};
use schedload::profile::{Profile, Step, SyncObject, Team};
use schedload::run::{self, Control};
use schedload::step::sync::commit::{self, Commit, Turn};
use schedload::step::sync::lock::Mode;
use schedload::step::sync::{Note, Scope, Visit, Visitor, barrier, lock};
use schedload::sys::Shared;
use schedload::sys::clock::monotonic_ns;
use std::hint::black_box;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};

const TRIALS: usize = 15;
const CALLS: u32 = 1_000_000;

fn row(name: &str, mut trial: impl FnMut() -> u64) {
    let mut ns: Vec<f64> = (0..TRIALS).map(|_| trial() as f64 / f64::from(CALLS)).collect();
    ns.sort_by(f64::total_cmp);
    let [median, least, most] = [ns[TRIALS / 2], ns[0], ns[TRIALS - 1]];
    println!("{name:<44} {median:>9.1} ns {least:>9.1} ns {most:>9.1} ns");
}

/// An act, over and over.
fn bare(name: &str, mut act: impl FnMut()) {
    row(name, || {
        let start = monotonic_ns();
        (0..CALLS).for_each(|_| act());
        monotonic_ns() - start
    });
}

/// A run of one task that does the step over and over.
fn step(name: &str, host: &Host, object: SyncObject, step: &Step) {
    let profile = Profile::new("one")
        .about("a step over and over")
        .sync(object)
        .team(Team::new("task", 1).step(Step::repeat(CALLS, [step.clone()])))
        .checked()
        .unwrap();
    let plan = Plan::new(&profile, host, &Overrides::default()).unwrap();
    row(name, || run::run(&plan, host, &Control::default()).unwrap().window_ns);
}

/// A task that is alone.
struct Alone;

impl Visitor for Alone {
    fn note(&mut self) -> Note {
        [0, 0]
    }

    fn over(&self) -> bool {
        false
    }
}

fn main() {
    let host = Host::read().unwrap();
    println!("{:<44} {:>12} {:>12} {:>12}", "", "median", "least", "most");
    let word = AtomicU32::new(0);
    bare("compare-and-swap and store", || {
        let _ = black_box(&word).compare_exchange(0, 1, Acquire, Acquire);
        black_box(&word).store(0, Release);
    });
    let mutex = parking_lot::Mutex::new(());
    bare("parking_lot mutex", || drop(black_box(&mutex).lock()));
    let shared = Shared::create(1 << 20).unwrap();
    locks(&host, &shared);
    for kind in barrier::KINDS {
        let opening = barrier::Opening {
            scope: Scope::Private,
            parties: 1,
            spins: 0,
            crowded: false,
            shared: &shared,
            offset: 1 << 19,
        };
        let (barrier, mut visit) = ((kind.open)(&opening), Visit::new(0));
        let name = format!("barrier {} of one", kind.name);
        bare(&name, || _ = black_box(barrier.pass(&mut visit, &mut Alone)));
        let object = SyncObject::barrier("b", kind.name);
        step(&format!("{name}: a step of a run"), &host, object, &Step::barrier("b"));
        // The next kind begins from zero.
        let used = shared.slice::<std::sync::atomic::AtomicU64>(1 << 19, 64);
        used.iter().for_each(|word| word.store(0, Release));
    }
    let group = Commit::at(&shared, 1 << 18, 1, Scope::Private);
    assert!(commit::state_bytes(1) < 1 << 18);
    let mut visit = Visit::new(0);
    bare("commit without a flush", || {
        if let Ok(Turn::Leads(_, led)) = group.join(&mut visit) {
            let _ = black_box(group.finish(led, &visit, &mut Alone));
        }
    });
    let object = SyncObject::commit("c", "0ns");
    step("commit without a flush: a step of a run", &host, object, &Step::commit("c"));
    let object = SyncObject::safepoint("s");
    step("safepoint without a pause: a step of a run", &host, object, &Step::safepoint("s"));
}

fn locks(host: &Host, shared: &Shared) {
    let object = SyncObject::lock("l", "futex");
    step("what a lock holds here: a step of a run", host, object, &Step::act("matrix", 0));
    for kind in lock::KINDS {
        let opening =
            lock::Opening { scope: Scope::Private, count: 1, cpus: 1024, shared, offset: 0 };
        let locks = (kind.open)(&opening);
        let name = format!("lock {}", kind.name);
        bare(&name, || {
            if let Some(held) = locks.try_lock(0, Mode::Write) {
                let _ = black_box(locks.unlock(held, &mut Alone));
            }
        });
        let object = SyncObject::lock("l", kind.name);
        // What comes to nothing is left out of the plan.
        let taken = Step::lock("l[0]", [Step::act("matrix", 0)]);
        step(&format!("{name}: a step of a run"), host, object, &taken);
    }
}
