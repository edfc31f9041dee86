//! Who does a block, which, and when: decided by each task alone, from what its program has.
//!
//! Must not know: what the steps are that it decides about.

use super::failure::Tried;
use super::program::Step;
use super::worker::{Stop, Worker};
use crate::base::{Aligned, Random};
use crate::plan::flow::{Choice, Deal, Flow, Pattern};
use crate::plan::{self, Op, Plan};
use crate::record::memory::Phase;
use crate::record::recorder::Since;
use crate::record::stamp::Stamp;
use crate::step::work::spread::{self, Spread, Table};
use crate::step::work::{self, Tools, pacing};
use crate::sys::clock::monotonic_ns;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A step that decides where the task goes on.
#[derive(Clone, Copy)]
pub(super) enum Turn {
    /// Into the block if the task is active in this round, else behind it.
    Lot {
        lot: usize,
        end: usize,
    },
    /// Behind the block, in each round.
    Never {
        end: usize,
    },
    /// To one of several blocks.
    Deal {
        dealer: usize,
    },
    Leave {
        end: usize,
    },
    /// The first round of a block whose rounds have times of their own.
    Pace {
        pacer: usize,
        end: usize,
    },
    /// The next one, if there is one.
    NextRound {
        pacer: usize,
        begin: usize,
    },
    /// Work of an amount that varies about this mean.
    Varied {
        kind: &'static work::Kind,
        mean: u64,
        table: usize,
    },
    /// A block that is measured from the arrival of its request has ended.
    Answered {
        measure: u16,
    },
}

