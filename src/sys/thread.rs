//! Bare threads with small stacks.
//!
//! std's threads each map and register an alternate signal stack and keep a heap record; with
//! thousands of workers that is time and memory which the pattern under study does not have. Must
//! not know: what threads do.

use super::Errno;
use std::collections::HashMap;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a thread of a [`Crew`] does. The thread borrows it, so that it need not free anything:
/// a thread's first call into the allocator would give it an arena of its own.
pub trait Task: Send {
    fn run(&mut self);
}

/// Tasks that are ready and wait to be started, by any thread that has a look at them.
///
/// They belong to one crew at a time, which plants them and, before it ends, takes back what was
/// not started and joins what was.
#[derive(Debug, Default)]
pub struct Seeds(Mutex<Planted>);

#[derive(Debug, Default)]
struct Planted {
    seeds: HashMap<usize, Seed>,
    started: Vec<libc::pthread_t>,
}

#[derive(Debug, Clone, Copy)]
struct Seed {
    task: *mut c_void,
    enter: extern "C" fn(*mut c_void) -> *mut c_void,
    stack_bytes: usize,
}

// SAFETY: the pointer is to a task that is `Send` and borrowed for the seed alone.
unsafe impl Send for Seed {}

impl Seeds {
    fn planted(&self) -> MutexGuard<'_, Planted> {
        // Nothing that is done under the lock can leave it in between.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the task planted under this number.
    ///
    /// # Errors
    ///
    /// ESRCH if there is none, or no more; EAGAIN when a limit on tasks or memory is reached.
    pub fn start(&self, number: usize) -> Result<(), Errno> {
        let mut planted = self.planted();
        let seed = planted.seeds.remove(&number).ok_or(Errno(libc::ESRCH))?;
        // SAFETY: the crew that planted it has not ended, since it would have taken it back; it
        // joins the thread before it does.
        let thread = unsafe { start(seed) }?;
        planted.started.push(thread);
        Ok(())
    }

    /// Takes back what was not started and waits for what was.
    fn join(&self) {
        let started = {
            let mut planted = self.planted();
            planted.seeds.clear();
            std::mem::take(&mut planted.started)
        };
        for thread in started {
            // SAFETY: a joinable thread that is joined once, since it is taken out of the list.
            unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
        }
    }
}

/// Starts a thread for a task.
///
/// # Safety
///
/// The task must live until the thread has been joined, and nobody else may use it meanwhile.
unsafe fn start(seed: Seed) -> Result<libc::pthread_t, Errno> {
    // SAFETY: the attributes are initialised before and destroyed after use.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        let mut thread: libc::pthread_t = std::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        let stack = seed.stack_bytes.max(libc::PTHREAD_STACK_MIN);
        libc::pthread_attr_setstacksize(&raw mut attributes, stack);
        let attr = &raw const attributes;
        let failed = libc::pthread_create(&raw mut thread, attr, seed.enter, seed.task);
        libc::pthread_attr_destroy(&raw mut attributes);
        if failed != 0 { Err(Errno(failed)) } else { Ok(thread) }
    }
}

/// Threads that borrow from `'env`; [`crew`] lends one and joins them all.
#[derive(Debug)]
pub struct Crew<'env> {
    threads: Vec<libc::pthread_t>,
    seeds: &'env Seeds,
    borrowed: PhantomData<fn(&'env ()) -> &'env ()>,
}

/// Runs `work` with a crew to start threads in, and joins them, in the order in which they were
/// started, before it returns; then what grew from its seeds.
pub fn crew<'env, R>(seeds: &'env Seeds, work: impl FnOnce(&mut Crew<'env>) -> R) -> R {
    let mut crew = Crew { threads: Vec::new(), seeds, borrowed: PhantomData };
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
        let task = std::ptr::from_mut(task).cast();
        // SAFETY: the task is borrowed for 'env, for the thread alone, and the thread is joined
        // when the crew is dropped, which `crew` does within 'env and nobody can forget, since it
        // only lends it.
        let thread = unsafe { start(Seed { task, enter: enter::<T>, stack_bytes }) }?;
        self.threads.push(thread);
        Ok(())
    }

    /// Makes a task ready to be started through the seeds, under this number.
    pub fn plant<T: Task>(&mut self, number: usize, stack_bytes: usize, task: &'env mut T) {
        let task = std::ptr::from_mut(task).cast();
        self.seeds.planted().seeds.insert(number, Seed { task, enter: enter::<T>, stack_bytes });
    }

    /// Waits until all threads started so far have ended.
    pub fn join(&mut self) {
        for thread in self.threads.drain(..) {
            // SAFETY: a joinable thread that is joined once, since it is taken out of the list.
            unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
        }
        // Those could still start others; now nobody can but what was started, which does not.
        self.seeds.join();
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

/// Sets the timer slack of the calling thread (ns, at least 1): by default a sleep may end 50 us
/// late.
pub fn set_timer_slack(ns: u64) {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) };
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
    fn seeds_start_once_and_only_within_their_crew() {
        let sum = AtomicU32::new(0);
        let seeds = Seeds::default();
        let mut tasks: Vec<Add<'_>> = (1..=3).map(|n| Add(&sum, n)).collect();
        crew(&seeds, |crew| {
            for (number, task) in tasks.iter_mut().enumerate() {
                crew.plant(number, 64 << 10, task);
            }
            assert_eq!(seeds.start(1), Ok(()));
            assert_eq!(seeds.start(1), Err(Errno(libc::ESRCH)));
        });
        assert_eq!(seeds.start(0), Err(Errno(libc::ESRCH)));
        assert_eq!(sum.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_crew_borrows_and_is_joined() {
        let sum = AtomicU32::new(0);
        let mut tasks: Vec<Add<'_>> = (1..=10).map(|n| Add(&sum, n)).collect();
        crew(&Seeds::default(), |crew| {
            for task in &mut tasks {
                crew.spawn(64 << 10, task).unwrap();
            }
        });
        assert!(tasks.iter().all(|task| task.1 == 0));
        assert_eq!(sum.load(Ordering::Relaxed), 55);
    }

    #[test]
    fn timer_slack_is_the_threads_own() {
        // SAFETY: no pointers.
        let slack = || unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
        let before = slack();
        let other = std::thread::spawn(move || {
            set_timer_slack(7_000);
            slack()
        });
        assert_eq!(other.join().unwrap(), 7_000);
        assert_eq!(slack(), before);
    }
}
