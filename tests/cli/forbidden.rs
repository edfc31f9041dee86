//! Kernels and containers that lack a call, a file or a feature: named, never taken for a zero.

use crate::seccomp::refusing;
use crate::{json, printed, profile, refused, schedload, shell};
use serde_json::Value;
use std::process::Output;

const POLICY_CALLS: [libc::c_long; 5] = [
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_get_mempolicy,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
];

/// Two threads that go over an area each, with these keys of the area.
fn sweeping(top: &str, keys: &str) -> (tempfile::TempDir, String) {
    profile(&format!(
        "about = \"x\"\n{top}\n[memory.area]\nbytes = \"256 KiB\"\ncount = 2\n{keys}\n\
         [team.w]\nsize = 2\nsteps = [ {{ sweep = \"area[me]\", access = \"write\" }} ]\n"
    ))
}

fn caveat<'a>(run: &'a Value, id: &str) -> Option<&'a str> {
    let caveats = run["caveats"].as_array().unwrap();
    caveats.iter().find(|it| it["id"] == id)?["text"].as_str()
}

/// The refusal is named, and pages are counted by numa_maps, or are null with the reason on a
/// kernel that has none; the work is done all the same.
fn done_without_move_pages(output: &Output, why: &str) {
    let document = json(output);
    let run = &document["runs"][0];
    assert_eq!(run["end"], "done");
    assert!(run["checks"].as_array().unwrap().iter().all(|it| it["ok"] == true), "{run}");
    let sources = run["sources"].as_array().unwrap();
    let source = sources.iter().find(|it| it["name"] == "move_pages").unwrap();
    let reason = source["reason"].as_str().unwrap();
    assert!(source["state"] != "ok" && reason.contains(why), "{source}");
    let has_numa_maps = std::path::Path::new("/proc/self/numa_maps").exists();
    for region in run["timeline"]["instances"][0]["regions"].as_array().unwrap() {
        let pages: Vec<&Value> = region["pages"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|it| it["pages"].as_array().unwrap())
            .collect();
        assert!(!pages.is_empty(), "{region}");
        if has_numa_maps {
            assert_eq!(region["method"], "numa_maps");
            let sum: u64 = pages.iter().filter_map(|it| it.as_u64()).sum();
            assert!(sum > 0, "{region}");
        } else {
            assert!(pages.iter().all(|it| it.is_null()) && region["reason"].is_string());
        }
    }
    let bytes = run["memory_steps"][0]["bytes"].as_u64();
    assert_eq!(bytes, Some(2 << 18));
}

#[test]
fn policies_that_may_not_be_set() {
    let check = |errno: i32, words: &str| {
        for top in ["", "instances = 1"] {
            for (keys, call) in
                [("policy = \"bind:0\"", "mbind"), ("first_touch = \"node:0\"", "set_mempolicy")]
            {
                let (_dir, path) = sweeping(top, keys);
                let line = format!("run {path} --allow-single-node");
                let Some(output) = refusing(&POLICY_CALLS, errno, || schedload(&line)) else {
                    return;
                };
                refused(&output, 4, &["placing region `area`", call, words]);
            }
        }
    };
    check(libc::EPERM, "seccomp");
    check(libc::ENOSYS, "CONFIG_NUMA");
}

#[test]
fn pages_that_may_not_be_asked_for() {
    let check = |calls: &[libc::c_long], errno: i32, words: &str, is_bound: bool| {
        for top in ["", "instances = 1"] {
            let (_dir, path) = sweeping(top, "");
            let line = format!("run {path} --json -");
            let Some(output) = refusing(calls, errno, || schedload(&line)) else {
                return;
            };
            done_without_move_pages(&output, words);
            let document = json(&output);
            let unbound = caveat(&document["runs"][0], "run_note");
            let told = unbound.is_some_and(|text| text.contains("mbind"));
            assert_eq!(told, !is_bound, "{unbound:?}");
        }
    };
    // As a container has it, and as a kernel without NUMA has it.
    check(&[libc::SYS_move_pages], libc::EPERM, "(errno 1)", true);
    check(&[libc::SYS_move_pages], libc::ENOSYS, "(errno 38)", true);
    check(&POLICY_CALLS, libc::EPERM, "(errno 1)", false);
    check(&POLICY_CALLS, libc::ENOSYS, "(errno 38)", false);
}

#[test]
fn huge_pages_that_the_kernel_does_not_have() {
    let check = |errno: i32, words: &str| {
        for top in ["", "instances = 1"] {
            let (_dir, path) = sweeping(top, "huge = \"always\"");
            let line = format!("run {path}");
            let Some(output) = refusing(&[libc::SYS_madvise], errno, || schedload(&line)) else {
                return;
            };
            refused(&output, 4, &["placing region `area`", "madvise", words]);
        }
    };
    // What a kernel without them says, and a filter.
    check(libc::EINVAL, "transparent huge pages");
    check(libc::EPERM, "seccomp");
    // Who wants none has none.
    let (_dir, path) = sweeping("", "huge = \"never\"");
    let line = format!("run {path} --json -");
    let output = refusing(&[libc::SYS_madvise], libc::EINVAL, || schedload(&line));
    assert!(output.is_none_or(|output| json(&output)["runs"][0]["end"] == "done"));
}

