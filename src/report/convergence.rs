//! Whether the tasks of an instance and its memory came together: local share, convergence, passes
//! of the NUMA balancer.
//!
//! METHODOLOGY.md has the formulas. Must not know: who of the two moved (`trial.rs`).

use crate::base::Reading;
use crate::plan::Space;
use crate::record::timeline::SpaceRecord;
use crate::report::judge::{Case, seconds};
use crate::report::looks::{self, Look};
use crate::report::memory_doubts;
use serde::{Deserialize, Serialize};

/// How the memory of one instance lay to its tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstancePlacement {
    pub instance: u32,
    /// The signal that killed one of its processes.
    #[serde(default)]
    pub signal: Option<i32>,
    /// Which it was, where an instance has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub killed_process: Option<String>,
    /// Chance that a task and a page of its memory were on one node, over time.
    pub local_share: Judged,
    /// Since when tasks and memory were together for good (s since the gate).
    pub convergence_s: Judged,
    /// Passes of the NUMA balancer over its address space (growth of `mm->numa_scan_seq`); of
    /// several with regions, the fewest.
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
    let spaces = case.plan.spaces();
    let records = || spaces.iter().zip(&case.recording.spaces);
    let of_instance = |instance| {
        let own = records().filter(|(space, _)| space.instance == instance).collect();
        of_instance(case, instance, own)
    };
    (0..case.plan.instances).map(of_instance).collect()
}

fn of_instance(
    case: &Case<'_>,
    instance: u32,
    records: Vec<(&Space, &SpaceRecord)>,
) -> InstancePlacement {
    let looks = looks::of(case, instance as usize);
    let killed = records.iter().find_map(|(space, record)| Some((space.process, record.signal?)));
    let process = |(process, _): (usize, i32)| case.plan.processes.get(process);
    let convergence = match memory_doubts::nodes(case).len() {
        0 | 1 => Err("n/a: on one node all are together from the first".to_owned()),
        _ => convergence(&looks),
    };
    InstancePlacement {
        instance,
        signal: killed.map(|(_, signal)| signal),
        killed_process: killed.and_then(process).map(|process| process.name.clone()),
        local_share: Judged::of(local_share(case, instance, &looks)),
        convergence_s: Judged::of(convergence),
        scan_passes: Judged::of(scan_passes(case, &records)),
    }
}

