//! Where output goes, and what happens when that fails.

use crate::{printed, refused, schedload, shell, stderr, stdout};

/// A run that would take days: whoever is done with it soon has not run it.
const ENDLESS: &str = "run pingpong --loops 1000000000000";

#[test]
fn a_closed_pipe_is_no_failure() {
    let check = |line: &str| {
        let output = shell(&format!("{{ $SCHEDLOAD {line}; echo $? >&2; }} | true"));
        assert_eq!(stderr(&output), "0\n", "{line}");
    };
    check("list metrics");
    check("host");
    check("--help");
    check("run pingpong --loops 10");
    check("run pingpong --loops 10 --json -");
    let output = shell("$SCHEDLOAD list >&-");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_full_device_is_a_failure() {
    let check = |line: &str| {
        let output = shell(line);
        refused(&output, 3, &["No space left on device"]);
    };
    check("$SCHEDLOAD list > /dev/full");
    check("$SCHEDLOAD run pingpong --loops 10 > /dev/full");
    check("$SCHEDLOAD run pingpong --loops 10 --json /dev/full -q");
    check("$SCHEDLOAD run pingpong --loops 10 --out /dev/full");
    check("$HACKBENCH -g 1 -f 1 -l 1 > /dev/full");
}

#[test]
fn an_unwritable_file_is_found_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().to_str().unwrap();
    let check = |more: &str, words: &[&str]| {
        // One that runs after all would go on for ever.
        refused(&shell(&format!("timeout 60 $SCHEDLOAD {ENDLESS} {more}")), 3, words);
    };
    check(&format!("--json {dir}"), &[dir, "is a directory"]);
    check(&format!("--out {dir}/no/such"), &["/no/such", "No such file"]);
    check("--json /proc/version", &["/proc/version"]);
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), 0);
}

#[test]
fn two_outputs_are_two_files() {
    let line = "run pingpong --json ./a.json --out ./a.json";
    refused(&schedload(line), 2, &["--json and --out both write to `./a.json`"]);
}

#[test]
fn json_on_stdout_is_alone_there() {
    let output = schedload("run pingpong --loops 50 --json -");
    let text = printed(&output, 0);
    assert!(text.starts_with("{\n") && text.ends_with("}\n"), "{text}");
    assert_eq!(stderr(&output), "");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("text");
    let line = format!("run pingpong --loops 50 --json - --out {}", path.display());
    assert!(printed(&schedload(&line), 0).starts_with("{\n"));
    assert!(std::fs::read_to_string(path).unwrap().contains("round_trip"));
}

#[test]
fn colour_is_for_terminals_and_not_for_those_who_said_no() {
    let plain = |variables: &str| {
        let output = shell(&format!("{variables} $SCHEDLOAD run --help"));
        !stdout(&output).contains('\u{1b}')
    };
    assert!(plain("env"));
    assert!(!plain("env CLICOLOR_FORCE=1"));
    assert!(plain("env CLICOLOR_FORCE=1 NO_COLOR=1"));
    assert!(!printed(&schedload("run pingpong --loops 50"), 0).contains('\u{1b}'));
}
