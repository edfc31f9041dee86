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
    profile.params.iter().map(|param| flag(param, &profile.name)).collect()
}

fn flag(param: &Param, profile: &str) -> Arg {
    let name = param.name.clone();
    let mut arg = Arg::new(name.clone())
        .long(name)
        .value_name(value_name(param))
        .allow_negative_numbers(true)
        .overrides_with(param.name.clone())
        .help_heading(Str::from(format!("Parameters of {profile}")))
        .help(format!("{} [default: {}]", param.about, range(param)));
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
pub fn range(param: &Param) -> String {
    match &param.value {
        ParamValue::Number { default, unit, min, max } => {
            let exact = |value| unit::exact(value, *unit);
            match (min.is_finite(), max.is_finite()) {
                (true, true) => format!("{}; {} to {}", default.text, exact(*min), exact(*max)),
                (true, false) => format!("{}; at least {}", default.text, exact(*min)),
                (false, true) => format!("{}; at most {}", default.text, exact(*max)),
                (false, false) => default.text.clone(),
            }
        }
        ParamValue::Word { default, choices } => {
            let others: Vec<&str> = words(choices).filter(|word| *word != default.text).collect();
            match others.is_empty() {
                true => default.text.clone(),
                false => format!("{}; or {}", default.text, others.join(", ")),
            }
        }
    }
}

/// The parameters that the command line sets.
pub fn given(matches: &ArgMatches, profile: &Profile) -> Vec<(String, String)> {
    let value = |param: &Param| {
        let text = matches.get_one::<String>(&param.name)?;
        Some((param.name.clone(), text.clone()))
    };
    profile.params.iter().filter_map(value).collect()
}
