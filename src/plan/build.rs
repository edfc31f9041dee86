//! The order in which a plan is made: names, words and sizes, programs, the pattern, the machine.
//!
//! Each stage tells all its faults before the next, which could only repeat them in other words,
//! is tried. Must not know: how any stage works.

use super::cgroups::{self, CgroupWords};
use super::check::{self, Pattern};
use super::compile::{self, Around, Kept, Program};
use super::machine;
use super::memory;
use super::metrics;
use super::number::{self, Wanted};
use super::placement::{self, PlaceWords};
use super::resolve::{self, ChannelWords};
use super::scheduling;
use super::scope::{Scope, typed};
use super::{
    ChannelPlan, ConditionPlan, Form, MemoryPlan, Needs, Op, Overrides, Plan, PlanError,
    ProcessPlan, RampPlan, Scheduling, SyncPlan, TeamPlan, hash, space, sync, traffic,
};
use crate::base::Unit;
use crate::host::Host;
use crate::profile::keys::NUMBER_MAX;
use crate::profile::{Expr, Fault, Faults, Profile, Span, Team};

/// The seed where none is given: a run without one is the same each time.
const SEED: u64 = 1;

pub(super) fn plan(
    profile: &Profile,
    host: &Host,
    overrides: &Overrides,
) -> Result<Plan, PlanError> {
    let mut faults = Vec::new();
    let facts = host.topology.facts(&host.allowed);
    let bound = profile.bind(&overrides.params, &|name| facts.get(name)).map_err(|errors| {
        let faults = errors.into_iter().map(|error| Fault::new(0..0, error.message));
        Faults::new(&profile.source, faults.collect())
    })?;
    let scope = Scope::new(profile, facts, &bound);
    let parts = Parts::of(profile, overrides, &scope, host, &mut faults);
    let parts = match parts {
        Some(parts) if faults.is_empty() => parts,
        _ => return Err(Faults::new(&profile.source, faults).into()),
    };
    let nodes = parts.nodes;
    let Unplaced { mut plan, words, cgroups } =
        parts.into_plan(profile, host, overrides, &scope)?;
    machine::enough_nodes(&mut plan, nodes, host, overrides)?;
    machine::place(&mut plan, &words, host, overrides)?;
    let cgroups = cgroups::on_this_host(&cgroups, host, overrides);
    plan.cgroups = cgroups.map_err(PlanError::Host)?;
    plan.hash = hash::of(&plan);
    Ok(plan)
}

/// Everything that the profile says, with its numbers, but not yet together.
struct Parts {
    instances: Option<u32>,
    processes: Vec<ProcessPlan>,
    cgroups: Vec<CgroupWords>,
    /// The fewest with memory on which the profile means anything.
    nodes: u32,
    copies: u32,
    conditions: Vec<ConditionPlan>,
    ramp: Option<RampPlan>,
    channels: Vec<ChannelPlan>,
    memory: Vec<MemoryPlan>,
    syncs: Vec<SyncPlan>,
    teams: Vec<TeamPart>,
    duration_ns: Option<u64>,
    warmup_ns: u64,
    notes: Vec<String>,
}

struct TeamPart {
    name: String,
    size: u32,
    form: Form,
    background: bool,
    program: Program,
    scheduling: Scheduling,
    spawned: bool,
    /// By instance.
    placement: Vec<PlaceWords>,
}

/// A plan whose places have still to be asked of the machine: of each team, by instance, and of
/// the instances' cgroups.
struct Unplaced {
    plan: Plan,
    words: Vec<Vec<PlaceWords>>,
    cgroups: Vec<CgroupWords>,
}

impl Parts {
    /// `None` only with a fault.
    fn of(
        profile: &Profile,
        overrides: &Overrides,
        scope: &Scope,
        host: &Host,
        faults: &mut Vec<Fault>,
    ) -> Option<Parts> {
        let words = resolve::channels(profile, scope, faults);
        let instances = resolve::instances(profile, scope, faults);
        let n_instances = instances.flatten().unwrap_or(1);
        let mut notes = Vec::new();
        let processes = space::processes(profile, scope, faults, &mut notes);
        let lenient = overrides.allow_single_node;
        let around = memory::Around { profile, scope, host, instances: n_instances, lenient };
        let memory = memory::regions(&around, faults);
        let copies = resolve::copies(profile, scope, faults);
        let copies = resolve::all_copies(copies, n_instances, faults);
        let sizes = profile.teams.iter().map(|team| resolve::size(team, scope, faults));
        let sizes: Vec<Option<u32>> = sizes.collect();
        if !resolve::check_total(copies, &sizes, faults) {
            // To place so many one by one would take hours.
            return None;
        }
        let teams = profile.teams.iter().zip(&sizes);
        let (memory, regions) = memory::kept(memory);
        let syncs = sync::objects(profile, scope, faults);
        let around = TeamAround {
            profile,
            words: &words,
            regions: &regions,
            syncs: &syncs,
            n_instances,
            scope,
        };
        let teams: Vec<Option<TeamPart>> =
            teams.map(|(team, size)| team_part(team, *size, &around, faults)).collect();
        let (duration_ns, warmup_ns) = window(profile, overrides, scope, faults);
        let teams: Option<Vec<TeamPart>> = teams.into_iter().collect();
        let teams = teams?;
        let conditions = metrics::conditions(profile, &keys_of(&teams), scope, faults);
        let channels: Option<Vec<ChannelPlan>> = words.iter().map(channel_plan).collect();
        notes.extend(self::notes(profile, &words, &teams));
        Some(Parts {
            instances: instances?,
            processes,
            cgroups: cgroups::words(profile, instances.flatten(), scope, faults)?,
            nodes: resolve::nodes(profile, scope, faults)?,
            copies: copies?,
            conditions,
            ramp: resolve::ramp(profile, scope, faults)?,
            channels: channels?,
            memory,
            syncs: syncs.into_iter().collect::<Option<_>>()?,
            notes,
            teams,
            duration_ns,
            warmup_ns,
        })
    }

