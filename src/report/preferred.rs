//! Where NUMA balancing wants the tasks of each team: their preferred nodes, and the hint faults
//! that it has them from.
//!
//! None for a plan without memory regions. Must not know: where tasks and pages were.

use crate::base::Reading;
use crate::host::numa;
use crate::record::recording::{TaskRecord, TeamRecord};
use crate::report::Sourced;
use crate::report::judge::Case;
use crate::report::sources;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The tasks of a team as NUMA balancing had them at their ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TeamNuma {
    pub team: String,
    /// Sum of the tasks' `total_numa_faults`, which the kernel halves at each scan pass. Without it
    /// `preferred` is empty, for the same reason.
    pub faults: Sourced,
    /// Nodes that are preferred by a task, in order; tasks without any come first.
    pub preferred: Vec<Preferred>,
}

/// So many tasks prefer a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preferred {
    /// `None`: the kernel has chosen none yet.
    pub node: Option<u32>,
    pub tasks: u32,
}

/// One for each team.
pub(super) fn all(case: &Case<'_>) -> Vec<TeamNuma> {
    if case.plan.memory.is_empty() {
        return Vec::new();
    }
    let balancing = numa::balancing(case.host);
    let team = |(at, team): (usize, &TeamRecord)| {
        let tasks = case.recording.tasks.iter().filter(|task| task.team == at);
        let tasks: Vec<&TaskRecord> = tasks.collect();
        // Where the balancer cannot act, zeros say nothing but that.
        let faults = match &balancing {
            Reading::Absent(absence) => Sourced::of(Reading::Absent(absence.clone())),
            Reading::Value(_) => sources::sum(&tasks, |kernel| &kernel.numa_faults),
        };
        let preferred = match faults.value {
            Some(_) => preferred(&tasks),
            None => Vec::new(),
        };
        TeamNuma { team: team.name.clone(), faults, preferred }
    };
    case.recording.teams.iter().enumerate().map(team).collect()
}

fn preferred(tasks: &[&TaskRecord]) -> Vec<Preferred> {
    let mut by_node = BTreeMap::new();
    let out = tasks.iter().filter(|task| task.checked_out);
    for node in out.filter_map(|task| task.kernel.preferred_node.value()) {
        *by_node.entry(node.map(|node| node.0)).or_default() += 1;
    }
    by_node.into_iter().map(|(node, tasks)| Preferred { node, tasks }).collect()
}

#[cfg(test)]
mod tests {
    use crate::base::{NodeId, Reading, State};
    use crate::host::Host;
    use crate::record::Recording;
    use crate::report::fixture_memory as made;
    use crate::report::{Report, fixture};

    /// `team: node=tasks ...; faults` of what a change makes of two processes.
    fn check(change: fn(&mut Recording, &mut Host), expected: &str) {
        let (mut recording, mut host) = (made::two_instances(), fixture::host());
        change(&mut recording, &mut host);
        let report = Report::judge(&made::two_instances_plan(), &host, &[recording]);
        let [it] = &report.runs[0].numa[..] else { panic!("one team") };
        let node = |node: Option<u32>| node.map_or("none".to_owned(), |node| node.to_string());
        let nodes = it.preferred.iter().map(|it| format!(" {}={}", node(it.node), it.tasks));
        let faults = match (it.faults.value, &it.faults.reason) {
            (Some(faults), None) => faults.to_string(),
            (faults, reason) => {
                format!("{faults:?}: {}: {}", it.faults.state, reason.as_ref().unwrap())
            }
        };
        assert_eq!(format!("{}:{}; {faults}", it.team, nodes.collect::<String>()), expected);
    }

    #[test]
    fn nodes_and_faults_of_a_team() {
        check(|_, _| (), "sweeper: 0=2 1=2; 36000");
        let early = |run: &mut Recording, _: &mut Host| {
            run.tasks[0].kernel.preferred_node = Reading::Value(None);
            run.tasks[1].kernel.preferred_node = Reading::Value(Some(NodeId(7)));
        };
        check(early, "sweeper: none=1 1=2 7=1; 36000");
    }

    #[test]
    fn unknown_says_why() {
        let old = |run: &mut Recording, _: &mut Host| {
            run.tasks[3].kernel.numa_faults = Reading::absent(State::Absent, "no such line");
        };
        check(old, "sweeper:; None: absent: no such line (1 of 4 tasks)");
        let off = |_: &mut Recording, host: &mut Host| {
            let fact = host.facts.iter_mut().find(|fact| fact.key == "numa_balancing");
            fact.unwrap().value = Reading::Value("0".to_owned());
        };
        check(
            off,
            "sweeper:; None: disabled: /proc/sys/kernel/numa_balancing is 0; switch it on as \
             root: `echo 1 > /proc/sys/kernel/numa_balancing`",
        );
        let killed = |run: &mut Recording, _: &mut Host| *run = made::one_killed();
        check(killed, "sweeper: 0=2; Some(18000): ok: over 2 of 4 tasks");
    }

    #[test]
    fn none_without_memory() {
        assert!(fixture::reports()["plain"].runs[0].numa.is_empty());
    }
}
