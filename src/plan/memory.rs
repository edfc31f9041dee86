//! Regions of memory: their sizes, who touches them first, and where policies put them.
//!
//! Must not know: how memory is mapped, what is free.

use super::compile::Kept;
use super::number::{self, Wanted};
use super::resolve::{TASKS_MAX, one_of};
use super::scope::{Scope, suggestion, unknown_word};
use super::{Op, Pick, Plan, TeamPlan};
use crate::base::{NodeId, Unit, nearest::nearest, unit};
use crate::host::Host;
use crate::profile::{Expr, Fault, Profile, Region, Word};
use serde::{Deserialize, Serialize};

/// The largest slice (bytes): what one address space of x86 or arm64 holds.
const BYTES_MAX: f64 = (1u64 << 47) as f64;
/// Slices begin at pages, and with huge pages at those.
const PAGE_BYTES: u64 = 4096;

const HUGES: [(&str, HugePages); 3] =
    [("always", HugePages::Always), ("never", HugePages::Never), ("leave", HugePages::Leave)];
const SHARINGS: [(&str, Sharing); 3] =
    [("process", Sharing::Process), ("instance", Sharing::Instance), ("all", Sharing::All)];

/// A region of memory in each process, in each instance, or one for all: `count` slices of
/// `slice_bytes` each, one behind the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryPlan {
    pub name: String,
    /// Whole pages.
    pub slice_bytes: u64,
    pub count: u32,
    pub first_touch: FirstTouch,
    /// Instance by instance, in each by slice; one for all slices if there is only one.
    pub policies: Vec<MemoryPolicy>,
    pub huge: HugePages,
    pub sharing: Sharing,
}

/// Who writes a page first, and so decides where it is unless a policy does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstTouch {
    /// Before the gate, the first team that uses the region: the slices that its members name, or,
    /// of a region that they name as a whole, those that are their turn.
    Owner,
    /// Before the gate, the members of this team in turn.
    Team(u32),
    /// Before any task starts, the thread that starts them.
    Main,
    /// The same, with a policy of its own meanwhile: pages go to these nodes, one for each
    /// slice, instance by instance; or one for all.
    Nodes(Vec<NodeId>),
    /// The same, page by page over all nodes.
    Interleave,
    /// The owner, onto the node farthest from the CPUs it may use.
    Opposite,
    /// Nobody before the run.
    Nobody,
}

/// The policy of a slice (mbind(2)), which stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryPolicy {
    Default,
    Bind(Vec<NodeId>),
    Preferred(NodeId),
    Interleave(Vec<NodeId>),
}

/// Transparent huge pages (madvise(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HugePages {
    Always,
    Never,
    /// As the system has it.
    Leave,
}

/// Who sees the same pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// The threads of a process.
    Process,
    /// The processes of an instance.
    Instance,
    /// All processes of the run.
    All,
}

/// What the plan's regions are resolved with.
pub(super) struct Around<'a> {
    pub profile: &'a Profile,
    pub scope: &'a Scope<'a>,
    pub host: &'a Host,
    pub instances: u32,
    /// Where a node is not there, any will do (a smoke test on a machine without).
    pub lenient: bool,
}

/// All regions of the profile; `None` for one with a fault.
pub(super) fn regions(around: &Around<'_>, faults: &mut Vec<Fault>) -> Vec<Option<MemoryPlan>> {
    around.profile.memory.iter().map(|it| region(it, around, faults)).collect()
}

/// Those that have bytes, and what became of each.
pub(super) fn kept(regions: Vec<Option<MemoryPlan>>) -> (Vec<MemoryPlan>, Vec<Kept>) {
    let (mut plans, mut kept) = (Vec::new(), Vec::new());
    for region in regions {
        kept.push(match region {
            None => Kept::Faulty,
            Some(region) if region.bytes() == 0 => Kept::Empty,
            Some(region) => {
                let count = region.count;
                plans.push(region);
                Kept::As { region: plans.len() as u32 - 1, count }
            }
        });
    }
    (plans, kept)
}

