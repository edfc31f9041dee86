//! Telling of each second of the window, for who reports on the way.
//!
//! Must not know: what is done with it.

use super::{Tell, roster};
use crate::plan::Plan;
use crate::record::gather;
use crate::record::memory::Memory;

const S: u64 = 1_000_000_000;

/// Who wants to be told, and when next.
pub(super) struct Seconds<'a> {
    tell: Option<&'a Tell<'a>>,
    next_ns: u64,
}

impl<'a> Seconds<'a> {
    pub(super) fn new(tell: Option<&'a Tell<'a>>) -> Seconds<'a> {
        Seconds { tell, next_ns: S }
    }

    /// Tells of a second that has passed since the window began, once for each; the time until the
    /// next one is due (ns).
    pub(super) fn tell(&mut self, passed_ns: u64, plan: &Plan, memory: &Memory) -> u64 {
        let Some(tell) = self.tell else { return u64::MAX };
        while passed_ns >= self.next_ns {
            tell(&gather::series(memory, &roster::task_ids(plan)));
            self.next_ns += S;
        }
        self.next_ns - passed_ns
    }
}
