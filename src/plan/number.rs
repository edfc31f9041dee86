//! From an expression to a number in its range, and to an [`Amount`] with only `me` left in it.
//!
//! Whole numbers are rounded down here and nowhere else. Must not know: teams, channels.

use super::Amount;
use super::scope::{ME, Scope};
use crate::base::{Unit, unit};
use crate::profile::expr::{EvalError, Node, described};
use crate::profile::keys::NUMBER_MAX;
use crate::profile::{Expr, Fault};

/// What a place in the profile takes.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// Named in messages: "size of team `w`".
    pub what: String,
    pub unit: Unit,
    pub min: f64,
    pub max: f64,
}

impl Wanted {
    pub fn new(what: impl Into<String>, unit: Unit, min: f64, max: f64) -> Wanted {
        Wanted { what: what.into(), unit, min, max }
    }

    pub fn count(what: impl Into<String>, min: u32, max: u32) -> Wanted {
        Wanted::new(what, Unit::Count, min.into(), max.into())
    }

    /// Why the value is not taken; `None` if it is.
    fn refuses(&self, value: f64) -> Option<String> {
        let shown = |value| unit::exact(value, self.unit);
        let limit = match value {
            _ if value < self.min => format!("at least {}", shown(self.min)),
            _ if value > self.max => format!("at most {}", shown(self.max)),
            _ => return None,
        };
        Some(format!("{}, and {} must be {limit}", shown(value), self.what))
    }

    fn takes(&self, unit: Unit) -> bool {
        match self.unit {
            Unit::Count | Unit::Share => matches!(unit, Unit::Count | Unit::Share),
            Unit::Bytes => matches!(unit, Unit::Count | Unit::Bytes),
            Unit::Time => unit == Unit::Time,
        }
    }
}

