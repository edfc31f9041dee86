//! Each profile that is a workload of its own, run where there are nodes.
//!
//! A check runs one, whose laws must hold, and asks for what it tells of nodes. Must not know: how
//! fast anything is.

use super::Check;
use super::program;
use crate::shape::Shape;
use serde_json::Value;

/// What needs two nodes with CPUs and memory.
pub const CHECKS: &[Check] = &[Check { name: "profiles::jbb", body: jbb }];

/// Shares of nodes, which are all of something.
fn is_split(shares: &[&Value], of: &str) {
    let sum: f64 = shares.iter().map(|it| it["share"].as_f64().unwrap()).sum();
    assert!(shares.len() > 1 && (sum - 1.0).abs() < 1e-6, "{of}: {shares:?}");
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
