//! A team's operations resolved for one task: channels found, amounts fixed.
//!
//! Made before the gate, by whoever creates the task, so that a worker never allocates. Must not
//! know: how steps are done (`worker.rs`).

use super::areas::Areas;
use super::flow::{Turn, Turns};
use super::meet::{self, Holding, Meet, Object, Tie};
use super::roster;
use super::using::Using;
use crate::base::Aligned;
use crate::plan::{Op, Pick, Plan};
use crate::record::Memory;
use crate::record::recorder::Since;
use crate::record::stamp::{self, Ring};
use crate::step::channel::{self, Instance, OpenError, Opening, Scope};
use crate::step::work;
use crate::sys::Errno;

/// All channel instances of one copy, in the order of the plan, and its sync objects.
pub(super) struct Channels<'a> {
    pub ends: Vec<End<'a>>,
    /// Where each channel's instances begin.
    first: Vec<usize>,
    /// In the order of the plan.
    pub syncs: Vec<Object<'a>>,
}

/// One instance of a channel and what goes with it.
pub(super) struct End<'a> {
    pub channel: Instance<'a>,
    /// Where its stamps are, unless messages carry them.
    pub ring: Option<Ring<'a>>,
    /// What a CPU change over a wake is.
    pub wake_is: Since,
}

impl<'a> Channels<'a> {
    /// Opens the channels of a copy, in order of instances.
    ///
    /// # Errors
    ///
    /// The number of the channel that could not be opened, and why.
    pub(super) fn open(
        plan: &Plan,
        memory: &'a Memory,
        copy: u32,
    ) -> Result<Channels<'a>, (usize, OpenError)> {
        let mut ends = Vec::new();
        let mut first = Vec::new();
        for (number, channel) in plan.channels.iter().enumerate() {
            first.push(ends.len());
            let unknown = OpenError { call: "finding the kind", errno: Errno(libc::EINVAL) };
            let kind = channel::find(&channel.kind).ok_or((number, unknown))?;
            let scope = if channel.across_processes { Scope::Shared } else { Scope::Private };
            for instance in 0..channel.count as usize {
                let (offset, _) = memory.layout.channel(copy as usize, number, instance);
                let bytes = channel.bytes as usize;
                let opening = Opening { scope, bytes, shared: &memory.shared, offset };
                let opened = (kind.open)(&opening);
                ends.push(End {
                    channel: opened.map_err(|error| (number, error))?,
                    ring: memory.ring(copy as usize, number, instance),
                    wake_is: if kind.wake_blocks { Since::Sleeping } else { Since::Running },
                });
            }
        }
        Ok(Channels { ends, first, syncs: meet::open(plan, memory, copy) })
    }

    /// The instances that a step of member `me` means.
    fn pick(&self, plan: &Plan, channel: u32, pick: &Pick, me: u32) -> Ends {
        let first = self.first[channel as usize];
        let n = plan.channels[channel as usize].count as usize;
        match pick {
            Pick::All => Ends::Each { first, n },
            Pick::Next => Ends::Next { first, n },
            Pick::Any => Ends::Any { first, n },
            Pick::At(which) => Ends::Each { first: first + which.of(me) as usize, n: 1 },
        }
    }
}

/// What a worker goes through; positions are those of the plan's operations.
pub(super) struct Program<'a> {
    pub steps: Vec<Step>,
    /// What `Step::Use` names.
    pub usings: Vec<Using<'a>>,
    /// What `Step::Turn` remembers.
    pub turns: Turns,
    /// Where the task stands at each sync object of its team.
    pub ties: Vec<Tie>,
    /// What `Step::Meet` names.
    pub meets: Vec<Meet<'a>>,
    /// The locks that it has, the last taken last; with room for all that it can.
    pub held: Vec<Holding>,
    /// A number for each step: rounds left of a loop, when a measure block began, whose turn is
    /// next.
    pub numbers: Aligned<u64>,
    /// Whether messages carry when their request arrived.
    pub origins: bool,
    /// For messages in and out.
    pub buffer: Aligned<u8>,
}