    /// The whole pattern, checked.
    fn into_plan(
        self,
        profile: &Profile,
        host: &Host,
        overrides: &Overrides,
        scope: &Scope,
    ) -> Result<Unplaced, PlanError> {
        let Parts { instances, processes, cgroups, copies, mut channels, memory, .. } = self;
        let mut syncs = self.syncs;
        let (duration_ns, warmup_ns, mut notes) = (self.duration_ns, self.warmup_ns, self.notes);
        let words = self.teams.iter().map(|part| part.placement.clone()).collect();
        let parts = self.teams.into_iter().map(TeamPart::into_plan);
        let (teams, spans): (Vec<TeamPlan>, Vec<_>) = parts.unzip();
        let (traffic, visits, by_member) = traffic::walk(&teams, &channels);
        let mut faults = of_members(by_member, &teams, &spans);
        // With a member's index unknown, who meets whom is guesswork.
        if faults.is_empty() {
            sync::settle(&mut syncs, &teams, &visits, &processes);
            let pattern = Pattern {
                profile,
                channels: &channels,
                memory: &memory,
                processes: &processes,
                syncs: &syncs,
                visits: &visits,
                teams: &teams,
                spans: &spans,
                traffic: &traffic,
                duration_ns,
            };
            check::check(&pattern, &mut faults, &mut notes);
        }
        if !faults.is_empty() {
            return Err(Faults::new(&profile.source, faults).into());
        }
        count_ends(&mut channels, &traffic);
        cross_processes(&mut channels, &teams, &processes);
        let plan = Plan {
            profile: profile.name.clone(),
            about: profile.about.clone(),
            params: scope.printed(),
            watch: profile.watch.iter().map(|watch| watch.metric.text.clone()).collect(),
            conditions: self.conditions,
            ramp: self.ramp,
            seed: overrides.seed.unwrap_or(SEED),
            hash: String::new(),
            cpus: machine::cpus(host),
            nodes: machine::nodes(host),
            instances: instances.unwrap_or(1),
            own_processes: instances.is_some(),
            processes,
            cgroups: Vec::new(),
            own_cgroup: host.limits.cgroup_v2.clone(),
            copies,
            channels,
            memory,
            lines: profile.source.lines(&spans),
            syncs,
            teams,
            duration_ns,
            warmup_ns,
            needs: Needs::default(),
            notes,
        };
        Ok(Unplaced { plan, words, cgroups })
    }
}

/// What teams are resolved with.
struct TeamAround<'a> {
    profile: &'a Profile,
    words: &'a [ChannelWords],
    regions: &'a [Kept],
    syncs: &'a [Option<SyncPlan>],
    n_instances: u32,
    scope: &'a Scope<'a>,
}

/// A team with its numbers; `None` only with a fault.
fn team_part(
    team: &Team,
    size: Option<u32>,
    around: &TeamAround<'_>,
    faults: &mut Vec<Fault>,
) -> Option<TeamPart> {
    let TeamAround { profile, words: channels, regions, syncs, n_instances, scope } = *around;
    let form = resolve::form(&team.form, scope, faults);
    // A team without a size has a fault already; its steps may have more.
    let members = size.unwrap_or(1);
    let scope = scope.in_team(members);
    let scheduling = scheduling::resolve(team, &scope, faults);
    let around = Around { team: &team.name, scope: &scope, channels, profile, regions, syncs };
    let program = compile::program(&team.steps, &around, faults);
    let before = faults.len();
    let mut placement = Vec::new();
    for instance in 0..n_instances {
        placement.push(placement::words(team, members, &scope.in_instance(instance), faults));
        if faults.len() > before {
            break;
        }
    }
    let spawned = resolve::starts_spawned(&team.start, &scope, faults);
    Some(TeamPart {
        name: team.name.clone(),
        size: size?,
        form: form?,
        background: team.background,
        spawned: spawned?,
        program,
        scheduling,
        placement,
    })
}

