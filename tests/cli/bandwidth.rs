//! Bandwidth by task and by node: whatever it is here, its parts are the whole.

use crate::{json, profile, schedload};
use serde_json::Value;

fn bytes(row: &Value) -> u64 {
    row["bytes"].as_u64().unwrap()
}

fn rate(row: &Value) -> f64 {
    row["bytes_per_s"].as_f64().unwrap()
}

fn rows<'a>(step: &'a Value, key: &str) -> &'a Vec<Value> {
    step[key].as_array().unwrap()
}

/// Nothing is lost between the task, its nodes and the sum, and nothing is there twice.
fn parts_are_the_whole(step: &Value) {
    for key in ["by_task", "by_node"] {
        assert_eq!(rows(step, key).iter().map(bytes).sum::<u64>(), bytes(step), "{key}: {step}");
        let known = rows(step, key).iter().filter(|it| !it["bytes_per_s"].is_null());
        let sum: f64 = known.map(rate).sum();
        assert!((sum / rate(step) - 1.0).abs() < 1e-9, "{key}: {sum} in {step}");
    }
}

#[test]
fn stream_tells_of_each_thread() {
    let line = "run stream --bytes 256KiB --threads 3 --duration 500ms --warmup 10ms --json -";
    let run = json(&schedload(line))["runs"][0].clone();
    let steps = rows(&run, "memory_steps");
    let names: Vec<&str> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(names, ["copy", "scale", "add", "triad"]);
    for step in steps {
        parts_are_the_whole(step);
        let tasks: Vec<u64> =
            rows(step, "by_task").iter().map(|it| it["task"].as_u64().unwrap()).collect();
        assert_eq!(tasks, [0, 1, 2]);
        let metric = format!("{}_bytes_per_s", step["step"].as_str().unwrap());
        let metric = run["metrics"][&metric]["value"].as_f64().unwrap();
        assert!((rate(step) / metric - 1.0).abs() < 1e-9, "{step}");
    }
}

#[test]
fn work_that_is_known_is_told_by_task() {
    // Of team w, member 1 does three times what member 0 does, in each of two copies.
    for top in ["instances = 2", "copies = 2"] {
        let (_dir, path) = profile(&format!(
            "about = \"x\"\n{top}\n[memory.area]\nbytes = \"64 KiB\"\n\
             [team.w]\nsize = 2\nsteps = [ {{ repeat = \"1 + 2 * me\", steps = [ \
             {{ sweep = \"area\", access = \"modify\" }} ] }} ]\n\
             [team.idle]\nsize = 1\nsteps = [ {{ spin = \"1us\" }} ]\n"
        ));
        let run = json(&schedload(&format!("run {path} --json -")))["runs"][0].clone();
        let [step] = &rows(&run, "memory_steps")[..] else {
            panic!("{}", run["memory_steps"]);
        };
        parts_are_the_whole(step);
        assert_eq!((&step["team"], &step["step"]), (&"w".into(), &"accesses".into()));
        let by_task: Vec<u64> = rows(step, "by_task").iter().map(bytes).collect();
        assert_eq!(by_task, [1 << 16, 3 << 16, 1 << 16, 3 << 16]);
    }
    let none = json(&schedload("run pingpong --loops 10 --json -"));
    assert!(none["runs"][0]["memory_steps"].is_null());
}
