//! Teams that are started by a step: by one task, once, in its own address space; and nobody waits
//! for a team that never starts.
//!
//! Must not know: how threads are started.

use super::check::Pattern;
use super::{Form, Op, TeamPlan};
use crate::profile::{Fault, Span};

pub(super) fn check(pattern: &Pattern, faults: &mut Vec<Fault>) {
    for (index, team) in pattern.teams.iter().enumerate() {
        let declared = pattern.profile.teams.get(index).map_or(0..0, |team| team.span.clone());
        let spawns =
            steps(pattern, |op| matches!(op, Op::Spawn { team } if *team as usize == index));
        if team.spawned {
            spawned(pattern, index, declared, &spawns, faults);
        }
    }
    joins(pattern, faults);
}

/// A step: its team, its operation, its place in the profile.
struct At<'a> {
    /// The number of the team.
    index: usize,
    team: &'a TeamPlan,
    op: usize,
    span: Span,
}

fn steps<'a>(pattern: &Pattern<'a>, wanted: impl Fn(&Op) -> bool) -> Vec<At<'a>> {
    let mut found = Vec::new();
    for (index, (team, spans)) in pattern.teams.iter().zip(pattern.spans).enumerate() {
        for (op, it) in team.ops.iter().enumerate() {
            if wanted(it) {
                found.push(At { index, team, op, span: spans[op].clone() });
            }
        }
    }
    found
}

fn spawned(
    pattern: &Pattern,
    index: usize,
    declared: Span,
    spawns: &[At<'_>],
    faults: &mut Vec<Fault>,
) {
    let team = &pattern.teams[index];
    let name = &team.name;
    let [spawn] = spawns else {
        let (span, message, help) = match spawns {
            [] => {
                let message = format!("team `{name}` is never spawned");
                (declared, message, format!("add a step `{{ spawn = \"{name}\" }}`"))
            }
            [_, second, ..] => {
                let message = format!("team `{name}` is spawned a second time");
                (second.span.clone(), message, "a team starts once".to_owned())
            }
            [_] => return,
        };
        faults.push(Fault::new(span, message).with_help(help));
        return;
    };
    let mut fault = |message: String, help: &str| {
        faults.push(Fault::new(spawn.span.clone(), message).with_help(help));
    };
    if spawn.team.size != 1 {
        let message = format!(
            "each of the {} members of team `{}` would spawn team `{name}`",
            spawn.team.size, spawn.team.name
        );
        fault(message, "let a team of one do it");
    }
    if spawn.team.spawned {
        fault(
            format!("team `{}` is itself spawned", spawn.team.name),
            "spawn from a team that starts at the gate",
        );
    }
    let inside = |op: &Op| op.end().is_some_and(|end| spawn.op < end as usize);
    if spawn.team.ops[..spawn.op].iter().any(inside) {
        fault(
            format!("team `{name}` is spawned in a loop"),
            "a team starts once: move the step out",
        );
    }
    if !pattern.in_one_process(index, spawn.index) {
        let message = format!("team `{name}` is in another process than who spawns it");
        fault(message, "a task can only start threads of its own process");
    }
    if team.form == Form::Processes || spawn.team.form == Form::Processes {
        fault(
            "only threads can be spawned, by threads".to_owned(),
            "make both teams threads; `instances = 1` gives them a process",
        );
    }
}

/// Nobody joins what cannot end before, or never.
fn joins(pattern: &Pattern, faults: &mut Vec<Fault>) {
    for join in steps(pattern, |op| matches!(op, Op::Join { .. })) {
        let Op::Join { team } = join.team.ops[join.op] else { continue };
        let joined = &pattern.teams[team as usize];
        let name = &joined.name;
        let is_far = !pattern.in_one_process(team as usize, join.index);
        let (message, help) = if is_far || join.team.form == Form::Processes {
            let message = format!("team `{name}` has another address space than who joins it");
            (message, "make the team that joins it threads of its process")
        } else if waits_for(pattern, team as usize, &join) {
            let message = format!("this join would never end: team `{name}` only ends after it");
            (message, "spawn a team before it is joined, and let none wait for itself")
        } else if pattern.duration_ns.is_none() && !join.team.background && is_endless(joined) {
            let message = format!("the run would never end: team `{name}` goes on for ever");
            (message, "give a duration: `--duration 10s`, or leave out the `join`")
        } else {
            continue;
        };
        faults.push(Fault::new(join.span, message).with_help(help));
    }
}

fn is_endless(team: &TeamPlan) -> bool {
    // Of a team in the foreground it is told anyway.
    team.background && team.ops.iter().any(Op::is_endless)
}

/// Something that happens once.
#[derive(Clone, Copy, PartialEq)]
enum Event {
    /// A team has done its steps.
    Ended(usize),
    /// A step has started it.
    Spawned(usize),
}

/// Whether a team can only have ended when the task that joins it is past its `join`.
fn waits_for(pattern: &Pattern, team: usize, join: &At<'_>) -> bool {
    let mut seen = vec![Event::Ended(team)];
    let mut at = 0;
    while let Some(&event) = seen.get(at) {
        at += 1;
        let mut before = match event {
            Event::Ended(team) if team == join.index => return true,
            Event::Ended(team) => {
                let mut before = joined(&pattern.teams[team].ops);
                if pattern.teams[team].spawned {
                    before.push(Event::Spawned(team));
                }
                before
            }
            Event::Spawned(team) => {
                let is_it = |op: &Op| matches!(op, Op::Spawn { team: it } if *it as usize == team);
                let spawns = steps(pattern, is_it);
                if spawns.iter().any(|spawn| spawn.index == join.index && spawn.op > join.op) {
                    return true;
                }
                spawns.iter().flat_map(|spawn| joined(&spawn.team.ops[..spawn.op])).collect()
            }
        };
        before.retain(|event| !seen.contains(event));
        seen.extend(before);
    }
    false
}

/// What these operations wait for.
fn joined(ops: &[Op]) -> Vec<Event> {
    let team = |op: &Op| match op {
        Op::Join { team } => Some(Event::Ended(*team as usize)),
        _ => None,
    };
    ops.iter().filter_map(team).collect()
}
