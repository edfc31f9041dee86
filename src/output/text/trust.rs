//! Whether to believe it: broken laws, what was not read, the harness's cost, doubts.
//!
//! Must not know: what breaks a law.

use super::layout::wrapped;
use crate::report::{Caveat, Check, Condition, Report, Run, Source};

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
    let facts = [
        conditions(run, width),
        checks(run, width),
        harness(run, width),
        sources(&run.sources, width),
    ];
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

fn conditions(run: &Run, width: usize) -> String {
    let words: Vec<String> = run.conditions.iter().map(Condition::in_words).collect();
    match words.is_empty() {
        true => String::new(),
        false => wrapped("conditions: ", &words.join("; "), width),
    }
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
    // Those of one state together; `schedload host` has the reasons.
    let mut facts: Vec<(&str, Vec<&str>)> = Vec::new();
    for source in absent.iter().filter(is_fact) {
        let name = source.name.trim_start_matches("host.");
        match facts.iter_mut().find(|(state, _)| *state == source.state) {
            Some((_, names)) => names.push(name),
            None => facts.push((&source.state, vec![name])),
        }
    }
    for (state, names) in facts {
        text += &wrapped(&format!("  host facts not read ({state}): "), &names.join(", "), width);
    }
    text
}

/// Those of all runs, each text once, with the runs it is of if it is not of all. What differs from
/// run to run in its numbers only is told with those of the first.
fn caveats(report: &Report, width: usize) -> String {
    let mut all: Vec<(&Caveat, Vec<(u32, &Caveat)>)> = Vec::new();
    for run in &report.runs {
        for caveat in &run.caveats {
            match all.iter_mut().find(|(known, _)| is_alike(known, caveat)) {
                Some((_, found)) => found.push((run.run, caveat)),
                None => all.push((caveat, vec![(run.run, caveat)])),
            }
        }
    }
    if all.is_empty() {
        return "caveats: none\n".to_owned();
    }
    let lines = all.iter().map(|(caveat, found)| {
        let of = match found.iter().all(|(_, other)| other == caveat) {
            true if found.len() == report.runs.len() => String::new(),
            true => {
                let runs: Vec<String> = found.iter().map(|(run, _)| run.to_string()).collect();
                format!(" [run {}]", runs.join(", "))
            }
            false => format!(" [run {}; the like in {} more]", found[0].0, found.len() - 1),
        };
        wrapped("  - ", &format!("{}{of}", caveat.text), width)
    });
    format!("caveats\n{}", lines.collect::<String>())
}

/// Whether two caveats differ in nothing but numbers.
fn is_alike(one: &Caveat, other: &Caveat) -> bool {
    let words = |caveat: &Caveat| -> String {
        caveat.text.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect()
    };
    one.id == other.id && words(one) == words(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn a_caveat_of_several_runs_is_told_once() {
        let (plan, host) = (fixture::plan(), fixture::host());
        let runs = [0, 1, 2].map(|_| fixture::recording());
        let mut report = Report::judge(&plan, &host, &runs);
        let texts = [
            ["the window was 131 ms", "bytes of `a`", "seen always"],
            ["the window was 99.2 ms", "bytes of `b`", "seen always"],
            ["the window was 131 ms", "bytes of `a`", "seen always"],
        ];
        for (run, texts) in report.runs.iter_mut().zip(texts) {
            run.caveats = texts
                .iter()
                .map(|text| Caveat { id: "id".to_owned(), text: (*text).to_owned() })
                .collect();
        }
        let expected = "caveats\n  \
            - the window was 131 ms [run 0; the like in 2 more]\n  \
            - bytes of `a` [run 0, 2]\n  \
            - seen always\n  \
            - bytes of `b` [run 1]\n";
        assert_eq!(caveats(&report, 100), expected);
    }
}
