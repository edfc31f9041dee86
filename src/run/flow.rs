//! Who does a block, and which: decided by each task alone, from what its program has.
//!
//! Must not know: what the steps are that it decides about.

use super::program::Step;
use super::worker::{Stop, Worker};
use crate::base::{Aligned, Random};
use crate::plan::flow::{Choice, Deal, Flow};
use crate::plan::{Op, Plan};

/// A step that decides where the task goes on.
#[derive(Clone, Copy)]
pub(super) enum Turn {
    /// Into the block if the task is active in this round, else behind it.
    Lot {
        lot: usize,
        end: usize,
    },
    /// To one of several blocks.
    Deal {
        dealer: usize,
    },
    Leave {
        end: usize,
    },
}

/// What the turns of a program remember.
#[derive(Default)]
pub(super) struct Turns {
    lots: Vec<Lot>,
    dealers: Vec<Dealer>,
}

impl Turns {
    /// The step of member `me` of a team in a copy for an operation that decides about others.
    pub(super) fn step(
        &mut self,
        (plan, copy, team, me): (&Plan, u32, usize, u32),
        at: usize,
        op: &Op,
    ) -> Step {
        let flow = match op {
            Op::Flow(flow) => flow,
            Op::Leave { end } => return Step::Turn(Turn::Leave { end: *end as usize }),
            _ => return Step::Nothing,
        };
        match &**flow {
            Flow::Active { n, choose: Choice::Fixed, end } if me >= *n => {
                Step::Loop { count: 0, end: *end as usize }
            }
            Flow::Active { n, choose, end } => {
                // The streams of tasks have the small numbers.
                let stream = !(u64::from(copy) << 32 | (team << 16 | at) as u64);
                let seed = Random::new(plan.seed, stream).next_u64();
                let size = plan.teams[team].size;
                self.lots.push(Lot { me, size, n: *n, choose: *choose, seed, round: 0 });
                Step::Turn(Turn::Lot { lot: self.lots.len() - 1, end: *end as usize })
            }
            Flow::Choose { deal, arms, .. } => {
                self.dealers.push(Dealer::new(*deal, arms, &plan.teams[team].ops));
                Step::Turn(Turn::Deal { dealer: self.dealers.len() - 1 })
            }
            Flow::Arm { .. } => Step::Nothing,
        }
    }
}

/// Whether a member takes part, round by round. All members come to the same, since none of it is
/// its own but `me`.
struct Lot {
    me: u32,
    size: u32,
    n: u32,
    choose: Choice,
    seed: u64,
    round: u64,
}

impl Lot {
    /// Whether the task is active in the round that begins.
    fn is_active(&mut self) -> bool {
        let round = self.round;
        self.round += 1;
        let (me, size, n) = (u64::from(self.me), u64::from(self.size), u64::from(self.n));
        match self.choose {
            Choice::Fixed => me < n,
            Choice::Rotating => {
                let first = (round % size) * n % size;
                (me + size - first) % size < n
            }
            Choice::Random => {
                // Selection sampling: each in turn is taken with the chance of those still wanted
                // among those still there, so it is `n` of them, and any `n` alike.
                let mut random = Random::new(self.seed, round);
                let mut wanted = n;
                let mut taken = false;
                for left in (size - me..=size).rev() {
                    taken = random.below(left) < wanted;
                    wanted -= u64::from(taken);
                }
                taken
            }
        }
    }
}

/// Chooses arms by their weights; on a cache line of its own, since it is written.
#[repr(align(128))]
struct Dealer {
    /// Where each arm begins.
    arms: Vec<usize>,
    how: How,
}

enum How {
    /// Of each arm, the part of 2^64 below which it or one before it is chosen.
    Dice(Vec<u64>),
    /// Numbers of arms; those before `dealt` have been.
    Deck { cards: Aligned<u16>, dealt: usize },
}

impl Dealer {
    fn new(deal: Deal, arms: &[u32], ops: &[Op]) -> Dealer {
        let weight = |at: &u32| match &ops[*at as usize] {
            Op::Flow(flow) => match **flow {
                Flow::Arm { weight } => weight,
                _ => 0.0,
            },
            _ => 0.0,
        };
        let weights: Vec<f64> = arms.iter().map(weight).collect();
        let how = match deal {
            Deal::Random => How::Dice(shares(&weights)),
            Deal::Deck => {
                let mut cards = Aligned::new(0, weights.iter().sum::<f64>() as usize);
                let each = weights.iter().enumerate();
                let all = each.flat_map(|(arm, n)| std::iter::repeat_n(arm as u16, *n as usize));
                cards.iter_mut().zip(all).for_each(|(card, arm)| *card = arm);
                How::Deck { cards, dealt: 0 }
            }
        };
        Dealer { arms: arms.iter().map(|at| *at as usize).collect(), how }
    }

    /// Where the arm begins that is chosen.
    fn next(&mut self, random: &mut Random) -> usize {
        let arm = match &mut self.how {
            How::Dice(shares) => {
                let drawn = random.next_u64();
                // The last share is all of them.
                shares.iter().position(|share| drawn <= *share).unwrap_or(0)
            }
            How::Deck { cards, dealt } => {
                // A shuffle, one card at a time: what is left is in no order that matters.
                let other = *dealt + random.below((cards.len() - *dealt) as u64) as usize;
                cards.swap(*dealt, other);
                let card = cards[*dealt];
                *dealt = (*dealt + 1) % cards.len();
                usize::from(card)
            }
        };
        self.arms[arm]
    }
}

fn shares(weights: &[f64]) -> Vec<u64> {
    let total: f64 = weights.iter().sum();
    let mut sum = 0.0;
    let share = |weight: &f64| {
        sum += weight;
        (sum / total * u64::MAX as f64) as u64
    };
    let mut shares: Vec<u64> = weights.iter().map(share).collect();
    if let Some(last) = shares.last_mut() {
        *last = u64::MAX;
    }
    shares
}

impl Worker<'_> {
    /// Where the task goes on from a turn at `at`.
    #[inline(never)]
    pub(super) fn turn(&mut self, at: usize, turn: Turn) -> Result<usize, Stop> {
        let turns = &mut self.program.turns;
        Ok(match turn {
            Turn::Lot { lot, end } => match turns.lots[lot].is_active() {
                true => at + 1,
                false => end,
            },
            Turn::Deal { dealer } => turns.dealers[dealer].next(&mut self.random),
            Turn::Leave { end } => end,
        })
    }
}

#[cfg(test)]
mod tests;
