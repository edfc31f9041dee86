//! The words of the language as rows: keys of each table, verbs of steps, names of expressions.
//!
//! The parser takes from here what it accepts, messages what they suggest, and the reference its
//! tables, so a word is added by adding its row and reading it. Must not know: TOML, channels.

use crate::base::Unit;

/// What may be written behind a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    /// A number or an expression; `unit` `None`: whatever the place of use wants.
    Number { unit: Option<Unit>, min: f64, max: f64 },
    /// One of these words, or the name of a parameter that stands for one; empty: checked later.
    Word(&'static [&'static str]),
    /// `inbox[me]`.
    Address,
    /// Free text.
    Text,
    /// `true` or `false`.
    Switch,
    /// An array of strings.
    Texts,
    /// An array of steps.
    Steps,
    /// An array of tables with these keys.
    Tables(&'static [KeyRow]),
    /// A table of its own, with these keys; empty: the keys are names that the profile chooses.
    Table(&'static [KeyRow]),
}

/// What it means that a key is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// It must be there; an example of what to write.
    Required(&'static str),
    /// The value it then has.
    Default(&'static str),
    /// What happens then, in words.
    Means(&'static str),
}

/// A key of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeyRow {
    pub key: &'static str,
    pub form: Form,
    pub absent: Absent,
    pub about: &'static str,
}

/// The largest number that a float holds exactly with all its neighbours.
pub const NUMBER_MAX: f64 = 9_007_199_254_740_992.0;

/// The largest message (bytes).
pub const MESSAGE_MAX: f64 = 1_073_741_824.0;

/// More than any sleep that it could be of use to (ns).
pub const TIMER_SLACK_MAX: f64 = 1e9;

/// What the kernel makes of any slice (kernel/sched/syscalls.c, __setscheduler_params, v6.12) (ns).
pub const SLICE_MIN: f64 = 100e3;
pub const SLICE_MAX: f64 = 100e6;

/// Size of a message.
const MESSAGE: Form = Form::Number { unit: Some(Unit::Bytes), min: 1.0, max: MESSAGE_MAX };

const fn number(unit: Unit, min: f64) -> Form {
    Form::Number { unit: Some(unit), min, max: NUMBER_MAX }
}

const fn between(min: f64, max: f64) -> Form {
    Form::Number { unit: Some(Unit::Count), min, max }
}

const fn row(key: &'static str, form: Form, absent: Absent, about: &'static str) -> KeyRow {
    KeyRow { key, form, absent, about }
}

use Absent::{Default, Means, Required};

/// The keys at the top of a profile.
pub const PROFILE: &[KeyRow] = &[
    row("about", Form::Text, Required("\"...\""), "one line: what the threads do"),
    row(
        "copies",
        number(Unit::Count, 1.0),
        Default("1"),
        "how often all teams and channels are repeated, each copy on its own",
    ),
    row(
        "instances",
        number(Unit::Count, 1.0),
        Means("threads are in schedload's own process"),
        "address spaces that each run the whole pattern, in processes of their own",
    ),
    row(
        "cgroup",
        Form::Table(CGROUP),
        Means("instances are in schedload's own"),
        "a cgroup (version 2) for each instance",
    ),
    row(
        "nodes",
        number(Unit::Count, 1.0),
        Default("1"),
        "NUMA nodes with memory that it takes to mean anything",
    ),
    row(
        "duration",
        number(Unit::Time, 1.0),
        Means("each task does its steps once"),
        "length of the measured window; tasks start their steps over until it has passed",
    ),
    row("warmup", number(Unit::Time, 0.0), Default("0ns"), "time before the window, not measured"),
    row(
        "watch",
        Form::Table(&[]),
        Means("nothing is singled out"),
        "metric = \"what it separates\", the first being the profile's result",
    ),
    row(
        "condition",
        Form::Table(&[]),
        Means("none"),
        "metrics, and the values in which the run tests what the profile is about",
    ),
    row(
        "ramp",
        Form::Table(RAMP),
        Means("points of a sweep have no names"),
        "what the points of a sweep over one parameter are called, and their score",
    ),
    row("param", Form::Table(&[]), Means("none"), "values that the command line can set"),
    row("channel", Form::Table(&[]), Means("none"), "ways for tasks to wake each other"),
    row("memory", Form::Table(&[]), Means("none"), "regions of memory"),
    row(
        "process",
        Form::Table(&[]),
        Means("an instance is one process"),
        "the processes of each instance, of which there is one unless `instances` says more",
    ),
    row("barrier", Form::Table(&[]), Means("none"), "where tasks wait for each other"),
    row("lock", Form::Table(&[]), Means("none"), "what one task has at a time"),
    row("commit", Form::Table(&[]), Means("none"), "group commits, as a database's log"),
    row("desk", Form::Table(&[]), Means("none"), "where tasks ask to go on, as of a server"),
    row("safepoint", Form::Table(&[]), Means("none"), "where the world is stopped, as for a GC"),
    row("team", Form::Table(&[]), Required("[team.NAME]"), "identical tasks"),
];

/// The keys of a row of `[condition]`.
pub const CONDITION: &[KeyRow] = &[
    row(
        "min",
        Form::Number { unit: None, min: -NUMBER_MAX, max: NUMBER_MAX },
        Means("no limit"),
        "smallest value, in the metric's unit",
    ),
    row(
        "max",
        Form::Number { unit: None, min: -NUMBER_MAX, max: NUMBER_MAX },
        Means("no limit"),
        "largest value",
    ),
    row(
        "when",
        Form::Number { unit: None, min: 0.0, max: NUMBER_MAX },
        Default("1"),
        "0: with these parameters there is no such condition",
    ),
    row("about", Form::Text, Required("\"...\""), "what is not tested else"),
];

/// The keys of `ramp`.
pub const RAMP: &[KeyRow] = &[
    row("over", Form::Text, Required("\"warehouses\""), "the parameter"),
    row("row", Form::Text, Required("\"tput\""), "the point of 4 is called `tput-4`"),
    row(
        "peak",
        number(Unit::Count, 1.0),
        Required("\"cpus\""),
        "the score is the mean of the points from this one to twice it",
    ),
];

/// The keys of `cgroup`.
pub const CGROUP: &[KeyRow] = &[
    row(
        "cpus",
        Form::Word(&[]),
        Means("not set"),
        "cpuset.cpus, written as a team's `on`: `node:instance`",
    ),
    row(
        "mems",
        number(Unit::Count, 0.0),
        Means("not set"),
        "cpuset.mems: a node, such as `instance`",
    ),
    row(
        "weight",
        between(0.0, 10_000.0),
        Means("100, the kernel's"),
        "cpu.weight, 1 or more; 0 is no cgroup",
    ),
    row(
        "max",
        Form::Number { unit: Some(Unit::Share), min: 0.01, max: 1e6 },
        Means("no limit"),
        "cpu.max: CPU time, in CPUs; `50%` is half of one",
    ),
];

/// The keys of a row of `[param]`.
pub const PARAM: &[KeyRow] = &[
    row(
        "default",
        Form::Number { unit: None, min: -NUMBER_MAX, max: NUMBER_MAX },
        Required("1"),
        "the value if nobody sets it: a number, an expression over machine facts, or a word",
    ),
    row(
        "min",
        Form::Number { unit: None, min: -NUMBER_MAX, max: NUMBER_MAX },
        Default("0"),
        "smallest value accepted",
    ),
    row(
        "max",
        Form::Number { unit: None, min: -NUMBER_MAX, max: NUMBER_MAX },
        Means("no limit"),
        "largest value accepted",
    ),
    row("short", Form::Text, Means("only the long flag"), "letter of the short flag: \"g\""),
    row("about", Form::Text, Required("\"...\""), "what it changes, for `--help`"),
    row(
        "choices",
        Form::Texts,
        Means("any"),
        "the words it may be; makes it a word. As a table, each with the parameters that it sets",
    ),
    row(
        "unit",
        Form::Word(&["count", "time", "bytes", "share", "word"]),
        Means("as the default has it"),
        "what it counts",
    ),
];

/// The keys of `[channel.NAME]`.
pub const CHANNEL: &[KeyRow] = &[
    row("kind", Form::Word(&[]), Required("\"pipe\""), "how it wakes: see the channel kinds"),
    row("count", number(Unit::Count, 1.0), Default("1"), "number of instances"),
    row("bytes", MESSAGE, Default("1B"), "size of a message, unless the step says otherwise"),
];

/// The keys of `[memory.NAME]`.
pub const MEMORY: &[KeyRow] = &[
    row(
        "bytes",
        number(Unit::Bytes, 0.0),
        Required("\"64MiB\""),
        "size of a slice; 0 is no region",
    ),
    row("count", number(Unit::Count, 1.0), Default("1"), "number of slices, one behind the other"),
    row(
        "first_touch",
        Form::Word(&[]),
        Default("\"owner\""),
        "who writes each page first: `owner` (who names the slice as `[me]`), a team (its members \
         in turn), `main` (the thread that starts the others), `node:0` (the same, onto this \
         node), `interleave`, `opposite` (the owner, onto the node farthest from it), `nobody`",
    ),
    row(
        "policy",
        Form::Word(&[]),
        Default("\"default\""),
        "memory policy that stays: `default`, `bind:0`, `preferred:0`, `interleave`; the number \
         may use `me` (the slice), `size` (slices) and `instance`",
    ),
    row("huge", Form::Word(HUGES), Default("\"leave\""), "transparent huge pages"),
    row(
        "shared",
        Form::Word(SHARINGS),
        Default("\"process\""),
        "by the threads of each process, by all processes of an instance that use it, or by all \
         processes",
    ),
];

/// The keys of `[process.NAME]`.
pub const PROCESS: &[KeyRow] =
    &[row("about", Form::Text, Means("nothing is said"), "what it stands for, for `plan`")];

/// What libgomp spins by default (libgomp/config/linux/wait.h), and where threads outnumber CPUs.
pub const SPINS: u32 = 300_000;
pub const SPINS_CROWDED: u32 = 1_000;

/// The keys of `[barrier.NAME]`.
pub const BARRIER: &[KeyRow] = &[
    row("kind", Form::Word(&[]), Default("\"spin_then_futex\""), "how it waits"),
    row(
        "spins",
        between(0.0, 4e9),
        Default("300000"),
        "rounds that it spins first; at most 1000 where its tasks outnumber their CPUs",
    ),
    row(
        "parties",
        number(Unit::Count, 1.0),
        Means("all tasks of a copy that come to it"),
        "tasks that make a round complete",
    ),
];

/// The keys of `[lock.NAME]`.
pub const LOCK: &[KeyRow] = &[
    row("kind", Form::Word(&[]), Default("\"futex\""), "what is locked, and how it waits"),
    row("count", number(Unit::Count, 1.0), Default("1"), "number of locks"),
];

/// The keys of `[commit.NAME]`.
pub const COMMIT: &[KeyRow] = &[
    row(
        "flush",
        number(Unit::Time, 0.0),
        Required("\"200us\""),
        "what a leader holds its group for",
    ),
    row("by", Form::Word(FLUSHES), Default("\"sleep\""), "how the leader passes that time"),
];

/// The keys of `[desk.NAME]`.
pub const DESK: &[KeyRow] = &[];

/// The keys of `[safepoint.NAME]`.
pub const SAFEPOINT: &[KeyRow] = &[];

/// The keys of `[team.NAME]`.
pub const TEAM: &[KeyRow] = &[
    row("size", number(Unit::Count, 1.0), Required("1"), "number of tasks"),
    row("as", Form::Word(FORMS), Default("\"threads\""), "what each task is"),
    row(
        "process",
        Form::Word(&[]),
        Means("that of its instance"),
        "the `[process.NAME]` whose threads they are; where there are any, each team names one",
    ),
    row(
        "start",
        Form::Word(STARTS),
        Default("\"gate\""),
        "with all others, or when a `spawn` step starts it",
    ),
    row(
        "start_on",
        Form::Word(&[]),
        Means("where it may run"),
        "where it begins, written as `on`; then it may run wherever `on` lets it",
    ),
    row(
        "background",
        Form::Switch,
        Default("false"),
        "the team does not keep the run going: it is stopped when all others have ended",
    ),
    row(
        "on",
        Form::Word(&[]),
        Means("all CPUs allowed"),
        "where it may run: `node:0`, `llc:1`, `core:2`, `cpus:0-3`, `any`, `llc:me % llcs`",
    ),
    row(
        "spread",
        Form::Word(SPREADS),
        Default("\"none\""),
        "member i may run on the (i mod n)-th of these; `none`: on all of them",
    ),
    row("pin", Form::Switch, Default("false"), "bind each member to one CPU of those left to it"),
    row("policy", Form::Word(POLICIES), Means("inherited"), "scheduling policy, see sched(7)"),
    row("nice", between(-20.0, 19.0), Means("inherited"), "for policies other and batch"),
    row("priority", between(1.0, 99.0), Means("none"), "for policies fifo and rr"),
    row(
        "slice",
        Form::Number { unit: Some(Unit::Time), min: 0.0, max: SLICE_MAX },
        Means("the scheduler's own"),
        "slice asked of EEVDF (Linux 6.12), 100 us or more; 0: its own; for policies other, batch",
    ),
    row(
        "timer_slack",
        Form::Number { unit: Some(Unit::Time), min: 1.0, max: TIMER_SLACK_MAX },
        Means("1 ns where it sleeps"),
        "how late its sleeps may end, see prctl(2); 50 us is the kernel's own",
    ),
    row("uclamp", Form::Table(UCLAMP), Means("inherited"), "bounds of the assumed utilisation"),
    row("deadline", Form::Table(DEADLINE), Means("none"), "for policy deadline"),
    row("steps", Form::Steps, Required("[ { sleep = \"1ms\" } ]"), "what each task does, in order"),
];

/// The keys of a team's `uclamp`.
pub const UCLAMP: &[KeyRow] = &[
    row("min", between(0.0, 1024.0), Means("inherited"), "at least, 1024 being a full CPU"),
    row("max", between(0.0, 1024.0), Means("inherited"), "at most"),
];

/// The keys of a team's `deadline`.
pub const DEADLINE: &[KeyRow] = &[
    row("runtime", number(Unit::Time, 1.0), Required("\"1ms\""), "CPU time in each period"),
    row("deadline", number(Unit::Time, 1.0), Means("the period"), "by when it must be given"),
    row("period", number(Unit::Time, 1.0), Required("\"10ms\""), "how often"),
];

/// What a task can be.
pub const FORMS: &[&str] = &["threads", "processes"];
/// When the tasks of a team start.
pub const STARTS: &[&str] = &["gate", "spawned"];
/// Huge pages of a region.
pub const HUGES: &[&str] = &["always", "never", "leave"];
/// Who shares a region.
pub const SHARINGS: &[&str] = &["process", "instance", "all"];
/// How the leader of a group commit passes its time.
pub const FLUSHES: &[&str] = &["sleep", "spin"];
/// How a lock is had.
pub const MODES: &[&str] = &["read", "write"];
/// What a step does with memory.
pub const ACCESSES: &[&str] = &["read", "write", "modify", "zero"];
/// Over what a team can be spread.
pub const SPREADS: &[&str] = &["none", "node", "llc", "core", "cpu"];
/// Who does the steps of an `active` block.
pub const CHOICES: &[&str] = &["fixed", "rotating", "random"];
/// How a `choose` step goes about it.
pub const DEALS: &[&str] = &["random", "deck"];
/// How the arrivals of an `arrive` block come.
pub const PATTERNS: &[&str] = &["poisson", "constant", "burst", "closed"];
/// Since when a measure block takes its time.
pub const ORIGINS: &[&str] = &["arrival"];
/// Scheduling policies.
pub const POLICIES: &[&str] = &["other", "batch", "idle", "fifo", "rr", "deadline", "ext"];

/// A verb: the key of a step that says what is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VerbRow {
    pub verb: &'static str,
    pub form: Form,
    pub options: &'static [KeyRow],
    pub example: &'static str,
    pub about: &'static str,
}

const BYTES: KeyRow = row("bytes", MESSAGE, Means("the channel's"), "size of the message");
const ACCESS: KeyRow = row(
    "access",
    Form::Word(ACCESSES),
    Default("\"read\""),
    "`read`, `write` (a word of each cache line), `modify` (both), `zero` (all bytes)",
);
const PART: KeyRow = row(
    "bytes",
    number(Unit::Bytes, 0.0),
    Means("all of it"),
    "only so many from the begin of the slice, rounded up to cache lines",
);
const FILL: KeyRow = row(
    "fill",
    Form::Address,
    Means("nothing is written"),
    "a region with a slice for each task that asks, in the order of the teams: right before a task \
     is woken its slice is overwritten with zeros",
);
const HALO: KeyRow = row(
    "halo",
    Form::Number { unit: Some(Unit::Share), min: 0.0, max: 1.0 },
    Default("0"),
    "this share of the next slice as well",
);
const COUNT: KeyRow = row(
    "count",
    number(Unit::Count, 0.0),
    Required("1000"),
    "number of accesses or multiplications",
);
const SKEW: KeyRow = row(
    "skew",
    Form::Number { unit: Some(Unit::Share), min: 0.0, max: 10.0 },
    Means("all lines alike"),
    "exponent of a Zipf distribution: the larger, the more often the same lines",
);
const SKEW_OF_LOCKS: KeyRow = row(
    "skew",
    Form::Number { unit: Some(Unit::Share), min: 0.0, max: 10.0 },
    Means("all locks alike"),
    "exponent of a Zipf distribution of `[any]`: the larger, the more often the same locks",
);
const MODE: KeyRow = row(
    "mode",
    Form::Word(MODES),
    Default("\"write\""),
    "with others that read, or alone; for kinds that tell them apart",
);
const FROM: KeyRow = row("from", Form::Address, Required("\"b[me]\""), "what is read");
const FROM_ARRIVAL: KeyRow = row(
    "from",
    Form::Word(ORIGINS),
    Means("the begin of the steps"),
    "since when: `arrival` is when the request was to arrive (`arrive`) that the task's last \
     message belongs to",
);
const TAKEN: KeyRow = row(
    "bytes",
    number(Unit::Bytes, 0.0),
    Required("\"64KiB\""),
    "how much is taken, rounded up to cache lines",
);
const AND: KeyRow = row("and", Form::Address, Required("\"c[me]\""), "what is read besides");
const STEPS: KeyRow = row("steps", Form::Steps, Required("[ ... ]"), "what is done in there");
const CHOOSE: KeyRow = row(
    "choose",
    Form::Word(CHOICES),
    Default("\"fixed\""),
    "who: the first of the team; as many, beginning one further on in each round; or drawn anew in \
     each round, the same for all. A round is how often the task has come here",
);
const DEAL: KeyRow = row(
    "as",
    Form::Word(DEALS),
    Default("\"random\""),
    "drawn each time, or dealt from a shuffled deck that has as many cards of each as it weighs",
);

const OFFSET: KeyRow =
    row("offset", number(Unit::Time, 0.0), Default("0ns"), "time before the first round");
const ROUNDS: KeyRow =
    row("count", number(Unit::Count, 0.0), Means("until the run ends"), "number of rounds");
const PATTERN: KeyRow = row(
    "as",
    Form::Word(PATTERNS),
    Default("\"poisson\""),
    "times between arrivals: exponential, equal, equal between groups that arrive at once, or a \
     closed loop: exponential, each from the end of the member's last round",
);
const BURST: KeyRow = row(
    "burst",
    number(Unit::Count, 1.0),
    Default("32"),
    "with `as = \"burst\"`, arrivals of a member at once",
);
const AWAKE: KeyRow = row(
    "awake",
    number(Unit::Time, 0.0),
    Default("0ns"),
    "time before an arrival that is spent spinning, not asleep",
);

/// The options of whatever burns or passes time.
pub const ACT: &[KeyRow] = &[
    row(
        "spread",
        Form::Word(&[]),
        Means("each time the same"),
        "how the amount, which is then the mean, varies: `lognormal`, `exponential`, `uniform`",
    ),
    row(
        "cv",
        Form::Number { unit: Some(Unit::Share), min: 0.0, max: 10.0 },
        Means("0.5, of an exponential distribution 1"),
        "its coefficient of variation, standard deviation over mean; of `uniform` at most 0.5625",
    ),
];

/// The keys of an arm of `choose`.
pub const ARM: &[KeyRow] = &[
    row(
        "weight",
        Form::Number { unit: None, min: 0.0, max: WEIGHT_MAX },
        Default("1"),
        "how often it is chosen, against the others",
    ),
    STEPS,
];

/// The largest weight of an arm; and of all arms of a deck together, one card for each.
pub const WEIGHT_MAX: f64 = 1e9;
pub const DECK_MAX: f64 = 1000.0;

/// The verbs that order, wake and wait. Whatever only burns or passes time is named by the rows
/// of its mechanism.
pub const VERBS: &[VerbRow] = &[
    VerbRow {
        verb: "send",
        form: Form::Address,
        options: &[BYTES],
        example: "{ send = \"inbox[*]\", bytes = 100 }",
        about: "post a message, waking whoever waits for it",
    },
    VerbRow {
        verb: "receive",
        form: Form::Address,
        options: &[BYTES],
        example: "{ receive = \"inbox[me]\", bytes = 100 }",
        about: "wait for a message",
    },
    VerbRow {
        verb: "wake",
        form: Form::Address,
        options: &[],
        example: "{ wake = \"door[next]\" }",
        about: "the same as send, where the size does not matter",
    },
    VerbRow {
        verb: "wait",
        form: Form::Address,
        options: &[],
        example: "{ wait = \"door[me]\" }",
        about: "the same as receive, where the size does not matter",
    },
    VerbRow {
        verb: "repeat",
        form: number(Unit::Count, 0.0),
        options: &[STEPS],
        example: "{ repeat = 100, steps = [ ... ] }",
        about: "do the steps so often; 0 is not at all",
    },
    VerbRow {
        verb: "forever",
        form: Form::Steps,
        options: &[],
        example: "{ forever = [ ... ] }",
        about: "do the steps until the run ends",
    },
    VerbRow {
        verb: "during",
        form: number(Unit::Time, 0.0),
        options: &[STEPS],
        example: "{ during = \"2s\", steps = [ ... ] }",
        about: "do the steps over and over until this time has passed",
    },
    VerbRow {
        verb: "spawn",
        form: Form::Word(&[]),
        options: &[],
        example: "{ spawn = \"worker\" }",
        about: "start the threads of a team that has `start = \"spawned\"`",
    },
    VerbRow {
        verb: "join",
        form: Form::Word(&[]),
        options: &[],
        example: "{ join = \"worker\" }",
        about: "sleep until the threads of that team have done their steps",
    },
    VerbRow {
        verb: "sweep",
        form: Form::Address,
        options: &[ACCESS, HALO, PART],
        example: "{ sweep = \"area[me]\", access = \"write\" }",
        about: "go through memory in order: a slice, or all of a region",
    },
    VerbRow {
        verb: "touch",
        form: Form::Address,
        options: &[COUNT, ACCESS, HALO, SKEW],
        example: "{ touch = \"area\", count = 1000 }",
        about: "access cache lines at random",
    },
    VerbRow {
        verb: "chase",
        form: Form::Address,
        options: &[COUNT],
        example: "{ chase = \"area[me]\", count = 1000 }",
        about: "load cache lines along a random cycle, each telling where the next is",
    },
    VerbRow {
        verb: "multiply",
        form: Form::Address,
        options: &[COUNT],
        example: "{ multiply = \"area[me]\", count = 5 }",
        about: "multiply the two square matrices in the first two thirds into the third one",
    },
    VerbRow {
        verb: "allocate",
        form: Form::Address,
        options: &[TAKEN],
        example: "{ allocate = \"area[me]\", bytes = \"64KiB\" }",
        about: "zero the next piece of a slice, from the front again at its end, as an allocator \
                does in its nursery; each task goes on where it was",
    },
    VerbRow {
        verb: "copy",
        form: Form::Address,
        options: &[FROM],
        example: "{ copy = \"c[me]\", from = \"a[me]\" }",
        about: "STREAM's copy: c = a, as arrays of doubles",
    },
    VerbRow {
        verb: "scale",
        form: Form::Address,
        options: &[FROM],
        example: "{ scale = \"b[me]\", from = \"c[me]\" }",
        about: "STREAM's scale: b = s c",
    },
    VerbRow {
        verb: "add",
        form: Form::Address,
        options: &[FROM, AND],
        example: "{ add = \"c[me]\", from = \"a[me]\", and = \"b[me]\" }",
        about: "STREAM's add: c = a + b",
    },
    VerbRow {
        verb: "triad",
        form: Form::Address,
        options: &[FROM, AND],
        example: "{ triad = \"a[me]\", from = \"b[me]\", and = \"c[me]\" }",
        about: "STREAM's triad: a = b + s c",
    },
    VerbRow {
        verb: "barrier",
        form: Form::Word(&[]),
        options: &[],
        example: "{ barrier = \"phase\" }",
        about: "wait until all have come here",
    },
    VerbRow {
        verb: "lock",
        form: Form::Address,
        options: &[SKEW_OF_LOCKS, MODE, STEPS],
        example: "{ lock = \"rows[any]\", skew = 0.9, steps = [ ... ] }",
        about: "do the steps with a lock held",
    },
    VerbRow {
        verb: "commit",
        form: Form::Word(&[]),
        options: &[],
        example: "{ commit = \"log\" }",
        about: "wait until a group is flushed that one belongs to, or lead one",
    },
    VerbRow {
        verb: "ask",
        form: Form::Word(&[]),
        options: &[],
        example: "{ ask = \"desk\" }",
        about: "sleep until whoever serves there lets the task go on",
    },
    VerbRow {
        verb: "serve",
        form: Form::Word(&[]),
        options: &[FILL, PART],
        example: "{ serve = \"desk\" }",
        about: "wait until somebody has asked, take all who have, and wake each",
    },
    VerbRow {
        verb: "safepoint",
        form: Form::Word(&[]),
        options: &[],
        example: "{ safepoint = \"gc\" }",
        about: "look whether a pause was asked for, and wait for its end",
    },
    VerbRow {
        verb: "collect",
        form: Form::Word(&[]),
        options: &[],
        example: "{ collect = \"gc\" }",
        about: "ask for a pause, and wait for its end",
    },
    VerbRow {
        verb: "pause",
        form: Form::Word(&[]),
        options: &[STEPS],
        example: "{ pause = \"gc\", steps = [ ... ] }",
        about: "wait for a pause, and do the steps in it; all who do so end it",
    },
    VerbRow {
        verb: "measure",
        form: Form::Word(&[]),
        options: &[FROM_ARRIVAL, STEPS],
        example: "{ measure = \"request\", steps = [ ... ] }",
        about: "time the steps: a histogram `request` and a rate `requests_per_s`",
    },
    VerbRow {
        verb: "active",
        form: Form::Number { unit: Some(Unit::Share), min: 0.0, max: 1.0 },
        options: &[CHOOSE, STEPS],
        example: "{ active = \"1/3\", choose = \"rotating\", steps = [ ... ] }",
        about: "only this share of the team (rounded up) does the steps; the others go on behind",
    },
    VerbRow {
        verb: "choose",
        form: Form::Tables(ARM),
        options: &[DEAL],
        example: "{ choose = [ { weight = 9, steps = [ ... ] }, { steps = [ ... ] } ] }",
        about: "do the steps of one of these",
    },
    VerbRow {
        verb: "every",
        form: number(Unit::Time, 1.0),
        options: &[ROUNDS, OFFSET, STEPS],
        example: "{ every = \"10ms\", steps = [ ... ] }",
        about: "do the steps at equal distances of time; rounds whose time has passed are left out",
    },
    VerbRow {
        verb: "arrive",
        form: number(Unit::Count, 1.0),
        options: &[PATTERN, BURST, AWAKE, STEPS],
        example: "{ arrive = 2000, steps = [ ... ] }",
        about: "do the steps so often a second, all members together, whether or not the last are \
                done (open loop); what is late is made up for",
    },
];

/// A name that every expression, or one in a team, may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameRow {
    pub name: &'static str,
    pub about: &'static str,
}