fn region(region: &Region, around: &Around<'_>, faults: &mut Vec<Fault>) -> Option<MemoryPlan> {
    let name = &region.name;
    let scope = around.scope;
    let wanted = Wanted::new(format!("a slice of `{name}`"), Unit::Bytes, 0.0, BYTES_MAX);
    let bytes = number::whole(&region.bytes, &wanted, scope, faults);
    let wanted = Wanted::count(format!("count of region `{name}`"), 1, TASKS_MAX);
    let count = number::whole(&region.count, &wanted, scope, faults).map(|count| count as u32);
    let huge = one_of("setting of `huge`", &HUGES, &region.huge, scope, faults);
    let sharing = one_of("sharing", &SHARINGS, &region.shared, scope, faults);
    let (bytes, count, huge, sharing) = (bytes?, count?, huge?, sharing?);
    if let Some(message) = too_much(region, bytes, count, around.instances) {
        let fault = Fault::new(region.span.clone(), message);
        faults.push(fault.with_help("ask for fewer slices, or smaller ones"));
        return None;
    }
    let slices = Slices { around, count, sharing };
    let policies = slices.policies(&region.policy, faults);
    let first_touch = slices.first_touch(&region.first_touch, faults);
    let (policies, first_touch) = (policies?, first_touch?);
    Some(MemoryPlan {
        name: name.clone(),
        slice_bytes: (bytes as u64).next_multiple_of(PAGE_BYTES),
        count,
        first_touch,
        policies,
        huge,
        sharing,
    })
}

/// The nodes with memory.
pub(super) fn all_nodes(host: &Host) -> Vec<NodeId> {
    let nodes = host.topology.nodes.iter();
    nodes.filter(|node| node.memory_bytes != Some(0)).map(|node| node.id).collect()
}

/// Why slices that are each of a size that there is are too much together.
fn too_much(region: &Region, bytes: f64, count: u32, instances: u32) -> Option<String> {
    let name = &region.name;
    if bytes * f64::from(count) > BYTES_MAX {
        let (bytes, most) = (unit::bytes(bytes), unit::bytes(BYTES_MAX));
        return Some(format!(
            "region `{name}` has {count} slices of {bytes}, and an address space holds {most}"
        ));
    }
    (u64::from(count) * u64::from(instances) > u64::from(TASKS_MAX)).then(|| {
        format!(
            "region `{name}` has {count} slices in each of {instances} instances, and at most \
             {TASKS_MAX} in all can be planned"
        )
    })
}

/// The slices of one region, in all instances that have their own.
struct Slices<'a> {
    around: &'a Around<'a>,
    count: u32,
    sharing: Sharing,
}

