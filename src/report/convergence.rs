//! Whether the tasks of an instance and its memory came together: local share, convergence, passes
//! of the NUMA balancer.
//!
//! METHODOLOGY.md has the formulas. Must not know: who of the two moved (`trial.rs`).

use crate::base::Reading;
use crate::record::timeline::InstanceRecord;
use crate::report::judge::{Case, seconds};
use crate::report::looks::{self, Look};
use serde::{Deserialize, Serialize};

/// How the memory of one instance lay to its tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstancePlacement {
    pub instance: u32,
    /// The signal that killed one of its processes.
    #[serde(default)]
    pub signal: Option<i32>,
    /// Chance that a task and a page of memory that the tasks share were on one node, over time.
    pub local_share: Judged,
    /// Since when tasks and memory were together for good (s since the gate).
    pub convergence_s: Judged,
    /// Passes of the NUMA balancer over its address space (growth of `mm->numa_scan_seq`).
    pub scan_passes: Judged,
}

/// A number, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    pub value: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Judged {
    pub(super) fn of(value: Result<f64, String>) -> Judged {
        match value {
            Ok(value) => Judged { value: Some(value), reason: None },
            Err(reason) => Judged { value: None, reason: Some(reason) },
        }
    }

    pub(super) fn result(&self) -> Result<f64, String> {
        self.value.ok_or_else(|| self.reason.clone().unwrap_or_default())
    }
}

/// Together: so much of the memory is on nodes that have a task ...
pub const PAGES_WITH_TASKS: f64 = 0.9;
/// ... and so many of the tasks on nodes that have memory: with tasks on all nodes, all memory on
/// one of them would do for the first. A stray task of many is no divorce.
pub const TASKS_WITH_PAGES: f64 = 0.75;
/// A node with less of the memory than this has none.
pub const HAS_PAGES: f64 = 0.05;
/// Fewer looks in a row than this at the end of a run are not "for good".
pub const FOR_GOOD_LOOKS: usize = 3;

/// One for each instance; none for a plan without memory regions.
pub(super) fn all(case: &Case<'_>) -> Vec<InstancePlacement> {
    if case.plan.memory.is_empty() {
        return Vec::new();
    }
    (0..case.plan.instances).map(|instance| of_instance(case, instance)).collect()
}

fn of_instance(case: &Case<'_>, instance: u32) -> InstancePlacement {
    let looks = looks::of(case, instance as usize);
    let record = case.recording.instances.get(instance as usize);
    let sliced = case.plan.memory.iter().all(|region| region.count > 1);
    InstancePlacement {
        instance,
        signal: record.and_then(|record| record.signal),
        local_share: Judged::of(match sliced {
            true => Err("each region is cut into slices, and which task's slice is where is not \
                         looked at"
                .to_owned()),
            false => local_share(&looks),
        }),
        convergence_s: Judged::of(convergence(&looks)),
        scan_passes: Judged::of(scan_passes(record)),
    }
}

/// A look counts for the time until the next one.
fn local_share(looks: &[Look]) -> Result<f64, String> {
    let (mut local, mut time) = (0.0, 0.0);
    let mut plain = Vec::new();
    for (at, look) in looks.iter().enumerate() {
        let Some(share) = at_once(look) else { continue };
        let until = looks.get(at + 1).map_or(look.at_ns, |next| next.at_ns);
        let weight = until.saturating_sub(look.at_ns) as f64;
        (local, time) = (local + weight * share, time + weight);
        plain.push(share);
    }
    match (time > 0.0, plain.len()) {
        (true, _) => Ok(local / time),
        (false, 0) => Err(nothing_known(looks)),
        (false, n) => Ok(plain.iter().sum::<f64>() / n as f64),
    }
}

/// The chance that a task and a page, each drawn at random, are on one node.
fn at_once(look: &Look) -> Option<f64> {
    let tasks = looks::shares(look.tasks.as_ref()?)?;
    let pages = look.shared.as_ref()?;
    Some(tasks.iter().zip(pages).map(|(task, page)| task * page).sum())
}

fn nothing_known(looks: &[Look]) -> String {
    match looks {
        [] => "nobody looked where tasks and pages were",
        _ if looks.iter().all(|look| look.pages.is_none()) => {
            "no look told where pages were; the source move_pages has the reason"
        }
        _ => "no look found both tasks that run and pages in memory",
    }
    .to_owned()
}

