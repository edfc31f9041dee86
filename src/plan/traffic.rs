//! Who wakes whom: how many tasks and messages meet on each instance of each channel.
//!
//! Walks the program of every member, but in loops only once, with the number of rounds as a
//! factor; and a team whose members do the same only once. One copy stands for all. Must not
//! know: kinds, limits.

use super::compile;
use super::flow::{self, Choice, Flow};
use super::number::{self, Wanted};
use super::{Amount, ChannelPlan, Op, Pick, Plan, TeamPlan};
use crate::base::Unit;
use crate::profile::keys::NUMBER_MAX;

/// A number of messages that has no bound (`forever`), or too many to count.
pub(super) const UNBOUNDED: u128 = u128::MAX;

/// One side of a channel.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Side {
    /// Messages to, or from, every instance (`[*]`).
    everywhere: u128,
    /// Messages by instance; empty if there are none by instance.
    at: Vec<u128>,
    /// Messages of which only the total over all instances is known (`[next]`, `[any]`).
    pub somewhere: u128,
    /// Tasks that may use any instance.
    tasks_everywhere: u64,
    /// Tasks by instance, besides those.
    tasks_at: Vec<u64>,
}

/// One channel in one copy.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Traffic {
    pub sent: Side,
    pub received: Side,
    /// The part of `received` that the run waits for.
    pub received_foreground: Side,
}

impl Side {
    pub fn messages(&self, instance: usize) -> u128 {
        let at = self.at.get(instance).copied().unwrap_or(0);
        self.everywhere.saturating_add(at)
    }

    pub fn total(&self, count: u32) -> u128 {
        let everywhere = self.everywhere.saturating_mul(count.into());
        let at = self.at.iter().fold(0u128, |sum, n| sum.saturating_add(*n));
        everywhere.saturating_add(at).saturating_add(self.somewhere)
    }

    pub fn tasks(&self, instance: usize) -> u64 {
        self.tasks_everywhere + self.tasks_at.get(instance).copied().unwrap_or(0)
    }

    /// The most tasks on one instance.
    pub fn tasks_max(&self) -> u64 {
        self.tasks_everywhere + self.tasks_at.iter().copied().max().unwrap_or(0)
    }

    pub fn is_used(&self) -> bool {
        self.tasks_max() > 0
    }

    fn add(&mut self, pick: Where, messages: u128, count: u32) {
        match pick {
            Where::Each => self.everywhere = self.everywhere.saturating_add(messages),
            Where::Some => self.somewhere = self.somewhere.saturating_add(messages),
            Where::At(instance) => {
                self.at.resize(count as usize, 0);
                let at = &mut self.at[instance];
                *at = at.saturating_add(messages);
            }
        }
    }

    fn add_tasks(&mut self, instance: Option<usize>, tasks: u64, count: u32) {
        match instance {
            None => self.tasks_everywhere += tasks,
            Some(instance) => {
                self.tasks_at.resize(count as usize, 0);
                self.tasks_at[instance] += tasks;
            }
        }
    }
}

/// A [`Pick`] for one member.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Where {
    Each,
    Some,
    At(usize),
}

/// Something about one operation that is wrong for one member.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MemberFault {
    /// Index of the team.
    pub team: usize,
    /// Index of its operation.
    pub op: usize,
    pub message: String,
}

/// Members of a team that come to a sync object, all as often.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Visit {
    pub object: u32,
    pub team: usize,
    pub op: usize,
    /// The first of these members, and how many there are.
    pub me: u32,
    pub members: u32,
    /// How often each comes; more than 0.
    pub rounds: u128,
}

/// All channels of one copy, and the first fault of each operation.
pub(super) fn of(teams: &[TeamPlan], channels: &[ChannelPlan]) -> (Vec<Traffic>, Vec<MemberFault>) {
    let (traffic, _, faults) = walk(teams, channels);
    (traffic, faults)
}

