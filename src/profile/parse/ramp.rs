//! What the points of a sweep are called.
//!
//! Must not know: which points there are.

use super::number::Scope;
use super::reader::{Meaning, Reader, Table, shown, stand_in, suggestion};
use crate::profile::keys::{RAMP, is_name};
use crate::profile::{Ramp, Span};

impl Reader<'_> {
    /// The `ramp` of a profile; its parameters have been read.
    pub(super) fn ramp(&mut self, profile: &Table<'_>) -> Option<Ramp> {
        let (key, value) = profile.entry("ramp")?;
        let table = self.table(value, "`ramp`".to_owned(), key.span(), RAMP);
        let (over, row) = (self.text(&table, "over"), self.text(&table, "row"));
        let place = |key| table.entry(key).map(|(_, value)| value.span());
        if let Some(span) = place("over") {
            self.check_ramped(&over, span);
        }
        if let Some(span) = place("row").filter(|_| !is_name(&row)) {
            let message = format!("`{}` is no name for a row", shown(&row));
            self.fault_with_help(span, message, "use a-z, 0-9 and _, such as \"tput\"");
        }
        let peak = self.number(&table, "peak", Scope::Profile);
        Some(Ramp { over, row, peak: peak.unwrap_or_else(stand_in) })
    }

    fn check_ramped(&mut self, name: &str, span: Span) {
        match self.meaning(name) {
            Some(Meaning::Number(_)) => {}
            Some(Meaning::Word(_)) => {
                let message = format!("parameter `{name}` is a word, and a ramp is over numbers");
                self.fault(span, message);
            }
            None => {
                let known: Vec<String> = self.params.iter().map(|(name, _)| name.clone()).collect();
                let help = suggestion(name, known.iter().map(String::as_str));
                let message = format!("`{}` is no parameter of this profile", shown(name));
                self.fault_with_help(span, message, help);
            }
        }
    }
}
