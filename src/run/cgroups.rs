//! The cgroups of a run's instances: made before its processes, gone after them.
//!
//! Children of our own cgroup (version 2). Controllers that have to be enabled for them are
//! disabled again, by the last run that needs them. Must not know: what runs in them.

use super::RunError;
use super::leftovers::{self, Name};
use crate::plan::{CgroupPlan, Plan};
use crate::sys::{Errno, event, fd};
use std::path::{Path, PathBuf};

/// Removes them when dropped.
#[derive(Debug, Default)]
pub(super) struct Cgroups {
    made: Vec<PathBuf>,
    /// Our own cgroup, and the controllers that are to be disabled in it.
    enabled: Option<(PathBuf, Vec<&'static str>)>,
}

impl Cgroups {
    /// A cgroup for each instance of the plan that wants one, below `own`, our own cgroup.
    pub(super) fn make(plan: &Plan, own: Option<&str>) -> Result<Cgroups, RunError> {
        let mut cgroups = Cgroups::default();
        let Some(own) = own.map(Path::new).filter(|_| !plan.cgroups.is_empty()) else {
            return Ok(cgroups);
        };
        let needed = needed(own, &plan.cgroups);
        for instance in 0..plan.cgroups.len() as u32 {
            let path = own.join(Name::ours(&needed, instance).to_string());
            let made = std::fs::create_dir(&path).map_err(Errno::from);
            made.map_err(failed(&path))?;
            cgroups.made.push(path);
        }
        // Now that they are there and have our name, no other run disables it as left behind.
        cgroups.enable(own, needed)?;
        for (path, cgroup) in cgroups.made.iter().zip(&plan.cgroups) {
            for (file, value) in settings(cgroup) {
                let path = path.join(file);
                fd::write_file(&path, &value).map_err(failed(&path))?;
            }
        }
        Ok(cgroups)
    }

    /// The files through which processes come in, by instance.
    pub(super) fn doors(&self) -> Vec<PathBuf> {
        self.made.iter().map(|path| path.join("cgroup.procs")).collect()
    }

    /// By instance.
    pub(super) fn directories(&self) -> Vec<String> {
        self.made.iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }

    fn enable(&mut self, own: &Path, needed: Vec<&'static str>) -> Result<(), RunError> {
        if needed.is_empty() {
            return Ok(());
        }
        let path = own.join("cgroup.subtree_control");
        fd::write_file(&path, &leftovers::words('+', &needed)).map_err(|errno| {
            let what = match errno {
                // Documentation/admin-guide/cgroup-v2.rst, No Internal Process Constraint, v6.12.
                Errno(libc::EBUSY) => "children get controllers only of a cgroup without processes",
                _ => "enabling controllers for the cgroups of instances",
            };
            RunError::Cgroup { what: format!("{what}: {}", path.display()), errno }
        })?;
        self.enabled = Some((own.to_owned(), needed));
        Ok(())
    }
}

/// The controllers that the cgroups need and that are not enabled yet, or by another run, which
/// leaves to us to disable them if it ends before.
fn needed(own: &Path, plans: &[CgroupPlan]) -> Vec<&'static str> {
    let enabled = std::fs::read_to_string(own.join("cgroup.subtree_control")).unwrap_or_default();
    let claimed = leftovers::claimed(own);
    let wants_cpuset = plans.iter().any(|it| it.cpus.is_some() || it.node.is_some());
    let wants_cpu = plans.iter().any(|it| it.weight.is_some() || it.quota_ns.is_some());
    let wanted = [("cpuset", wants_cpuset), ("cpu", wants_cpu)].into_iter();
    let names = wanted.filter(|(_, wants)| *wants).map(|(name, _)| name);
    let is_theirs = |name: &str| claimed.iter().any(|it| it == name);
    names
        .filter(|name| is_theirs(name) || enabled.split_whitespace().all(|it| it != *name))
        .collect()
}

fn failed(path: &Path) -> impl FnOnce(Errno) -> RunError {
    RunError::cgroup(format!("making a cgroup for an instance: {}", path.display()))
}

/// Files and what is written into them.
fn settings(cgroup: &CgroupPlan) -> Vec<(&'static str, String)> {
    let us = |ns: u64| ns / 1000;
    let quota = cgroup.quota_ns.map(|ns| format!("{} {}", us(ns), us(cgroup.period_ns)));
    let all = [
        ("cpuset.cpus", cgroup.cpus.as_ref().map(ToString::to_string)),
        ("cpuset.mems", cgroup.node.map(|node| node.0.to_string())),
        ("cpu.weight", cgroup.weight.map(|weight| weight.to_string())),
        ("cpu.max", quota),
    ];
    all.into_iter().filter_map(|(file, value)| Some((file, value?))).collect()
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        /// A process that was just reaped may hold its cgroup a little longer.
        const TRIES: u32 = 200;
        const PAUSE_NS: u64 = 5_000_000;
        for path in &self.made {
            for _ in 0..TRIES {
                match std::fs::remove_dir(path).map_err(Errno::from) {
                    Err(Errno(libc::EBUSY)) => event::pause(PAUSE_NS),
                    _ => break,
                }
            }
        }
        if let Some((own, controllers)) = self.enabled.take() {
            leftovers::disable(&own, &controllers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_of_another_run_are_ours_to_disable_too() {
        let check = |enabled: &str, other: Option<&str>, expected: &[&str]| {
            let own = tempfile::tempdir().unwrap();
            std::fs::write(own.path().join("cgroup.subtree_control"), enabled).unwrap();
            if let Some(claims) = other {
                let name = format!("schedload-1-2-{claims}-0");
                std::fs::create_dir(own.path().join(name)).unwrap();
            }
            let (quota_ns, cpus) = (None, Some("0".parse().unwrap()));
            let cgroup =
                CgroupPlan { cpus, node: None, weight: Some(50), quota_ns, period_ns: 100_000_000 };
            assert_eq!(needed(own.path(), &[cgroup]), expected, "{enabled} {other:?}");
        };
        check("", None, &["cpuset", "cpu"]);
        check("cpuset memory", None, &["cpu"]);
        check("cpuset cpu", None, &[]);
        check("cpuset cpu", Some("none"), &[]);
        check("cpuset cpu", Some("cpu"), &["cpu"]);
    }
}
