//! What names stand for in this plan: machine facts, parameters as given or by default, and in a
//! team its `size`.
//!
//! Must not know: where an expression is used. `me` is not here: it differs by member.

use crate::base::Unit;
use crate::base::nearest::nearest;
use crate::host::Facts;
use crate::profile::expr::UnitError;
use crate::profile::{Bound, Expr, Fault, Profile, Setting, Span, Word};

/// The index of a member in its team.
pub(super) const ME: &str = "me";
/// The number of members of the team whose steps these are.
pub(super) const SIZE: &str = "size";
/// The number of the instance.
pub(super) const INSTANCE: &str = "instance";

/// All names with their values.
#[derive(Debug, Clone)]
pub(super) struct Scope<'a> {
    profile: &'a Profile,
    facts: Facts,
    bound: &'a Bound,
    size: Option<u32>,
    /// Known where a place may depend on it.
    instance: Option<u32>,
}

impl<'a> Scope<'a> {
    pub fn new(profile: &'a Profile, facts: Facts, bound: &'a Bound) -> Scope<'a> {
        Scope { profile, facts, bound, size: None, instance: None }
    }

    /// The same names inside a team of this size.
    pub fn in_team(&self, size: u32) -> Scope<'a> {
        Scope { size: Some(size), ..self.clone() }
    }

    /// The same names for a place in this instance.
    pub fn in_instance(&self, instance: u32) -> Scope<'a> {
        Scope { instance: Some(instance), ..self.clone() }
    }

    /// The size of the team around, if there is one.
    pub fn size(&self) -> Option<u32> {
        self.size
    }

    pub fn lookup(&self, name: &str) -> Option<f64> {
        if name == SIZE {
            return self.size.map(f64::from);
        }
        if name == INSTANCE {
            return self.instance.map(f64::from);
        }
        let param = self.bound.number(name);
        param.or_else(|| self.facts.get(name))
    }

    /// What an expression counts.
    pub fn unit(&self, expr: &Expr) -> Result<Option<Unit>, UnitError> {
        self.profile.unit_of(expr)
    }

    /// The word, or what it stands for if it is the name of a parameter.
    pub fn word<'w>(&'w self, word: &'w Word) -> &'w str {
        self.bound.word(word)
    }

    /// What would help with an unknown name in an expression.
    pub fn help_for(&self, name: &str) -> Option<String> {
        match name {
            ME => {
                return Some("`me` can be used in counts, amounts, addresses and `on`".to_owned());
            }
            INSTANCE => {
                let where_ = "`instance` can be used in `on`, `start_on` and memory policies";
                return Some(where_.to_owned());
            }
            SIZE => return Some("`size` can be used inside a team".to_owned()),
            _ => {}
        }
        if matches!(self.bound.get(name), Some(Setting::Word(_))) {
            return Some(format!("`{name}` is a word, not a number"));
        }
        let params = self.profile.params.iter().map(|param| param.name.as_str());
        let names = params.chain(Facts::NAMES).chain([ME, SIZE, INSTANCE]);
        nearest(name, names).map(|near| format!("did you mean `{near}`?"))
    }

    /// Every parameter with its value, as the plan prints them.
    pub fn printed(&self) -> Vec<(String, String)> {
        let params = self.profile.params.iter();
        let shown = params.filter_map(|param| {
            let setting = self.bound.get(&param.name)?;
            Some((param.name.clone(), param.shown(setting)))
        });
        shown.collect()
    }
}

/// A number from the command line, which has no place in the profile.
pub(super) fn typed(text: &str, what: &str, faults: &mut Vec<Fault>) -> Option<Expr> {
    match Expr::parse(text, 0) {
        Ok(expr) => Some(Expr { span: 0..0, ..expr }),
        Err(fault) => {
            let message = format!("{what}: {}", fault.message);
            faults.push(Fault { message, span: 0..0, help: fault.help });
            None
        }
    }
}

/// The nearest known word, or all of them.
pub(super) fn suggestion<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(word, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known are {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// A fault about a word that is none of the known ones.
pub(super) fn unknown_word<'a>(
    what: &str,
    word: &str,
    span: &Span,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Fault {
    Fault::new(span.clone(), format!("unknown {what} `{word}`")).with_help(suggestion(word, known))
}
