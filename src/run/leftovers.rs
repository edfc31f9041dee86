//! The names of a run's cgroups, and the removal of those whose run was killed.
//!
//! A name says whose the cgroup is, by the process's number and when it started, since numbers are
//! used again; and which controllers the run enabled for it, so that whoever removes it can disable
//! them. Must not know: what a cgroup is for.

use crate::sys::fd;
use std::path::Path;

const PREFIX: &str = "schedload";

/// In place of controllers, where all were enabled already.
const NOTHING: &str = "none";

/// `schedload-PID-STARTED-cpuset+cpu-INSTANCE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pid: u32,
    /// Clock ticks since boot.
    started: u64,
    enabled: Vec<String>,
    instance: u32,
}

impl Name {
    /// Of a cgroup of ours, for which these controllers are to be enabled.
    pub(super) fn ours(enabled: &[&str], instance: u32) -> Name {
        let pid = std::process::id();
        let enabled = enabled.iter().map(|&name| name.to_owned()).collect();
        Name { pid, started: started(pid).unwrap_or(0), enabled, instance }
    }

    fn parse(text: &str) -> Option<Name> {
        let parts: Vec<&str> = text.split('-').collect();
        let [PREFIX, pid, started, enabled, instance] = parts[..] else {
            return None;
        };
        let enabled = match enabled {
            NOTHING => Vec::new(),
            words => words.split('+').map(str::to_owned).collect(),
        };
        let (pid, started) = (pid.parse().ok()?, started.parse().ok()?);
        Some(Name { pid, started, enabled, instance: instance.parse().ok()? })
    }

    /// Whether the process that made it is still there.
    fn is_in_use(&self) -> bool {
        started(self.pid) == Some(self.started)
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let enabled = match self.enabled.as_slice() {
            [] => NOTHING.to_owned(),
            names => names.join("+"),
        };
        write!(f, "{PREFIX}-{}-{}-{enabled}-{}", self.pid, self.started, self.instance)
    }
}

/// When a process started (clock ticks since boot); `None` if it has ended, whether or not anybody
/// has asked how (proc_pid_stat(5), fields 3 and 22).
fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let started = fields.nth(18)?.parse().ok()?;
    (!ended).then_some(started)
}

/// The words that enable or disable controllers.
pub(super) fn words<T: AsRef<str>>(sign: char, controllers: &[T]) -> String {
    let words: Vec<String> =
        controllers.iter().map(|name| format!("{sign}{}", name.as_ref())).collect();
    words.join(" ")
}

/// Of the cgroups of runs below `own`.
fn names(own: &Path) -> Vec<Name> {
    let entries = std::fs::read_dir(own).into_iter().flatten().flatten();
    entries.filter_map(|entry| Name::parse(entry.file_name().to_str()?)).collect()
}

/// The controllers that the runs whose cgroups are below `own` enabled.
pub(super) fn claimed(own: &Path) -> Vec<String> {
    let mut claimed: Vec<String> = names(own).into_iter().flat_map(|name| name.enabled).collect();
    claimed.sort_unstable();
    claimed.dedup();
    claimed
}

/// Disables controllers below `own`, but for those that a cgroup which is there claims: whoever
/// removes that disables them.
pub(super) fn disable<T: AsRef<str>>(own: &Path, controllers: &[T]) {
    let claimed = claimed(own);
    let unclaimed = controllers.iter().map(AsRef::as_ref);
    let unclaimed: Vec<&str> = unclaimed.filter(|it| !claimed.iter().any(|by| by == it)).collect();
    if !unclaimed.is_empty() {
        let _ = fd::write_file(&own.join("cgroup.subtree_control"), &words('-', &unclaimed));
    }
}

