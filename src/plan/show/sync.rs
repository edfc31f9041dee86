//! Objects at which tasks meet, and steps at them, as a plan prints them.
//!
//! Must not know: how lines are laid out.

use crate::base::unit::{self, Unit, counted};
use crate::plan::{Act, Amount, Fill, Pick, Plan, SyncOp, SyncPlan, SyncSort};
use crate::step::sync::barrier;

pub(super) fn object(object: &SyncPlan) -> String {
    let (table, kind) = object.words();
    let kind = kind.map_or(String::new(), |kind| format!(" {kind}"));
    let about = match &object.sort {
        SyncSort::Barrier { kind, parties, spins, .. } => {
            let spins = match barrier::find(kind).is_some_and(|kind| kind.spins_then.is_some()) {
                true => format!(", spins {spins} rounds"),
                false => String::new(),
            };
            format!("{parties} parties{spins}")
        }
        SyncSort::Lock { count, .. } => {
            format!("{} of {}", counted((*count).into(), "lock"), counted_tasks(object))
        }
        SyncSort::Commit { flush_ns, by } => format!(
            "flushed by {by} of {}, {}",
            unit::exact(*flush_ns as f64, Unit::Time),
            counted_tasks(object)
        ),
        SyncSort::Desk { servers } => {
            format!("{} of {}", counted((*servers).into(), "server"), counted_tasks(object))
        }
        SyncSort::Safepoint { mutators, helpers } => format!(
            "{}, {}",
            counted((*mutators).into(), "mutator"),
            counted((*helpers).into(), "helper")
        ),
    };
    let across = if object.across_processes { ", between processes" } else { "" };
    format!("{}: {table}{kind}, {about}{across}", object.name)
}

fn counted_tasks(object: &SyncPlan) -> String {
    counted(object.members.into(), "task")
}

fn one_lock(plan: &Plan, object: u32) -> bool {
    matches!(plan.syncs[object as usize].sort, SyncSort::Lock { count: 1, .. })
}

pub(super) fn step(it: &SyncOp, plan: &Plan) -> String {
    let name = &plan.syncs[it.object as usize].name;
    match &it.act {
        Act::Lock { pick, skew, reads } => {
            let which = match pick {
                Pick::All => "[*]".to_owned(),
                Pick::Next => "[next]".to_owned(),
                Pick::Any => "[any]".to_owned(),
                Pick::At(Amount::Fixed(0)) if one_lock(plan, it.object) => String::new(),
                Pick::At(index) => format!("[{}]", index.shown(Unit::Count)),
            };
            let skew = skew.map_or(String::new(), |skew| format!(", skew {skew}"));
            let reads = if *reads { ", for reading" } else { "" };
            format!("lock {name}{which}{skew}{reads}")
        }
        act => match act.fill() {
            Some(Fill { region, part }) => {
                let region = &plan.memory[region as usize].name;
                let of_each = part.map_or(String::new(), |bytes| {
                    format!(", {} of a slice", unit::exact(bytes as f64, Unit::Bytes))
                });
                format!("{} {name}, fills {region}{of_each}", act.word())
            }
            None => format!("{} {name}", act.word()),
        },
    }
}
