//! Reads `[memory.NAME]`, and the steps that use memory.
//!
//! Must not know: who may touch what, nodes.

use super::number::Scope;
use super::reader::{Instances, Key, Named, Reader, Table, Value, stand_in};
use crate::base::Unit;
use crate::profile::keys::{CGROUP, MEMORY, VerbRow};
use crate::profile::{Action, Cgroup, Expr, Region, Use, Word};

impl Reader<'_> {
    pub fn memory(&mut self, value: &Value<'_>) -> Vec<Region> {
        let entries = self.named(value, "[memory]");
        entries.into_iter().map(|(key, value)| self.region(key, value)).collect()
    }

    fn region(&mut self, key: &Key<'_>, value: &Value<'_>) -> Region {
        let name = key.get_ref().to_string();
        self.check_name(key, "region");
        let table = self.table(value, format!("[memory.{name}]"), key.span(), MEMORY);
        let bytes = self.number(&table, "bytes", Scope::Profile).unwrap_or_else(stand_in);
        let count = self.number(&table, "count", Scope::Profile);
        let count = count.unwrap_or_else(|| Expr::number(1.0, Unit::Count));
        let mut word = |key, default| self.word(&table, key).unwrap_or(Word::from(default));
        let first_touch = word("first_touch", "owner");
        let policy = word("policy", "default");
        let huge = word("huge", "leave");
        let shared = word("shared", "process");
        // However many slices it has, its bare name is the whole of it.
        self.regions.push((name.clone(), Instances::One));
        Region { name, span: key.span(), bytes, count, first_touch, policy, huge, shared }
    }

    /// The `cgroup` of a profile.
    pub fn cgroup(&mut self, table: &Table<'_>) -> Option<Cgroup> {
        let (key, value) = table.entry("cgroup")?;
        let table = self.table(value, "`cgroup`".to_owned(), key.span(), CGROUP);
        let cpus = table.has("cpus").then(|| self.word(&table, "cpus")).flatten();
        let mut number = |key| self.number(&table, key, Scope::Team);
        let (mems, weight, max) = (number("mems"), number("weight"), number("max"));
        Some(Cgroup { span: key.span(), cpus, mems, weight, max })
    }

    /// A step whose verb is one of memory; the row says which options there are.
    pub(super) fn use_of_memory(
        &mut self,
        row: &VerbRow,
        table: &Table<'_>,
        value: &Value<'_>,
        verb: Word,
    ) -> Option<Action> {
        let region = self.address(value, row.verb, Named::Region);
        let mut other = |key| match table.row(key) {
            Some(_) => {
                let value = self.required(table, key)?;
                self.address(value, key, Named::Region)
            }
            None => None,
        };
        let (from, and) = (other("from"), other("and"));
        let access = table.row("access").and_then(|_| self.word(table, "access"));
        let mut number = |key| table.row(key).and_then(|_| self.number(table, key, Scope::Team));
        let (halo, count, skew) = (number("halo"), number("count"), number("skew"));
        let bytes = number("bytes");
        let region = region?;
        Some(Action::Use(Box::new(Use {
            verb,
            region,
            from,
            and,
            access,
            halo,
            count,
            bytes,
            skew,
        })))
    }
}
