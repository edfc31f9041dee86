//! Building a profile in Rust, without TOML.
//!
//! Texts that are no expression or address are kept as they are and found by
//! [`Profile::checked`], so that building has no errors on the way. Must not know: how profiles
//! are checked; `checked` prints the profile and reads it back.

use crate::base::Unit;
use crate::profile::expr::Node;
use crate::profile::{
    Action, Address, Channel, Choice, Condition, Deadline, Expr, Faults, Param, ParamValue,
    Placement, Process, Profile, Region, Scheduling, Source, Step, Team, Use, Watch, Which, Word,
};
use std::time::Duration;

mod flow;
mod sync;

impl From<&str> for Word {
    fn from(text: &str) -> Word {
        Word { text: text.to_owned(), span: 0..0 }
    }
}

impl From<&str> for Expr {
    fn from(text: &str) -> Expr {
        match Expr::parse(text, 0) {
            Ok(expr) => Expr { span: 0..0, ..expr },
            // No such name can be known, so it is refused wherever it is looked at.
            Err(_) => Expr { text: text.to_owned(), node: Node::Name(text.to_owned()), span: 0..0 },
        }
    }
}

impl From<u32> for Expr {
    fn from(count: u32) -> Expr {
        Expr::number(count.into(), Unit::Count)
    }
}

impl From<i32> for Expr {
    fn from(count: i32) -> Expr {
        Expr::number(count.into(), Unit::Count)
    }
}

impl From<Duration> for Expr {
    fn from(time: Duration) -> Expr {
        Expr::number(time.as_nanos() as f64, Unit::Time)
    }
}

impl From<&str> for Address {
    fn from(text: &str) -> Address {
        let whole = || Address { channel: Word::from(text), which: Which::All };
        let Some((name, rest)) = text.split_once('[') else {
            return whole();
        };
        let Some(index) = rest.strip_suffix(']') else {
            return whole();
        };
        let which = match index.trim() {
            "*" => Which::All,
            "next" => Which::Next,
            "any" => Which::Any,
            _ => Which::At(Expr::from(index)),
        };
        Address { channel: Word::from(name), which }
    }
}

impl Profile {
    /// A profile without teams.
    ///
    /// ```
    /// use schedload::profile::{Channel, Param, Profile, Step, Team};
    ///
    /// let profile = Profile::new("relay")
    ///     .about("one waker, and wakees that each get a message in turn")
    ///     .param(Param::number("wakees", "max(1, cpus - 1)").at_least(1).about("tasks woken"))
    ///     .duration("5s")
    ///     .watch("wakeup_latency_ns_p99", "how fast an idle CPU is found")
    ///     .channel(Channel::new("inbox", "futex").count("wakees"))
    ///     .team(Team::new("wakee", "wakees").step(Step::receive("inbox[me]")))
    ///     .team(
    ///         Team::new("waker", 1)
    ///             .step(Step::send("inbox[*]"))
    ///             .step(Step::act("sleep", "1ms")),
    ///     )
    ///     .checked()?;
    /// assert_eq!(profile.teams.len(), 2);
    /// # Ok::<(), schedload::profile::Faults>(())
    /// ```
    pub fn new(name: &str) -> Profile {
        Profile {
            name: name.to_owned(),
            source: Source::default(),
            about: String::new(),
            params: Vec::new(),
            copies: Expr::number(1.0, Unit::Count),
            instances: None,
            cgroup: None,
            nodes: None,
            duration: None,
            warmup: None,
            watch: Vec::new(),
            conditions: Vec::new(),
            ramp: None,
            channels: Vec::new(),
            memory: Vec::new(),
            processes: Vec::new(),
            syncs: Vec::new(),
            teams: Vec::new(),
        }
    }

    pub fn about(mut self, about: &str) -> Profile {
        self.about = about.to_owned();
        self
    }

    pub fn param(mut self, param: Param) -> Profile {
        self.params.push(param);
        self
    }

    pub fn copies(mut self, copies: impl Into<Expr>) -> Profile {
        self.copies = copies.into();
        self
    }

    pub fn duration(mut self, duration: impl Into<Expr>) -> Profile {
        self.duration = Some(duration.into());
        self
    }

    pub fn warmup(mut self, warmup: impl Into<Expr>) -> Profile {
        self.warmup = Some(warmup.into());
        self
    }

    pub fn watch(mut self, metric: &str, about: &str) -> Profile {
        self.watch.push(Watch { metric: Word::from(metric), about: about.to_owned() });
        self
    }

    /// The run tests what it is about only where the metric is between these two.
    pub fn condition(
        mut self,
        metric: &str,
        (min, max): (impl Into<Expr>, impl Into<Expr>),
        about: &str,
    ) -> Profile {
        let (min, max) = (Some(min.into()), Some(max.into()));
        let (metric, about) = (Word::from(metric), about.to_owned());
        self.conditions.push(Condition { metric, min, max, when: None, about });
        self
    }

