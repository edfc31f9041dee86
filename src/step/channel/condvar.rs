//! A counter behind a parking_lot mutex with a condition variable: two queues in user space above
//! the futex.
//!
//! parking_lot waits through signals, so stopping goes through [`Channel::interrupt`]. Must not
//! know: what a message holds; none is carried.

use super::{Channel, Hitch, Instance, OpenError, Opening};
use parking_lot::{Condvar, Mutex};

#[derive(Default)]
pub(super) struct Counter {
    posted: Mutex<Posted>,
    changed: Condvar,
}

#[derive(Default)]
struct Posted {
    count: u64,
    closed: bool,
}

pub(super) fn open<'a>(_: &Opening<'a>) -> Result<Instance<'a>, OpenError> {
    Ok(Instance::from(Counter::default()))
}

impl Channel for Counter {
    // Too large to be in the step loop.
    #[inline(never)]
    fn wake(&self, _: &[u8]) -> Result<(), Hitch> {
        self.posted.lock().count += 1;
        self.changed.notify_one();
        Ok(())
    }

    #[inline(never)]
    fn wait(&self, _: &mut [u8]) -> Result<(), Hitch> {
        let mut posted = self.posted.lock();
        while posted.count == 0 {
            if posted.closed {
                return Err(Hitch::Interrupted);
            }
            self.changed.wait(&mut posted);
        }
        posted.count -= 1;
        Ok(())
    }

    fn interrupt(&self) {
        self.posted.lock().closed = true;
        self.changed.notify_all();
    }
}
