//! Profiles with memory: what they count, draw and refuse, on whatever machine this is.
//!
//! Sizes are small and nodes are few: where memory is is for the ring of emulated machines.

use crate::{json, printed, profile, program, refused, schedload, stderr};
use serde_json::Value;

const NUMA: &str = env!("CARGO_BIN_EXE_schedload-numa");
const WHO_MOVES: &str = env!("CARGO_BIN_EXE_schedload-who-moves");
const STREAM: &str = env!("CARGO_BIN_EXE_schedload-stream");
const LINPACK: &str = env!("CARGO_BIN_EXE_schedload-linpack");

/// Everybody is back, nothing is lost.
fn lawful(run: &Value) {
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
}

/// What sweeps, touches and chases used in the window.
fn bytes_used(run: &Value) -> u64 {
    let per_s = run["metrics"]["memory_bytes_per_s"]["value"].as_f64().unwrap();
    (per_s * run["window_s"].as_f64().unwrap()).round() as u64
}

const MIB: u64 = 1 << 20;

#[test]
fn built_ins_run_and_tell_where_things_were() {
    let check = |line: &str, tasks: &str| {
        let document = json(&schedload(&format!("run {line} --allow-single-node --json -")));
        let run = &document["runs"][0];
        lawful(run);
        assert!(run["tasks"].as_u64().unwrap() > 0, "{line}");
        let at_s = run["timeline"]["at_s"].as_array().unwrap();
        assert!(at_s.len() >= 2, "looks at the begin and at the end: {line}");
        let instances = run["placement"].as_array().unwrap();
        assert_eq!(instances.len(), run["residency"]["instances"].as_array().unwrap().len());
        assert!(instances.iter().all(|instance| instance["signal"].is_null()), "{line}");
        assert_eq!(run["trial"].is_object(), tasks == "trial", "{line}");
    };
    check("who-moves --bytes 1MiB --time 50ms --age 20ms", "trial");
    check("who-moves --bytes 1MiB --time 50ms --start free --access read", "trial");
    check("numa01 --per_thread 256KiB --time 50ms", "teams");
    check("numa01-thread --per_thread 256KiB --time 50ms --access modify", "teams");
    check("numa02 --per_thread 256KiB --time 50ms", "teams");
    check("numa05 --per_thread 256KiB --time 50ms", "teams");
    for arm in ["free", "best", "worst"] {
        check(&format!("numa04 --per_thread 256KiB --time 50ms --arm {arm}"), "teams");
    }
    check("stream --bytes 256KiB --threads 3 --duration 50ms --warmup 10ms", "teams");
}

/// With all memory on one node a task has its slice beside it; on several it may be anywhere.
#[test]
fn slices_of_one_task_have_a_local_share() {
    let line = "--bytes 256KiB --threads 2 --duration 300ms --warmup 0 --json -";
    let document = json(&program(STREAM, line));
    let run = &document["runs"][0];
    lawful(run);
    let region = &run["timeline"]["instances"][0]["regions"][2];
    if region["method"].is_null() {
        eprintln!("NOT TESTED: {}", region["reason"]);
        return;
    }
    let share = run["placement"][0]["local_share"]["value"].as_f64();
    let nodes = document["host"]["nodes"].as_u64();
    let is_right = |share: f64| share == 1.0 || (nodes > Some(1) && (0.0..1.0).contains(&share));
    assert!(share.is_some_and(is_right), "{}", run["placement"]);
    // Whether or not the balancer can act here, each team says so.
    let of_team = &run["numa"][0];
    assert_eq!(of_team["team"], "thread");
    assert_eq!(of_team["faults"]["state"] == "ok", of_team["faults"]["value"].is_u64());
}

#[test]
fn linpack_counts_its_blocks() {
    let line = "--threads 3 --duration 500ms --warmup 10ms --json -";
    let document = json(&program(LINPACK, line));
    let run = &document["runs"][0];
    lawful(run);
    assert!(run["metrics"]["blocks_per_s"]["value"].as_f64().unwrap() > 0.0);
    assert!(run["metrics"]["memory_bytes_per_s"]["value"].is_null(), "unknown is not 0");
    assert!(run["metrics"]["flop_per_s"]["value"].as_f64().unwrap() > 0.0);
}

#[test]
fn fixed_work_is_so_many_operations() {
    let check = |steps: &str, flops: Option<f64>| {
        let (_dir, path) =
            profile(&format!("about = \"x\"\n[team.w]\nsize = 2\nsteps = [ {steps} ]\n"));
        let document = json(&schedload(&format!("run {path} --json -")));
        let run = &document["runs"][0];
        let window_s = run["window_s"].as_f64().unwrap();
        let done = run["metrics"]["flop_per_s"]["value"].as_f64().map(|rate| rate * window_s);
        assert_eq!(done.map(f64::round), flops, "{steps}");
    };
    check(
        "{ matrix = 5 }, { repeat = 7, steps = [ { matrix = 40 } ] }",
        Some(2.0 * 285.0 * 65536.0),
    );
    check("{ matrix = 1 }, { spin = \"1us\" }", Some(2.0 * 65536.0));
    check("{ spin = \"1us\" }", None);
}