impl Slices<'_> {
    /// The number behind the colon for each slice, instance by instance; one if it is always the
    /// same.
    fn nodes(&self, word: &Word, rest: &str, faults: &mut Vec<Fault>) -> Option<Vec<NodeId>> {
        if rest.trim().is_empty() {
            let message = format!("`{}` does not say which node", word.text);
            let help = format!("write the number of one: `{}0`", word.text.trim_end());
            faults.push(Fault::new(word.span.clone(), message).with_help(help));
            return None;
        }
        let start = word.span.start + word.text.len().saturating_sub(rest.len());
        let literal = word.span.len() == word.text.len();
        let expr = match Expr::parse(rest, start) {
            Ok(expr) if literal => expr,
            Ok(expr) => Expr { span: word.span.clone(), ..expr },
            Err(fault) => {
                faults.push(Fault { span: word.span.clone(), ..fault });
                return None;
            }
        };
        let wanted = Wanted::count("the node", 0, u32::MAX);
        let instances = match self.sharing {
            Sharing::Process | Sharing::Instance => self.around.instances,
            Sharing::All => 1,
        };
        let mut nodes = Vec::new();
        for instance in 0..instances {
            let scope = self.around.scope.in_team(self.count).in_instance(instance);
            let amount = number::amount(&expr, &wanted, &scope, faults)?;
            for me in 0..self.count {
                match number::checked(&amount, me, &wanted) {
                    Ok(node) => nodes.push(NodeId(u32::try_from(node).unwrap_or(u32::MAX))),
                    Err(message) => {
                        faults.push(Fault::new(word.span.clone(), message));
                        return None;
                    }
                }
            }
        }
        let known = all_nodes(self.around.host);
        if let (true, Some(first)) = (self.around.lenient, known.first()) {
            nodes.iter_mut().filter(|node| !known.contains(node)).for_each(|node| *node = *first);
        }
        if nodes.windows(2).all(|pair| pair[0] == pair[1]) {
            nodes.truncate(1);
        }
        Some(nodes)
    }

    fn policies(&self, word: &Word, faults: &mut Vec<Fault>) -> Option<Vec<MemoryPolicy>> {
        let text = self.around.scope.word(word).to_owned();
        let resolved = Word { text: text.clone(), span: word.span.clone() };
        Some(match text.split_once(':') {
            None if text == "default" => vec![MemoryPolicy::Default],
            None if text == "interleave" => {
                vec![MemoryPolicy::Interleave(all_nodes(self.around.host))]
            }
            Some(("bind", rest)) => {
                let nodes = self.nodes(&resolved, rest, faults)?.into_iter();
                nodes.map(|node| MemoryPolicy::Bind(vec![node])).collect()
            }
            Some(("preferred", rest)) => {
                let nodes = self.nodes(&resolved, rest, faults)?.into_iter();
                nodes.map(MemoryPolicy::Preferred).collect()
            }
            _ => {
                let known = ["default", "bind:0", "preferred:0", "interleave"];
                faults.push(unknown_word("memory policy", &text, &word.span, known.into_iter()));
                return None;
            }
        })
    }

    fn first_touch(&self, word: &Word, faults: &mut Vec<Fault>) -> Option<FirstTouch> {
        let text = self.around.scope.word(word).to_owned();
        let resolved = Word { text: text.clone(), span: word.span.clone() };
        let teams = &self.around.profile.teams;
        if let Some(team) = teams.iter().position(|team| team.name == text) {
            return Some(FirstTouch::Team(team as u32));
        }
        Some(match text.split_once(':') {
            Some(("node", rest)) => FirstTouch::Nodes(self.nodes(&resolved, rest, faults)?),
            None if text == "owner" => FirstTouch::Owner,
            None if text == "main" => FirstTouch::Main,
            None if text == "interleave" => FirstTouch::Interleave,
            None if text == "opposite" => FirstTouch::Opposite,
            None if text == "nobody" => FirstTouch::Nobody,
            _ => {
                let words = ["owner", "main", "node:0", "interleave", "opposite", "nobody"];
                let known = words.into_iter().chain(teams.iter().map(|team| team.name.as_str()));
                let help = match nearest(&text, known.clone()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => suggestion(&text, known),
                };
                let message = format!("nobody called `{text}` can touch memory first");
                faults.push(Fault::new(word.span.clone(), message).with_help(help));
                return None;
            }
        })
    }
}

impl MemoryPlan {
    /// Of all slices together.
    pub fn bytes(&self) -> u64 {
        self.slice_bytes.saturating_mul(u64::from(self.count))
    }

    /// How many instances have their own: policies and nodes are listed by these.
    pub fn n_instances(&self, plan: &Plan) -> u64 {
        match self.sharing {
            Sharing::All => 1,
            Sharing::Process | Sharing::Instance => u64::from(plan.instances),
        }
    }

    /// The number of a slice where slices of all instances are counted through, as policies and
    /// nodes are listed; a list that is shorter begins again.
    pub fn slice_number(&self, instance: u32, slice: u32) -> usize {
        instance as usize * self.count as usize + slice as usize
    }

