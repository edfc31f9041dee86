//! Each profile that is a workload of its own, run where there are nodes.
//!
//! A check runs one, whose laws must hold, and asks for what it tells of nodes. Must not know: how
//! fast anything is.

use super::Check;
use super::program;
use crate::shape::Shape;
use serde_json::Value;

/// What needs two nodes with CPUs and memory.
pub const CHECKS: &[Check] = &[
    Check { name: "profiles::oltp", body: oltp },
    Check { name: "profiles::nas_third", body: nas_third },
    Check { name: "profiles::cas", body: cas },
    Check { name: "profiles::jbb", body: jbb },
    Check { name: "profiles::web", body: web },
    Check { name: "profiles::schbench", body: schbench },
    Check { name: "profiles::mix", body: mix },
];

/// Shares of nodes, which are all of something.
fn is_split(shares: &[&Value], of: &str) {
    let sum: f64 = shares.iter().map(|it| it["share"].as_f64().unwrap()).sum();
    assert!(shares.len() > 1 && (sum - 1.0).abs() < 1e-6, "{of}: {shares:?}");
}

/// Two servers: how their time and memory are split over the nodes, and how often a wakeup crosses.
/// Time of one among several is from looks at the tasks, of which there are few in a slow guest.
fn oltp(_: &Shape) {
    let line = "schedload run oltp --instances 2 --threads 2 --pool 2MiB --duration 15s";
    let run = program::run(line);
    let instances = run.value("residency.instances").as_array().unwrap();
    for instance in instances {
        let shares = |key: &str| instance[key].as_array().unwrap().iter().collect::<Vec<_>>();
        is_split(&shares("cpu"), "time");
        is_split(&shares("memory"), "memory");
        let share = &instance["counts"]["cross_node_wakeup_share"];
        assert!(share["value"].is_number(), "{share}");
    }
    let sum =
        |key: &str| -> u64 { instances.iter().map(|it| it["counts"][key].as_u64().unwrap()).sum() };
    assert_eq!(sum("cross_node_wakeups"), run.wakeups("cross_node"));
    assert_eq!(sum("wakeups"), run.wakeups("all"));
    assert_eq!(sum("pulled_node"), run.number("migrations.pulled_node"));
    let all = run.wakeups("all");
    let share = run.value("metrics.cross_node_wakeup_share.value").as_f64().unwrap();
    assert!((share - run.wakeups("cross_node") as f64 / all as f64).abs() < 1e-9, "{share}");
    let blocks = run.value("instances").as_array().unwrap();
    let done = |at: usize| blocks[at]["time"]["count"].as_u64().unwrap();
    assert!(blocks.len() == 2 && done(0) > 0 && done(1) > 0, "{blocks:?}");
}

/// How the team and its slices are split over the nodes, and how busy each node was; each slice is
/// where its thread was at the start.
fn nas_third(shape: &Shape) {
    let line = "schedload run nas-third --slice 4MiB --lines 1 --duration 3s --warmup 0s";
    let run = program::run(line);
    let shares = |path: &str| run.value(path).as_array().unwrap().iter().collect::<Vec<_>>();
    for path in ["residency.instances.0.cpu", "residency.instances.0.memory", "residency.nodes"] {
        is_split(&shares(path), path);
    }
    let busy = |path: &str| -> f64 {
        let rows = shares(path).into_iter();
        rows.map(|row| row["busy"].as_f64().unwrap_or_else(|| panic!("{path}: {row}"))).sum()
    };
    let cpus = shape.usable().len() as f64;
    for path in ["residency.nodes", "residency.llcs"] {
        assert!((0.0..=cpus).contains(&busy(path)), "{path}: {}", busy(path));
    }
    assert!((busy("residency.nodes") - busy("residency.llcs")).abs() < 1e-6);
    let active = run.value("metrics.thread_active_share.value").as_f64();
    assert!(active.is_some_and(|share| share > 0.5 && share < 1.0), "{active:?}");
}

