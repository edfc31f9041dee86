//! A cgroup for each instance: its CPUs, nodes and shares, resolved for this machine.
//!
//! Must not know: how a cgroup is made.

use super::memory::all_nodes;
use super::number::{self, Wanted};
use super::placement::{self, Members, PlaceWords};
use super::scope::Scope;
use super::{CgroupPlan, Overrides, Refusal};
use crate::base::{NodeId, Unit};
use crate::host::Host;
use crate::profile::{Cgroup, Fault, Profile};

/// cpu.weight takes 1 to 10,000 (Documentation/admin-guide/cgroup-v2.rst, v6.12); 0 is no cgroup.
const WEIGHT_MAX: u32 = 10_000;
/// The period of cpu.max that the kernel has by default (ns).
const PERIOD_NS: u64 = 100_000_000;

/// The words of an instance's cgroup, its places still to be asked of the machine.
pub(super) struct CgroupWords {
    cpus: PlaceWords,
    mems: Option<NodeId>,
    weight: Option<u32>,
    quota_ns: Option<u64>,
}

/// By instance; empty if the profile has none, or of weight 0. `None` only with a fault.
pub(super) fn words(
    profile: &Profile,
    instances: Option<u32>,
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> Option<Vec<CgroupWords>> {
    let Some(cgroup) = &profile.cgroup else {
        return Some(Vec::new());
    };
    let Some(instances) = instances else {
        let message = "a cgroup is of an instance, and threads are in schedload's own process";
        let fault = Fault::new(cgroup.span.clone(), message);
        faults.push(fault.with_help("add `instances = 1`, or as many as there shall be"));
        return None;
    };
    let one = |instance| one(cgroup, &scope.in_team(1).in_instance(instance), faults);
    let words: Vec<CgroupWords> = (0..instances).map(one).collect::<Option<_>>()?;
    match words.iter().filter(|it| it.weight == Some(0)).count() {
        0 => Some(words),
        n if n == words.len() => Some(Vec::new()),
        _ => {
            let message = "the cgroup's weight is 0 for some instances, which is no cgroup";
            let fault = Fault::new(cgroup.span.clone(), message);
            faults.push(fault.with_help("make it 0 for all, or for none"));
            None
        }
    }
}

fn one(cgroup: &Cgroup, scope: &Scope, faults: &mut Vec<Fault>) -> Option<CgroupWords> {
    let before = faults.len();
    let cpus = placement::part(&cgroup.cpus, scope, faults);
    let mut number = |expr: &Option<crate::profile::Expr>, wanted: &Wanted| {
        expr.as_ref().and_then(|expr| number::whole(expr, wanted, scope, faults))
    };
    let node = Wanted::new("the cgroup's node", Unit::Count, 0.0, f64::from(u32::MAX));
    let mems = number(&cgroup.mems, &node).map(|node| NodeId(node as u32));
    let weight = number(&cgroup.weight, &Wanted::count("the cgroup's weight", 0, WEIGHT_MAX));
    // At least what the kernel takes: 1 ms of 100.
    let max = number(&cgroup.max, &Wanted::new("the cgroup's CPUs", Unit::Share, 0.01, 1e6));
    (faults.len() == before).then(|| CgroupWords {
        cpus: PlaceWords { on: cpus, ..PlaceWords::default() },
        mems,
        weight: weight.map(|weight| weight as u32),
        quota_ns: max.map(|max| (max * PERIOD_NS as f64) as u64),
    })
}

/// The cgroups on this machine, or what stands against them.
pub(super) fn on_this_host(
    words: &[CgroupWords],
    host: &Host,
    overrides: &Overrides,
) -> Result<Vec<CgroupPlan>, Vec<Refusal>> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    if host.made_up.is_none() && host.limits.cgroup_v2.is_none() {
        let message = "the profile gives each instance a cgroup, and no file system of cgroups v2 \
                       is mounted here";
        let help = "run it where cgroups v2 are, or without `cgroup`";
        return Err(vec![Refusal::new(message).with_help(help)]);
    }
    if let Some(why) = &host.limits.cgroup_v2_barred {
        let message = format!("the profile gives each instance a cgroup: {why}");
        let help = "run it as root, in a delegated cgroup (`systemd-run --user --scope -p \
                    Delegate=yes`), or without `cgroup`";
        return Err(vec![Refusal::new(message).with_help(help)]);
    }
    no_controller(words, host)?;
    let nodes = all_nodes(host);
    let plan = |words: &CgroupWords| {
        let lenient = overrides.allow_single_node;
        let members = Members { who: "the cgroup of an instance", size: 1, copies: 1, lenient };
        let cpus = placement::assign(std::slice::from_ref(&words.cpus), &members, host)?;
        let node = words.mems.filter(|node| !lenient || nodes.contains(node));
        if let Some(node) = node.filter(|node| !nodes.contains(node)) {
            let message = format!("node {} has no memory for a cgroup", node.0);
            return Err(vec![Refusal::new(message).with_help("ask for another")]);
        }
        Ok(CgroupPlan {
            cpus: cpus.into_iter().next(),
            node,
            weight: words.weight,
            quota_ns: words.quota_ns,
            period_ns: PERIOD_NS,
        })
    };
    words.iter().map(plan).collect()
}

/// Refuses keys whose controller is not to be had here.
fn no_controller(words: &[CgroupWords], host: &Host) -> Result<(), Vec<Refusal>> {
    let Some(known) = host.limits.cgroup_v2_controllers.as_ref() else {
        return Ok(());
    };
    let is_set = |words: &CgroupWords| {
        [
            ("cpus", "cpuset", words.cpus.on.is_some()),
            ("mems", "cpuset", words.mems.is_some()),
            ("weight", "cpu", words.weight.is_some()),
            ("max", "cpu", words.quota_ns.is_some()),
        ]
    };
    let keys = words.first().into_iter().flat_map(is_set);
    let lacking = keys.filter(|(_, name, is_set)| *is_set && !known.iter().any(|it| it == name));
    let refusal = |(key, name, _): (&str, &str, bool)| {
        let message = format!(
            "`{key}` of the cgroup of an instance needs the controller {name}, and our cgroup of \
             version 2 has {}",
            if known.is_empty() { "none".to_owned() } else { known.join(", ") }
        );
        let help = "run it where cgroups v2 have it (it may be in use by version 1, or not \
                    delegated), or leave the key out";
        Refusal::new(message).with_help(help)
    };
    let refusals: Vec<Refusal> = lacking.map(refusal).collect();
    if refusals.is_empty() { Ok(()) } else { Err(refusals) }
}
