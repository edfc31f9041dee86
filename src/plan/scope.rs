//! What names stand for in this plan: machine facts, parameters as given or by default, and in a
//! team its `size`.
//!
//! Must not know: where an expression is used. `me` is not here: it differs by member.

use super::number::Wanted;
use super::{Overrides, number};
use crate::base::nearest::nearest;
use crate::base::{Unit, unit};
use crate::host::Facts;
use crate::profile::{Expr, Fault, Param, ParamValue, Profile, Span};

/// The index of a member in its team.
pub(super) const ME: &str = "me";
/// The number of members of the team whose steps these are.
pub(super) const SIZE: &str = "size";

/// All names with their values.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    facts: Facts,
    numbers: Vec<Number>,
    words: Vec<(String, String)>,
    /// Parameters that have no value because of a fault that is already noted.
    broken: Vec<String>,
    size: Option<u32>,
}

#[derive(Debug, Clone)]
struct Number {
    name: String,
    value: f64,
    unit: Unit,
}

impl Scope {
    /// Gives every parameter its value. Those that cannot have one are remembered, so that their
    /// fault is told once.
    pub fn bind(
        profile: &Profile,
        facts: Facts,
        overrides: &Overrides,
        faults: &mut Vec<Fault>,
    ) -> Scope {
        let mut scope = Scope {
            facts,
            numbers: Vec::new(),
            words: Vec::new(),
            broken: Vec::new(),
            size: None,
        };
        for (name, _) in &overrides.params {
            if !profile.params.iter().any(|param| param.name == *name) {
                faults.push(unknown_param(name, profile));
            }
        }
        for param in &profile.params {
            if scope.is_taken(&param.name) {
                let taken = format!("`{}` already has a meaning in expressions", param.name);
                faults.push(Fault::new(param.span.clone(), taken).with_help("choose another name"));
            }
            // The last of several wins, as with most flags.
            let given = overrides.params.iter().rev();
            let given = given.filter(|(name, _)| *name == param.name);
            let given = given.map(|(_, text)| text.as_str()).next();
            scope.bind_one(param, given, faults);
        }
        scope
    }

    fn is_taken(&self, name: &str) -> bool {
        self.facts.get(name).is_some() || name == ME || name == SIZE
    }

    fn bind_one(&mut self, param: &Param, given: Option<&str>, faults: &mut Vec<Fault>) {
        let name = param.name.clone();
        let bound = match &param.value {
            ParamValue::Number {
                default,
                unit,
                min,
                max,
            } => {
                let what = format!("parameter `{name}`");
                let wanted = Wanted::new(&what, *unit, *min, *max);
                let value = self.param_number(given, default, &wanted, faults);
                value.map(|value| {
                    let (name, unit) = (name.clone(), *unit);
                    self.numbers.push(Number { name, value, unit });
                })
            }
            ParamValue::Word { default, choices } => {
                let word = given.unwrap_or(&default.text);
                let known = choices.is_empty() || choices.iter().any(|choice| choice == word);
                if !known {
                    let span = if given.is_some() {
                        0..0
                    } else {
                        default.span.clone()
                    };
                    let message = format!("`{word}` is no choice for parameter `{name}`");
                    let known = choices.iter().map(String::as_str);
                    faults.push(Fault::new(span, message).with_help(suggestion(word, known)));
                }
                known.then(|| self.words.push((name.clone(), word.to_owned())))
            }
        };
        if bound.is_none() {
            self.broken.push(name);
        }
    }

    fn param_number(
        &self,
        given: Option<&str>,
        default: &Expr,
        wanted: &Wanted,
        faults: &mut Vec<Fault>,
    ) -> Option<f64> {
        let typed = match given {
            Some(text) => Some(typed(text, &wanted.what, faults)?),
            None => None,
        };
        let expr = typed.as_ref().unwrap_or(default);
        // A number that somebody wrote is taken as written; what came of a division of the
        // machine (`cpus / 3`) is a number of things.
        match expr.constant() {
            Some(_) => number::exact(expr, wanted, self, faults),
            None => number::whole(expr, wanted, self, faults),
        }
    }

    /// The same names inside a team of this size.
    pub fn in_team(&self, size: u32) -> Scope {
        Scope {
            size: Some(size),
            ..self.clone()
        }
    }

    pub fn lookup(&self, name: &str) -> Option<f64> {
        if name == SIZE {
            return self.size.map(f64::from);
        }
        let number = self.numbers.iter().find(|number| number.name == name);
        number
            .map(|number| number.value)
            .or_else(|| self.facts.get(name))
    }

    pub fn unit(&self, name: &str) -> Option<Unit> {
        if name == ME {
            return Some(Unit::Count);
        }
        let number = self.numbers.iter().find(|number| number.name == name);
        let unit = number.map(|number| number.unit);
        unit.or_else(|| self.lookup(name).map(|_| Unit::Count))
    }

    /// The word, or what it stands for if it is the name of a parameter.
    pub fn word<'a>(&'a self, text: &'a str) -> &'a str {
        let param = self.words.iter().find(|(name, _)| name == text);
        param.map_or(text, |(_, word)| word)
    }

    /// Whether its fault has been told already.
    pub fn is_broken(&self, name: &str) -> bool {
        self.broken.iter().any(|broken| broken == name)
    }

    /// What would help with an unknown name in an expression.
    pub fn help_for(&self, name: &str) -> Option<String> {
        match name {
            ME => return Some("`me` is known in steps and in `on` only".to_owned()),
            SIZE => return Some("`size` is known in steps and in `on` only".to_owned()),
            _ => {}
        }
        if self.words.iter().any(|(word, _)| word == name) {
            return Some(format!("`{name}` is a word, not a number"));
        }
        let numbers = self.numbers.iter().map(|number| number.name.as_str());
        let names = numbers.chain(Facts::NAMES).chain([ME, SIZE]);
        nearest(name, names).map(|near| format!("did you mean `{near}`?"))
    }

    /// Every parameter with its value, as the plan prints them.
    pub fn printed(&self, profile: &Profile) -> Vec<(String, String)> {
        let value = |param: &Param| {
            let number = self.numbers.iter().find(|number| number.name == param.name);
            let number = number.map(|number| unit::exact(number.value, number.unit));
            number.unwrap_or_else(|| self.word(&param.name).to_owned())
        };
        let params = profile.params.iter();
        params
            .map(|param| (param.name.clone(), value(param)))
            .collect()
    }
}

/// A number from the command line, which has no place in the profile.
pub(super) fn typed(text: &str, what: &str, faults: &mut Vec<Fault>) -> Option<Expr> {
    match Expr::parse(text, 0) {
        Ok(expr) => Some(Expr { span: 0..0, ..expr }),
        Err(fault) => {
            let message = format!("{what}: {}", fault.message);
            faults.push(Fault {
                message,
                span: 0..0,
                help: fault.help,
            });
            None
        }
    }
}

fn unknown_param(name: &str, profile: &Profile) -> Fault {
    let message = format!("profile `{}` has no parameter `{name}`", profile.name);
    let known = profile.params.iter().map(|param| param.name.as_str());
    let fault = Fault::new(0..0, message);
    match profile.params.is_empty() {
        true => fault.with_help("it has no parameters"),
        false => fault.with_help(suggestion(name, known)),
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