#[test]
fn work_that_no_run_ends_is_cut_short() {
    let (_dir, path) = profile(
        "about = \"x\"\nduration = \"50ms\"\n\
         [team.w]\nsize = 1\nsteps = [ { matrix = 9_000_000_000_000_000 } ]\n",
    );
    let document = json(&schedload(&format!("run {path} --json -")));
    let run = &document["runs"][0];
    assert_eq!(run["end"], "time_up");
    assert_eq!(run["metrics"]["flop_per_s"]["value"], 0.0, "no product ended in the window");
}

#[test]
fn fixed_work_uses_so_many_bytes() {
    let check = |line: &str, bytes: u64| {
        let document = json(&schedload(&format!("run {line} --allow-single-node --json -")));
        let run = &document["runs"][0];
        lawful(run);
        assert_eq!(run["end"], "done", "{line}");
        assert_eq!(bytes_used(run), bytes, "{line}");
    };
    check("who-moves --bytes 1MiB --time 0s --passes 20", 20 * MIB);
    check("who-moves --bytes 1MiB --time 0s --passes 3 --access zero", 3 * MIB);
    let numa = "--bytes classic --own_bytes 512KiB --loops 3 --threads 2 --processes 3";
    check(&format!("numa02 {numa}"), 3 * 2 * 3 * MIB / 2);
    let own = |text: &str, bytes: u64| {
        let (_dir, path) = profile(&format!("about = \"x\"\n{text}"));
        check(&path, bytes);
    };
    let region = "[memory.area]\nbytes = \"64 KiB\"\ncount = 3\n[team.w]\nsize = 2\n";
    let steps = |steps: &str| format!("{region}steps = [ {steps} ]");
    own(
        &steps("{ repeat = 5, steps = [ { sweep = \"area[me]\", access = \"zero\" } ] }"),
        10 << 16,
    );
    own(
        &steps("{ sweep = \"area\" }, { sweep = \"area[me + 1]\", halo = \"50%\" }"),
        (6 << 16) + (5 << 15),
    );
    own(&steps("{ touch = \"area\", count = \"1000 * (me + 1)\", skew = 0.9 }"), 64 * 3000);
    own(&steps("{ chase = \"area[me]\", count = 5000 }"), 64 * 10_000);
    // In all copies of all instances, by threads that a step has started.
    let spawned = "instances = 3\ncopies = 2\n[memory.area]\nbytes = \"64 KiB\"\ncount = 2\n\
                   [team.m]\nsize = 1\nsteps = [ { spawn = \"w\" }, { join = \"w\" }, { sweep = \
                   \"area\" } ]\n\
                   [team.w]\nsize = 2\nstart = \"spawned\"\nsteps = [ { sweep = \"area[me]\" } ]";
    own(spawned, ((3 * 2) * (2 + 2)) << 16);
}

/// Each is a little odd; none may panic, hang, or lose a task.
#[test]
fn odd_combinations_run() {
    let check = |text: &str, flags: &str| {
        let (_dir, path) = profile(&format!("about = \"x\"\n{text}"));
        let run = json(&schedload(&format!("run {path} {flags} --json -")))["runs"][0].clone();
        lawful(&run);
        let end = if flags.contains("--duration") { "time_up" } else { "done" };
        assert_eq!(run["end"], end, "{text} {flags}");
    };
    let area = |keys: &str| format!("[memory.area]\nbytes = \"64 KiB\"\ncount = 2\n{keys}\n");
    let team =
        |keys: &str, steps: &str| format!("[team.w]\nsize = 2\n{keys}\nsteps = [ {steps} ]\n");
    let sweep = "{ sweep = \"area[me]\", access = \"write\" }, { sweep = \"area\" }";
    let processes = "as = \"processes\"";
    for keys in [
        "huge = \"never\"",
        "shared = \"all\"",
        "shared = \"all\"\nfirst_touch = \"main\"",
        "shared = \"all\"\nfirst_touch = \"nobody\"",
        "first_touch = \"w\"",
        "first_touch = \"interleave\"\npolicy = \"interleave\"",
        "first_touch = \"opposite\"",
    ] {
        for form in ["", processes] {
            let top = if form.is_empty() { "instances = 2\n" } else { "" };
            check(&format!("{top}{}{}", area(keys), team(form, sweep)), "");
        }
    }
    for form in ["", processes] {
        check(&(area("") + &team(form, "{ chase = \"area\", count = 1000 }")), "");
        check(&(area("") + &team(form, "{ chase = \"area[0]\", count = 1000 }")), "");
        check(&(area("shared = \"all\"") + &team(form, "{ chase = \"area\", count = 9 }")), "");
    }
    // More slices than members, and one that has no bytes.
    check(
        "[memory.area]\nbytes = \"4 KiB\"\ncount = 9\n[team.w]\nsize = 2\nsteps = [ { sweep = \
         \"area[me + 7]\", halo = \"100%\" } ]",
        "",
    );
    check(
        "[memory.area]\nbytes = 0\n[team.w]\nsize = 2\nsteps = [ { sweep = \"area\" }, { spin = \
         \"1us\" } ]",
        "",
    );
    check(
        "[memory.area]\nbytes = 0\n[memory.b]\nbytes = \"4 KiB\"\n[team.w]\nsize = 2\n\
         steps = [ { copy = \"area\", from = \"b\" }, { spin = \"1us\" } ]",
        "",
    );
}

