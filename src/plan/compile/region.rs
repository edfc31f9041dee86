//! Which part of a region a step means.
//!
//! Must not know: what is done with it.

use super::{Compiler, Kept};
use crate::base::Unit;
use crate::plan::number::{self, Wanted};
use crate::plan::scope::unknown_word;
use crate::plan::{Pick, Slice};
use crate::profile::keys::NUMBER_MAX;
use crate::profile::{self, Address, Expr, Fault, Span, Which};

impl Compiler<'_> {
    /// How much of a slice is meant, all if nothing is said; `None` only with a fault.
    pub(super) fn first_bytes(&mut self, bytes: &Option<Expr>) -> Option<Option<u64>> {
        let wanted = Wanted::new("the part of a slice", Unit::Bytes, 0.0, NUMBER_MAX);
        match bytes {
            Some(bytes) => {
                let bytes = number::whole(bytes, &wanted, self.around.scope, self.faults)?;
                Some(Some(bytes as u64))
            }
            None => Some(None),
        }
    }

    /// Part of a region, with its number known to be one for every member.
    pub(super) fn slice(&mut self, address: &Address) -> Option<Slice> {
        let Address { channel: name, which } = address;
        let memory = &self.around.profile.memory;
        let region = memory.iter().position(|region| region.name == name.text);
        let Some(region) = region else {
            let known = memory.iter().map(|region| region.name.as_str());
            self.faults.push(unknown_word("region of memory", &name.text, &name.span, known));
            return None;
        };
        let Kept::As { region, count } = self.around.regions[region] else { return None };
        let slice = match which {
            Which::All => Pick::All,
            Which::Next | Which::Any => {
                let message = "a step uses one slice, or all of a region";
                let help = format!("write `{0}[me]` or `{0}`", name.text);
                self.faults.push(Fault::new(name.span.clone(), message).with_help(help));
                return None;
            }
            Which::At(expr) => {
                let what = format!("the slice of `{}` (count {count})", name.text);
                let wanted = Wanted::count(what, 0, count - 1);
                let slice = number::amount(expr, &wanted, self.around.scope, self.faults)?;
                let members = self.around.scope.size().unwrap_or(1);
                let numbers = (0..members).map(|me| number::checked(&slice, me, &wanted));
                if let Some(Err(message)) = numbers.into_iter().find(Result::is_err) {
                    self.faults.push(Fault::new(expr.span.clone(), message));
                    return None;
                }
                Pick::At(slice)
            }
        };
        Some(Slice { region, slice })
    }

    /// That what lies behind a slice is wanted of a slice, and of all of it.
    pub(super) fn check_halo(
        &mut self,
        it: &profile::Use,
        at: &Slice,
        part: Option<u64>,
        span: &Span,
    ) {
        let name = &it.region.channel.text;
        let (message, help) = match (&at.slice, part) {
            (Pick::At(_), None) => return,
            (Pick::At(_), Some(_)) => (
                "`halo` is of the next slice, and `bytes` ends in this one",
                "leave out one of them".to_owned(),
            ),
            _ => (
                "`halo` is of the next slice, and this is the whole region",
                format!("name a slice: `{name}[me]`"),
            ),
        };
        self.faults.push(Fault::new(span.clone(), message).with_help(help));
    }
}
