//! What each instance got done: the measure blocks of a run by instance.
//!
//! Must not know: how many instances are kept apart, and why (`plan::recording`).

use crate::record::recording::SeriesKind;
use crate::report::judge::Case;
use crate::report::{ALL, InstanceBlocks, latency};

/// A row for each block and instance, one without any too: that is an answer.
pub(super) fn all(case: &Case<'_>) -> Vec<InstanceBlocks> {
    let instances = case.plan.instances_apart();
    if instances < 2 {
        return Vec::new();
    }
    let measures = case.plan.measures().into_iter();
    measures.flat_map(|measure| (0..instances).map(move |at| one(case, measure, at))).collect()
}

fn one(case: &Case<'_>, measure: &str, at: u32) -> InstanceBlocks {
    let histogram = latency::merged(case.recording, |series| match &series.kind {
        SeriesKind::Measure { name, instance } => name == measure && *instance == at,
        _ => false,
    });
    let window_s = case.window_s();
    InstanceBlocks {
        instance: at,
        measure: measure.to_owned(),
        per_s: (window_s > 0.0).then(|| histogram.count() as f64 / window_s),
        time: latency::row(measure, ALL, ALL, None, &histogram),
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::Op;
    use crate::record::recording::SeriesKind;
    use crate::report::{InstanceBlocks, Report, fixture, fixture_memory};

    /// Of so many instances, the first of which did 600 blocks and the second 200, in 12 s.
    fn rows(instances: u32) -> Vec<InstanceBlocks> {
        let mut plan = fixture_memory::two_instances_plan();
        (plan.instances, plan.copies) = (instances, instances);
        plan.teams[0].measures = vec!["pass".to_owned()];
        plan.teams[0].ops.push(Op::EndMeasure { measure: 0 });
        let mut recording = fixture_memory::two_instances();
        for (instance, n) in [(0, 600), (1, 200)] {
            let kind = SeriesKind::Measure { name: "pass".to_owned(), instance };
            recording.series.push(fixture::series(0, kind, n, 1_000_000));
        }
        let report = Report::judge(&plan, &fixture::host(), &[recording]);
        let run = &report.runs[0];
        // The whole is of all of them.
        assert_eq!(run.metrics["passs_per_s"].value, Some(800.0 / run.window_s));
        assert_eq!(run.latency.iter().filter(|row| row.series == "pass").count(), 1);
        run.instances.clone()
    }

    #[test]
    fn each_has_a_row() {
        let check = |instances: u32, expected: &[u64]| {
            let counts: Vec<u64> = rows(instances).iter().map(|row| row.time.count).collect();
            assert_eq!(counts, expected, "{instances}");
        };
        check(1, &[]);
        check(2, &[600, 200]);
        check(3, &[600, 200, 0]);
        // More than are kept apart.
        check(17, &[]);
        assert_eq!(rows(3)[2].per_s, Some(0.0));
        assert_eq!(rows(3)[2].time.p99, None);
        assert_eq!(rows(2)[1].instance, 1);
    }
}
