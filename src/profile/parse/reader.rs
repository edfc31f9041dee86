//! Reads typed values out of TOML tables and gathers what is wrong with them.
//!
//! A value that is not as it should be becomes a fault and a stand-in, so that reading goes on and
//! finds the next fault too. Must not know: what the values are for.

use crate::base::Unit;
use crate::base::nearest::nearest;
use crate::profile::keys::{Absent, Form, KeyRow};
use crate::profile::{Expr, Fault, Span, Word};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

pub(super) type Key<'t> = Spanned<DeString<'t>>;
pub(super) type Value<'t> = Spanned<DeValue<'t>>;

/// What a parameter's name stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Meaning {
    /// A number; the unit is unknown when the parameter itself is faulty.
    Number(Option<Unit>),
    /// A word: all that it can become.
    Word(Vec<String>),
}

/// The text, what has been declared in it, and what was wrong so far.
pub(super) struct Reader<'a> {
    pub text: &'a str,
    pub params: Vec<(String, Meaning)>,
    /// Name, and whether there is exactly one of it.
    pub channels: Vec<(String, Instances)>,
    pub regions: Vec<(String, Instances)>,
    pub sync_objects: Vec<(String, &'static str, Instances)>,
    pub faults: Vec<Fault>,
}

/// How many of a channel there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instances {
    One,
    Several,
}

/// What an address names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Channel,
    Region,
    Lock,
}

/// A table whose keys have been checked against its rows.
pub(super) struct Table<'t> {
    /// "[team.reader]", for messages.
    pub label: String,
    /// What to point at when something is missing.
    pub span: Span,
    pub rows: &'static [KeyRow],
    entries: Vec<(&'t Key<'t>, &'t Value<'t>)>,
}

impl<'t> Table<'t> {
    /// A table whose keys the caller has checked.
    pub fn of(
        entries: Vec<(&'t Key<'t>, &'t Value<'t>)>,
        label: String,
        span: Span,
        rows: &'static [KeyRow],
    ) -> Table<'t> {
        Table { label, span, rows, entries }
    }

    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    pub fn entry(&self, key: &str) -> Option<(&'t Key<'t>, &'t Value<'t>)> {
        self.entries.iter().copied().find(|(found, _)| found.get_ref() == key)
    }

    pub fn row(&self, key: &str) -> Option<&'static KeyRow> {
        self.rows.iter().find(|row| row.key == key)
    }
}

