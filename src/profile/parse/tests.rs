//! What is refused in a profile and with which words, and that printing and reading agree.

use crate::profile::{Profile, Source, catalogue};
use proptest::prelude::*;

fn parse(text: &str) -> Result<Profile, crate::profile::Faults> {
    Profile::parse(
        "test",
        Source {
            path: "test.toml".into(),
            text: text.into(),
        },
    )
}

/// The faults of a text, each as `line:column message (help)`.
fn faults(text: &str) -> Vec<String> {
    let list = parse(text).map_or_else(|faults| faults.list, |_| Vec::new());
    let shown = list.iter().map(|fault| {
        let before = &text[..fault.span.start];
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
        let help = fault
            .help
            .as_ref()
            .map(|help| format!(" ({help})"))
            .unwrap_or_default();
        format!("{line}:{column} {}{help}", fault.message)
    });
    shown.collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(faults(text), expected, "of {text}");
}

/// A sound profile around the lines of a team and of steps.
fn with(params: &str, team: &str, steps: &str) -> String {
    format!(
        "about = \"x\"\n[param]\n{params}\n[channel.inbox]\nkind = \"pipe\"\ncount = 4\n\
         [channel.one]\nkind = \"pipe\"\n[team.t]\nsize = 2\n{team}\nsteps = [\n{steps}\n]\n"
    )
}

fn check_step(step: &str, expected: &[&str]) {
    let text = with("", "", step);
    let moved: Vec<String> = expected.iter().map(|fault| format!("13:{fault}")).collect();
    assert_eq!(faults(&text), moved, "of {step}");
}

fn check_team(team: &str, expected: &[&str]) {
    let text = with("", team, "{ spin = \"1us\" }");
    let moved: Vec<String> = expected.iter().map(|fault| format!("11:{fault}")).collect();
    assert_eq!(faults(&text), moved, "of {team}");
}

fn check_param(param: &str, expected: &[&str]) {
    let text = with(param, "", "{ spin = \"1us\" }");
    let moved: Vec<String> = expected.iter().map(|fault| format!("3:{fault}")).collect();
    assert_eq!(faults(&text), moved, "of {param}");
}

#[test]
fn steps() {
    check_step("{ send = \"inbox[me]\", bytes = \"10 B\" }", &[]);
    check_step("{ send = \"one\" }", &[]);
    check_step("{ wait = \"inbox[(me + 1) % size]\" }", &[]);
    check_step("{ recieve = \"inbox[me]\" }", &[]);
}
