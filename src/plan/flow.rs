//! Operations that decide about others: who does them and which of them.
//!
//! Must not know: how a task decides.

use super::Op;
use crate::base::unit::counted;
use serde::{Deserialize, Serialize};

/// The head of a block that is not simply done. `end` is the operation behind its last one, which
/// is a [`Op::Leave`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    /// In each round, `n` members of the team do the block.
    Active {
        n: u32,
        choose: Choice,
        end: u32,
    },
    /// One of the arms is done, each of which is an [`Flow::Arm`], its operations and a `Leave`.
    Choose {
        deal: Deal,
        arms: Vec<u32>,
        end: u32,
    },
    Arm {
        weight: f64,
    },
}

/// Which members are active in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The first `n`.
    Fixed,
    /// `n` from member `round * n % size` on.
    Rotating,
    /// Drawn from the seed, the copy and the round.
    Random,
}

/// How an arm is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deal {
    Random,
    /// From a deck with a card for each unit of weight, shuffled anew when it is used up.
    Deck,
}

/// The rows of [`Choice`].
pub(super) const CHOICES: [(&str, Choice); 3] =
    [("fixed", Choice::Fixed), ("rotating", Choice::Rotating), ("random", Choice::Random)];

/// The rows of [`Deal`].
pub(super) const DEALS: [(&str, Deal); 2] = [("random", Deal::Random), ("deck", Deal::Deck)];

fn name<T: Copy + PartialEq>(rows: &[(&'static str, T)], of: T) -> &'static str {
    rows.iter().find(|(_, it)| *it == of).map_or("", |(name, _)| name)
}

impl Flow {
    /// The verb of the step that it came from.
    pub fn verb(&self) -> &'static str {
        match self {
            Flow::Active { .. } => "active",
            Flow::Choose { .. } | Flow::Arm { .. } => "choose",
        }
    }

    /// The operation in the words of the profile.
    pub(super) fn words(&self) -> String {
        match self {
            Flow::Active { n, choose, .. } => {
                let members = counted(u64::from(*n), "member");
                format!("{} {members}, {}", self.verb(), name(&CHOICES, *choose))
            }
            Flow::Choose { deal, .. } => format!("choose, {}", name(&DEALS, *deal)),
            Flow::Arm { weight } => format!("weight {weight}"),
        }
    }
}

impl Op {
    /// The operation behind the block that it begins.
    pub fn end(&self) -> Option<u32> {
        match self {
            Op::Loop { end, .. } | Op::During { end, .. } | Op::Forever { end } => Some(*end),
            Op::Flow(flow) => match **flow {
                Flow::Active { end, .. } | Flow::Choose { end, .. } => Some(end),
                Flow::Arm { .. } => None,
            },
            _ => None,
        }
    }

    pub(super) fn set_end(&mut self, after: u32) {
        match self {
            Op::Loop { end, .. } | Op::During { end, .. } | Op::Forever { end } => *end = after,
            Op::Flow(flow) => match &mut **flow {
                Flow::Active { end, .. } | Flow::Choose { end, .. } => *end = after,
                Flow::Arm { .. } => {}
            },
            _ => {}
        }
    }
}

/// Whether members of a team differ in it.
pub(super) fn depends_on_member(flow: &Flow) -> bool {
    matches!(flow, Flow::Active { choose: Choice::Fixed, .. })
}
