//! From the steps of a team to its flat program.
//!
//! What does nothing is left out: loops of no rounds, work of no amount. Must not know: members;
//! whatever depends on `me` is checked in `traffic.rs`.

mod flow;

use super::number::{self, Wanted};
use super::resolve::{ChannelWords, message_size};
use super::scope::{Scope, unknown_word};
use super::{Amount, Op, Pick, SyncPlan, Use};
use crate::base::Unit;
use crate::profile::keys::{Absent, NUMBER_MAX, VERBS};
use crate::profile::{
    self, Action, Address, Expr, Fault, Profile, Span, Spread, Step, Which, Word,
};
use crate::step::{memory, work};

mod region;
mod sync;

/// How deep steps may nest, so that neither planning nor running needs more than a fixed stack.
const DEPTH_MAX: usize = 32;

/// What became of a region of the profile in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// It has a fault, which was told.
    Faulty,
    /// It has no bytes: steps on it come to nothing.
    Empty,
    /// It has this number there, and so many slices.
    As { region: u32, count: u32 },
}

/// The operations of one team, each with its place in the profile.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub ops: Vec<Op>,
    pub spans: Vec<Span>,
    pub measures: Vec<String>,
    /// Channels that its steps name, also those that come to nothing.
    pub named: Vec<usize>,
    /// Channels whose steps give a size that their kind does not carry.
    pub sizes_ignored: Vec<usize>,
}

/// What steps are compiled with.
pub(super) struct Around<'a> {
    /// Named in messages.
    pub team: &'a str,
    pub scope: &'a Scope<'a>,
    pub channels: &'a [ChannelWords],
    pub profile: &'a Profile,
    /// What became of each region of the profile.
    pub regions: &'a [Kept],
    /// The sync objects of the profile; `None` for one with a fault.
    pub syncs: &'a [Option<SyncPlan>],
}

pub(super) fn program(steps: &[Step], around: &Around, faults: &mut Vec<Fault>) -> Program {
    let mut compiler = Compiler {
        around,
        faults,
        program: Program::default(),
        measuring: Vec::new(),
        parting: None,
        depth: 0,
    };
    compiler.steps(steps);
    compiler.program
}

/// Whether a step can be followed by another.
#[derive(Clone, Copy, PartialEq)]
enum Flow {
    GoesOn,
    NeverEnds,
}

/// Begin and end of a measure block.
fn measure_ops(name: &Word, measure: u32, from_arrival: bool) -> (Op, Op) {
    let flow = |flow| Op::Flow(Box::new(flow));
    match from_arrival {
        true => (
            flow(super::flow::Flow::Request { measure: name.text.clone() }),
            flow(super::flow::Flow::Answered { measure }),
        ),
        false => (Op::Measure { measure }, Op::EndMeasure { measure }),
    }
}

/// What the count of a step on memory must be.
pub(super) fn count_wanted(verb: &str) -> Wanted {
    match verb {
        "allocate" => Wanted::new("the bytes of `allocate`", Unit::Bytes, 0.0, NUMBER_MAX),
        _ => Wanted::new("the count of accesses", Unit::Count, 0.0, NUMBER_MAX),
    }
}

/// The verb of a step that does not end.
fn endless_verb(action: &Action) -> &'static str {
    let Action::Flow(flow) = action else { return "forever" };
    match **flow {
        profile::Flow::Every { .. } => "every",
        profile::Flow::Arrive { .. } => "arrive",
        _ => "choose",
    }
}

struct Compiler<'a> {
    around: &'a Around<'a>,
    faults: &'a mut Vec<Fault>,
    program: Program,
    /// The measure blocks around the present step.
    measuring: Vec<u32>,
    /// The nearest block around it that not all members do in each of their rounds.
    parting: Option<flow::Parting>,
    depth: usize,
}

