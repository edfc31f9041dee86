//! What each program and each subcommand says to `--help`, in a terminal of 80 columns.
//!
//! The programs are the files of src/bin, the subcommands those that `schedload --help` lists, so
//! that a new one has no help without a golden. Must not know: what any option does.

use crate::{GOLDEN, Golden, compare, no_leftovers};
use std::fs;
use std::path::Path;
use std::process::Command;

const COLUMNS: usize = 80;

/// What a program prints to stdout for `words` and `--help`; all are built beside `schedload`.
fn help(program: &str, words: &[&str]) -> String {
    let path = Path::new(env!("CARGO_BIN_EXE_schedload")).with_file_name(program);
    let mut command = Command::new(&path);
    command.args(words).arg("--help").env("COLUMNS", COLUMNS.to_string());
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(output.status.success(), "{program} {words:?} --help: {}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The first word of each line under "Commands:", but for clap's own.
fn subcommands(front_door: &str) -> Vec<&str> {
    let (_, list) = front_door.split_once("\nCommands:\n").unwrap_or_default();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split_once(' '));
    names.map(|(name, _)| name).filter(|name| !name.is_empty() && *name != "help").collect()
}

fn programs() -> Vec<String> {
    let entries = fs::read_dir("src/bin").into_iter().flatten().flatten();
    let stems = entries.filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()));
    stems.collect()
}

#[test]
fn help_of_each_program_and_subcommand() {
    let golden = |name: &str, text: String| Golden {
        path: Path::new(GOLDEN).join("help").join(format!("{name}.txt")),
        text,
    };
    let programs = programs();
    let mut all: Vec<Golden> = programs.iter().map(|name| golden(name, help(name, &[]))).collect();
    let front_door = help("schedload", &[]);
    let subcommands = subcommands(&front_door);
    assert!(subcommands.contains(&"run") && programs.len() > 1, "{programs:?}, {subcommands:?}");
    for name in subcommands {
        all.push(golden(&format!("schedload.{name}"), help("schedload", &[name])));
    }
    for Golden { path, text } in &all {
        for line in text.lines() {
            let width = line.chars().count();
            assert!(width <= COLUMNS, "{}: {width} columns: {line}", path.display());
        }
    }
    compare(&all);
    no_leftovers("help", "txt", &all);
}
