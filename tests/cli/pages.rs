//! What the kernel gives a region that is touched: huge pages where it has them, or the OOM killer.

use crate::signals::{await_some, descendants, end, kill, start};
use crate::{SCHEDLOAD, json, profile, schedload};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const KIB: u64 = 1 << 10;
const REGION_KIB: u64 = 64 << 10;

fn fact(key: &str) -> Option<String> {
    let host = json(&schedload("host --json"));
    let facts = host["facts"].as_array().unwrap();
    let fact = facts.iter().find(|fact| fact["key"] == key).unwrap();
    fact["value"]["Value"].as_str().map(str::to_owned)
}

/// Of the mappings of a process that are as large as the region and in memory: how much of them is
/// in huge pages (KiB).
fn huge_kib(pid: u32) -> Option<u64> {
    let smaps = fs::read_to_string(format!("/proc/{pid}/smaps")).ok()?;
    let number = |line: &str, key: &str| -> Option<u64> {
        line.strip_prefix(key)?.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    let (mut size, mut rss) = (0, 0);
    for line in smaps.lines() {
        size = number(line, "Size:").unwrap_or(size);
        rss = number(line, "Rss:").unwrap_or(rss);
        if let Some(huge) = number(line, "AnonHugePages:")
            && size >= REGION_KIB
            && rss >= REGION_KIB
        {
            return Some(huge);
        }
    }
    None
}

/// Whether a thread that is not the first one, which touches the region, has run for a while.
fn has_swept(pid: u32) -> bool {
    let run_ns = |task: &Path| -> Option<u64> {
        let schedstat = fs::read_to_string(task.join("schedstat")).ok()?;
        schedstat.split_whitespace().next()?.parse().ok()
    };
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let others = tasks.filter(|task| *task.file_name() != *pid.to_string());
    others.filter_map(|task| run_ns(&task.path())).any(|ns| ns > 50_000_000)
}

/// How often the kernel wanted a huge page for a fault and found none.
fn fallbacks() -> Option<u64> {
    let vmstat = fs::read_to_string("/proc/vmstat").ok()?;
    vmstat.lines().find_map(|line| line.strip_prefix("thp_fault_fallback ")?.parse().ok())
}

#[test]
fn regions_in_huge_pages() {
    let run = |huge: &str| {
        let (_dir, path) = profile(&format!(
            "about = \"x\"\n[memory.area]\nbytes = {}\nfirst_touch = \"main\"\n\
             huge = \"{huge}\"\n[team.w]\nsize = 1\n\
             steps = [ {{ forever = [ {{ sweep = \"area\", access = \"write\" }} ] }} ]\n",
            REGION_KIB * KIB
        ));
        let before = fallbacks();
        let child = start(SCHEDLOAD, &format!("run {path} --duration 1min --json -"));
        let huge = await_some("the region", || huge_kib(child.id()));
        await_some("the window", || has_swept(child.id()).then_some(()));
        let fell_back = fallbacks() > before;
        kill("-INT", child.id());
        let output = end(child, &[]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let caveats = document["runs"][0]["caveats"].as_array().unwrap();
        (huge, fell_back, caveats.iter().any(|it| it["id"] == "huge_pages_off"))
    };
    assert_eq!(run("never").0, 0);
    let enabled = fact("thp");
    let (huge, fell_back, is_off) = run("always");
    match enabled.as_deref() {
        Some("always" | "madvise") if fell_back && huge == 0 => {
            eprintln!("NOT TESTED: huge pages: the kernel found none");
        }
        Some("always" | "madvise") => {
            // All but the ends, which need not begin where a huge page does, in one part or more.
            assert!(huge * 2 > REGION_KIB || fell_back, "{huge} KiB of {REGION_KIB}");
            assert!(!is_off);
        }
        // Of other sizes there may be some.
        Some("never") => assert!(is_off),
        _ => assert_eq!(huge, 0),
    }
}

/// A cgroup that may hold so much memory, gone when dropped.
struct Limited(PathBuf);

impl Limited {
    /// `None` where none can be made.
    fn to(bytes: u64) -> Option<Limited> {
        let name = format!("schedload-test-{}", std::process::id());
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let v2 = own.lines().find_map(|line| line.strip_prefix("0::"));
        let places = [
            ("/sys/fs/cgroup/memory".to_owned(), "memory.limit_in_bytes"),
            (format!("/sys/fs/cgroup{}", v2.unwrap_or_default()), "memory.max"),
        ];
        places.into_iter().find_map(|(parent, limit)| {
            let path = Path::new(&parent).join(&name);
            fs::create_dir(&path).ok()?;
            let limited = Limited(path);
            // Else what does not fit goes to the swap; a machine without has no such file.
            let _ = fs::write(limited.0.join("memory.swap.max"), "0");
            // The file is there if its controller is.
            let limit = limited.0.join(limit);
            (limit.exists() && fs::write(limit, bytes.to_string()).is_ok()).then_some(limited)
        })
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        await_some("the cgroup's end", || fs::remove_dir(&self.0).ok());
    }
}

#[test]
fn an_instance_that_the_oom_killer_ends() {
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let Some(limited) = Limited::to(16 << 20).filter(|_| swaps.lines().count() < 2) else {
        eprintln!("NOT TESTED: the OOM killer: no cgroup with a limit can be made here");
        return;
    };
    // Time for the test to move the process into its cgroup before it touches anything.
    let (_dir, path) = profile(
        "about = \"x\"\ninstances = 1\n[memory.area]\nbytes = \"64 MiB\"\n\
         first_touch = \"nobody\"\n[team.w]\nsize = 1\n\
         steps = [ { sleep = \"3s\" }, { sweep = \"area\", access = \"write\" } ]\n",
    );
    let child = start(SCHEDLOAD, &format!("run {path} --json -"));
    let processes = await_some("leader and instance", || {
        Some(descendants(child.id())).filter(|processes| processes.len() == 2)
    });
    let instance = processes[1];
    fs::write(limited.0.join("cgroup.procs"), instance.to_string()).unwrap();
    let output = end(child, &processes);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{error}");
    for words in ["killed by signal 9 (SIGKILL", "and the OOM killer killed", "oom_kill of"] {
        assert!(error.contains(words), "`{words}` is not in:\n{error}");
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["runs"][0]["placement"][0]["signal"], 9);
}
