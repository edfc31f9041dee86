//! Steps at barriers, locks, group commits, desks and safepoints.
//!
//! Must not know: who else comes.

use super::{Compiler, Flow};
use crate::base::Unit;
use crate::plan::number::{self, Wanted};
use crate::plan::resolve::one_of;
use crate::plan::scope::unknown_word;
use crate::plan::{Act, Amount, Fill, Op, Pick, Slice, SyncOp, SyncSort};
use crate::profile::{Fault, Span, SyncStep, SyncVerb, Which};
use crate::step::sync::lock;

impl Compiler<'_> {
    pub(super) fn sync(&mut self, it: &SyncStep, span: &Span) -> Flow {
        let Some(object) = self.sync_object(it) else {
            // For what is wrong inside.
            return self.steps(&it.steps);
        };
        match it.verb {
            SyncVerb::Barrier => self.push_sync(object, Act::Pass, span),
            SyncVerb::Commit => self.push_sync(object, Act::Commit, span),
            SyncVerb::Ask => {
                let measure = self.measure_number(&format!("{}_batch_wait", it.at.channel.text));
                self.push_sync(object, Act::Ask { measure }, span);
            }
            SyncVerb::Serve => {
                let fill = self.fill(it);
                self.push_sync(object, Act::Serve { fill }, span);
            }
            SyncVerb::Safepoint => self.push_sync(object, Act::Poll, span),
            SyncVerb::Collect => self.push_sync(object, Act::Collect, span),
            SyncVerb::Pause => {
                let end = |begin| Act::Resume { begin };
                self.sync_block(it, object, Act::Pause, end, span);
            }
            SyncVerb::Lock => {
                if let Some(act) = self.lock(it, object) {
                    self.sync_block(it, object, act, |begin| Act::Unlock { begin }, span);
                }
            }
        }
        Flow::GoesOn
    }

    fn sync_block(
        &mut self,
        it: &SyncStep,
        object: u32,
        act: Act,
        end: impl FnOnce(u32) -> Act,
        span: &Span,
    ) {
        let begin = self.program.ops.len() as u32;
        self.push_sync(object, act, span);
        if self.steps(&it.steps) == Flow::NeverEnds {
            let word = it.verb.act().word;
            let message = format!("this `{word}` never ends: put it inside `forever`");
            self.faults.push(Fault::new(span.clone(), message));
        }
        self.push_sync(object, end(begin), span);
    }

    /// What is written before a wake; nothing of a region that has no bytes.
    fn fill(&mut self, it: &SyncStep) -> Option<Fill> {
        let address = it.fill.as_ref()?;
        let part = self.first_bytes(&it.bytes)?;
        let Slice { region, slice } = self.slice(address)?;
        if slice != Pick::All {
            let message = "who serves fills the slice of each task that it wakes";
            let help = format!("write `{}`", address.channel.text);
            let fault = Fault::new(address.channel.span.clone(), message);
            self.faults.push(fault.with_help(help));
        }
        (part != Some(0)).then_some(Fill { region, part })
    }

    fn lock(&mut self, it: &SyncStep, object: u32) -> Option<Act> {
        let scope = self.around.scope;
        let plan = self.around.syncs[object as usize].as_ref()?;
        let SyncSort::Lock { kind, count } = &plan.sort else { return None };
        let name = &plan.name;
        let pick = match &it.at.which {
            Which::At(index) => {
                let what = format!("the lock of `{name}` (count {count})");
                let wanted = Wanted::count(what, 0, count - 1);
                let index = number::amount(index, &wanted, scope, self.faults)?;
                let members = scope.size().unwrap_or(1);
                let mut numbers = (0..members).map(|me| number::checked(&index, me, &wanted));
                if let Some(Err(message)) = numbers.find(Result::is_err) {
                    self.faults.push(Fault::new(it.at.channel.span.clone(), message));
                    return None;
                }
                Pick::At(index)
            }
            _ if *count == 1 => Pick::At(Amount::Fixed(0)),
            Which::Next => Pick::Next,
            Which::Any => Pick::Any,
            Which::All => {
                let message = "a task takes one lock of a table at a time";
                let help = format!("write `{name}[any]`, `{name}[me]` or `{name}[next]`");
                let fault = Fault::new(it.at.channel.span.clone(), message);
                self.faults.push(fault.with_help(help));
                return None;
            }
        };
        let wanted = Wanted::new("`skew`", Unit::Share, 0.0, 10.0);
        let skew = match &it.skew {
            Some(skew) => Some(number::whole(skew, &wanted, scope, self.faults)?),
            None => None,
        };
        if let (Some(expr), Which::At(_) | Which::Next) = (&it.skew, &it.at.which) {
            let message = "`skew` is of a lock at random";
            let help = format!("write `{name}[any]`, or leave it out");
            self.faults.push(Fault::new(expr.span.clone(), message).with_help(help));
        }
        let rows = [("read", true), ("write", false)];
        let reads = match &it.mode {
            Some(mode) => one_of("mode of a lock", &rows, mode, scope, self.faults)?,
            None => false,
        };
        let modes = lock::find(kind).is_some_and(|kind| kind.modes);
        Some(Act::Lock { pick, skew: skew.filter(|skew| *skew > 0.0), reads: reads && modes })
    }

    fn push_sync(&mut self, object: u32, act: Act, span: &Span) {
        self.push(Op::Sync(Box::new(SyncOp { object, act })), span);
    }

    /// The number of the object that a step is at; one built in Rust may not be there.
    fn sync_object(&mut self, it: &SyncStep) -> Option<u32> {
        let table = it.verb.act().table;
        let all = self.around.profile.syncs.iter();
        let known = all.filter(|object| object.sort.table() == table);
        let known = known.map(|object| object.name.as_str());
        let word = &it.at.channel;
        if !known.clone().any(|name| name == word.text) {
            let fault: Fault = unknown_word(table, &word.text, &word.span, known);
            self.faults.push(fault);
            return None;
        }
        let mut all = self.around.profile.syncs.iter();
        let index = all.position(|object| object.name == word.text)?;
        // One with a fault has been told of.
        self.around.syncs[index].as_ref().map(|_| index as u32)
    }
}
