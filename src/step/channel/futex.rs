//! A counting semaphore on a futex: the shortest way from one task to another.
//!
//! A waker calls into the kernel only if somebody waits, as every lock built on futexes does.
//! Must not know: what a message holds; none is carried.

use super::{Call, Channel, Hitch, Instance, OpenError, Opening, Scope};
use crate::plain;
use crate::sys::Errno;
use crate::sys::word::Sleeping;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

plain! {
    /// In shared memory; zero is the initial state.
    pub(super) struct Semaphore {
        count: AtomicU32,
        waiting: AtomicU32,
    }
}

/// Messages that may lie posted and not taken; what is above leaves room for wakers at once.
const FULL: u32 = u32::MAX / 2;

pub(super) struct Futex<'a, W = AtomicU32> {
    /// Messages posted and not taken.
    count: &'a W,
    /// Wakees that found none.
    waiting: &'a W,
    scope: Scope,
}

pub(super) fn open<'a>(opening: &Opening<'a>) -> Result<Instance<'a>, OpenError> {
    let Semaphore { count, waiting } = opening.shared.at(opening.offset);
    Ok(Instance::from(Futex { count, waiting, scope: opening.scope }))
}

impl<W: Sleeping> Channel for Futex<'_, W> {
    #[inline(always)]
    fn wake(&self, _: &[u8]) -> Result<(), Hitch> {
        // Pairs with the Acquire in `wait`. SeqCst against `waiting`: either we see the wakee's
        // mark here, or it sees our count before it sleeps.
        if self.count.fetch_add(1, SeqCst) > FULL {
            // A flood that nobody keeps up with must not wrap around and be lost.
            self.count.fetch_sub(1, SeqCst);
            let errno = Errno(libc::EOVERFLOW);
            return Err(Hitch::Failed { call: Call::FutexWake, errno });
        }
        if self.waiting.load(SeqCst) > 0 {
            let woken = self.count.wake(1, self.scope);
            woken.map_err(|errno| Hitch::Failed { call: Call::FutexWake, errno })?;
        }
        Ok(())
    }

    #[inline(always)]
    fn wait(&self, _: &mut [u8]) -> Result<(), Hitch> {
        if self.take() {
            return Ok(());
        }
        self.waiting.fetch_add(1, SeqCst);
        let taken = loop {
            if self.take() {
                break Ok(());
            }
            match self.count.wait(0, self.scope) {
                Ok(()) => {}
                Err(Errno::INTERRUPTED) => break Err(Hitch::Interrupted),
                Err(errno) => {
                    break Err(Hitch::Failed { call: Call::FutexWait, errno });
                }
            }
        };
        self.waiting.fetch_sub(1, Relaxed);
        taken
    }
}

impl<W: Sleeping> Futex<'_, W> {
    /// Takes one if there is one.
    #[inline(always)]
    fn take(&self) -> bool {
        let count = self.count;
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
    use crate::sys::model::{ModelWord, model};
    use crate::sys::word::Word;
    use loom::sync::Arc;
    use loom::thread::spawn;

    #[test]
    fn a_counter_that_is_full_says_so() {
        let shared = crate::sys::Shared::create(64).unwrap();
        let Semaphore { count, waiting } = shared.at(0);
        count.store(FULL + 1, SeqCst);
        let hitch = Futex { count, waiting, scope: Scope::Private }.wake(&[]);
        let errno = Errno(libc::EOVERFLOW);
        assert_eq!(hitch, Err(Hitch::Failed { call: Call::FutexWake, errno }));
        assert_eq!(count.load(SeqCst), FULL + 1);
    }

    #[test]
    fn its_row_gives_it_enough_room() {
        let row = crate::step::channel::find("futex").unwrap();
        assert!(size_of::<Semaphore>() <= row.state_bytes);
    }

    /// So many wakers and wakees, each with so many messages, in every order.
    fn nothing_is_lost(wakers: (usize, u32), wakees: (usize, u32)) {
        model(2, move || {
            let words = Arc::new([ModelWord::new(0), ModelWord::new(0)]);
            let task = |n: u32, act: fn(&Futex<'_, ModelWord>)| {
                let words = words.clone();
                move || {
                    let [count, waiting] = &*words;
                    let futex = Futex { count, waiting, scope: Scope::Private };
                    (0..n).for_each(|_| act(&futex));
                }
            };
            let wake = || task(wakers.1, |futex| futex.wake(&[]).unwrap());
            let wait = || task(wakees.1, |futex| futex.wait(&mut []).unwrap());
            let mut others: Vec<_> = (1..wakers.0).map(|_| spawn(wake())).collect();
            others.extend((0..wakees.0).map(|_| spawn(wait())));
            wake()();
            others.into_iter().for_each(|task| task.join().unwrap());
            assert_eq!(words.each_ref().map(|word| word.load(SeqCst)), [0, 0]);
        });
    }

    #[test]
    fn each_wake_ends_one_wait() {
        nothing_is_lost((1, 2), (1, 2));
        nothing_is_lost((2, 1), (1, 2));
        nothing_is_lost((1, 2), (2, 1));
    }
}
