//! The programs as their users meet them: what they print, store and refuse, and how they end.
//!
//! Real threads run here, on whatever machine this is, so nothing may depend on how fast anything
//! is. One binary, one module for each subject. Must not know: the crate's inner parts.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bandwidth;
mod facts;
mod flow;
mod forbidden;
mod hackbench;
mod jbb;
mod limits;
mod low_load;
mod memory;
mod oltp;
mod pages;
mod processes;
mod refusals;
mod runs;
mod schbench;
#[path = "../../src/sys/seccomp.rs"]
mod seccomp;
mod signals;
mod stalls;
mod streams;
mod sync;
mod web;

use serde_json::Value;
use std::process::{Command, Output};

const SCHEDLOAD: &str = env!("CARGO_BIN_EXE_schedload");
const HACKBENCH: &str = env!("CARGO_BIN_EXE_schedload-hackbench");
const SCHBENCH: &str = env!("CARGO_BIN_EXE_schedload-schbench");

/// Runs a program with the words of `line`, which has no quotes.
fn program(path: &str, line: &str) -> Output {
    Command::new(path).args(line.split_whitespace()).output().unwrap()
}

fn schedload(line: &str) -> Output {
    program(SCHEDLOAD, line)
}

/// Runs a script with the programs' paths in $SCHEDLOAD and $HACKBENCH.
fn shell(script: &str) -> Output {
    let mut command = Command::new("sh");
    command.env("SCHEDLOAD", SCHEDLOAD).env("HACKBENCH", HACKBENCH);
    command.args(["-c", script]).output().unwrap()
}

/// Writes a profile into a directory of its own, which lives as long as the first value.
fn profile(text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.toml");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_string();
    (dir, path)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What was printed, if the program ended with this code.
fn printed(output: &Output, code: i32) -> String {
    let (out, err) = (stdout(output), stderr(output));
    assert_eq!(output.status.code(), Some(code), "stdout:\n{out}\nstderr:\n{err}");
    out
}

/// The one JSON document on stdout.
fn json(output: &Output) -> Value {
    serde_json::from_str(&printed(output, 0)).unwrap()
}

/// Whether the program refused with this code and said all of these words, and printed nothing.
fn refused(output: &Output, code: i32, words: &[&str]) {
    let (out, err) = (stdout(output), stderr(output));
    assert_eq!(output.status.code(), Some(code), "stdout:\n{out}\nstderr:\n{err}");
    for word in words {
        assert!(err.contains(word), "`{word}` is not in:\n{err}");
    }
    assert_eq!(out, "", "a refusal prints nothing to stdout");
}
