//! Steps that decide about other steps: who does them and which of them.
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
}

/// One of the lists that a `choose` step has.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    pub weight: Expr,
    pub steps: Vec<Step>,
}
