//! Reads `[barrier.NAME]`, `[lock.NAME]`, `[commit.NAME]`, `[desk.NAME]`, `[safepoint.NAME]`, and
//! steps at them.
//!
//! Must not know: who comes to them, kinds.

use super::number::Scope;
use super::reader::{Instances, Key, Named, Reader, Table, Value, shown, stand_in, suggestion};
use crate::base::Unit;
use crate::profile::keys::{BARRIER, COMMIT, DESK, LOCK, SAFEPOINT, VerbRow};
use crate::profile::{Action, Address, Expr, Sort, SyncObject, SyncStep, SyncVerb, Which, Word};

/// The tables, in the order in which they are read and printed.
const TABLES: [&str; 5] = ["barrier", "lock", "commit", "desk", "safepoint"];

impl Reader<'_> {
    pub fn syncs(&mut self, profile: &Table<'_>) -> Vec<SyncObject> {
        let mut objects = Vec::new();
        for table in TABLES {
            let Some((_, value)) = profile.entry(table) else { continue };
            for (key, value) in self.named(value, &format!("[{table}]")) {
                objects.push(self.sync_object(table, key, value));
            }
        }
        objects
    }

    fn sync_object(&mut self, table: &'static str, key: &Key<'_>, value: &Value<'_>) -> SyncObject {
        let name = key.get_ref().to_string();
        self.check_name(key, table);
        let label = format!("[{table}.{name}]");
        let rows = match table {
            "barrier" => BARRIER,
            "lock" => LOCK,
            "commit" => COMMIT,
            "desk" => DESK,
            _ => SAFEPOINT,
        };
        let keys = self.table(value, label, key.span(), rows);
        let mut instances = Instances::One;
        let sort = match table {
            "barrier" => Sort::Barrier {
                kind: self.word(&keys, "kind").unwrap_or(Word::from("spin_then_futex")),
                spins: self.number(&keys, "spins", Scope::Profile),
                parties: self.number(&keys, "parties", Scope::Profile),
            },
            "lock" => {
                let kind = self.word(&keys, "kind").unwrap_or(Word::from("futex"));
                let count = self.number(&keys, "count", Scope::Profile);
                let count = count.unwrap_or_else(|| Expr::number(1.0, Unit::Count));
                if count.constant() != Some(1.0) {
                    instances = Instances::Several;
                }
                Sort::Lock { kind, count }
            }
            "commit" => Sort::Commit {
                flush: self.number(&keys, "flush", Scope::Profile).unwrap_or_else(stand_in),
                by: self.word(&keys, "by").unwrap_or(Word::from("sleep")),
            },
            "desk" => Sort::Desk,
            _ => Sort::Safepoint,
        };
        let same = self.sync_objects.iter().find(|(known, ..)| *known == name);
        if let Some((_, other, _)) = same {
            let message = format!("`{name}` is a {other} already");
            let help = "reports name these objects without their tables: give them names apart";
            self.fault_with_help(key.span(), message, help);
        }
        self.sync_objects.push((name.clone(), table, instances));
        SyncObject { name, span: key.span(), sort }
    }

    /// The object of a table that a step names.
    pub(super) fn sync_named(&mut self, word: &Word, table: &str) -> Option<Instances> {
        let of_table = self.sync_objects.iter().filter(|(_, of, _)| *of == table);
        let known: Vec<&str> = of_table.clone().map(|(name, ..)| name.as_str()).collect();
        if let Some((.., instances)) = of_table.clone().find(|(name, ..)| *name == word.text) {
            return Some(*instances);
        }
        let message = format!("unknown {table} `{}`", shown(&word.text));
        let help = match known.is_empty() {
            true => format!("add `[{table}.{}]`", shown(&word.text)),
            false => suggestion(&word.text, known),
        };
        self.fault_with_help(word.span.clone(), message, help);
        None
    }

    /// A step at an object; the row says which.
    pub(super) fn sync_step(
        &mut self,
        row: &VerbRow,
        table: &Table<'_>,
        value: &Value<'_>,
        depth: usize,
    ) -> Option<Action> {
        let act = SyncVerb::ACTS.iter().find(|act| act.word == row.verb)?;
        let at = match act.verb {
            SyncVerb::Lock => self.address(value, row.verb, Named::Lock),
            _ => self.sync_name(value, row.verb, act.table),
        };
        let skew = table.row("skew").and_then(|_| self.number(table, "skew", Scope::Team));
        let mode = table.row("mode").and_then(|_| self.word(table, "mode"));
        let fill = table.row("fill").and_then(|_| table.entry("fill"));
        let bytes = table.row("bytes").and_then(|_| self.number(table, "bytes", Scope::Team));
        if let (None, Some(bytes)) = (fill, &bytes) {
            let help = "say of what: `fill = \"area\"`";
            self.fault_with_help(bytes.span.clone(), "`bytes` without a `fill`", help);
        }
        let fill = fill.and_then(|(_, value)| self.address(value, "fill", Named::Region));
        let steps = match table.row("steps").and_then(|_| self.required(table, "steps")) {
            Some(steps) => self.steps(steps, "steps", depth + 1),
            None => Vec::new(),
        };
        let step = SyncStep { verb: act.verb, at: at?, skew, mode, fill, bytes, steps };
        Some(Action::Sync(Box::new(step)))
    }

    /// The name of an object, of which there is one.
    fn sync_name(&mut self, value: &Value<'_>, verb: &str, table: &str) -> Option<Address> {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong(value, verb, &format!("the name of a {table} in quotes"));
            return None;
        };
        let channel = Word { text: text.to_owned(), span: self.inner(value, text) };
        self.sync_named(&channel, table)?;
        Some(Address { channel, which: Which::All })
    }
}
