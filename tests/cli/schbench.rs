//! The `schbench` profile and its stand-in: who asks is let go, requests, lines and JSON.
//!
//! Must not know: how long any of it takes.

use crate::signals::{await_some, kill, start};
use crate::{SCHBENCH, json, profile, program, refused, schedload, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::time::Duration;

const SHORT: &str = "--duration 300ms --warmup 20ms --footprint 4KiB --operations 1 --sleep 50us";

/// A run all of whose laws hold.
fn run(flags: &str) -> Value {
    let document = json(&schedload(&format!("run schbench {SHORT} {flags} --json -")));
    let run = &document["runs"][0];
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check} with {flags}");
    }
    run.clone()
}

fn row<'a>(run: &'a Value, table: &str, wanted: &[(&str, &str)]) -> &'a Value {
    let rows = run[table].as_array().unwrap();
    let is_it = |row: &&Value| wanted.iter().all(|(key, value)| row[key] == *value);
    rows.iter().find(is_it).unwrap_or_else(|| panic!("no {wanted:?} in {rows:?}"))
}

fn count(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap_or_else(|| panic!("no {key} in {row}"))
}

#[test]
fn every_request_was_asked_for() {
    for (messages, threads) in [(1, 1), (1, 5), (3, 2)] {
        let run = run(&format!("--messages {messages} --threads {threads}"));
        let tasks = messages * (threads + 1);
        assert_eq!(run["tasks"].as_u64(), Some(tasks));
        let asked = row(&run, "sync", &[("name", "message"), ("team", "worker")]);
        let served = row(&run, "sync", &[("name", "message"), ("team", "message")]);
        let asks = count(asked, "passes");
        assert!(asks > 0, "{run}");
        // In the window one may be let go before it and go on in it, or the other way round.
        assert!(asks.abs_diff(count(served, "grouped")) <= tasks, "{asked} {served}");
        assert!(count(served, "groups") <= count(served, "grouped"));
        let of = |series: &str| {
            let wanted = [("series", series), ("team", "worker"), ("relation", "all")];
            count(row(&run, "latency", &wanted), "count")
        };
        assert!(of("message_batch_wait").abs_diff(asks) <= tasks, "each knows its batch: {run}");
        assert!(of("wakeup") <= asks + tasks);
        assert!(of("request").abs_diff(asks) <= tasks);
        let locked = row(&run, "sync", &[("name", "cpu"), ("team", "worker")]);
        assert!(count(locked, "passes").abs_diff(asks) <= tasks);
    }
}

#[test]
fn a_batch_is_no_later_than_the_wakes_in_it() {
    let run = run("--threads 6");
    let of = |series: &str| {
        let wanted = [("series", series), ("team", "worker"), ("relation", "all")];
        row(&run, "latency", &wanted)["max"].as_u64().unwrap()
    };
    assert!(of("message_batch_wait") >= of("wakeup"), "{run}");
}

#[test]
fn requests_that_arrive_are_served_or_queued() {
    let run = run("--rps 400 --threads 2");
    let arrived = count(&run["arrivals"][0], "arrivals_total");
    let messages = &run["messages"];
    assert_eq!(count(messages, "sent"), arrived);
    assert!(arrived > 0 && count(messages, "received") <= arrived, "{run}");
    assert!(run["metrics"]["response_ns_p99"]["value"].as_f64() > Some(0.0), "{run}");
    assert_eq!(run["sync"].as_array().unwrap().len(), 1, "only the lock is used: {run}");
}

#[test]
fn parameters_leave_out_what_they_say() {
    let without = run("--locking 0");
    assert!(without["sync"].as_array().unwrap().iter().all(|row| row["name"] != "cpu"));
    let shared = run("--private 0% --operations 2");
    assert!(shared["metrics"]["requests_per_s"]["value"].as_f64() > Some(0.0));
}