/// The same, with who comes to which sync object.
pub(super) fn walk(
    teams: &[TeamPlan],
    channels: &[ChannelPlan],
) -> (Vec<Traffic>, Vec<Visit>, Vec<MemberFault>) {
    let mut traffic = vec![Traffic::default(); channels.len()];
    let (mut visits, mut faults) = (Vec::new(), Vec::new());
    for (index, team) in teams.iter().enumerate() {
        let mut walk = Walk {
            index,
            team,
            visits: &mut visits,
            channels,
            traffic: &mut traffic,
            faulty: vec![None; team.ops.len()],
            met: Vec::new(),
        };
        if depends_on_member(&team.ops) {
            (0..team.size).for_each(|me| walk.member(me, 1));
        } else {
            walk.member(0, team.size.into());
        }
        let found = walk.faulty.into_iter().enumerate();
        faults.extend(found.filter_map(|(op, message)| {
            message.map(|message| MemberFault { team: index, op, message })
        }));
    }
    (traffic, visits, faults)
}

impl Plan {
    /// Messages that all tasks together send and receive when each does all its steps; `None`
    /// where some go on until they are stopped (`forever`, and teams in the background).
    pub fn messages(&self) -> Option<(u64, u64)> {
        let exchanges = |op: &Op| matches!(op, Op::Send { .. } | Op::Receive { .. });
        let stopped = |team: &TeamPlan| team.background && team.ops.iter().any(exchanges);
        let (traffic, faults) = of(&self.teams, &self.channels);
        if self.teams.iter().any(stopped) || !faults.is_empty() {
            return None;
        }
        let sum = |side: fn(&Traffic) -> &Side| {
            let totals = traffic.iter().zip(&self.channels);
            let totals = totals.map(|(traffic, channel)| side(traffic).total(channel.count));
            let one_copy = totals.fold(0u128, u128::saturating_add);
            u64::try_from(one_copy.saturating_mul(self.copies.into())).ok()
        };
        Some((sum(|it| &it.sent)?, sum(|it| &it.received)?))
    }
}

fn depends_on_member(ops: &[Op]) -> bool {
    ops.iter().any(|op| match op {
        Op::Send { pick, .. } | Op::Receive { pick, .. } => {
            matches!(pick, Pick::At(Amount::PerMember(_)))
        }
        Op::Loop { count, .. } => matches!(count, Amount::PerMember(_)),
        Op::Work { amount, .. } => matches!(amount, Amount::PerMember(_)),
        Op::During { time, .. } => matches!(time, Amount::PerMember(_)),
        Op::Use(it) => matches!(it.count, Amount::PerMember(_)),
        Op::Flow(flow) => flow::depends_on_member(flow),
        _ => false,
    })
}

struct Walk<'a> {
    /// The number of the team.
    index: usize,
    visits: &'a mut Vec<Visit>,
    team: &'a TeamPlan,
    channels: &'a [ChannelPlan],
    traffic: &'a mut [Traffic],
    /// By operation.
    faulty: Vec<Option<String>>,
    /// The instances that the present member uses: channel, side, and which (`None`: any).
    met: Vec<(usize, Direction, Option<usize>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    Sent,
    Received,
}

