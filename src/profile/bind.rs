//! Values for parameters: the defaults, and what the command line says instead.
//!
//! Must not know: the command line, the machine. Facts come in as a function of their name.

use crate::base::unit::exact;
use crate::base::{Unit, nearest::nearest};
use crate::profile::expr::{EvalError, UnitError, described};
use crate::profile::keys::{FACTS, NUMBER_MAX};
use crate::profile::parse::{described_range, fits, unit_help};
use crate::profile::{Expr, Param, ParamValue, Profile, Word};
use std::collections::HashMap;

/// What a parameter is in one run.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// In base units, within the parameter's limits; whole if it counts things.
    Number(f64),
    Word(String),
}

/// A value that a parameter cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SettingError {
    /// The parameter, or what was taken for one.
    pub param: String,
    /// Names the parameter, the value, and what would do.
    pub message: String,
}

/// Every parameter of a profile with its value, in the order of the profile.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bound {
    pub settings: Vec<(String, Setting)>,
}

/// Facts of a machine by name; see [`FACTS`].
pub type Facts<'f> = &'f dyn Fn(&str) -> Option<f64>;

impl Profile {
    /// Gives each parameter the value of the last override that names it, or its default.
    pub fn bind(
        &self,
        overrides: &[(String, String)],
        facts: Facts<'_>,
    ) -> Result<Bound, Vec<SettingError>> {
        let mut bound = Bound::default();
        let mut errors = Vec::new();
        let is_param = |name: &str| self.params.iter().any(|param| param.name == name);
        for (name, _) in overrides.iter().filter(|(name, _)| !is_param(name)) {
            let known = self.params.iter().map(|param| param.name.as_str());
            let help = match nearest(name, known.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it has {}", known.collect::<Vec<_>>().join(", ")),
            };
            let message = format!("`{}` has no parameter `{name}`: {help}", self.name);
            errors.push(SettingError { param: name.clone(), message });
        }
        let chosen = self.chosen(overrides);
        for param in &self.params {
            let given = overrides.iter().rev().find(|(name, _)| *name == param.name);
            let given = given.map(|(_, text)| text);
            let choice = chosen.get(param.name.as_str()).filter(|_| given.is_none());
            let setting = match given.or(choice.map(|(_, text)| *text)) {
                Some(text) => param.parse_override(text, facts),
                None => param.default_setting(facts),
            };
            match (setting, choice) {
                (Ok(setting), _) => bound.settings.push((param.name.clone(), setting)),
                (Err(error), None) => errors.push(error),
                (Err(error), Some((by, _))) => {
                    let message = format!("{}, and {by} sets it so", error.message);
                    errors.push(SettingError { message, ..error });
                }
            }
        }
        if errors.is_empty() { Ok(bound) } else { Err(errors) }
    }

    /// What the words chosen for some parameters set others to, and which choice it was.
    fn chosen<'a>(
        &'a self,
        overrides: &'a [(String, String)],
    ) -> HashMap<&'a str, (String, &'a String)> {
        let mut chosen = HashMap::new();
        for param in &self.params {
            let ParamValue::Word { default, choices } = &param.value else { continue };
            let given = overrides.iter().rev().find(|(name, _)| *name == param.name);
            let word = given.map_or(&default.text, |(_, text)| text);
            let choice = choices.iter().find(|choice| choice.word == *word);
            let sets = choice.into_iter().flat_map(|choice| &choice.sets);
            let by = format!("{} = {word}", param.name);
            chosen.extend(sets.map(|(name, value)| (name.text.as_str(), (by.clone(), value))));
        }
        chosen
    }

    /// What an expression of this profile counts; `None` if that cannot be told, as for 0.
    pub fn unit_of(&self, expr: &Expr) -> Result<Option<Unit>, UnitError> {
        expr.unit(&|name| {
            let param = self.params.iter().find(|param| param.name == name);
            match param.map(|param| &param.value) {
                Some(ParamValue::Number { unit, .. }) => Some(*unit),
                Some(ParamValue::Word { .. }) => None,
                None => Some(Unit::Count),
            }
        })
    }
}