#[test]
fn sleeping_that_may_not_be() {
    let check = |object: &str, step: &str, name: &str| {
        for (errno, form) in [(libc::EPERM, "threads"), (libc::ENOSYS, "processes")] {
            let (_dir, path) = profile(&format!(
                "about = \"x\"\nduration = \"10min\"\n{object}\n\
                 [team.w]\nsize = 2\nas = \"{form}\"\nsteps = [ {step} ]\n"
            ));
            let line = format!("run {path} --json -");
            let refused = || schedload(&line);
            let Some(output) = refusing(&[libc::SYS_clock_nanosleep], errno, refused) else {
                return;
            };
            let document: Value = serde_json::from_str(&printed(&output, 3)).unwrap();
            let run = &document["runs"][0];
            assert_eq!(run["end"], "failed");
            let detail = run["end_detail"].as_str().unwrap();
            let call = format!("step `{name}`: clock_nanosleep: ");
            let why = format!("(errno {errno}), as a seccomp filter has it");
            assert!(detail.contains(&call) && detail.contains(&why), "{detail}");
        }
    };
    let spin = "steps = [ { spin = \"1us\" } ]";
    check("", "{ sleep = \"1ms\" }", "sleep");
    check("", "{ sleep = \"1ms\", spread = \"exponential\" }", "sleep");
    check("", &format!("{{ every = \"1ms\", {spin} }}"), "every");
    check("", &format!("{{ arrive = 100, {spin} }}"), "arrive");
    check("[commit.log]\nflush = \"1ms\"", "{ commit = \"log\" }", "commit log");
}

/// A command line in a mount namespace that a script of mounts has prepared; `None` without the
/// right to one.
fn mounted(script: &str, line: &str) -> Option<Output> {
    let output = shell(&format!("unshare -m sh -ec '{script}\nexec $SCHEDLOAD {line}'"));
    let error = String::from_utf8_lossy(&output.stderr);
    if ["unshare", "mount", "mkdir", "sh"].iter().any(|it| error.starts_with(&format!("{it}:"))) {
        eprintln!("NOT TESTED: files that are missing: {error}");
        return None;
    }
    Some(output)
}

/// Empties directories and files.
fn emptied(directories: &[&str], files: &[&str]) -> String {
    let directories =
        directories.iter().map(|it| format!("[ ! -d {it} ] || mount -t tmpfs none {it}\n"));
    let files = files.iter().map(|it| format!("[ ! -e {it} ] || mount --bind /dev/null {it}\n"));
    directories.chain(files).collect()
}

/// Takes a directory out of its parent, whose other directories stay; `aside` is an empty one.
fn taken_out(parent: &str, name: &str, aside: &str) -> String {
    format!(
        "mount --bind {parent} {aside}\nmount -t tmpfs none {parent}\n\
         for it in {aside}/*/; do it=${{it%/}}; it=${{it##*/}}; [ $it = {name} ] || {{ \
         mkdir {parent}/$it; mount --bind {aside}/$it {parent}/$it; }}; done\n"
    )
}

#[test]
fn a_kernel_without_numa() {
    // Neither calls nor files: one node that has all.
    let (_dir, path) = sweeping("", "");
    let aside = tempfile::tempdir().unwrap();
    let script = taken_out("/sys/devices/system", "node", aside.path().to_str().unwrap())
        + &emptied(&[], &["/proc/vmstat"]);
    let hidden = |line: &str| refusing(&POLICY_CALLS, libc::ENOSYS, || mounted(&script, line));
    let Some(Some(output)) = hidden(&format!("run {path} --json -")) else {
        return;
    };
    done_without_move_pages(&output, "(errno 38)");
    let document = json(&output);
    assert_eq!(document["host"]["nodes"], 1);
    let run = &document["runs"][0];
    for metric in ["numa_hint_faults", "numa_pages_migrated", "numa_pte_updates"] {
        let metric = &run["metrics"][metric];
        assert!(metric["value"].is_null() && metric["reason"].is_string(), "{metric}");
    }
    refused(&hidden("run who-moves").flatten().unwrap(), 4, &["NUMA nodes"]);
    let told = printed(&hidden("host").flatten().unwrap(), 0);
    assert!(told.contains("there is no /sys/devices/system/node"), "{told}");
}

#[test]
fn cgroups_that_cannot_be_seen_or_made() {
    let (_dir, path) = profile(
        "about = \"x\"\ninstances = 2\ncgroup = {}\n\
         [team.w]\nsize = 1\nsteps = [ { spin = \"1us\" } ]\n",
    );
    let line = format!("run {path}");
    let Some(output) = mounted(&emptied(&["/sys/fs/cgroup"], &[]), &line) else {
        return;
    };
    refused(&output, 4, &["gives each instance a cgroup", "cgroup"]);
    // As containers have them.
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let v2 = mounts.lines().find(|line| line.contains(" - cgroup2 "));
    let Some(point) = v2.and_then(|line| line.split(' ').nth(4)) else {
        eprintln!("NOT TESTED: cgroups that are read-only: none of version 2 are mounted");
        return;
    };
    let output = mounted(&format!("mount -o remount,bind,ro {point}"), &line).unwrap();
    refused(&output, 4, &["making a cgroup for an instance", point, "Read-only"]);
}

#[test]
fn files_of_proc_that_are_missing() {
    let (_dir, path) = sweeping("instances = 2", "");
    let files =
        ["/proc/meminfo", "/proc/vmstat", "/proc/loadavg", "/proc/cpuinfo", "/proc/self/cgroup"];
    let directories = ["/proc/sys", "/sys/fs/cgroup", "/sys/kernel"];
    let line = format!("run {path} --json -");
    let Some(output) = mounted(&emptied(&directories, &files), &line) else {
        return;
    };
    let document = json(&output);
    let run = &document["runs"][0];
    assert_eq!(run["end"], "done");
    assert!(document["host"]["kernel"].is_null());
    assert!(document["host"]["knobs"]["thp"].is_null());
    assert!(run["metrics"]["numa_hint_faults"]["value"].is_null());
    assert!(run["memory_steps"][0]["bytes"].as_u64().unwrap() > 0);
}
