//! How many messages the operations of a plan send and receive, where they alone decide it.
//!
//! Must not know: what a run did.

use crate::plan::{Amount, ChannelPlan, Op, Pick, Plan};
use std::ops::Range;

/// Messages of one member, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub sent: u64,
    pub received: u64,
}

impl Tally {
    fn plus(self, other: Tally) -> Option<Tally> {
        Some(Tally {
            sent: self.sent.checked_add(other.sent)?,
            received: self.received.checked_add(other.received)?,
        })
    }

    fn times(self, n: u64) -> Option<Tally> {
        Some(Tally { sent: self.sent.checked_mul(n)?, received: self.received.checked_mul(n)? })
    }
}

/// Messages of all tasks when each does all its steps; `None` where a task goes on until it is
/// stopped (as those of a background team are), or repeats a number of times that depends on which
/// member it is.
pub(super) fn messages(plan: &Plan) -> Option<Tally> {
    let mut all = Tally::default();
    for team in &plan.teams {
        let member = program(&team.ops, 0..team.ops.len(), &plan.channels)?;
        if team.background && member != Tally::default() {
            return None;
        }
        all = all.plus(member.times(u64::from(team.size) * u64::from(plan.copies))?)?;
    }
    Some(all)
}

/// One pass over a stretch of a program; jumps are by position in the whole of it.
fn program(ops: &[Op], stretch: Range<usize>, channels: &[ChannelPlan]) -> Option<Tally> {
    let mut tally = Tally::default();
    let mut at = stretch.start;
    while at < stretch.end {
        let op = ops.get(at)?;
        at += 1;
        let step = match op {
            Op::Send { channel, pick, .. } => {
                Tally { sent: instances(*channel, pick, channels)?, received: 0 }
            }
            Op::Receive { channel, pick, .. } => {
                Tally { sent: 0, received: instances(*channel, pick, channels)? }
            }
            Op::Loop { count, end } => {
                let Amount::Fixed(count) = count else {
                    return None;
                };
                let body = program(ops, at..*end as usize, channels)?;
                at = at.max(*end as usize);
                body.times(*count)?
            }
            Op::Forever { .. } => return None,
            Op::Again { .. } | Op::Measure { .. } | Op::EndMeasure { .. } | Op::Work { .. } => {
                Tally::default()
            }
        };
        tally = tally.plus(step)?;
    }
    Some(tally)
}

fn instances(channel: u32, pick: &Pick, channels: &[ChannelPlan]) -> Option<u64> {
    let channel = channels.get(channel as usize)?;
    Some(match pick {
        Pick::All => u64::from(channel.count),
        Pick::Next | Pick::Any | Pick::At(_) => 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    fn send(pick: Pick) -> Op {
        Op::Send { channel: 0, pick, bytes: 1 }
    }

    fn times(count: u64, end: u32) -> Op {
        Op::Loop { count: Amount::Fixed(count), end }
    }

    #[test]
    fn counts_what_the_operations_say() {
        // One team of two in two copies, on a channel of three instances.
        let check = |ops: Vec<Op>, expected: Option<u64>| {
            let mut plan = fixture::plan();
            (plan.copies, plan.channels[0].count) = (2, 3);
            plan.teams.truncate(1);
            (plan.teams[0].size, plan.teams[0].ops) = (2, ops.clone());
            assert_eq!(messages(&plan).map(|tally| tally.sent), expected, "{ops:?}");
        };
        check(vec![], Some(0));
        check(vec![send(Pick::All)], Some(12));
        check(vec![send(Pick::At(Amount::Fixed(1))), send(Pick::Any)], Some(8));
        let again = |begin| Op::Again { begin };
        check(vec![times(5, 3), send(Pick::Next), again(0)], Some(20));
        check(vec![times(0, 3), send(Pick::Next), again(0), send(Pick::Next)], Some(4));
        let nested =
            vec![send(Pick::Next), times(5, 6), times(2, 5), send(Pick::Next), again(2), again(1)];
        check(nested, Some(44));
        check(vec![times(u64::MAX, 2), send(Pick::All)], None);
        check(vec![Op::Forever { end: 2 }, send(Pick::Next)], None);
    }

    #[test]
    fn a_background_team_is_stopped_wherever_it_is() {
        let mut plan = fixture::plan();
        let all = Tally { sent: 200_000, received: 200_000 };
        assert_eq!(messages(&plan), Some(all));
        plan.teams[1].background = true;
        assert_eq!(messages(&plan), None);
        plan.teams[1].ops.clear();
        assert_eq!(messages(&plan), Some(Tally { received: 0, ..all }));
    }
}