/// A look counts for the time until the next one.
fn local_share(case: &Case<'_>, instance: u32, looks: &[Look]) -> Result<f64, String> {
    if !case.plan.usages().iter().any(looks::counts) {
        return Err("no region is used as a whole, and no slice by one task alone".to_owned());
    }
    let (mut local, mut time) = (0.0, 0.0);
    let mut plain = Vec::new();
    for (at, look) in looks.iter().enumerate() {
        let Some(share) = look.local else { continue };
        let until = looks.get(at + 1).map_or(look.at_ns, |next| next.at_ns);
        let weight = until.saturating_sub(look.at_ns) as f64;
        (local, time) = (local + weight * share, time + weight);
        plain.push(share);
    }
    match (time > 0.0, plain.len()) {
        (true, _) => Ok(local / time),
        (false, 0) if looks::blind(case, instance as usize) => {
            Err("it was not told which pages are in which slice".to_owned())
        }
        (false, 0) => Err(nothing_known(looks)),
        (false, n) => Ok(plain.iter().sum::<f64>() / n as f64),
    }
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

/// The fewest of its address spaces that have regions.
fn scan_passes(case: &Case<'_>, records: &[(&Space, &SpaceRecord)]) -> Result<f64, String> {
    let has_memory = |space: &Space| {
        (0..case.plan.memory.len()).any(|region| case.plan.has(space.process, region))
    };
    let records = records.iter().filter(|(space, _)| has_memory(space));
    let passes: Vec<f64> =
        records.map(|(_, record)| passes(record)).collect::<Result<_, String>>()?;
    let fewest = passes.into_iter().reduce(f64::min);
    fewest.ok_or_else(|| "nothing was recorded of the instance".to_owned())
}

fn passes(record: &SpaceRecord) -> Result<f64, String> {
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
    use crate::plan::{Amount, Op, Pick};
    use crate::record::Recording;
    use crate::record::timeline::Pages;
    use crate::report::fixture_memory::{self as made, own, pages, seen, timeline, unknown};
    use crate::report::{Report, fixture};

    /// A look: tasks by node, hundredths of the area and of the slices on node 1.
    type Seen = ([u32; 2], u32, u32);

    fn placement(recording: Recording) -> Vec<InstancePlacement> {
        let plan = made::two_instances_plan();
        Report::judge(&plan, &fixture::host(), &[recording]).runs.remove(0).placement
    }

    /// Both instances look the same here.
    fn of_looks(looks: &[Seen]) -> InstancePlacement {
        let one =
            |&(tasks, area, slices): &Seen| seen(tasks, vec![pages(area), own(tasks, slices)]);
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
        check(&[([2, 0], 100, 100)], 0.0);
        check(&[([1, 1], 0, 0)], 0.5);
        check(&[([1, 1], 50, 0)], 0.5);
        // Of the area's 1024 MiB three quarters are local, of the slices' 64 MiB none.
        check(&[([2, 0], 25, 100)], 0.705_882);
        check(&[([2, 0], 25, 25)], 0.75);
        // Each look counts until the next, the last one for nothing.
        check(&[([2, 0], 0, 0), ([2, 0], 100, 100)], 1.0);
        check(&[([2, 0], 0, 0), ([2, 0], 100, 100), ([2, 0], 0, 0)], 0.5);
        // Without tasks there is nothing that could be local, as at the gate.
        check(&[([2, 0], 0, 0), ([0, 0], 100, 0), ([2, 0], 0, 0)], 1.0);
        check(&[([0, 0], 0, 0), ([2, 0], 100, 100), ([2, 0], 0, 0)], 0.0);
    }

    #[test]
    fn a_slice_is_local_to_its_task() {
        // Of one look at two tasks and their slices, an area beside them left out.
        let check = |of_slices: Reading<Pages>, expected: Result<f64, &str>| {
            let mut plan = made::two_instances_plan();
            plan.memory.remove(0);
            plan.teams[0].ops.remove(0);
            let Op::Use(sweep) = &mut plan.teams[0].ops[0] else { panic!("a sweep") };
            sweep.at.region = 0;
            let looks = vec![vec![seen([1, 1], vec![of_slices.clone()]); 2]; 2];
            let recording = Recording { timeline: timeline(looks), ..made::two_instances() };
            let report = Report::judge(&plan, &fixture::host(), &[recording]);
            let got = rounded(&report.runs[0].placement[0].local_share);
            assert_eq!(got, expected.map_err(str::to_owned), "{of_slices:?}");
        };
        let slices = |own: Option<[[u32; 2]; 2]>| {
            pages(50).map(|it| Pages { own: own.map(|own| own.map(Vec::from).into()), ..it })
        };
        check(slices(Some([[50, 0], [0, 50]])), Ok(1.0));
        check(slices(Some([[0, 50], [50, 0]])), Ok(0.0));
        check(slices(Some([[50, 0], [50, 0]])), Ok(0.5));
        check(slices(Some([[30, 10], [0, 0]])), Ok(0.75));
        check(
            slices(Some([[0, 0], [0, 0]])),
            Err("no look found both tasks that run and pages in memory"),
        );
        check(slices(None), Err("it was not told which pages are in which slice"));
    }

    #[test]
    fn slices_of_nobody_have_no_local_share() {
        let mut plan = made::two_instances_plan();
        plan.memory.iter_mut().for_each(|region| region.count = 2);
        let named_by_both = plan.teams[0].ops[1].clone();
        let Op::Use(sweep) = &mut plan.teams[0].ops[0] else { panic!("a sweep") };
        sweep.at.slice = Pick::At(Amount::Fixed(0));
        plan.teams
            .push(crate::plan::TeamPlan { ops: vec![named_by_both], ..plan.teams[0].clone() });
        let report = Report::judge(&plan, &fixture::host(), &[made::two_instances()]);
        let placement = &report.runs[0].placement[0];
        let reason = "no region is used as a whole, and no slice by one task alone";
        assert_eq!(placement.local_share.result(), Err(reason.to_owned()));
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
        check(&[([0, 0], 0, 0), at_home, at_home, at_home], Ok(0.2));
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
        // Of 59 looks that count, 8 had half of it local and the others all.
        assert_eq!(rounded(&before[0].local_share), Ok(0.932_203));
        assert_eq!(rounded(&after[0].local_share), Ok(0.931_034));
        assert_eq!(before[0].convergence_s, after[0].convergence_s);
    }

    #[test]
    fn scan_passes_are_a_growth() {
        let check = |before, after, expected: Option<f64>| {
            let mut recording = made::two_instances();
            recording.spaces[0].scan_seq = [before, after];
            assert_eq!(placement(recording)[0].scan_passes.value, expected);
        };
        let gone = || Reading::absent(State::Absent, "gone");
        check(Reading::Value(3), Reading::Value(8), Some(5.0));
        check(Reading::Value(3), Reading::Value(3), Some(0.0));
        check(Reading::Value(3), Reading::Value(2), None);
        check(gone(), Reading::Value(2), None);
        check(Reading::Value(3), gone(), None);
    }

    /// Two processes with the area each for itself, and one without.
    #[test]
    fn an_instance_may_be_several_processes() {
        use crate::plan::{Amount, Op, Pick, ProcessPlan, Slice, Use};
        let mut plan = made::two_instances_plan();
        (plan.instances, plan.copies) = (1, 1);
        plan.memory.truncate(1);
        let sweep = Op::Use(Box::new(Use {
            verb: "sweep".to_owned(),
            at: Slice { region: 0, slice: Pick::All },
            from: None,
            and: None,
            access: "read".to_owned(),
            halo: 0.0,
            part: None,
            count: Amount::Fixed(1),
            skew: None,
        }));
        plan.teams = vec![plan.teams[0].clone(); 3];
        plan.teams[2].ops.clear();
        plan.teams[..2].iter_mut().for_each(|team| team.ops = vec![sweep.clone()]);
        let names = ["client", "server", "idler"].into_iter().zip(0..);
        let process = |(name, team): (&str, u32)| ProcessPlan {
            name: name.to_owned(),
            about: String::new(),
            teams: vec![team],
        };
        plan.processes = names.map(process).collect();
        let mut recording = made::two_instances();
        recording.spaces.push(recording.spaces[0].clone());
        for (space, passes) in recording.spaces.iter_mut().zip([5, 2, 0]) {
            space.scan_seq = [1, 1 + passes].map(Reading::Value);
        }
        recording.spaces[1].signal = Some(9);
        let report = Report::judge(&plan, &fixture::host(), &[recording]);
        let [placement] = &report.runs[0].placement[..] else { panic!("one instance") };
        assert_eq!(placement.scan_passes.value, Some(2.0), "of those with memory the fewest");
        let killed = (placement.signal, placement.killed_process.as_deref());
        assert_eq!(killed, (Some(9), Some("server")));
        let reason = placement.local_share.reason.as_deref().unwrap();
        assert!(reason.contains("no region is used as a whole"), "{reason}");
        let caveat = report.runs[0].caveats.iter().find(|it| it.id == "instance_killed").unwrap();
        assert!(caveat.text.starts_with("process `server` of instance 0 was killed by signal 9"));
    }

    #[test]
    fn a_killed_instance_leaves_the_others() {
        let all = placement(made::one_killed());
        assert_eq!(all.iter().map(|it| it.signal).collect::<Vec<_>>(), [None, Some(9)]);
        assert!(all[0].scan_passes.value.is_some());
        assert!(all[1].scan_passes.value.is_none());
    }
}
