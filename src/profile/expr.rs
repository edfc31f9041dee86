//! Numbers of a profile: literals with units, parameters, machine facts, and arithmetic on them.
//!
//! Evaluated as `f64` in base units (ns, bytes, 1), exact for whole numbers up to 2^53; whoever
//! uses the number states its range and rounds down. Must not know: where the names come from.
//! Reading on: `expr/parser.rs` from text, `expr/dimension.rs` for the units of expressions.

mod dimension;
mod parser;

pub use dimension::UnitError;
pub(crate) use dimension::described;

use crate::base::Unit;
use serde::{Deserialize, Serialize};
use std::fmt;
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

impl Function {
    /// Every function, with its name and how many arguments it takes at least and at most.
    pub const ROWS: &[(Function, &str, usize, usize)] = &[
        (Function::Min, "min", 2, 8),
        (Function::Max, "max", 2, 8),
        (Function::Floor, "floor", 1, 1),
        (Function::Ceil, "ceil", 1, 1),
    ];

    fn name(self) -> &'static str {
        let row = Self::ROWS.iter().find(|(function, ..)| *function == self);
        row.map_or("", |(_, name, ..)| name)
    }

    fn apply(self, values: &[f64]) -> f64 {
        let first = values.first().copied().unwrap_or(0.0);
        match self {
            Function::Min => values.iter().copied().fold(first, f64::min),
            Function::Max => values.iter().copied().fold(first, f64::max),
            Function::Floor => first.floor(),
            Function::Ceil => first.ceil(),
        }
    }
}

impl Op {
    fn sign(self) -> char {
        match self {
            Op::Add => '+',
            Op::Subtract => '-',
            Op::Multiply => '*',
            Op::Divide => '/',
            Op::Remainder => '%',
        }
    }

    fn binds_tighter_than_sum(self) -> bool {
        !matches!(self, Op::Add | Op::Subtract)
    }
}

impl Expr {
    /// A constant, for profiles built in Rust.
    pub fn number(value: f64, unit: Unit) -> Expr {
        let text = crate::base::unit::exact(value, unit);
        let literal = Node::Number { value: value.abs(), unit };
        let node = if value < 0.0 { Node::Negate(Box::new(literal)) } else { literal };
        Expr { text, node, span: 0..0 }
    }

    /// The value with each name replaced by what `lookup` gives.
    pub fn eval(&self, lookup: &dyn Fn(&str) -> Option<f64>) -> Result<f64, EvalError> {
        self.node.eval(lookup)
    }

    /// The value if it depends on no name.
    pub fn constant(&self) -> Option<f64> {
        self.eval(&|_| None).ok()
    }

    /// Calls `each` for every name in the expression.
    pub fn names<'a>(&'a self, each: &mut dyn FnMut(&'a str)) {
        self.node.names(each);
    }

    /// The place in the profile's text of a range of this expression's text; all of the
    /// expression where the two differ (a TOML string with escapes).
    pub fn place(&self, within: Range<usize>) -> Span {
        if self.span.len() != self.text.len() {
            return self.span.clone();
        }
        self.span.start + within.start..self.span.start + within.end
    }
}

impl Node {
    pub fn eval(&self, lookup: &dyn Fn(&str) -> Option<f64>) -> Result<f64, EvalError> {
        let value = match self {
            Node::Number { value, .. } => *value,
            Node::Name(name) => {
                lookup(name).ok_or_else(|| EvalError::UnknownName { name: name.clone() })?
            }
            Node::Negate(inner) => -inner.eval(lookup)?,
            Node::Binary { op, left, right } => {
                let (left, right) = (left.eval(lookup)?, right.eval(lookup)?);
                match op {
                    Op::Add => left + right,
                    Op::Subtract => left - right,
                    Op::Multiply => left * right,
                    Op::Divide | Op::Remainder if right == 0.0 => {
                        return Err(EvalError::DivisionByZero { text: self.to_string() });
                    }
                    Op::Divide => left / right,
                    Op::Remainder => left % right,
                }
            }
            Node::Call { function, args } => {
                let values: Result<Vec<f64>, EvalError> =
                    args.iter().map(|arg| arg.eval(lookup)).collect();
                function.apply(&values?)
            }
        };
        if value.is_finite() {
            Ok(value)
        } else {
            Err(EvalError::TooLarge { text: self.to_string() })
        }
    }

