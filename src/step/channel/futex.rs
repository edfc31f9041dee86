//! A counting semaphore on a futex: the shortest way from one task to another.
//!
//! A waker calls into the kernel only if somebody waits, as every lock built on futexes does.
//! Must not know: what a message holds; none is carried.

use super::{Call, Channel, Hitch, OpenError, Opening, Scope};
use crate::plain;
use crate::sys::{Errno, futex};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

plain! {
    /// In shared memory; zero is the initial state.
    pub(super) struct Semaphore {
        /// Messages posted and not taken.
        count: AtomicU32,
        waiting: AtomicU32,
    }
}

struct Futex<'a> {
    semaphore: &'a Semaphore,
    scope: Scope,
}

pub(super) fn open<'a>(opening: &Opening<'a>) -> Result<Box<dyn Channel + 'a>, OpenError> {
    let semaphore = opening.shared.at(opening.offset);
    Ok(Box::new(Futex { semaphore, scope: opening.scope }))
}

impl Channel for Futex<'_> {
    fn wake(&self, _: &[u8]) -> Result<(), Hitch> {
        // Pairs with the Acquire in `wait`. SeqCst against `waiting`: either we see the wakee's
        // mark here, or it sees our count before it sleeps.
        self.semaphore.count.fetch_add(1, SeqCst);
        if self.semaphore.waiting.load(SeqCst) > 0 {
            let woken = futex::wake(&self.semaphore.count, 1, self.scope);
            woken.map_err(|errno| Hitch::Failed { call: Call::FutexWake, errno })?;
        }
        Ok(())
    }

    fn wait(&self, _: &mut [u8]) -> Result<(), Hitch> {
        if self.take() {
            return Ok(());
        }
        self.semaphore.waiting.fetch_add(1, SeqCst);
        let taken = loop {
            if self.take() {
                break Ok(());
            }
            match futex::wait(&self.semaphore.count, 0, self.scope) {
                Ok(()) => {}
                Err(Errno::INTERRUPTED) => break Err(Hitch::Interrupted),
                Err(errno) => {
                    break Err(Hitch::Failed { call: Call::FutexWait, errno });
                }
            }
        };
        self.semaphore.waiting.fetch_sub(1, Relaxed);
        taken
    }
}

impl Futex<'_> {
    /// Takes one if there is one.
    #[inline]
    fn take(&self) -> bool {
        let count = &self.semaphore.count;
        let mut now = count.load(SeqCst);
        while now > 0 {
            match count.compare_exchange_weak(now, now - 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_row_gives_it_enough_room() {
        let row = crate::step::channel::find("futex").unwrap();
        assert!(size_of::<Semaphore>() <= row.state_bytes);
    }
}
