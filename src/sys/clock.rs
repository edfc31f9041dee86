//! Ticks for stamps, and the time of day for everything longer than a stamp.
//!
//! A stamp is the raw cycle counter where the kernel itself keeps time with it (so it is constant
//! and the same on all CPUs, arch/x86/kernel/tsc.c), else CLOCK_MONOTONIC: here 9 ns against
//! 20 ns. Must not know: how it is decided which of the two may be used.

use super::{Errno, event};
use serde::{Deserialize, Serialize};

/// Which counter gives the ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The CPU's cycle counter: `rdtsc`, `cntvct_el0`.
    Counter,
    /// clock_gettime(CLOCK_MONOTONIC).
    Monotonic,
}

/// Reads ticks and turns differences of them into nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    source: Source,
    /// Nanoseconds in a tick, times 2^32.
    scale: u64,
}

/// How long the counter is compared with the kernel's clock, asleep. Reading the pair is uncertain
/// by some 50 ns, so the rate is good to a few parts in a million.
const CALIBRATION_NS: u64 = 10_000_000;

impl Clock {
    /// The clock of that source, compared with CLOCK_MONOTONIC for 10 ms if it is the counter.
    pub fn calibrate(source: Source) -> Clock {
        match source {
            Source::Monotonic => Clock { source, scale: 1 << 32 },
            Source::Counter => {
                let (ticks0, ns0) = pair();
                let (mut ticks, mut ns) = pair();
                while ns - ns0 < CALIBRATION_NS {
                    event::pause(CALIBRATION_NS);
                    (ticks, ns) = pair();
                }
                let scale = (u128::from(ns - ns0) << 32) / u128::from(ticks - ticks0).max(1);
                Clock { source, scale: scale as u64 }
            }
        }
    }

    pub fn source(self) -> Source {
        self.source
    }

    /// The current tick.
    #[inline(always)]
    pub fn now(self) -> u64 {
        match self.source {
            Source::Counter => counter(),
            Source::Monotonic => monotonic_ns(),
        }
    }

    /// Nanoseconds in this many ticks.
    #[inline(always)]
    pub fn ns(self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64
    }

    /// Ticks in this many nanoseconds.
    pub fn ticks(self, ns: u64) -> u64 {
        let ticks = (u128::from(ns) << 32) / u128::from(self.scale.max(1));
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}

/// Counter and kernel clock read as close together as three tries allow.
fn pair() -> (u64, u64) {
    let once = || {
        let before = counter();
        let ns = monotonic_ns();
        let after = counter();
        (after.wrapping_sub(before), before.wrapping_add(after.wrapping_sub(before) / 2), ns)
    };
    let best = [once(), once(), once()].into_iter().min_by_key(|&(width, ..)| width);
    best.map_or((0, 0), |(_, ticks, ns)| (ticks, ns))
}

/// CPU time of this thread so far (ns), exact, where getrusage(2) is as old as the last tick.
pub fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is ours to fill in; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CLOCK_MONOTONIC in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec that we own; the call cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: rdtsc has no preconditions in user space on Linux unless PR_SET_TSC forbids it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: the virtual counter is readable from user space on Linux.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn counter() -> u64 {
    monotonic_ns()
}

/// Sleeps for `ns`.
///
/// # Errors
///
/// EINTR if a signal ended it early; what a seccomp filter says that refuses clock_nanosleep(2).
pub fn sleep(ns: u64) -> Result<(), Errno> {
    nanosleep(0, ns)
}

/// Sleeps until CLOCK_MONOTONIC is `ns`.
///
/// # Errors
///
/// As of [`sleep`].
pub fn sleep_until(ns: u64) -> Result<(), Errno> {
    nanosleep(libc::TIMER_ABSTIME, ns)
}

fn nanosleep(flags: libc::c_int, ns: u64) -> Result<(), Errno> {
    let time = libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `time` outlives the call; the rest is not asked for.
    let error = unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, flags, &raw const time, std::ptr::null_mut())
    };
    if error == 0 { Ok(()) } else { Err(Errno(error)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_and_kernel_agree_on_how_long_it_took() {
        let clock = Clock::calibrate(Source::Counter);
        let (ticks0, ns0) = pair();
        sleep(20_000_000).unwrap();
        let (ticks, ns) = pair();
        let (by_ticks, by_kernel) = (clock.ns(ticks - ticks0), ns - ns0);
        let apart = by_ticks.abs_diff(by_kernel);
        assert!(apart < by_kernel / 100, "{by_ticks} ns by ticks, {by_kernel} ns by the kernel");
    }

    #[test]
    fn ticks_and_ns_are_inverse() {
        for source in [Source::Counter, Source::Monotonic] {
            let clock = Clock::calibrate(source);
            for ns in [0, 1_000, 1_000_000_000, 86_400_000_000_000] {
                let back = clock.ns(clock.ticks(ns));
                assert!(back.abs_diff(ns) <= 2, "{ns} came back as {back}");
            }
        }
    }
}
