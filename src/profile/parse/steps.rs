//! Reads `steps`: verbs with their options, blocks of steps, addresses.
//!
//! A step has exactly one verb. One that no row knows is an act, whose amount is read and whose
//! name is left to the mechanisms. Must not know: which acts exist.

use super::number::Scope;
use super::reader::{
    Instances, Key, Meaning, Named, Reader, Table, Value, kind, shown, stand_in, suggestion,
};
use crate::base::Unit;
use crate::base::nearest::nearest;
use crate::profile::keys::{ACT, FACTS, Form, KeyRow, MEMBER, NUMBER_MAX, VERBS, VerbRow, is_name};
use crate::profile::{Action, Address, Expr, Fault, Span, Spread, Step, Which, Word};
use toml::de::DeValue;

/// How deep steps may be nested.
const DEPTH_MAX: usize = 16;

/// What `spin = ...` and the like take; what it counts is for the mechanism to say.
const AMOUNT: Form = Form::Number { unit: None, min: 0.0, max: NUMBER_MAX };

impl Reader<'_> {
    pub fn steps(&mut self, value: &Value<'_>, key: &str, depth: usize) -> Vec<Step> {
        let DeValue::Array(array) = value.get_ref() else {
            self.wrong(value, key, "an array of steps");
            return Vec::new();
        };
        if depth > DEPTH_MAX {
            self.fault(value.span(), format!("steps are nested deeper than {DEPTH_MAX}"));
            return Vec::new();
        }
        if array.is_empty() {
            self.fault(value.span(), format!("`{key}` has no step"));
        }
        let mut steps: Vec<Step> = Vec::new();
        let mut ended = false;
        for item in array.iter() {
            if ended {
                let help = "a step after `forever` is never done: move it before, or inside";
                self.fault_with_help(item.span(), "this step is never reached", help);
            }
            let step = self.step(item, depth);
            ended = matches!(&step, Some(Step { action: Action::Forever { .. }, .. }));
            steps.extend(step);
        }
        steps
    }

    fn step(&mut self, item: &Value<'_>, depth: usize) -> Option<Step> {
        let span = item.span();
        let DeValue::Table(table) = item.get_ref() else {
            let message = format!("a step must be a table, not {}", kind(item.get_ref()));
            self.fault_with_help(span, message, "write a step as `{ send = \"inbox[*]\" }`");
            return None;
        };
        let entries = super::reader::in_order(table);
        let (key, value) = self.verb(&entries, span.clone())?;
        let verb: &str = key.get_ref();
        let row = row_of(verb);
        let options = row.map_or(ACT, |row| row.options);
        self.check_options(&entries, verb, options);
        let label = format!("`{verb}`");
        let table = Table::of(entries, label, key.span(), options);
        let action = match row {
            Some(row) => {
                let word = Word { text: verb.to_owned(), span: key.span() };
                self.known(row, &table, value, depth, word)?
            }
            None => {
                let amount = self.number_of(value, verb, AMOUNT, Scope::Team);
                let spread = self.word(&table, "spread");
                let cv = self.number(&table, "cv", Scope::Team);
                if let (None, Some((key, _))) = (&spread, table.entry("cv")) {
                    let help = "say of what: `spread = \"lognormal\"`";
                    self.fault_with_help(key.span(), "`cv` without a `spread`", help);
                }
                let spread = spread.map(|of| Spread { of, cv });
                let verb = Word { text: verb.to_owned(), span: key.span() };
                Action::Act { verb, amount, spread }
            }
        };
        Some(Step { action, span })
    }

    /// The one key of a step that says what is done.
    fn verb<'t>(
        &mut self,
        entries: &[(&'t Key<'t>, &'t Value<'t>)],
        step: Span,
    ) -> Option<(&'t Key<'t>, &'t Value<'t>)> {
        let is_option = |key: &Key<'_>| {
            let mut rows = VERBS.iter().flat_map(|row| row.options).chain(ACT);
            rows.any(|row| row.key == key.get_ref())
        };
        // `choose` is a verb, and an option of `active`.
        let is_option_here = |key: &Key<'_>| {
            let others = entries.iter().filter(|(other, _)| other.get_ref() != key.get_ref());
            let rows = others.filter_map(|(other, _)| row_of(other.get_ref()));
            rows.flat_map(|row| row.options).any(|row| row.key == key.get_ref())
        };
        let is_verb = |key: &Key<'_>| row_of(key.get_ref()).is_some() && !is_option_here(key);
        let known: Vec<_> = entries.iter().filter(|(key, _)| is_verb(key)).collect();
        if let [first, second, ..] = known[..] {
            let (first, second) = (first.0, second.0);
            let message = format!(
                "a step does one thing, not `{first}` and `{second}`",
                first = first.get_ref(),
                second = second.get_ref()
            );
            self.fault_with_help(second.span(), message, "make it two steps");
            return None;
        }
        if let [found] = known[..] {
            return Some(*found);
        }
        let Some((key, value)) = entries.iter().find(|(key, _)| !is_option(key)) else {
            let verbs: Vec<&str> = VERBS.iter().map(|row| row.verb).collect();
            let help = format!("verbs are {}, and what burns or passes time", verbs.join(", "));
            self.fault_with_help(step, "the step has no verb", help);
            return None;
        };
        let name: &str = key.get_ref();
        let near = nearest(name, VERBS.iter().map(|row| row.verb));
        // `sleep = "1ms"` is no slip for `sweep = "area"`: what it counts tells them apart.
        let takes_number =
            |verb: &str| row_of(verb).is_some_and(|row| matches!(row.form, Form::Number { .. }));
        let near = near.filter(|near| takes_number(near) || !self.is_amount(value));
        if let Some(near) = near {
            let message = format!("unknown step `{}`", shown(name));
            self.fault_with_help(key.span(), message, format!("did you mean `{near}`?"));
            return None;
        }
        if !is_name(name) {
            self.fault(key.span(), format!("unknown step `{}`", shown(name)));
            return None;
        }
        Some((key, value))
    }

    /// Whether a value can only be a number: a literal, or an expression of names of numbers.
    fn is_amount(&self, value: &Value<'_>) -> bool {
        let text = match value.get_ref() {
            DeValue::Integer(_) | DeValue::Float(_) => return true,
            DeValue::String(text) => text,
            _ => return false,
        };
        let is_known = |name: &str| {
            FACTS.iter().chain(MEMBER).any(|row| row.name == name)
                || matches!(self.meaning(name), Some(Meaning::Number(_)))
        };
        // No region is called so, even where its unit is unknown.
        if text.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            return true;
        }
        let mut all_known = true;
        Expr::parse(text, 0).is_ok_and(|expr| {
            expr.names(&mut |name| all_known &= is_known(name));
            all_known
        })
    }

    fn check_options(
        &mut self,
        entries: &[(&Key<'_>, &Value<'_>)],
        verb: &str,
        options: &[KeyRow],
    ) {
        for (key, _) in entries {
            let name: &str = key.get_ref();
            if name == verb || options.iter().any(|row| row.key == name) {
                continue;
            }
            let message = format!("`{verb}` has no option `{}`", shown(name));
            let help = match options {
                [] => format!("`{verb}` has no options; make `{}` a step of its own", shown(name)),
                _ => suggestion(name, options.iter().map(|row| row.key)),
            };
            self.fault_with_help(key.span(), message, help);
        }
    }

    fn known(
        &mut self,
        row: &VerbRow,
        table: &Table<'_>,
        value: &Value<'_>,
        depth: usize,
        verb: Word,
    ) -> Option<Action> {
        Some(match row.verb {
            "send" | "wake" => {
                let bytes = self.bytes(table);
                Action::Send { to: self.address(value, row.verb, Named::Channel)?, bytes }
            }
            "receive" | "wait" => {
                let bytes = self.bytes(table);
                Action::Receive { from: self.address(value, row.verb, Named::Channel)?, bytes }
            }
            "repeat" => {
                let count = self.number_of(value, row.verb, row.form, Scope::Team);
                Action::Repeat { count, steps: self.inner_steps(table, depth) }
            }
            "during" => {
                let time = self.number_of(value, row.verb, row.form, Scope::Team);
                Action::During { time, steps: self.inner_steps(table, depth) }
            }
            "spawn" => Action::Spawn { team: self.word_of(value, row.verb, &[])? },
            "join" => Action::Join { team: self.word_of(value, row.verb, &[])? },
            "sweep" | "touch" | "chase" | "multiply" | "allocate" | "copy" | "scale" | "add"
            | "triad" => self.use_of_memory(row, table, value, verb)?,
            "active" | "choose" | "every" | "arrive" => {
                Action::Flow(Box::new(self.flow(row, table, value, depth)?))
            }
            "barrier" | "lock" | "commit" | "ask" | "serve" | "safepoint" | "collect" | "pause" => {
                self.sync_step(row, table, value, depth)?
            }
            "forever" => Action::Forever { steps: self.steps(value, row.verb, depth + 1) },
            "measure" => {
                let steps = self.inner_steps(table, depth);
                let from = self.word(table, "from");
                Action::Measure { name: self.measure_name(value)?, from, steps }
            }
            _ => return None,
        })
    }

    /// The `steps` of a block.
    pub(super) fn inner_steps(&mut self, table: &Table<'_>, depth: usize) -> Vec<Step> {
        match self.required(table, "steps") {
            Some(steps) => self.steps(steps, "steps", depth + 1),
            None => Vec::new(),
        }
    }

    fn bytes(&mut self, table: &Table<'_>) -> Option<Expr> {
        table.row("bytes").and_then(|_| self.number(table, "bytes", Scope::Team))
    }

    /// The name becomes part of metric names, so it is a name and not a parameter.
    fn measure_name(&mut self, value: &Value<'_>) -> Option<Word> {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong(value, "measure", "a name in quotes");
            return None;
        };
        if !is_name(text) {
            let message = format!("`{}` is no name for a measure", shown(text));
            let help = "a name is made of a-z, 0-9 and _, and does not start with a digit";
            self.fault_with_help(value.span(), message, help);
        }
        Some(Word { text: text.to_owned(), span: self.inner(value, text) })
    }

    pub(super) fn address(
        &mut self,
        value: &Value<'_>,
        verb: &str,
        named: Named,
    ) -> Option<Address> {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong(
                value,
                verb,
                match named {
                    Named::Channel => "an address such as \"inbox[me]\"",
                    Named::Region => "a region or a slice, such as \"area[me]\"",
                    Named::Lock => "a lock, such as \"rows[any]\"",
                },
            );
            return None;
        };
        let place = self.inner(value, text);
        let literal = place.len() == text.len();
        let help = match named {
            Named::Channel => ADDRESS_HELP,
            Named::Region => PART_HELP,
            Named::Lock => LOCK_HELP,
        };
        let (name, index) = match text.split_once('[') {
            None => (text, None),
            Some((name, rest)) => match rest.strip_suffix(']') {
                Some(index) => (name, Some(index)),
                None => {
                    let message = format!("`{}` is no address: its `]` is missing", shown(text));
                    self.faults.push(Fault::new(place, message).with_help(help));
                    return None;
                }
            },
        };
        let start = if literal { place.start } else { value.span().start };
        let name_span = if literal { start..start + name.len() } else { place.clone() };
        let channel = Word { text: name.to_owned(), span: name_span };
        let instances = self.one_named(&channel, named)?;
        let which = match index.map(str::trim) {
            None if instances == Instances::One => Which::All,
            None => {
                let (one, all) = match named {
                    Named::Lock => ("lock", "any"),
                    _ => ("channel", "*"),
                };
                let message = format!("`{name}` is not one {one} but several");
                let help = format!("say which: `{name}[me]`, `{name}[{all}]`, `{name}[next]`");
                self.fault_with_help(channel.span.clone(), message, help);
                return None;
            }
            Some("*") => Which::All,
            Some("next") => Which::Next,
            Some("any") => Which::Any,
            Some("") => {
                let message = format!("`{}` does not say which", shown(text));
                self.fault_with_help(place, message, help);
                return None;
            }
            Some(_) => Which::At(self.index(index?, name, &place, literal)),
        };
        Some(Address { channel, which })
    }

    fn one_named(&mut self, word: &Word, named: Named) -> Option<Instances> {
        let (all, what, table) = match named {
            Named::Channel => (&self.channels, "channel", "channel"),
            Named::Region => (&self.regions, "region of memory", "memory"),
            Named::Lock => return self.sync_named(word, "lock"),
        };
        let known = all.iter().find(|(known, _)| *known == word.text);
        if let Some((_, instances)) = known {
            return Some(*instances);
        }
        let message = format!("unknown {what} `{}`", shown(&word.text));
        let help = match all.is_empty() {
            true => format!("add `[{table}.{}]`", shown(&word.text)),
            false => suggestion(&word.text, all.iter().map(|(name, _)| name.as_str())),
        };
        self.fault_with_help(word.span.clone(), message, help);
        None
    }

    fn index(&mut self, index: &str, name: &str, place: &Span, literal: bool) -> Expr {
        let start = place.start + name.len() + 1;
        let span = if literal { start..start + index.len() } else { place.clone() };
        let Some(expr) = self.parsed(index, span) else {
            return stand_in();
        };
        let form = Form::Number { unit: Some(Unit::Count), min: 0.0, max: NUMBER_MAX };
        self.check(&expr, name, form, Scope::Team);
        expr
    }
}

fn row_of(verb: &str) -> Option<&'static VerbRow> {
    VERBS.iter().find(|row| row.verb == verb)
}

const PART_HELP: &str = "write `area` for all of a region, `area[me]` or `area[0]` for a slice";
const LOCK_HELP: &str = "a lock is written `rows[any]`, `rows[me]`, `rows[next]`, `rows[0]`";
const ADDRESS_HELP: &str = "an address is a channel and which of its instances: \
     `inbox[me]`, `inbox[*]`, `inbox[next]`, `inbox[any]`, `inbox[0]`";
