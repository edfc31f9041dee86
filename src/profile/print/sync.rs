//! Prints barriers, locks, group commits and safepoints, and steps at them.
//!
//! Must not know: whether they are sound.

use super::{inline, key, line, number, optional, printed, quoted, steps, word};
use crate::profile::{Sort, SyncObject, SyncStep, SyncVerb};
use std::fmt::Write;

pub(super) fn print_object(out: &mut String, object: &SyncObject) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "\n[{}.{}]", object.sort.table(), key(&object.name));
    match &object.sort {
        Sort::Barrier { kind, spins, parties } => {
            if kind.text != "spin_then_futex" {
                line(out, "kind", &word(kind));
            }
            optional(out, "spins", spins.as_ref().map(number));
            optional(out, "parties", parties.as_ref().map(number));
        }
        Sort::Lock { kind, count } => {
            if kind.text != "futex" {
                line(out, "kind", &word(kind));
            }
            if count.text != "1" {
                line(out, "count", &number(count));
            }
        }
        Sort::Commit { flush, by } => {
            line(out, "flush", &number(flush));
            if by.text != "sleep" {
                line(out, "by", &word(by));
            }
        }
        Sort::Desk | Sort::Safepoint => {}
    }
}

pub(super) fn step(it: &SyncStep, depth: usize) -> String {
    let at = match it.verb {
        SyncVerb::Lock => printed(&it.at),
        _ => it.at.channel.text.clone(),
    };
    let mut fields = vec![(it.verb.act().word, quoted(&at))];
    fields.extend(it.skew.as_ref().map(|skew| ("skew", number(skew))));
    fields.extend(it.mode.as_ref().map(|mode| ("mode", word(mode))));
    fields.extend(it.fill.as_ref().map(|fill| ("fill", quoted(&printed(fill)))));
    fields.extend(it.bytes.as_ref().map(|bytes| ("bytes", number(bytes))));
    if let SyncVerb::Lock | SyncVerb::Pause = it.verb {
        fields.push(("steps", steps(&it.steps, depth)));
    }
    inline(&fields)
}
