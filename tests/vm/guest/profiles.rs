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
    Check { name: "profiles::schbench", body: schbench },
    Check { name: "profiles::mix", body: mix },
];

/// Shares of nodes, which are all of something.
fn is_split(shares: &[&Value], of: &str) {
    let sum: f64 = shares.iter().map(|it| it["share"].as_f64().unwrap()).sum();
    assert!(shares.len() > 1 && (sum - 1.0).abs() < 1e-6, "{of}: {shares:?}");
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
