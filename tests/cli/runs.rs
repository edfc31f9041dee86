//! Real runs: what goes in comes out, for every kind of channel, in every format.

use crate::{json, printed, profile, program, schedload};
use schedload::output::FORMATS;
use schedload::step::channel::KINDS;
use serde_json::Value;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn sum<'a>(rows: impl Iterator<Item = &'a Value>) -> u64 {
    rows.map(|row| number(&row["count"])).sum()
}

/// Nothing is lost between sending, receiving, waking and recording.
fn conserves(run: &Value) {
    let messages = &run["messages"];
    assert_eq!(messages["sent"], messages["received"], "{run:#}");
    let wakeups = number(&messages["wakeups"]);
    let received = number(&messages["received_window"]);
    assert_eq!(wakeups + number(&run["found_ready"]), received, "{run:#}");
    let rows = run["latency"].as_array().unwrap();
    let wakeup_rows = || rows.iter().filter(|row| row["series"] == "wakeup");
    let whole = |row: &&Value| row["relation"] == "all" && row["moved"].is_null();
    assert_eq!(sum(wakeup_rows().filter(whole)), wakeups, "{run:#}");
    let split = |row: &&Value| row["relation"] != "all" && row["moved"].is_boolean();
    assert_eq!(sum(wakeup_rows().filter(split)), wakeups, "{run:#}");
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
}

