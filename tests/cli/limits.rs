//! What this host does not allow: refused before the start with exit code 4, the limit, its value,
//! and what would raise it.

use crate::{json, printed, profile, refused, schedload, shell};
use serde_json::Value;

/// A prefix that takes a right away from whoever has it; the empty one from others.
fn without(privilege: &str) -> Option<String> {
    let root = shell("test $(id -u) = 0").status.success();
    if !root {
        return Some(String::new());
    }
    let prefix = format!("setpriv --bounding-set=-{privilege} --inh-caps=-{privilege} ");
    shell(&format!("{prefix} true")).status.success().then_some(prefix)
}

#[test]
fn open_files() {
    let Some(prefix) = without("sys_resource") else {
        return;
    };
    let run = "$SCHEDLOAD run hackbench --as threads --groups 20";
    let output = shell(&format!("ulimit -n 256; {prefix}{run}"));
    refused(&output, 4, &["RLIMIT_NOFILE", "256", "ulimit -n"]);
    // Fewer groups fit.
    let run = "$SCHEDLOAD run hackbench --as threads --groups 2 --loops 2 --json -";
    let document = json(&shell(&format!("ulimit -n 256; {prefix}{run}")));
    assert_eq!(document["runs"][0]["messages"]["received"], 2 * 20 * 20 * 2);
}

#[test]
fn size_of_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().display();
    let json = format!("--json {dir}/out.json");
    for form in ["threads", "processes"] {
        let run = format!("$SCHEDLOAD run pingpong --as {form} --duration 200ms {json}");
        let output = shell(&format!("ulimit -f 0; {run}"));
        refused(&output, 4, &["RLIMIT_FSIZE", "ulimit -f unlimited"]);
    }
    // Room enough for shared memory, and none where stdout is.
    let full = format!("truncate -s 1G {dir}/full; ulimit -f 2097152; exec >> {dir}/full");
    let run = format!("run pingpong --loops 10 {json}");
    for line in [&run, "plan pingpong", "list", "show pingpong", "host", "completions bash"] {
        let output = shell(&format!("{full}; $SCHEDLOAD {line}"));
        refused(&output, 3, &["can not write to stdout: File too large"]);
    }
    let output = shell(&format!("{full}; $HACKBENCH -g 1 -f 2 -l 2"));
    refused(&output, 3, &["can not write to stdout: File too large"]);
    // What has room is written all the same.
    let stored = std::fs::read(format!("{dir}/out.json")).unwrap();
    let stored: Value = serde_json::from_slice(&stored).unwrap();
    assert_eq!(stored["runs"][0]["end"], "done");
}

#[test]
fn tasks() {
    // The kernel does not count the tasks of who may raise limits or administer.
    let Some(prefix) = without("sys_resource,-sys_admin") else {
        return;
    };
    let enforced = shell(&format!("{prefix}$SCHEDLOAD host --json"));
    let enforced = &json(&enforced)["limits"]["user_tasks_enforced"];
    let run = "$SCHEDLOAD run hackbench --groups 20";
    let output = shell(&format!("ulimit -u 100; {prefix}{run}"));
    match enforced.as_bool().unwrap() {
        true => refused(&output, 4, &["RLIMIT_NPROC", "100", "ulimit -u"]),
        false => drop(printed(&output, 0)),
    }
    refused(&schedload("run hackbench --groups 100000"), 4, &["tasks"]);
}

#[test]
fn memory() {
    let host = json(&schedload("host --json"));
    let available = host["limits"]["memory_available_bytes"].as_u64().unwrap();
    // Each pair has two buffers of a mebibyte.
    let pairs = (available >> 21) + 1;
    if pairs <= 100_000 {
        let line = format!("run pingpong --pairs {pairs} --bytes 1MiB");
        refused(&schedload(&line), 4, &["memory", "MemAvailable"]);
    }
}

#[test]
fn nodes_and_cpus_that_are_not_there() {
    let check = |on: &str, words: &[&str]| {
        let (_dir, path) = profile(&format!(
            "about = \"Spins\"\n[team.spinner]\nsize = 1\non = \"{on}\"\n\
             steps = [ {{ spin = \"1ms\" }} ]\n"
        ));
        refused(&schedload(&format!("run {path}")), 4, words);
    };
    check("node:4000", &["spinner", "node 4000"]);
    check("llc:4000", &["spinner", "4000"]);
    check("cpus:4000-4001", &["spinner", "4000"]);
}

#[test]
fn a_real_time_policy_without_the_right() {
    let Some(prefix) = without("sys_nice") else {
        return;
    };
    let (_dir, path) = profile(
        "about = \"Spins\"\n[team.spinner]\nsize = 1\npolicy = \"fifo\"\npriority = 5\n\
         steps = [ { spin = \"1ms\" } ]\n",
    );
    let output = shell(&format!("ulimit -r 0; {prefix}$SCHEDLOAD run {path}"));
    refused(&output, 4, &["spinner", "RLIMIT_RTPRIO", "CAP_SYS_NICE"]);
}

#[test]
fn a_mask_of_one_cpu_is_kept_to() {
    let host = json(&schedload("host --json"));
    let allowed: Vec<&Value> = host["allowed"].as_array().into_iter().flatten().collect();
    let first = match allowed.first() {
        Some(cpu) => cpu.to_string(),
        None => host["allowed"].as_str().unwrap().split([',', '-']).next().unwrap().to_string(),
    };
    let on_one = |line: &str| shell(&format!("taskset -c {first} $SCHEDLOAD {line}"));
    for form in ["threads", "processes"] {
        let line = format!("run pingpong --pairs 3 --loops 100 --as {form} --json -");
        let document = json(&on_one(&line));
        assert_eq!(document["host"]["allowed"], first.as_str());
        assert_eq!(document["runs"][0]["messages"]["received"], 600);
        let cpus = document["runs"][0]["residency"]["cpus"].as_array().unwrap();
        assert!(cpus.iter().all(|cpu| cpu["name"] == first.as_str()), "{cpus:?}");
    }
    let (_dir, path) = profile(
        "about = \"Spins\"\n[team.spinner]\nsize = 2\nspread = \"cpu\"\npin = true\n\
         steps = [ { spin = \"1ms\" } ]\n",
    );
    let document = json(&on_one(&format!("run {path} --json -")));
    assert_eq!(document["runs"][0]["end"], "done");
}