    /// The policy of the slice with this number.
    pub fn policy(&self, number: usize) -> &MemoryPolicy {
        match self.policies.len() {
            0 => &MemoryPolicy::Default,
            n => &self.policies[number % n],
        }
    }
}

impl Plan {
    /// How many of a region each instance has, or all have together: one in each process that has
    /// it, if it is not shared.
    pub fn n_mappings(&self, region: usize) -> u64 {
        match self.memory[region].sharing {
            Sharing::Instance | Sharing::All => 1,
            Sharing::Process => {
                (0..self.n_processes()).filter(|process| self.has(*process, region)).count() as u64
            }
        }
    }

    /// Of a region in all processes of an instance that have it.
    pub fn bytes_in_instance(&self, region: usize) -> u64 {
        self.memory[region].bytes().saturating_mul(self.n_mappings(region))
    }

    /// Whether the members of a team touch the pages of a region first, of those that they see: a
    /// team that does, or else the first that uses them.
    pub fn is_toucher(&self, region: usize, team: usize) -> bool {
        match &self.memory[region].first_touch {
            FirstTouch::Team(toucher) => *toucher as usize == team,
            FirstTouch::Owner | FirstTouch::Opposite => {
                let mut users = (0..self.teams.len()).filter(|it| self.teams[*it].uses(region));
                users.find(|user| self.share(region, *user, team)) == Some(team)
            }
            _ => false,
        }
    }

    /// The slices that a member of a team touches first: those that it names, or, of a region that
    /// is only named as a whole, those that are its turn; of one that is its own, as each process
    /// has, all.
    pub fn touches(&self, region: usize, team: usize, me: u32) -> Vec<u32> {
        if !self.is_toucher(region, team) {
            return Vec::new();
        }
        let own = self.is_own(team, region);
        let team = &self.teams[team];
        let count = self.memory[region].count;
        let is_its = |slice: &u32| own || slice % team.size.max(1) == me;
        let in_turn = || (0..count).filter(is_its).collect();
        if let FirstTouch::Team(_) = self.memory[region].first_touch {
            return in_turn();
        }
        let mut slices: Vec<u32> = Vec::new();
        for (_, pick) in team.ops.iter().flat_map(used).filter(|(used, _)| *used == region as u32) {
            match pick {
                Pick::At(slice) => slices.push((slice.of(me) as u32).min(count - 1)),
                _ => return in_turn(),
            }
        }
        slices.sort_unstable();
        slices.dedup();
        slices
    }

    /// The node farthest from the first CPU that a member (counted through all copies) may use.
    pub fn opposite(&self, team: usize, member: usize) -> NodeId {
        let team = &self.teams[team];
        let places = if team.start_cpus.is_empty() { &team.cpus } else { &team.start_cpus };
        let own = (!places.is_empty()).then(|| &places[member % places.len()]);
        let first = own.and_then(|cpus| cpus.get(0));
        let cpu = self.cpus.iter().find(|cpu| match first {
            Some(first) => cpu.id == first,
            None => cpu.allowed,
        });
        let node = cpu.map_or(NodeId(0), |cpu| cpu.place.node);
        let found = self.nodes.iter().find(|it| it.id == node);
        found.map_or(node, |it| it.farthest)
    }
}

impl TeamPlan {
    /// Whether it has a step on a region.
    pub fn uses(&self, region: usize) -> bool {
        self.ops.iter().flat_map(used).any(|(used, _)| used as usize == region)
    }
}

/// The regions of an operation, and which of their slices.
pub(super) fn used(op: &Op) -> Vec<(u32, &Pick)> {
    match op {
        Op::Use(it) => {
            let others = [&it.from, &it.and].into_iter().flatten();
            let all = std::iter::once(&it.at).chain(others);
            all.map(|place| (place.region, &place.slice)).collect()
        }
        Op::Sync(it) => it.act.fill().iter().map(|fill| (fill.region, &Pick::All)).collect(),
        _ => Vec::new(),
    }
}
