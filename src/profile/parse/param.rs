//! Reads `[param]`: names, defaults, limits, flags.
//!
//! Must not know: where a parameter is used, the command line beyond the names it keeps.

use super::number::{Scope, described_range, fits, unit_help};
use super::reader::{Key, Meaning, Reader, Table, Value, kind, suggestion};
use crate::base::{Unit, unit};
use crate::profile::expr::{Function, Span, described};
use crate::profile::keys::{FACTS, FLAGS, Form, MEMBER, PARAM, is_name};
use crate::profile::{Choice, Expr, Param, ParamValue, Word};
use toml::de::DeValue;

impl Reader<'_> {
    pub fn params(&mut self, value: &Value<'_>) -> Vec<Param> {
        let mut params: Vec<Param> = Vec::new();
        for (key, value) in self.named(value, "[param]") {
            let param = self.param(key, value);
            if let Some(letter) = param.short
                && let Some(taken) = params.iter().find(|other| other.short == Some(letter))
            {
                let message = format!("short letter `{letter}` is taken by `{}`", taken.name);
                let span = short_span(value).unwrap_or(key.span());
                self.fault(span, message);
            }
            params.push(param);
        }
        self.check_sets(&params);
        params
    }

    fn param(&mut self, key: &Key<'_>, value: &Value<'_>) -> Param {
        let name = key.get_ref().to_string();
        self.check_name(key, "parameter");
        self.check_not_taken(key);
        let table = self.table(value, format!("[param] `{name}`"), key.span(), PARAM);
        let about = self.text(&table, "about");
        let short = self.short(&table);
        let value =
            if self.is_word(&table) { self.word_param(&table) } else { self.number_param(&table) };
        let meaning = match &value {
            Some(ParamValue::Number { unit, .. }) => Meaning::Number(Some(*unit)),
            Some(ParamValue::Word { default, choices }) if choices.is_empty() => {
                Meaning::Word(vec![default.text.clone()])
            }
            Some(ParamValue::Word { choices, .. }) => {
                Meaning::Word(choices.iter().map(|choice| choice.word.clone()).collect())
            }
            None => Meaning::Number(None),
        };
        self.params.push((name.clone(), meaning));
        let stand_in = ParamValue::Word { default: Word::from(""), choices: Vec::new() };
        Param { name, span: key.span(), short, about, value: value.unwrap_or(stand_in) }
    }

    fn check_not_taken(&mut self, key: &Key<'_>) {
        let name: &str = key.get_ref();
        let known = FACTS.iter().chain(MEMBER).any(|row| row.name == name);
        if known || Function::ROWS.iter().any(|row| row.1 == name) {
            let message = format!("a parameter cannot be called `{name}`: expressions know that");
            self.fault(key.span(), message);
        } else if FLAGS.iter().any(|(flag, _)| *flag == name) {
            let message = format!("a parameter cannot be called `{name}`: `--{name}` is a flag");
            self.fault_with_help(key.span(), message, "choose another name");
        }
    }

    fn short(&mut self, table: &Table<'_>) -> Option<char> {
        let (_, value) = table.entry("short")?;
        let text = self.text_of(value, "short");
        let mut chars = text.chars();
        let letter = match (chars.next(), chars.next()) {
            (Some(letter), None) if letter.is_ascii_alphabetic() => letter,
            _ => {
                if value.get_ref().is_str() {
                    self.fault(value.span(), "`short` must be one letter, such as \"g\"");
                }
                return None;
            }
        };
        if let Some((flag, _)) = FLAGS.iter().find(|(_, short)| *short == Some(letter)) {
            let message = format!("short letter `{letter}` is taken by `--{flag}`");
            self.fault(value.span(), message);
        }
        Some(letter)
    }

    fn is_word(&mut self, table: &Table<'_>) -> bool {
        let text = |key| table.entry(key).and_then(|(_, value)| value.get_ref().as_str());
        let is_fact = |text: &str| FACTS.iter().any(|row| row.name == text);
        match text("unit") {
            Some(unit) => unit == "word",
            None if table.has("choices") => true,
            None => text("default").is_some_and(|text| is_name(text) && !is_fact(text)),
        }
    }

    fn word_param(&mut self, table: &Table<'_>) -> Option<ParamValue> {
        for key in ["min", "max"] {
            if let Some((found, _)) = table.entry(key) {
                self.fault(found.span(), format!("`{key}` is for numbers, and this is a word"));
            }
        }
        self.word(table, "unit");
        let choices = self.choices(table);
        let words: Vec<&str> = choices.iter().map(|choice| choice.word.as_str()).collect();
        let value = self.required(table, "default")?;
        let Some(text) = value.get_ref().as_str() else {
            let found = kind(value.get_ref());
            self.fault(value.span(), format!("`default` must be a word in quotes, not {found}"));
            return None;
        };
        if text.is_empty() || text.contains(char::is_control) {
            self.fault(value.span(), "`default` must be a word");
        } else if !words.is_empty() && !words.contains(&text) {
            let message = format!("`default` is `{text}`, which is not among the choices");
            let help = suggestion(text, words.iter().copied());
            self.fault_with_help(value.span(), message, help);
        }
        let default = Word { text: text.to_owned(), span: self.inner(value, text) };
        Some(ParamValue::Word { default, choices })
    }

    /// An array of words, or a table of words with what each sets.
    fn choices(&mut self, table: &Table<'_>) -> Vec<Choice> {
        let choices: Vec<(Choice, Span)> = match table.entry("choices") {
            Some((_, value)) if value.get_ref().is_table() => {
                let entries = self.named(value, "choices");
                let choice = |(key, value): &(&Key<'_>, &Value<'_>)| {
                    let word = key.get_ref().to_string();
                    (Choice { word, sets: self.sets(value) }, key.span())
                };
                entries.iter().map(choice).collect()
            }
            _ => {
                let words = self.texts(table, "choices").into_iter();
                words.map(|(word, span)| (Choice { word, sets: Vec::new() }, span)).collect()
            }
        };
        for (choice, span) in &choices {
            if choice.word.is_empty() || choice.word.contains(char::is_control) {
                self.fault(span.clone(), "a choice must be a word");
            }
        }
        choices.into_iter().map(|(choice, _)| choice).collect()
    }

    /// What a choice sets: parameters, each with a value as the command line could give it.
    fn sets(&mut self, value: &Value<'_>) -> Vec<(Word, String)> {
        let mut sets = Vec::new();
        for (key, value) in self.named(value, "a choice") {
            let name = Word { text: key.get_ref().to_string(), span: key.span() };
            match value.get_ref() {
                DeValue::String(text) => sets.push((name, text.to_string())),
                DeValue::Integer(number) => sets.push((name, number.as_str().to_owned())),
                DeValue::Float(number) => sets.push((name, number.as_str().to_owned())),
                other => {
                    let message = format!("a choice sets `{}` to {}", name.text, kind(other));
                    let help = "write a number, or text as the command line would have it";
                    self.fault_with_help(value.span(), message, help);
                }
            }
        }
        sets
    }

    /// Choices set parameters that there are, and no choices of others, which would set in turn.
    pub fn check_sets(&mut self, params: &[Param]) {
        for param in params {
            let ParamValue::Word { choices, .. } = &param.value else { continue };
            for (name, _) in choices.iter().flat_map(|choice| &choice.sets) {
                let found = params.iter().find(|other| other.name == name.text);
                let help = match found.map(|found| &found.value) {
                    None => suggestion(&name.text, params.iter().map(|it| it.name.as_str())),
                    Some(ParamValue::Word { choices, .. })
                        if choices.iter().any(|choice| !choice.sets.is_empty()) =>
                    {
                        "it sets others itself: a choice sets plain parameters".to_owned()
                    }
                    Some(_) => continue,
                };
                let message = format!("a choice cannot set `{}`", name.text);
                self.fault_with_help(name.span.clone(), message, help);
            }
        }
    }

    fn number_param(&mut self, table: &Table<'_>) -> Option<ParamValue> {
        let default = self.number(table, "default", Scope::Machine);
        let min = self.number(table, "min", Scope::Nothing);
        let max = self.number(table, "max", Scope::Nothing);
        let stated = self.word(table, "unit").and_then(|word| match word.text.as_str() {
            "count" => Some(Unit::Count),
            "time" => Some(Unit::Time),
            "bytes" => Some(Unit::Bytes),
            "share" => Some(Unit::Share),
            _ => None,
        });
        let default = default?;
        let unit_of = |expr: &Expr| expr.unit(&|_| Some(Unit::Count)).ok().flatten();
        let units = [Some(&default), min.as_ref(), max.as_ref()].into_iter().flatten();
        let unit = stated.or_else(|| units.clone().find_map(unit_of)).unwrap_or(Unit::Count);
        let before = self.faults.len();
        for expr in units {
            if let Some(found) = unit_of(expr)
                && !fits(found, unit)
            {
                let (is, wanted) = (described(found), described(unit));
                let message = format!("`{expr}` is {is}, and the parameter is {wanted}");
                self.faults.push(crate::profile::Fault {
                    message,
                    span: expr.span.clone(),
                    help: unit_help(unit),
                });
            }
        }
        let limit = |expr: Option<&Expr>| expr.and_then(Expr::constant);
        let min_value = limit(min.as_ref()).unwrap_or(0.0);
        let max_value = limit(max.as_ref()).unwrap_or(f64::INFINITY);
        if self.faults.len() > before {
            // The limits are in another unit.
        } else if min_value > max_value {
            let span = min.or(max).map_or(table.span.clone(), |expr| expr.span);
            let shown = |value| unit::exact(value, unit);
            let message = format!("min {} is above max {}", shown(min_value), shown(max_value));
            self.fault(span, message);
        } else if let Some(value) = default.constant() {
            self.check_default(value, unit, (min_value, max_value), default.span.clone());
        }
        Some(ParamValue::Number { default, unit, min: min_value, max: max_value })
    }

    fn check_default(&mut self, value: f64, unit: Unit, (min, max): (f64, f64), span: Span) {
        if value < min || value > max {
            let shown = unit::exact(value, unit);
            let range = described_range(value, (min, max), unit);
            self.fault(span, format!("`default` is {shown}, and must be {range}"));
        } else if unit == Unit::Count && value.fract() != 0.0 {
            let message = format!("`default` must be a whole number, not {value}");
            self.fault(span, message);
        }
    }
}

fn short_span(param: &Value<'_>) -> Option<Span> {
    match param.get_ref() {
        DeValue::Table(table) => table.get("short").map(|value| value.span()),
        _ => None,
    }
}

// `default`, `min` and `max` are of any unit in their rows: the parameter decides.
const _: () = assert!(matches!(PARAM[0].form, Form::Number { unit: None, .. }));
