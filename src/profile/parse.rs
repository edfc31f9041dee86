//! From the text of a profile to a [`Profile`], with everything that is wrong in it at once.
//!
//! Parameters and channels are read first, since everything else is checked against their names,
//! whatever the order in the file. Must not know: which kinds and acts exist, the machine.
//! Reading on: `reader.rs` for typed values, `param.rs`, `team.rs`, `steps.rs` for the tables.

#[cfg(test)]
mod damage;
mod flow;
mod memory;
mod number;
mod param;
mod ramp;
mod reader;
mod steps;
mod sync;
mod team;
#[cfg(test)]
mod tests;

pub(crate) use number::{described_range, fits, unit_help};

use crate::base::Unit;
use crate::profile::keys::{CONDITION, PROFILE};
use crate::profile::{Condition, Expr, Fault, Faults, Profile, Source, Watch, Word};
use number::Scope;
use reader::{Reader, Table, shown};
use toml::de::{DeTable, DeValue};

impl Profile {
    /// Reads a profile from TOML.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, each with its place and, where there is one, the nearest
    /// known word.
    ///
    /// # Examples
    ///
    /// ```
    /// use schedload::profile::{Profile, Source};
    ///
    /// let text = "about = 'nobody'\ncopies = 0 / 0\n".to_owned();
    /// let faults = Profile::parse("mine", Source { path: "mine.toml".to_owned(), text });
    /// println!("{}", faults.unwrap_err());
    /// ```
    pub fn parse(name: &str, source: Source) -> Result<Profile, Faults> {
        let (document, errors) = DeTable::parse_recoverable(&source.text);
        let mut reader = Reader::new(&source.text);
        let is_toml = reader.toml_errors(&errors);
        // What could be recovered from a broken text would give faults that are not there.
        if !is_toml {
            return Err(sorted(&source, reader.faults));
        }
        let document = toml::Spanned::new(0..0, DeValue::Table(document.into_inner()));
        let table = reader.table(&document, "the profile".to_owned(), 0..0, PROFILE);
        let profile = reader.profile(name, &table);
        if reader.faults.is_empty() {
            Ok(Profile { source, ..profile })
        } else {
            Err(sorted(&source, reader.faults))
        }
    }
}

fn sorted(source: &Source, mut faults: Vec<Fault>) -> Faults {
    faults.sort_by_key(|fault| (fault.span.start, fault.span.end));
    Faults::new(source, faults)
}

impl Reader<'_> {
    /// Turns the errors of the TOML reader into faults; false if the text is no TOML at all.
    fn toml_errors(&mut self, errors: &[toml::de::Error]) -> bool {
        let mut is_toml = true;
        let mut line_before: Option<usize> = None;
        // They come as the reader finds them, which is not the order of the text.
        let mut errors: Vec<_> = errors.iter().collect();
        errors.sort_by_key(|error| error.span().map_or(0, |span| span.start));
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            let word = self.text.get(span.clone()).unwrap_or_default();
            if error.message() == "duplicate key" {
                self.fault(span, format!("duplicate key `{}`", shown(word)));
                continue;
            }
            is_toml = false;
            // One mistake makes several errors as the reader finds its way again.
            let before = self.text.get(..span.start).unwrap_or_default();
            let line = before.matches('\n').count();
            if line_before.is_none_or(|before| line > before + 1) {
                self.fault(span, format!("not TOML: {}", error.message()));
            }
            line_before = Some(line);
        }
        is_toml
    }

    fn profile(&mut self, name: &str, table: &Table<'_>) -> Profile {
        let params = match table.entry("param") {
            Some((_, value)) => self.params(value),
            None => Vec::new(),
        };
        let channels = match table.entry("channel") {
            Some((_, value)) => self.channels(value),
            None => Vec::new(),
        };
        let memory = match table.entry("memory") {
            Some((_, value)) => self.memory(value),
            None => Vec::new(),
        };
        let processes = match table.entry("process") {
            Some((_, value)) => self.processes(value),
            None => Vec::new(),
        };
        let syncs = self.syncs(table);
        let teams = match self.required(table, "team") {
            Some(value) => self.teams(value),
            None => Vec::new(),
        };
        let copies = self.number(table, "copies", Scope::Profile);
        Profile {
            name: name.to_owned(),
            source: Source::default(),
            about: self.text(table, "about"),
            params,
            copies: copies.unwrap_or_else(|| Expr::number(1.0, Unit::Count)),
            instances: self.number(table, "instances", Scope::Profile),
            cgroup: self.cgroup(table),
            nodes: self.number(table, "nodes", Scope::Profile),
            duration: self.number(table, "duration", Scope::Profile),
            warmup: self.number(table, "warmup", Scope::Profile),
            watch: self.watch(table),
            conditions: self.conditions(table),
            ramp: self.ramp(table),
            channels,
            memory,
            processes,
            syncs,
            teams,
        }
    }

    fn watch(&mut self, table: &Table<'_>) -> Vec<Watch> {
        let Some((_, value)) = table.entry("watch") else {
            return Vec::new();
        };
        let entries = self.named(value, "[watch]");
        let mut watch = Vec::new();
        for (key, value) in entries {
            let text = key.get_ref().to_string();
            self.check_name(key, "metric");
            let about = self.text_of(value, &text);
            watch.push(Watch { metric: Word { text, span: key.span() }, about });
        }
        watch
    }

    fn conditions(&mut self, table: &Table<'_>) -> Vec<Condition> {
        let Some((_, value)) = table.entry("condition") else {
            return Vec::new();
        };
        let entries = self.named(value, "[condition]");
        let mut conditions = Vec::new();
        for (key, value) in entries {
            let (text, span) = (key.get_ref().to_string(), key.span());
            self.check_name(key, "metric");
            let name = format!("[condition] {text}");
            let before = self.faults.len();
            let table = self.table(value, name, span.clone(), CONDITION);
            let is_table = self.faults.len() == before;
            let min = self.number(&table, "min", Scope::Profile);
            let max = self.number(&table, "max", Scope::Profile);
            if is_table && !table.has("min") && !table.has("max") {
                self.fault(span.clone(), "a condition needs `min`, `max`, or both");
            }
            let when = self.number(&table, "when", Scope::Profile);
            let about = self.text(&table, "about");
            conditions.push(Condition { metric: Word { text, span }, min, max, when, about });
        }
        conditions
    }
}
