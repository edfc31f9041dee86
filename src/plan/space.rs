//! Address spaces: the processes of an instance, which teams live in which, and who shares what.
//!
//! Everything that asks whether two tasks, or a task and a region, are in one address space asks
//! here. Must not know: how processes are started.

use super::scope::{Scope, suggestion, unknown_word};
use super::{Form, Plan, ProcessPlan, Sharing};
use crate::profile::{Fault, Profile, Team};
use std::ops::Range;

/// An address space, and the tasks in it: all members of these teams in these copies.
///
/// The members of a team of processes each have one like it, with the same regions at the same
/// addresses, but private ones of their own ([`Plan::is_own`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// Position in [`Plan::spaces`].
    pub number: usize,
    pub instance: u32,
    /// Position in `Plan::processes`; 0 where there are none.
    pub process: usize,
    /// Those of an instance that are opened and started together.
    pub copies: Range<u32>,
    /// Positions in `Plan::teams`.
    pub teams: Vec<usize>,
}

impl Plan {
    /// All of them in the order of their creation: by copies, and for the same copies by process.
    pub fn spaces(&self) -> Vec<Space> {
        let (each, n_processes) = (self.copies_together(), self.n_processes());
        let space = |number: usize| {
            let (start, process) = (each * (number / n_processes) as u32, number % n_processes);
            Space {
                number,
                instance: self.instance(start),
                process,
                copies: start..start + each,
                teams: self.teams_of(process),
            }
        };
        (0..self.n_spaces()).map(space).collect()
    }

    /// The number of [`Plan::spaces`].
    pub fn n_spaces(&self) -> usize {
        (self.copies / self.copies_together()) as usize * self.n_processes()
    }

    /// The position in [`Plan::spaces`] of that of a team in a copy.
    pub fn space_of(&self, copy: u32, team: usize) -> usize {
        let before = (copy / self.copies_together()) as usize * self.n_processes();
        before + self.process_of(team)
    }

    /// Whether a copy is the first of those that share an address space.
    pub fn is_first_in_space(&self, copy: u32) -> bool {
        copy.is_multiple_of(self.copies_together())
    }

    /// Whether a copy is the first of its instance.
    pub fn is_first_in_instance(&self, copy: u32) -> bool {
        copy.is_multiple_of(self.copies_in_instance())
    }

    /// The instance that a copy belongs to.
    pub fn instance(&self, copy: u32) -> u32 {
        copy / self.copies_in_instance()
    }

    fn copies_in_instance(&self) -> u32 {
        (self.copies / self.instances.max(1)).max(1)
    }

    /// How many copies share an address space: those of an instance; beside teams of processes in
    /// our own instance one, so that a task inherits the descriptors of its own only; or all.
    fn copies_together(&self) -> u32 {
        match (self.own_processes, self.has_processes()) {
            (true, _) => self.copies_in_instance(),
            (false, true) => 1,
            (false, false) => self.copies.max(1),
        }
    }

    /// Processes of an instance, not counting the members of teams of processes.
    pub fn n_processes(&self) -> usize {
        self.processes.len().max(1)
    }

    /// The process that a team is in.
    pub fn process_of(&self, team: usize) -> usize {
        process_of(&self.processes, team)
    }

    fn teams_of(&self, process: usize) -> Vec<usize> {
        (0..self.teams.len()).filter(|team| self.process_of(*team) == process).collect()
    }

    /// Whether a process has a mapping of a region: those with a team that uses it, or, where an
    /// instance is one process, that.
    pub fn has(&self, process: usize, region: usize) -> bool {
        let mut teams = (0..self.teams.len()).filter(|team| self.process_of(*team) == process);
        self.processes.is_empty() || teams.any(|team| self.teams[team].uses(region))
    }

    /// Whether each member of a team has a region for itself.
    pub fn is_own(&self, team: usize, region: usize) -> bool {
        let private = self.memory[region].sharing == Sharing::Process;
        private && self.teams[team].form == Form::Processes
    }

    /// Whether tasks of two teams, in the same copy, use the same pages of a region.
    pub fn share(&self, region: usize, one: usize, other: usize) -> bool {
        match self.memory[region].sharing {
            Sharing::Process => self.process_of(one) == self.process_of(other),
            Sharing::Instance | Sharing::All => true,
        }
    }

    /// Which process of the run a task is in, where there are several that have a name or a number:
    /// "process `server` of instance 1".
    pub fn process_name(&self, copy: u32, team: usize) -> Option<String> {
        let instance = match self.instances {
            0 | 1 => None,
            _ => Some(format!("instance {}", self.instance(copy))),
        };
        let process = self.processes.get(self.process_of(team));
        let process = process.map(|process| format!("process `{}`", process.name));
        match (process, instance) {
            (Some(process), Some(instance)) => Some(format!("{process} of {instance}")),
            (process, instance) => process.or(instance),
        }
    }
}

/// The process that a team is in; 0 where an instance is one.
pub(super) fn process_of(processes: &[ProcessPlan], team: usize) -> usize {
    let is_in = |process: &ProcessPlan| process.teams.contains(&(team as u32));
    processes.iter().position(is_in).unwrap_or(0)
}

/// The processes of the profile with their teams. One that no team is in is left out, and a note.
pub(super) fn processes(
    profile: &Profile,
    scope: &Scope,
    faults: &mut Vec<Fault>,
    notes: &mut Vec<String>,
) -> Vec<ProcessPlan> {
    let mut plans: Vec<ProcessPlan> = profile
        .processes
        .iter()
        .map(|it| ProcessPlan { name: it.name.clone(), about: it.about.clone(), teams: Vec::new() })
        .collect();
    for (index, team) in (0..).zip(&profile.teams) {
        if let Some(process) = process(team, profile, scope, faults) {
            plans[process].teams.push(index);
        }
    }
    plans.retain(|process| {
        if process.teams.is_empty() {
            notes.push(format!("no team is in process `{}`, so it is left out", process.name));
        }
        !process.teams.is_empty()
    });
    plans
}

/// The position of a team's process in the profile.
fn process(
    team: &Team,
    profile: &Profile,
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> Option<usize> {
    let names = profile.processes.iter().map(|process| process.name.as_str());
    let Some(word) = &team.process else {
        if names.len() > 0 {
            let message = format!("team `{}` is in no process", team.name);
            let help = format!("give it a `process`; {}", suggestion(&team.name, names));
            faults.push(Fault::new(team.span.clone(), message).with_help(help));
        }
        return None;
    };
    let name = scope.word(word);
    let Some(found) = names.clone().position(|known| known == name) else {
        faults.push(match names.len() {
            0 => Fault::new(word.span.clone(), format!("unknown process `{name}`"))
                .with_help(format!("add `[process.{name}]`")),
            _ => unknown_word("process", name, &word.span, names),
        });
        return None;
    };
    if scope.word(&team.form) == Form::Processes.name() {
        let message = format!("team `{}` is threads of a process, and processes itself", team.name);
        let help = "leave out `process`, or `as`: to be threads of a process is the default";
        faults.push(Fault::new(word.span.clone(), message).with_help(help));
    }
    Some(found)
}