impl TeamPart {
    /// The team, not yet placed, and where its operations are in the profile.
    fn into_plan(self) -> (TeamPlan, Vec<Span>) {
        let Program { ops, spans, measures, .. } = self.program;
        let bytes = ops.iter().map(|op| match op {
            Op::Send { bytes, .. } | Op::Receive { bytes, .. } => *bytes,
            _ => 0,
        });
        let team = TeamPlan {
            buffer_bytes: bytes.max().unwrap_or(0),
            receives: ops.iter().any(|op| matches!(op, Op::Receive { .. })),
            name: self.name,
            size: self.size,
            form: self.form,
            background: self.background,
            spawned: self.spawned,
            scheduling: self.scheduling,
            cpus: Vec::new(),
            start_cpus: Vec::new(),
            ops,
            measures,
        };
        (team, spans)
    }
}

fn channel_plan(words: &ChannelWords) -> Option<ChannelPlan> {
    Some(ChannelPlan {
        name: words.name.clone(),
        kind: words.kind?.name.to_owned(),
        count: words.count?,
        bytes: if words.has_payload() { words.bytes? } else { 1 },
        wakers: 0,
        wakees: 0,
        across_processes: false,
    })
}

/// What is wrong only for some members of a team.
fn of_members(
    faults: Vec<traffic::MemberFault>,
    teams: &[TeamPlan],
    spans: &[Vec<Span>],
) -> Vec<Fault> {
    let fault = |it: traffic::MemberFault| {
        let message = format!("team `{}`: {}", teams[it.team].name, it.message);
        Fault::new(spans[it.team][it.op].clone(), message)
    };
    faults.into_iter().map(fault).collect()
}

/// The most tasks on either side of an instance of each channel.
fn count_ends(channels: &mut [ChannelPlan], traffic: &[traffic::Traffic]) {
    for (channel, traffic) in channels.iter_mut().zip(traffic) {
        channel.wakers = u32::try_from(traffic.sent.tasks_max()).unwrap_or(u32::MAX);
        channel.wakees = u32::try_from(traffic.received.tasks_max()).unwrap_or(u32::MAX);
    }
}

/// Tasks of a team of processes share a channel only across processes, and so do teams of different
/// ones; and the size of a message is what the steps say.
fn cross_processes(channels: &mut [ChannelPlan], teams: &[TeamPlan], processes: &[ProcessPlan]) {
    let mut first: Vec<Option<usize>> = vec![None; channels.len()];
    for (index, team) in teams.iter().enumerate() {
        let process = space::process_of(processes, index);
        for op in &team.ops {
            if let Op::Send { channel, bytes, .. } | Op::Receive { channel, bytes, .. } = op {
                let first = *first[*channel as usize].get_or_insert(process);
                let channel = &mut channels[*channel as usize];
                channel.bytes = *bytes;
                channel.across_processes |= team.form == Form::Processes || first != process;
            }
        }
    }
}

/// Length of the window and of the warm-up (ns).
fn window(
    profile: &Profile,
    overrides: &Overrides,
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> (Option<u64>, u64) {
    let mut time = |given: &Option<String>, default: &Option<Expr>, what: &str, min| {
        let wanted = Wanted::new(what, Unit::Time, min, NUMBER_MAX);
        let expr = match given {
            Some(text) => typed(text, what, faults),
            None => default.clone(),
        };
        let expr = expr?;
        let value = number::whole(&expr, &wanted, scope, faults);
        value.map(|value| (value as u64, expr.span))
    };
    let duration = time(&overrides.duration, &profile.duration, "the duration", 1.0);
    let warmup = time(&overrides.warmup, &profile.warmup, "the warm-up", 0.0);
    let wants_duration = overrides.duration.is_some() || profile.duration.is_some();
    if let (false, Some((1.., span))) = (wants_duration, &warmup) {
        let fault = Fault::new(span.clone(), "a warm-up without a duration has no end");
        faults.push(fault.with_help("give a duration: `--duration 10s`"));
    }
    (duration.map(|(ns, _)| ns), warmup.map_or(0, |(ns, _)| ns))
}

/// Every metric that such teams have.
fn keys_of(teams: &[TeamPart]) -> Vec<String> {
    let measures = teams.iter().flat_map(|team| &team.program.measures);
    let names = teams.iter().map(|team| team.name.as_str());
    metrics::of(measures.map(String::as_str), names).map(|(row, name)| row.key_for(name)).collect()
}

fn notes(profile: &Profile, channels: &[ChannelWords], teams: &[TeamPart]) -> Vec<String> {
    let mut notes = Vec::new();
    for (index, channel) in channels.iter().enumerate() {
        let mut steps = teams.iter().map(|team| &team.program.sizes_ignored);
        let given = profile.channels[index].bytes.is_some() || steps.any(|it| it.contains(&index));
        if let (true, Some(kind)) = (given && !channel.has_payload(), channel.kind) {
            let (kind, name) = (kind.name, &channel.name);
            notes.push(format!("bytes are not carried by {kind} (channel `{name}`)"));
        }
        if !teams.iter().any(|team| team.program.named.contains(&index)) {
            notes.push(format!("nobody uses channel `{}`", channel.name));
        }
    }
    for team in teams {
        if team.program.ops.is_empty() {
            notes.push(format!("team `{}` has nothing to do", team.name));
        }
    }
    notes
}
