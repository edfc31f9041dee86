//! Steps that decide about others: `active`, `choose`, `every`, `arrive`.
//!
//! Must not know: members; a share of a team is a number of them, whoever they are.

use super::super::flow::{
    CHOICES, DEALS, Deal, PATTERNS, count_wanted, offset_wanted, period_wanted,
};
use super::super::number::{self, Wanted};
use super::super::scope::unknown_word;
use super::super::{Amount, Op, flow, resolve};
use super::{Compiler, Flow};
use crate::base::Unit;
use crate::profile::keys::{DECK_MAX, NUMBER_MAX, WEIGHT_MAX};
use crate::profile::{self, Arm, Expr, Fault, Span, Step, Word};
use crate::step::work::spread;

/// Arrivals of a team in a second.
const RATE_MAX: f64 = 1e9;
/// Coefficient of variation where the profile does not say.
const CV: f64 = 0.5;
/// Arrivals at once where the profile does not say.
const BURST: f64 = 32.0;

/// A block that some members do and some do not.
#[derive(Clone, Copy)]
pub(super) struct Parting {
    verb: &'static str,
    /// Whether they are the same ones in each round.
    same: bool,
}

impl Compiler<'_> {
    pub(super) fn flow(&mut self, it: &profile::Flow, span: &Span) -> Flow {
        match it {
            profile::Flow::Active { share, choose, steps } => {
                self.active(share, choose, steps, span);
                // The others go on.
                Flow::GoesOn
            }
            profile::Flow::Choose { arms, deal } => self.choose(arms, deal, span),
            profile::Flow::Every { period, offset, count, steps } => {
                self.every(period, offset.as_ref(), count.as_ref(), steps, span)
            }
            profile::Flow::Arrive { steps, .. } => {
                if let Some(arrive) = self.arrive(it) {
                    self.block(Op::Flow(Box::new(arrive)), steps, span);
                }
                Flow::NeverEnds
            }
        }
    }

    fn active(&mut self, share: &Expr, choose: &Word, steps: &[Step], span: &Span) {
        let scope = self.around.scope;
        let wanted = Wanted::new("the share of `active`", Unit::Share, 0.0, 1.0);
        let share = number::whole(share, &wanted, scope, self.faults);
        let choose = resolve::one_of("choice", &CHOICES, choose, scope, self.faults);
        let size = f64::from(scope.size().unwrap_or(1));
        // Of 10 members, 10 % is one, whatever a tenth is in binary.
        let n = share.map_or(1, |share| (share * size - 1e-9).ceil() as u32);
        let begin = self.program.ops.len();
        let choose = choose.unwrap_or(flow::Choice::Fixed);
        let parting = Parting { verb: "active", same: choose == flow::Choice::Fixed };
        self.comes_equally_often(parting, span);
        self.push(Op::Flow(Box::new(flow::Flow::Active { n, choose, end: 0 })), span);
        self.part(parting, |it| it.steps(steps));
        match n {
            0 => self.truncate(begin),
            _ => self.leave(begin, span),
        }
    }

    /// Whether all members come to an `active` block equally often: a round is how often a task has
    /// come, so else those who are active in it would not be as many as asked.
    fn comes_equally_often(&mut self, active: Parting, span: &Span) {
        let Some(around) = self.parting.filter(|around| !(around.same && active.same)) else {
            return;
        };
        let message = format!(
            "`active` is inside `{}`, so that not all members come to it equally often",
            around.verb
        );
        let help = "put it behind that block, or say who: `repeat = \"max(0, 1 - me)\"`";
        self.faults.push(Fault::new(span.clone(), message).with_help(help));
    }

    /// Does what is inside a block that not all members do.
    fn part<T>(&mut self, parting: Parting, inside: impl FnOnce(&mut Self) -> T) -> T {
        let around = self.parting.replace(parting);
        let done = inside(self);
        self.parting = around;
        done
    }

    /// Ends the block that began there; nothing is left of one without operations.
    fn leave(&mut self, begin: usize, span: &Span) {
        if self.program.ops.len() == begin + 1 {
            return self.truncate(begin);
        }
        let end = self.program.ops.len() as u32 + 1;
        self.push(Op::Leave { end }, span);
        self.program.ops[begin].set_end(end);
    }

    fn choose(&mut self, arms: &[Arm], deal: &Word, span: &Span) -> Flow {
        let deal = resolve::one_of("deal", &DEALS, deal, self.around.scope, self.faults);
        let deal = deal.unwrap_or(Deal::Random);
        let weights: Vec<f64> = arms.iter().map(|arm| self.weight(arm, deal)).collect();
        self.check_weights(&weights, deal, span);
        let begin = self.program.ops.len();
        let choose = flow::Flow::Choose { deal, arms: Vec::new(), end: 0 };
        self.push(Op::Flow(Box::new(choose)), span);
        let (mut begins, mut leaves) = (Vec::new(), Vec::new());
        let mut goes_on = false;
        for (arm, &weight) in arms.iter().zip(&weights) {
            let at = self.program.ops.len();
            self.push(Op::Flow(Box::new(flow::Flow::Arm { weight })), span);
            let arms = Parting { verb: "choose", same: false };
            let flow = self.part(arms, |it| it.steps(&arm.steps));
            if weight == 0.0 {
                self.truncate(at);
                continue;
            }
            goes_on |= flow == Flow::GoesOn;
            begins.push(at as u32);
            leaves.push(self.program.ops.len());
            self.push(Op::Leave { end: 0 }, span);
        }
        leaves.push(self.program.ops.len());
        self.push(Op::Leave { end: 0 }, span);
        let end = self.program.ops.len() as u32;
        leaves.into_iter().for_each(|at| self.program.ops[at] = Op::Leave { end });
        let choose = flow::Flow::Choose { deal, arms: begins, end };
        self.program.ops[begin] = Op::Flow(Box::new(choose));
        if goes_on { Flow::GoesOn } else { Flow::NeverEnds }
    }

    fn every(
        &mut self,
        period: &Expr,
        offset: Option<&Expr>,
        count: Option<&Expr>,
        steps: &[Step],
        span: &Span,
    ) -> Flow {
        let scope = self.around.scope;
        let mut amount = |expr: &Expr, wanted| number::amount(expr, &wanted, scope, self.faults);
        // Without a number there is a fault already; go on for those of the body.
        let count = count.map(|count| amount(count, count_wanted()).unwrap_or(Amount::Fixed(1)));
        let offset = offset.and_then(|offset| amount(offset, offset_wanted()));
        let period = amount(period, period_wanted()).unwrap_or(Amount::Fixed(1));
        let offset = offset.unwrap_or(Amount::Fixed(0));
        let (is_endless, never) = (count.is_none(), count == Some(Amount::Fixed(0)));
        let begin = self.program.ops.len();
        let every = flow::Flow::Every { period, offset, count, end: 0 };
        let flow = self.block(Op::Flow(Box::new(every)), steps, span);
        if never {
            self.truncate(begin);
            return Flow::GoesOn;
        }
        if is_endless { Flow::NeverEnds } else { flow }
    }

    fn arrive(&mut self, it: &profile::Flow) -> Option<flow::Flow> {
        let profile::Flow::Arrive { rate, pattern, burst, awake, .. } = it else { return None };
        let scope = self.around.scope;
        let mut whole = |expr: &Expr, wanted| number::whole(expr, &wanted, scope, self.faults);
        let rate = whole(rate, Wanted::new("the rate of `arrive`", Unit::Count, 1.0, RATE_MAX));
        let burst = match burst {
            Some(burst) => whole(burst, Wanted::count("`burst`", 1, u32::MAX)),
            None => Some(BURST),
        };
        let awake = match awake {
            Some(awake) => whole(awake, Wanted::new("`awake`", Unit::Time, 0.0, NUMBER_MAX)),
            None => Some(0.0),
        };
        let pattern = resolve::one_of("pattern", &PATTERNS, pattern, scope, self.faults)?;
        let (rate, burst, awake_ns) = (rate? as u64, burst? as u32, awake? as u64);
        Some(flow::Flow::Arrive { rate, pattern, burst, awake_ns, end: 0 })
    }

    /// How an amount varies; `None` only with a fault.
    pub(super) fn spread(&mut self, it: &profile::Spread) -> Option<flow::Spread> {
        let scope = self.around.scope;
        let name = scope.word(&it.of);
        let Some(row) = spread::find(name) else {
            let known = spread::SPREADS.iter().map(|row| row.name);
            self.faults.push(unknown_word("spread", name, &it.of.span, known));
            return None;
        };
        let is_fixed = row.spread == spread::Spread::Exponential;
        let (least, usual) = if is_fixed { (1.0, 1.0) } else { (0.0, CV) };
        let what = format!("the cv of spread `{name}`");
        let wanted = Wanted::new(what, Unit::Share, least, row.cv_max);
        let cv = match &it.cv {
            Some(cv) => number::whole(cv, &wanted, scope, self.faults)?,
            None => usual,
        };
        Some(flow::Spread { of: name.to_owned(), cv })
    }

    /// A whole number of cards in a deck.
    fn weight(&mut self, arm: &Arm, deal: Deal) -> f64 {
        let wanted = match deal {
            Deal::Random => Wanted::new("a weight", Unit::Share, 0.0, WEIGHT_MAX),
            Deal::Deck => Wanted::new("a weight in a deck", Unit::Count, 0.0, DECK_MAX),
        };
        // The profile's reader does not know whether the arms are of a deck.
        let literal = arm.weight.eval(&|_| None).ok();
        if let (Deal::Deck, Some(half)) = (deal, literal.filter(|weight| weight.fract() != 0.0)) {
            let message = format!("a weight in a deck must be a whole number, not {half}");
            let help = "it is a number of cards; or choose at `random`";
            self.faults.push(Fault::new(arm.weight.span.clone(), message).with_help(help));
        }
        // Without a weight there is a fault already.
        number::whole(&arm.weight, &wanted, self.around.scope, self.faults).unwrap_or(1.0)
    }

    fn check_weights(&mut self, weights: &[f64], deal: Deal, span: &Span) {
        let sum: f64 = weights.iter().sum();
        let (message, help) = if sum == 0.0 {
            let message = "the weights of `choose` are all zero".to_owned();
            (message, "give what is to be done a weight")
        } else if deal == Deal::Deck && sum > DECK_MAX {
            let message = format!("a deck of {sum} cards is larger than {DECK_MAX}");
            (message, "divide the weights by what they have in common, or choose at `random`")
        } else {
            return;
        };
        self.faults.push(Fault::new(span.clone(), message).with_help(help));
    }
}
