//! Sleeping for a time, with the least timer slack.
//!
//! Must not know: what wakes it early; the run's end does.

use super::Tools;
use crate::sys::Errno;
use crate::sys::clock::{monotonic_ns, sleep};

pub(super) fn perform(amount_ns: u64, tools: &Tools<'_>) -> Result<(), Errno> {
    if amount_ns == 0 {
        return Ok(());
    }
    let end = monotonic_ns().saturating_add(amount_ns);
    let mut left = amount_ns;
    loop {
        match sleep(left) {
            Err(Errno::INTERRUPTED) if (tools.stop)() => return Ok(()),
            // A signal that is not the run's end must not shorten the sleep.
            Err(Errno::INTERRUPTED) => left = end.saturating_sub(monotonic_ns()),
            slept => return slept,
        }
    }
}
