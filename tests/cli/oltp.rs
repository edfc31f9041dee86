//! The profile `oltp`: transactions are 20 round trips and one commit each, by instance and in all.
//!
//! Must not know: how fast any of it is.

use crate::{json, profile, schedload};
use serde_json::Value;

/// The run of a line of flags, whose laws hold.
fn run(line: &str) -> Value {
    let run = json(&schedload(&format!("run {line} --json -")))["runs"][0].clone();
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
    run
}

fn sum(rows: &Value, number: impl Fn(&Value) -> Option<u64>) -> u64 {
    rows.as_array().unwrap().iter().filter_map(number).sum()
}

fn transactions(run: &Value) -> u64 {
    sum(&run["latency"], |row| (row["series"] == "transaction").then(|| row["count"].as_u64())?)
}

/// Passes of a team of the whole server at an object of this name, in the window.
fn passes(run: &Value, name: &str) -> u64 {
    sum(&run["sync"], |row| (row["name"] == name).then(|| row["passes"].as_u64())?)
}

/// The profile without a time, so that each client does one transaction.
fn once() -> String {
    let shown = String::from_utf8(schedload("show oltp").stdout).unwrap();
    let timed = |line: &&str| line.starts_with("duration") || line.starts_with("warmup");
    assert_eq!(shown.lines().filter(timed).count(), 2);
    shown.lines().filter(|line| !timed(line)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_transaction_is_twenty_round_trips_and_a_commit() {
    let check = |kind: &str, load: &str, instances: u64, threads: u64| {
        let (_dir, path) = profile(&once());
        let run = run(&format!(
            "{path} --kind {kind} --load {load} --instances {instances} --threads {threads} \
             --pool 1MiB"
        ));
        let done = instances * threads;
        assert_eq!(transactions(&run), done);
        assert_eq!(passes(&run, "log"), done);
        assert_eq!(passes(&run, "row"), 4 * done);
        // Requests and replies, and what two updates and a delete leave to purge.
        let purged = if load == "work" { 3 * done } else { 0 };
        assert_eq!(run["messages"]["sent"], 2 * 20 * done + purged);
        let by_instance: Vec<u64> = run["instances"]
            .as_array()
            .map(|rows| rows.iter().map(|row| row["time"]["count"].as_u64().unwrap()).collect())
            .unwrap_or_default();
        let expected = if instances > 1 { vec![threads; instances as usize] } else { vec![] };
        assert_eq!(by_instance, expected);
    };
    check("socketpair", "work", 1, 7);
    check("socketpair", "work", 2, 5);
    check("tcp", "none", 3, 2);
}

/// What tasks of the instances saw of wakeups and migrations is what those of the run did.
fn instances_add_up(run: &Value) {
    let instances = &run["residency"]["instances"];
    let of = |key: &str| sum(instances, |it| it["counts"][key].as_u64());
    for key in ["pulled_llc", "pulled_node", "returned_10ms", "returned_100ms"] {
        assert_eq!(of(key), run["migrations"][key].as_u64().unwrap(), "{key}");
    }
    assert_eq!(of("migrations"), run["migrations"]["total"].as_u64().unwrap());
    let wakeups = |relation: &str| {
        sum(&run["latency"], |row| {
            let whole = row["series"] == "wakeup" && row["moved"].is_null();
            (whole && row["relation"] == relation).then(|| row["count"].as_u64())?
        })
    };
    assert_eq!(of("wakeups"), wakeups("all"));
    assert_eq!(of("cross_node_wakeups"), wakeups("cross_node"));
    for it in instances.as_array().unwrap() {
        let count = |key: &str| it["counts"][key].as_u64().unwrap();
        assert!(count("wakeups") > 0, "{it}");
        let share = &it["counts"]["returned_share"];
        match count("migrations") {
            0 => assert!(share["reason"].is_string(), "{share}"),
            n => {
                let returned = count("returned_100ms") as f64 / n as f64;
                assert!((share["value"].as_f64().unwrap() - returned).abs() < 1e-9, "{share}");
            }
        }
    }
}

#[test]
fn a_run_of_some_time_has_its_instances() {
    let run = run("oltp --instances 2 --threads 2 --pool 4MiB --duration 300ms --warmup 0ms");
    let rows = run["instances"].as_array().unwrap();
    let numbers: Vec<u64> = rows.iter().map(|row| row["instance"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [0, 1]);
    let of = |key: &str| sum(&run["instances"], |row| row["time"][key].as_u64());
    assert_eq!(of("count"), transactions(&run));
    assert!(rows.iter().all(|row| row["time"]["count"].as_u64() > Some(0)), "{rows:?}");
    // What of each client is not whole at either end of the window.
    let off = |n: u64, of: u64, most: u64| assert!(n.abs_diff(of) <= most, "{n}, {of} +- {most}");
    off(passes(&run, "log"), transactions(&run), 4);
    off(passes(&run, "row"), 4 * transactions(&run), 4 * 4);
    for instance in run["residency"]["instances"].as_array().unwrap() {
        let cpu: f64 = instance["cpu"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["share"].as_f64().unwrap())
            .sum();
        assert!((cpu - 1.0).abs() < 1e-6, "{instance}");
        assert!(!instance["memory"].as_array().unwrap().is_empty(), "{instance}");
    }
    instances_add_up(&run);
    let condition = &run["conditions"][0];
    assert_eq!(condition["metric"], "server_asleep_share");
    assert!(condition["value"].is_number(), "{condition}");
    // Both sides sleep, and each switch has a team.
    let switches = |key: &str| run["metrics"][key]["value"].as_f64().unwrap();
    let teams = ["client", "server", "purge"];
    for kind in ["voluntary_switches", "involuntary_switches"] {
        let sum: f64 = teams.iter().map(|team| switches(&format!("{team}_{kind}"))).sum();
        assert!((sum - switches(kind)).abs() < 0.5, "{kind}");
    }
    assert!(switches("client_voluntary_switches") > 0.0);
}
