//! Words that tasks meet on: what the lock-free parts of the crate need of an atomic.
//!
//! Code that is generic over them runs on the machine's atomics, and in tests on those of
//! `model.rs`, where loom tries the orders in which tasks can come and the values that each may
//! see. Must not know: what a word means.

use super::Errno;
use super::futex::{self, Scope};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// An atomic number; each method is the atomic's own.
pub trait Word<T>: Sync {
    fn load(&self, order: Ordering) -> T;
    fn store(&self, value: T, order: Ordering);
    fn fetch_add(&self, value: T, order: Ordering) -> T;
    fn fetch_sub(&self, value: T, order: Ordering) -> T;
    fn compare_exchange_weak(
        &self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T>;
}

/// A word on which tasks can sleep.
pub trait Sleeping: Word<u32> {
    /// See [`futex::wait`].
    fn wait(&self, expected: u32, scope: Scope) -> Result<(), Errno>;
    /// See [`futex::wake`].
    fn wake(&self, n: u32, scope: Scope) -> Result<usize, Errno>;
}

/// [`Word`] for a type whose own methods do it.
macro_rules! word {
    ($atomic:ty, $number:ty) => {
        impl $crate::sys::word::Word<$number> for $atomic {
            #[inline(always)]
            fn load(&self, order: Ordering) -> $number {
                self.load(order)
            }

            #[inline(always)]
            fn store(&self, value: $number, order: Ordering) {
                self.store(value, order);
            }

            #[inline(always)]
            fn fetch_add(&self, value: $number, order: Ordering) -> $number {
                self.fetch_add(value, order)
            }

            #[inline(always)]
            fn fetch_sub(&self, value: $number, order: Ordering) -> $number {
                self.fetch_sub(value, order)
            }

            #[inline(always)]
            fn compare_exchange_weak(
                &self,
                current: $number,
                new: $number,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$number, $number> {
                self.compare_exchange_weak(current, new, success, failure)
            }
        }
    };
}
#[cfg(test)]
pub(super) use word;

word!(AtomicU32, u32);
word!(AtomicU64, u64);

impl Sleeping for AtomicU32 {
    #[inline(always)]
    fn wait(&self, expected: u32, scope: Scope) -> Result<(), Errno> {
        futex::wait(self, expected, scope)
    }

    #[inline(always)]
    fn wake(&self, n: u32, scope: Scope) -> Result<usize, Errno> {
        futex::wake(self, n, scope)
    }
}
