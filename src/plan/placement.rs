//! Which CPUs each member may run on: `on`, `spread` and `pin`, within the allowed ones.
//!
//! The words are resolved first (`words`), the machine is asked second (`assign`), since the two
//! fail differently. Must not know: how a mask is set.

use super::number::{self, Wanted};
use super::resolve::one_of;
use super::scope::Scope;
use super::{Amount, Refusal};
use crate::base::{CpuId, CpuList, Place};
use crate::host::Host;
use crate::profile::keys::NUMBER_MAX;
use crate::profile::{self, Fault, Team, Word};
use std::collections::{BTreeMap, HashMap};

/// Placement with its words known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PlaceWords {
    pub on: Option<On>,
    pub start_on: Option<On>,
    pub spread: Option<Level>,
    pub pin: Pin,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum On {
    Level(Level, Amount),
    Cpus(CpuList),
}

impl On {
    /// What a member's number is; 0 where there is none.
    fn number(&self, me: u32) -> u64 {
        match self {
            On::Level(_, number) => number.of(me),
            On::Cpus(_) => 0,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Pin {
    #[default]
    Free,
    OneCpu,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Node,
    Llc,
    Core,
    Cpu,
}

/// What `spread` may be; `none` is for a parameter that may be any of these.
pub(super) const SPREADS: [(&str, Option<Level>); 5] = [
    ("none", None),
    ("node", Some(Level::Node)),
    ("llc", Some(Level::Llc)),
    ("core", Some(Level::Core)),
    ("cpu", Some(Level::Cpu)),
];

impl Level {
    fn name(self) -> &'static str {
        SPREADS.iter().find(|(_, level)| *level == Some(self)).map_or("", |(name, _)| name)
    }

    /// What a CPU belongs to at this level.
    fn of(self, cpu: CpuId, place: Place) -> u32 {
        match self {
            Level::Node => place.node.0,
            Level::Llc => place.llc,
            Level::Core => place.core,
            Level::Cpu => cpu.0,
        }
    }

    /// The allowed CPUs of each node, LLC, core or CPU that has some, in order.
    fn groups(self, cpus: &CpuList, host: &Host) -> BTreeMap<u32, CpuList> {
        let mut groups: BTreeMap<u32, Vec<CpuId>> = BTreeMap::new();
        for cpu in cpus.iter() {
            if let Some(found) = host.topology.cpu(cpu) {
                groups.entry(self.of(cpu, found.place)).or_default().push(cpu);
            }
        }
        let groups = groups.into_iter();
        groups.map(|(key, cpus)| (key, cpus.into_iter().collect())).collect()
    }
}

/// The words of a team of this size, each member's number computed once to see that it has one.
pub(super) fn words(team: &Team, size: u32, scope: &Scope, faults: &mut Vec<Fault>) -> PlaceWords {
    let placement = &team.placement;
    let spread = placement.spread.as_ref();
    let mut part = |key: &str, word: &Option<Word>| {
        let word = word.as_ref()?;
        let on = on(key, word, scope, faults);
        if let Some(On::Level(level, number)) = &on {
            let numbers = (0..size).map(|me| number::checked(number, me, &wanted(key, *level)));
            if let Some(Err(message)) = numbers.into_iter().find(Result::is_err) {
                faults.push(Fault::new(word.span.clone(), message));
            }
        }
        on
    };
    let (on, start_on) = (part("on", &placement.on), part("start_on", &placement.start_on));
    PlaceWords {
        on,
        start_on,
        spread: spread.and_then(|word| one_of("spread", &SPREADS, word, scope, faults)).flatten(),
        pin: if placement.pin { Pin::OneCpu } else { Pin::Free },
    }
}

/// What a word names, which may depend on `instance`.
pub(super) fn part(word: &Option<Word>, scope: &Scope, faults: &mut Vec<Fault>) -> Option<On> {
    word.as_ref().and_then(|word| on("cgroup", word, scope, faults))
}

fn on(key: &str, word: &Word, scope: &Scope, faults: &mut Vec<Fault>) -> Option<On> {
    let text = scope.word(word).to_owned();
    let resolved = Word { text, span: word.span.clone() };
    let (level, expr) = match profile::On::parse(&resolved) {
        Ok(profile::On::Node(expr)) => (Level::Node, expr),
        Ok(profile::On::Llc(expr)) => (Level::Llc, expr),
        Ok(profile::On::Core(expr)) => (Level::Core, expr),
        Ok(profile::On::Any) => return None,
        Ok(profile::On::Cpus(cpus)) => return Some(On::Cpus(cpus)),
        Err(fault) => {
            faults.push(fault);
            return None;
        }
    };
    let amount = number::amount(&expr, &wanted(key, level), scope, faults)?;
    Some(On::Level(level, amount))
}

fn wanted(key: &str, level: Level) -> Wanted {
    Wanted { max: NUMBER_MAX, ..Wanted::count(format!("`{key}`'s {}", level.name()), 0, 0) }
}

/// The members of a team: `size` in each of `copies`, which all instances have.
pub(super) struct Members<'a> {
    /// As a message names them.
    pub who: &'a str,
    pub size: u32,
    pub copies: u32,
    /// Where a node is not there, any will do (a smoke test on a machine without).
    pub lenient: bool,
}

/// CPUs that members take in turn.
#[derive(Default)]
struct Set {
    groups: Vec<CpuList>,
    /// By group: how many members have it.
    taken: Vec<usize>,
    /// How many members came here.
    turn: usize,
}

/// Each different set once.
#[derive(Default)]
struct Sets {
    sets: Vec<Set>,
    /// By the number of what `on` names.
    known: HashMap<u64, usize>,
}

impl Sets {
    /// Which set a member takes its place from.
    fn of(
        &mut self,
        words: &PlaceWords,
        me: u32,
        members: &Members,
        host: &Host,
    ) -> Result<usize, Vec<Refusal>> {
        let on = words.on.as_ref();
        let number = on.map_or(0, |on| on.number(me));
        if let Some(&set) = self.known.get(&number) {
            return Ok(set);
        }
        let cpus = asked(on, number, members, host)?;
        let groups = match words.spread {
            Some(level) => level.groups(&cpus, host).into_values().collect(),
            None => vec![cpus],
        };
        let taken = vec![0; groups.len()];
        self.sets.push(Set { groups, taken, turn: 0 });
        self.known.insert(number, self.sets.len() - 1);
        Ok(self.sets.len() - 1)
    }
}

/// Where each member begins, by member of all copies in turn; empty: wherever it may run.
pub(super) fn starts(
    instances: &[PlaceWords],
    members: &Members,
    host: &Host,
) -> Result<Vec<CpuList>, Vec<Refusal>> {
    if instances.iter().all(|words| words.start_on.is_none()) {
        return Ok(Vec::new());
    }
    let copies = members.copies / (instances.len() as u32).max(1);
    let mut starts = Vec::new();
    for words in instances {
        let on = words.start_on.as_ref();
        for me in (0..copies).flat_map(|_| 0..members.size) {
            let number = on.map_or(0, |on| on.number(me));
            starts.push(asked(on, number, members, host)?);
        }
    }
    starts.truncate(period(&starts));
    Ok(starts)
}

/// The CPUs by member, as one period of the pattern; empty if every member may run anywhere.
pub(super) fn assign(
    instances: &[PlaceWords],
    members: &Members,
    host: &Host,
) -> Result<Vec<CpuList>, Vec<Refusal>> {
    let free = |words: &PlaceWords| {
        *words == PlaceWords { start_on: words.start_on.clone(), ..PlaceWords::default() }
    };
    if instances.iter().all(free) {
        return Ok(Vec::new());
    }
    let pin = instances.first().map_or(Pin::Free, |words| words.pin);
    let copies = members.copies / (instances.len() as u32).max(1);
    let mut sets = Sets::default();
    let mut pattern: Vec<(usize, usize, usize)> = Vec::new();
    for words in instances {
        let of_member: Result<Vec<usize>, _> =
            (0..members.size).map(|me| sets.of(words, me, members, host)).collect();
        let of_member = of_member?;
        let sets = &mut sets.sets;
        for at in (0..copies).flat_map(|_| of_member.iter().copied()) {
            let set = &mut sets[at];
            let group = set.turn % set.groups.len();
            set.turn += 1;
            let cpu = match pin {
                Pin::Free => 0,
                Pin::OneCpu => set.taken[group] % set.groups[group].len(),
            };
            set.taken[group] += 1;
            pattern.push((at, group, cpu));
        }
    }
    pattern.truncate(period(&pattern));
    let cpus = pattern.into_iter().map(|(set, group, cpu)| {
        let group = &sets.sets[set].groups[group];
        match pin {
            Pin::Free => group.clone(),
            Pin::OneCpu => group.get(cpu).into_iter().collect(),
        }
    });
    Ok(cpus.collect())
}

/// The length of the shortest beginning of which the whole is a repetition (the last round may
/// break off): by the prefix function of Knuth, Morris and Pratt.
fn period<T: PartialEq>(pattern: &[T]) -> usize {
    let mut prefix = vec![0; pattern.len()];
    for at in 1..pattern.len() {
        let mut length: usize = prefix[at - 1];
        while length > 0 && pattern[at] != pattern[length] {
            length = prefix[length - 1];
        }
        if pattern[at] == pattern[length] {
            length += 1;
        }
        prefix[at] = length;
    }
    pattern.len() - prefix.last().copied().unwrap_or(0)
}

/// The allowed CPUs of what `on` names; not empty.
fn asked(
    on: Option<&On>,
    number: u64,
    members: &Members,
    host: &Host,
) -> Result<CpuList, Vec<Refusal>> {
    let who = members.who;
    match on {
        None => Ok(host.allowed.clone()),
        Some(On::Cpus(cpus)) => listed(cpus, who, host),
        Some(On::Level(level, _)) => {
            let groups = level.groups(&host.allowed, host);
            let found = match level {
                // Nodes have the kernel's numbers; of LLCs and cores, those with allowed CPUs
                // are counted through.
                Level::Node => u32::try_from(number).ok().and_then(|node| groups.get(&node)),
                _ => usize::try_from(number).ok().and_then(|at| groups.values().nth(at)),
            };
            let any = (members.lenient && *level == Level::Node).then_some(&host.allowed);
            found.or(any).cloned().ok_or_else(|| vec![missing(*level, number, who, &groups)])
        }
    }
}

fn missing(level: Level, number: u64, who: &str, groups: &BTreeMap<u32, CpuList>) -> Refusal {
    let (name, n) = (level.name(), groups.len());
    let plural = if n == 1 { "" } else { "s" };
    let numbers: String = match level {
        Level::Node => {
            let ids: Vec<String> = groups.keys().map(u32::to_string).collect();
            ids.join(", ")
        }
        _ => match n {
            0 | 1 => "0".to_owned(),
            _ => format!("0 to {}", n - 1),
        },
    };
    let message = format!(
        "{who} is to run on {name} {number}, and {n} {name}{plural} can be used here \
         ({numbers})"
    );
    Refusal::new(message).with_help("ask for another, or start with a wider CPU mask")
}

/// The CPUs themselves, if all may be used.
fn listed(cpus: &CpuList, who: &str, host: &Host) -> Result<CpuList, Vec<Refusal>> {
    let allowed = &host.allowed;
    let online = host.topology.online();
    let refusal = |cpus: CpuList, is: &str, help: &str| {
        if cpus.is_empty() {
            return None;
        }
        let (s, are) = if cpus.len() == 1 { ("", "is") } else { ("s", "are") };
        let message =
            format!("{who} is to run on cpu{s} {cpus}, which {are} {is}; allowed: {allowed}");
        Some(Refusal::new(message).with_help(help))
    };
    let forbidden = cpus.and(&online).without(allowed);
    let absent = cpus.without(&online);
    let refusals: Vec<Refusal> = [
        refusal(forbidden, "not allowed here", "start with a wider CPU mask (`taskset -c`)"),
        refusal(absent, &format!("offline or not there (online: {online})"), "ask for others"),
    ]
    .into_iter()
    .flatten()
    .collect();
    match refusals.is_empty() {
        true => Ok(cpus.clone()),
        false => Err(refusals),
    }
}
