//! The numbers a run yields, one row each: key, unit, which way is better, what it is.
//!
//! A number without a row does not exist. Must not know: how a report is laid out.

use crate::base::Unit;

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Higher,
    Lower,
    /// It tells, it does not judge.
    Neither,
}

/// What a metric is. `measure` rows stand for one metric of each measure block: `*` is its name.
pub struct Metric {
    pub key: &'static str,
    /// As printed in JSON: `1/s`, `ns`, `s`, `1`, `%`.
    pub unit: &'static str,
    pub better: Better,
    pub about: &'static str,
}

/// All metrics, the results first.
pub const METRICS: &[Metric] = &[
    Metric {
        key: "messages_per_s",
        unit: "1/s",
        better: Better::Higher,
        about: "messages received in the window, per second",
    },
    Metric {
        key: "*s_per_s",
        unit: "1/s",
        better: Better::Higher,
        about: "measure blocks of that name ended in the window, per second (`round_trips_per_s`)",
    },
];

/// The unit is a matter of printing: how a value of this metric's unit is shown to people.
pub fn unit(text: &str) -> Option<Unit> {
    match text {
        "ns" => Some(Unit::Time),
        "B" => Some(Unit::Bytes),
        "%" => Some(Unit::Share),
        "1" | "1/s" => Some(Unit::Count),
        _ => None,
    }
}
