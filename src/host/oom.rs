//! What the OOM killer did meanwhile: in our own cgroup, and on the machine.
//!
//! A process that it kills sees no more than SIGKILL; only the kernel's counts tell who sent it.
//! Must not know: who was killed.

use super::Root;
use super::cgroup::{Cgroups, Version};
use crate::base::Reading;

/// Processes that the OOM killer had killed when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OomKills {
    /// The files that tell, those of the smallest circle first, and what each said.
    counts: Vec<(String, u64)>,
}

impl OomKills {
    /// `oom_kill` of the cgroup's memory.events (with all below it) or, in version 1,
    /// memory.oom_control (without); and that of /proc/vmstat, which has them all
    /// (mm/oom_kill.c, __oom_kill_process, v6.12).
    pub fn read(root: &Root) -> OomKills {
        let cgroups = Cgroups::read(root);
        let own = cgroups.value().and_then(|it| it.of("memory")).and_then(|it| {
            let name = match it.version {
                Version::V1 => "memory.oom_control",
                Version::V2 => "memory.events",
            };
            Some(format!("{}/{name}", it.directories.first()?))
        });
        let files = own.into_iter().chain(["/proc/vmstat".to_owned()]);
        let told = files.filter_map(|file| count(root, &file).map(|count| (file, count)));
        OomKills { counts: told.collect() }
    }

    /// What it did since `before`, as the end of a sentence; nothing if it is not known.
    pub fn since(&self, before: &OomKills) -> Option<String> {
        let grown = self.counts.iter().filter_map(|(file, count)| {
            let (_, before) = before.counts.iter().find(|(it, _)| it == file)?;
            Some((file, count.saturating_sub(*before)))
        });
        let grown: Vec<(&String, u64)> = grown.collect();
        // Where nobody was killed, the largest circle says so for all.
        let (file, n) = grown.iter().find(|(_, n)| *n > 0).or(grown.last())?;
        let killed = match n {
            0 => "but the OOM killer killed nobody".to_owned(),
            1 => "and the OOM killer killed a process".to_owned(),
            n => format!("and the OOM killer killed {n} processes"),
        };
        Some(format!("{killed} meanwhile (oom_kill of {file})"))
    }
}

fn count(root: &Root, file: &str) -> Option<u64> {
    let Reading::Value(text) = root.text(file) else {
        return None;
    };
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Files<'a> = &'a [(&'a str, &'a str)];

    fn read(files: Files<'_>) -> OomKills {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        OomKills::read(&Root::new(dir.path()))
    }

    #[test]
    fn the_smallest_circle_that_tells() {
        let check =
            |base: Files<'_>, before: Files<'_>, after: Files<'_>, expected: Option<&str>| {
                let [before, after] = [before, after].map(|it| read(&[base, it].concat()));
                assert_eq!(after.since(&before).as_deref(), expected);
            };
        let v2 = &[
            ("/proc/self/cgroup", "0::/a\n"),
            ("/proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n"),
        ][..];
        let v1 = &[
            ("/proc/self/cgroup", "4:memory:/a\n0::/\n"),
            ("/proc/self/mountinfo", "35 31 0:32 / /cg rw - cgroup cgroup rw,memory\n"),
        ][..];
        let events = |n| ("/cg/a/memory.events", n);
        let control = |n| ("/cg/a/memory.oom_control", n);
        let vmstat = |n| ("/proc/vmstat", n);
        check(&[], &[], &[], None);
        check(v2, &[], &[], None);
        // A file that comes or goes tells nothing.
        check(v2, &[], &[vmstat("oom_kill 3\n")], None);
        check(v2, &[vmstat("oom_kill 3\n")], &[vmstat("nr_free_pages 3\n")], None);
        check(
            v2,
            &[events("oom 1\noom_kill 2\noom_group_kill 0\n"), vmstat("oom_kill 7\n")],
            &[events("oom 9\noom_kill 4\noom_group_kill 0\n"), vmstat("oom_kill 10\n")],
            Some(
                "and the OOM killer killed 2 processes meanwhile (oom_kill of /cg/a/memory.events)",
            ),
        );
        check(
            v1,
            &[control("oom_kill_disable 0\nunder_oom 0\noom_kill 0\n")],
            &[control("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")],
            Some(
                "and the OOM killer killed a process meanwhile (oom_kill of \
                 /cg/a/memory.oom_control)",
            ),
        );
        // In another cgroup, or of all the machine.
        check(
            v2,
            &[events("oom_kill 2\n"), vmstat("oom_kill 7\n")],
            &[events("oom_kill 2\n"), vmstat("oom_kill 8\n")],
            Some("and the OOM killer killed a process meanwhile (oom_kill of /proc/vmstat)"),
        );
        check(
            v2,
            &[events("oom_kill 2\n"), vmstat("oom_kill 7\n")],
            &[events("oom_kill 2\n"), vmstat("oom_kill 7\n")],
            Some("but the OOM killer killed nobody meanwhile (oom_kill of /proc/vmstat)"),
        );
    }
}