    fn names<'a>(&'a self, each: &mut dyn FnMut(&'a str)) {
        match self {
            Node::Number { .. } => {}
            Node::Name(name) => each(name),
            Node::Negate(inner) => inner.names(each),
            Node::Binary { left, right, .. } => {
                left.names(each);
                right.names(each);
            }
            Node::Call { args, .. } => args.iter().for_each(|arg| arg.names(each)),
        }
    }

    /// Prints an operand, in parentheses where it would otherwise bind differently.
    fn operand(&self, f: &mut fmt::Formatter<'_>, of: Op, side: Side) -> fmt::Result {
        let loose = match self {
            Node::Binary { op, .. } if of.binds_tighter_than_sum() => {
                side == Side::Right || !op.binds_tighter_than_sum()
            }
            Node::Binary { op, .. } => side == Side::Right && !op.binds_tighter_than_sum(),
            // `7 % -2` would read as seven percent minus two.
            Node::Negate(_) => side == Side::Right && of == Op::Remainder,
            _ => false,
        };
        if loose { write!(f, "({self})") } else { write!(f, "{self}") }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Number { value, unit } => f.write_str(&crate::base::unit::exact(*value, *unit)),
            Node::Name(name) => f.write_str(name),
            Node::Negate(inner) if matches!(**inner, Node::Binary { .. }) => {
                write!(f, "-({inner})")
            }
            Node::Negate(inner) => write!(f, "-{inner}"),
            Node::Binary { op, left, right } => {
                left.operand(f, *op, Side::Left)?;
                write!(f, " {} ", op.sign())?;
                right.operand(f, *op, Side::Right)
            }
            Node::Call { function, args } => {
                write!(f, "{}(", function.name())?;
                for (i, arg) in args.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{arg}")?;
                }
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<f64> {
        [("cpus", 8.0), ("me", 5.0), ("zero", 0.0)]
            .iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, value)| value)
    }

    fn eval(text: &str) -> Result<f64, String> {
        let expr = Expr::parse(text, 0).map_err(|fault| fault.message)?;
        expr.eval(&lookup).map_err(|error| error.to_string())
    }

    #[test]
    fn evaluates() {
        let check = |text, expected: f64| assert_eq!(eval(text), Ok(expected), "{text}");
        check("1 + 2 * 3", 7.0);
        check("(1 + 2) * 3", 9.0);
        check("10 - 3 - 2", 5.0);
        check("-cpus + 10", 2.0);
        check("- - 2", 2.0);
        check("cpus / 2", 4.0);
        check("me % 2", 1.0);
        check("me%2", 1.0);
        check("7 % 4", 3.0);
        check("7 % cpus", 7.0);
        check("50%", 0.5);
        check("50 %", 0.5);
        check("50% * cpus", 4.0);
        check("50% + 1", 1.5);
        check("(50%)", 0.5);
        check("max(1, cpus - 9)", 1.0);
        check("min(50%, 1)", 0.5);
        check("min(3, 2, 1)", 1.0);
        check("floor(cpus / 3) + ceil(cpus / 3)", 5.0);
        check("100 B", 100.0);
        check("64MiB", 67_108_864.0);
        check("2 * 10ms", 20e6);
        check("0.5", 0.5);
        check(".5", 0.5);
        check("1_000", 1000.0);
        check("1e3", 1000.0);
        check("1e18", 1e18);
        check("2.5e-1s", 0.25e9);
    }

    #[test]
    fn says_why_there_is_no_value() {
        let check = |text, expected: &str| assert_eq!(eval(text), Err(expected.into()), "{text}");
        check("NaN", "`NaN` is not a name: names are lower case");
        check("nan + 1", "unknown name `nan`");
        check("1 / zero", "`1 / zero` divides by zero");
        check("1 % (zero * 2)", "`1 % (zero * 2)` divides by zero");
        check("1e300 * 1e300", &format!("`{0} * {0}` is too large a number", 1e300));
        check("cpsu", "unknown name `cpsu`");
    }

    #[test]
    fn lists_names() {
        let expr = Expr::parse("max(a, b * -c) + a", 0).unwrap();
        let mut names = Vec::new();
        expr.names(&mut |name| names.push(name));
        assert_eq!(names, ["a", "b", "c", "a"]);
    }
}
