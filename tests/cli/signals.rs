//! SIGINT, SIGTERM and killed workers: the report covers what was measured, nothing is left behind.

use crate::{HACKBENCH, SCHEDLOAD};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long a condition may take on a busy machine before the test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn start(program: &str, line: &str) -> Child {
    let mut command = Command::new(program);
    command.args(line.split_whitespace());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Looks again and again until there is something to see.
pub fn await_some<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub fn kill(signal: &str, pid: u32) {
    let killed = Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(killed.success());
}

/// All processes below this one, by the parents in /proc.
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut parents = HashMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // Between listing and reading it may have ended.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let Some((_, rest)) = stat.rsplit_once(')') else {
            continue;
        };
        let mut fields = rest.split_whitespace();
        let (state, parent) = (fields.next().unwrap(), fields.next().unwrap());
        if state != "Z" {
            parents.insert(pid, parent.parse::<u32>().unwrap());
        }
    }
    let mut found = vec![pid];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(parents.iter().filter(|(_, of)| **of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

fn n_threads(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// Waits until all tasks exist; ends as soon as the program has.
fn await_tasks(child: &Child, n: usize) -> Vec<u32> {
    await_some("the tasks", || {
        let below = descendants(child.id());
        let tasks = below.len().max(n_threads(child.id()));
        (tasks > n).then_some(below)
    })
}

/// Whether a process has not ended; nobody may have reaped it.
fn is_there(pid: u32) -> bool {
    // Tasks have names of their own, so it is not the name that tells.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z"))
}

/// The program's output, and that none of these processes outlives it.
pub fn end(child: Child, processes: &[u32]) -> Output {
    let output = child.wait_with_output().unwrap();
    let none = || (!processes.iter().any(|pid| is_there(*pid))).then_some(());
    await_some("the end of all processes", none);
    output
}

#[test]
fn a_signal_ends_the_run_with_a_report() {
    let check = |signal: &str, form: &str, code: i32| {
        let line = format!("run pingpong --pairs 2 --loops 1000000000000 --as {form} --json -");
        let child = start(SCHEDLOAD, &line);
        let processes = await_tasks(&child, 4);
        kill(signal, child.id());
        let output = end(child, &processes);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{signal} {form}: {error}");
        // Before the window nothing is measured, and that is said.
        if error.contains("before anything was measured") {
            return;
        }
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let run = &document["runs"][0];
        assert_eq!(run["end"], "interrupted", "{signal} {form}");
        for check in run["checks"].as_array().unwrap() {
            assert_eq!(check["ok"], true, "{check}");
        }
    };
    for form in ["threads", "processes"] {
        check("-INT", form, 130);
        check("-TERM", form, 143);
    }
}

#[test]
fn a_signal_right_after_the_start_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    for delay_ms in [0, 1, 3, 10, 30] {
        let line = format!("run hackbench --groups 5 --loops 1000000000 --json {}", path.display());
        let child = start(SCHEDLOAD, &line);
        std::thread::sleep(Duration::from_millis(delay_ms));
        kill("-TERM", child.id());
        let processes = descendants(child.id());
        let output = end(child, &processes);
        assert_ne!(output.status.code(), Some(0));
        for entry in fs::read_dir(dir.path()).unwrap() {
            assert_eq!(entry.unwrap().file_name(), "report.json");
        }
    }
}

#[test]
fn what_earlier_runs_measured_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    let line = format!(
        "run pingpong --duration 100ms --loops 1000000000000 --repeat 1000 --json {}",
        path.display()
    );
    let child = start(SCHEDLOAD, &line);
    let stored = || {
        let text = fs::read_to_string(&path).ok()?;
        // Replaced as a whole: whenever it is there, it can be read.
        let document: Value = serde_json::from_str(&text).unwrap();
        (document["runs"].as_array().unwrap().len() >= 2).then_some(())
    };
    await_some("two stored runs", stored);
    kill("-INT", child.id());
    let output = end(child, &[]);
    assert_eq!(output.status.code(), Some(130));
    let document: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let runs = document["runs"].as_array().unwrap();
    assert!((2..1000).contains(&runs.len()));
    assert!(!output.stdout.is_empty(), "the report of what was measured is printed");
}

#[test]
fn hackbench_has_no_time_line_after_a_signal() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        for form in ["-P", "-T"] {
            let child = start(HACKBENCH, &format!("-g 1 -f 2 -l 1000000000 {form}"));
            let processes = await_tasks(&child, 4);
            kill(signal, child.id());
            let output = end(child, &processes);
            assert_eq!(output.status.code(), Some(code), "{signal} {form}");
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.starts_with("Running in "), "{text}");
            assert!(!text.contains("Time:"), "{text}");
        }
    }
}