#[test]
fn teams_that_are_spawned() {
    let check = |main: &str, worker: &str, flags: &str, detail: &str| {
        let text = format!(
            "about = \"x\"\n[memory.area]\nbytes = \"64 KiB\"\n\
             [team.m]\nsize = 1\n{main} ]\n[team.w]\nsize = 2\nstart = \"spawned\"\n{worker} ]"
        );
        for top in ["", "instances = 1\n"] {
            let (_dir, path) = profile(&format!("{top}{text}"));
            let document = json(&schedload(&format!("run {path} {flags} --json -")));
            let run = &document["runs"][0];
            lawful(run);
            let checks = run["checks"].as_array().unwrap();
            let out = checks.iter().find(|check| check["name"] == "tasks_checked_out").unwrap();
            assert_eq!(out["detail"], detail, "{text} {flags}");
        }
    };
    let all = "3 of 3 tasks checked out";
    let none = "1 of 3 tasks checked out, 2 were not spawned before the end";
    let sweep = "steps = [ { sweep = \"area\" }";
    let both = "steps = [ { sleep = \"1ms\" }, { spawn = \"w\" }, { join = \"w\" }";
    check(both, sweep, "", all);
    check(both, sweep, "--duration 500ms", all);
    check(both, sweep, "--duration 500ms --warmup 10ms", all);
    check(both, "steps = [ { forever = [ { sweep = \"area\" } ] }", "--duration 500ms", all);
    // In the background: whatever it is at ends with main.
    check(
        "steps = [ { spawn = \"w\" }, { sleep = \"5ms\" }",
        "background = true\nsteps = [ { forever = [ { sweep = \"area\" } ] }",
        "",
        all,
    );
    // Who waits for nobody leaves the others to it.
    check("steps = [ { spawn = \"w\" }", "steps = [ { sleep = \"5ms\" }", "", all);
    check(
        "background = true\nsteps = [ { spawn = \"w\" }",
        "steps = [ { sleep = \"5ms\" }",
        "",
        all,
    );
    // The time is up before they are started.
    let late = |step: &str| format!("steps = [ {step}, {{ spawn = \"w\" }}, {{ join = \"w\" }}");
    for step in ["{ during = \"1min\", steps = [ { sweep = \"area\" } ] }", "{ sleep = \"1min\" }"]
    {
        check(&late(step), sweep, "--duration 50ms", none);
    }
}

#[test]
fn pictures() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let moves = "who-moves --bytes 1MiB --time 20ms --allow-single-node";
    let svg = path("a.svg");
    printed(&schedload(&format!("run {moves} -q --plot {svg}")), 0);
    let text = std::fs::read_to_string(&svg).unwrap();
    assert!(text.starts_with("<svg ") && text.trim_end().ends_with("</svg>"), "{text}");
    let picture = printed(&schedload(&format!("run {moves} --plot -")), 0);
    assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"), "{picture}");
    // Before anything runs: nothing is printed, nothing is written.
    let (svg, stored) = (path("b.svg"), path("b.json"));
    let check = |line: &str, words: &[&str]| {
        let output = schedload(&format!("run {line} --json {stored} --plot {svg}"));
        refused(&output, 2, words);
        assert!(!std::path::Path::new(&stored).exists() && !std::path::Path::new(&svg).exists());
    };
    check("pingpong --loops 10", &["--plot", "`pingpong` uses no memory", "leave it out"]);
    check("hackbench --loops 1000000000", &["--plot", "uses no memory"]);
    check(&format!("{moves} --sweep age=0s,1ms"), &["--plot", "`age` is swept", "one point"]);
    let (_dir, empty) = profile(
        "about = \"x\"\n[memory.area]\nbytes = 0\n[team.w]\nsize = 1\nsteps = [ { spin = \"1us\" \
         } ]",
    );
    check(&empty, &["--plot", "uses no memory"]);
    for (one, other) in [("--json", "--plot"), ("--out", "--plot"), ("--json", "--out")] {
        let output = schedload(&format!("run {moves} {one} {svg} {other} {svg}"));
        refused(&output, 2, &[one, other, "another file"]);
    }
    refused(&schedload(&format!("run {moves} --plot no/such/dir.svg")), 3, &["no/such/dir.svg"]);
}

