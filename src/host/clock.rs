//! Whether the cycle counter may serve as a clock: the kernel's own choice is asked.
//!
//! The kernel watches its clocksource for drift between CPUs and across idle states, for as long
//! as it runs; no test that a program makes at its start can. Must not know: how the counter is
//! read (`sys::clock`).

use super::Host;
use crate::base::{Reading, State};

/// The key of the fact that tells the kernel's clocksource.
pub(super) const CLOCKSOURCE: &str = "clocksource";

/// A value if the kernel itself keeps time by the counter that user space can read.
pub fn cycle_counter_trusted(host: &Host) -> Reading<()> {
    match host.fact(CLOCKSOURCE) {
        Some(fact) => trusted(std::env::consts::ARCH, &fact.value),
        None => Reading::absent(State::Absent, "the kernel's clocksource was not read"),
    }
}

fn trusted(architecture: &str, clocksource: &Reading<String>) -> Reading<()> {
    let counter = match architecture {
        "x86_64" => "tsc",
        "aarch64" => "arch_sys_counter",
        _ => {
            let reason = format!("no counter is known that user space can read on {architecture}");
            return Reading::absent(State::NotSupported, reason);
        }
    };
    match clocksource {
        Reading::Value(name) if name == counter => Reading::Value(()),
        Reading::Value(name) => Reading::absent(
            State::Disabled,
            format!("the kernel keeps time by {name}, not by {counter}"),
        ),
        Reading::Absent(absence) => Reading::Absent(absence.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_choice_decides() {
        let check = |architecture: &str, clocksource: &str, state: State, reason: &str| {
            let got = trusted(architecture, &Reading::Value(clocksource.to_owned()));
            assert_eq!((got.state(), got.reason()), (state, reason));
        };
        check("x86_64", "tsc", State::Ok, "");
        check("aarch64", "arch_sys_counter", State::Ok, "");
        let hpet = "the kernel keeps time by hpet, not by tsc";
        check("x86_64", "hpet", State::Disabled, hpet);
        let early = "the kernel keeps time by tsc-early, not by tsc";
        check("x86_64", "tsc-early", State::Disabled, early);
        let unknown = "no counter is known that user space can read on riscv64";
        check("riscv64", "riscv_clocksource", State::NotSupported, unknown);
        let missing = trusted("x86_64", &Reading::absent(State::Absent, "there is no sysfs"));
        assert_eq!((missing.state(), missing.reason()), (State::Absent, "there is no sysfs"));
    }
}
