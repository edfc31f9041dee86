//! The cgroups of a run's instances: made before its processes, gone after them.
//!
//! Children of our own cgroup (version 2). Controllers that have to be enabled for them are
//! disabled again. Must not know: what runs in them.

use super::RunError;
use super::leftovers::{self, Name};
use crate::plan::{CgroupPlan, Plan};
use crate::sys::{Errno, clock, fd};
use std::path::{Path, PathBuf};

/// Removes them when dropped.
#[derive(Debug, Default)]
pub(super) struct Cgroups {
    made: Vec<PathBuf>,
    /// What was enabled: the file, and the word that undoes it.
    enabled: Option<(PathBuf, String)>,
}

impl Cgroups {
    /// A cgroup for each instance of the plan that wants one, below `own`, our own cgroup.
    pub(super) fn make(plan: &Plan, own: Option<&str>) -> Result<Cgroups, RunError> {
        let mut cgroups = Cgroups::default();
        let Some(own) = own.map(Path::new).filter(|_| !plan.cgroups.is_empty()) else {
            return Ok(cgroups);
        };
        let missing = missing(own, &plan.cgroups);
        for instance in 0..plan.cgroups.len() as u32 {
            let path = own.join(Name::ours(&missing, instance).to_string());
            let made = std::fs::create_dir(&path).map_err(Errno::from);
            made.map_err(failed(&path))?;
            cgroups.made.push(path);
        }
        // Now that they are there and have our name, no other run disables it as left behind.
        cgroups.enable(own, &missing)?;
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

    fn enable(&mut self, own: &Path, missing: &[&str]) -> Result<(), RunError> {
        if missing.is_empty() {
            return Ok(());
        }
        let path = own.join("cgroup.subtree_control");
        fd::write_file(&path, &leftovers::words('+', missing)).map_err(|errno| {
            let what = match errno {
                // Documentation/admin-guide/cgroup-v2.rst, No Internal Process Constraint, v6.12.
                Errno(libc::EBUSY) => "children get controllers only of a cgroup without processes",
                _ => "enabling controllers for the cgroups of instances",
            };
            RunError::System { what: format!("{what}: {}", path.display()), errno }
        })?;
        self.enabled = Some((path, leftovers::words('-', missing)));
        Ok(())
    }
}

/// The controllers that the cgroups need and that are not enabled yet.
fn missing(own: &Path, plans: &[CgroupPlan]) -> Vec<&'static str> {
    let enabled = std::fs::read_to_string(own.join("cgroup.subtree_control")).unwrap_or_default();
    let wants_cpuset = plans.iter().any(|it| it.cpus.is_some() || it.node.is_some());
    let wants_cpu = plans.iter().any(|it| it.weight.is_some() || it.quota_ns.is_some());
    let wanted = [("cpuset", wants_cpuset), ("cpu", wants_cpu)];
    let missing = wanted
        .iter()
        .filter(|(name, wants)| *wants && !enabled.split_whitespace().any(|it| it == *name));
    missing.map(|(name, _)| *name).collect()
}

fn failed(path: &Path) -> impl FnOnce(Errno) -> RunError {
    RunError::system(format!("making a cgroup for an instance: {}", path.display()))
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
                    Err(Errno(libc::EBUSY)) => drop(clock::sleep(PAUSE_NS)),
                    _ => break,
                }
            }
        }
        if let Some((path, undo)) = self.enabled.take() {
            let _ = fd::write_file(&path, &undo);
        }
    }
}
