//! A bounded crossbeam channel: lock-free while it is neither empty nor full, then a little
//! spinning, then a park.
//!
//! Bounded, since an unbounded one allocates as it grows. Its waits go on through signals, so
//! stopping goes through [`Channel::interrupt`]. Must not know: what a message holds; it carries
//! none.

use super::{Channel, Hitch, Instance, OpenError, Opening};
use crossbeam::channel::{Receiver, Sender, bounded};

/// Messages that fit before a waker blocks; about what a pipe holds of hackbench's.
const CAPACITY: usize = 512;

/// What goes through the queue.
enum Item {
    Message,
    /// The run is over.
    Stop,
}

pub(super) struct Queue {
    into: Sender<Item>,
    out: Receiver<Item>,
}

pub(super) fn open<'a>(_: &Opening<'a>) -> Result<Instance<'a>, OpenError> {
    let (into, out) = bounded(CAPACITY);
    Ok(Instance::from(Queue { into, out }))
}

impl Channel for Queue {
    // Too large to be in the step loop.
    #[inline(never)]
    fn wake(&self, _: &[u8]) -> Result<(), Hitch> {
        // Both ends live as long as `self`, so neither call can find the other side gone.
        self.into.send(Item::Message).map_err(|_| Hitch::Ended)
    }

    #[inline(never)]
    fn wait(&self, _: &mut [u8]) -> Result<(), Hitch> {
        match self.out.recv() {
            Ok(Item::Message) => Ok(()),
            Ok(Item::Stop) => Err(Hitch::Interrupted),
            Err(_) => Err(Hitch::Ended),
        }
    }

    fn interrupt(&self) {
        // A full queue has blocked wakers and no blocked wakees, an empty one the reverse: make
        // room for the one, send word to the other, to as many as it holds each time we are called.
        if self.out.is_full() {
            (0..CAPACITY).map_while(|_| self.out.try_recv().ok()).for_each(drop);
        } else {
            let words = (0..CAPACITY).map_while(|_| self.into.try_send(Item::Stop).ok());
            words.for_each(drop);
        }
    }
}