#[derive(Clone, Copy)]
pub(super) enum Step {
    Send {
        ends: Ends,
        bytes: usize,
    },
    Receive {
        ends: Ends,
        bytes: usize,
    },
    Loop {
        count: u64,
        end: usize,
    },
    Forever,
    Again {
        begin: usize,
    },
    /// Until this much time has passed (ns).
    During {
        ns: u64,
    },
    AgainDuring {
        begin: usize,
    },
    /// Start these tasks.
    Spawn {
        first: usize,
        n: usize,
    },
    /// Sleep until this counter of tasks at work is 0.
    Join {
        at_work: usize,
    },
    /// A position in [`Program::usings`].
    Use {
        using: usize,
    },
    /// A position in [`Program::meets`].
    Meet {
        meet: usize,
    },
    Measure,
    EndMeasure {
        begin: usize,
        measure: u16,
    },
    Work {
        kind: &'static work::Kind,
        amount: u64,
    },
    Turn(Turn),
    Nothing,
}

impl Step {
    /// The end of the loop that begins there.
    fn again(ops: &[Op], begin: usize) -> Step {
        match ops[begin] {
            Op::During { .. } => Step::AgainDuring { begin },
            _ => Step::Again { begin },
        }
    }

    /// Of how many it takes one in turn, where it does.
    fn turns(&self, meets: &[Meet]) -> Option<u64> {
        match self {
            Step::Send { ends: Ends::Next { n, .. }, .. }
            | Step::Receive { ends: Ends::Next { n, .. }, .. } => Some(*n as u64),
            Step::Meet { meet } => meets[*meet].turns(),
            _ => None,
        }
    }

    /// Starting a team of this copy, or waiting for it.
    fn of_team(op: &Op, plan: &Plan, copy: u32) -> Step {
        match op {
            Op::Spawn { team } => {
                let team = *team as usize;
                let n = plan.teams[team].size as usize;
                Step::Spawn { first: roster::first_task(plan, copy, team), n }
            }
            Op::Join { team } => {
                Step::Join { at_work: roster::at_work(plan, copy, *team as usize) }
            }
            _ => Step::Nothing,
        }
    }
}

/// Which instances, as positions in [`Channels::ends`].
#[derive(Clone, Copy)]
pub(super) enum Ends {
    /// Each in turn; one, usually.
    Each {
        first: usize,
        n: usize,
    },
    Next {
        first: usize,
        n: usize,
    },
    Any {
        first: usize,
        n: usize,
    },
}

