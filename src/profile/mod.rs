//! What a profile file says, checked for its form: the words of the language and nothing of any
//! machine.
//!
//! A [`Profile`] is a value: [`Profile::parse`] reads one from TOML, and the same structs can be
//! filled in from Rust. Must not know: which kinds of channel exist, CPUs, how anything is run.
//! Reading on: `parse.rs` from text to these structs, `expr.rs` for the numbers, `fault.rs` for
//! what is wrong and where.

mod bind;
mod build;
pub mod catalogue;
pub mod expr;
pub mod fault;
mod flow;
pub mod keys;
mod on;
mod parse;
mod print;
pub mod reference;
mod sync;

pub use bind::{Bound, Setting, SettingError};
pub use expr::{Expr, Span};
pub use fault::{Fault, Faults};
pub use flow::{Arm, Flow};
pub use on::On;
pub use sync::{Sort, SyncAct, SyncObject, SyncStep, SyncVerb};

use crate::base::Unit;

/// A pattern of threads: who exists, who wakes whom, what they do.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The name of the built-in, or the file's stem.
    pub name: String,
    /// The text it came from, for faults that are found later; empty if built in Rust.
    pub source: Source,
    /// One line: what the threads do.
    pub about: String,
    pub params: Vec<Param>,
    /// How often the whole pattern (teams and channels) is repeated.
    pub copies: Expr,
    /// Address spaces that each run the whole pattern; `None`: threads are in our own process.
    pub instances: Option<Expr>,
    /// A cgroup for each instance.
    pub cgroup: Option<Cgroup>,
    /// NUMA nodes with memory that it takes to mean anything; `None`: one.
    pub nodes: Option<Expr>,
    /// Length of the measured window (ns). Without it the run ends when its foreground teams do.
    pub duration: Option<Expr>,
    /// Time between the start and the window (ns).
    pub warmup: Option<Expr>,
    /// The metrics that this profile is about, the first being its result.
    pub watch: Vec<Watch>,
    /// What has to be so for the numbers to mean what the profile is about.
    pub conditions: Vec<Condition>,
    /// How the points of a sweep over one parameter are called, and what they come to.
    pub ramp: Option<Ramp>,
    pub channels: Vec<Channel>,
    pub memory: Vec<Region>,
    /// The processes of each instance; empty: it is one.
    pub processes: Vec<Process>,
    /// Barriers, locks, group commits and safepoints.
    pub syncs: Vec<SyncObject>,
    pub teams: Vec<Team>,
}

/// The text of a profile and where it was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Source {
    /// Path as given by the user, `profiles/NAME.toml` for a built-in, or empty.
    pub path: String,
    pub text: String,
}

impl Source {
    /// The lines, from 1, on which these places begin; nothing if there is no text.
    pub(crate) fn lines(&self, places: &[Vec<Span>]) -> Vec<Vec<u32>> {
        if self.text.is_empty() {
            return Vec::new();
        }
        let bytes = self.text.as_bytes();
        let line = |span: &Span| {
            let before = &bytes[..span.start.min(bytes.len())];
            before.iter().filter(|byte| **byte == b'\n').count() as u32 + 1
        };
        places.iter().map(|spans| spans.iter().map(line).collect()).collect()
    }
}

/// A word of the profile: a kind, a policy, or the name of a parameter that stands for one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    pub span: Span,
}

/// A named value that the command line can set (`--groups 20`).
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    pub name: String,
    pub span: Span,
    /// Letter of the short flag.
    pub short: Option<char>,
    pub about: String,
    pub value: ParamValue,
}

/// What a parameter may be.
#[derive(Debug, Clone, PartialEq)]
pub enum ParamValue {
    /// A number with a unit; the default may use machine facts (`"cpus / 3"`). `max` is
    /// infinite if there is no limit.
    Number { default: Expr, unit: Unit, min: f64, max: f64 },
    /// One of several words; `choices` empty means that the place of use checks it.
    Word { default: Word, choices: Vec<Choice> },
}

/// A word that a parameter may be, and the values that it gives to other parameters, as the command
/// line could.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    pub word: String,
    pub sets: Vec<(Word, String)>,
}

/// A metric that the profile is about, and the property of the scheduler that it separates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    pub metric: Word,
    pub about: String,
}

/// A metric, and the values in which the profile tests what it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub metric: Word,
    pub min: Option<Expr>,
    pub max: Option<Expr>,
    /// 0: there is no such condition.
    pub when: Option<Expr>,
    /// What is not tested else.
    pub about: String,
}

/// Names for the points of a sweep, and where its score is taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Ramp {
    /// The parameter whose values are the points.
    pub over: String,
    /// The point of 4 is `ROW-4`.
    pub row: String,
    /// The score is the mean over the points from this one to twice it.
    pub peak: Expr,
}

/// `count` ways, all of one kind, for threads to wake each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    pub name: String,
    pub span: Span,
    pub kind: Word,
    pub count: Expr,
    /// Default size of a message (bytes); a step may give its own.
    pub bytes: Option<Expr>,
}

/// A cgroup (version 2) of an instance; `None` leaves what the kernel has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cgroup {
    pub span: Span,
    /// Written as a team's `on`.
    pub cpus: Option<Word>,
    /// A node.
    pub mems: Option<Expr>,
    /// 1 to 10,000.
    pub weight: Option<Expr>,
    /// CPU time, in CPUs.
    pub max: Option<Expr>,
}