impl Bound {
    pub fn get(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|(known, _)| known == name).map(|(_, setting)| setting)
    }

    /// The value of a parameter that is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(Setting::Number(value)) => Some(*value),
            _ => None,
        }
    }

    /// What a word of the profile says: the value of the parameter of that name, or itself.
    pub fn word<'a>(&'a self, word: &'a Word) -> &'a str {
        match self.get(&word.text) {
            Some(Setting::Word(value)) => value,
            _ => &word.text,
        }
    }
}

impl Param {
    /// The value that `text` gives this parameter.
    pub fn parse_override(&self, text: &str, facts: Facts<'_>) -> Result<Setting, SettingError> {
        match &self.value {
            ParamValue::Number { .. } => {
                let expr = Expr::parse(text, 0).map_err(|fault| {
                    let help = fault.help.map(|help| format!("; {help}")).unwrap_or_default();
                    self.error(text, &format!("{}{help}", fault.message))
                })?;
                self.evaluated(&expr, facts)
            }
            ParamValue::Word { choices, .. } if choices.is_empty() => {
                Ok(Setting::Word(text.to_owned()))
            }
            ParamValue::Word { choices, .. } => {
                if choices.iter().any(|choice| choice.word == text) {
                    return Ok(Setting::Word(text.to_owned()));
                }
                let words: Vec<&str> = choices.iter().map(|choice| choice.word.as_str()).collect();
                // As `test` of the profile `numa04`, which is called by its word.
                if let [only] = words[..] {
                    return Err(self.error(text, &format!("can only be {only} in this profile")));
                }
                let near = nearest(text, words.iter().copied());
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                Err(self.error(text, &format!("must be one of {}{near}", words.join(", "))))
            }
        }
    }

    /// The value that this parameter has on a machine if nobody sets it.
    pub fn default_setting(&self, facts: Facts<'_>) -> Result<Setting, SettingError> {
        match &self.value {
            ParamValue::Number { default, .. } => self.evaluated(default, facts),
            ParamValue::Word { default, .. } => Ok(Setting::Word(default.text.clone())),
        }
    }

    /// A value of this parameter as it could be given on the command line.
    pub fn shown(&self, setting: &Setting) -> String {
        match (setting, &self.value) {
            (Setting::Number(value), ParamValue::Number { unit, .. }) => exact(*value, *unit),
            (Setting::Number(value), ParamValue::Word { .. }) => value.to_string(),
            (Setting::Word(word), _) => word.clone(),
        }
    }

    fn error(&self, text: &str, what: &str) -> SettingError {
        let message = format!("{} = {text}: {what}", self.name);
        SettingError { param: self.name.clone(), message }
    }

