//! Spinning until a time has passed, whoever else ran meanwhile.
//!
//! Must not know: how much a CPU gets done in that time.

use super::Tools;
use crate::sys::Errno;

/// How often to ask whether to stop (ns).
const ASK_NS: u64 = 100_000;

pub(super) fn perform(amount_ns: u64, tools: &Tools<'_>) -> Result<(), Errno> {
    let start = tools.clock.now();
    let (amount, ask) = (tools.clock.ticks(amount_ns), tools.clock.ticks(ASK_NS));
    let mut next_ask = ask;
    loop {
        let passed = tools.clock.now().saturating_sub(start);
        if passed >= amount {
            return Ok(());
        }
        if passed >= next_ask {
            if (tools.stop)() {
                return Ok(());
            }
            next_ask = passed + ask;
        }
        std::hint::spin_loop();
    }
}
