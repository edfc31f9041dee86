//! perf's counts of a whole program against what the program reports.
//!
//! Must not know: how the program counts.

use crate::{Outcome, Test};
use serde_json::Value;
use std::process::{Command, Output};

pub const TESTS: &[Test] =
    &[Test { name: "perf::switches_and_migrations", body: switches_and_migrations }];

/// A program under `perf stat`; its counts, or why perf cannot count here.
fn counted(program: &[&str]) -> Result<(Output, u64, u64), String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut perf = Command::new("perf");
    perf.args(["stat", "-x;", "-e", "context-switches,cpu-migrations", "-o"]);
    perf.arg(file.path()).arg("--").args(program).env("LC_ALL", "C");
    let output = perf.output().map_err(|error| format!("perf: {error}"))?;
    let text = std::fs::read_to_string(file.path()).unwrap();
    let count = |event: &str| {
        let line = text.lines().find(|line| line.contains(event));
        let count = line.and_then(|line| line.split(';').next()?.parse::<u64>().ok());
        // `context-switches:u` is all that may be counted without the right, and is always 0.
        let whole = line.is_some_and(|line| !line.contains(":u"));
        count.filter(|_| whole).ok_or(format!(
            "perf does not count {event}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        ))
    };
    let (switches, migrations) = (count("context-switches")?, count("cpu-migrations")?);
    Ok((output, switches, migrations))
}

fn metric(report: &Value, key: &str) -> Option<u64> {
    report["runs"][0]["metrics"][key]["value"].as_f64().map(|value| value as u64)
}

fn switches_and_migrations() -> Outcome {
    /// Switches of the program that are none of its tasks', beyond a tenth.
    const SLACK: u64 = 5_000;
    for form in ["threads", "processes"] {
        let schedload = env!("CARGO_BIN_EXE_schedload");
        let program =
            [schedload, "run", "pingpong", "--as", form, "--loops", "10000", "--json", "-"];
        let (output, switches, migrations) = match counted(&program) {
            Ok(counted) => counted,
            Err(why) => return Outcome::Skipped(why),
        };
        let stderr = String::from_utf8_lossy(&output.stderr);
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {stderr}"));
        let voluntary = metric(&report, "voluntary_switches").unwrap();
        let of_tasks = voluntary + metric(&report, "involuntary_switches").unwrap();
        assert!(
            of_tasks <= switches && switches <= of_tasks + of_tasks / 10 + SLACK,
            "as {form}: {of_tasks} switches of tasks, {switches} by perf"
        );
        let own = report["runs"][0]["migrations"]["total"].as_u64().unwrap();
        // perf counts when the task runs again, once for all moves since it ran last
        // (kernel/events/core.c, __perf_event_task_sched_in, v6.12), as we do; the kernel's own
        // nr_migrations counts each move, so it may be above both.
        assert!(own <= migrations, "as {form}: {own} migrations, {migrations} by perf");
    }
    Outcome::Passed
}
