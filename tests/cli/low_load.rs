//! The profiles `nas-third` and `cas`, which leave CPUs free: what is counted, and what is told of
//! where it was.
//!
//! Must not know: how long anything takes, or on which CPUs it is.

use crate::{json, printed, profile, program, schedload};
use serde_json::Value;

const NAS_THIRD: &str = env!("CARGO_BIN_EXE_schedload-nas-third");
const CAS: &str = env!("CARGO_BIN_EXE_schedload-cas");

/// The only run, all of whose laws hold.
fn run(document: &Value) -> &Value {
    let run = &document["runs"][0];
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
    run
}

fn metric(run: &Value, key: &str) -> Option<f64> {
    run["metrics"][key]["value"].as_f64()
}

/// Blocks of that name that ended in the window.
fn blocks(run: &Value, name: &str) -> u64 {
    let rows = run["latency"].as_array().unwrap().iter();
    rows.filter(|row| row["series"] == name).filter_map(|row| row["count"].as_u64()).sum()
}

fn sum_of_shares(rows: &Value) -> f64 {
    rows.as_array().unwrap().iter().filter_map(|row| row["share"].as_f64()).sum()
}

#[test]
fn phases_end_in_barriers() {
    let check = |flags: &str| {
        let small = "--slice 64KiB --grain 100us --lines 1 --duration 300ms --warmup 0s --json -";
        let document = json(&program(NAS_THIRD, &format!("--threads 3 {small} {flags}")));
        let run = run(&document);
        let barrier = &run["sync"][0];
        let (passes, phases) = (barrier["passes"].as_u64().unwrap(), blocks(run, "phase"));
        assert_eq!(passes, phases, "a phase is over with its barrier: {flags}");
        assert!(phases > 0, "{flags}");
        if let Some(rounds) = barrier["rounds"].as_u64() {
            assert!(passes.abs_diff(3 * rounds) <= 3, "{flags}: {passes} of {rounds} rounds");
        }
        assert_eq!(metric(run, "barrier_wait_share"), barrier["wait_share"].as_f64(), "{flags}");
        let asleep = barrier["slept"].as_f64().map(|slept| slept / passes as f64);
        assert_eq!(metric(run, "barrier_asleep_share"), asleep, "{flags}");
        let p = ["phase_ns_p50", "phase_ns_p95", "phase_ns_p99"].map(|key| metric(run, key));
        assert!(p.is_sorted(), "{p:?}");
        run.clone()
    };
    for barrier in ["spin_then_futex", "spin", "futex", "neighbour"] {
        check(&format!("--barrier {barrier}"));
    }
    for choose in ["fixed", "rotating", "random"] {
        let run = check(&format!("--choose {choose} --spins 100 --cv 0%"));
        let share = metric(&run, "thread_active_share");
        assert!(share.is_some_and(|share| share > 0.3 && share < 1.0), "{choose}: {share:?}");
    }
    let all = check("--partial 0 --serial 0 --imbalance uniform --cv 50% --begin main");
    assert_eq!(metric(&all, "thread_active_share"), Some(1.0));
}

#[test]
fn an_active_share_is_what_took_part() {
    let check = |share: &str, choose: &str, expected: f64| {
        let (_dir, path) = profile(&format!(
            "about = 'x'\n[barrier.end]\n[team.t]\nsize = 4\nsteps = [ {{ repeat = 6, steps = [ \
             {{ active = {share}, choose = '{choose}', steps = [ {{ spin = '1us' }} ] }}, \
             {{ barrier = 'end' }} ] }} ]"
        ));
        let document = json(&schedload(&format!("run {path} --json -")));
        assert_eq!(metric(run(&document), "t_active_share"), Some(expected), "{share} {choose}");
    };
    for choose in ["fixed", "rotating", "random"] {
        check("0.25", choose, 0.25);
        check("'3 / 4'", choose, 0.75);
        check("1", choose, 1.0);
    }
}

#[test]
fn processes_are_where_their_threads_are() {
    let check = |arm: &str, n_instances: usize, messages: bool| {
        let small = "--footprint 256KiB --lines 200 --duration 300ms --warmup 0s --json -";
        let arms = match arm {
            "single" => "--arm single --processes 4".to_owned(),
            _ => format!("--arm {arm} --processes 2 --threads 2"),
        };
        let document = json(&program(CAS, &format!("{arms} {small}")));
        let run = run(&document);
        let instances = run["residency"]["instances"].as_array().unwrap();
        assert_eq!(instances.len(), n_instances, "{arm}");
        for instance in instances {
            for key in ["cpu", "llcs"] {
                let sum = sum_of_shares(&instance[key]);
                assert!((sum - 1.0).abs() < 1e-6, "{arm}: {instance}");
            }
        }
        for key in ["nodes", "llcs", "cpus"] {
            let sum = sum_of_shares(&run["residency"][key]);
            assert!((sum - 1.0).abs() < 1e-6, "{arm}: {key}");
        }
        let llcs = document["host"]["llcs"].as_f64().unwrap();
        match metric(run, "home_llc_share") {
            Some(share) => assert!((1.0 / llcs..=1.0).contains(&share), "{arm}: {share}"),
            None => assert_eq!(llcs, 1.0, "{arm}"),
        }
        assert_eq!(run["messages"]["sent"].as_u64() > Some(0), messages, "{arm}");
        // Each round is 200 lines; one may be in the middle at either end of the window.
        let bytes = metric(run, "memory_bytes_per_s").unwrap() * run["window_s"].as_f64().unwrap();
        let touched = (bytes / 64.0 / 200.0).round() as u64;
        assert!(touched.abs_diff(blocks(run, "round")) <= 4, "{arm}: {touched}");
    };
    check("share", 2, true);
    check("apart", 2, false);
    check("single", 4, false);
}

/// CPUs busy with anything are at least those that the tasks kept busy, to within a tick or two.
#[test]
fn who_kept_the_cpus_busy() {
    let line = "run linpack --threads 1 --duration 500ms --warmup 0s --json -";
    let document = json(&schedload(line));
    let run = run(&document);
    let of_all = run["residency"]["cpus"].as_array().unwrap().iter();
    let busy: f64 = of_all.filter_map(|cpu| cpu["busy"].as_f64()).sum();
    let cpus = document["host"]["cpus"].as_f64().unwrap();
    let Some(tasks) = metric(run, "busy_cpus") else {
        eprintln!("NOT TESTED: {}", run["metrics"]["busy_cpus"]["reason"]);
        return;
    };
    match metric(run, "other_busy_cpus") {
        Some(other) => {
            assert!((0.0..=cpus).contains(&busy) && busy > 0.0, "{busy} of {cpus}");
            assert!((other - (busy - tasks).max(0.0)).abs() < 1e-6, "{other}, {busy}, {tasks}");
        }
        None => eprintln!("NOT TESTED: {}", run["metrics"]["other_busy_cpus"]["reason"]),
    }
}

#[test]
fn a_sweep_goes_through_the_sizes_of_the_machine() {
    let line = "run nas-third --sweep threads=topology --slice 64KiB --grain 100us --duration \
                50ms --warmup 0s";
    let table = printed(&schedload(line), 0);
    assert!(table.contains("threads") && table.contains("barrier_rounds_per_s"), "{table}");
}