const fn name(name: &'static str, about: &'static str) -> NameRow {
    NameRow { name, about }
}

/// Facts of the machine, as far as this process may use it.
pub const FACTS: &[NameRow] = &[
    name("cpus", "CPUs that may be used"),
    name("cores", "cores with such a CPU"),
    name("llcs", "last-level caches with such a CPU"),
    name("nodes", "NUMA nodes with such a CPU"),
    name("cpus_per_node", "of those CPUs, on the node that has most"),
    name("cpus_per_llc", "of those CPUs, on the last-level cache that has most"),
    name("smt", "hardware threads of a core"),
    name("llc_bytes", "size of the largest such cache (32 MiB where it is not known)"),
    name("first_node", "id of the first node with such a CPU and memory: `node:first_node`"),
    name("second_node", "id of the second one; where there is one only, of that"),
];

/// Names that mean something only inside a team: in its steps, placement and scheduling.
pub const MEMBER: &[NameRow] = &[
    name("me", "index of the task in its team, from 0"),
    name("size", "size of its team"),
    name("instance", "number of its instance, from 0: in `on`, `start_on` and memory policies"),
];

/// Flags of the command line itself, which no parameter may be called, with their letters.
pub const FLAGS: &[(&str, Option<char>)] = &[
    ("duration", None),
    ("warmup", None),
    ("repeat", None),
    ("sweep", None),
    ("topology", None),
    ("seed", None),
    ("json", None),
    ("format", None),
    ("out", None),
    ("width", None),
    ("plot", None),
    ("allow-single-node", None),
    ("quiet", Some('q')),
    ("help", Some('h')),
    ("version", Some('V')),
];

/// Whether a team, channel, parameter or measure may be called so.
pub fn is_name(text: &str) -> bool {
    let starts_well = text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    starts_well && text.chars().all(part)
}