    /// The last condition holds only where this is not 0.
    pub fn when(mut self, when: impl Into<Expr>) -> Profile {
        if let Some(last) = self.conditions.last_mut() {
            last.when = Some(when.into());
        }
        self
    }

    pub fn channel(mut self, channel: Channel) -> Profile {
        self.channels.push(channel);
        self
    }

    pub fn memory(mut self, region: Region) -> Profile {
        self.memory.push(region);
        self
    }

    /// Address spaces that each run the whole pattern.
    pub fn instances(mut self, instances: impl Into<Expr>) -> Profile {
        self.instances = Some(instances.into());
        self
    }

    /// A process of each instance; teams are threads of it if their `process` is its name.
    pub fn process(mut self, name: &str) -> Profile {
        self.processes.push(Process { name: name.to_owned(), span: 0..0, about: String::new() });
        self
    }

    pub fn team(mut self, team: Team) -> Profile {
        self.teams.push(team);
        self
    }

    /// The profile as if read from the text that it prints as, or all that is wrong in it.
    pub fn checked(self) -> Result<Profile, Faults> {
        Profile::parse(&self.name, Source { path: String::new(), text: self.to_toml() })
    }
}

impl Param {
    /// A number, of the unit of its default.
    pub fn number(name: &str, default: impl Into<Expr>) -> Param {
        let default = default.into();
        let unit = default.unit(&|_| Some(Unit::Count)).ok().flatten().unwrap_or(Unit::Count);
        Param::new(name, ParamValue::Number { default, unit, min: 0.0, max: f64::INFINITY })
    }

    /// A word, such as the kind of a channel.
    pub fn word(name: &str, default: &str) -> Param {
        Param::new(name, ParamValue::Word { default: Word::from(default), choices: Vec::new() })
    }

    fn new(name: &str, value: ParamValue) -> Param {
        Param { name: name.to_owned(), span: 0..0, short: None, about: String::new(), value }
    }

    /// Smallest value, in base units. Means nothing for a word.
    pub fn at_least(mut self, least: u32) -> Param {
        if let ParamValue::Number { min, .. } = &mut self.value {
            *min = least.into();
        }
        self
    }

    /// Largest value, in base units. Means nothing for a word.
    pub fn at_most(mut self, most: u32) -> Param {
        if let ParamValue::Number { max, .. } = &mut self.value {
            *max = most.into();
        }
        self
    }

    /// The words it may be. Means nothing for a number.
    pub fn choices<'w>(mut self, words: impl IntoIterator<Item = &'w str>) -> Param {
        if let ParamValue::Word { choices, .. } = &mut self.value {
            let choice = |word: &str| Choice { word: word.to_owned(), sets: Vec::new() };
            *choices = words.into_iter().map(choice).collect();
        }
        self
    }

    pub fn short(mut self, letter: char) -> Param {
        self.short = Some(letter);
        self
    }

    pub fn about(mut self, about: &str) -> Param {
        self.about = about.to_owned();
        self
    }
}

impl Channel {
    /// One channel.
    pub fn new(name: &str, kind: &str) -> Channel {
        let count = Expr::number(1.0, Unit::Count);
        Channel { name: name.to_owned(), span: 0..0, kind: Word::from(kind), count, bytes: None }
    }

    pub fn count(mut self, count: impl Into<Expr>) -> Channel {
        self.count = count.into();
        self
    }

    pub fn bytes(mut self, bytes: impl Into<Expr>) -> Channel {
        self.bytes = Some(bytes.into());
        self
    }
}

impl Region {
    /// One slice of so many bytes, first touched by its owner. What has no method here is a field.
    pub fn new(name: &str, bytes: impl Into<Expr>) -> Region {
        Region {
            name: name.to_owned(),
            span: 0..0,
            bytes: bytes.into(),
            count: Expr::number(1.0, Unit::Count),
            first_touch: Word::from("owner"),
            policy: Word::from("default"),
            huge: Word::from("leave"),
            shared: Word::from("process"),
        }
    }

    pub fn count(mut self, count: impl Into<Expr>) -> Region {
        self.count = count.into();
        self
    }

    /// `owner`, `main`, `node:0`, `interleave`, `opposite`, `nobody`, or the name of a team.
    pub fn first_touch(mut self, who: &str) -> Region {
        self.first_touch = Word::from(who);
        self
    }
}

impl Team {
    /// Threads that run anywhere and do nothing yet. What has no method here is a field.
    pub fn new(name: &str, size: impl Into<Expr>) -> Team {
        Team {
            name: name.to_owned(),
            span: 0..0,
            size: size.into(),
            form: Word::from("threads"),
            process: None,
            background: false,
            start: Word::from("gate"),
            placement: Placement::default(),
            scheduling: Scheduling::default(),
            steps: Vec::new(),
        }
    }

    /// `threads`, `processes`, or a parameter that is one of these.
    pub fn form(mut self, form: &str) -> Team {
        self.form = Word::from(form);
        self
    }

    /// Its threads are started by a `spawn` step.
    pub fn spawned(mut self) -> Team {
        self.start = Word::from("spawned");
        self
    }

