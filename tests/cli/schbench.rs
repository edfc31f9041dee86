//! The `schbench` profile and its stand-in: who asks is let go, requests, lines and JSON.
//!
//! Must not know: how long any of it takes.

use crate::{SCHBENCH, json, program, refused, schedload, stderr, stdout};
use serde_json::Value;

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
fn lines_and_json_are_schbenchs() {
    let line = "-r 2 -i 1 -t 2 -F 4 -n 1 -s 50 -j - -J a_job --quiet";
    let output = program(SCHBENCH, line);
    let lines = stderr(&output);
    let heads: Vec<&str> = lines.lines().filter(|line| !line.starts_with('\t')).collect();
    let check = |at: usize, begin: &str| assert!(heads[at].starts_with(begin), "{at}: {lines}");
    // One on the way, then the last.
    for (first, runtime) in [(0, 1), (4, 2)] {
        let percentiles = |label| format!("{label}) runtime {runtime} (s) (");
        check(first, &percentiles("Wakeup Latencies percentiles (usec"));
        check(first + 1, &percentiles("Request Latencies percentiles (usec"));
        check(first + 2, &percentiles("RPS percentiles (requests"));
    }
    check(3, "current rps: ");
    check(7, "average rps: ");
    check(8, "sched delay: message ");
    assert_eq!(heads.len(), 9, "{lines}");
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
    refused(&program(SCHBENCH, "-A 50"), 1, &["--auto-rps", "--rps"]);
    refused(&program(SCHBENCH, "-m 0"), 1, &["-m"]);
    refused(&program(SCHBENCH, "--footprint 1"), 1, &["--footprint"]);
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
