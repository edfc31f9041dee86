//! The profile `jbb`: pauses that stop all warehouses, parts that can be left out, rows of a ramp.

use crate::{json, printed, program};
use serde_json::Value;

const JBB: &str = env!("CARGO_BIN_EXE_schedload-jbb");

/// Small heaps, and pauses every 40 transactions or so.
const SHORT: &str = "--duration 300ms --warmup 50ms --heap 1MB --table 1MiB --nursery 1MiB \
                     --young 1MiB --warehouses 3 --helpers 2";

/// A short run, with its laws.
fn run(flags: &str) -> Value {
    let document = json(&program(JBB, &format!("{SHORT} {flags} --json -")));
    let run = document["runs"][0].clone();
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
    assert!(transactions(&run) > 0.0, "{}", run["metrics"]["transactions_per_s"]);
    run
}

fn transactions(run: &Value) -> f64 {
    run["metrics"]["transactions_per_s"]["value"].as_f64().unwrap_or_default()
}

/// What the team did at the safepoint.
fn at_safepoint<'a>(run: &'a Value, team: &str) -> Option<&'a Value> {
    run["sync"].as_array().unwrap().iter().find(|row| row["team"] == team)
}

fn regions(run: &Value) -> Vec<&str> {
    let memory = run["residency"]["instances"][0]["memory"].as_array().unwrap();
    let mut names: Vec<&str> = memory.iter().map(|it| it["region"].as_str().unwrap()).collect();
    names.dedup();
    names
}

#[test]
fn a_pause_stops_all_warehouses_and_takes_all_helpers() {
    let run = run("");
    let of = |team, key: &str| at_safepoint(&run, team).unwrap()[key].as_u64().unwrap();
    let pauses = of("helper", "pauses");
    assert!(pauses > 2, "{pauses}");
    // The window may begin and end within a pause.
    assert!(of("warehouse", "passes").abs_diff(3 * pauses) <= 2 * 3, "{}", run["sync"]);
    assert!(of("helper", "passes").abs_diff(2 * pauses) <= 2 * 2, "{}", run["sync"]);
    let metric = |key: &str| run["metrics"][key]["value"].as_f64().unwrap();
    assert!(metric("pause_ns_p50") > 0.0);
    // Outside of pauses there are at least as many as on average over them.
    assert!(metric("warehouse_runnable_unpaused") >= metric("warehouse_runnable"));
    assert_eq!(regions(&run), ["heap", "table", "nursery"]);
}

#[test]
fn pauses_tables_and_nurseries_can_be_left_out() {
    let unstopped = run("--gc 0");
    assert_eq!(at_safepoint(&unstopped, "helper"), None);
    assert_eq!(unstopped["metrics"]["pauses_per_s"]["value"], 0.0);
    let metric = |key: &str| unstopped["metrics"][key]["value"].as_f64();
    assert_eq!(metric("warehouse_runnable_unpaused"), metric("warehouse_runnable"));
    assert_eq!(regions(&run("--table 0")), ["heap", "nursery"]);
    assert_eq!(regions(&run("--nursery 0")), ["heap", "table"]);
}

#[test]
fn each_vm_has_its_own_pauses() {
    let run = run("--jvms 2");
    let instances = run["residency"]["instances"].as_array().unwrap();
    assert_eq!(instances.len(), 2);
    let of = |team, key: &str| at_safepoint(&run, team).unwrap()[key].as_u64().unwrap();
    let pauses = of("helper", "pauses");
    assert!(of("warehouse", "passes").abs_diff(3 * pauses) <= 2 * 2 * 3, "{}", run["sync"]);
}

#[test]
fn a_ramp_has_its_rows_and_score() {
    let flags = SHORT.replace("--warehouses 3", "--sweep warehouses=1..4 --repeat 2");
    let flags = flags.replace("300ms", "100ms");
    let document = json(&program(JBB, &format!("{flags} --json -")));
    let (ramp, points) = (&document["sweep"]["ramp"], &document["sweep"]["points"]);
    let number = |value: &Value| value.as_f64().unwrap();
    let mut hmeans = Vec::new();
    for n in 1..=4 {
        let row = &ramp["rows"][n - 1];
        assert_eq!(row["name"], format!("tput-{n}"));
        assert_eq!(row["n"], 2);
        let rates: Vec<f64> =
            points[n - 1]["runs"].as_array().unwrap().iter().map(transactions).collect();
        let hmean = 2.0 / (1.0 / rates[0] + 1.0 / rates[1]);
        assert!((number(&row["hmean"]) - hmean).abs() < hmean * 1e-9, "{row}: {rates:?}");
        hmeans.push(hmean);
    }
    // From as many warehouses as CPUs to twice that, where they are among 1 to 4.
    let cpus = points[0]["host"]["cpus"].as_u64().unwrap();
    let scored: Vec<f64> =
        (cpus..=2 * cpus).filter(|n| *n <= 4).map(|n| hmeans[n as usize - 1]).collect();
    match scored.is_empty() {
        true => assert_eq!(ramp["score"]["mean"], Value::Null),
        false => {
            let mean = scored.iter().sum::<f64>() / scored.len() as f64;
            assert!((number(&ramp["score"]["mean"]) - mean).abs() < mean * 1e-9, "{ramp}");
        }
    }
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), document.to_string()).unwrap();
    let text = printed(&crate::schedload(&format!("report {}", path.path().display())), 0);
    for word in ["Hmean of transactions_per_s (1/s) over 2 runs a point", "  tput-4  ", "  score "]
    {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn rows_of_several_vms_tell_the_least_and_the_most() {
    let flags = SHORT.replace("--warehouses 3", "--sweep warehouses=1,2 --jvms 3");
    let document = json(&program(JBB, &format!("{} --json -", flags.replace("300ms", "100ms"))));
    let (ramp, points) = (&document["sweep"]["ramp"], &document["sweep"]["points"]);
    for at in 0..2 {
        let (row, run) = (&ramp["rows"][at], &points[at]["runs"][0]);
        let rates = run["instances"].as_array().unwrap().iter();
        let rates: Vec<f64> = rates.map(|it| it["per_s"].as_f64().unwrap()).collect();
        assert_eq!(rates.len(), 3);
        assert!((rates.iter().sum::<f64>() / transactions(run) - 1.0).abs() < 1e-9, "{rates:?}");
        let [least, most] = ["least", "most"].map(|it| row["instances"][it].as_f64().unwrap());
        // The mean of one run is its own number, but for rounding.
        let near = |a: f64, b: f64| assert!((a - b).abs() <= b * 1e-9, "{a} {b}");
        near(least, rates.iter().copied().fold(f64::INFINITY, f64::min));
        near(most, rates.iter().copied().fold(0.0, f64::max));
    }
}

#[test]
fn another_parameter_has_no_rows() {
    let flags = SHORT.replace("300ms", "50ms");
    let document = json(&program(JBB, &format!("{flags} --sweep walk=1%,2% --json -")));
    assert_eq!(document["sweep"]["ramp"], Value::Null);
}
