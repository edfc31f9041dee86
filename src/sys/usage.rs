//! CPU time and context switches from getrusage(2).
//!
//! Must not know: what used them.

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

impl Usage {
    /// What came since `before`.
    pub fn since(self, before: Usage) -> Usage {
        Usage {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            sys_ns: self.sys_ns.saturating_sub(before.sys_ns),
            voluntary_switches: self.voluntary_switches - before.voluntary_switches,
            involuntary_switches: self.involuntary_switches - before.involuntary_switches,
        }
    }
}
