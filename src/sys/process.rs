//! Starting this program again as a leader, forking from it, and reaping.
//!
//! A process may be forked safely only while it has one thread, which is why the forking is done
//! by a fresh process. Must not know: what the processes do.

use super::Errno;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// The first descriptor that [`spawn_self`] hands over; the others follow.
pub const FIRST_FD: RawFd = 3;

/// Starts this program again with one argument; `fds` become descriptors 3, 4, ... there. It dies
/// when the thread that started it does.
pub fn spawn_self(argument: &str, fds: &[BorrowedFd<'_>]) -> Result<Child, Errno> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("schedload").arg(argument).stdin(Stdio::null()).stdout(Stdio::null());
    let sources: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
    // SAFETY: between fork and exec only async-signal-safe calls are made, and no memory is
    // allocated. Sources are first moved out of the way of the targets.
    unsafe {
        command.pre_exec(move || {
            die_with_parent();
            let clear = FIRST_FD + sources.len() as RawFd;
            let mut moved = [-1; 16];
            for (at, &source) in moved.iter_mut().zip(&sources) {
                *at = libc::fcntl(source, libc::F_DUPFD_CLOEXEC, clear);
                Errno::check(*at).map_err(|errno| std::io::Error::from_raw_os_error(errno.0))?;
            }
            for (target, &source) in (FIRST_FD..clear).zip(&moved) {
                Errno::check(libc::dup2(source, target))
                    .map_err(|errno| std::io::Error::from_raw_os_error(errno.0))?;
            }
            Ok(())
        });
    }
    Ok(command.spawn()?)
}

/// Has the kernel kill this process when the thread that started it ends.
pub fn die_with_parent() {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// The parent's process id: 1 or a reaper's once the parent is gone.
pub fn parent_id() -> u32 {
    // SAFETY: no arguments, no failure.
    unsafe { libc::getppid() as u32 }
}

/// Which side of a fork we are on.
pub(crate) enum Forked {
    Child,
    Parent { child: u32 },
}

/// The right to fork: proof that this process had one thread when it was made, and it is not
/// `Send`, so that a process which never starts another keeps it true.
#[derive(Debug)]
pub(crate) struct Forker(std::marker::PhantomData<*mut ()>);

impl Forker {
    /// # Errors
    ///
    /// EBUSY if this process has more than one thread: a lock that another thread holds at a fork
    /// stays locked in the child for ever.
    pub(crate) fn new() -> Result<Forker, Errno> {
        match std::fs::read_dir("/proc/self/task")?.count() {
            1 => Ok(Forker(std::marker::PhantomData)),
            _ => Err(Errno(libc::EBUSY)),
        }
    }

    /// fork(2).
    ///
    /// # Errors
    ///
    /// EAGAIN when a limit on tasks is reached.
    pub(crate) fn fork(&self) -> Result<Forked, Errno> {
        // SAFETY: the only thread, so the child's memory is consistent.
        match Errno::check(unsafe { libc::fork() })? {
            0 => Ok(Forked::Child),
            child => Ok(Forked::Parent { child: child as u32 }),
        }
    }
}

/// Ends this process at once, without running anything registered for its end.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: never returns.
    unsafe { libc::_exit(status) }
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Exited(i32),
    Killed { signal: i32 },
}

/// Waits for any child: its process id and how it ended; `None` when there is no child left.
pub(crate) fn reap() -> Result<Option<(u32, Ended)>, Errno> {
    let mut status = 0;
    // SAFETY: the status is ours to fill in.
    match Errno::check(unsafe { libc::waitpid(-1, &raw mut status, 0) }) {
        Ok(child) if libc::WIFSIGNALED(status) => {
            Ok(Some((child as u32, Ended::Killed { signal: libc::WTERMSIG(status) })))
        }
        Ok(child) => Ok(Some((child as u32, Ended::Exited(libc::WEXITSTATUS(status))))),
        Err(Errno(libc::ECHILD)) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Has a stopped process go on (SIGCONT); nothing to one that is not stopped, or gone.
pub fn go_on(pid: u32) {
    // SAFETY: no pointers; the caller names a process of its own run.
    unsafe { libc::kill(pid as libc::pid_t, libc::SIGCONT) };
}

/// Kills a process for good.
pub fn kill(pid: u32) {
    // SAFETY: no pointers; the caller names a child that it has not reaped.
    unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
}