#[test]
fn a_killed_worker_fails_the_run() {
    let child = start(HACKBENCH, "-g 1 -f 2 -l 1000000000");
    let processes = await_tasks(&child, 4);
    // The leader is below us, its tasks below it.
    let leader = processes[0];
    let worker = *processes.iter().find(|pid| **pid != leader).unwrap();
    kill("-KILL", worker);
    let output = end(child, &processes);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("signal 9"), "{error}");
    assert!(!String::from_utf8(output.stdout).unwrap().contains("Time:"));
}

#[test]
fn a_killed_leader_fails_the_run() {
    let child = start(HACKBENCH, "-g 1 -f 2 -l 1000000000");
    let processes = await_tasks(&child, 4);
    kill("-KILL", processes[0]);
    let output = end(child, &processes);
    assert_eq!(output.status.code(), Some(3));
    assert!(!String::from_utf8(output.stdout).unwrap().contains("Time:"));
}

#[test]
fn what_was_measured_before_the_leader_was_killed_is_reported() {
    let child =
        start(SCHEDLOAD, "run pingpong --as processes --kind futex --duration 10min --json -");
    let processes = await_tasks(&child, 2);
    await_some("the window", || processes.last().filter(|&&pid| has_switched(pid, 100)));
    kill("-KILL", processes[0]);
    let output = end(child, &processes);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    let words = "the leader process ended before its tasks: signal: 9 (SIGKILL)";
    assert!(error.contains(words), "{error}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &document["runs"][0];
    assert_eq!(run["end"], "failed");
    assert!(run["messages"]["received"].as_u64().unwrap() > 0);
    // Nobody is left who knows.
    assert!(run["user_s"].is_null() && run["metrics"]["sys_s"]["reason"].is_string());
    let incomplete = run["caveats"].as_array().unwrap().iter().any(|it| it["id"] == "incomplete");
    assert!(incomplete, "{run}");
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
}

#[test]
fn a_run_that_ends_in_its_warm_up_has_no_window() {
    let line = "run pingpong --as processes --kind futex --warmup 10min --duration 1s --json -";
    let child = start(SCHEDLOAD, line);
    let processes = await_tasks(&child, 2);
    await_some("the warm-up", || processes.last().filter(|&&pid| has_switched(pid, 100)));
    kill("-KILL", *processes.last().unwrap());
    let output = end(child, &processes);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &document["runs"][0];
    assert_eq!(run["window_s"], 0.0);
    let rate = &run["metrics"]["round_trips_per_s"];
    assert!(rate["value"].is_null() && rate["reason"].is_string(), "{rate}");
}

#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let mut command = Command::new("nohup");
    command.args([SCHEDLOAD, "run", "pingpong", "--duration", "1s", "--json", "-"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    let processes = await_tasks(&child, 2);
    kill("-HUP", child.id());
    let output = end(child, &processes);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Whether a process has waited so often: more than it takes to get to the gate.
fn has_switched(pid: u32, least: u64) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|n| n.trim().parse::<u64>().ok()).is_some_and(|n| n > least)
}

#[test]
fn stopped_processes_do_not_hold_up_the_end() {
    let line = "run pingpong --as processes --warmup 0 --duration 3s --kind futex --json -";
    for n_stopped in [1, 3] {
        let child = start(SCHEDLOAD, line);
        let processes = await_tasks(&child, 2);
        await_some("the window", || processes.last().filter(|&&pid| has_switched(pid, 100)));
        // The leader is the first; with one, it is a task.
        processes.iter().rev().take(n_stopped).for_each(|&pid| kill("-STOP", pid));
        let output = end(child, &processes);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A task that hangs behind the window is killed by somebody who has lost patience.
#[test]
fn a_task_that_is_killed_after_the_window_is_named() {
    let line = "run pingpong --as processes --warmup 0 --duration 2s --kind futex --json -";
    // The run has a stopped task go on, so it may be gone before it is killed.
    let killed = (0..10).find_map(|_| {
        let child = start(SCHEDLOAD, line);
        let processes = await_tasks(&child, 2);
        let [_, other, last] = processes[..] else { panic!("{processes:?}") };
        let begun = await_some("the window", || {
            (has_switched(last, 100) || !is_there(other)).then(|| is_there(other))
        });
        if begun {
            kill("-STOP", last);
            await_some("the end of the window", || (!is_there(other)).then_some(()));
            let _ = Command::new("kill").args(["-KILL", &last.to_string()]).output();
        }
        let output = end(child, &processes);
        (output.status.code() != Some(0)).then_some(output)
    });
    let output = killed.expect("none of them was killed");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains(" 0: killed by signal 9"), "{error}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["runs"][0]["end"], "failed");
}

/// Runs a profile until its tasks are there, sends SIGINT, and gives the run of its report.
fn interrupted(line: &str, n_tasks: usize) -> Option<Value> {
    let child = start(SCHEDLOAD, &format!("run {line} --allow-single-node --json -"));
    let processes = await_tasks(&child, n_tasks);
    kill("-INT", child.id());
    let output = end(child, &processes);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{line}: {error}");
    if error.contains("before anything was measured") {
        return None;
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = document["runs"][0].clone();
    assert_eq!(run["end"], "interrupted", "{line}");
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
    Some(run)
}

#[test]
fn a_run_with_memory_is_interrupted_anywhere() {
    // The leader and the process of the instance.
    let moves = "who-moves --bytes 4MiB";
    interrupted(&format!("{moves} --age 10min"), 1);
    interrupted(&format!("{moves} --time 10min"), 1);
    interrupted(&format!("{moves} --time 0s --passes 1000000000"), 1);
    interrupted("numa01 --per_thread 1MiB --time 10min", 2);
    interrupted("stream --threads 2 --bytes 1MiB --duration 10min", 2);
    // While memory is touched first.
    interrupted("stream --threads 2 --bytes 64MiB --duration 10min", 1);
}

#[test]
fn a_team_that_is_not_spawned_yet_is_not_waited_for() {
    let (_dir, path) = crate::profile(
        "about = \"x\"\ninstances = 2\n\
         [team.main]\nsize = 1\nsteps = [ { sleep = \"10min\" }, { spawn = \"w\" }, { join = \
         \"w\" } ]\n\
         [team.w]\nsize = 3\nstart = \"spawned\"\nsteps = [ { spin = \"1us\" } ]",
    );
    if let Some(run) = interrupted(&path, 2) {
        assert_eq!(run["tasks"], 8);
    }
}

#[test]
fn an_instance_that_is_killed_is_named_and_the_others_are_kept() {
    let (_dir, path) = crate::profile(
        "about = \"x\"\ninstances = 3\n[memory.area]\nbytes = \"1 MiB\"\n\
         [team.w]\nsize = 2\nsteps = [ { repeat = 1_000_000_000, steps = [ { sweep = \"area\" } \
         ] } ]",
    );
    let child = start(SCHEDLOAD, &format!("run {path} --json -"));
    // The leader, and a process for each instance.
    let processes = await_tasks(&child, 3);
    let leader = processes[0];
    let instances: Vec<u32> =
        descendants(leader).into_iter().filter(|pid| processes.contains(pid)).collect();
    await_some("the window", || {
        instances.iter().all(|pid| n_threads(*pid) == 3 && has_run(*pid)).then_some(())
    });
    kill("-KILL", instances[1]);
    let output = end(child, &processes);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("killed by signal 9"), "{error}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &document["runs"][0];
    assert_eq!(run["end"], "failed");
    let signals: Vec<Option<i64>> =
        run["placement"].as_array().unwrap().iter().map(|it| it["signal"].as_i64()).collect();
    assert_eq!(signals.iter().flatten().collect::<Vec<_>>(), [&9], "{signals:?}");
    let killed = signals.iter().position(Option::is_some).unwrap();
    let caveats = run["caveats"].as_array().unwrap();
    let told = caveats.iter().find(|it| it["id"] == "instance_killed").unwrap();
    let text = told["text"].as_str().unwrap();
    assert!(text.contains(&format!("instance {killed} was killed by signal 9")), "{text}");
    let metrics = &run["metrics"];
    assert!(metrics["memory_bytes_per_s"]["value"].as_f64().unwrap() > 0.0, "{metrics}");
}

/// As above, of an instance of two processes; also where there is no memory to tell of.
#[test]
fn a_process_of_an_instance_that_is_killed_is_named() {
    let check = |memory: &str| {
        let (_dir, path) = crate::profile(&format!(
            "about = \"x\"\ninstances = 2\n[process.client]\n[process.server]\n{memory}\
             [channel.ask]\nkind = \"socketpair\"\n[channel.reply]\nkind = \"socketpair\"\n\
             [team.client]\nsize = 1\nprocess = \"client\"\nsteps = [ {{ repeat = \
             1_000_000_000, steps = [ {{ send = \"ask\" }}, {{ receive = \"reply\" }} ] }} ]\n\
             [team.server]\nsize = 1\nprocess = \"server\"\nsteps = [ {{ repeat = \
             1_000_000_000, steps = [ {{ receive = \"ask\" }}, {{ send = \"reply\" }} ] }} ]\n"
        ));
        let child = start(SCHEDLOAD, &format!("run {path} --json -"));
        // The leader, and two processes for each instance.
        let processes = await_tasks(&child, 4);
        await_some("the window", || {
            let tasks = processes.iter().filter(|pid| n_threads(**pid) == 2);
            (tasks.filter(|pid| has_run(**pid)).count() == 4).then_some(())
        });
        let servers = processes.iter().filter(|pid| has_thread(**pid, "server-"));
        let servers: Vec<u32> = servers.copied().collect();
        assert_eq!(servers.len(), 2);
        kill("-KILL", servers[0]);
        let output = end(child, &processes);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{error}");
        let named = |instance: usize| format!("process `server` of instance {instance}");
        let killed = (0..2).find(|instance| error.contains(&named(*instance)));
        let killed = killed.unwrap_or_else(|| panic!("{error}"));
        let told = format!("{} was killed by signal 9", named(killed));
        assert!(error.contains(&told), "{error}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let run = &document["runs"][0];
        assert_eq!(run["end"], "failed");
        assert!(run["metrics"]["messages_per_s"]["value"].as_f64().unwrap() > 0.0);
        if memory.is_empty() {
            return;
        }
        let placement = &run["placement"];
        assert_eq!(placement[killed]["signal"], 9);
        assert_eq!(placement[killed]["killed_process"], "server");
        assert!(placement[1 - killed]["signal"].is_null());
        assert!(placement[1 - killed]["killed_process"].is_null());
        let mut caveats = run["caveats"].as_array().unwrap().iter();
        let told = caveats.find(|it| it["id"] == "instance_killed").unwrap();
        let text = told["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("{} was killed by signal 9", named(killed))), "{text}");
    };
    check("");
    check("[memory.area]\nbytes = \"1 MiB\"\n");
}

/// Whether a process has a thread whose name begins so.
fn has_thread(pid: u32, name: &str) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.into_iter().any(|comm| comm.starts_with(name))
}

/// Whether a process has used its CPU for some ticks: more than it takes to get to the gate.
fn has_run(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.to_owned()).unwrap_or_default();
    let ticks = fields.split_whitespace().nth(11).and_then(|it| it.parse::<u64>().ok());
    ticks.is_some_and(|ticks| ticks > 5)
}

/// The cgroup of our own, if this user may make others below it.
fn own_cgroup() -> Option<PathBuf> {
    let host = crate::json(&crate::schedload("host --json"));
    let own = PathBuf::from(host["limits"]["cgroup_v2"].as_str()?);
    let probe = own.join(format!("probe-{}", std::process::id()));
    fs::create_dir(&probe).ok()?;
    fs::remove_dir(&probe).unwrap();
    Some(own)
}

#[test]
fn cgroups_of_a_killed_run_are_removed_by_the_next() {
    let Some(own) = own_cgroup() else {
        println!("skipped: no cgroup of version 2 can be made here");
        return;
    };
    let (_dir, path) = crate::profile(
        "about = \"x\"\ninstances = 2\ncgroup = {}\n[team.w]\nsize = 1\n\
         steps = [ { sleep = \"10min\" } ]",
    );
    let child = start(SCHEDLOAD, &format!("run {path}"));
    let pid = child.id();
    let processes = await_tasks(&child, 2);
    let left = || {
        let entries = fs::read_dir(&own).unwrap().flatten();
        let names = entries.map(|it| it.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(&format!("schedload-{pid}-"))).count()
    };
    assert_eq!(left(), 2);
    kill("-KILL", pid);
    end(child, &processes);
    // Another test may have a run at work in this cgroup, which leaves them, or begin one, which
    // removes them.
    await_some("their removal", || {
        crate::printed(&crate::schedload("run pingpong --loops 10 --as threads"), 0);
        (left() == 0).then_some(())
    });
}
