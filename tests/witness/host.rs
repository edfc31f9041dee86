//! Looking at the machine must not touch it.

use crate::{Outcome, Test};
use schedload::Host;
use schedload::sys::scheduling::{Confined, affinity};

fn nr_migrations() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/sched").ok()?;
    let line = text.lines().find(|line| line.contains("nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

pub const TESTS: &[Test] =
    &[Test { name: "host::reading_it_moves_no_thread", body: reading_it_moves_no_thread }];

/// hwloc's x86 component would bind the thread to each CPU in turn, allowed or not.
fn reading_it_moves_no_thread() -> Outcome {
    let first = affinity().unwrap().iter().take(1).collect();
    let _confined = Confined::to(&first).unwrap();
    let before = nr_migrations();
    let host = Host::read().unwrap();
    assert_eq!(nr_migrations(), before);
    assert_eq!(affinity().unwrap(), first);
    assert_eq!(host.allowed.len(), 1);
    Outcome::Passed
}
