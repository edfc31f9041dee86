//! Operations that decide about others: who does them, which of them, and when.
//!
//! Must not know: how a task decides.

use super::number::Wanted;
use super::{Act, Amount, Op, Plan, TeamPlan, check};
use crate::base::unit::{self, Unit, counted};
use crate::profile::keys::NUMBER_MAX;
use crate::profile::{Fault, Span};
use crate::step::work;
use serde::{Deserialize, Serialize};

/// The head of a block that is not simply done. `end` is the operation behind its last one, which
/// is an [`Op::Again`] of what comes in rounds, and else an [`Op::Leave`].
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
    /// A measure block that begins when its request arrived.
    Request {
        measure: String,
    },
    /// The end of it.
    Answered {
        measure: u32,
    },
    /// At equal distances of time (ns); without a count until the run ends.
    Every {
        period: Amount,
        offset: Amount,
        count: Option<Amount>,
        end: u32,
    },
    /// `rate` times a second of all members of a copy together, until the run ends. Of a burst,
    /// `burst` come at once; the last `awake_ns` before each are spent awake.
    Arrive {
        rate: u64,
        pattern: Pattern,
        burst: u32,
        awake_ns: u64,
        end: u32,
    },
}

/// How the amount of work varies, which is then the mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Name of a row of `step::work::spread::SPREADS`.
    pub of: String,
    /// Standard deviation over mean.
    pub cv: f64,
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

/// Times between arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Exponential.
    Poisson,
    /// Equal, and those of the members evenly between each other.
    Constant,
    /// The same of groups.
    Burst,
    /// Exponential, each from the end of the last round: a user who thinks, and waits for answers.
    Closed,
}

/// The rows of [`Pattern`].
pub(super) const PATTERNS: [(&str, Pattern); 4] = [
    ("poisson", Pattern::Poisson),
    ("constant", Pattern::Constant),
    ("burst", Pattern::Burst),
    ("closed", Pattern::Closed),
];

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
            Flow::Every { .. } => "every",
            Flow::Arrive { .. } => "arrive",
            Flow::Request { .. } | Flow::Answered { .. } => "measure",
        }
    }

    /// The operation in the words of the profile.
    pub fn words(&self) -> String {
        let time = |amount: &Amount| amount.shown(Unit::Time);
        match self {
            Flow::Active { n, choose, .. } => {
                let members = counted(u64::from(*n), "member");
                format!("{} {members}, {}", self.verb(), name(&CHOICES, *choose))
            }
            Flow::Choose { deal, .. } => format!("choose, {}", name(&DEALS, *deal)),
            Flow::Arm { weight } => format!("weight {weight}"),
            Flow::Request { measure } => format!("measure {measure}, from arrival"),
            Flow::Answered { .. } => String::new(),
            Flow::Every { period, offset, count, .. } => {
                let offset = match offset {
                    Amount::Fixed(0) => String::new(),
                    offset => format!(", from {}", time(offset)),
                };
                let count = count.as_ref().map(|count| count.shown(Unit::Count));
                let count = count.map_or(String::new(), |count| format!(", {count} times"));
                format!("every {}{offset}{count}", time(period))
            }
            Flow::Arrive { rate, pattern, burst, awake_ns, .. } => {
                let burst = match pattern {
                    Pattern::Burst => format!(" of {burst}"),
                    _ => String::new(),
                };
                let spin = match awake_ns {
                    0 => String::new(),
                    ns => format!(", awake {} before", unit::exact(*ns as f64, Unit::Time)),
                };
                format!("arrive {rate}/s, {}{burst}{spin}", name(&PATTERNS, *pattern))
            }
        }
    }
}

impl Flow {
    /// Whether it waits for times of its own, whose lateness is remembered.
    pub fn is_paced(&self) -> bool {
        matches!(self, Flow::Every { .. } | Flow::Arrive { .. })
    }

    /// What may depend on the member, and what it must be.
    pub(super) fn amounts(&self) -> Vec<(&Amount, Wanted)> {
        let Flow::Every { period, offset, count, .. } = self else {
            return Vec::new();
        };
        let rows = [(period, period_wanted()), (offset, offset_wanted())];
        rows.into_iter().chain(count.iter().map(|count| (count, count_wanted()))).collect()
    }

    fn end_mut(&mut self) -> Option<&mut u32> {
        match self {
            Flow::Active { end, .. }
            | Flow::Choose { end, .. }
            | Flow::Every { end, .. }
            | Flow::Arrive { end, .. } => Some(end),
            Flow::Arm { .. } | Flow::Request { .. } | Flow::Answered { .. } => None,
        }
    }
}

pub(super) fn period_wanted() -> Wanted {
    Wanted::new("the time of `every`", Unit::Time, 1.0, NUMBER_MAX)
}

pub(super) fn offset_wanted() -> Wanted {
    Wanted::new("the offset of `every`", Unit::Time, 0.0, NUMBER_MAX)
}

pub(super) fn count_wanted() -> Wanted {
    Wanted::new("the count of `every`", Unit::Count, 0.0, NUMBER_MAX)
}