    pub fn in_background(mut self) -> Team {
        self.background = true;
        self
    }

    /// `node:0`, `llc:me % llcs`, `cpus:0-3`.
    pub fn on(mut self, part: &str) -> Team {
        self.placement.on = Some(Word::from(part));
        self
    }

    /// `node`, `llc`, `core` or `cpu`.
    pub fn spread_over(mut self, what: &str) -> Team {
        self.placement.spread = Some(Word::from(what));
        self
    }

    pub fn pinned(mut self) -> Team {
        self.placement.pin = true;
        self
    }

    pub fn policy(mut self, policy: &str) -> Team {
        self.scheduling.policy = Some(Word::from(policy));
        self
    }

    pub fn nice(mut self, nice: impl Into<Expr>) -> Team {
        self.scheduling.nice = Some(nice.into());
        self
    }

    pub fn priority(mut self, priority: impl Into<Expr>) -> Team {
        self.scheduling.priority = Some(priority.into());
        self
    }

    pub fn slice(mut self, slice: impl Into<Expr>) -> Team {
        self.scheduling.slice = Some(slice.into());
        self
    }

    pub fn timer_slack(mut self, slack: impl Into<Expr>) -> Team {
        self.scheduling.timer_slack = Some(slack.into());
        self
    }

    /// Policy deadline: `runtime` of CPU time in every `period`.
    pub fn deadline(mut self, runtime: impl Into<Expr>, period: impl Into<Expr>) -> Team {
        self.scheduling.policy = Some(Word::from("deadline"));
        let (runtime, period) = (runtime.into(), period.into());
        self.scheduling.deadline = Some(Deadline { runtime, deadline: None, period });
        self
    }

    pub fn step(mut self, step: Step) -> Team {
        self.steps.push(step);
        self
    }
}

impl From<Action> for Step {
    fn from(action: Action) -> Step {
        Step { action, span: 0..0 }
    }
}

impl Step {
    /// Sends to `inbox[me]`, `inbox[*]`, `inbox[next]`, `inbox[any]`, ...
    pub fn send(to: impl Into<Address>) -> Step {
        Action::Send { to: to.into(), bytes: None }.into()
    }

    pub fn receive(from: impl Into<Address>) -> Step {
        Action::Receive { from: from.into(), bytes: None }.into()
    }

    /// Size of the message that is sent or received; how much is swept, allocated or filled. Means
    /// nothing for other steps.
    pub fn bytes(mut self, size: impl Into<Expr>) -> Step {
        let bytes = match &mut self.action {
            Action::Send { bytes, .. } | Action::Receive { bytes, .. } => bytes,
            Action::Use(it) => &mut it.bytes,
            Action::Sync(it) => &mut it.bytes,
            _ => return self,
        };
        *bytes = Some(size.into());
        self
    }

    pub fn repeat(count: impl Into<Expr>, steps: impl IntoIterator<Item = Step>) -> Step {
        Action::Repeat { count: count.into(), steps: steps.into_iter().collect() }.into()
    }

    pub fn forever(steps: impl IntoIterator<Item = Step>) -> Step {
        Action::Forever { steps: steps.into_iter().collect() }.into()
    }

    pub fn measure(name: &str, steps: impl IntoIterator<Item = Step>) -> Step {
        let (name, steps) = (Word::from(name), steps.into_iter().collect());
        Action::Measure { name, from: None, steps }.into()
    }

    pub fn during(time: impl Into<Expr>, steps: impl IntoIterator<Item = Step>) -> Step {
        Action::During { time: time.into(), steps: steps.into_iter().collect() }.into()
    }

    pub fn spawn(team: &str) -> Step {
        Action::Spawn { team: Word::from(team) }.into()
    }

    pub fn join(team: &str) -> Step {
        Action::Join { team: Word::from(team) }.into()
    }

    /// Goes through `area`, or `area[me]`, in order.
    pub fn sweep(region: impl Into<Address>) -> Step {
        Step::with_memory("sweep", region)
    }

    /// Any verb on memory; its other fields are those of [`Use`].
    pub fn with_memory(verb: &str, region: impl Into<Address>) -> Step {
        let (from, and, access) = (None, None, None);
        let (halo, count, skew) = (None, None, None);
        let (verb, region) = (Word::from(verb), region.into());
        Action::Use(Box::new(Use {
            verb,
            region,
            from,
            and,
            access,
            halo,
            count,
            bytes: None,
            skew,
        }))
        .into()
    }

    /// `read`, `write`, `modify` or `zero`. Means nothing for steps without memory.
    pub fn access(mut self, access: &str) -> Step {
        if let Action::Use(it) = &mut self.action {
            it.access = Some(Word::from(access));
        }
        self
    }

    /// Burns or passes time: `spin`, `work`, `sleep`.
    pub fn act(verb: &str, amount: impl Into<Expr>) -> Step {
        Action::Act { verb: Word::from(verb), amount: amount.into(), spread: None }.into()
    }
}