impl<'a> Program<'a> {
    /// The program of member `me` of a team in a copy.
    pub(super) fn new(
        plan: &Plan,
        (copy, team, me): (u32, usize, u32),
        channels: &Channels<'_>,
        areas: &'a Areas,
    ) -> Program<'a> {
        let who = (plan, copy, team, me);
        let ties = meet::ties(plan, (team, me));
        let which = (team, me);
        let team = &plan.teams[team];
        let mut turns = Turns::default();
        let mut usings = Vec::new();
        let mut measures = Vec::new();
        let mut meets = Vec::new();
        let mut steps = Vec::with_capacity(team.ops.len());
        for (at, op) in team.ops.iter().enumerate() {
            let ends = |channel: u32, pick: &Pick| channels.pick(plan, channel, pick, me);
            steps.push(match op {
                Op::Send { channel, pick, bytes } => {
                    Step::Send { ends: ends(*channel, pick), bytes: *bytes as usize }
                }
                Op::Receive { channel, pick, bytes } => {
                    Step::Receive { ends: ends(*channel, pick), bytes: *bytes as usize }
                }
                Op::Loop { count, end } => Step::Loop { count: count.of(me), end: *end as usize },
                Op::Forever { .. } => Step::Forever,
                Op::During { time, .. } => Step::During { ns: time.of(me) },
                Op::Again { begin } => turns
                    .again(*begin as usize)
                    .unwrap_or_else(|| Step::again(&team.ops, *begin as usize)),
                Op::Flow(_) | Op::Leave { .. } => turns.step(who, at, op),
                Op::Spawn { .. } | Op::Join { .. } => Step::of_team(op, plan, copy),
                Op::Use(it) => {
                    let known = usings.len();
                    usings.extend(Using::new(it, plan, me, areas));
                    if usings.len() > known { Step::Use { using: known } } else { Step::Nothing }
                }
                Op::Sync(it) => {
                    meets.push(Meet::new(it, plan, which, &ties, areas));
                    Step::Meet { meet: meets.len() - 1 }
                }
                Op::Measure { .. } => {
                    measures.push(at);
                    Step::Measure
                }
                Op::EndMeasure { measure } => Step::EndMeasure {
                    begin: measures.pop().unwrap_or(at),
                    measure: *measure as u16,
                },
                // The plan knows the rows, so there is one.
                Op::Work { kind, amount, spread } => work::find(kind)
                    .map_or(Step::Nothing, |kind| turns.work(kind, amount.of(me), spread.as_ref())),
            });
        }
        skip_idle_loops(&mut steps, &team.ops);
        Program {
            numbers: first_numbers(&steps, &meets, me),
            steps,
            usings,
            turns,
            ties,
            held: Vec::with_capacity(meets.len()),
            meets,
            origins: plan.traces_origins(),
            buffer: Aligned::new(b'-', (team.buffer_bytes as usize).max(stamp::LONG_BYTES)),
        }
    }

    /// Whether the member takes part at all: `repeat = "1 - me"` may leave it nothing to do.
    pub(super) fn acts(&self) -> bool {
        acts(&self.steps, 0, self.steps.len())
    }
}

/// Loops in which this member would do nothing are made to have no rounds: in one without an end it
/// would burn a CPU until the window is over.
fn skip_idle_loops(steps: &mut [Step], ops: &[Op]) {
    // Inner loops come behind the heads of those around them.
    for (begin, op) in ops.iter().enumerate().rev() {
        if let Op::Loop { end, .. } | Op::During { end, .. } | Op::Forever { end } = *op {
            let end = end as usize;
            if !acts(steps, begin + 1, end) {
                steps[begin] = Step::Loop { count: 0, end };
            }
        }
    }
}

/// A number for each step: a task's turns start at its own index.
fn first_numbers(steps: &[Step], meets: &[Meet], me: u32) -> Aligned<u64> {
    let mut numbers = Aligned::new(0, steps.len());
    for (number, step) in numbers.iter_mut().zip(steps) {
        *number = step.turns(meets).map_or(0, |n| u64::from(me) % n);
    }
    numbers
}

/// Whose turn it is of `n`; the next time it is the next one's. Called for each message: no
/// division.
#[inline(always)]
pub(super) fn take_turn(turn: &mut u64, n: u64) -> u64 {
    let which = *turn;
    *turn = if which + 1 == n { 0 } else { which + 1 };
    which
}

/// Whether something is done between two positions.
fn acts(steps: &[Step], mut at: usize, end: usize) -> bool {
    while at < end {
        at = match steps[at] {
            Step::Loop { count: 0, end } | Step::Turn(Turn::Never { end }) => end,
            Step::Loop { .. } | Step::Forever | Step::During { .. } => at + 1,
            Step::Again { .. } | Step::AgainDuring { .. } | Step::Nothing => at + 1,
            Step::Turn(Turn::Pace { .. } | Turn::Varied { .. }) => return true,
            Step::Turn(_) => at + 1,
            Step::Work { amount: 0, .. } => at + 1,
            _ => return true,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_round() {
        let check = |first: u64, n: u64, expected: [u64; 5]| {
            let mut turn = first;
            let taken: [u64; 5] = std::array::from_fn(|_| take_turn(&mut turn, n));
            assert_eq!(taken, expected, "{first} of {n}");
        };
        check(0, 1, [0; 5]);
        check(0, 2, [0, 1, 0, 1, 0]);
        check(2, 3, [2, 0, 1, 2, 0]);
        check(3, 7, [3, 4, 5, 6, 0]);
    }
}
