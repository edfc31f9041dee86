//! Words under loom, which runs a model again for each order in which its tasks can come and for
//! each value that a load may see, and fails if one of them panics or leaves all asleep.
//!
//! Must not know: what a word means; what the code under test does.

use super::Errno;
use super::futex::Scope;
use super::word::{Sleeping, Word, word};
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use loom::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::PoisonError;

/// Runs the model in every order with at most this many preemptions: faults of such small parts
/// need two, and each more makes it ten times as long.
pub fn model(preemptions: usize, tasks: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(tasks);
}

word!(AtomicU64, u64);

/// A word with the kernel's queue of those who sleep on it.
#[derive(Debug, Default)]
pub struct ModelWord {
    word: AtomicU32,
    queue: Mutex<Queue>,
    turn: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    n_slept: u32,
    asleep: VecDeque<u32>,
}

impl ModelWord {
    pub fn new(value: u32) -> ModelWord {
        ModelWord { word: AtomicU32::new(value), ..ModelWord::default() }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// loom takes accesses that are SeqCst for AcqRel ones, but knows fences that are. A fence before
/// each such access makes it what it says.
fn strong(order: Ordering) -> Ordering {
    if order == Ordering::SeqCst {
        fence(order);
    }
    order
}

impl Word<u32> for ModelWord {
    fn load(&self, order: Ordering) -> u32 {
        let order = strong(order);
        self.word.load(order)
    }

    fn store(&self, value: u32, order: Ordering) {
        let order = strong(order);
        self.word.store(value, order);
    }

    fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
        let order = strong(order);
        self.word.fetch_add(value, order)
    }

    fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
        let order = strong(order);
        self.word.fetch_sub(value, order)
    }

    fn compare_exchange_weak(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        self.word.compare_exchange_weak(current, new, success, failure)
    }
}

/// As futex(2): the value is compared and the sleeper queued under one lock, which a waker takes
/// too (kernel/futex/waitwake.c, futex_wait_setup and futex_wake, v6.12). A full barrier stands
/// before the waiter's load and before the waker's look at the queue (futex_hb_waiters_inc and
/// _pending).
impl Sleeping for ModelWord {
    fn wait(&self, expected: u32, _: Scope) -> Result<(), Errno> {
        let mut queue = self.queue();
        if self.load(Ordering::SeqCst) != expected {
            return Ok(());
        }
        let me = queue.n_slept;
        queue.n_slept += 1;
        queue.asleep.push_back(me);
        while queue.asleep.contains(&me) {
            queue = self.turn.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    fn wake(&self, n: u32, _: Scope) -> Result<usize, Errno> {
        fence(Ordering::SeqCst);
        let mut queue = self.queue();
        let n = queue.asleep.len().min(n as usize);
        queue.asleep.drain(..n);
        self.turn.notify_all();
        Ok(n)
    }
}
