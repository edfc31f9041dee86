//! Reads the steps that decide about others: who does them, which, and when.
//!
//! Must not know: how any of it is decided.

use super::number::Scope;
use super::reader::{Reader, Table, Value};
use crate::base::Unit;
use crate::profile::keys::{ARM, VerbRow};
use crate::profile::{Arm, Expr, Flow, Word};
use toml::de::DeValue;

impl Reader<'_> {
    /// `depth` is that of its steps.
    pub(super) fn flow(
        &mut self,
        row: &VerbRow,
        table: &Table<'_>,
        value: &Value<'_>,
        depth: usize,
    ) -> Option<Flow> {
        Some(match row.verb {
            "active" => {
                let share = self.number_of(value, row.verb, row.form, Scope::Team);
                let choose = self.option_word(table, "choose", "fixed");
                Flow::Active { share, choose, steps: self.inner_steps(table, depth) }
            }
            "choose" => {
                let deal = self.option_word(table, "as", "random");
                Flow::Choose { arms: self.arms(value, depth)?, deal }
            }
            "every" => {
                let period = self.number_of(value, row.verb, row.form, Scope::Team);
                let offset = self.number(table, "offset", Scope::Team);
                let count = self.number(table, "count", Scope::Team);
                Flow::Every { period, offset, count, steps: self.inner_steps(table, depth) }
            }
            "arrive" => {
                let rate = self.number_of(value, row.verb, row.form, Scope::Team);
                let pattern = self.option_word(table, "as", "poisson");
                let burst = self.number(table, "burst", Scope::Team);
                let awake = self.number(table, "awake", Scope::Team);
                let steps = self.inner_steps(table, depth);
                Flow::Arrive { rate, pattern, burst, awake, steps }
            }
            _ => return None,
        })
    }

    fn option_word(&mut self, table: &Table<'_>, key: &str, default: &str) -> Word {
        self.word(table, key).unwrap_or_else(|| Word::from(default))
    }

    fn arms(&mut self, value: &Value<'_>, depth: usize) -> Option<Vec<Arm>> {
        let DeValue::Array(array) = value.get_ref() else {
            self.wrong(value, "choose", "an array of tables, each with its `steps`");
            return None;
        };
        if array.is_empty() {
            self.fault(value.span(), "`choose` has nothing to choose from");
        }
        let arm = |reader: &mut Self, item: &Value<'_>| {
            let table = reader.table(item, "an arm of `choose`".to_owned(), item.span(), ARM);
            let weight = reader.number(&table, "weight", Scope::Team);
            let weight = weight.unwrap_or_else(|| Expr::number(1.0, Unit::Count));
            Arm { weight, steps: reader.inner_steps(&table, depth) }
        };
        Some(array.iter().map(|item| arm(self, item)).collect())
    }
}
