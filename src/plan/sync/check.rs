//! Can the meetings of a pattern work? All come who are waited for, and nobody waits for itself.
//!
//! Must not know: the machine.

use super::{SyncPlan, SyncSort, comers};
use crate::base::unit::counted;
use crate::plan::check::Pattern;
use crate::plan::traffic::{UNBOUNDED, Visit};
use crate::plan::{Act, Form, Op, Sharing};
use crate::profile::{Action, Fault, Flow, Span, Step};
use crate::step::sync::{barrier, lock};

pub(in crate::plan) fn check(pattern: &Pattern, faults: &mut Vec<Fault>, notes: &mut Vec<String>) {
    nesting(pattern, faults);
    for (index, plan) in (0..).zip(pattern.syncs) {
        let object = Checked { pattern, index, plan };
        if object.visits().next().is_none() {
            let (table, _) = plan.words();
            notes.push(format!("nobody uses {table} `{}`", plan.name));
            continue;
        }
        match &plan.sort {
            SyncSort::Barrier { kind, parties, .. } => {
                object.barrier(kind, *parties, faults, notes);
            }
            SyncSort::Lock { kind, .. } => object.lock(kind, faults, notes),
            SyncSort::Commit { .. } => {}
            SyncSort::Desk { servers } => object.desk(*servers, faults),
            SyncSort::Safepoint { mutators, helpers } => {
                object.safepoint(*mutators, *helpers, faults, notes);
            }
        }
    }
}

/// An object with those who come to it.
struct Checked<'a> {
    pattern: &'a Pattern<'a>,
    index: u32,
    plan: &'a SyncPlan,
}

/// How often a member comes.
struct Coming<'a> {
    visit: &'a Visit,
    rounds: u128,
    background: bool,
}

fn act<'a>(pattern: &Pattern<'a>, visit: &Visit) -> Option<&'a Act> {
    match &pattern.teams[visit.team].ops[visit.op] {
        Op::Sync(it) => Some(&it.act),
        _ => None,
    }
}

/// Whether a step takes a lock of this table in a mode that it says.
fn asks_mode(steps: &[Step], name: &str) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::Sync(it) => {
            it.mode.is_some() && it.at.channel.text == name || asks_mode(&it.steps, name)
        }
        Action::Repeat { steps, .. }
        | Action::Forever { steps }
        | Action::Measure { steps, .. }
        | Action::During { steps, .. } => asks_mode(steps, name),
        Action::Flow(flow) => match &**flow {
            Flow::Choose { arms, .. } => arms.iter().any(|arm| asks_mode(&arm.steps, name)),
            Flow::Active { steps, .. } | Flow::Every { steps, .. } | Flow::Arrive { steps, .. } => {
                asks_mode(steps, name)
            }
        },
        _ => false,
    })
}

/// A table whose lock is taken while one of another is held.
struct Nested {
    outer: u32,
    inner: u32,
    span: Span,
}

/// No task waits for a lock that it has, nor two for each other's.
fn nesting(pattern: &Pattern, faults: &mut Vec<Fault>) {
    let mut all: Vec<Nested> = Vec::new();
    for (team, spans) in pattern.teams.iter().zip(pattern.spans) {
        let mut held: Vec<u32> = Vec::new();
        for (op, span) in team.ops.iter().zip(spans) {
            let Op::Sync(it) = op else { continue };
            match it.act {
                Act::Lock { .. } => {
                    let inner = it.object;
                    let nested = |&outer| Nested { outer, inner, span: span.clone() };
                    all.extend(held.iter().map(nested));
                    held.push(inner);
                }
                Act::Unlock { .. } => drop(held.pop()),
                _ => {}
            }
        }
    }
    let name = |object: u32| &pattern.syncs[object as usize].name;
    for it in &all {
        let (message, help) = match it.outer == it.inner {
            true => (
                format!("a lock of `{}` is taken by who has one", name(it.inner)),
                "two tasks could each wait for the other's: use a table for each level",
            ),
            false if leads(&all, it.inner, it.outer) => (
                format!(
                    "`{}` is taken inside `{}` here, and elsewhere the other way round",
                    name(it.inner),
                    name(it.outer)
                ),
                "two tasks could each wait for the other's: take them in one order",
            ),
            false => continue,
        };
        faults.push(Fault::new(it.span.clone(), message).with_help(help));
    }
}