#[test]
fn each_side_writes_at_each_wake() {
    for (pipe, line_bytes, flags) in [(100, 128, "--messages 2 --threads 2"), (4096, 4096, "")] {
        let run = run(&format!("--pipe {pipe}B {flags}"));
        let n_tasks = run["tasks"].as_u64().unwrap();
        let passes =
            |team, key| count(row(&run, "sync", &[("name", "message"), ("team", team)]), key);
        let wrote = |team| count(row(&run, "memory_steps", &[("team", team)]), "bytes");
        // Either is written in lines; what began before the window may be counted in it.
        for (team, wakes) in
            [("message", passes("message", "grouped")), ("worker", passes("worker", "passes"))]
        {
            let written = wrote(team) / line_bytes;
            assert_eq!(wrote(team) % line_bytes, 0, "{team} of {run}");
            assert!(wakes > 0 && written.abs_diff(wakes) <= n_tasks, "{team}: {written}, {wakes}");
        }
        let no_requests = &run["metrics"]["request_ns_p99"];
        assert!(no_requests["value"].is_null() && no_requests["reason"].is_string(), "{run}");
        assert!(run["latency"].as_array().unwrap().iter().all(|row| row["series"] != "request"));
    }
}

#[test]
fn processes_are_handed_what_they_share() {
    let (_dir, path) = profile(
        "about = 'x'\nduration = '200ms'\n[desk.d]\n[memory.page]\nbytes = '1 KiB'\ncount = 3\n\
         shared = 'all'\n[team.server]\nsize = 1\nsteps = [ { serve = 'd', fill = 'page', \
         bytes = '1 KiB' } ]\n[team.asker]\nsize = 3\nas = 'processes'\n\
         steps = [ { ask = 'd' }, { sleep = '1ms' } ]\n",
    );
    let document = json(&schedload(&format!("run {path} --json -")));
    let run = &document["runs"][0];
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
    let served = count(row(run, "sync", &[("name", "d"), ("team", "server")]), "grouped");
    let written = count(row(run, "memory_steps", &[("team", "server")]), "bytes");
    assert!(served > 0 && (written / 1024).abs_diff(served) <= 4, "{written} for {served}: {run}");
}

#[test]
fn a_metric_of_what_is_not_done_says_so() {
    let value = |run: &Value, key: &str| run["metrics"][key]["value"].as_f64();
    let (asked, arrived) = (run("--threads 2"), run("--rps 400 --threads 2"));
    assert_eq!(value(&asked, "responses_per_s"), None);
    assert!(value(&arrived, "responses_per_s") > Some(0.0), "{arrived}");
    assert_eq!(value(&arrived, "message_batch_waits_per_s"), None);
    assert_eq!(value(&arrived, "asks_per_s"), None);
    for run in [asked, arrived] {
        let share = value(&run, "worker_asleep_share").unwrap();
        assert!((0.0..=1.0).contains(&share), "{run}");
        assert_eq!(run["conditions"][0]["metric"], "worker_asleep_share");
    }
}

#[test]
fn lines_of_a_pipe_are_schbenchs() {
    let output = program(SCHBENCH, "-r 2 -i 1 -t 2 -p 4096 -j - --quiet");
    let lines = stderr(&output);
    let heads: Vec<&str> = lines.lines().filter(|line| !line.starts_with('\t')).collect();
    assert!(heads[0].starts_with("Wakeup Latencies percentiles (usec) runtime 2 (s) ("), "{lines}");
    assert!(heads[1].starts_with("avg worker transfer: ") && heads[1].ends_with("B/s"), "{lines}");
    assert_eq!(heads.len(), 2, "nothing on the way, no rates: {lines}");
    assert!(lines.contains("\t  20.0th: "), "{lines}");
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let keys = document["int"].as_object().unwrap();
    assert!(keys.contains_key("wakeup_latency_pct20.0"), "{document}");
    assert!(keys.keys().all(|key| !key.starts_with("request") && !key.starts_with("rps")));
    let large = program(SCHBENCH, "-r 1 -t 1 -p 2000000 --quiet");
    assert!(stderr(&large).starts_with("warning: "), "{}", stderr(&large));
}

#[test]
fn a_rate_is_found_and_told() {
    // As much as there can be, so that a busy machine is soon there.
    let output = program(SCHBENCH, "-A 100 -R 100000 -r 1 -t 4 -F 4 -n 1 -s 0 -j - --quiet");
    let lines = stderr(&output);
    let goal = lines.lines().rev().nth(1).unwrap().strip_prefix("final rps goal was ");
    assert!(goal.is_some_and(|goal| goal.parse::<u64>().is_ok_and(|it| it > 0)), "{lines}");
    assert!(lines.lines().last().unwrap().starts_with("sched delay: "), "{lines}");
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["int"]["runtime"], 1);
}

