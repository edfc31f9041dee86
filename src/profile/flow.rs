//! Steps that decide about other steps: who does them, which of them, and when.
//!
//! Must not know: how any of it is decided.

use super::{Expr, Step, Word};

/// A block whose steps are not simply done.
#[derive(Debug, Clone, PartialEq)]
pub enum Flow {
    /// In each round only a share of the team does the steps.
    Active {
        share: Expr,
        /// `fixed`, `rotating`, `random`.
        choose: Word,
        steps: Vec<Step>,
    },
    /// One of several lists of steps.
    Choose {
        arms: Vec<Arm>,
        /// `random`, `deck`.
        deal: Word,
    },
    /// At equal distances of time (ns), until the run ends or so often.
    Every { period: Expr, offset: Option<Expr>, count: Option<Expr>, steps: Vec<Step> },
    /// At times of their own, so many a second of the team together, until the run ends.
    Arrive {
        rate: Expr,
        /// `poisson`, `constant`, `burst`, `closed`.
        pattern: Word,
        burst: Option<Expr>,
        /// Time before each that the task spends spinning (ns).
        awake: Option<Expr>,
        steps: Vec<Step>,
    },
}

/// One of the lists that a `choose` step has.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    pub weight: Expr,
    pub steps: Vec<Step>,
}
