//! A profile's parameters as flags, and the given flags as overrides of a plan.
//!
//! Values stay text here: the plan evaluates them, since they may use facts of the machine. Must
//! not know: what a parameter does.

use crate::base::unit;
use crate::profile::{Choice, Param, ParamValue, Profile};
use clap::builder::{PossibleValuesParser, Str};
use clap::{Arg, ArgMatches};

/// A flag for each parameter, under a heading of its own.
pub fn flags(profile: &Profile) -> Vec<Arg> {
    profile.params.iter().map(|param| flag(param, profile)).collect()
}

fn flag(param: &Param, profile: &Profile) -> Arg {
    let name = param.name.clone();
    let mut arg = Arg::new(name.clone())
        .long(name)
        .value_name(value_name(param))
        .allow_negative_numbers(true)
        .overrides_with(param.name.clone())
        .help_heading(Str::from(format!("Parameters of {}", profile.name)))
        .help(format!("{} [default: {}]", param.about, range(param, profile)));
    if param.name.contains('_') {
        arg = arg.alias(param.name.replace('_', "-"));
    }
    if let Some(short) = param.short {
        arg = arg.short(short);
    }
    match &param.value {
        ParamValue::Word { choices, .. } if !choices.is_empty() => arg
            .value_parser(PossibleValuesParser::new(words(choices).map(str::to_owned)))
            .hide_possible_values(true),
        _ => arg,
    }
}

fn value_name(param: &Param) -> &'static str {
    match &param.value {
        ParamValue::Number { unit, .. } => match unit {
            unit::Unit::Count => "N",
            unit::Unit::Time => "TIME",
            unit::Unit::Bytes => "BYTES",
            unit::Unit::Share => "SHARE",
        },
        ParamValue::Word { .. } => "WORD",
    }
}

fn words(choices: &[Choice]) -> impl Iterator<Item = &str> {
    choices.iter().map(|choice| choice.word.as_str())
}

/// Default and what else is allowed: `10; 1 to 100000`, `pipe; or socketpair, tcp`.
pub fn range(param: &Param, profile: &Profile) -> String {
    let own = match &param.value {
        ParamValue::Number { default, .. } => &default.text,
        ParamValue::Word { default, .. } => &default.text,
    };
    let default = set_by_default(param, profile).unwrap_or(own);
    match &param.value {
        ParamValue::Number { unit, min, max, .. } => {
            let exact = |value| unit::exact(value, *unit);
            match (min.is_finite(), max.is_finite()) {
                (true, true) => format!("{default}; {} to {}", exact(*min), exact(*max)),
                (true, false) => format!("{default}; at least {}", exact(*min)),
                (false, true) => format!("{default}; at most {}", exact(*max)),
                (false, false) => default.to_owned(),
            }
        }
        ParamValue::Word { choices, .. } => {
            let others: Vec<&str> = words(choices).filter(|word| *word != default).collect();
            match others.is_empty() {
                true => default.to_owned(),
                false => format!("{default}; or {}", others.join(", ")),
            }
        }
    }
}

/// What the default word of another parameter sets this one to: that is what it is if nobody sets
/// either.
fn set_by_default<'a>(param: &Param, profile: &'a Profile) -> Option<&'a str> {
    profile.params.iter().find_map(|other| {
        let ParamValue::Word { default, choices } = &other.value else {
            return None;
        };
        let choice = choices.iter().find(|choice| choice.word == default.text)?;
        let (_, value) = choice.sets.iter().find(|(name, _)| name.text == param.name)?;
        Some(value.as_str())
    })
}

/// The parameters that the command line sets.
pub fn given(matches: &ArgMatches, profile: &Profile) -> Vec<(String, String)> {
    let value = |param: &Param| {
        let text = matches.get_one::<String>(&param.name)?;
        Some((param.name.clone(), text.clone()))
    };
    profile.params.iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::catalogue;

    #[test]
    fn defaults_are_those_that_a_default_word_sets() {
        let check = |profile: &str, param: &str, expected: &str| {
            let profile = catalogue::load(profile).unwrap();
            let param = profile.params.iter().find(|it| it.name == param).unwrap();
            assert_eq!(range(param, &profile), expected, "{} {}", profile.name, param.name);
        };
        check("numa", "processes", "2; 1 to 10000");
        check("numa04", "processes", "nodes; 1 to 10000");
        check("numa04", "test", "numa04");
        check("numa02", "begin", "main");
        check("who-moves", "worker_start", "node:second_node");
        check("who-moves", "start", "remote; or local, free");
        check("who-moves", "age", "0s; at least 0ns");
    }
}
