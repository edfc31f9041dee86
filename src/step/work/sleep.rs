//! Sleeping for a time, with the least timer slack.
//!
//! Must not know: what wakes it early; the run's end does.

use super::Tools;
use crate::sys::clock::{monotonic_ns, sleep};

pub(super) fn perform(amount_ns: u64, tools: &Tools<'_>) {
    if amount_ns == 0 {
        return;
    }
    let end = monotonic_ns().saturating_add(amount_ns);
    let mut left = amount_ns;
    // A signal that is not the run's end must not shorten the sleep.
    while !sleep(left) && !(tools.stop)() {
        left = end.saturating_sub(monotonic_ns());
    }
}
