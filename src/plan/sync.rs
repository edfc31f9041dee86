//! Barriers, locks, group commits, desks and safepoints: their words, who comes to them, and how
//! they wait on this machine.
//!
//! Must not know: how they are made.

mod check;

use super::number::{self, Wanted};
use super::resolve::{TASKS_MAX, one_of};
use super::scope::{Scope, unknown_word};
use super::traffic::Visit;
use super::{Form, Op, Pick, Plan, ProcessPlan, TeamPlan, space};
use crate::base::Unit;
use crate::profile::keys::{FLUSHES, NUMBER_MAX, SPINS, SPINS_CROWDED};
use crate::profile::{Expr, Fault, Profile, Sort, SyncObject, Word};
use crate::step::sync::{barrier, commit, desk, lock, safepoint};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

pub(super) use check::check;

/// An object at which tasks meet, one in each copy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SyncPlan {
    pub name: String,
    pub sort: SyncSort,
    /// Tasks of a copy whose teams have a step at it. They are numbered team by team.
    pub members: u32,
    /// Whether they may be in different processes.
    pub across_processes: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncSort {
    Barrier {
        /// Name of a row of `step::sync::barrier::KINDS`.
        kind: String,
        /// Tasks in a round.
        parties: u32,
        /// Rounds of spinning, as far as they make sense here.
        spins: u32,
        /// Whether there are more tasks than CPUs for them.
        crowded: bool,
    },
    Lock {
        /// Name of a row of `step::sync::lock::KINDS`.
        kind: String,
        count: u32,
    },
    Commit {
        /// For which a leader holds its group (ns).
        flush_ns: u64,
        /// Name of a row of `step::work::KINDS`: how it passes that time.
        by: String,
    },
    Desk {
        /// Tasks of a copy that serve.
        servers: u32,
    },
    Safepoint {
        /// Tasks of a copy that look or ask, and those that help.
        mutators: u32,
        helpers: u32,
    },
}

/// A step at an object, or the end of its block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SyncOp {
    /// Index in `Plan::syncs`.
    pub object: u32,
    pub act: Act,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Come to a barrier.
    Pass,
    /// Take a lock.
    Lock {
        pick: Pick,
        /// Exponent of a Zipf distribution of `Pick::Any`; `None`: all alike.
        skew: Option<f64>,
        /// For reading, with others that read.
        reads: bool,
    },
    /// Give back the lock that was taken at operation `begin`.
    Unlock {
        begin: u32,
    },
    Commit,
    /// Ask at a desk; the time from when its batch was taken is a series of the team.
    Ask {
        measure: u32,
    },
    /// Let those go on that have asked.
    Serve {
        fill: Option<Fill>,
    },
    /// Look whether a pause was asked for.
    Poll,
    /// Ask for a pause.
    Collect,
    /// Wait for a pause, to help in it.
    Pause,
    /// The end of the help that began at operation `begin`.
    Resume {
        begin: u32,
    },
}

/// What is written right before a task is woken at a desk: the slice of a region that belongs to
/// it, as the first to those that ask, in the order of the teams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// Index in `Plan::memory`.
    pub region: u32,
    /// Only so many bytes from the begin; `None`: all of it.
    pub part: Option<u64>,
}

impl Act {
    /// What it writes into memory.
    pub fn fill(&self) -> Option<Fill> {
        match self {
            Act::Serve { fill } => *fill,
            _ => None,
        }
    }

    /// Whether it is one by which a task comes to the object; else it ends a block.
    pub(super) fn comes(&self) -> bool {
        !matches!(self, Act::Unlock { .. } | Act::Resume { .. })
    }

    /// The verb, also of what ends its block.
    pub fn word(&self) -> &'static str {
        match self {
            Act::Pass => "barrier",
            Act::Lock { .. } | Act::Unlock { .. } => "lock",
            Act::Commit => "commit",
            Act::Ask { .. } => "ask",
            Act::Serve { .. } => "serve",
            Act::Poll => "safepoint",
            Act::Collect => "collect",
            Act::Pause | Act::Resume { .. } => "pause",
        }
    }

    /// What ends its wait at the object of this name.
    pub fn wants(&self, name: &str) -> String {
        match self {
            Act::Pass => format!("others at barrier `{name}`"),
            Act::Lock { .. } | Act::Unlock { .. } => format!("lock `{name}`"),
            Act::Commit => format!("a leader's flush of `{name}`"),
            Act::Ask { .. } => format!("somebody who serves at desk `{name}`"),
            Act::Serve { .. } => format!("somebody who asks at desk `{name}`"),
            Act::Poll | Act::Collect => format!("the end of a pause of `{name}`"),
            Act::Pause | Act::Resume { .. } => format!("a pause of `{name}`"),
        }
    }

    /// Whether it begins a block.
    pub(super) fn opens(&self) -> bool {
        matches!(self, Act::Lock { .. } | Act::Pause)
    }
}