impl Op {
    /// The row of the work that it is, if it is one.
    pub fn work(&self) -> Option<&'static work::Kind> {
        match self {
            Op::Work { kind, .. } => work::find(kind),
            _ => None,
        }
    }

    /// The number of the series in which it enters a time.
    pub fn measures(&self) -> Option<u32> {
        match self {
            Op::EndMeasure { measure } => Some(*measure),
            Op::Flow(flow) => match **flow {
                Flow::Answered { measure } => Some(measure),
                _ => None,
            },
            Op::Sync(it) => match it.act {
                Act::Ask { measure } => Some(measure),
                _ => None,
            },
            _ => None,
        }
    }

    /// The operation behind the block that it begins.
    pub fn end(&self) -> Option<u32> {
        match self {
            Op::Loop { end, .. } | Op::During { end, .. } | Op::Forever { end } => Some(*end),
            Op::Flow(flow) => match **flow {
                Flow::Active { end, .. }
                | Flow::Choose { end, .. }
                | Flow::Every { end, .. }
                | Flow::Arrive { end, .. } => Some(end),
                Flow::Arm { .. } | Flow::Request { .. } | Flow::Answered { .. } => None,
            },
            _ => None,
        }
    }

    pub(super) fn set_end(&mut self, after: u32) {
        let end = match self {
            Op::Loop { end, .. } | Op::During { end, .. } | Op::Forever { end } => Some(end),
            Op::Flow(flow) => flow.end_mut(),
            _ => None,
        };
        end.into_iter().for_each(|end| *end = after);
    }

    /// Whether it is the head of a block that a part of the team does.
    pub fn is_for_a_part(&self) -> bool {
        matches!(self, Op::Flow(flow) if matches!(**flow, Flow::Active { .. }))
    }

    /// The head of a block whose rounds have times of their own.
    pub fn paced(&self) -> Option<&Flow> {
        match self {
            Op::Flow(flow) => Some(&**flow).filter(|flow| flow.is_paced()),
            _ => None,
        }
    }

    /// Whether a task that does it sleeps for a time.
    pub fn sleeps(&self) -> bool {
        self.paced().is_some() || self.work().is_some_and(|kind| kind.sleeps)
    }

    /// The name of the measure block that it begins, and whether that is from an arrival.
    fn measured(&self, team: &TeamPlan) -> Option<(String, bool)> {
        match self {
            Op::Measure { measure } => Some((team.measures.get(*measure as usize)?.clone(), false)),
            Op::Flow(flow) => match &**flow {
                Flow::Request { measure } => Some((measure.clone(), true)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it begins a block that only the end of the run ends.
    pub(super) fn is_endless(&self) -> bool {
        match self {
            Op::Forever { .. } => true,
            Op::Flow(flow) => {
                matches!(**flow, Flow::Every { count: None, .. } | Flow::Arrive { .. })
            }
            _ => false,
        }
    }
}

impl Plan {
    /// Whether messages carry when the request arrived that they belong to.
    pub fn traces_origins(&self) -> bool {
        let mut ops = self.teams.iter().flat_map(|team| &team.ops);
        ops.any(|op| matches!(op, Op::Flow(flow) if matches!(**flow, Flow::Answered { .. })))
    }
}

pub(super) fn check(pattern: &check::Pattern, faults: &mut Vec<Fault>) {
    requests_arrive(pattern, faults);
    measures_are_of_one_sort(pattern, faults);
}

/// A histogram has the times of all blocks of its name, so they are from arrivals all, or none is.
fn measures_are_of_one_sort(pattern: &check::Pattern, faults: &mut Vec<Fault>) {
    let of_team = |(team, spans): (&TeamPlan, &Vec<Span>)| {
        let named = |(op, span): (&Op, &Span)| Some((op.measured(team)?, span.clone()));
        team.ops.iter().zip(spans).filter_map(named).collect::<Vec<_>>()
    };
    let all: Vec<_> = pattern.teams.iter().zip(pattern.spans).flat_map(of_team).collect();
    for (at, ((name, from_arrival), span)) in all.iter().enumerate() {
        let is_other =
            |((known, sort), _): &&((String, bool), Span)| known == name && sort != from_arrival;
        // Each name is told once, with the first place of either sort.
        let is_first = all[..at].iter().all(|((known, _), _)| known != name);
        let Some((_, other)) = all[at..].iter().find(is_other).filter(|_| is_first) else {
            continue;
        };
        let (arrival, begin) = if *from_arrival { (span, other) } else { (other, span) };
        let words = [
            (arrival, "from an arrival here, and elsewhere from the block's begin"),
            (begin, "from the block's begin here, and elsewhere from an arrival"),
        ];
        for (span, words) in words {
            let message = format!("`{name}` is measured {words}");
            let help = "one name has one histogram: give the other times another name";
            faults.push(Fault::new(span.clone(), message).with_help(help));
        }
    }
}

/// What is measured from its arrival must have arrived.
fn requests_arrive(pattern: &check::Pattern, faults: &mut Vec<Fault>) {
    let arrives = |op: &Op| matches!(op.paced(), Some(Flow::Arrive { .. }));
    if pattern.teams.iter().flat_map(|team| &team.ops).any(arrives) {
        return;
    }
    for (team, spans) in pattern.teams.iter().zip(pattern.spans) {
        for (op, span) in team.ops.iter().zip(spans) {
            let Op::Flow(flow) = op else { continue };
            let Flow::Request { measure } = &**flow else { continue };
            let message = format!("`{measure}` is measured from an arrival, and nothing arrives");
            let help = "let a team `arrive`, or leave out the `from`";
            faults.push(Fault::new(span.clone(), message).with_help(help));
        }
    }
}

/// Whether members of a team differ in it.
pub(super) fn depends_on_member(flow: &Flow) -> bool {
    let is_own = |(amount, _): &(&Amount, Wanted)| matches!(amount, Amount::PerMember(_));
    matches!(flow, Flow::Active { choose: Choice::Fixed, .. }) || flow.amounts().iter().any(is_own)
}
