//! The metrics that a plan has, those it is about, and what has to be so for them to mean it.
//!
//! Must not know: how a metric is computed.

use super::number::{self, Wanted};
use super::scope::{Scope, suggestion};
use super::{ConditionPlan, Plan, TeamPlan};
use crate::base::Unit;
use crate::metric::{self, Metric};
use crate::profile::keys::NUMBER_MAX;
use crate::profile::{Expr, Fault, Profile, Word};

/// Every metric with the name of the block or team that it is of, each name once.
pub(super) fn of<'a>(
    measures: impl Iterator<Item = &'a str>,
    teams: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = (&'static Metric, &'a str)> {
    metric::keys(&distinct(measures), &teams.collect::<Vec<_>>()).into_iter()
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct: Vec<&str> = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

impl Plan {
    /// The names of all measure blocks, each once.
    pub fn measures(&self) -> Vec<&str> {
        distinct(self.teams.iter().flat_map(|team| &team.measures).map(String::as_str))
    }

    /// Whether any step takes times of this name; what a parameter left out has none.
    pub fn is_measured(&self, name: &str) -> bool {
        let by = |team: &TeamPlan| {
            let number = team.measures.iter().position(|it| it == name);
            number.is_some_and(|it| team.ops.iter().any(|op| op.measures() == Some(it as u32)))
        };
        self.teams.iter().any(by)
    }

    /// Every metric that its runs have, with the name of the measure block or team that it is of.
    pub fn metrics(&self) -> Vec<(&'static Metric, &str)> {
        let measures = self.teams.iter().flat_map(|team| &team.measures).map(String::as_str);
        of(measures, self.teams.iter().map(|team| team.name.as_str())).collect()
    }
}

/// The conditions with their numbers; that the metrics of these and of `watch` exist.
pub(super) fn conditions(
    profile: &Profile,
    keys: &[String],
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> Vec<ConditionPlan> {
    for watch in &profile.watch {
        exists(&watch.metric, keys, faults);
    }
    let mut conditions = Vec::new();
    for it in &profile.conditions {
        exists(&it.metric, keys, faults);
        let key = &it.metric.text;
        let wanted =
            Wanted::new(format!("`when` of condition `{key}`"), Unit::Share, 0.0, NUMBER_MAX);
        let when = it.when.as_ref().and_then(|it| number::whole(it, &wanted, scope, faults));
        // Its limits may mean nothing then.
        if when == Some(0.0) {
            continue;
        }
        let mut limit = |name: &str, limit: &Option<Expr>| {
            let wanted = Wanted::new(
                format!("{name} of condition `{key}`"),
                metric::find(key).map_or(Unit::Share, takes),
                -NUMBER_MAX,
                NUMBER_MAX,
            );
            limit.as_ref().and_then(|it| number::whole(it, &wanted, scope, faults))
        };
        let (min, max) = (limit("min", &it.min), limit("max", &it.max));
        if let (Some(low), Some(high)) = (min, max)
            && low > high
        {
            let message = format!("condition `{key}`: no value is from {low} to {high}");
            faults.push(Fault::new(it.metric.span.clone(), message));
        }
        conditions.push(ConditionPlan { metric: key.clone(), min, max, about: it.about.clone() });
    }
    conditions
}

fn exists(metric: &Word, keys: &[String], faults: &mut Vec<Fault>) {
    let key = &metric.text;
    if !keys.contains(key) {
        let message = format!("unknown metric `{key}`");
        let help = suggestion(key, keys.iter().map(String::as_str));
        faults.push(Fault::new(metric.span.clone(), message).with_help(help));
    }
}

/// In what a limit is written; a share keeps its fraction.
fn takes(metric: &Metric) -> Unit {
    match metric.unit {
        "ns" => Unit::Time,
        "B" | "B/s" => Unit::Bytes,
        "1/s" | "flop/s" => Unit::Count,
        _ => Unit::Share,
    }
}