/// The entries of a table in the order of the text.
pub(super) fn in_order<'t>(table: &'t DeTable<'t>) -> Vec<(&'t Key<'t>, &'t Value<'t>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// The kind of a TOML value in words: "a string".
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time of day",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// "did you mean ...?", or the list of what there is.
pub(super) fn suggestion<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there is none".to_owned(),
        None => format!("known: {}", known.join(", ")),
    }
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str) -> Reader<'a> {
        let (params, channels, regions) = (Vec::new(), Vec::new(), Vec::new());
        Reader { text, params, channels, regions, sync_objects: Vec::new(), faults: Vec::new() }
    }

    pub fn fault(&mut self, span: Span, message: impl Into<String>) {
        self.faults.push(Fault::new(span, message));
    }

    pub fn fault_with_help(
        &mut self,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.faults.push(Fault::new(span, message).with_help(help));
    }

    pub fn meaning(&self, name: &str) -> Option<&Meaning> {
        self.params.iter().find(|(known, _)| known == name).map(|(_, meaning)| meaning)
    }

    /// A value that must be a table with the keys of `rows`.
    pub fn table<'t>(
        &mut self,
        value: &'t Value<'t>,
        label: String,
        span: Span,
        rows: &'static [KeyRow],
    ) -> Table<'t> {
        let entries = match value.get_ref() {
            DeValue::Table(table) => in_order(table),
            other => {
                let message = format!("{label} must be a table, not {}", kind(other));
                let known: Vec<&str> = rows.iter().map(|row| row.key).collect();
                let help = format!("a table with the keys {}", known.join(", "));
                self.fault_with_help(value.span(), message, help);
                // Nothing is missing from a table that is not there.
                return Table { label, span, rows: &[], entries: Vec::new() };
            }
        };
        let known = |key: &str| rows.iter().any(|row| row.key == key);
        for (key, _) in entries.iter().filter(|(key, _)| !known(key.get_ref())) {
            let message = format!("unknown key `{}` in {label}", shown(key.get_ref()));
            let help = suggestion(key.get_ref(), rows.iter().map(|row| row.key));
            self.fault_with_help(key.span(), message, help);
        }
        Table { label, span, rows, entries }
    }

    /// The entries of a table whose keys are names that the profile chooses.
    pub fn named<'t>(
        &mut self,
        value: &'t Value<'t>,
        label: &str,
    ) -> Vec<(&'t Key<'t>, &'t Value<'t>)> {
        match value.get_ref() {
            DeValue::Table(table) => in_order(table),
            other => {
                self.fault(value.span(), format!("{label} must be a table, not {}", kind(other)));
                Vec::new()
            }
        }
    }

    /// The value of a key; a fault if it is missing and must not be.
    pub fn required<'t>(&mut self, table: &Table<'t>, key: &str) -> Option<&'t Value<'t>> {
        let found = table.entry(key).map(|(_, value)| value);
        if let (None, Some(row)) = (found, table.row(key))
            && let Absent::Required(example) = row.absent
        {
            let message = format!("{} has no `{key}`", table.label);
            let help = match row.form {
                Form::Table([]) => format!("add `{example}`: {}", row.about),
                _ => format!("add `{key} = {example}`: {}", row.about),
            };
            self.fault_with_help(table.span.clone(), message, help);
        }
        found
    }

    /// A wrong type: "`pin` must be true or false, not a number".
    pub fn wrong(&mut self, value: &Value<'_>, key: &str, wanted: &str) {
        let message = format!("`{key}` must be {wanted}, not {}", kind(value.get_ref()));
        self.fault(value.span(), message);
    }

    /// Free text, on one line.
    pub fn text(&mut self, table: &Table<'_>, key: &str) -> String {
        let Some(value) = self.required(table, key) else {
            return String::new();
        };
        self.text_of(value, key)
    }

    pub fn text_of(&mut self, value: &Value<'_>, key: &str) -> String {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong(value, key, "a string");
            return String::new();
        };
        if text.contains(char::is_control) {
            self.fault(
                value.span(),
                format!("`{key}` must be one line without control characters"),
            );
        }
        text.to_owned()
    }

    pub fn switch(&mut self, table: &Table<'_>, key: &str) -> bool {
        let Some((_, value)) = table.entry(key) else {
            return false;
        };
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.wrong(value, key, "true or false");
            false
        })
    }

    pub fn texts(&mut self, table: &Table<'_>, key: &str) -> Vec<(String, Span)> {
        let Some((_, value)) = table.entry(key) else {
            return Vec::new();
        };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong(value, key, "an array of strings");
            return Vec::new();
        };
        let mut found = Vec::new();
        for item in array.iter() {
            match item.get_ref().as_str() {
                Some(text) => found.push((text.to_owned(), item.span())),
                None => self.wrong(item, key, "an array of strings"),
            }
        }
        found
    }

    /// A word, one of those in the key's row or a parameter that stands for one.
    pub fn word(&mut self, table: &Table<'_>, key: &str) -> Option<Word> {
        let value = self.required(table, key)?;
        let Some(Form::Word(allowed)) = table.row(key).map(|row| row.form) else {
            return None;
        };
        self.word_of(value, key, allowed)
    }

    pub fn word_of(&mut self, value: &Value<'_>, key: &str, allowed: &[&str]) -> Option<Word> {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong(value, key, "a word in quotes");
            return None;
        };
        let word = Word { text: text.to_owned(), span: self.inner(value, text) };
        let known = |text: &str| allowed.is_empty() || allowed.contains(&text);
        match self.meaning(text).cloned() {
            Some(Meaning::Word(values)) => {
                for bad in values.iter().filter(|value| !known(value)) {
                    let message = format!("`{key}` cannot be `{bad}`, which `{text}` may become");
                    let help = format!("`{key}` is one of {}", allowed.join(", "));
                    self.fault_with_help(word.span.clone(), message, help);
                }
            }
            Some(Meaning::Number(_)) if !known(text) || allowed.is_empty() => {
                self.fault(word.span.clone(), format!("`{key}` is a word, and `{text}` a number"));
            }
            _ if text.is_empty() => {
                self.fault(value.span(), format!("`{key}` is empty"));
            }
            _ if !known(text) => {
                let message = format!("`{key}` cannot be `{}`", shown(text));
                self.fault_with_help(
                    word.span.clone(),
                    message,
                    suggestion(text, allowed.to_vec()),
                );
            }
            _ => {}
        }
        Some(word)
    }

    /// Where the characters of a string stand between its quotes; all of it where they are not
    /// literally there (escapes, line continuations).
    pub fn inner(&self, value: &Value<'_>, text: &str) -> Span {
        let span = value.span();
        for quotes in [1, 3] {
            let inner = span.start + quotes..span.end.saturating_sub(quotes);
            if self.text.get(inner.clone()) == Some(text) {
                return inner;
            }
        }
        span
    }

    /// A name that the profile chooses for something.
    pub fn check_name(&mut self, key: &Key<'_>, what: &str) {
        if !crate::profile::keys::is_name(key.get_ref()) {
            let message = format!("`{}` is no name for a {what}", shown(key.get_ref()));
            let help = "a name is made of a-z, 0-9 and _, and does not start with a digit";
            self.fault_with_help(key.span(), message, help);
        }
    }
}

/// What stands in for a number that could not be read.
pub(super) fn stand_in() -> Expr {
    Expr::number(1.0, Unit::Count)
}

/// Text of the profile within a message.
pub(super) fn shown(text: &str) -> String {
    const LENGTH_MAX: usize = 60;
    let escaped: String = text.chars().flat_map(char::escape_debug).collect();
    match escaped.char_indices().nth(LENGTH_MAX) {
        Some((end, _)) => format!("{}...", &escaped[..end]),
        None => escaped,
    }
}
