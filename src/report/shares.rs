//! What tasks saw of wakeups and migrations, and which shares of them went far or came back: of a
//! run, and of each of its instances.
//!
//! Must not know: how a task saw them, where it was meanwhile.

use crate::base::Place;
use crate::record::recording::{Migrations, TaskRecord, Wakeups};
use crate::report::judge::Case;
use crate::report::metrics::{Value, ratio};
use crate::report::{Judged, ONE_LLC, ONE_NODE};
use serde::{Deserialize, Serialize};

/// Sums over some tasks, in the window.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub woken: Wakeups,
    pub migrations: Migrations,
}

/// Wakeups and migrations of the tasks of one instance in the window. Those of all instances add up
/// to those of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceCounts {
    pub wakeups: u64,
    /// From another node; those that took the task to its waker's LLC (node) from another.
    pub cross_node_wakeups: u64,
    pub pulled_llc: u64,
    pub pulled_node: u64,
    pub migrations: u64,
    /// Those of them back to the CPU that the task had left.
    pub returned_10ms: u64,
    pub returned_100ms: u64,
    /// As the metrics of these names have them of the run.
    pub cross_node_wakeup_share: Judged,
    pub pulled_llc_share: Judged,
    pub pulled_node_share: Judged,
    pub returned_share: Judged,
}

/// Of all tasks.
pub(super) fn of_run(tasks: &[TaskRecord]) -> Counts {
    let mut sum = Counts::default();
    tasks.iter().for_each(|task| sum.add(task));
    sum
}

/// One for each instance, in their order.
pub(super) fn by_instance(case: &Case<'_>) -> Vec<InstanceCounts> {
    let mut sums = vec![Counts::default(); case.plan.instances.max(1) as usize];
    for task in &case.recording.tasks {
        if let Some(sum) = sums.get_mut(case.plan.instance(task.copy) as usize) {
            sum.add(task);
        }
    }
    sums.iter().map(|sum| sum.judged(case)).collect()
}

impl Counts {
    fn add(&mut self, task: &TaskRecord) {
        self.woken += task.woken;
        self.migrations += task.migrations;
    }

    /// The part of the wakeups that came from another node.
    pub fn cross_node(&self, case: &Case<'_>) -> Value {
        nodes_apart(case)?;
        self.of_wakeups(self.woken.cross_node)
    }

    pub fn pulled_llc(&self, case: &Case<'_>) -> Value {
        apart(case, |place| place.llc, ONE_LLC)?;
        self.of_wakeups(self.woken.pulled_llc)
    }

    pub fn pulled_node(&self, case: &Case<'_>) -> Value {
        nodes_apart(case)?;
        self.of_wakeups(self.woken.pulled_node)
    }

    fn of_wakeups(&self, part: u64) -> Value {
        ratio(part as f64, self.woken.total, "no wakeup in the window")
    }

    /// The part of the migrations that were taken back within 100 ms.
    pub fn returned(&self) -> Value {
        let part = self.migrations.returned_100ms as f64;
        ratio(part, self.migrations.total(), "no task migrated in the window")
    }

    fn judged(&self, case: &Case<'_>) -> InstanceCounts {
        InstanceCounts {
            wakeups: self.woken.total,
            cross_node_wakeups: self.woken.cross_node,
            pulled_llc: self.woken.pulled_llc,
            pulled_node: self.woken.pulled_node,
            migrations: self.migrations.total(),
            returned_10ms: self.migrations.returned_10ms,
            returned_100ms: self.migrations.returned_100ms,
            cross_node_wakeup_share: Judged::of(self.cross_node(case)),
            pulled_llc_share: Judged::of(self.pulled_llc(case)),
            pulled_node_share: Judged::of(self.pulled_node(case)),
            returned_share: Judged::of(self.returned()),
        }
    }
}

fn nodes_apart(case: &Case<'_>) -> Result<(), String> {
    apart(case, |place| place.node.0, ONE_NODE)
}

/// Whether two of the allowed CPUs differ in what `of` says of their places.
fn apart(case: &Case<'_>, of: fn(&Place) -> u32, reason: &str) -> Result<(), String> {
    let mut all = case.allowed().map(|cpu| of(&cpu.place));
    let first = all.next();
    match all.any(|other| Some(other) != first) {
        true => Ok(()),
        false => Err(reason.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture_memory as made;
    use crate::report::{Report, Run, fixture};

    /// Of two instances of two tasks each, of which those of the first were woken.
    fn run() -> Run {
        let mut recording = made::two_instances();
        for (task, n) in recording.tasks.iter_mut().zip([30, 10]) {
            task.woken = Wakeups { total: n, cross_node: n / 10, pulled_llc: 10, pulled_node: 1 };
            task.migrations.returned_100ms = 2;
        }
        Report::judge(&made::two_instances_plan(), &fixture::host(), &[recording]).runs.remove(0)
    }

    fn counts(run: &Run) -> Vec<&InstanceCounts> {
        run.residency.instances.iter().filter_map(|it| it.counts.as_ref()).collect()
    }

    #[test]
    fn each_instance_has_its_part_and_the_run_their_sum() {
        let run = run();
        let [first, second] = counts(&run)[..] else { panic!("{:?}", run.residency) };
        let of = |it: &InstanceCounts| [it.wakeups, it.cross_node_wakeups, it.pulled_llc];
        assert_eq!((of(first), of(second)), ([40, 4, 20], [0; 3]));
        assert_eq!((first.migrations, second.migrations), (7, 1));
        assert_eq!(run.migrations.total, 8);
        assert_eq!((run.migrations.pulled_llc, run.migrations.returned_100ms), (20, 4));
        let none = || Err("no wakeup in the window".to_owned());
        let check = |key: &str, [first, second]: [&Judged; 2], expected: [_; 2], whole: f64| {
            assert_eq!([first.result(), second.result()], expected, "{key}");
            assert_eq!(run.metrics[key].value, Some(whole), "{key}");
        };
        let both = |of: fn(&InstanceCounts) -> &Judged| [of(first), of(second)];
        let cross_node = both(|it| &it.cross_node_wakeup_share);
        check("cross_node_wakeup_share", cross_node, [Ok(0.1), none()], 0.1);
        check("pulled_llc_share", both(|it| &it.pulled_llc_share), [Ok(0.5), none()], 0.5);
        check("pulled_node_share", both(|it| &it.pulled_node_share), [Ok(0.05), none()], 0.05);
        check("returned_share", both(|it| &it.returned_share), [Ok(4.0 / 7.0), Ok(0.0)], 0.5);
    }

    #[test]
    fn where_nothing_is_apart_nothing_is_far() {
        let mut plan = made::two_instances_plan();
        for cpu in &mut plan.cpus {
            cpu.allowed = cpu.place.node.0 == 0 && cpu.place.llc == 0;
        }
        let report = Report::judge(&plan, &fixture::host(), &[made::two_instances()]);
        for it in counts(&report.runs[0]) {
            assert_eq!(it.cross_node_wakeup_share.reason.as_deref(), Some(ONE_NODE));
            assert_eq!(it.pulled_llc_share.reason.as_deref(), Some(ONE_LLC));
        }
    }
}
