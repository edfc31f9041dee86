//! Where tasks meet in numbers, as a profile says it: barriers, locks, group commits, desks,
//! safepoints.
//!
//! Must not know: kinds, who comes.

use super::{Address, Expr, Span, Step, Word};

/// An object of one of the sorts; names are of all sorts together.
#[derive(Debug, Clone, PartialEq)]
pub struct SyncObject {
    pub name: String,
    pub span: Span,
    pub sort: Sort,
}

/// What an object is, with its keys.
#[derive(Debug, Clone, PartialEq)]
pub enum Sort {
    Barrier {
        kind: Word,
        /// Rounds of spinning; `None`: as libgomp.
        spins: Option<Expr>,
        /// Tasks in a round; `None`: all that come to it.
        parties: Option<Expr>,
    },
    Lock {
        kind: Word,
        count: Expr,
    },
    Commit {
        /// What the leader holds its group for (ns).
        flush: Expr,
        /// `sleep`, `spin`.
        by: Word,
    },
    Desk,
    Safepoint,
}

/// A step at such an object.
#[derive(Debug, Clone, PartialEq)]
pub struct SyncStep {
    pub verb: SyncVerb,
    /// The object; which of them, for locks.
    pub at: Address,
    /// Exponent of a Zipf distribution over locks.
    pub skew: Option<Expr>,
    /// `read`, `write`.
    pub mode: Option<Word>,
    /// Who serves writes there before each wake, and how much.
    pub fill: Option<Address>,
    pub bytes: Option<Expr>,
    /// What is done with the lock held, or in the pause.
    pub steps: Vec<Step>,
}

/// What is done there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncVerb {
    Barrier,
    Lock,
    Commit,
    Safepoint,
    Collect,
    Pause,
    Ask,
    Serve,
}

/// A verb with its word and the table of the objects that it is for.
pub struct SyncAct {
    pub verb: SyncVerb,
    pub word: &'static str,
    pub table: &'static str,
}

impl SyncVerb {
    pub const ACTS: [SyncAct; 8] = [
        SyncAct { verb: SyncVerb::Barrier, word: "barrier", table: "barrier" },
        SyncAct { verb: SyncVerb::Lock, word: "lock", table: "lock" },
        SyncAct { verb: SyncVerb::Commit, word: "commit", table: "commit" },
        SyncAct { verb: SyncVerb::Safepoint, word: "safepoint", table: "safepoint" },
        SyncAct { verb: SyncVerb::Collect, word: "collect", table: "safepoint" },
        SyncAct { verb: SyncVerb::Pause, word: "pause", table: "safepoint" },
        SyncAct { verb: SyncVerb::Ask, word: "ask", table: "desk" },
        SyncAct { verb: SyncVerb::Serve, word: "serve", table: "desk" },
    ];

    /// Its row.
    pub fn act(self) -> &'static SyncAct {
        // In the order of the variants.
        &SyncVerb::ACTS[self as usize]
    }
}

impl Sort {
    /// The table of the profile that it stands in.
    pub fn table(&self) -> &'static str {
        match self {
            Sort::Barrier { .. } => "barrier",
            Sort::Lock { .. } => "lock",
            Sort::Commit { .. } => "commit",
            Sort::Desk => "desk",
            Sort::Safepoint => "safepoint",
        }
    }
}
