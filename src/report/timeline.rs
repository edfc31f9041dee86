//! The stored form of where tasks and pages were over time: columns, one number for each look.
//!
//! Must not know: verdicts, how it is drawn.

use crate::base::Reading;
use crate::record::timeline::{InstanceSample, Pages, Sample};
use crate::report::judge::{Case, seconds};
use serde::{Deserialize, Serialize};

/// All looks of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// What was asked for.
    pub interval_s: f64,
    /// CPU time that all looks took.
    pub cost_s: f64,
    /// When each look was, since the gate was opened, to a tenth of a millisecond.
    pub at_s: Vec<f64>,
    pub instances: Vec<InstanceTimeline>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceTimeline {
    pub instance: u32,
    pub tasks: Vec<NodeTasks>,
    pub regions: Vec<RegionTimeline>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeTasks {
    pub node: u32,
    /// By look: tasks that last ran there; `None` where the instance was not seen, and before any
    /// of its tasks was seen at its steps.
    pub tasks: Vec<Option<u32>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegionTimeline {
    pub region: String,
    pub bytes: u64,
    pub pages: Vec<NodePages>,
    /// How its pages were looked at, `move_pages sample` or `numa_maps`; `None` if they never were.
    #[serde(default)]
    pub method: Option<String>,
    /// By look: pages of those that were looked at that were not in memory.
    pub absent: Vec<Option<u32>>,
    /// Why the first look without an answer had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodePages {
    pub node: u32,
    /// By look: pages that were there; `None` where they could not be asked for.
    pub pages: Vec<Option<u32>>,
}

/// `None` for a plan without memory regions.
pub(super) fn of(case: &Case<'_>) -> Option<Timeline> {
    let recorded = &case.recording.timeline;
    let tenth_of_ms = |sample: &Sample| (sample.at_ns / 100_000) as f64 / 1e4;
    (!case.plan.memory.is_empty()).then(|| Timeline {
        interval_s: seconds(recorded.interval_ns),
        cost_s: seconds(recorded.cost_ns),
        at_s: recorded.samples.iter().map(tenth_of_ms).collect(),
        instances: (0..case.plan.instances).map(|instance| of_instance(case, instance)).collect(),
    })
}

fn of_instance(case: &Case<'_>, instance: u32) -> InstanceTimeline {
    let samples = case.recording.timeline.samples.iter();
    let looks: Vec<Option<&InstanceSample>> =
        samples.map(|sample| sample.instances.get(instance as usize)).collect();
    // Pages are looked at before the gate is opened, where no task has begun: that none is on any
    // node then says nothing about the run.
    let begun = looks.iter().position(|look| look.is_some_and(InstanceSample::has_tasks));
    let begun = begun.unwrap_or(looks.len());
    let tasks_on = |node: usize| {
        let of = |(at, look): (usize, &Option<&InstanceSample>)| {
            look.filter(|_| at >= begun)?.tasks.get(node).copied()
        };
        looks.iter().enumerate().map(of).collect()
    };
    let nodes = case.plan.nodes.iter().enumerate();
    let tasks = nodes.map(|(at, node)| NodeTasks { node: node.id.0, tasks: tasks_on(at) });
    InstanceTimeline {
        instance,
        tasks: tasks.collect(),
        regions: (0..case.plan.memory.len()).map(|at| of_region(case, &looks, at)).collect(),
    }
}

fn of_region(case: &Case<'_>, looks: &[Option<&InstanceSample>], at: usize) -> RegionTimeline {
    let plan = &case.plan.memory[at];
    let readings = || looks.iter().map(|look| look.and_then(|look| look.regions.get(at)));
    let pages = |node: usize| {
        let of = |n| Some(*reading_of(n)?.by_node.get(node)?);
        readings().map(of).collect()
    };
    let nodes = case.plan.nodes.iter().enumerate();
    let unknown = readings().flatten().find(|reading| reading.value().is_none());
    RegionTimeline {
        region: plan.name.clone(),
        bytes: case.plan.bytes_in_instance(at),
        pages: nodes.map(|(at, node)| NodePages { node: node.id.0, pages: pages(at) }).collect(),
        method: readings().find_map(reading_of).map(|pages| pages.method.name().to_owned()),
        absent: readings().map(|n| Some(reading_of(n)?.absent)).collect(),
        reason: unknown.map(|reading| format!("{}: {}", reading.state(), reading.reason())),
    }
}

fn reading_of(reading: Option<&Reading<Pages>>) -> Option<&Pages> {
    reading?.value()
}

#[cfg(test)]
mod tests {
    use crate::report::fixture_memory::{self as made, unknown};
    use crate::report::{Report, fixture};

    #[test]
    fn one_column_for_each_node_and_region() {
        let mut recording = made::two_instances();
        recording.timeline.samples.truncate(3);
        recording.timeline.samples[1].instances[0].regions[0] = unknown();
        recording.timeline.samples[2].instances.pop();
        let plan = made::two_instances_plan();
        let report = Report::judge(&plan, &fixture::host(), &[recording]);
        let timeline = report.runs[0].timeline.as_ref().unwrap();
        assert_eq!(timeline.at_s, [0.0, 0.2, 0.4]);
        let [first, second] = &timeline.instances[..] else { panic!("two instances") };
        assert_eq!(first.tasks[1].tasks, [Some(1), Some(1), Some(1)]);
        assert_eq!(second.tasks[1].tasks, [Some(1), Some(1), None]);
        let area = &first.regions[0];
        assert_eq!((&*area.region, area.bytes), ("area", 1 << 30));
        assert_eq!(area.pages[0].pages, [Some(100), None, Some(100)]);
        assert_eq!(area.absent, [Some(0), None, Some(0)]);
        assert!(area.reason.as_ref().unwrap().starts_with("no permission: move_pages"));
        assert_eq!(second.regions[1].pages[1].pages, [Some(0), Some(0), None]);
        assert_eq!(second.regions[1].reason, None);
    }

    #[test]
    fn tasks_are_counted_from_when_they_were_seen() {
        let check = |seen: [u32; 4], expected: [Option<u32>; 4]| {
            let mut recording = made::two_instances();
            recording.timeline.samples.truncate(4);
            for (sample, n) in recording.timeline.samples.iter_mut().zip(seen) {
                sample.instances[0].tasks = vec![0, n];
            }
            let plan = made::two_instances_plan();
            let report = Report::judge(&plan, &fixture::host(), &[recording]);
            let timeline = report.runs[0].timeline.as_ref().unwrap();
            assert_eq!(timeline.instances[0].tasks[1].tasks, expected, "{seen:?}");
            assert_eq!(timeline.instances[0].regions[0].pages[0].pages[0], Some(100));
        };
        check([0, 0, 2, 0], [None, None, Some(2), Some(0)]);
        check([1, 2, 0, 0], [Some(1), Some(2), Some(0), Some(0)]);
        check([0; 4], [None; 4]);
    }

    #[test]
    fn none_without_memory() {
        assert_eq!(fixture::reports()["plain"].runs[0].timeline, None);
    }
}
