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
            spawned(pattern, team, declared, &spawns, faults);
        }
    }
    if pattern.teams.iter().all(|team| team.spawned || team.background)
        && pattern.teams.iter().any(|team| team.spawned)
    {
        let message = "every team in the foreground is spawned: nobody is there to spawn it";
        faults.push(Fault::new(0..0, message));
    }
}

/// A step: its team, its operation, its place in the profile.
struct At<'a> {
    team: &'a TeamPlan,
    op: usize,
    span: Span,
}

fn steps<'a>(pattern: &Pattern<'a>, wanted: impl Fn(&Op) -> bool) -> Vec<At<'a>> {
    let mut found = Vec::new();
    for (team, spans) in pattern.teams.iter().zip(pattern.spans) {
        for (op, it) in team.ops.iter().enumerate() {
            if wanted(it) {
                found.push(At { team, op, span: spans[op].clone() });
            }
        }
    }
    found
}

fn spawned(
    pattern: &Pattern,
    team: &TeamPlan,
    declared: Span,
    spawns: &[At<'_>],
    faults: &mut Vec<Fault>,
) {
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
    let inside = |op: &Op| match op {
        Op::Loop { end, .. } | Op::During { end, .. } | Op::Forever { end } => {
            spawn.op < *end as usize
        }
        _ => false,
    };
    if spawn.team.ops[..spawn.op].iter().any(inside) {
        fault(
            format!("team `{name}` is spawned in a loop"),
            "a team starts once: move the step out",
        );
    }
    if team.form == Form::Processes || spawn.team.form == Form::Processes {
        fault(
            "only threads can be spawned, by threads".to_owned(),
            "make both teams threads; `instances = 1` gives them a process",
        );
    }
    let joins = steps(
        pattern,
        |op| matches!(op, Op::Join { team } if pattern.teams[*team as usize].name == *name),
    );
    if let Some(join) = joins.iter().find(|join| join.team.form == Form::Processes) {
        let message = format!("team `{name}` has another address space than who joins it");
        faults.push(Fault::new(join.span.clone(), message));
    }
}