impl Compiler<'_> {
    fn steps(&mut self, steps: &[Step]) -> Flow {
        if self.depth == DEPTH_MAX {
            let span = steps.first().map_or(0..0, |step| step.span.clone());
            let message = format!("steps nest deeper than {DEPTH_MAX}");
            self.faults.push(Fault::new(span, message));
            return Flow::GoesOn;
        }
        self.depth += 1;
        let mut flow = Flow::GoesOn;
        let mut before = "";
        for step in steps {
            if flow == Flow::NeverEnds {
                let message =
                    format!("this step is never reached: the `{before}` before it does not end");
                self.faults.push(Fault::new(step.span.clone(), message));
                break;
            }
            flow = self.step(step);
            before = endless_verb(&step.action);
        }
        self.depth -= 1;
        flow
    }

    fn step(&mut self, step: &Step) -> Flow {
        match &step.action {
            Action::Send { to, bytes } => {
                if let Some((channel, pick, bytes)) = self.message(to, bytes.as_ref()) {
                    let op = Op::Send { channel, pick, bytes };
                    self.push(op, &step.span);
                }
                Flow::GoesOn
            }
            Action::Receive { from, bytes } => {
                if let Some((channel, pick, bytes)) = self.message(from, bytes.as_ref()) {
                    let op = Op::Receive { channel, pick, bytes };
                    self.push(op, &step.span);
                }
                Flow::GoesOn
            }
            Action::Repeat { count, steps } => self.repeat(count, steps, &step.span),
            Action::Flow(flow) => self.flow(flow, &step.span),
            Action::During { time, steps } => self.during(time, steps, &step.span),
            Action::Spawn { team } => {
                if let Some(team) = self.team(team, "spawned") {
                    self.push(Op::Spawn { team }, &step.span);
                }
                Flow::GoesOn
            }
            Action::Join { team } => {
                if let Some(team) = self.team(team, "joined") {
                    self.push(Op::Join { team }, &step.span);
                }
                Flow::GoesOn
            }
            Action::Use(it) => {
                self.use_of_memory(it, &step.span);
                Flow::GoesOn
            }
            Action::Sync(it) => self.sync(it, &step.span),
            Action::Forever { steps } => {
                self.block(Op::Forever { end: 0 }, steps, &step.span);
                Flow::NeverEnds
            }
            Action::Measure { name, from, steps } => {
                self.measure(name, from.is_some(), steps, &step.span)
            }
            Action::Act { verb, amount, spread } => {
                self.work(verb, amount, spread.as_ref(), &step.span);
                Flow::GoesOn
            }
        }
    }

    fn push(&mut self, op: Op, span: &Span) {
        self.program.ops.push(op);
        self.program.spans.push(span.clone());
    }

    fn repeat(&mut self, count: &Expr, steps: &[Step], span: &Span) -> Flow {
        let wanted = Wanted {
            max: NUMBER_MAX,
            ..Wanted::count(format!("the count of `repeat` in team `{}`", self.around.team), 0, 0)
        };
        let count = number::amount(count, &wanted, self.around.scope, self.faults);
        // Without a count there is a fault already; go on for those of the body.
        let count = count.unwrap_or(Amount::Fixed(1));
        let never = count == Amount::Fixed(0);
        let begin = self.program.ops.len();
        let flow = self.block(Op::Loop { count, end: 0 }, steps, span);
        if never {
            self.truncate(begin);
            return Flow::GoesOn;
        }
        flow
    }

    fn during(&mut self, time: &Expr, steps: &[Step], span: &Span) -> Flow {
        let wanted = Wanted::new("the time of `during`", Unit::Time, 0.0, NUMBER_MAX);
        let time = number::amount(time, &wanted, self.around.scope, self.faults);
        let time = time.unwrap_or(Amount::Fixed(1));
        let never = time == Amount::Fixed(0);
        let begin = self.program.ops.len();
        let flow = self.block(Op::During { time, end: 0 }, steps, span);
        if never {
            self.truncate(begin);
            return Flow::GoesOn;
        }
        flow
    }

    /// A team that is started by a step.
    fn team(&mut self, word: &Word, how: &str) -> Option<u32> {
        let teams = &self.around.profile.teams;
        let name = self.around.scope.word(word);
        let Some(team) = teams.iter().position(|team| team.name == name) else {
            let known = teams.iter().map(|team| team.name.as_str());
            self.faults.push(unknown_word("team", name, &word.span, known));
            return None;
        };
        if self.around.scope.word(&teams[team].start) != "spawned" {
            let message = format!("team `{name}` starts at the gate and cannot be {how}");
            let help = format!("add `start = \"spawned\"` to [team.{name}]");
            self.faults.push(Fault::new(word.span.clone(), message).with_help(help));
            return None;
        }
        Some(team as u32)
    }

    /// Whether a step on memory has a verb that there is and all it needs; one built in Rust may
    /// not.
    fn is_whole(&mut self, it: &profile::Use, span: &Span) -> bool {
        let verb = it.verb.text.as_str();
        let on_memory = |verb: &str| {
            ["sweep", "touch", "chase", "multiply", "allocate"].contains(&verb)
                || memory::stream::find(verb).is_some()
        };
        let mut rows = VERBS.iter().filter(|row| on_memory(row.verb));
        let Some(row) = rows.clone().find(|row| row.verb == verb) else {
            let known = rows.by_ref().map(|row| row.verb).collect::<Vec<_>>();
            let known = known.into_iter();
            self.faults.push(unknown_word("step on memory", verb, &it.verb.span, known));
            return false;
        };
        let given = [
            ("from", it.from.is_some()),
            ("and", it.and.is_some()),
            ("count", it.count.is_some()),
            ("bytes", it.bytes.is_some()),
        ];
        let is_needed = |absent| matches!(absent, Absent::Required(_));
        let needs = |key: &str| row.options.iter().any(|it| it.key == key && is_needed(it.absent));
        let missing = given.iter().find(|(key, is_given)| needs(key) && !is_given);
        if let Some((key, _)) = missing {
            let message = format!("`{verb}` has no `{key}`");
            let help = format!("as in `{}`", row.example);
            self.faults.push(Fault::new(span.clone(), message).with_help(help));
        }
        missing.is_none()
    }

    fn use_of_memory(&mut self, it: &profile::Use, span: &Span) {
        if !self.is_whole(it, span) {
            return;
        }
        let scope = self.around.scope;
        let at = self.slice(&it.region);
        let mut other = |place: &Option<Address>| match place {
            Some(place) => self.slice(place).map(Some),
            None => Some(None),
        };
        let (from, and) = (other(&it.from), other(&it.and));
        let share = |what: &str, max| Wanted::new(what, Unit::Share, 0.0, max);
        let mut number = |expr: &Option<Expr>, wanted: &Wanted| match expr {
            Some(expr) => number::whole(expr, wanted, scope, self.faults).map(Some),
            None => Some(None),
        };
        let halo = number(&it.halo, &share("`halo`", 1.0));
        let skew = number(&it.skew, &share("`skew`", 10.0));
        let wanted = count_wanted(&it.verb.text);
        let (taken, part) = match it.verb.text.as_str() {
            "allocate" => (it.bytes.as_ref(), Some(None)),
            _ => (None, self.first_bytes(&it.bytes)),
        };
        let count = match taken.or(it.count.as_ref()) {
            Some(count) => number::amount(count, &wanted, scope, self.faults),
            None => Some(Amount::Fixed(1)),
        };
        let access = it.access.as_ref().map_or("read", |access| scope.word(access)).to_owned();
        if let (Some(word), None) = (&it.access, memory::find(&access)) {
            let known = memory::ACCESSES.iter().map(|row| row.name);
            self.faults.push(unknown_word("access", &access, &word.span, known));
        }
        let verb = it.verb.text.clone();
        let (Some(at), Some(from), Some(and)) = (at, from, and) else { return };
        let (Some(halo), Some(skew), Some(count)) = (halo, skew, count) else { return };
        let Some(part) = part else { return };
        let halo = halo.unwrap_or(0.0);
        if halo > 0.0 {
            self.check_halo(it, &at, part, span);
        }
        if count == Amount::Fixed(0) || part == Some(0) {
            return;
        }
        let it = Use { verb, at, from, and, access, halo, part, count, skew };
        self.push(Op::Use(Box::new(it)), span);
    }

    /// A loop around the steps; nothing at all if they do nothing.
    fn block(&mut self, head: Op, steps: &[Step], span: &Span) -> Flow {
        let begin = self.program.ops.len();
        self.push(head, span);
        let flow = self.steps(steps);
        if self.program.ops.len() == begin + 1 {
            self.truncate(begin);
            return flow;
        }
        let again = Op::Again { begin: begin as u32 };
        self.push(again, span);
        let after = self.program.ops.len() as u32;
        self.program.ops[begin].set_end(after);
        flow
    }

    fn truncate(&mut self, begin: usize) {
        self.program.ops.truncate(begin);
        self.program.spans.truncate(begin);
    }

    /// The number of a series of times among those of the team.
    fn measure_number(&mut self, name: &str) -> u32 {
        let known = self.program.measures.iter().position(|it| it == name);
        let number = known.unwrap_or_else(|| {
            self.program.measures.push(name.to_owned());
            self.program.measures.len() - 1
        });
        number as u32
    }

    fn measure(&mut self, name: &Word, from_arrival: bool, steps: &[Step], span: &Span) -> Flow {
        let measure = self.measure_number(&name.text);
        if self.measuring.contains(&measure) {
            let message = format!("measure `{}` is inside itself", name.text);
            self.faults.push(Fault::new(name.span.clone(), message));
        }
        let (head, end) = measure_ops(name, measure, from_arrival);
        self.push(head, span);
        self.measuring.push(measure);
        let flow = self.steps(steps);
        self.measuring.pop();
        if flow == Flow::NeverEnds {
            let message = format!("measure `{}` never ends: put it inside `forever`", name.text);
            self.faults.push(Fault::new(name.span.clone(), message));
        }
        self.push(end, span);
        flow
    }

    fn work(&mut self, verb: &Word, amount: &Expr, spread: Option<&Spread>, span: &Span) {
        let word = self.around.scope.word(verb);
        let Some(kind) = work::find(word) else {
            let verbs = VERBS.iter().map(|row| row.verb);
            let known = work::KINDS.iter().map(|kind| kind.name).chain(verbs);
            self.faults.push(unknown_word("step", word, &verb.span, known));
            return;
        };
        let wanted = Wanted::new(format!("`{word}`"), kind.unit, 0.0, NUMBER_MAX);
        let amount = number::amount(amount, &wanted, self.around.scope, self.faults);
        let spread = spread.and_then(|spread| self.spread(spread));
        match amount {
            None | Some(Amount::Fixed(0)) => {}
            Some(amount) => {
                let kind = kind.name.to_owned();
                self.push(Op::Work { kind, amount, spread }, span);
            }
        }
    }

    /// Channel, instances and size of a message.
    fn message(&mut self, address: &Address, bytes: Option<&Expr>) -> Option<(u32, Pick, u32)> {
        let Address { channel, which } = address;
        let known = self.around.channels.iter().map(|it| it.name.as_str());
        let Some(index) = known.clone().position(|name| name == channel.text) else {
            let fault = unknown_word("channel", &channel.text, &channel.span, known);
            self.faults.push(match self.around.channels.is_empty() {
                true => fault.with_help("this profile has no channels"),
                false => fault,
            });
            return None;
        };
        if !self.program.named.contains(&index) {
            self.program.named.push(index);
        }
        let words = &self.around.channels[index];
        let size = self.size(words, bytes);
        if bytes.is_some() && !words.has_payload() && !self.program.sizes_ignored.contains(&index) {
            self.program.sizes_ignored.push(index);
        }
        let pick = self.pick(words, which);
        Some((index as u32, pick?, size?))
    }

    fn size(&mut self, channel: &ChannelWords, bytes: Option<&Expr>) -> Option<u32> {
        let size = match bytes {
            None => channel.bytes,
            Some(bytes) => {
                let wanted = message_size(&format!("message of `{}`", channel.name));
                let size = number::whole(bytes, &wanted, self.around.scope, self.faults);
                size.map(|size| size as u32)
            }
        };
        match channel.has_payload() {
            true => size,
            false => size.map(|_| 1),
        }
    }

    fn pick(&mut self, words: &ChannelWords, which: &Which) -> Option<Pick> {
        let alone = words.count == Some(1);
        match which {
            Which::At(index) => {
                // Its range is checked with the members, of which some may never come here.
                let what = format!("the index in `{}`", words.name);
                let wanted = Wanted { max: NUMBER_MAX, ..Wanted::count(what, 0, 0) };
                number::amount(index, &wanted, self.around.scope, self.faults).map(Pick::At)
            }
            Which::All | Which::Next | Which::Any if alone => Some(Pick::At(Amount::Fixed(0))),
            Which::All => Some(Pick::All),
            Which::Next => Some(Pick::Next),
            Which::Any => Some(Pick::Any),
        }
    }
}
