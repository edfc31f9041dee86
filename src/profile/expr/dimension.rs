//! What an expression counts: time, bytes, a share or things, and where it mixes them up.
//!
//! A share and a plain number scale anything; zero fits anywhere. Must not know: where a number
//! is used. What unit a place wants is decided by whoever reads it.

use super::{Expr, Node, Op};
use crate::base::Unit;

/// An expression that adds or multiplies what does not go together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    #[error("`{left}` is {left_is} and `{right}` is {right_is}: they do not go together")]
    Mixed { left: String, left_is: &'static str, right: String, right_is: &'static str },
    #[error("`{text}` is no time, size, share or number")]
    NoMeaning { text: String },
}

/// The unit in words, for messages: "a time".
pub(crate) fn described(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "a plain number",
        Unit::Time => "a time",
        Unit::Bytes => "a size in bytes",
        Unit::Share => "a share",
    }
}

fn is_plain(unit: Unit) -> bool {
    matches!(unit, Unit::Count | Unit::Share)
}

impl Expr {
    /// What the expression counts; `None` where it cannot be told, as for 0 or a name of which
    /// `lookup` knows nothing.
    pub fn unit(&self, lookup: &dyn Fn(&str) -> Option<Unit>) -> Result<Option<Unit>, UnitError> {
        self.node.unit(lookup)
    }
}

impl Node {
    fn unit(&self, lookup: &dyn Fn(&str) -> Option<Unit>) -> Result<Option<Unit>, UnitError> {
        match self {
            Node::Number { value, unit: Unit::Count } if *value == 0.0 => Ok(None),
            Node::Number { unit, .. } => Ok(Some(*unit)),
            Node::Name(name) => Ok(lookup(name)),
            Node::Negate(inner) => inner.unit(lookup),
            Node::Binary { op, left, right } => {
                let units = (left.unit(lookup)?, right.unit(lookup)?);
                self.combined(*op, (left, right), units)
            }
            Node::Call { args, .. } => {
                let mut found: Option<(Unit, &Node)> = None;
                for arg in args {
                    let Some(unit) = arg.unit(lookup)? else {
                        continue;
                    };
                    found = match found {
                        None => Some((unit, arg)),
                        Some((before, of)) => {
                            let same = same(before, of, unit, arg)?;
                            Some((same, of))
                        }
                    };
                }
                Ok(found.map(|(unit, _)| unit))
            }
        }
    }

    fn combined(
        &self,
        op: Op,
        (left, right): (&Node, &Node),
        units: (Option<Unit>, Option<Unit>),
    ) -> Result<Option<Unit>, UnitError> {
        let no_meaning = || Err(UnitError::NoMeaning { text: self.to_string() });
        match (op, units) {
            (Op::Add | Op::Subtract | Op::Remainder, (Some(l), Some(r))) => {
                same(l, left, r, right).map(Some)
            }
            (Op::Add | Op::Subtract | Op::Remainder, (l, r)) => Ok(l.or(r)),
            (_, (None, _)) | (_, (_, None)) => Ok(None),
            (Op::Multiply, (Some(l), Some(r))) => match (is_plain(l), is_plain(r)) {
                (true, true) if l != r => Ok(Some(Unit::Count)),
                (true, _) => Ok(Some(r)),
                (_, true) => Ok(Some(l)),
                (false, false) => no_meaning(),
            },
            (Op::Divide, (Some(l), Some(r))) => match (is_plain(l), is_plain(r)) {
                _ if l == r => Ok(Some(Unit::Count)),
                (_, true) => Ok(Some(l)),
                _ => no_meaning(),
            },
        }
    }
}

/// The unit of two numbers that are added or compared.
fn same(left: Unit, left_node: &Node, right: Unit, right_node: &Node) -> Result<Unit, UnitError> {
    match (left, right) {
        _ if left == right => Ok(left),
        _ if is_plain(left) && is_plain(right) => Ok(Unit::Share),
        _ => Err(UnitError::Mixed {
            left: left_node.to_string(),
            left_is: described(left),
            right: right_node.to_string(),
            right_is: described(right),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &str) -> Result<Option<Unit>, String> {
        let lookup = |name: &str| match name {
            "cpus" => Some(Unit::Count),
            "wait" => Some(Unit::Time),
            _ => None,
        };
        Expr::parse(text, 0).unwrap().unit(&lookup).map_err(|error| error.to_string())
    }

    #[test]
    fn infers_units() {
        let check = |text, expected| assert_eq!(unit(text), Ok(expected), "{text}");
        check("3", Some(Unit::Count));
        check("0", None);
        check("0ns", Some(Unit::Time));
        check("cpus * 10ms", Some(Unit::Time));
        check("10ms / wait", Some(Unit::Count));
        check("wait / 2", Some(Unit::Time));
        check("wait % 1ms", Some(Unit::Time));
        check("50% * cpus", Some(Unit::Count));
        check("50% * 1MiB", Some(Unit::Bytes));
        check("max(0, wait - 1ms)", Some(Unit::Time));
        check("unknown + 1ms", Some(Unit::Time));
        check("unknown * 1ms", None);
        check("1 - 50%", Some(Unit::Share));
    }

    #[test]
    fn refuses_mixtures() {
        let check = |text, expected: &str| assert_eq!(unit(text), Err(expected.into()), "{text}");
        let mixed = "they do not go together";
        check("10ms + 5", &format!("`10ms` is a time and `5` is a plain number: {mixed}"));
        check("1B - wait", &format!("`1B` is a size in bytes and `wait` is a time: {mixed}"));
        check("min(cpus, 1s)", &format!("`cpus` is a plain number and `1s` is a time: {mixed}"));
        check("1s * 1s", "`1s * 1s` is no time, size, share or number");
        check("5 / 1s", "`5 / 1s` is no time, size, share or number");
    }
}
