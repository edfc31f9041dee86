//! Runs the programs under test and reads their reports; looks at a run from outside meanwhile.
//!
//! Must not know: shapes, and what is expected of a run.

use super::kernel_files;
use crate::cpulist::List;
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where a check's own profile is written.
const PROFILE: &str = "/tmp/check.toml";

/// Where a run that is watched leaves its report and its messages.
const REPORT: &str = "/tmp/report.json";
const MESSAGES: &str = "/tmp/messages";

/// The only run of a report, as a value.
pub struct Run {
    run: Value,
    text: String,
}

/// What `schedload host --json` prints.
pub fn host() -> Value {
    let output = Command::new("schedload").args(["host", "--json"]).output().unwrap();
    assert!(output.status.success(), "host: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Writes a profile that has no name of its own; returns its path.
pub fn profile(text: &str) -> &'static str {
    fs::write(PROFILE, format!("about = 'a check'\n{text}")).unwrap();
    PROFILE
}

/// Runs a line of words, as in `schedload run pingpong`; all laws must hold.
pub fn run(line: &str) -> Run {
    Started::new(line).end()
}

/// A run under way.
pub struct Started {
    line: String,
    child: Child,
}

impl Started {
    pub fn new(line: &str) -> Started {
        let mut words = line.split_ascii_whitespace();
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(["--json", REPORT, "--quiet"]);
        let messages = fs::File::create(MESSAGES).unwrap();
        command.stdin(Stdio::null()).stdout(messages.try_clone().unwrap()).stderr(messages);
        let child = command.spawn().unwrap_or_else(|error| panic!("{line}: {error}"));
        Started { line: line.to_owned(), child }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Calls `ask` again and again until it gives something; a run that ends before has failed.
    pub fn until<T>(&mut self, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
        loop {
            if let Some(found) = ask() {
                return found;
            }
            if !self.is_running() {
                let said = fs::read_to_string(MESSAGES).unwrap_or_default();
                panic!("{} ended before {what}: {said}", self.line);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills the program (SIGKILL) and waits for its end.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end; the run must have ended well and kept all laws.
    pub fn end(mut self) -> Run {
        let status = self.child.wait().unwrap();
        let said = fs::read_to_string(MESSAGES).unwrap_or_default();
        assert!(status.success(), "{}: {status}: {said}", self.line);
        let text = kernel_files::read(REPORT);
        let report: Value = serde_json::from_str(&text).unwrap();
        let runs = report["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 1, "{}", self.line);
        let run = Run { run: runs[0].clone(), text: self.line };
        run.assert_lawful();
        run
    }
}

impl Run {
    /// What is at a path, as in `trial.outcome` or `runs.0`.
    pub fn value(&self, path: &str) -> &Value {
        path.split('.').fold(&self.run, |value, key| match key.parse::<usize>() {
            Ok(index) => &value[index],
            Err(_) => &value[key],
        })
    }

    /// A number by its path, as in `migrations.by_distance.cross_node`.
    pub fn number(&self, path: &str) -> u64 {
        let value = self.value(path);
        let whole = value.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as u64);
        whole.unwrap_or_else(|| panic!("{}: {path} is {value}", self.text))
    }

    /// How many wakeups there were of a relation, all teams together.
    pub fn wakeups(&self, relation: &str) -> u64 {
        let rows = self.run["latency"].as_array().unwrap().iter();
        let rows = rows.filter(|row| row["series"] == "wakeup" && row["moved"].is_null());
        let of_relation = rows.filter(|row| row["relation"] == relation);
        of_relation.map(|row| row["count"].as_u64().unwrap()).sum()
    }

    /// The CPUs where tasks spent any time.
    pub fn cpus(&self) -> List {
        let rows = self.run["residency"]["cpus"].as_array().unwrap().iter();
        let used = rows.filter(|row| row["share"].as_f64().unwrap() > 0.0);
        used.map(|row| row["name"].as_str().unwrap().parse().unwrap()).collect()
    }

    fn assert_lawful(&self) {
        let checks = self.run["checks"].as_array().unwrap();
        assert!(!checks.is_empty(), "{}: no law was checked", self.text);
        let broken: Vec<&Value> = checks.iter().filter(|check| check["ok"] != true).collect();
        assert!(broken.is_empty(), "{}: {broken:?}", self.text);
    }
}

/// The processes that have a thread whose name begins so.
pub fn processes_with(name: &str) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has = |pid: &u32| {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let mut names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names.any(|it| it.starts_with(name))
    };
    pids.filter(has).collect()
}

/// The ids of the threads of a process, without its first.
pub fn threads(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let ids = tasks.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| *id != pid).collect()
}

/// The CPU on which each task now is whose name begins with one of `teams`, from its stat file.
pub fn cpus_of_tasks(teams: &[&str]) -> List {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let tasks = processes
        .flat_map(|entry| fs::read_dir(entry.path().join("task")).into_iter().flatten().flatten());
    let stats = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    stats.filter_map(|stat| cpu_in_stat(&stat, teams)).collect()
}

/// Field 39 of a stat file, `processor` (fs/proc/array.c, do_task_stat, v6.12).
fn cpu_in_stat(stat: &str, teams: &[&str]) -> Option<u32> {
    let (_, rest) = stat.split_once('(')?;
    let (name, fields) = rest.rsplit_once(") ")?;
    if !teams.iter().any(|team| name.starts_with(team)) {
        return None;
    }
    // The first field after the name is number 3.
    fields.split(' ').nth(39 - 3)?.parse().ok()
}

#[test]
fn the_cpu_of_a_task() {
    let fields: Vec<String> = (3..=52).map(|field: u32| field.to_string()).collect();
    let stat = |name: &str| format!("17 ({name}) {}\n", fields.join(" "));
    let check = |stat: &str, expected: Option<u32>| {
        assert_eq!(cpu_in_stat(stat, &["ping-", "pong-"]), expected, "{stat}");
    };
    check(&stat("ping-0"), Some(39));
    check(&stat("pong-) 1"), Some(39));
    check(&stat("kworker/0:1"), None);
    check("17 (ping-0) S 1", None);
}