/// What the turns of a program remember.
#[derive(Default)]
pub(super) struct Turns {
    lots: Vec<Lot>,
    dealers: Vec<Dealer>,
    tables: Vec<Arc<Table>>,
    /// Each with the place of its block.
    pacers: Vec<(usize, Pacer)>,
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
                Step::Turn(Turn::Never { end: *end as usize })
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
            Flow::Every { .. } | Flow::Arrive { .. } => {
                self.pacers.push((at, Pacer::new(flow, me, plan.teams[team].size)));
                let end = op.end().map_or(at + 1, |end| end as usize);
                Step::Turn(Turn::Pace { pacer: self.pacers.len() - 1, end })
            }
            Flow::Answered { measure } => Step::Turn(Turn::Answered { measure: *measure as u16 }),
            Flow::Arm { .. } | Flow::Request { .. } => Step::Nothing,
        }
    }

    /// Work of an amount, or of a mean from which each draw differs.
    pub(super) fn work(
        &mut self,
        kind: &'static work::Kind,
        amount: u64,
        spread: Option<&plan::flow::Spread>,
    ) -> Step {
        let row = spread.and_then(|it| Some((spread::find(&it.of)?, it.cv)));
        match row {
            Some((row, cv)) if amount > 0 => {
                self.tables.push(spread::table(row.spread, cv));
                let table = self.tables.len() - 1;
                Step::Turn(Turn::Varied { kind, mean: amount, table })
            }
            _ => Step::Work { kind, amount },
        }
    }

    /// The end of a round, if the block that begins there is one whose rounds have their times.
    pub(super) fn again(&self, begin: usize) -> Option<Step> {
        let pacer = self.pacers.iter().position(|(at, _)| *at == begin)?;
        Some(Step::Turn(Turn::NextRound { pacer, begin }))
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
                    if wanted == 0 {
                        return false;
                    }
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
                *dealt = if *dealt + 1 == cards.len() { 0 } else { *dealt + 1 };
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

/// When the rounds of a block begin; on a cache line of its own, since it is written.
#[repr(align(128))]
struct Pacer {
    rhythm: Rhythm,
    awake_ns: u64,
    /// CLOCK_MONOTONIC from which times count (ns), and the time of the present round since then: a
    /// fraction of a nanosecond in each distance would add up.
    base_ns: u64,
    since: f64,
    /// Rounds left; of a burst, arrivals left.
    left: u64,
}

enum Rhythm {
    /// Rounds whose time has passed are left out.
    Every { period_ns: u64, offset_ns: u64, count: u64 },
    /// Late ones are made up for, but in a closed loop, which counts from the end of the last.
    Poisson { mean_ns: f64, table: Arc<Table>, closed: bool },
    /// `burst` at once; the first after this share of the distance.
    Constant { distance_ns: f64, first: f64, burst: u64 },
}

impl Pacer {
    fn new(flow: &Flow, me: u32, size: u32) -> Pacer {
        let (rhythm, awake_ns) = match flow {
            Flow::Every { period, offset, count, .. } => {
                let count = count.as_ref().map_or(u64::MAX, |count| count.of(me));
                let (period_ns, offset_ns) = (period.of(me), offset.of(me));
                (Rhythm::Every { period_ns, offset_ns, count }, 0)
            }
            Flow::Arrive { rate, pattern, burst, awake_ns, .. } => {
                let mean_ns = 1e9 * f64::from(size) / *rate as f64;
                let burst = match pattern {
                    Pattern::Burst => u64::from(*burst),
                    _ => 1,
                };
                let rhythm = match pattern {
                    Pattern::Poisson | Pattern::Closed => {
                        let table = spread::table(Spread::Exponential, 1.0);
                        Rhythm::Poisson { mean_ns, table, closed: *pattern == Pattern::Closed }
                    }
                    Pattern::Constant | Pattern::Burst => Rhythm::Constant {
                        distance_ns: mean_ns * burst as f64,
                        first: f64::from(me + 1) / f64::from(size),
                        burst,
                    },
                };
                (rhythm, *awake_ns)
            }
            // The plan makes pacers of these two only.
            _ => (Rhythm::Every { period_ns: 1, offset_ns: 0, count: 0 }, 0),
        };
        Pacer { rhythm, awake_ns, base_ns: 0, since: 0.0, left: 0 }
    }

    /// Whether its rounds are requests that arrive.
    fn arrives(&self) -> bool {
        !matches!(self.rhythm, Rhythm::Every { .. })
    }

    /// When the present round is to begin (ns of CLOCK_MONOTONIC); of a distance that is longer
    /// than all time, never.
    fn due_ns(&self) -> u64 {
        self.base_ns.saturating_add(self.since as u64)
    }

    /// Begins anew; whether there is a round at all.
    fn begin(&mut self, now_ns: u64, random: &mut Random) -> bool {
        self.base_ns = now_ns;
        (self.since, self.left) = match &self.rhythm {
            Rhythm::Every { offset_ns, count, .. } => (*offset_ns as f64, *count),
            Rhythm::Poisson { mean_ns, table, .. } => (table.scaled(*mean_ns, random), 1),
            Rhythm::Constant { distance_ns, first, burst } => (distance_ns * first, *burst),
        };
        self.left > 0
    }

    /// On to the next round, which is not before `now_ns` of those that may be left out: how many
    /// were; `None` if that was the last one.
    fn next(&mut self, now_ns: u64, random: &mut Random) -> Option<u64> {
        match &self.rhythm {
            Rhythm::Every { period_ns, .. } => {
                self.left -= 1;
                if self.left == 0 {
                    return None;
                }
                self.since += *period_ns as f64;
                // A period whose time has come while the last one was at it has been missed.
                let behind_ns = (now_ns + 1).saturating_sub(self.due_ns());
                let missed = behind_ns.div_ceil(*period_ns);
                self.since += (missed * period_ns) as f64;
                Some(missed)
            }
            Rhythm::Poisson { mean_ns, table, closed } => {
                if *closed {
                    (self.base_ns, self.since) = (now_ns, 0.0);
                }
                self.since += table.scaled(*mean_ns, random);
                Some(0)
            }
            Rhythm::Constant { distance_ns, burst, .. } => {
                self.left -= 1;
                if self.left == 0 {
                    self.left = *burst;
                    self.since += distance_ns;
                }
                Some(0)
            }
        }
    }
}

impl Worker<'_> {
    /// Where the task goes on from a turn at `at`.
    #[inline(never)]
    pub(super) fn turn(&mut self, at: usize, turn: Turn) -> Result<usize, Stop> {
        let turns = &mut self.program.turns;
        Ok(match turn {
            Turn::Lot { lot, end } => {
                let is_active = turns.lots[lot].is_active();
                self.recorder.drew(is_active);
                if is_active { at + 1 } else { end }
            }
            Turn::Never { end } => {
                self.recorder.drew(false);
                end
            }
            Turn::Deal { dealer } => turns.dealers[dealer].next(&mut self.random),
            Turn::Leave { end } => end,
            Turn::Pace { pacer, end } => {
                let random = &mut self.random;
                match turns.pacers[pacer].1.begin(monotonic_ns(), random) {
                    true => {
                        self.await_round(at, pacer)?;
                        at + 1
                    }
                    false => end,
                }
            }
            Turn::NextRound { pacer, begin } => {
                if self.recorder.phase() == Phase::After {
                    return Err(Stop::Over);
                }
                match turns.pacers[pacer].1.next(monotonic_ns(), &mut self.random) {
                    Some(missed) => {
                        self.recorder.missed(pacer as u16, missed);
                        self.await_round(begin, pacer)?;
                        begin + 1
                    }
                    None => at + 1,
                }
            }
            Turn::Varied { kind, mean, table } => {
                let amount = turns.tables[table].draw(mean, &mut self.random);
                self.work(at, kind, amount)?;
                at + 1
            }
            Turn::Answered { measure } => {
                self.recorder.answered(measure, self.origin);
                at + 1
            }
        })
    }

    /// Waits until the time of a round of the block at `at` has come, and tells how late the task
    /// is.
    fn await_round(&mut self, at: usize, pacer: usize) -> Result<(), Stop> {
        let (_, it) = &self.program.turns.pacers[pacer];
        let (due_ns, awake_ns, arrives) = (it.due_ns(), it.awake_ns, it.arrives());
        self.recorder.look(Since::Running);
        let memory = self.memory;
        let over = || Phase::of(memory.control().phase.load(Relaxed)) == Phase::After;
        let (clock, rounds_per_us) = (self.clock, self.rounds_per_us);
        let slept = pacing::until(due_ns, awake_ns, &Tools { clock, rounds_per_us, stop: &over })
            .map_err(Stop::at(at, Tried::Sleep))?;
        let late_ns = monotonic_ns().saturating_sub(due_ns);
        self.recorder.time_passed();
        self.recorder.look(if slept { Since::Sleeping } else { Since::Running });
        if over() {
            return Err(Stop::Over);
        }
        self.recorder.paced(pacer as u16, late_ns);
        if arrives {
            self.origin = self.recorder.now().saturating_sub(clock.ticks(late_ns));
        }
        Ok(())
    }

    /// A message that belongs to a request makes that the task's. Whose origin was lost, with its
    /// stamp, must not pass for the last one's.
    pub(super) fn note_origin(&mut self, stamp: Option<Stamp>) {
        match stamp {
            None => self.origin = 0,
            Some(Stamp { origin: 0, .. }) => {}
            Some(stamp) => self.origin = stamp.origin,
        }
    }
}

#[cfg(test)]
mod tests;