impl TeamPlan {
    /// The objects that its steps are at, in order.
    pub fn syncs(&self) -> Vec<u32> {
        let mut found = Vec::new();
        for op in &self.ops {
            if let Op::Sync(it) = op
                && !found.contains(&it.object)
            {
                found.push(it.object);
            }
        }
        found
    }

    /// What its steps do at an object.
    pub fn acts_at(&self, object: u32) -> impl Iterator<Item = &Act> {
        self.ops.iter().filter_map(move |op| match op {
            Op::Sync(it) if it.object == object => Some(&it.act),
            _ => None,
        })
    }
}

/// The objects of a profile; `None` for one with a fault.
pub(super) fn objects(
    profile: &Profile,
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> Vec<Option<SyncPlan>> {
    profile.syncs.iter().map(|it| object(it, scope, faults)).collect()
}

fn object(object: &SyncObject, scope: &Scope, faults: &mut Vec<Fault>) -> Option<SyncPlan> {
    let name = &object.name;
    let sort = match &object.sort {
        Sort::Barrier { kind, spins, parties } => {
            let known = barrier::KINDS.iter().map(|kind| kind.name);
            let kind = kind_of("barrier", kind, known, scope, faults);
            let wanted = Wanted::new(format!("spins of `{name}`"), Unit::Count, 0.0, 4e9);
            let spins = or(spins, f64::from(SPINS), &wanted, scope, faults);
            let wanted = Wanted::count(format!("parties of `{name}`"), 1, TASKS_MAX);
            // Until it is known who comes, 0 stands for all.
            let parties = or(parties, 0.0, &wanted, scope, faults);
            let (parties, spins) = (parties? as u32, spins? as u32);
            SyncSort::Barrier { kind: kind?, parties, spins, crowded: false }
        }
        Sort::Lock { kind, count } => {
            let known = lock::KINDS.iter().map(|kind| kind.name);
            let kind = kind_of("lock", kind, known, scope, faults);
            let wanted = Wanted::count(format!("count of lock `{name}`"), 1, TASKS_MAX);
            let count = number::whole(count, &wanted, scope, faults);
            let count = count? as u32;
            SyncSort::Lock { kind: kind?, count }
        }
        Sort::Commit { flush, by } => {
            let what = format!("the flush time of `{name}`");
            let wanted = Wanted::new(what, Unit::Time, 0.0, NUMBER_MAX);
            let flush = number::whole(flush, &wanted, scope, faults);
            let rows: Vec<_> = FLUSHES.iter().map(|word| (*word, *word)).collect();
            let by = one_of("way to flush", &rows, by, scope, faults);
            SyncSort::Commit { flush_ns: flush? as u64, by: by?.to_owned() }
        }
        Sort::Desk => SyncSort::Desk { servers: 0 },
        Sort::Safepoint => SyncSort::Safepoint { mutators: 0, helpers: 0 },
    };
    Some(SyncPlan { name: name.clone(), sort, members: 0, across_processes: false })
}

/// A number that may be left out.
fn or(
    expr: &Option<Expr>,
    default: f64,
    wanted: &Wanted,
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> Option<f64> {
    match expr {
        Some(expr) => number::whole(expr, wanted, scope, faults),
        None => Some(default),
    }
}

fn kind_of<'k>(
    table: &str,
    word: &Word,
    known: impl Iterator<Item = &'k str> + Clone,
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> Option<String> {
    let kind = scope.word(word);
    if !known.clone().any(|known| known == kind) {
        let what = format!("kind of {table}");
        faults.push(unknown_word(&what, kind, &word.span, known));
        return None;
    }
    Some(kind.to_owned())
}

/// Fills in who comes.
pub(super) fn settle(
    syncs: &mut [SyncPlan],
    teams: &[TeamPlan],
    visits: &[Visit],
    processes: &[ProcessPlan],
) {
    let of = |object: u32, wanted: fn(&Act) -> bool| {
        let does = |team: &&TeamPlan| team.acts_at(object).any(wanted);
        teams.iter().filter(does).map(|team| team.size).sum()
    };
    for (index, object) in (0..).zip(syncs) {
        let mut first = None;
        let uses = |(_, team): &(usize, &TeamPlan)| team.syncs().contains(&index);
        for (number, team) in teams.iter().enumerate().filter(uses) {
            object.members += team.size;
            let process = space::process_of(processes, number);
            let other = process != *first.get_or_insert(process);
            object.across_processes |= other || team.form == Form::Processes;
        }
        match &mut object.sort {
            SyncSort::Barrier { parties: parties @ 0, .. } => *parties = comers(visits, index),
            SyncSort::Desk { servers } => {
                *servers = of(index, |act| matches!(act, Act::Serve { .. }))
            }
            SyncSort::Safepoint { mutators, helpers } => {
                *mutators = of(index, |act| matches!(act, Act::Poll | Act::Collect));
                *helpers = of(index, |act| *act == Act::Pause);
            }
            SyncSort::Barrier { .. } | SyncSort::Lock { .. } | SyncSort::Commit { .. } => {}
        }
    }
}

/// Tasks of a copy that come to an object at all.
pub(super) fn comers(visits: &[Visit], object: u32) -> u32 {
    let its = || visits.iter().filter(|visit| visit.object == object);
    // A member may come to it by several steps.
    let first = |visit: &&Visit| {
        its().find(|other| (other.team, other.me) == (visit.team, visit.me)) == Some(*visit)
    };
    its().filter(first).map(|visit| visit.members).sum()
}

/// Less spinning where tasks outnumber the CPUs that they may use.
pub(super) fn crowding(plan: &mut Plan) {
    let copies = plan.copies;
    let cpus = |object: u32| -> usize {
        let teams = plan.teams.iter().filter(|team| team.syncs().contains(&object));
        let mut all = HashSet::new();
        for team in teams {
            match team.cpus.is_empty() {
                true => all.extend(plan.cpus.iter().filter(|cpu| cpu.allowed).map(|cpu| cpu.id)),
                false => all.extend(team.cpus.iter().flat_map(|cpus| cpus.iter())),
            }
        }
        all.len()
    };
    let cpus: Vec<usize> = (0..plan.syncs.len() as u32).map(cpus).collect();
    for (object, n_cpus) in plan.syncs.iter_mut().zip(cpus) {
        let SyncSort::Barrier { kind, spins, crowded, .. } = &mut object.sort else { continue };
        let tasks = u64::from(object.members) * u64::from(copies);
        *crowded = tasks > n_cpus as u64;
        let Some(then) = barrier::find(kind).and_then(|kind| kind.spins_then) else { continue };
        if !*crowded {
            continue;
        }
        let asked = std::mem::replace(spins, (*spins).min(SPINS_CROWDED));
        plan.notes.push(format!(
            "barrier `{}`: {tasks} tasks on {}, so it {then} after {spins} rounds of spinning \
             ({asked} asked for)",
            object.name,
            crate::base::unit::counted(n_cpus as u64, "CPU"),
        ));
    }
}

impl Plan {
    /// One more than the largest number of an online CPU.
    pub fn cpu_numbers(&self) -> u32 {
        self.cpus.last().map_or(1, |cpu| cpu.id.0 + 1)
    }

    /// The number of a team's first member among those of an object.
    pub fn first_member(&self, object: u32, team: usize) -> u32 {
        let before = self.teams[..team].iter().filter(|team| team.syncs().contains(&object));
        before.map(|team| team.size).sum()
    }
}

impl SyncPlan {
    /// Bytes of shared memory in each copy; `cpus`: one more than the largest CPU number.
    pub fn state_bytes(&self, cpus: u32) -> usize {
        match &self.sort {
            SyncSort::Barrier { kind, parties, .. } => {
                barrier::find(kind).map_or(0, |kind| (kind.state_bytes)(*parties))
            }
            SyncSort::Lock { kind, count } => {
                lock::find(kind).map_or(0, |kind| (kind.state_bytes)(*count, cpus))
            }
            SyncSort::Commit { .. } => commit::state_bytes(self.members),
            SyncSort::Desk { servers } => desk::state_bytes(*servers, self.members),
            SyncSort::Safepoint { .. } => safepoint::state_bytes(),
        }
    }

    /// Bytes in the process of each copy.
    pub(super) fn own_bytes(&self) -> u64 {
        match &self.sort {
            SyncSort::Lock { kind, count } => {
                let each = lock::find(kind).map_or(0, |kind| kind.own_bytes as u64);
                each * u64::from(*count)
            }
            _ => 0,
        }
    }

    /// Whether its tasks go through it in rounds of all.
    pub fn has_rounds(&self) -> bool {
        match &self.sort {
            SyncSort::Barrier { kind, .. } => {
                !barrier::find(kind).is_some_and(|kind| kind.of_members)
            }
            _ => false,
        }
    }

    /// `barrier`, `lock`, `commit`, `desk`, `safepoint`; and its kind, if the sort has several.
    pub fn words(&self) -> (&'static str, Option<&str>) {
        match &self.sort {
            SyncSort::Barrier { kind, .. } => ("barrier", Some(kind)),
            SyncSort::Lock { kind, .. } => ("lock", Some(kind)),
            SyncSort::Commit { .. } => ("commit", None),
            SyncSort::Desk { .. } => ("desk", None),
            SyncSort::Safepoint { .. } => ("safepoint", None),
        }
    }
}
