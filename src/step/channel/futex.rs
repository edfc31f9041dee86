//! A counting semaphore on a futex: the shortest way from one task to another.
//!
//! A waker calls into the kernel only if somebody waits, as every lock built on futexes does.
//! Must not know: what a message holds; none is carried.

use super::{Call, Channel, Hitch, Instance, OpenError, Opening, Scope};
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

/// Messages that may lie posted and not taken; what is above leaves room for wakers at once.
const FULL: u32 = u32::MAX / 2;

pub(super) struct Futex<'a> {
    semaphore: &'a Semaphore,
    scope: Scope,
}

pub(super) fn open<'a>(opening: &Opening<'a>) -> Result<Instance<'a>, OpenError> {
    let semaphore = opening.shared.at(opening.offset);
    Ok(Instance::from(Futex { semaphore, scope: opening.scope }))
}

impl Channel for Futex<'_> {
    #[inline(always)]
    fn wake(&self, _: &[u8]) -> Result<(), Hitch> {
        // Pairs with the Acquire in `wait`. SeqCst against `waiting`: either we see the wakee's
        // mark here, or it sees our count before it sleeps.
        if self.semaphore.count.fetch_add(1, SeqCst) > FULL {
            // A flood that nobody keeps up with must not wrap around and be lost.
            self.semaphore.count.fetch_sub(1, SeqCst);
            let errno = Errno(libc::EOVERFLOW);
            return Err(Hitch::Failed { call: Call::FutexWake, errno });
        }
        if self.semaphore.waiting.load(SeqCst) > 0 {
            let woken = futex::wake(&self.semaphore.count, 1, self.scope);
            woken.map_err(|errno| Hitch::Failed { call: Call::FutexWake, errno })?;
        }
        Ok(())
    }

    #[inline(always)]
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
    #[inline(always)]
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
    fn a_counter_that_is_full_says_so() {
        let shared = crate::sys::Shared::create(64).unwrap();
        let semaphore: &Semaphore = shared.at(0);
        semaphore.count.store(FULL + 1, SeqCst);
        let hitch = Futex { semaphore, scope: Scope::Private }.wake(&[]);
        let errno = Errno(libc::EOVERFLOW);
        assert_eq!(hitch, Err(Hitch::Failed { call: Call::FutexWake, errno }));
        assert_eq!(semaphore.count.load(SeqCst), FULL + 1);
    }

    #[test]
    fn its_row_gives_it_enough_room() {
        let row = crate::step::channel::find("futex").unwrap();
        assert!(size_of::<Semaphore>() <= row.state_bytes);
    }
}
