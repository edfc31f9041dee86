//! CPU time and context switches from getrusage(2).
//!
//! Must not know: what used them.

use super::clock;

/// Whose usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// All threads of this process.
    Process,
    /// Children that have ended and were waited for, with theirs.
    Children,
    /// The calling thread.
    Thread,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub user_ns: u64,
    pub sys_ns: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

/// The usage so far.
pub fn usage(of: Of) -> Usage {
    let who = match of {
        Of::Process => libc::RUSAGE_SELF,
        Of::Children => libc::RUSAGE_CHILDREN,
        Of::Thread => libc::RUSAGE_THREAD,
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    // SAFETY: `usage` is plain old data that the call fills in; it cannot fail for these.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &raw mut usage);
        usage
    };
    Usage {
        user_ns: ns(usage.ru_utime),
        sys_ns: ns(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    }
}

/// That of the calling thread, its CPU time exact: getrusage(2) alone gives what the last tick or
/// switch left, and a reading of the thread's clock brings that up to date
/// (kernel/sched/core.c, task_sched_runtime, v6.12).
pub fn of_thread_now() -> Usage {
    clock::thread_cpu_ns();
    usage(Of::Thread)
}

impl Usage {
    /// What came since `before`. The kernel's sum of user and system time is exact and its split is
    /// not, and not the same for a thread as for its process (kernel/sched/cputime.c,
    /// cputime_adjust, v6.12), so it is the sum that is kept.
    pub fn since(self, before: Usage) -> Usage {
        let all_ns = |it: Usage| it.user_ns + it.sys_ns;
        let passed_ns = all_ns(self).saturating_sub(all_ns(before));
        let sys_ns = self.sys_ns.saturating_sub(before.sys_ns).min(passed_ns);
        Usage {
            user_ns: passed_ns - sys_ns,
            sys_ns,
            voluntary_switches: self.voluntary_switches - before.voluntary_switches,
            involuntary_switches: self.involuntary_switches - before.involuntary_switches,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_kept_whatever_the_split() {
        let check = |after: [u64; 2], before: [u64; 2], expected: [u64; 2]| {
            let of = |[user_ns, sys_ns]: [u64; 2]| Usage { user_ns, sys_ns, ..Usage::default() };
            assert_eq!(of(after).since(of(before)), of(expected), "{after:?} {before:?}");
        };
        check([10, 5], [4, 2], [6, 3]);
        check([10, 5], [4, 7], [4, 0]);
        check([10, 5], [12, 1], [0, 2]);
        check([10, 5], [10, 6], [0, 0]);
    }
}