/// The value, rounded down.
pub(super) fn whole(
    expr: &Expr,
    wanted: &Wanted,
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> Option<f64> {
    let value = value(expr, wanted, scope, faults)?;
    let value = match wanted.unit {
        Unit::Share => value,
        _ => value.floor(),
    };
    in_range(expr, value, wanted, faults)
}

/// The number for every member; it may depend on `me`, and then its range is checked by member.
pub(super) fn amount(
    expr: &Expr,
    wanted: &Wanted,
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> Option<Amount> {
    let mut depends = false;
    expr.names(&mut |name| depends |= name == ME);
    if !depends {
        return whole(expr, wanted, scope, faults).map(|value| Amount::Fixed(value as u64));
    }
    fits_unit(expr, wanted, scope, faults)?;
    // Any member will do to find names that nobody knows; divisions by zero come with the members.
    let with_me = |name: &str| {
        if name == ME { Some(0.0) } else { scope.lookup(name) }
    };
    if let Err(error @ EvalError::UnknownName { .. }) = expr.eval(&with_me) {
        return cannot(expr, &error, wanted, scope, faults);
    }
    let node = folded(&expr.node, scope);
    let same = scope.size().and_then(|size| same_for_all(&node, size));
    Some(same.map_or(Amount::PerMember(node), Amount::Fixed))
}

/// The number of all members, if it is one number.
fn same_for_all(node: &Node, size: u32) -> Option<u64> {
    let first = of_member(node, 0).ok().filter(|first| (0.0..=NUMBER_MAX).contains(first))?;
    let is_first = |me| of_member(node, me) == Ok(first);
    (1..size).all(is_first).then_some(first as u64)
}

/// The value of a folded expression for one member, rounded down.
pub(super) fn of_member(node: &Node, me: u32) -> Result<f64, EvalError> {
    let value = node.eval(&|name| (name == ME).then_some(f64::from(me)))?;
    Ok(value.floor())
}

/// The amount for one member, or why it has none there.
pub(super) fn checked(amount: &Amount, me: u32, wanted: &Wanted) -> Result<u64, String> {
    let value = match amount {
        Amount::Fixed(value) => *value as f64,
        Amount::PerMember(node) => of_member(node, me)
            .map_err(|error| format!("{}: {error} for member {me}", wanted.what))?,
    };
    match (wanted.refuses(value), amount) {
        (None, _) => Ok(value as u64),
        (Some(why), Amount::Fixed(_)) => Err(format!("this is {why}")),
        (Some(why), Amount::PerMember(node)) => {
            Err(format!("`{node}` for member {me} gives {why}"))
        }
    }
}

fn value(expr: &Expr, wanted: &Wanted, scope: &Scope, faults: &mut Vec<Fault>) -> Option<f64> {
    fits_unit(expr, wanted, scope, faults)?;
    match expr.eval(&|name| scope.lookup(name)) {
        Ok(value) => Some(value),
        Err(error) => cannot(expr, &error, wanted, scope, faults),
    }
}

fn in_range(expr: &Expr, value: f64, wanted: &Wanted, faults: &mut Vec<Fault>) -> Option<f64> {
    match wanted.refuses(value) {
        None => Some(value),
        Some(why) => {
            let message = format!("`{}` gives {why}", expr.text.trim());
            faults.push(Fault::new(expr.span.clone(), message));
            None
        }
    }
}

fn fits_unit(expr: &Expr, wanted: &Wanted, scope: &Scope, faults: &mut Vec<Fault>) -> Option<()> {
    let text = expr.text.trim();
    match scope.unit(expr) {
        Ok(None) => Some(()),
        Ok(Some(unit)) if wanted.takes(unit) => Some(()),
        Ok(Some(unit)) => {
            let (is, wants) = (described(unit), described(wanted.unit));
            let message = format!("`{text}` is {is}, and {} wants {wants}", wanted.what);
            let fault = Fault::new(expr.span.clone(), message);
            faults.push(match (unit, wanted.unit) {
                (Unit::Count, Unit::Time) => fault.with_help("add a unit: ns, us, ms, s or min"),
                _ => fault,
            });
            None
        }
        Err(error) => {
            let message = format!("{}: {error}", wanted.what);
            faults.push(Fault::new(expr.span.clone(), message));
            None
        }
    }
}

fn cannot<T>(
    expr: &Expr,
    error: &EvalError,
    wanted: &Wanted,
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> Option<T> {
    let mut fault = Fault::new(expr.span.clone(), format!("{}: {error}", wanted.what));
    if let EvalError::UnknownName { name } = error {
        fault.help = scope.help_for(name);
        let place = expr.named_places().into_iter().find(|(known, _)| known == name);
        fault.span = place.map_or(fault.span, |(_, place)| place);
    }
    faults.push(fault);
    None
}

/// The expression with every name but `me` replaced, and every part without `me` computed.
fn folded(node: &Node, scope: &Scope) -> Node {
    let folded = match node {
        Node::Number { .. } => return node.clone(),
        Node::Name(name) if name == ME => return node.clone(),
        Node::Name(_) => node.clone(),
        Node::Negate(inner) => Node::Negate(Box::new(folded(inner, scope))),
        Node::Binary { op, left, right } => Node::Binary {
            op: *op,
            left: Box::new(folded(left, scope)),
            right: Box::new(folded(right, scope)),
        },
        Node::Call { function, args } => Node::Call {
            function: *function,
            args: args.iter().map(|arg| folded(arg, scope)).collect(),
        },
    };
    match folded.eval(&|name| scope.lookup(name)) {
        // Depends on `me`, or divides by zero, which is told with the members.
        Err(_) => folded,
        Ok(value) => {
            let unit = scope.unit(&as_expr(folded));
            Expr::number(value, unit.ok().flatten().unwrap_or(Unit::Count)).node
        }
    }
}

fn as_expr(node: Node) -> Expr {
    Expr { text: String::new(), node, span: 0..0 }
}
