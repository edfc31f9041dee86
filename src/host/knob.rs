//! Readers of the facts that are not simply the text of one file.
//!
//! Each is a function from the files under a root to a reading. Must not know: other facts.

use super::cgroup::{Cgroups, Hierarchy, Version};
use super::files::Root;
use crate::base::{CpuId, CpuList, Reading, State};
use std::collections::BTreeMap;

/// `none` for an empty file, and for `(null)`, as old kernels print an empty list.
pub fn or_none(text: &str) -> String {
    match text.trim() {
        "" | "(null)" => "none".to_owned(),
        text => text.to_owned(),
    }
}

/// The word in brackets or parentheses; the whole text where none is marked.
pub fn chosen(text: &str) -> String {
    let marked = text.split_whitespace().find_map(|word| {
        let inside = |open, close| word.strip_prefix(open)?.strip_suffix(close);
        inside('[', ']').or_else(|| inside('(', ')'))
    });
    marked.unwrap_or(text.trim()).to_owned()
}

/// The values of a file that every CPU has; `path` has `cpu*` where the CPU stands.
pub fn each_cpu(root: &Root, path: &str) -> Reading<String> {
    let (directory, file) = path.split_once("cpu*").unwrap_or((path, ""));
    let cpus = match cpus(root, directory) {
        Reading::Value(cpus) => cpus,
        Reading::Absent(absence) => return Reading::Absent(absence),
    };
    let mut values: BTreeMap<String, Vec<CpuId>> = BTreeMap::new();
    let mut refused = None;
    for cpu in cpus {
        match root.text(&format!("{directory}cpu{cpu}{file}")) {
            Reading::Value(value) => values.entry(value).or_default().push(cpu),
            Reading::Absent(absence) if absence.state == State::Absent => {}
            Reading::Absent(absence) => refused = Some(absence),
        }
    }
    match (values.len(), refused) {
        (0, Some(absence)) => Reading::Absent(absence),
        (0, None) => Reading::absent(State::Absent, format!("there is no {path}")),
        (1, _) => Reading::Value(values.into_keys().collect()),
        _ => Reading::Value(with_cpus(values)),
    }
}

