//! Ways for a task to burn CPU or pass time: a row and a file for each kind.
//!
//! Must not know: recorder, plan, clock of the recorder.

use crate::base::Unit;

/// What a kind of work is; its name is the verb in a profile's steps.
pub struct Kind {
    pub name: &'static str,
    pub about: &'static str,
    /// What its amount counts.
    pub unit: Unit,
    /// Whether the task gives up the CPU, so that a CPU change is one across sleep.
    pub sleeps: bool,
}

/// All kinds, in the order in which they are listed.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "spin",
        about: "burn CPU until this much time has passed, preemption included",
        unit: Unit::Time,
        sleeps: false,
    },
    Kind {
        name: "work",
        about: "burn CPU for a fixed amount of work: the time it takes an undisturbed CPU here",
        unit: Unit::Time,
        sleeps: false,
    },
    Kind {
        name: "sleep",
        about: "sleep for this long (timer slack 1 ns)",
        unit: Unit::Time,
        sleeps: true,
    },
];

/// The row of that name.
pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}
