//! Reads a number or an expression and checks it: names, units, and its range where constant.
//!
//! Must not know: what the number is for; its key's row says what is accepted.

use super::reader::{Meaning, Reader, Table, Value, stand_in, suggestion};
use crate::base::{Unit, unit};
use crate::profile::expr::{Span, described};
use crate::profile::keys::{FACTS, Form, MEMBER};
use crate::profile::{Expr, Fault};
use toml::de::DeValue;

/// Which names an expression may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// None: a limit of a parameter.
    Nothing,
    /// Facts of the machine: a parameter's default.
    Machine,
    /// Parameters too.
    Profile,
    /// `me` and `size` too.
    Team,
}

impl Reader<'_> {
    /// The number of a key, as its row wants it; `None` if it is not there.
    pub fn number(&mut self, table: &Table<'_>, key: &str, scope: Scope) -> Option<Expr> {
        let value = self.required(table, key)?;
        let form = table.row(key)?.form;
        Some(self.number_of(value, key, form, scope))
    }

    pub fn number_of(&mut self, value: &Value<'_>, key: &str, form: Form, scope: Scope) -> Expr {
        let Some(expr) = self.expression(value, key) else {
            return stand_in();
        };
        self.check(&expr, key, form, scope);
        expr
    }

    /// The expression of a value, unchecked; a fault if it is none.
    pub fn expression(&mut self, value: &Value<'_>, key: &str) -> Option<Expr> {
        let span = value.span();
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().to_owned(),
            DeValue::Integer(integer) => {
                match u64::from_str_radix(integer.as_str(), integer.radix()) {
                    Ok(number) => number.to_string(),
                    Err(_) => {
                        self.fault(span, format!("`{integer}` is too large a number"));
                        return None;
                    }
                }
            }
            DeValue::Float(float) if float.as_str().ends_with(['f', 'n']) => {
                let message = format!("`{}` is no number that `{key}` can be", float.as_str());
                self.fault(span, message);
                return None;
            }
            DeValue::Float(float) => float.as_str().to_owned(),
            _ => {
                self.wrong(value, key, "a number or an expression in quotes");
                return None;
            }
        };
        let text = text.strip_prefix('+').unwrap_or(&text);
        let place = match value.get_ref() {
            DeValue::String(_) => self.inner(value, text),
            _ => span,
        };
        self.parsed(text, place)
    }

    /// Parses `text`, which stands at `place` or is what the string there means.
    pub fn parsed(&mut self, text: &str, place: Span) -> Option<Expr> {
        let literal = place.len() == text.len();
        match Expr::parse(text, place.start) {
            Ok(expr) => Some(Expr { span: place, ..expr }),
            Err(fault) if literal => {
                self.faults.push(fault);
                None
            }
            Err(fault) => {
                self.faults.push(Fault { span: place, ..fault });
                None
            }
        }
    }

    /// Checks what can be told without a machine.
    pub fn check(&mut self, expr: &Expr, key: &str, form: Form, scope: Scope) {
        let before = self.faults.len();
        for (name, place) in expr.named_places() {
            self.check_name_used(&name, place, scope);
        }
        if self.faults.len() > before {
            return;
        }
        let Form::Number { unit: wanted, min, max } = form else {
            return;
        };
        let found = expr.unit(&|name| self.unit_of_name(name));
        match (found, wanted) {
            (Err(error), _) => self.fault(expr.span.clone(), error.to_string()),
            (Ok(Some(found)), Some(wanted)) if !fits(found, wanted) => {
                let wanted_is = described(wanted);
                let message = format!("`{key}` is {wanted_is}, and `{expr}` {}", described(found));
                let mut fault = Fault::new(expr.span.clone(), message);
                if found == Unit::Count {
                    fault.help = unit_help(wanted);
                }
                self.faults.push(fault);
            }
            _ => self.check_range(expr, key, wanted, (min, max)),
        }
    }

    fn check_name_used(&mut self, name: &str, place: Span, scope: Scope) {
        let is_fact = FACTS.iter().any(|row| row.name == name);
        let is_member = MEMBER.iter().any(|row| row.name == name);
        let is_param = self.meaning(name).is_some();
        let allowed = match scope {
            Scope::Nothing => false,
            Scope::Machine => is_fact,
            Scope::Profile => is_fact || is_param,
            Scope::Team => is_fact || is_param || is_member,
        };
        if let (true, Some(Meaning::Word(values))) = (allowed, self.meaning(name)) {
            let first = values.first().cloned().unwrap_or_default();
            let message = format!("`{name}` is a word (`{first}`), not a number");
            self.fault(place, message);
        } else if allowed {
            // Known, and a number.
        } else if scope == Scope::Nothing {
            self.fault(place, format!("`{name}` cannot be used here: a limit is a plain number"));
        } else if scope == Scope::Machine && (is_param || is_member) {
            let help = suggestion("", FACTS.iter().map(|row| row.name));
            let message = format!("`{name}` cannot be used here: a default knows only the machine");
            self.fault_with_help(place, message, help);
        } else if is_member {
            self.fault(place, format!("`{name}` means something only in a team"));
        } else {
            let params = self.params.iter().map(|(name, _)| name.as_str());
            let params = params.filter(|_| scope != Scope::Machine);
            let members = MEMBER.iter().filter(|_| scope == Scope::Team);
            let known = params.chain(FACTS.iter().chain(members).map(|row| row.name));
            let help = suggestion(name, known);
            self.fault_with_help(place, format!("unknown name `{name}`"), help);
        }
    }

    pub fn unit_of_name(&self, name: &str) -> Option<Unit> {
        match self.meaning(name) {
            Some(Meaning::Number(unit)) => *unit,
            Some(Meaning::Word(_)) => None,
            None => Some(Unit::Count),
        }
    }

    fn check_range(
        &mut self,
        expr: &Expr,
        key: &str,
        wanted: Option<Unit>,
        (min, max): (f64, f64),
    ) {
        use crate::profile::expr::EvalError;
        let value = match expr.eval(&|_| None) {
            Ok(value) => value,
            Err(EvalError::UnknownName { .. }) => return,
            Err(error) => return self.fault(expr.span.clone(), error.to_string()),
        };
        let unit = wanted.unwrap_or(Unit::Count);
        let shown = |value| unit::exact(value, unit);
        if value < min || value > max {
            let range = described_range(value, (min, max), unit);
            let message = format!("`{key}` is {}, and must be {range}", shown(value));
            self.fault(expr.span.clone(), message);
        } else if wanted == Some(Unit::Count) && value.fract() != 0.0 {
            let message = format!("`{key}` must be a whole number, not {}", shown(value));
            self.fault(expr.span.clone(), message);
        }
    }
}

/// Where `value` should have been: "1 or more", "1 to 99".
pub(crate) fn described_range(value: f64, (min, max): (f64, f64), unit: Unit) -> String {
    let shown = |value| unit::exact(value, unit);
    if value < min && max >= crate::profile::keys::NUMBER_MAX {
        format!("{} or more", shown(min))
    } else {
        format!("{} to {}", shown(min), shown(max))
    }
}

/// Whether a number of unit `found` may stand where `wanted` is wanted. Bytes are what a size
/// is counted in anyway; a time without a unit could be anything.
pub(crate) fn fits(found: Unit, wanted: Unit) -> bool {
    found == wanted
        || matches!((found, wanted), (Unit::Count, Unit::Bytes) | (Unit::Count, Unit::Share))
}

/// What to write so that a number has a unit.
pub(crate) fn unit_help(wanted: Unit) -> Option<String> {
    (wanted == Unit::Time).then(|| "write its unit, as in `10us`, `10ms` or `10s`".to_owned())
}
