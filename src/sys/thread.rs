//! Bare threads with small stacks.
//!
//! std's threads each map and register an alternate signal stack and keep a heap record; with
//! thousands of workers that is time and memory which the pattern under study does not have. Must
//! not know: what threads do.

use super::Errno;
use std::ffi::c_void;
use std::marker::PhantomData;

/// What a thread of a [`Crew`] does. The thread borrows it, so that it need not free anything:
/// a thread's first call into the allocator would give it an arena of its own.
pub trait Task: Send {
    fn run(&mut self);
}

/// Threads that borrow from `'env`; [`crew`] lends one and joins them all.
#[derive(Debug)]
pub struct Crew<'env> {
    threads: Vec<libc::pthread_t>,
    borrowed: PhantomData<fn(&'env ()) -> &'env ()>,
}

/// Runs `work` with a crew to start threads in, and joins them, in the order in which they were
/// started, before it returns.
pub fn crew<'env, R>(work: impl FnOnce(&mut Crew<'env>) -> R) -> R {
    let mut crew = Crew { threads: Vec::new(), borrowed: PhantomData };
    work(&mut crew)
}

impl<'env> Crew<'env> {
    /// Starts a thread with a stack of `stack_bytes` (at least the system's minimum) and a guard
    /// page. A panic in it ends the process.
    ///
    /// # Errors
    ///
    /// EAGAIN when a limit on tasks or memory is reached.
    pub fn spawn<T: Task>(&mut self, stack_bytes: usize, task: &'env mut T) -> Result<(), Errno> {
        self.threads.reserve(1);
        let task: *mut T = task;
        // SAFETY: the attributes are initialised before and destroyed after use. The task is
        // borrowed for 'env, for the thread alone, and the thread is joined when the crew is
        // dropped, which `crew` does within 'env and nobody can forget, since it only lends it.
        unsafe {
            let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
            let mut thread: libc::pthread_t = std::mem::zeroed();
            libc::pthread_attr_init(&raw mut attributes);
            let stack = stack_bytes.max(libc::PTHREAD_STACK_MIN);
            libc::pthread_attr_setstacksize(&raw mut attributes, stack);
            let attr = &raw const attributes;
            let failed = libc::pthread_create(&raw mut thread, attr, enter::<T>, task.cast());
            libc::pthread_attr_destroy(&raw mut attributes);
            if failed != 0 {
                return Err(Errno(failed));
            }
            self.threads.push(thread);
        }
        Ok(())
    }

    /// Waits until all threads started so far have ended.
    pub fn join(&mut self) {
        for thread in self.threads.drain(..) {
            // SAFETY: a joinable thread that is joined once, since it is taken out of the list.
            unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
        }
    }
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        self.join();
    }
}

extern "C" fn enter<T: Task>(task: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` borrowed it for this thread alone. A panic ends the process: it cannot
    // unwind into C.
    unsafe { (*task.cast::<T>()).run() };
    std::ptr::null_mut()
}

/// The kernel's numbers of the calling thread: process and thread.
pub fn ids() -> (u32, u32) {
    // SAFETY: no arguments, no failure.
    unsafe { (libc::getpid() as u32, libc::gettid() as u32) }
}

/// Names the calling thread, cut to the kernel's 15 bytes.
pub fn set_name(name: &str) {
    let mut buffer = [0u8; 16];
    let n = name.len().min(15);
    buffer[..n].copy_from_slice(&name.as_bytes()[..n]);
    // SAFETY: a C string of at most 16 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, buffer.as_ptr()) };
}

/// Sets the timer slack of the calling thread to 1 ns: by default a sleep may end 50 us late.
pub fn set_least_timer_slack() {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    struct Add<'a>(&'a AtomicU32, u32);

    impl Task for Add<'_> {
        fn run(&mut self) {
            self.0.fetch_add(self.1, Ordering::Relaxed);
            self.1 = 0;
        }
    }

    #[test]
    fn a_crew_borrows_and_is_joined() {
        let sum = AtomicU32::new(0);
        let mut tasks: Vec<Add<'_>> = (1..=10).map(|n| Add(&sum, n)).collect();
        crew(|crew| {
            for task in &mut tasks {
                crew.spawn(64 << 10, task).unwrap();
            }
        });
        assert!(tasks.iter().all(|task| task.1 == 0));
        assert_eq!(sum.load(Ordering::Relaxed), 55);
    }
}
