//! Whether to believe it: broken laws, what was not read, the harness's cost, doubts.
//!
//! Must not know: what breaks a law.

use super::layout::wrapped;
use crate::report::{Caveat, Check, Report, Run, Source};

/// Broken laws of all runs, right below the headline, where nobody can miss them.
pub(super) fn broken(report: &Report, width: usize) -> Option<String> {
    let mut text = String::new();
    for run in &report.runs {
        for check in run.checks.iter().filter(|check| !check.ok) {
            let first = format!("  BROKEN in run {}: {}: ", run.run, check.name);
            text += &wrapped("  ! ", &format!("{}{}", first.trim_start(), check.detail), width);
        }
    }
    let warning = "THESE NUMBERS ARE NOT TO BE TRUSTED: a conservation law does not hold\n";
    (!text.is_empty()).then(|| warning.to_owned() + &text)
}

pub(super) fn sections(report: &Report, run: &Run, width: usize) -> Vec<String> {
    let facts = [checks(run, width), harness(run, width), sources(&run.sources, width)];
    vec![facts.concat(), caveats(report, width)]
}

fn checks(run: &Run, width: usize) -> String {
    let broken: Vec<&Check> = run.checks.iter().filter(|check| !check.ok).collect();
    let held = run.checks.len() - broken.len();
    let mut parts = vec![format!("{held} hold")];
    if !broken.is_empty() {
        let names: Vec<&str> = broken.iter().map(|check| check.name.as_str()).collect();
        parts.insert(0, format!("{} BROKEN ({})", broken.len(), names.join(", ")));
    }
    let untested = run.unchecked.iter().map(|law| format!("{} ({})", law.name, law.reason));
    let untested: Vec<String> = untested.collect();
    if !untested.is_empty() {
        parts.push(format!("not tested: {}", untested.join(", ")));
    }
    wrapped("checks: ", &parts.join("; "), width)
}

fn harness(run: &Run, width: usize) -> String {
    let it = &run.harness;
    let share = match it.share {
        Some(share) => format!("{:.2}\u{a0}% of the tasks' CPU time", share * 100.0),
        None => "share of the tasks' CPU time not known".to_owned(),
    };
    let text = format!(
        "clock {:.1} ns by {}, stamp {:.1} ns, record {:.1} ns; {share}",
        it.clock_ns, it.clock, it.stamp_ns, it.record_ns
    );
    wrapped("harness: ", &text, width)
}

fn sources(sources: &[Source], width: usize) -> String {
    let absent: Vec<&Source> = sources.iter().filter(|source| source.state != "ok").collect();
    let ok = sources.len() - absent.len();
    let mut text = wrapped("sources: ", &format!("{ok} of {} read", sources.len()), width);
    let is_fact = |source: &&&Source| source.name.starts_with("host.");
    for source in absent.iter().filter(|source| !is_fact(source)) {
        let line = format!("{}: {}: {}", source.name, source.state, source.reason);
        text += &wrapped("  ", &line, width);
    }
    let n_facts = absent.iter().filter(is_fact).count();
    if n_facts > 0 {
        let line = format!("{n_facts} host facts not read; `schedload host` has the reasons");
        text += &wrapped("  ", &line, width);
    }
    text
}

/// Those of all runs, each text once, with the runs it is of if it is not of all.
fn caveats(report: &Report, width: usize) -> String {
    let mut all: Vec<(&Caveat, Vec<String>)> = Vec::new();
    for run in &report.runs {
        for caveat in &run.caveats {
            match all.iter_mut().find(|(known, _)| *known == caveat) {
                Some((_, runs)) => runs.push(run.run.to_string()),
                None => all.push((caveat, vec![run.run.to_string()])),
            }
        }
    }
    if all.is_empty() {
        return "caveats: none\n".to_owned();
    }
    let lines = all.iter().map(|(caveat, runs)| {
        let of = match runs.len() == report.runs.len() {
            true => String::new(),
            false => format!(" [run {}]", runs.join(", ")),
        };
        wrapped("  - ", &format!("{}: {}{of}", caveat.id, caveat.text), width)
    });
    format!("caveats\n{}", lines.collect::<String>())
}