fn with_cpus(values: BTreeMap<String, Vec<CpuId>>) -> String {
    let parts = values.into_iter().map(|(value, cpus)| {
        let cpus: CpuList = cpus.into_iter().collect();
        format!("{value} ({cpus})")
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// The CPUs that have a directory, online or not.
fn cpus(root: &Root, directory: &str) -> Reading<Vec<CpuId>> {
    let cpu = |name: &String| name.strip_prefix("cpu")?.parse().ok().map(CpuId);
    root.names(directory).map(|names| names.iter().filter_map(cpu).collect())
}

pub fn scx_ops(root: &Root) -> Reading<String> {
    match root.text("/sys/kernel/sched_ext/state") {
        Reading::Value(state) if state == "disabled" => {
            Reading::absent(State::Disabled, "no sched_ext scheduler is loaded")
        }
        Reading::Value(_) => root.text("/sys/kernel/sched_ext/root/ops"),
        Reading::Absent(absence) => Reading::Absent(absence),
    }
}

/// The mode from debugfs, which only root may read; else what the kernel was built and started
/// with allows to say.
pub fn preempt(root: &Root) -> Reading<String> {
    if let Reading::Value(text) = root.text("/sys/kernel/debug/sched/preempt") {
        return Reading::Value(chosen(&text));
    }
    let version = match root.text("/proc/sys/kernel/version") {
        Reading::Value(version) => version,
        Reading::Absent(absence) => return Reading::Absent(absence),
    };
    let cmdline = root.text("/proc/cmdline");
    let asked = cmdline.value().and_then(|text| preempt_asked(text));
    Reading::Value(preempt_of_version(&version, asked))
}

/// The last `preempt=` counts, as for the kernel.
fn preempt_asked(cmdline: &str) -> Option<&str> {
    cmdline.split_whitespace().rev().find_map(|word| word.strip_prefix("preempt="))
}

fn preempt_of_version(version: &str, asked: Option<&str>) -> String {
    let has = |word: &str| version.split_whitespace().any(|it| it == word);
    match asked {
        _ if has("PREEMPT_RT") => "rt".to_owned(),
        Some(mode) if has("PREEMPT_DYNAMIC") => format!("dynamic, started with {mode}"),
        None if has("PREEMPT_DYNAMIC") => "dynamic, mode not readable".to_owned(),
        _ if has("PREEMPT_LAZY") => "lazy".to_owned(),
        _ if has("PREEMPT") => "full".to_owned(),
        _ => "none or voluntary".to_owned(),
    }
}

/// `on, active`: active means that a CPU with an online sibling exists.
pub fn smt(root: &Root) -> Reading<String> {
    let control = root.text("/sys/devices/system/cpu/smt/control");
    let active = match root.number("/sys/devices/system/cpu/smt/active") {
        Reading::Value(0) => ", not active",
        Reading::Value(_) => ", active",
        Reading::Absent(_) => "",
    };
    control.map(|control| format!("{control}{active}"))
}

pub fn boost(root: &Root) -> Reading<String> {
    let word = |on| if on { "on" } else { "off" }.to_owned();
    let boost = root.number("/sys/devices/system/cpu/cpufreq/boost");
    if boost.state() != State::Absent {
        return boost.map(|boost| word(boost != 0));
    }
    // intel_pstate has its own file, with the opposite meaning.
    match root.number("/sys/devices/system/cpu/intel_pstate/no_turbo") {
        Reading::Value(no_turbo) => Reading::Value(word(no_turbo == 0)),
        Reading::Absent(_) => boost.map(|_| String::new()),
    }
}

/// `POLL (0 us), C1 (2 us), C6 (133 us, disabled)` of the first CPU that has any.
pub fn idle_states(root: &Root) -> Reading<String> {
    let base = "/sys/devices/system/cpu/";
    let cpus = match cpus(root, base) {
        Reading::Value(cpus) => cpus,
        Reading::Absent(absence) => return Reading::Absent(absence),
    };
    let states = cpus.iter().find_map(|cpu| {
        let directory = format!("{base}cpu{cpu}/cpuidle");
        let names = root.names(&directory);
        let states = names.value()?.iter().filter(|name| name.starts_with("state"));
        let states: Vec<_> =
            states.filter_map(|state| idle_state(root, &format!("{directory}/{state}"))).collect();
        (!states.is_empty()).then(|| states.join(", "))
    });
    match states {
        Some(states) => Reading::Value(states),
        None => Reading::absent(State::Absent, format!("there is no {base}cpu*/cpuidle")),
    }
}

fn idle_state(root: &Root, directory: &str) -> Option<String> {
    let name = root.text(&format!("{directory}/name"));
    let latency = match root.number(&format!("{directory}/latency")) {
        Reading::Value(us) => format!("{us} us"),
        Reading::Absent(_) => "latency unknown".to_owned(),
    };
    let disabled = match root.number(&format!("{directory}/disable")) {
        Reading::Value(0) | Reading::Absent(_) => "",
        Reading::Value(_) => ", disabled",
    };
    name.value().map(|name| format!("{name} ({latency}{disabled})"))
}

/// `yes (Xen)`, `yes (QEMU)`, `no`.
pub fn hypervisor(root: &Root) -> Reading<String> {
    let vendor = || root.text("/sys/class/dmi/id/sys_vendor");
    if let Reading::Value(kind) = root.text("/sys/hypervisor/type") {
        return Reading::Value(format!("yes ({kind})"));
    }
    match cpu_flags(root) {
        Reading::Value(flags) if flags.iter().any(|flag| flag == "hypervisor") => {
            Reading::Value(match vendor() {
                Reading::Value(vendor) => format!("yes ({vendor})"),
                Reading::Absent(_) => "yes".to_owned(),
            })
        }
        Reading::Value(_) => Reading::Value("no".to_owned()),
        Reading::Absent(absence) => Reading::Absent(absence),
    }
}

pub fn counter_flags(root: &Root) -> Reading<String> {
    let wanted = ["constant_tsc", "nonstop_tsc"];
    cpu_flags(root).map(|flags| {
        let found = wanted.iter().filter(|name| flags.iter().any(|flag| flag == *name));
        or_none(&found.copied().collect::<Vec<_>>().join(" "))
    })
}

/// The flags of the first CPU; x86 only, other architectures have no such flags.
fn cpu_flags(root: &Root) -> Reading<Vec<String>> {
    let text = match root.beginning("/proc/cpuinfo") {
        Reading::Value(text) => text,
        Reading::Absent(absence) => return Reading::Absent(absence),
    };
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    match pairs.into_iter().find(|(key, _)| key.trim() == "flags") {
        Some((_, flags)) => Reading::Value(flags.split_whitespace().map(str::to_owned).collect()),
        None => Reading::absent(
            State::NotSupported,
            "/proc/cpuinfo has no line flags on this architecture",
        ),
    }
}

/// `mitigated: spectre_v1, spectre_v2; vulnerable: mds`.
pub fn mitigations(root: &Root) -> Reading<String> {
    let directory = "/sys/devices/system/cpu/vulnerabilities";
    let names = match root.names(directory) {
        Reading::Value(names) => names,
        Reading::Absent(absence) => return Reading::Absent(absence),
    };
    let states = names.iter().map(|name| (name, root.text(&format!("{directory}/{name}"))));
    let states: Vec<_> = states.collect();
    let list = |title: &str, begins: &str| {
        let has = |it: &Reading<String>| it.value().is_some_and(|text| text.starts_with(begins));
        let found = states.iter().filter(|(_, state)| has(state)).map(|(name, _)| name.as_str());
        let found: Vec<&str> = found.collect();
        (!found.is_empty()).then(|| format!("{title}: {}", found.join(", ")))
    };
    let parts = [list("mitigated", "Mitigation"), list("vulnerable", "Vulnerable")];
    Reading::Value(or_none(&parts.into_iter().flatten().collect::<Vec<_>>().join("; ")))
}

/// `v2 /user.slice/user-0.slice`, by the hierarchy that shares out CPU time.
pub fn cgroup(_root: &Root, cgroups: &Cgroups) -> Reading<String> {
    cgroups.reading("cpu").map(|it| match it.version {
        Version::V1 => format!("v1 {}", it.path),
        Version::V2 => format!("v2 {}", it.path),
    })
}

/// `1.5 CPUs (150000 of 100000 us in /sys/fs/cgroup/x)`, of the tightest group; `none`.
pub fn cgroup_cpu_max(root: &Root, cgroups: &Cgroups) -> Reading<String> {
    cgroups.reading("cpu").map(|it| {
        let limits = it.directories.iter().filter_map(|directory| {
            let (quota, period) = cpu_max(root, it, directory)?;
            Some((quota / period, format!("{quota} of {period} us in {directory}")))
        });
        match limits.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((cpus, detail)) => format!("{cpus} CPUs ({detail})"),
            None => "none".to_owned(),
        }
    })
}

fn cpu_max(root: &Root, hierarchy: &Hierarchy, directory: &str) -> Option<(f64, f64)> {
    let text = match hierarchy.version {
        Version::V2 => root.text(&format!("{directory}/cpu.max")).value()?.clone(),
        Version::V1 => {
            let quota = root.text(&format!("{directory}/cpu.cfs_quota_us"));
            let period = root.text(&format!("{directory}/cpu.cfs_period_us"));
            format!("{} {}", quota.value()?, period.value()?)
        }
    };
    // "max 100000" of version 2 and "-1 100000" of version 1 are no limit.
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (u32, u32) = (quota.parse().ok()?, period.trim().parse().ok()?);
    (period > 0).then_some((f64::from(quota), f64::from(period)))
}

/// The CPUs that the nearest group with a cpuset grants.
pub fn cgroup_cpuset(root: &Root, cgroups: &Cgroups) -> Reading<String> {
    let hierarchy = match cgroups.reading("cpuset") {
        Reading::Value(hierarchy) => hierarchy,
        Reading::Absent(absence) => return Reading::Absent(absence),
    };
    let files = match hierarchy.version {
        Version::V1 => ["cpuset.effective_cpus", "cpuset.cpus"],
        Version::V2 => ["cpuset.cpus.effective", "cpuset.cpus"],
    };
    let paths = hierarchy
        .directories
        .iter()
        .flat_map(|directory| files.iter().map(move |file| format!("{directory}/{file}")));
    let mut lists = paths.filter_map(|path| root.text(&path).value().cloned());
    match lists.find(|list| !list.is_empty()) {
        Some(list) => Reading::Value(list),
        None => Reading::absent(State::Absent, "no cgroup above us has a cpuset"),
    }
}

#[cfg(test)]
mod tests;
