//! Where tasks wait for each other without a channel: all for the end of the window, and who joins
//! a spawned team for its last task.
//!
//! Must not know: what a task does before or after.

use crate::record::memory::Phase;
use crate::sys::Errno;
use crate::sys::futex::Scope;
use crate::sys::word::Sleeping;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// Sleeps until the window is over. A task that read its files of /proc and ended earlier would
/// leave directory entries to be freed, and the kernel's threads that do it (RCU) disturb those
/// that still run: hackbench's 400 tasks then took 15 % longer, with four times the reschedule
/// interrupts (Linux 6.18).
pub(super) fn wait_for_end(phase: &impl Sleeping) {
    loop {
        let now = phase.load(Acquire);
        if Phase::of(now) == Phase::After {
            return;
        }
        // A signal has nothing to end here.
        let _ = phase.wait(now, Scope::Shared);
    }
}

/// Lets up to `n` tasks go that wait for the end of the window, once it has come. Each lets the
/// next one go when it is done, so that the run delay of none counts a crowd.
pub(super) fn release(phase: &impl Sleeping, n: u32) {
    // It can only fail for a bad address.
    let _ = phase.wake(n, Scope::Shared);
}

/// A task of a spawned team has done its steps. The last one wakes who joins it; nobody can join
/// another.
pub(super) fn done(at_work: &impl Sleeping) {
    if at_work.fetch_sub(1, AcqRel) == 1 {
        // It can only fail for a bad address.
        let _ = at_work.wake(u32::MAX >> 1, Scope::Private);
    }
}

/// How a wait for a spawned team ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    AllDone,
    /// The window is over before them.
    Over,
}

/// Sleeps until all tasks of a spawned team are done, or a signal comes after the window.
pub(super) fn join(at_work: &impl Sleeping, over: impl Fn() -> bool) -> Result<Join, Errno> {
    loop {
        let left = at_work.load(Acquire);
        if left == 0 {
            return Ok(Join::AllDone);
        }
        if over() {
            return Ok(Join::Over);
        }
        match at_work.wait(left, Scope::Private) {
            Ok(()) | Err(Errno::INTERRUPTED) => {}
            Err(errno) => return Err(errno),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::model::{ModelWord, model};
    use crate::sys::word::Word;
    use loom::sync::Arc;
    use loom::thread::spawn;
    use std::sync::atomic::Ordering::Release;

    /// Two tasks and the one who ends the window, who wakes one of them.
    #[test]
    fn all_leave_one_after_the_other() {
        model(2, || {
            let phase = Arc::new(ModelWord::new(Phase::Window as u32));
            let tasks = [(); 2].map(|()| {
                let phase = phase.clone();
                spawn(move || {
                    wait_for_end(&*phase);
                    release(&*phase, 1);
                })
            });
            phase.store(Phase::After as u32, Release);
            release(&*phase, 1);
            tasks.into_iter().for_each(|task| task.join().unwrap());
        });
    }

    #[test]
    fn a_team_is_joined_by_all_who_wait_for_it() {
        model(2, || {
            let at_work = Arc::new(ModelWord::new(2));
            let joins = at_work.clone();
            let joiner = spawn(move || join(&*joins, || false));
            let works = at_work.clone();
            let worker = spawn(move || done(&*works));
            done(&*at_work);
            assert_eq!(join(&*at_work, || false), Ok(Join::AllDone));
            assert_eq!(joiner.join().unwrap(), Ok(Join::AllDone));
            worker.join().unwrap();
        });
    }

    #[test]
    fn nobody_waits_for_a_team_after_the_window() {
        assert_eq!(join(&std::sync::atomic::AtomicU32::new(1), || true), Ok(Join::Over));
    }
}
