//! What this machine is to a plan: its CPUs and nodes, where members go, whether it may run here.
//!
//! Must not know: what the profile's words were, what steps do.

use super::placement::{self, Members, PlaceWords};
use super::{Overrides, Plan, PlanCpu, PlanError, PlanNode, Refusal, needs, scheduling, sync};
use crate::base::unit;
use crate::host::Host;
use crate::host::topology::Node;

pub(super) fn cpus(host: &Host) -> Vec<PlanCpu> {
    let cpus = host.topology.cpus.iter();
    cpus.map(|cpu| PlanCpu { id: cpu.id, place: cpu.place, allowed: host.allowed.contains(cpu.id) })
        .collect()
}

pub(super) fn nodes(host: &Host) -> Vec<PlanNode> {
    let nodes = host.topology.nodes.iter();
    // A kernel without NUMA tells of no node's memory, and has all of it on node 0.
    let has_memory = |node: &Node| node.memory_bytes != Some(0);
    let all: Vec<&Node> = nodes.clone().collect();
    let distance = |from: usize, to: usize| match &host.topology.distances {
        Some(distances) => distances[from][to],
        None => u64::from(from != to),
    };
    let farthest = |from: usize| {
        let behind = (1..=all.len()).map(|by| (from + by) % all.len());
        let behind = behind.filter(|to| has_memory(all[*to]));
        // Of the largest the first.
        let far = behind.rev().max_by_key(|to| distance(from, *to));
        far.map_or(all[from].id, |to| all[to].id)
    };
    let plan = |(at, node): (usize, &Node)| PlanNode {
        id: node.id,
        has_memory: has_memory(node),
        farthest: farthest(at),
    };
    nodes.enumerate().map(plan).collect()
}

/// Whether there are as many nodes as the profile is about.
pub(super) fn enough_nodes(
    plan: &mut Plan,
    wanted: u32,
    host: &Host,
    overrides: &Overrides,
) -> Result<(), PlanError> {
    let has = |node: &&PlanNode| {
        node.has_memory && host.limits.nodes.iter().all(|it| it.id != node.id || it.allowed)
    };
    let found = plan.nodes.iter().filter(has).count();
    // Where /sys is missing no memory is seen on any node; there is some somewhere all the same.
    if wanted <= 1 || found >= wanted as usize {
        return Ok(());
    }
    let nodes = unit::counted(found as u64, "NUMA node");
    if overrides.allow_single_node {
        plan.notes.push(format!(
            "{nodes} with memory, and the profile is about {wanted}: a smoke test that compares \
             with nothing"
        ));
        return Ok(());
    }
    let message = format!(
        "profile `{}` is about {wanted} NUMA nodes, and this machine lets us use {nodes} with \
         memory",
        plan.profile
    );
    let help = "run it on such a machine or in a virtual one, or try that it works at all with \
                `--allow-single-node`";
    Err(PlanError::Host(vec![Refusal::new(message).with_help(help)]))
}

/// Places the members and asks whether this host can run it.
pub(super) fn place(
    plan: &mut Plan,
    words: &[Vec<PlaceWords>],
    host: &Host,
    overrides: &Overrides,
) -> Result<(), PlanError> {
    let mut refusals = Vec::new();
    if !plan.cpus.iter().any(|cpu| cpu.allowed) {
        let message = format!("no online CPU is allowed here; allowed: `{}`", host.allowed);
        refusals.push(Refusal::new(message).with_help("start with a wider CPU mask"));
        return Err(PlanError::Host(refusals));
    }
    for (team, words) in plan.teams.iter_mut().zip(words) {
        let members = Members {
            who: &format!("team `{}`", team.name),
            size: team.size,
            copies: plan.copies,
            lenient: overrides.allow_single_node,
        };
        match placement::assign(words, &members, host) {
            Ok(cpus) => team.cpus = cpus,
            Err(more) => refusals.extend(more),
        }
        match placement::starts(words, &members, host) {
            Ok(cpus) => team.start_cpus = cpus,
            Err(more) => refusals.extend(more),
        }
        scheduling::rights(team, host, &mut refusals);
    }
    sync::crowding(plan);
    plan.needs = needs::of(plan);
    needs::check(plan, host, &mut refusals);
    match refusals.is_empty() {
        true => Ok(()),
        false => Err(PlanError::Host(refusals)),
    }
}