/// What it says when it is stopped, which must be soon.
fn interrupted(line: &str, after: Duration) -> String {
    let child = start(SCHBENCH, line);
    let tasks = format!("/proc/{}/task", child.id());
    await_some("its tasks", || (fs::read_dir(&tasks).ok()?.count() > 2).then_some(()));
    std::thread::sleep(after);
    kill("-INT", child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    stderr(&output)
}

#[test]
fn a_run_without_end_ends_with_a_signal() {
    let lines = interrupted("-r 0 -t 2 -F 4 -n 1 --quiet", Duration::from_millis(500));
    assert!(lines.contains("average rps: "), "{lines}");
    // Nobody waits for the search to end, and nothing was measured yet.
    let lines = interrupted("-A 50 -r 60 -t 2 --quiet", Duration::from_millis(300));
    assert!(!lines.contains("final rps goal"), "{lines}");
}

#[test]
fn lines_and_json_are_schbenchs() {
    let line = "-r 2 -i 1 -t 2 -F 4 -n 1 -s 50 -j - -J a_job --quiet";
    let output = program(SCHBENCH, line);
    let lines = stderr(&output);
    let heads: Vec<&str> = lines.lines().filter(|line| !line.starts_with('\t')).collect();
    let check = |at: usize, begin: &str| assert!(heads[at].starts_with(begin), "{at}: {lines}");
    // Of each interval, then of all.
    for (first, runtime) in [(0, 1), (4, 2), (8, 2)] {
        let percentiles = |label| format!("{label}) runtime {runtime} (s) (");
        check(first, &percentiles("Wakeup Latencies percentiles (usec"));
        check(first + 1, &percentiles("Request Latencies percentiles (usec"));
        check(first + 2, &percentiles("RPS percentiles (requests"));
    }
    check(3, "current rps: ");
    check(7, "current rps: ");
    check(11, "average rps: ");
    check(12, "sched delay: message ");
    assert_eq!(heads.len(), 13, "{lines}");
    for row in ["\t  50.0th: ", "\t* 99.0th: ", "\t  99.9th: ", "\t* 50.0th: ", "\t  20.0th: "] {
        assert!(lines.contains(row), "{row:?} in {lines}");
    }
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["normal"]["jobname"], "a_job");
    assert!(document["normal"]["cmdline"].as_str().unwrap().ends_with(line));
    for series in ["wakeup_latency", "request_latency", "rps"] {
        for key in ["pct20.0", "pct50.0", "pct90.0", "pct99.0", "pct99.9", "min", "max"] {
            let key = format!("{series}_{key}");
            assert!(document["int"][&key].is_u64(), "{key} in {document}");
        }
    }
    assert_eq!(document["int"]["runtime"], 2);
}

#[test]
fn refuses_with_schbenchs_code() {
    refused(&program(SCHBENCH, "-A 101"), 1, &["-A", "percentage"]);
    refused(&program(SCHBENCH, "-m 0"), 1, &["-m"]);
    refused(&program(SCHBENCH, "--footprint 1"), 1, &["--footprint"]);
    let twice = "-j - --report-json -";
    refused(&program(SCHBENCH, twice), 1, &["-j and --report-json both write to `-`"]);
}

#[test]
fn hogs_and_ticks_have_their_rows() {
    let flags = "--duration 300ms --warmup 20ms --hogs 2 --ticks 2 --hog-slice 1ms --tick-nice 0";
    let document = json(&schedload(&format!("run mix {flags} --json -")));
    let run = &document["runs"][0];
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
    let ticks = &run["arrivals"][0];
    assert_eq!((ticks["team"].as_str(), ticks["open_loop"].as_bool()), (Some("tick"), Some(false)));
    assert!(count(ticks, "arrivals") > 0, "{run}");
    for team in ["waker", "wakee"] {
        row(run, "latency", &[("series", "wakeup"), ("team", team), ("relation", "all")]);
    }
}
