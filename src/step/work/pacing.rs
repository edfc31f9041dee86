//! Waiting for a time of CLOCK_MONOTONIC: asleep until shortly before, and spinning for the rest.
//!
//! Must not know: what is to be done then.

use super::Tools;
use crate::sys::Errno;
use crate::sys::clock::{monotonic_ns, sleep_until};

/// How often to ask whether to stop (spins of some ns).
const ASK: u32 = 1_000;

/// Waits until `due_ns`, of that `awake_ns` awake; whether it slept. Returns at once if that is
/// past, and early if it is told to stop.
///
/// # Errors
///
/// What the kernel refuses clock_nanosleep(2) with.
pub fn until(due_ns: u64, awake_ns: u64, tools: &Tools<'_>) -> Result<bool, Errno> {
    let asleep_until = due_ns.saturating_sub(awake_ns);
    let mut slept = false;
    while monotonic_ns() < asleep_until {
        slept = true;
        match sleep_until(asleep_until) {
            Err(Errno::INTERRUPTED) if (tools.stop)() => return Ok(slept),
            Ok(()) | Err(Errno::INTERRUPTED) => {}
            Err(refused) => return Err(refused),
        }
    }
    let mut n_spins: u32 = 0;
    while monotonic_ns() < due_ns {
        n_spins = n_spins.wrapping_add(1);
        if n_spins.is_multiple_of(ASK) && (tools.stop)() {
            break;
        }
        std::hint::spin_loop();
    }
    Ok(slept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock::{Clock, Source};

    #[test]
    fn is_never_early_and_sleeps_only_if_there_is_time() {
        let clock = Clock::calibrate(Source::Monotonic);
        let check = |in_ns: u64, awake_ns, expected| {
            let tools = Tools { clock, rounds_per_us: 0, stop: &|| false };
            let due_ns = monotonic_ns() + in_ns;
            assert_eq!(until(due_ns, awake_ns, &tools), Ok(expected), "{in_ns} {awake_ns}");
            assert!(monotonic_ns() >= due_ns);
        };
        check(2_000_000, 0, true);
        check(2_000_000, 1_000_000, true);
        check(500_000, 1_000_000, false);
        check(0, 0, false);
        assert_eq!(until(0, 0, &Tools { clock, rounds_per_us: 0, stop: &|| false }), Ok(false));
    }

    #[test]
    fn stops_when_told() {
        let clock = Clock::calibrate(Source::Monotonic);
        let tools = Tools { clock, rounds_per_us: 0, stop: &|| true };
        let due_ns = monotonic_ns() + 3_600_000_000_000;
        assert_eq!(until(due_ns, u64::MAX, &tools), Ok(false));
    }
}
