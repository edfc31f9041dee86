//! Ways for a task to burn CPU or pass time: a row and a file for each kind.
//!
//! Whatever may take longer than a millisecond asks `stop` that often, so that a run ends in time.
//! Must not know: recorder, plan, channels.

mod matrix;
pub mod pacing;
mod sleep;
mod spin;
pub mod spread;
mod work;

pub use work::calibrate;

use crate::base::Unit;
use crate::sys::Errno;
use crate::sys::clock::Clock;

/// What kinds work with.
pub struct Tools<'a> {
    pub clock: Clock,
    /// Rounds of [`work`](self) in a microsecond on an undisturbed CPU, from [`calibrate`].
    pub rounds_per_us: u64,
    /// Whether the run is over.
    pub stop: &'a dyn Fn() -> bool,
}

/// What a kind of work is; its name is the verb in a profile's steps.
pub struct Kind {
    pub name: &'static str,
    pub about: &'static str,
    /// What its amount counts.
    pub unit: Unit,
    /// Whether the task gives up the CPU, so that a CPU change is one across sleep.
    pub sleeps: bool,
    /// Whether it needs [`Tools::rounds_per_us`].
    pub calibrated: bool,
    /// Floating point operations in one of its amount; 0 if that is not what it does.
    pub flops: u64,
    /// Fails where the kernel refuses the call by which it sleeps, clock_nanosleep(2).
    pub perform: fn(amount: u64, tools: &Tools<'_>) -> Result<(), Errno>,
}

/// All kinds, in the order in which they are listed.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "spin",
        about: "burn CPU until this much time has passed, preemption included",
        unit: Unit::Time,
        sleeps: false,
        calibrated: false,
        flops: 0,
        perform: spin::perform,
    },
    Kind {
        name: "work",
        about: "burn CPU for a fixed amount of work: the time it takes an undisturbed CPU here",
        unit: Unit::Time,
        sleeps: false,
        calibrated: true,
        flops: 0,
        perform: work::perform,
    },
    Kind {
        name: "matrix",
        about: "multiply 32 x 32 blocks that stay in the first cache: 65,536 flops each",
        unit: Unit::Count,
        sleeps: false,
        calibrated: false,
        flops: matrix::FLOPS,
        perform: matrix::perform,
    },
    Kind {
        name: "sleep",
        about: "sleep for this long (timer slack 1 ns)",
        unit: Unit::Time,
        sleeps: true,
        calibrated: false,
        flops: 0,
        perform: sleep::perform,
    },
];

/// The row of that name.
pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock::{Source, monotonic_ns};
    use crate::sys::seccomp::refusing;
    use std::cell::Cell;

    #[test]
    fn takes_at_least_its_time_and_stops_when_told() {
        let clock = Clock::calibrate(Source::Monotonic);
        let rounds_per_us = calibrate();
        for kind in KINDS.iter().filter(|kind| kind.unit == Unit::Time) {
            let tools = Tools { clock, rounds_per_us, stop: &|| false };
            let start = monotonic_ns();
            (kind.perform)(3_000_000, &tools).unwrap();
            // Work is as fast as the CPU is now, so it may end early; the others may not.
            let least = if kind.calibrated { 1_000_000 } else { 3_000_000 };
            assert!(monotonic_ns() - start >= least, "{} was too short", kind.name);

            if kind.sleeps {
                continue;
            }
            let asked = Cell::new(0);
            let stop = || asked.replace(asked.get() + 1) >= 3;
            let tools = Tools { clock, rounds_per_us, stop: &stop };
            (kind.perform)(3_600_000_000_000, &tools).unwrap();
            assert_eq!(asked.get(), 4, "{} went on after it was told to stop", kind.name);
        }
    }

    #[test]
    fn a_sleep_that_the_kernel_refuses_ends() {
        for errno in [libc::EPERM, libc::ENOSYS] {
            let slept = refusing(&[libc::SYS_clock_nanosleep], errno, || {
                let clock = Clock::calibrate(Source::Counter);
                let tools = Tools { clock, rounds_per_us: 1000, stop: &|| false };
                let until = pacing::until(u64::MAX, 0, &tools).map(drop);
                [sleep::perform(1_000_000, &tools), until]
            });
            assert!(slept.is_none_or(|slept| slept == [Err(Errno(errno)); 2]));
        }
    }

    #[test]
    fn nothing_is_nothing() {
        let clock = Clock::calibrate(Source::Monotonic);
        for kind in KINDS {
            let tools = Tools { clock, rounds_per_us: 1000, stop: &|| false };
            (kind.perform)(0, &tools).unwrap();
        }
    }
}
