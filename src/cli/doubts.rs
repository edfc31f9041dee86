//! What is to be doubted of a sweep: the conditions that points did not meet, and their caveats.
//!
//! Must not know: why a run is doubted.

use crate::cli::sweep::Points;
use crate::output;
use crate::report::{Condition, Report};

/// All of it, each kind once; nothing where there is none.
pub fn of(sweep: &Points, width: usize) -> String {
    let lines = untested(sweep).into_iter().chain(caveats(&sweep.points));
    let lines: String = lines.map(|line| output::wrapped("  - ", &line, width)).collect();
    if lines.is_empty() { lines } else { format!("\ncaveats of the points\n{lines}") }
}

/// Conditions that were not met, in the words of the first point that did not, and at which: what
/// was measured there is not what the profile is about.
fn untested(sweep: &Points) -> Vec<String> {
    let Points { name, points, .. } = sweep;
    let mut all: Vec<(&str, String, Vec<&str>)> = Vec::new();
    for point in points {
        let value = point.profile.params.get(name).map_or("?", String::as_str);
        let conditions = point.runs.iter().flat_map(|run| &run.conditions);
        for (metric, doubt) in conditions.filter_map(|it| Some((it.metric.as_str(), it.doubt()?))) {
            match all.iter_mut().find(|(known, ..)| *known == metric) {
                Some((_, _, at)) if at.contains(&value) => {}
                Some((_, _, at)) => at.push(value),
                None => all.push((metric, doubt, vec![value])),
            }
        }
    }
    let line = |(_, doubt, at): (&str, String, Vec<&str>)| {
        let rest = match at.split_first() {
            Some((_, [])) | None => String::new(),
            Some((_, rest)) => format!("; the like at {}", rest.join(", ")),
        };
        format!("{doubt} [{name} {}{rest}]", at.first().unwrap_or(&"?"))
    };
    all.into_iter().map(line).collect()
}

/// The other doubts, each kind once.
fn caveats(points: &[Report]) -> Vec<String> {
    let mut kinds: Vec<(&str, &str, usize)> = Vec::new();
    for point in points {
        let all = point.runs.iter().flat_map(|run| &run.caveats);
        let mut seen = vec![Condition::CAVEAT];
        for caveat in all {
            let (id, text) = (caveat.id.as_str(), caveat.text.as_str());
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            match kinds.iter_mut().find(|(known, _, _)| *known == id) {
                Some((_, _, n)) => *n += 1,
                None => kinds.push((id, text, 1)),
            }
        }
    }
    let line = |(_, text, n): (&str, &str, usize)| match points.len() {
        all if n == all => text.to_owned(),
        all => format!("{text} (of {n} of {all} points)"),
    };
    kinds.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sweep::Document;
    use crate::report::fixture;

    #[test]
    fn points_that_missed_a_condition_are_named() {
        let condition = |metric: &str, value: Option<f64>| Condition {
            metric: metric.to_owned(),
            about: "an idle machine".to_owned(),
            min: None,
            max: Some(2.0),
            value,
            met: value.map(|it| it <= 2.0),
            reason: value.is_none().then(|| "nobody looked".to_owned()),
        };
        let point = |n: &str, conditions: Vec<Condition>| {
            let mut point = fixture::reports().remove("plain").unwrap();
            point.profile.params.insert("n".to_owned(), n.to_owned());
            point.runs.iter_mut().for_each(|run| run.conditions.clone_from(&conditions));
            point
        };
        let check = |points: Vec<Report>, expected: &[&str]| {
            assert_eq!(untested(&Document::new("n", points).sweep), expected);
        };
        let (busy, runnable) = ("other_busy_cpus", "runnable");
        check(vec![point("1", vec![condition(busy, Some(1.0))])], &[]);
        check(
            vec![
                point("1", vec![condition(busy, Some(1.0)), condition(runnable, None)]),
                point("2", vec![condition(busy, Some(3.0)), condition(runnable, Some(2.0))]),
                point("4", vec![condition(busy, Some(4.0)), condition(runnable, Some(2.0))]),
            ],
            &[
                "perhaps not tested: an idle machine: runnable is not known (nobody looked), and \
                 has to be at most 2 [n 1]",
                "not tested: an idle machine: other_busy_cpus is 3, not at most 2 [n 2; the \
                 like at 4]",
            ],
        );
    }
}