fn convergence(looks: &[Look]) -> Result<f64, String> {
    let last = looks.iter().rev().find_map(together).ok_or_else(|| nothing_known(looks))?;
    let holds = |(pages, tasks): (f64, f64)| pages >= PAGES_WITH_TASKS && tasks >= TASKS_WITH_PAGES;
    match looks::since(looks, |look| together(look).map(holds)) {
        Some((at_ns, n)) if n >= FOR_GOOD_LOOKS => Ok(seconds(at_ns)),
        Some((_, n)) => Err(format!(
            "tasks and memory were together in the last {n} looks only, too few to be for good"
        )),
        None => Err(format!(
            "never: at the last look {:.0} % of the memory was on nodes with tasks, and {:.0} % of \
             the tasks on nodes with memory",
            last.0 * 100.0,
            last.1 * 100.0
        )),
    }
}

/// The share of pages on nodes with tasks, and of tasks on nodes with pages.
fn together(look: &Look) -> Option<(f64, f64)> {
    let tasks = looks::shares(look.tasks.as_ref()?)?;
    let pages = look.pages.as_ref()?;
    let both = || tasks.iter().zip(pages);
    let with_tasks = both().filter(|(task, _)| **task > 0.0).map(|(_, page)| page).sum();
    let with_pages = both().filter(|(_, page)| **page >= HAS_PAGES).map(|(task, _)| task).sum();
    Some((with_tasks, with_pages))
}