/// Removes the cgroups that dead runs left below `own`, our own, and disables what they enabled.
/// While another run is at work there, or somebody is in one of them, nothing is done: the
/// controllers may be wanted. What cannot be removed stays for the next run.
pub(super) fn remove(own: &Path) {
    let names = names(own);
    let is_populated = |name: &Name| {
        let events = std::fs::read_to_string(own.join(name.to_string()).join("cgroup.events"));
        events.is_ok_and(|text| text.lines().any(|line| line == "populated 1"))
    };
    if names.iter().any(|name| name.is_in_use() || is_populated(name)) {
        return;
    }
    let enabled = claimed(own);
    for name in &names {
        let _ = std::fs::remove_dir(own.join(name.to_string()));
    }
    disable(own, &enabled);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(pid: u32, started: u64, enabled: &[&str], instance: u32) -> Name {
        let enabled = enabled.iter().map(|&word| word.to_owned()).collect();
        Name { pid, started, enabled, instance }
    }

    #[test]
    fn names_come_back() {
        let check = |name: Name, expected: &str| {
            assert_eq!(name.to_string(), expected);
            assert_eq!(Name::parse(expected), Some(name));
        };
        check(name(12, 345, &[], 0), "schedload-12-345-none-0");
        check(name(1, 2, &["cpuset", "cpu"], 30), "schedload-1-2-cpuset+cpu-30");
        let others =
            ["", "schedload", "schedload-1", "schedload-1-2-none-x", "user.slice", "a-1-2-none-0"];
        for other in others {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }

    #[test]
    fn what_another_run_claims_stays_enabled() {
        let check = |others: &[&[&str]], expected: &str| {
            let own = tempfile::tempdir().unwrap();
            let file = own.path().join("cgroup.subtree_control");
            std::fs::write(&file, "").unwrap();
            for (instance, enabled) in (0..).zip(others) {
                let name = name(u32::MAX, 7, enabled, instance);
                std::fs::create_dir(own.path().join(name.to_string())).unwrap();
            }
            disable(own.path(), &["cpuset", "cpu"]);
            assert_eq!(std::fs::read_to_string(&file).unwrap(), expected, "{others:?}");
        };
        check(&[], "-cpuset -cpu");
        check(&[&[]], "-cpuset -cpu");
        check(&[&["cpu"]], "-cpuset");
        check(&[&["cpu"], &["cpu", "cpuset"]], "");
    }

    #[test]
    fn only_what_dead_runs_left_is_removed() {
        let me = std::process::id();
        let since = started(me).unwrap();
        // The numbers of a process that is there, and of two that cannot be.
        let (live, reused, dead) = ((me, since), (me, since + 1), (u32::MAX, 7));
        type Case<'a> = (&'a str, &'a [((u32, u64), &'a [&'a str])], &'a str, usize, &'a str);
        let cases: &[Case<'_>] = &[
            ("nothing there", &[], "", 0, "as it was"),
            ("a dead one", &[(dead, &["cpu"])], "", 0, "-cpu"),
            ("a number used again", &[(reused, &[])], "", 0, "as it was"),
            (
                "two runs",
                &[(dead, &["cpuset"]), (reused, &["cpu", "cpuset"])],
                "",
                0,
                "-cpu -cpuset",
            ),
            ("a live one", &[(live, &["cpu"])], "", 1, "as it was"),
            ("a dead one beside a live one", &[(dead, &["cpu"]), (live, &[])], "", 2, "as it was"),
            ("somebody is in it", &[(dead, &["cpu"])], "populated 1\nfrozen 0\n", 1, "as it was"),
        ];
        for &(what, left, events, expected, control) in cases {
            let own = tempfile::tempdir().unwrap();
            let file = own.path().join("cgroup.subtree_control");
            std::fs::write(&file, "as it was").unwrap();
            std::fs::create_dir(own.path().join("user.slice")).unwrap();
            for (instance, ((pid, started), enabled)) in (0..).zip(left) {
                let path = own.path().join(name(*pid, *started, enabled, instance).to_string());
                std::fs::create_dir(&path).unwrap();
                if !events.is_empty() {
                    std::fs::write(path.join("cgroup.events"), events).unwrap();
                }
            }
            remove(own.path());
            let remaining = std::fs::read_dir(own.path()).unwrap().flatten();
            let remaining =
                remaining.filter_map(|it| Name::parse(it.file_name().to_str()?)).count();
            assert_eq!(remaining, expected, "{what}");
            assert!(own.path().join("user.slice").is_dir(), "{what}");
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.starts_with(control), "{what}: {text}");
        }
    }
}
