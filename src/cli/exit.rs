//! The exit codes, in one place.
//!
//! Must not know: what was done. Scripts and test harnesses depend on these numbers.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All was done, or whoever read our output has seen enough and closed it.
    Done,
    /// `schedload-hackbench` or `schedload-schbench` refused its command line: 1, as the originals'
    /// users expect.
    CompatUsage,
    /// The command line or the profile is wrong.
    Usage,
    /// The run, or writing its result, failed.
    Failed,
    /// This host cannot run it: a limit, a right, a CPU or a node is missing.
    HostCannot,
    /// A conservation check broke: the numbers are not to be trusted.
    CheckBroke,
    /// This signal ended the run; what was measured until then was reported.
    Interrupted(i32),
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::CompatUsage => 1,
            Exit::Usage => 2,
            Exit::Failed => 3,
            Exit::HostCannot => 4,
            Exit::CheckBroke => 5,
            // As a shell has it; a signal number fits, and one that did not must not look like 0.
            Exit::Interrupted(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        }
    }

    /// What a person must know first of two outcomes: a signal, a failure, then a doubt.
    pub fn worse(self, other: Exit) -> Exit {
        let rank = |exit: Exit| match exit {
            Exit::Done => 0,
            Exit::CheckBroke => 1,
            Exit::CompatUsage | Exit::Usage => 2,
            Exit::HostCannot => 3,
            Exit::Failed => 4,
            Exit::Interrupted(_) => 5,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// The part of a program's help that lists the exit codes; its lines fit 80 columns as they are.
pub const HELP: &str = "\
Exit codes:
  0  done
  2  bad command line or profile
  3  the run failed
  4  this host cannot run it
  5  a conservation check broke
  130, 143, 129  after SIGINT, SIGTERM, SIGHUP, with a report of what was
                 measured until then";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_fixed() {
        let check = |exit: Exit, code| assert_eq!(exit.code(), code, "for {exit:?}");
        check(Exit::Done, 0);
        check(Exit::CompatUsage, 1);
        check(Exit::Usage, 2);
        check(Exit::Failed, 3);
        check(Exit::HostCannot, 4);
        check(Exit::CheckBroke, 5);
        check(Exit::Interrupted(2), 130);
        check(Exit::Interrupted(15), 143);
        check(Exit::Interrupted(1000), 255);
    }

    #[test]
    fn the_worse_of_two_wins_from_either_side() {
        let check = |worse: Exit, better: Exit| {
            assert_eq!(worse.worse(better), worse);
            assert_eq!(better.worse(worse), worse);
        };
        check(Exit::CheckBroke, Exit::Done);
        check(Exit::Failed, Exit::CheckBroke);
        check(Exit::Interrupted(2), Exit::Failed);
    }
}