    fn evaluated(&self, expr: &Expr, facts: Facts<'_>) -> Result<Setting, SettingError> {
        let ParamValue::Number { unit, min, max, .. } = &self.value else {
            return Err(self.error(&expr.text, "is a number, and a word is wanted"));
        };
        let (unit, limits) = (*unit, (*min, *max));
        let value = expr.eval(facts).map_err(|error| {
            let near = match &error {
                EvalError::UnknownName { name } => nearest(name, FACTS.iter().map(|row| row.name)),
                _ => None,
            };
            let help = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            self.error(&expr.text, &format!("{error}{help}"))
        })?;
        match expr.unit(&|_| Some(Unit::Count)) {
            Err(error) => return Err(self.error(&expr.text, &error.to_string())),
            Ok(Some(found)) if !fits(found, unit) => {
                let help = unit_help(unit).filter(|_| found == Unit::Count);
                let help = help.map(|help| format!("; {help}")).unwrap_or_default();
                let what = format!("must be {}, not {}{help}", described(unit), described(found));
                return Err(self.error(&expr.text, &what));
            }
            Ok(_) => {}
        }
        let is_literal = expr.constant().is_some();
        let is_whole = matches!(unit, Unit::Count | Unit::Bytes);
        if is_whole && is_literal && value.fract() != 0.0 {
            return Err(self.error(&expr.text, "must be a whole number"));
        }
        let value = if is_whole { value.floor() } else { value };
        let most = limits.1.min(NUMBER_MAX);
        if value < limits.0 || value > most {
            let range = described_range(value, (limits.0, most), unit);
            let here = match is_literal {
                true => String::new(),
                false => format!(" (here {})", exact(value, unit)),
            };
            return Err(self.error(&expr.text, &format!("must be {range}{here}")));
        }
        Ok(Setting::Number(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(name: &str) -> Option<f64> {
        (name == "cpus").then_some(8.0)
    }

    fn check(param: &Param, cases: &[(&str, Result<f64, &str>)]) {
        for (text, expected) in cases {
            let found = param.parse_override(text, &facts).map_err(|error| error.message);
            let expected = expected.map(Setting::Number).map_err(str::to_owned);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn counts() {
        let groups = Param::number("groups", 10).at_least(1).at_most(1000);
        check(
            &groups,
            &[
                ("20", Ok(20.0)),
                ("cpus", Ok(8.0)),
                ("cpus / 3", Ok(2.0)),
                ("2e1", Ok(20.0)),
                ("0", Err("groups = 0: must be 1 to 1000")),
                ("-5", Err("groups = -5: must be 1 to 1000")),
                ("1e18", Err("groups = 1e18: must be 1 to 1000")),
                ("cpus * 1000", Err("groups = cpus * 1000: must be 1 to 1000 (here 8000)")),
                ("1.5", Err("groups = 1.5: must be a whole number")),
                ("10ms", Err("groups = 10ms: must be a plain number, not a time")),
                ("cpsu", Err("groups = cpsu: unknown name `cpsu`; did you mean `cpus`?")),
                ("me", Err("groups = me: unknown name `me`")),
                ("1/0", Err("groups = 1/0: `1 / 0` divides by zero")),
                ("NaN", Err("groups = NaN: `NaN` is not a name: names are lower case")),
                ("", Err("groups = : the expression is empty")),
            ],
        );
        let error = groups.parse_override("1x", &facts).unwrap_err().message;
        assert!(error.starts_with("groups = 1x: unknown unit `x`; units are ns, us"), "{error}");
    }

    #[test]
    fn times_and_sizes() {
        let time = "write its unit, as in `10us`, `10ms` or `10s`";
        let bare = format!("interval = 5: must be a time, not a plain number; {time}");
        check(
            &Param::number("interval", "1ms"),
            &[("10us", Ok(10e3)), ("0", Ok(0.0)), ("5", Err(&bare))],
        );
        check(&Param::number("bytes", "4 B"), &[("100", Ok(100.0)), ("4 KiB", Ok(4096.0))]);
        check(
            &Param::number("bytes", "4 B").at_least(1),
            &[
                ("0", Err("bytes = 0: must be 1B or more")),
                ("1.5", Err("bytes = 1.5: must be a whole number")),
                ("cpus * 1 B / 3", Ok(2.0)),
            ],
        );
    }

    #[test]
    fn words() {
        let kind = Param::word("kind", "pipe").choices(["pipe", "futex"]);
        let set = |text| kind.parse_override(text, &facts).map_err(|error| error.message);
        assert_eq!(set("futex"), Ok(Setting::Word("futex".into())));
        let wanted = "kind = pip: must be one of pipe, futex; did you mean `pipe`?";
        assert_eq!(set("pip"), Err(wanted.into()));
        let one = Param::word("test", "numa04").choices(["numa04"]);
        let error = one.parse_override("numa05", &facts).unwrap_err().message;
        assert_eq!(error, "test = numa05: can only be numa04 in this profile");
    }

    #[test]
    fn binds_all_and_reports_all() {
        let profile = Profile::new("p")
            .param(Param::number("groups", "cpus / 2").at_least(1))
            .param(Param::word("kind", "pipe"));
        let given = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
        };
        let bound = profile.bind(&given(&[("kind", "a"), ("kind", "futex")]), &facts).unwrap();
        assert_eq!(bound.number("groups"), Some(4.0));
        assert_eq!(bound.word(&Word::from("kind")), "futex");
        assert_eq!(bound.word(&Word::from("other")), "other");
        let errors = profile.bind(&given(&[("group", "3"), ("groups", "0")]), &facts).unwrap_err();
        let messages: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
        let unknown = "`p` has no parameter `group`: did you mean `groups`?";
        assert_eq!(messages, [unknown, "groups = 0: must be 1 or more"]);
    }
}
