//! Signals: the one that interrupts waiting workers, and the user's wish to stop.
//!
//! Must not know: what is stopped. Handlers do nothing but store and write to a descriptor.

use super::{Errno, raw};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

extern "C" fn nothing(_signal: libc::c_int) {}

/// The signal that interrupts a worker's wait: the second real-time signal that glibc leaves us.
pub fn interrupt_signal() -> libc::c_int {
    libc::SIGRTMIN() + 1
}

/// Lets the interrupt signal end a system call with EINTR: a handler without SA_RESTART. It stays,
/// since another run of this process may be using it; the signal is sent by nobody but us.
pub fn be_interruptible() -> Result<(), Errno> {
    let handler = nothing as extern "C" fn(libc::c_int);
    Disposition::set(interrupt_signal(), handler as libc::sighandler_t, 0).map(std::mem::forget)
}

/// A signal's disposition; restored when dropped.
struct Disposition {
    signal: libc::c_int,
    before: libc::sigaction,
}

impl Disposition {
    fn set(
        signal: libc::c_int,
        handler: libc::sighandler_t,
        flags: libc::c_int,
    ) -> Result<Disposition, Errno> {
        // SAFETY: zeroed sigactions are valid; the handler is async-signal-safe and never unloaded.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let mut before: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler;
            action.sa_flags = flags;
            libc::sigemptyset(&raw mut action.sa_mask);
            Errno::check(libc::sigaction(signal, &raw const action, &raw mut before))?;
            Ok(Disposition { signal, before })
        }
    }

    fn was_ignored(&self) -> bool {
        self.before.sa_sigaction == libc::SIG_IGN
    }
}

impl Drop for Disposition {
    fn drop(&mut self) {
        // SAFETY: what sigaction gave us before.
        unsafe { libc::sigaction(self.signal, &raw const self.before, std::ptr::null_mut()) };
    }
}

/// A file that may not grow (RLIMIT_FSIZE) is an error of the write, which can be told, and not the
/// end of the process by SIGXFSZ. Stays so, also in what is started from here: what is measured
/// writes no files.
pub fn have_full_files_told() {
    // SAFETY: SIG_IGN is a valid disposition for this signal.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Ignores what a terminal or a supervisor sends to a whole process group: the coordinator decides
/// for its leader and tasks. Stays so.
pub fn leave_stopping_to_parent() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: SIG_IGN is a valid disposition for these signals.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// The last stop signal that came in, 0 for none, and where to report one.
static CAUGHT: AtomicI32 = AtomicI32::new(0);
static REPORT_TO: AtomicI32 = AtomicI32::new(-1);

extern "C" fn caught(signal: libc::c_int) {
    CAUGHT.store(signal, Ordering::Relaxed);
    let fd = REPORT_TO.load(Ordering::Relaxed);
    if fd >= 0 {
        // An eventfd takes eight bytes; nothing can be done here if it does not.
        let _ = raw::write(fd, &1u64.to_ne_bytes());
    }
}

/// Catches SIGINT, SIGTERM and SIGHUP until dropped: they are noted instead of ending the process.
/// A second one of the same kind ends it as usual. A SIGHUP that is ignored stays so, as nohup
/// wants it.
pub struct Stopping(
    #[expect(dead_code, reason = "restores the dispositions when dropped")] Vec<Disposition>,
);

impl Stopping {
    pub fn catch() -> Result<Stopping, Errno> {
        let handler = caught as extern "C" fn(libc::c_int);
        CAUGHT.store(0, Ordering::Relaxed);
        let signals = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
        let handler = handler as libc::sighandler_t;
        let mut caught = Vec::new();
        for signal in signals {
            let disposition = Disposition::set(signal, handler, libc::SA_RESETHAND)?;
            // Dropped, it is as before.
            if signal != libc::SIGHUP || !disposition.was_ignored() {
                caught.push(disposition);
            }
        }
        Ok(Stopping(caught))
    }
}

/// The stop signal that was caught, if one was.
pub fn stop_signal() -> Option<i32> {
    Some(CAUGHT.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}

/// While it lives, a caught stop signal also adds one to an eventfd.
pub struct Reporting(OwnedFd);

impl Reporting {
    pub fn to(eventfd: &OwnedFd) -> Result<Reporting, Errno> {
        let fd = eventfd.try_clone()?;
        REPORT_TO.store(fd.as_raw_fd(), Ordering::Relaxed);
        Ok(Reporting(fd))
    }
}

impl Drop for Reporting {
    fn drop(&mut self) {
        // Another run may have asked to be told meanwhile.
        let ours = self.0.as_raw_fd();
        let _ = REPORT_TO.compare_exchange(ours, -1, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Blocks the stop signals in this thread, and so in all threads and processes it starts, until
/// dropped: they are then delivered to a thread that does not.
pub struct Blocked(libc::sigset_t);

impl Blocked {
    pub fn stop_signals() -> Blocked {
        // SAFETY: the sets are initialised before use; these calls cannot fail on valid sets.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
            Blocked(before)
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the mask that was in force before.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut());
        }
    }
}

/// A signal that ended a process, in words: those that come from outside by their names.
pub fn words(signal: i32) -> String {
    let name = match signal {
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGKILL => "SIGKILL, which is the OOM killer's too",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGTERM => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal} ({name})")
}

/// Interrupts one task, wherever it is; gone already is fine.
pub fn interrupt(pid: u32, tid: u32) {
    // SAFETY: no pointers. A task that ended since its state was read is not met: its numbers would
    // have to be given out anew within that moment.
    unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, interrupt_signal()) };
}
