//! Bare threads with small stacks.
//!
//! std's threads each map and register an alternate signal stack and keep a heap record; with
//! thousands of workers that is time and memory which the pattern under study does not have. Must
//! not know: what threads do.

use super::Errno;
use std::ffi::c_void;
use std::marker::PhantomData;

type Body<'env> = Box<dyn FnOnce() + Send + 'env>;

/// Threads that borrow from `'env`; [`crew`] lends one and joins them all.
#[derive(Debug)]
pub struct Crew<'env> {
    threads: Vec<libc::pthread_t>,
    borrowed: PhantomData<fn(&'env ()) -> &'env ()>,
}

/// Runs `work` with a crew to start threads in, and joins them, in the order in which they were
/// started, before it returns.
pub fn crew<'env, R>(work: impl FnOnce(&mut Crew<'env>) -> R) -> R {
    let mut crew = Crew {
        threads: Vec::new(),
        borrowed: PhantomData,
    };
    work(&mut crew)
}

impl<'env> Crew<'env> {
    /// Starts a thread with a stack of `stack_bytes` (at least the system's minimum) and a guard
    /// page. A panic in it ends the process.
    ///
    /// # Errors
    ///
    /// EAGAIN when a limit on tasks or memory is reached.
    pub fn spawn(&mut self, stack_bytes: usize, body: Body<'env>) -> Result<(), Errno> {
        self.threads.reserve(1);
        let body: *mut Body<'env> = Box::into_raw(Box::new(body));
        // SAFETY: the attributes are initialised before and destroyed after use; `enter` frees
        // `body`, which we take back when there is no thread. What the body borrows lives for
        // 'env, and the thread is joined when the crew is dropped, which `crew` does within 'env
        // and nobody can forget, since it only lends the crew.
        unsafe {
            let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
            let mut thread: libc::pthread_t = std::mem::zeroed();
            libc::pthread_attr_init(&raw mut attributes);
            let stack = stack_bytes.max(libc::PTHREAD_STACK_MIN);
            libc::pthread_attr_setstacksize(&raw mut attributes, stack);
            let failed =
                libc::pthread_create(&raw mut thread, &raw const attributes, enter, body.cast());
            libc::pthread_attr_destroy(&raw mut attributes);
            if failed != 0 {
                drop(Box::from_raw(body));
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

extern "C" fn enter(body: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` made this pointer for this thread alone.
    let body = unsafe { Box::from_raw(body.cast::<Body<'_>>()) };
    // A panic ends the process: it cannot unwind into C.
    body();
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

    #[test]
    fn a_crew_borrows_and_is_joined() {
        let sum = AtomicU32::new(0);
        crew(|crew| {
            for n in 1..=10 {
                let sum = &sum;
                let body = Box::new(move || {
                    sum.fetch_add(n, Ordering::Relaxed);
                });
                crew.spawn(64 << 10, body).unwrap();
            }
        });
        assert_eq!(sum.load(Ordering::Relaxed), 55);
    }
}