/// A region of memory: `count` slices, one behind the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    pub name: String,
    pub span: Span,
    /// Size of a slice (bytes).
    pub bytes: Expr,
    pub count: Expr,
    /// `owner`, `main`, `node:EXPR`, `interleave`, `opposite`, `nobody`, or a team.
    pub first_touch: Word,
    /// `default`, `bind:EXPR`, `preferred:EXPR`, `interleave`.
    pub policy: Word,
    /// `always`, `never`, `leave`.
    pub huge: Word,
    /// `process`, `instance`, `all`.
    pub shared: Word,
}

/// An address space of each instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub name: String,
    pub span: Span,
    /// What it stands for; may be empty.
    pub about: String,
}

/// Identical tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct Team {
    pub name: String,
    pub span: Span,
    pub size: Expr,
    /// `threads` (default) or `processes`.
    pub form: Word,
    /// Name of the process whose threads they are.
    pub process: Option<Word>,
    /// Its members do not keep the run going: it ends when the foreground teams have ended.
    pub background: bool,
    /// `gate` (default) or `spawned`.
    pub start: Word,
    pub placement: Placement,
    pub scheduling: Scheduling,
    pub steps: Vec<Step>,
}

/// Where the tasks of a team may run; everything is within the mask inherited at the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Placement {
    /// `node:0`, `llc:1`, `core:2` or `cpus:0-3`, read by [`On::parse`]; the number may be an
    /// expression (`llc:me % llcs`).
    pub on: Option<Word>,
    /// Where they begin, before they may run wherever the rest of this lets them.
    pub start_on: Option<Word>,
    /// `node`, `llc`, `core` or `cpu`: member i gets the (i mod n)-th of them.
    pub spread: Option<Word>,
    /// Bind each member to one CPU of what `on` and `spread` leave it.
    pub pin: bool,
}

/// How the kernel schedules the tasks of a team (sched(7)); `None` leaves what is inherited.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scheduling {
    /// `other`, `batch`, `idle`, `fifo`, `rr`, `deadline`, `ext`.
    pub policy: Option<Word>,
    /// -20 to 19, for other and batch.
    pub nice: Option<Expr>,
    /// 1 to 99, for fifo and rr.
    pub priority: Option<Expr>,
    /// EEVDF slice (ns), for other and batch: `sched_attr.sched_runtime`, Linux 6.12 and later.
    pub slice: Option<Expr>,
    /// How late sleeps may end (ns): prctl(2), PR_SET_TIMERSLACK.
    pub timer_slack: Option<Expr>,
    /// Lowest and highest utilisation the frequency governor assumes, 0 to 1024.
    pub uclamp_min: Option<Expr>,
    pub uclamp_max: Option<Expr>,
    /// For policy deadline: runtime, deadline and period (ns).
    pub deadline: Option<Deadline>,
}

/// The three times of SCHED_DEADLINE (ns).
#[derive(Debug, Clone, PartialEq)]
pub struct Deadline {
    pub runtime: Expr,
    pub deadline: Option<Expr>,
    pub period: Expr,
}

/// One thing that a task does, and where the profile says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub action: Action,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Post a message, waking whoever waits for it.
    Send {
        to: Address,
        bytes: Option<Expr>,
    },
    /// Wait for a message.
    Receive {
        from: Address,
        bytes: Option<Expr>,
    },
    Repeat {
        count: Expr,
        steps: Vec<Step>,
    },
    /// Until the run ends.
    Forever {
        steps: Vec<Step>,
    },
    /// Time the steps: a response-time histogram `name` and the rate metric `{name}s_per_s`.
    Measure {
        name: Word,
        /// `arrival`: the time begins when the request arrived, not with the steps.
        from: Option<Word>,
        steps: Vec<Step>,
    },
    /// Until this time has passed (ns).
    During {
        time: Expr,
        steps: Vec<Step>,
    },
    /// Who does steps, which, and when.
    Flow(Box<Flow>),
    /// Start the threads of a team.
    Spawn {
        team: Word,
    },
    /// Sleep until they have done their steps.
    Join {
        team: Word,
    },
    /// Use memory.
    Use(Box<Use>),
    /// Meet others at a barrier, a lock, a group commit or a safepoint.
    Sync(Box<SyncStep>),
    /// Any step that only burns or passes time, by its verb (`spin`, `work`, `sleep`): the rows of
    /// `step::work` say which verbs exist and what their amount counts.
    Act {
        verb: Word,
        amount: Expr,
        /// How the amount varies, which is then its mean.
        spread: Option<Spread>,
    },
}

/// How an amount varies.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// `lognormal`, `exponential`, `uniform`.
    pub of: Word,
    /// Coefficient of variation.
    pub cv: Option<Expr>,
}

/// A step on memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Use {
    /// `sweep`, `touch`, `chase`, `copy`, `scale`, `add`, `triad`.
    pub verb: Word,
    /// What is gone through or written.
    pub region: Address,
    pub from: Option<Address>,
    pub and: Option<Address>,
    /// `read`, `write`, `modify`, `zero`.
    pub access: Option<Word>,
    /// Share of the next slice that belongs to it.
    pub halo: Option<Expr>,
    /// Number of accesses.
    pub count: Option<Expr>,
    /// Of `allocate`, how much is taken; of `sweep`, how much is gone through.
    pub bytes: Option<Expr>,
    /// Exponent of a Zipf distribution.
    pub skew: Option<Expr>,
}

/// Which of a channel's instances a step means, or which slice of a region: `inbox[me]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Address {
    pub channel: Word,
    pub which: Which,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Which {
    /// `inbox[*]`: each in turn, from 0; also a bare `inbox`, whose count must then be 1.
    All,
    /// `inbox[next]`: one, and the next time the one after it; a task starts at its own index.
    Next,
    /// `inbox[any]`: one at random, from the task's seeded stream.
    Any,
    /// `inbox[me]`, `inbox[(me + 1) % size]`, `inbox[0]`.
    At(Expr),
}