#[test]
fn hackbench_loses_nothing() {
    for form in ["processes", "threads"] {
        let line = format!("run hackbench --groups 2 --loops 200 --as {form} --json -");
        let document = json(&schedload(&line));
        assert_eq!(document["schema"], 1);
        assert_eq!(document["profile"]["params"]["groups"], "2");
        let runs = document["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0]["messages"]["sent"], 2 * 20 * 20 * 200);
        assert_eq!(runs[0]["tasks"], 80);
        assert_eq!(runs[0]["end"], "done");
        conserves(&runs[0]);
    }
}

#[test]
fn every_kind_of_channel_plays_ping_pong() {
    for kind in KINDS {
        let forms: &[&str] = match kind.processes {
            true => &["threads", "processes"],
            false => &["threads"],
        };
        for form in forms {
            let name = kind.name;
            let line = format!("run pingpong --kind {name} --as {form} --loops 300 --json -");
            let document = json(&schedload(&line));
            let run = &document["runs"][0];
            assert_eq!(run["messages"]["received"], 600, "{name} {form}");
            conserves(run);
            let trips = run["latency"].as_array().unwrap();
            let trips = trips.iter().filter(|row| row["series"] == "round_trip");
            let whole = trips.filter(|row| row["relation"] == "all");
            assert_eq!(sum(whole), 300, "{name} {form}");
        }
    }
}

#[test]
fn a_window_ends_a_run_without_end() {
    let line = "run fanout --wakees 3 --duration 200ms --warmup 50ms --json -";
    let document = json(&schedload(line));
    let run = &document["runs"][0];
    assert_eq!(run["end"], "time_up");
    assert!(number(&run["messages"]["received_window"]) > 0, "{run:#}");
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
}

#[test]
fn work_and_sleep_are_done() {
    let (_dir, path) = profile(
        r#"
about = "Works, spins and sleeps"
[team.worker]
size = 2
steps = [ { repeat = 3, steps = [ { work = "100us" }, { spin = "1ms" }, { sleep = "1ms" } ] } ]
"#,
    );
    let document = json(&schedload(&format!("run {path} --json -")));
    let run = &document["runs"][0];
    assert_eq!(document["profile"]["name"], "mine");
    assert_eq!(run["end"], "done");
    // Three spins and three sleeps of a millisecond each take at least that long.
    assert!(run["elapsed_s"].as_f64().unwrap() >= 0.006, "{run:#}");
    // By ticks the kernel splits CPU time into user and system; only their sum is exact.
    let cpu_s = run["user_s"].as_f64().unwrap() + run["sys_s"].as_f64().unwrap();
    assert!(cpu_s > 0.0, "{run:#}");
}

/// What is touched before the gate takes longer than the run.
#[test]
fn cpu_time_is_of_the_span_of_elapsed() {
    const TICK_S: f64 = 0.01;
    for top in ["", "instances = 1"] {
        for (touch, form) in [("owner", "threads"), ("main", "threads"), ("owner", "processes")] {
            let (_dir, path) = profile(&format!(
                "about = \"x\"\n{top}\n[memory.area]\nbytes = \"192 MiB\"\nhuge = \"never\"\n\
                 first_touch = \"{touch}\"\n[team.w]\nsize = 1\nas = \"{form}\"\n\
                 steps = [ {{ touch = \"area\", count = 1 }} ]\n"
            ));
            let document = json(&schedload(&format!("run {path} --json -")));
            let run = &document["runs"][0];
            let number = |value: &Value| value.as_f64().unwrap();
            let cpu_s = number(&run["user_s"]) + number(&run["sys_s"]);
            // The task, and who created it.
            let had_s = number(&run["elapsed_s"]) * 2.0;
            assert!(cpu_s <= had_s + TICK_S, "{top} {touch} {form}: {cpu_s} s of {had_s} s");
        }
    }
}

#[test]
fn repeats_are_kept_and_summed_up() {
    let document = json(&schedload("run pingpong --loops 100 --repeat 3 --json -"));
    let runs = document["runs"].as_array().unwrap();
    let numbers: Vec<u64> = runs.iter().map(|run| number(&run["run"])).collect();
    assert_eq!(numbers, [0, 1, 2]);
    assert_eq!(document["summary"]["round_trips_per_s"]["n"], 3);
    runs.iter().for_each(conserves);
}

#[test]
fn a_sweep_is_one_document_and_one_table() {
    let line = "run pingpong --loops 50 --sweep pairs=1,2,1+2";
    let document = json(&schedload(&format!("{line} --json -")));
    assert_eq!(document["schema"], 1);
    assert_eq!(document["sweep"]["name"], "pairs");
    let points = document["sweep"]["points"].as_array().unwrap();
    let pairs: Vec<&Value> = points.iter().map(|it| &it["profile"]["params"]["pairs"]).collect();
    assert_eq!(pairs, ["1", "2", "3"]);
    for (point, n) in points.iter().zip(1..) {
        assert_eq!(point["runs"][0]["messages"]["sent"], 100 * n);
    }
    let text = printed(&schedload(line), 0);
    let table = text.lines().skip_while(|line| !line.is_empty()).skip(1);
    let table = table.take_while(|line| !line.is_empty());
    let first: Vec<&str> = table.map(|it| it.split_whitespace().next().unwrap()).collect();
    assert_eq!(first, ["pairs", "1", "2", "3"]);
}

#[test]
fn a_stored_report_prints_as_it_did() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["one", "sweep"] {
        let path = dir.path().join(name);
        let path = path.to_str().unwrap();
        let more = if name == "sweep" { "--sweep pairs=1,2" } else { "--repeat 2" };
        let run = schedload(&format!("run pingpong --loops 50 {more} --json {path}"));
        let report = schedload(&format!("report {path}"));
        assert_eq!(printed(&run, 0), printed(&report, 0));
    }
    // Stored and replaced, with no draft left beside them.
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn every_format_is_printed_and_written() {
    let dir = tempfile::tempdir().unwrap();
    for format in FORMATS {
        let line = format!("run pingpong --loops 50 --format {}", format.name);
        let text = printed(&schedload(&line), 0);
        assert!(text.contains("round_trip"), "{text}");
        let path = dir.path().join(format.name);
        let written = schedload(&format!("{line} --out {}", path.display()));
        assert_eq!(printed(&written, 0), "");
        assert!(std::fs::read_to_string(path).unwrap().contains("round_trip"));
    }
}

#[test]
fn quiet_prints_nothing_but_writes_what_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report");
    let output = schedload(&format!("run pingpong --loops 50 -q --json {}", path.display()));
    assert_eq!(printed(&output, 0), "");
    assert_eq!(crate::stderr(&output), "");
    assert!(std::fs::read_to_string(path).unwrap().starts_with('{'));
    assert_eq!(json(&schedload("run pingpong --loops 50 -q --json -"))["schema"], 1);
}

#[test]
fn programs_of_one_profile_do_what_run_does() {
    let pingpong = env!("CARGO_BIN_EXE_schedload-pingpong");
    let document = json(&program(pingpong, "--pairs 2 --loops 50 --as processes --json -"));
    assert_eq!(document["profile"]["name"], "pingpong");
    assert_eq!(document["runs"][0]["messages"]["received"], 200);
    let fanout = env!("CARGO_BIN_EXE_schedload-fanout");
    let document = json(&program(fanout, "-n 2 --duration 100ms --warmup 0s --json -"));
    assert_eq!(document["profile"]["name"], "fanout");
}

#[test]
fn a_seed_is_kept() {
    let document = json(&schedload("run pingpong --loops 50 --seed 77 --json -"));
    assert_eq!(document["profile"]["seed"], 77);
}