fn scan_passes(record: Option<&InstanceRecord>) -> Result<f64, String> {
    let record = record.ok_or("nothing was recorded of the instance")?;
    let read = |reading: &Reading<u64>| match reading {
        Reading::Value(value) => Ok(*value),
        Reading::Absent(absence) => {
            Err(format!("numa_scan_seq: {}: {}", absence.state, absence.reason))
        }
    };
    let (before, after) = (read(&record.scan_seq[0])?, read(&record.scan_seq[1])?);
    let growth = after.checked_sub(before);
    growth.map(|n| n as f64).ok_or_else(|| {
        format!("numa_scan_seq fell from {before} to {after}: not one address space's")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::State;
    use crate::record::Recording;
    use crate::report::fixture_memory::{self as made, pages, seen, timeline, unknown};
    use crate::report::{Report, fixture};

    /// A look: tasks by node, hundredths of the area and of the slices on node 1.
    type Seen = ([u32; 2], u32, u32);

    fn placement(recording: Recording) -> Vec<InstancePlacement> {
        let plan = made::two_instances_plan();
        Report::judge(&plan, &fixture::host(), &[recording]).runs.remove(0).placement
    }

    /// Both instances look the same here.
    fn of_looks(looks: &[Seen]) -> InstancePlacement {
        let one = |&(tasks, area, own): &Seen| seen(tasks, vec![pages(area), pages(own)]);
        let looks = looks.iter().map(|look| vec![one(look), one(look)]).collect();
        placement(Recording { timeline: timeline(looks), ..made::two_instances() }).remove(0)
    }

    fn rounded(judged: &Judged) -> Result<f64, String> {
        judged.result().map(|value| (value * 1e6).round() / 1e6)
    }

    #[test]
    fn local_share_is_the_chance_of_one_node_over_time() {
        let check = |looks: &[Seen], expected: f64| {
            assert_eq!(rounded(&of_looks(looks).local_share), Ok(expected), "{looks:?}");
        };
        check(&[([2, 0], 0, 0)], 1.0);
        check(&[([2, 0], 100, 0)], 0.0);
        check(&[([1, 1], 0, 0)], 0.5);
        check(&[([1, 1], 50, 0)], 0.5);
        check(&[([2, 0], 25, 0)], 0.75);
        // The slices do not count: whose slice is where is not known.
        check(&[([2, 0], 25, 100)], 0.75);
        // Each look counts until the next, the last one for nothing.
        check(&[([2, 0], 0, 0), ([2, 0], 100, 0)], 1.0);
        check(&[([2, 0], 0, 0), ([2, 0], 100, 0), ([2, 0], 0, 0)], 0.5);
        // Without tasks there is nothing that could be local.
        check(&[([2, 0], 0, 0), ([0, 0], 100, 0), ([2, 0], 0, 0)], 1.0);
    }

    #[test]
    fn slices_alone_have_no_local_share() {
        let mut plan = made::two_instances_plan();
        plan.memory.iter_mut().for_each(|region| region.count = 2);
        let report = Report::judge(&plan, &fixture::host(), &[made::two_instances()]);
        let placement = &report.runs[0].placement[0];
        assert!(placement.local_share.result().unwrap_err().contains("slices"));
        assert!(placement.convergence_s.value.is_some());
    }

    #[test]
    fn convergence_is_for_good_and_mutual() {
        let check = |looks: &[Seen], expected: Result<f64, &str>| {
            let got = rounded(&of_looks(looks).convergence_s);
            match (&got, expected) {
                (Ok(got), Ok(expected)) => assert_eq!(*got, expected, "{looks:?}"),
                (Err(got), Err(expected)) => assert!(got.contains(expected), "{got}"),
                _ => panic!("{looks:?}: {got:?}, not {expected:?}"),
            }
        };
        let (at_home, apart) = (([2, 0], 0, 0), ([0, 2], 0, 0));
        check(&[at_home; 3], Ok(0.0));
        check(&[at_home; 2], Err("the last 2 looks only"));
        check(&[apart; 4], Err("0 % of the memory was on nodes with tasks"));
        check(&[apart, at_home, at_home, at_home], Ok(0.2));
        check(&[at_home, at_home, at_home, apart], Err("never"));
        check(&[at_home, apart, at_home, at_home, at_home], Ok(0.4));
        // Tasks on both nodes, memory on one: half of the tasks have none near.
        check(&[([1, 1], 0, 0); 4], Err("50 % of the tasks on nodes with memory"));
        check(&[([1, 1], 50, 50); 4], Ok(0.0));
        check(&[([3, 1], 0, 0); 4], Ok(0.0));
        check(&[([2, 0], 10, 10); 4], Ok(0.0));
        check(&[([2, 0], 11, 11); 4], Err("89 % of the memory"));
        // A look without tasks neither breaks nor makes it.
        check(&[at_home, ([0, 0], 100, 100), at_home, at_home], Ok(0.0));
        check(&[([0, 0], 0, 0); 4], Err("no look found both"));
    }

    #[test]
    fn what_cannot_be_read_is_unknown() {
        let all = placement(made::all_absent());
        for instance in &all {
            for judged in [&instance.local_share, &instance.convergence_s, &instance.scan_passes] {
                assert_eq!(judged.value, None);
            }
            assert!(instance.local_share.result().unwrap_err().contains("move_pages"));
            assert!(instance.scan_passes.result().unwrap_err().contains("absent: no line"));
        }
        let mut recording = made::two_instances();
        recording.timeline.samples.clear();
        let placement = placement(recording);
        assert!(placement[0].convergence_s.result().unwrap_err().contains("nobody looked"));
    }

    #[test]
    fn one_region_that_was_not_seen_makes_a_look_unknown() {
        let mut recording = made::two_instances();
        recording.timeline.samples[20].instances[0].regions[1] = unknown();
        let before = placement(made::two_instances());
        let after = placement(recording);
        // The area alone is shared, and it was seen.
        assert_eq!(before[0].local_share, after[0].local_share);
        assert_eq!(before[0].convergence_s, after[0].convergence_s);
    }

    #[test]
    fn scan_passes_are_a_growth() {
        let check = |before, after, expected: Option<f64>| {
            let mut recording = made::two_instances();
            recording.instances[0].scan_seq = [before, after];
            assert_eq!(placement(recording)[0].scan_passes.value, expected);
        };
        let gone = || Reading::absent(State::Absent, "gone");
        check(Reading::Value(3), Reading::Value(8), Some(5.0));
        check(Reading::Value(3), Reading::Value(3), Some(0.0));
        check(Reading::Value(3), Reading::Value(2), None);
        check(gone(), Reading::Value(2), None);
        check(Reading::Value(3), gone(), None);
    }

    #[test]
    fn a_killed_instance_leaves_the_others() {
        let all = placement(made::one_killed());
        assert_eq!(all.iter().map(|it| it.signal).collect::<Vec<_>>(), [None, Some(9)]);
        assert!(all[0].scan_passes.value.is_some());
        assert!(all[1].scan_passes.value.is_none());
    }
}