/// Whether `to` is taken inside `from`, directly or by way of others.
fn leads(all: &[Nested], from: u32, to: u32) -> bool {
    let mut seen = vec![from];
    let mut at = 0;
    while let Some(&outer) = seen.get(at) {
        at += 1;
        for it in all.iter().filter(|it| it.outer == outer) {
            if it.inner == to {
                return true;
            }
            if !seen.contains(&it.inner) {
                seen.push(it.inner);
            }
        }
    }
    false
}

impl<'a> Checked<'a> {
    fn visits(&self) -> impl Iterator<Item = &'a Visit> + use<'a> {
        let index = self.index;
        self.pattern.visits.iter().filter(move |visit| visit.object == index)
    }

    fn span(&self, visit: &Visit) -> Span {
        self.pattern.spans[visit.team][visit.op].clone()
    }

    fn declared(&self) -> Span {
        let object = self.pattern.profile.syncs.get(self.index as usize);
        object.map_or(0..0, |object| object.span.clone())
    }

    fn team(&self, visit: &Visit) -> &'a str {
        &self.pattern.teams[visit.team].name
    }

    /// Each member once, with all its steps at the object.
    fn comings(&self) -> Vec<Coming<'a>> {
        let mut all: Vec<Coming<'_>> = Vec::new();
        for visit in self.visits() {
            let same =
                |it: &&mut Coming<'_>| (it.visit.team, it.visit.me) == (visit.team, visit.me);
            match all.iter_mut().find(same) {
                Some(it) => it.rounds = it.rounds.saturating_add(visit.rounds),
                None => {
                    let background = self.pattern.teams[visit.team].background;
                    all.push(Coming { visit, rounds: visit.rounds, background });
                }
            }
        }
        all
    }

    /// Locks of parking_lot are in one address space.
    fn lock(&self, kind: &str, faults: &mut Vec<Fault>, notes: &mut Vec<String>) {
        let name = &self.plan.name;
        let Some(row) = lock::find(kind) else { return };
        let process = |visit: &&Visit| self.pattern.teams[visit.team].form == Form::Processes;
        let apart = self.plan.across_processes;
        if let (false, true, None) = (row.processes, apart, self.visits().find(process)) {
            let message = format!("`{kind}` does not work between processes");
            let help = "let its teams be in one, or take `futex`";
            faults.push(Fault::new(self.declared(), message).with_help(help));
        }
        if let (false, Some(visit)) = (row.processes, self.visits().find(process)) {
            let message = format!(
                "`{kind}` does not work between processes, and the members of team `{}` are \
                 processes",
                self.team(visit)
            );
            let able = lock::KINDS.iter().filter(|kind| kind.processes);
            let able: Vec<&str> = able.map(|kind| kind.name).collect();
            let help = format!("kinds that do: {}", able.join(", "));
            faults.push(Fault::new(self.span(visit), message).with_help(help));
        }
        let teams = &self.pattern.profile.teams;
        if !row.modes && teams.iter().any(|team| asks_mode(&team.steps, name)) {
            notes.push(format!("modes are not told apart by {kind} (lock `{name}`)"));
        }
    }

    /// Who asks is let go by others, as long as it asks.
    fn desk(&self, servers: u32, faults: &mut Vec<Fault>) {
        let name = &self.plan.name;
        let serves = |visit: &&Visit| matches!(act(self.pattern, visit), Some(Act::Serve { .. }));
        let mut fault = |visit: &Visit, message: String, help: &str| {
            faults.push(Fault::new(self.span(visit), message).with_help(help));
        };
        let asker = self.visits().find(|visit| !serves(visit));
        match (asker, self.visits().find(serves)) {
            (Some(asker), None) => {
                let message = format!("team `{}` asks at desk `{name}`", self.team(asker));
                fault(asker, message + ", where nobody serves", "add a step `serve`");
            }
            (None, Some(server)) => {
                let message = format!("team `{}` serves at desk `{name}`", self.team(server));
                fault(server, message + ", where nobody asks", "add a step `ask`");
            }
            _ => {}
        }
        // Each has its own who ask.
        let serving: u32 = self.visits().filter(serves).map(|visit| visit.members).sum();
        for server in self.visits().filter(serves) {
            let team = &self.pattern.teams[server.team];
            if team.acts_at(self.index).any(|act| matches!(act, Act::Ask { .. })) {
                let message = format!("team `{}` would serve at a desk where it asks", team.name);
                fault(server, message, "let another team serve");
            } else if servers != team.size || serving != team.size {
                let message = format!("not all of one team serve at desk `{name}`, once each");
                let help = "each serves its own who ask: let all members of one team do so";
                fault(server, message, help);
            } else if self.may_end(server) {
                let message = format!("team `{}` may end before the last who asks", team.name);
                let help = "put `serve` inside `forever`, in a team with `background = true`";
                fault(server, message, help);
            } else if let Some((message, help)) = self.misfilled(server) {
                fault(server, message, help);
            }
        }
    }

    /// Why what a server fills is not what belongs to those that ask.
    fn misfilled(&self, server: &Visit) -> Option<(String, &'static str)> {
        let fill = act(self.pattern, server).and_then(Act::fill)?;
        let region = &self.pattern.memory[fill.region as usize];
        let (name, desk) = (&region.name, &self.plan.name);
        let askers = self.plan.members - server.members;
        if region.count != askers {
            let message = format!(
                "`{name}` has {}, and {} at desk `{desk}`",
                counted(region.count.into(), "slice"),
                counted(askers.into(), "task") + if askers == 1 { " asks" } else { " ask" }
            );
            return Some((message, "give each a slice: its `count` is the number of these tasks"));
        }
        let is_way = |op: &Op| match op {
            Op::Use(it) => it.verb == "chase" && it.at.region == fill.region,
            _ => false,
        };
        if self.pattern.teams.iter().flat_map(|team| &team.ops).any(is_way) {
            let message = format!("zeros would write over the way that `chase` goes in `{name}`");
            return Some((message, "use another region"));
        }
        (self.plan.across_processes && region.sharing == Sharing::Process).then(|| {
            let message = format!("each process has its own `{name}`, and desk `{desk}` is theirs");
            (message, "add `shared = \"instance\"` to the region")
        })
    }

    fn safepoint(
        &self,
        mutators: u32,
        helpers: u32,
        faults: &mut Vec<Fault>,
        notes: &mut Vec<String>,
    ) {
        let name = &self.plan.name;
        let mut acts = self.visits().filter_map(|visit| act(self.pattern, visit));
        let is_asked = acts.any(|act| *act == Act::Collect);
        let helps = self.visits().filter(|visit| act(self.pattern, visit) == Some(&Act::Pause));
        for help in helps {
            let team = &self.pattern.teams[help.team];
            let mut fault = |message: String, why: &str| {
                faults.push(Fault::new(self.span(help), message).with_help(why));
            };
            if team.acts_at(self.index).any(|act| matches!(act, Act::Poll | Act::Collect)) {
                let message = format!("team `{}` would help in pauses that it parks in", team.name);
                fault(message, "let another team help");
            } else if !is_asked {
                let message = format!("team `{}` waits for a pause of `{name}`", team.name);
                fault(message + ", which nobody asks for", "add a step `collect`");
            } else if self.may_end(help) {
                let message = format!("team `{}` may end before the last pause", team.name);
                fault(message, "put `pause` inside `forever`, in a team with `background = true`");
            }
        }
        if helpers == 0 && is_asked {
            notes.push(format!(
                "nobody helps in pauses of `{name}`: the last of {mutators} mutators to park ends \
                 them"
            ));
        }
    }

    /// Whether a helper or server ends by itself, or keeps the run from its end.
    fn may_end(&self, help: &Visit) -> bool {
        let team = &self.pattern.teams[help.team];
        let spawns = team.ops.iter().any(|op| matches!(op, Op::Spawn { .. }));
        match self.pattern.duration_ns {
            None => !team.background || help.rounds < UNBOUNDED,
            // Else its steps start over.
            Some(_) => spawns && help.rounds < UNBOUNDED,
        }
    }

    fn barrier(&self, kind: &str, parties: u32, faults: &mut Vec<Fault>, notes: &mut Vec<String>) {
        let name = &self.plan.name;
        let comers = comers(self.pattern.visits, self.index);
        let of_members = barrier::find(kind).is_some_and(|kind| kind.of_members);
        if parties > comers {
            let message =
                format!("barrier `{name}` wants {parties} parties, and only {comers} come to it");
            faults.push(Fault::new(self.declared(), message).with_help("ask for fewer parties"));
            return;
        }
        if of_members && (parties != comers || self.plan.members != comers) {
            let message = format!(
                "`neighbour` wants all members of its teams: {} of {} come to `{name}`, and \
                 {parties} make a round",
                comers, self.plan.members,
            );
            let help = "leave out `parties`, and let every member come to it";
            faults.push(Fault::new(self.declared(), message).with_help(help));
            return;
        }
        if self.pattern.duration_ns.is_none() {
            self.balances(parties, comers, faults, notes);
        }
    }

    /// Whether rounds of any `parties` tasks cannot come out even.
    fn comes_short(&self, parties: u32, comings: &[Coming<'_>], faults: &mut Vec<Fault>) -> bool {
        let of = |it: &Coming<'_>| it.rounds.saturating_mul(it.visit.members.into());
        let total = comings.iter().fold(0u128, |sum, it| sum.saturating_add(of(it)));
        let most = comings.iter().map(|it| it.rounds).max().unwrap_or(0);
        let even = total % u128::from(parties) == 0 && most <= total / u128::from(parties);
        if even || total == UNBOUNDED || comings.iter().any(|it| it.background) {
            return false;
        }
        let message = format!(
            "the run would never end: tasks come to `{}` {total} times in all, one {most} times, \
             and {parties} make a round",
            self.plan.name
        );
        let help = "leave out `parties`, or give a duration";
        faults.push(Fault::new(self.declared(), message).with_help(help));
        true
    }

    /// Without a duration the run ends when the foreground is through, for which the others have to
    /// come as often.
    fn balances(
        &self,
        parties: u32,
        comers: u32,
        faults: &mut Vec<Fault>,
        notes: &mut Vec<String>,
    ) {
        let name = &self.plan.name;
        let comings = self.comings();
        if parties < comers && self.comes_short(parties, &comings, faults) {
            return;
        }
        if parties < comers {
            notes.push(format!(
                "barrier `{name}`: {parties} of {comers} tasks make a round, so that chance says \
                 whether all get through"
            ));
            return;
        }
        let foreground = comings.iter().filter(|it| !it.background);
        let Some(most) = foreground.max_by_key(|it| it.rounds) else { return };
        let Some(least) = comings.iter().min_by_key(|it| it.rounds) else { return };
        if most.rounds == least.rounds || most.rounds == UNBOUNDED {
            return;
        }
        let who = |it: &Coming<'_>| match it.visit.members {
            1 => format!("{} {}", self.team(it.visit), it.visit.me),
            _ => format!("each {}", self.team(it.visit)),
        };
        let message = format!(
            "the run would never end: {} comes to `{name}` {} times, {} only {}",
            who(most),
            most.rounds,
            who(least),
            least.rounds
        );
        let help = "let all members come equally often, or give a duration";
        faults.push(Fault::new(self.span(most.visit), message).with_help(help));
    }
}
