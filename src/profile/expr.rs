//! Numbers of a profile: literals with units, parameters, machine facts, and arithmetic on them.
//!
//! Evaluated as `f64` in base units (ns, bytes, 1), exact for whole numbers up to 2^53; whoever
//! uses the number states its range and rounds down. Must not know: where the names come from.

use crate::base::Unit;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Byte range in the profile's text; empty for what was built in Rust.
pub type Span = Range<usize>;

/// A number that may depend on names; prints as the text it was parsed from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expr {
    pub text: String,
    pub node: Node,
    #[serde(skip)]
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Node {
    /// A literal in base units.
    Number {
        value: f64,
        unit: Unit,
    },
    Name(String),
    Negate(Box<Node>),
    Binary {
        op: Op,
        left: Box<Node>,
        right: Box<Node>,
    },
    Call {
        function: Function,
        args: Vec<Node>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Function {
    Min,
    Max,
    Floor,
    Ceil,
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EvalError {
    #[error("unknown name `{name}`")]
    UnknownName { name: String },
    #[error("`{text}` divides by zero")]
    DivisionByZero { text: String },
    #[error("`{text}` is too large a number")]
    TooLarge { text: String },
}

impl Expr {
    /// A constant, for profiles built in Rust.
    pub fn number(value: f64, unit: Unit) -> Expr {
        let text = crate::base::unit::exact(value, unit);
        Expr {
            text,
            node: Node::Number { value, unit },
            span: 0..0,
        }
    }

    /// The value with each name replaced by what `lookup` gives.
    pub fn eval(&self, lookup: &dyn Fn(&str) -> Option<f64>) -> Result<f64, EvalError> {
        let _ = lookup;
        todo!()
    }

    /// Calls `each` for every name in the expression.
    pub fn names<'a>(&'a self, each: &mut dyn FnMut(&'a str)) {
        let _ = each;
        todo!()
    }
}
