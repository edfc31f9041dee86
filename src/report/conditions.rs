//! Whether the run was in the state that its profile is about: the conditions, and a doubt for each
//! that was not met.
//!
//! A condition breaks nothing: the numbers are true, only not of what was to be tested. Must not
//! know: how a metric is computed.

use crate::metric;
use crate::report::judge::Case;
use crate::report::{Caveat, Metric};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A metric and the values in which the profile tests what it is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    pub metric: String,
    pub about: String,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub value: Option<f64>,
    /// `None`: the value is not known.
    pub met: Option<bool>,
    /// Why it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

pub(super) fn all(case: &Case<'_>, metrics: &BTreeMap<String, Metric>) -> Vec<Condition> {
    let conditions = case.plan.conditions.iter();
    let judged = conditions.map(|it| {
        let metric = metrics.get(&it.metric);
        let value = metric.and_then(|metric| metric.value);
        let within = |value: f64| {
            it.min.is_none_or(|min| value >= min) && it.max.is_none_or(|max| value <= max)
        };
        Condition {
            metric: it.metric.clone(),
            about: it.about.clone(),
            min: it.min,
            max: it.max,
            value,
            met: value.map(within),
            reason: metric.and_then(|metric| metric.reason.clone()),
        }
    });
    judged.collect()
}

/// A doubt for each that was not met, or of which nobody knows.
pub(super) fn doubts(conditions: &[Condition]) -> Vec<Caveat> {
    let doubts = conditions.iter().filter_map(Condition::doubt);
    doubts.map(|text| Caveat { id: Condition::CAVEAT.to_owned(), text }).collect()
}

impl Condition {
    /// The id of the caveats that say so.
    pub const CAVEAT: &str = "condition";

    /// What is not tested, if it was not met or nobody knows.
    pub fn doubt(&self) -> Option<String> {
        let not = match self.met {
            Some(true) => return None,
            Some(false) => "not tested",
            None => "perhaps not tested",
        };
        Some(format!("{not}: {}: {}", self.about, self.in_words()))
    }

    /// `server_asleep_share is 0.91, not 0.3 to 0.7`.
    pub fn in_words(&self) -> String {
        let of = metric::find(&self.metric).map_or("", |row| row.unit);
        let number = |value: f64| metric::in_words(&self.metric, value, of);
        let wanted = match (self.min, self.max) {
            (Some(min), Some(max)) => format!("{} to {}", number(min), number(max)),
            (Some(min), None) => format!("at least {}", number(min)),
            (None, Some(max)) => format!("at most {}", number(max)),
            (None, None) => "anything".to_owned(),
        };
        let value = self.value.map_or("not known".to_owned(), number);
        match self.met {
            None => {
                let why = self.reason.as_ref().map_or(String::new(), |it| format!(" ({it})"));
                format!("{} is not known{why}, and has to be {wanted}", self.metric)
            }
            Some(true) => format!("{} is {value} ({wanted})", self.metric),
            Some(false) => format!("{} is {value}, not {wanted}", self.metric),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::ConditionPlan;
    use crate::report::{Report, fixture};

    #[test]
    fn a_run_is_in_the_state_or_says_that_it_is_not() {
        let check = |metric: &str, limits: (Option<f64>, Option<f64>), met: Option<bool>| {
            let mut plan = fixture::plan();
            let (min, max) = limits;
            let (metric, about) = (metric.to_owned(), "what it is about".to_owned());
            plan.conditions = vec![ConditionPlan { metric, min, max, about }];
            let report = Report::judge(&plan, &fixture::host(), &[fixture::recording()]);
            let run = &report.runs[0];
            assert_eq!(run.conditions[0].met, met, "{:?}", run.conditions);
            let doubted = run.caveats.iter().any(|caveat| caveat.id == "condition");
            assert_eq!(doubted, met != Some(true));
        };
        check("found_ready_share", (Some(0.0), Some(1.0)), Some(true));
        check("found_ready_share", (None, Some(1.0)), Some(true));
        check("found_ready_share", (Some(1.0), None), Some(false));
        // A profile without memory.
        check("local_share", (Some(0.5), None), None);
    }

    #[test]
    fn in_words() {
        type Limits = (Option<f64>, Option<f64>);
        let check = |metric: &str, (min, max): Limits, value: Option<f64>, expected: &str| {
            let above = |it: f64| min.is_none_or(|min| it >= min);
            let within = |it: f64| above(it) && max.is_none_or(|max| it <= max);
            let (metric, about) = (metric.to_owned(), String::new());
            let met = value.map(within);
            let reason = value.is_none().then(|| "nobody looked".to_owned());
            let it = Condition { metric, about, min, max, value, met, reason };
            assert_eq!(it.in_words(), expected);
        };
        let words = "server_asleep_share is 91.2 %, not 30.0 % to 70.0 %";
        check("server_asleep_share", (Some(0.3), Some(0.7)), Some(0.91234), words);
        check("runnable", (Some(3.0), None), Some(4.0), "runnable is 4 (at least 3)");
        check(
            "runnable",
            (None, Some(3.0)),
            None,
            "runnable is not known (nobody looked), and has to be at most 3",
        );
        let words = "wakeup_latency_ns_p99 is 1.50 ms, not at most 1.00 ms";
        check("wakeup_latency_ns_p99", (None, Some(1e6)), Some(1.5e6), words);
    }
}