/// Where each process was, by node and LLC, and how much of its time on the LLC where it was most.
fn cas(_: &Shape) {
    let line = "schedload run cas --footprint 1MiB --lines 200 --duration 3s --warmup 0s";
    let run = program::run(line);
    let instances = run.value("residency.instances").as_array().unwrap();
    let most = |instance: &Value| {
        for key in ["cpu", "memory", "llcs"] {
            is_split(&instance[key].as_array().unwrap().iter().collect::<Vec<_>>(), key);
        }
        let llcs = instance["llcs"].as_array().unwrap().iter();
        llcs.map(|it| it["share"].as_f64().unwrap()).fold(0.0, f64::max)
    };
    let homes: Vec<f64> = instances.iter().map(most).collect();
    let mean = homes.iter().sum::<f64>() / homes.len() as f64;
    let told = run.value("metrics.home_llc_share.value").as_f64().unwrap();
    assert!(homes.len() > 1 && (told - mean).abs() < 1e-6, "{told}: {homes:?}");
}

/// Two VMs, each bound to its node: there they run and have their heaps, and stop on their own.
fn jbb(_: &Shape) {
    let line = "schedload run jbb --jvms 2 --place node:instance --warehouses 2 --helpers 2 \
                --heap 1MB --table 1MiB --nursery 1MiB --young 2MiB --duration 3s --warmup 0s";
    let run = program::run(line);
    let instances = run.value("residency.instances").as_array().unwrap();
    assert_eq!(instances.len(), 2);
    for (node, instance) in instances.iter().enumerate() {
        is_split(&instance["cpu"].as_array().unwrap().iter().collect::<Vec<_>>(), "time");
        let at_home = |row: &&Value| row["node"] == node;
        let time = instance["cpu"].as_array().unwrap().iter().find(at_home).unwrap();
        assert!((time["share"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{instance}");
        let memory = instance["memory"].as_array().unwrap().iter();
        let heap: Vec<&Value> = memory.filter(|it| it["region"] == "heap").collect();
        is_split(&heap, "heap");
        let share = |it: &&Value| it["share"].as_f64().unwrap();
        let home = heap.iter().copied().find(at_home).unwrap();
        assert!(share(&home) > 0.99, "{heap:?}");
    }
    assert!(run.value("metrics.pauses_per_s.value").as_f64().is_some_and(|rate| rate > 0.0));
}

/// How time and the shared heap are split over the nodes; the heap is touched by all workers.
fn web(_: &Shape) {
    let line = "schedload run web --rate 100 --heap 8MiB --touches 20 --duration 3s --warmup 0s";
    let run = program::run(line);
    let instance = run.value("residency.instances.0");
    is_split(&instance["cpu"].as_array().unwrap().iter().collect::<Vec<_>>(), "time");
    let regions = instance["memory"].as_array().unwrap().iter();
    is_split(&regions.filter(|it| it["region"] == "heap").collect::<Vec<_>>(), "heap");
    assert!(run.number("arrivals.0.arrivals_total") > 0);
    let served = run.value("metrics.responses_per_s.value").as_f64();
    assert!(served.is_some_and(|rate| rate > 0.0), "{served:?}");
}

/// How time and matrices are split over the nodes, and that each wakeup has its relation.
fn schbench(_: &Shape) {
    let line = "schedload run schbench --messages 2 --threads 2 --footprint 16KiB --operations 1 \
                --duration 3s --warmup 0s";
    let run = program::run(line);
    let shares = |path: &str| run.value(path).as_array().unwrap().iter().collect::<Vec<_>>();
    is_split(&shares("residency.instances.0.cpu"), "time");
    is_split(&shares("residency.instances.0.memory"), "memory");
    assert!(run.wakeups("all") > 0 && run.wakeups("cross_node") <= run.wakeups("all"));
    assert!(run.value("metrics.asks_per_s.value").as_f64().is_some_and(|rate| rate > 0.0));
}

/// Where hogs and periodic tasks were, and that these had their rounds.
fn mix(shape: &Shape) {
    let run = program::run("schedload run mix --period 50ms --duration 3s --warmup 0s");
    let cpus = run.value("residency.instances.0.cpu").as_array().unwrap();
    is_split(&cpus.iter().collect::<Vec<_>>(), "time");
    let [told, hogs] = ["hog_runnable", "runnable"]
        .map(|key| run.value(&format!("metrics.{key}.value")).as_f64().unwrap());
    assert!(told > 0.0 && hogs >= told, "{told} of {hogs} on {} CPUs", shape.usable().len());
    assert!(run.value("arrivals.0.arrivals").as_u64().is_some_and(|rounds| rounds > 0));
}
