//! parking_lot's raw locks around nothing, taken and given back by calls that may be far apart.
//!
//! A guard would have to live in between, and it may not change threads. Must not know: what is
//! done with a lock held.

use parking_lot::lock_api::{RawMutex as _, RawRwLock as _};
use parking_lot::{RawMutex, RawRwLock};

/// A mutex of nothing.
pub struct Mutex(RawMutex);

impl Default for Mutex {
    fn default() -> Self {
        Mutex(RawMutex::INIT)
    }
}

impl Mutex {
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    pub fn lock(&self) {
        self.0.lock();
    }

    /// Gives it back. Does nothing if nobody has it.
    #[inline]
    pub fn unlock(&self) {
        if self.0.is_locked() {
            // SAFETY: it is locked, and it guards no memory: who gave back another's lock would
            // break that one's exclusion and nothing else.
            unsafe { self.0.unlock() };
        }
    }
}

/// A reader-writer lock of nothing.
pub struct RwLock(RawRwLock);

impl Default for RwLock {
    fn default() -> Self {
        RwLock(RawRwLock::INIT)
    }
}

impl RwLock {
    #[inline]
    pub fn try_read(&self) -> bool {
        self.0.try_lock_shared()
    }

    pub fn read(&self) {
        self.0.lock_shared();
    }

    #[inline]
    pub fn try_write(&self) -> bool {
        self.0.try_lock_exclusive()
    }

    pub fn write(&self) {
        self.0.lock_exclusive();
    }

    /// Gives a read lock back, which the caller has. That it also looks locked for writing is no
    /// sign that nobody reads: a writer that waits for the readers has its mark there already.
    #[inline]
    pub fn unlock_read(&self) {
        if self.0.is_locked() {
            // SAFETY: it is locked, and it guards no memory: who gave back what another has would
            // break that one's exclusion and nothing else.
            unsafe { self.0.unlock_shared() };
        }
    }

    /// Gives a write lock back. Does nothing if nobody has it for writing.
    #[inline]
    pub fn unlock_write(&self) {
        if self.0.is_locked_exclusive() {
            // SAFETY: it is locked for writing, and it guards no memory.
            unsafe { self.0.unlock_exclusive() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_stays_free() {
        let mutex = Mutex::default();
        mutex.unlock();
        assert!(mutex.try_lock() && !mutex.try_lock());
        mutex.unlock();
        assert!(mutex.try_lock());
        let lock = RwLock::default();
        lock.unlock_read();
        lock.unlock_write();
        assert!(lock.try_read() && lock.try_read() && !lock.try_write());
        lock.unlock_write();
        assert!(!lock.try_write());
        lock.unlock_read();
        lock.unlock_read();
        assert!(lock.try_write() && !lock.try_read());
        lock.unlock_write();
        assert!(lock.try_read());
    }

    /// The writer marks the lock as its own before the reader has left.
    #[test]
    fn a_reader_leaves_to_a_writer_that_waits() {
        let lock = RwLock::default();
        lock.read();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                lock.write();
                lock.unlock_write();
            });
            while !lock.0.is_locked_exclusive() {
                std::thread::yield_now();
            }
            lock.unlock_read();
        });
        assert!(lock.try_write());
    }
}