#[test]
fn too_few_nodes() {
    let words = ["NUMA nodes", "--allow-single-node", "virtual"];
    let nodes = json(&schedload("plan stream --json"))["nodes"].as_array().unwrap().len();
    if nodes == 1 {
        for name in ["who-moves", "numa", "numa01", "numa10"] {
            refused(&schedload(&format!("run {name}")), 4, &words);
        }
        refused(&program(WHO_MOVES, ""), 4, &words);
        refused(&program(NUMA, "numa03"), 4, &words);
    }
    let (_dir, path) = profile(
        "about = \"x\"\nnodes = \"nodes + 1\"\n[team.w]\nsize = 1\nsteps = [ { spin = \"1us\" } ]",
    );
    refused(&schedload(&format!("run {path}")), 4, &words);
    let document = json(&schedload(&format!("run {path} --allow-single-node --json -")));
    let caveats = document["runs"][0]["caveats"].as_array().unwrap();
    let text = "a smoke test that compares with nothing";
    assert!(caveats.iter().any(|it| it["text"].as_str().unwrap().contains(text)), "{caveats:?}");
}

#[test]
fn numbers_that_are_none_or_absurd() {
    let check = |line: &str, words: &[&str]| {
        refused(&schedload(&format!("run {line} --allow-single-node")), 2, words);
    };
    check("who-moves --bytes 0", &["bytes", "1MiB"]);
    check("who-moves --bytes=-1MiB", &["bytes", "1MiB"]);
    check("who-moves --bytes 1e30", &["bytes"]);
    check("who-moves --time 5", &["time", "unit"]);
    check("who-moves --time=-5s", &["time", "0"]);
    check("who-moves --passes 2000000000", &["passes", "1000000000"]);
    check("who-moves --start remoet", &["remoet", "remote"]);
    check("who-moves --access wirte", &["wirte", "write"]);
    check("who-moves --worker_start nod:0 --start free", &["nod", "node:0"]);
    check("who-moves --main_on node:-1", &["node", "at least 0"]);
    check("numa01 --processes 0", &["processes", "1"]);
    check("numa01 --arm bset", &["bset", "best"]);
    check("numa04 --test numa05", &["numa05", "numa04"]);
    check("numa01 --begin nobdoy", &["nobdoy", "nobody"]);
    check("numa01 --keep_shared bind: --arm free", &["bind:", "which node"]);
    check("stream --bytes 1KiB", &["bytes", "4KiB"]);
    check("stream --threads 0", &["threads", "1"]);
    refused(&schedload("run who-moves --bytes 64000GiB --allow-single-node"), 4, &["memory"]);
    refused(&program(NUMA, "numa11"), 2, &["numa11", "numa01", "numa10"]);
    refused(&program(NUMA, "numa01 numa02"), 2, &["numa02"]);
    refused(&schedload("run numa11"), 2, &["numa11", "did you mean"]);
}

#[test]
fn programs_do_what_run_does() {
    let check = |path: &str, before: &str, name: &str, flags: &str| {
        let flags = format!("{flags} --allow-single-node --json -");
        let run = json(&schedload(&format!("run {name} {flags}")));
        let own = json(&program(path, &format!("{before} {flags}")));
        for key in ["name", "params", "hash", "seed", "primary"] {
            assert_eq!(own["profile"][key], run["profile"][key], "{key} of {name}");
        }
        assert_eq!(own["runs"][0]["tasks"], run["runs"][0]["tasks"]);
    };
    check(WHO_MOVES, "", "who-moves", "-s 1MiB --time 10ms");
    check(NUMA, "numa02", "numa02", "--per_thread 64KiB --time 10ms");
    check(NUMA, "", "numa", "--per_thread 64KiB --time 10ms");
    check(STREAM, "", "stream", "-t 2 -s 64KiB --duration 20ms --warmup 0s");
    check(LINPACK, "", "linpack", "-t 2 --duration 20ms --warmup 0s");
    let help = program(NUMA, "numa04 --help");
    assert!(printed(&help, 0).contains("--per_thread"), "{}", stderr(&help));
}
