//! Words and sizes of channels and teams: what a plan needs to know of them before their steps.
//!
//! Must not know: steps, the machine.

use super::number::{self, Wanted};
use super::scope::{Scope, unknown_word};
use super::{Form, RampPlan};
use crate::base::Unit;
use crate::profile::keys::MESSAGE_MAX;
use crate::profile::{Channel, Fault, Profile, Team, Word};
use crate::step::channel::{KINDS, Kind, find};

/// The most tasks, and the most instances of a channel: more is a slip of the pen.
pub(super) const TASKS_MAX: u32 = 4_000_000;

/// A channel with its kind known. What could not be resolved is `None`, its fault told.
pub(super) struct ChannelWords {
    pub name: String,
    pub kind: Option<&'static Kind>,
    pub count: Option<u32>,
    /// Size of a message where the step tells none.
    pub bytes: Option<u32>,
}

impl ChannelWords {
    /// Whether its messages have content; assumed of an unknown kind.
    pub fn has_payload(&self) -> bool {
        self.kind.is_none_or(|kind| kind.payload)
    }
}

pub(super) fn channels(
    profile: &Profile,
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> Vec<ChannelWords> {
    let channels = profile.channels.iter();
    channels.map(|it| channel(it, scope, faults)).collect()
}

fn channel(channel: &Channel, scope: &Scope, faults: &mut Vec<Fault>) -> ChannelWords {
    let name = &channel.name;
    let kind = scope.word(&channel.kind);
    let known = KINDS.iter().map(|kind| kind.name);
    if find(kind).is_none() {
        faults.push(unknown_word("kind of channel", kind, &channel.kind.span, known));
    }
    let count = Wanted::count(format!("count of channel `{name}`"), 1, TASKS_MAX);
    let bytes = channel.bytes.as_ref();
    ChannelWords {
        name: name.clone(),
        kind: find(kind),
        count: number::whole(&channel.count, &count, scope, faults).map(|count| count as u32),
        bytes: match bytes {
            None => Some(1),
            Some(bytes) => {
                let wanted = message_size(&format!("message of channel `{name}`"));
                number::whole(bytes, &wanted, scope, faults).map(|bytes| bytes as u32)
            }
        },
    }
}

pub(super) fn message_size(what: &str) -> Wanted {
    Wanted::new(what, Unit::Bytes, 1.0, MESSAGE_MAX)
}

/// NUMA nodes with memory that the profile needs to mean anything.
pub(super) fn nodes(profile: &Profile, scope: &Scope, faults: &mut Vec<Fault>) -> Option<u32> {
    let Some(nodes) = &profile.nodes else {
        return Some(1);
    };
    let wanted = Wanted::count("nodes", 1, TASKS_MAX);
    number::whole(nodes, &wanted, scope, faults).map(|nodes| nodes as u32)
}

/// How the points of a sweep are called, if they are; `None` only with a fault.
pub(super) fn ramp(
    profile: &Profile,
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> Option<Option<RampPlan>> {
    let Some(ramp) = &profile.ramp else {
        return Some(None);
    };
    let wanted = Wanted::count("`peak`", 1, TASKS_MAX);
    let peak = number::whole(&ramp.peak, &wanted, scope, faults)? as u32;
    Some(Some(RampPlan { over: ramp.over.clone(), row: ramp.row.clone(), peak }))
}

/// Instances, if the profile wants processes of their own; `None` only with a fault.
pub(super) fn instances(
    profile: &Profile,
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> Option<Option<u32>> {
    let Some(instances) = &profile.instances else {
        return Some((!profile.processes.is_empty()).then_some(1));
    };
    let wanted = Wanted::count("instances", 1, TASKS_MAX);
    number::whole(instances, &wanted, scope, faults).map(|instances| Some(instances as u32))
}

/// How often the pattern is repeated.
pub(super) fn copies(profile: &Profile, scope: &Scope, faults: &mut Vec<Fault>) -> Option<u32> {
    let wanted = Wanted::count("copies", 1, TASKS_MAX);
    number::whole(&profile.copies, &wanted, scope, faults).map(|copies| copies as u32)
}

pub(super) fn size(team: &Team, scope: &Scope, faults: &mut Vec<Fault>) -> Option<u32> {
    let wanted = Wanted::count(format!("size of team `{}`", team.name), 1, TASKS_MAX);
    number::whole(&team.size, &wanted, scope, faults).map(|size| size as u32)
}

/// The rows of [`Form`].
pub(super) const FORMS: [(&str, Form); 2] =
    [("threads", Form::Threads), ("processes", Form::Processes)];

impl Form {
    /// The word in profiles.
    pub fn name(self) -> &'static str {
        let row = FORMS.iter().find(|(_, form)| *form == self);
        row.map_or("", |(name, _)| name)
    }
}

pub(super) fn form(word: &Word, scope: &Scope, faults: &mut Vec<Fault>) -> Option<Form> {
    one_of("form", &FORMS, word, scope, faults)
}

/// Whether a step starts the team.
pub(super) fn starts_spawned(word: &Word, scope: &Scope, faults: &mut Vec<Fault>) -> Option<bool> {
    one_of("start", &[("gate", false), ("spawned", true)], word, scope, faults)
}

/// The meaning of a word that has a row.
pub(super) fn one_of<T: Copy>(
    what: &str,
    rows: &[(&'static str, T)],
    word: &Word,
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> Option<T> {
    let text = scope.word(word);
    let row = rows.iter().find(|(name, _)| *name == text);
    if row.is_none() {
        let known = rows.iter().map(|(name, _)| *name);
        faults.push(unknown_word(what, text, &word.span, known));
    }
    row.map(|(_, meaning)| *meaning)
}

/// The copies of all instances together.
pub(super) fn all_copies(
    copies: Option<u32>,
    instances: u32,
    faults: &mut Vec<Fault>,
) -> Option<u32> {
    let copies = copies?;
    let all = copies.checked_mul(instances).filter(|all| *all <= TASKS_MAX);
    if all.is_none() {
        let message = format!(
            "{copies} copies in each of {instances} instances are more than the {TASKS_MAX} that \
             can be planned"
        );
        faults.push(Fault::new(0..0, message));
    }
    all
}

/// Whether what fits in its parts also fits together; else there is a fault.
pub(super) fn check_total(
    copies: Option<u32>,
    sizes: &[Option<u32>],
    faults: &mut Vec<Fault>,
) -> bool {
    let Some(copies) = copies else { return false };
    let per_copy: u64 = sizes.iter().flatten().map(|&size| u64::from(size)).sum();
    let total = per_copy * u64::from(copies);
    if total > u64::from(TASKS_MAX) {
        let message = format!(
            "{copies} copies of {per_copy} tasks are {total} tasks, and at most {TASKS_MAX} can \
             be planned"
        );
        faults.push(Fault::new(0..0, message));
    }
    total <= u64::from(TASKS_MAX)
}