impl Walk<'_> {
    /// Adds what this member does, `alike` times.
    fn member(&mut self, me: u32, alike: u64) {
        let team = self.team;
        // The loops around the present operation: where they end, and the rounds of all together.
        let mut around: Vec<(usize, u128)> = Vec::new();
        let mut at = 0;
        while let Some(op) = team.ops.get(at) {
            while around.last().is_some_and(|&(end, _)| end <= at) {
                around.pop();
            }
            let rounds = around.last().map_or(1, |&(_, rounds)| rounds);
            match op {
                Op::Loop { count, end } => {
                    let what = "the count of `repeat`";
                    let wanted = Wanted::new(what, Unit::Count, 0.0, NUMBER_MAX);
                    match self.number(at, count, me, &wanted) {
                        None | Some(0) => {
                            at = *end as usize;
                            continue;
                        }
                        Some(n) => around.push((*end as usize, rounds.saturating_mul(n.into()))),
                    }
                }
                Op::During { time, end } => {
                    let wanted = Wanted::new("the time of `during`", Unit::Time, 0.0, NUMBER_MAX);
                    self.number(at, time, me, &wanted);
                    around.push((*end as usize, UNBOUNDED));
                }
                Op::Use(it) => {
                    let wanted = compile::count_wanted(&it.verb);
                    self.number(at, &it.count, me, &wanted);
                }
                Op::Flow(flow) => match self.rounds_of(at, flow, me) {
                    Some(0) => {
                        at = op.end().map_or(at + 1, |end| end as usize);
                        continue;
                    }
                    Some(n) => {
                        around.extend(op.end().map(|end| (end as usize, rounds.saturating_mul(n))));
                    }
                    None => {}
                },
                Op::Leave { .. } => {}
                Op::Forever { end } => around.push((*end as usize, UNBOUNDED)),
                Op::Send { channel, pick, .. } => {
                    let messages = rounds.saturating_mul(alike.into());
                    self.message(at, Direction::Sent, *channel as usize, pick, me, messages);
                }
                Op::Receive { channel, pick, .. } => {
                    let messages = rounds.saturating_mul(alike.into());
                    self.message(at, Direction::Received, *channel as usize, pick, me, messages);
                }
                Op::Work { kind, amount, .. } => {
                    let unit = op.work().map_or(Unit::Count, |kind| kind.unit);
                    let wanted = Wanted::new(format!("`{kind}`"), unit, 0.0, NUMBER_MAX);
                    self.number(at, amount, me, &wanted);
                }
                Op::Again { .. } | Op::Measure { .. } | Op::EndMeasure { .. } => {}
                Op::Spawn { .. } | Op::Join { .. } => {}
                Op::Sync(it) => {
                    if it.act.comes() && rounds > 0 {
                        let (team, members) = (self.index, alike as u32);
                        let object = it.object;
                        self.visits.push(Visit { object, team, op: at, me, members, rounds });
                    }
                }
            }
            at += 1;
        }
        self.meet(alike);
    }

    /// How often the member does the block, each time that it comes there.
    fn rounds_of(&mut self, at: usize, flow: &Flow, me: u32) -> Option<u128> {
        for (amount, wanted) in flow.amounts() {
            self.number(at, amount, me, &wanted)?;
        }
        match flow {
            Flow::Active { n, choose: Choice::Fixed, .. } => Some(u128::from(me < *n)),
            Flow::Active { .. } | Flow::Choose { .. } | Flow::Arrive { .. } => Some(UNBOUNDED),
            Flow::Every { count, .. } => {
                Some(count.as_ref().map_or(UNBOUNDED, |count| count.of(me).into()))
            }
            Flow::Arm { .. } | Flow::Request { .. } | Flow::Answered { .. } => None,
        }
    }

    fn number(&mut self, at: usize, amount: &Amount, me: u32, wanted: &Wanted) -> Option<u64> {
        match number::checked(amount, me, wanted) {
            Ok(number) => Some(number),
            Err(message) => {
                self.faulty[at].get_or_insert(message);
                None
            }
        }
    }

    fn message(
        &mut self,
        at: usize,
        direction: Direction,
        channel: usize,
        pick: &Pick,
        me: u32,
        messages: u128,
    ) {
        let ChannelPlan { name, count, .. } = &self.channels[channel];
        let count = *count;
        let place = match pick {
            Pick::All => Where::Each,
            Pick::Next | Pick::Any => Where::Some,
            Pick::At(index) => {
                let what = format!("the index in `{name}` (count {count})");
                let wanted = Wanted::count(what, 0, count - 1);
                match self.number(at, index, me, &wanted) {
                    None => return,
                    Some(index) => Where::At(index as usize),
                }
            }
        };
        let traffic = &mut self.traffic[channel];
        match direction {
            Direction::Sent => traffic.sent.add(place, messages, count),
            Direction::Received => {
                traffic.received.add(place, messages, count);
                if !self.team.background {
                    traffic.received_foreground.add(place, messages, count);
                }
            }
        }
        let instance = match place {
            Where::At(instance) => Some(instance),
            Where::Each | Where::Some => None,
        };
        self.met.push((channel, direction, instance));
    }

    /// Counts the member once on each instance that it met, however often it did.
    fn meet(&mut self, alike: u64) {
        // `None` sorts first: who may meet any instance has met them all.
        self.met.sort_unstable();
        self.met.dedup();
        let mut all = None;
        for (channel, direction, instance) in std::mem::take(&mut self.met) {
            if instance.is_none() {
                all = Some((channel, direction));
            } else if all == Some((channel, direction)) {
                continue;
            }
            let count = self.channels[channel].count;
            let traffic = &mut self.traffic[channel];
            match direction {
                Direction::Sent => traffic.sent.add_tasks(instance, alike, count),
                Direction::Received => {
                    traffic.received.add_tasks(instance, alike, count);
                    if !self.team.background {
                        traffic.received_foreground.add_tasks(instance, alike, count);
                    }
                }
            }
        }
    }
}
