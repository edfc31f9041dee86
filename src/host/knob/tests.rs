//! Each reader against small trees of files.

use super::*;
use crate::host::files::tests::fake;

fn check(read: fn(&Root) -> Reading<String>, files: &[(&str, &str)], expected: &str) {
    let dir = fake(files);
    let got = read(&Root::new(dir.path()));
    let shown = match &got {
        Reading::Value(value) => value.clone(),
        Reading::Absent(absence) => format!("{}: {}", absence.state, absence.reason),
    };
    assert_eq!(shown, expected, "of {files:?}");
}

#[test]
fn words() {
    assert_eq!(chosen("always [madvise] never"), "madvise");
    assert_eq!(chosen("none voluntary (full) lazy"), "full");
    assert_eq!(chosen("plain"), "plain");
    assert_eq!([or_none(""), or_none("(null)"), or_none("1-3")], ["none", "none", "1-3"]);
}

#[test]
fn preemption_mode() {
    let debug = "/sys/kernel/debug/sched/preempt";
    let version = "/proc/sys/kernel/version";
    let dynamic = (version, "#1 SMP PREEMPT_DYNAMIC Debian");
    check(preempt, &[(debug, "none voluntary (full)\n"), dynamic], "full");
    check(preempt, &[dynamic], "dynamic, mode not readable");
    let cmdline = ("/proc/cmdline", "quiet preempt=none preempt=voluntary x=1");
    check(preempt, &[dynamic, cmdline], "dynamic, started with voluntary");
    check(preempt, &[(version, "#1 SMP PREEMPT_RT x"), cmdline], "rt");
    check(preempt, &[(version, "#1 SMP PREEMPT x"), cmdline], "full");
    check(preempt, &[(version, "#1 SMP Debian 6.1"), cmdline], "none or voluntary");
    check(preempt, &[], "absent: there is no /proc/sys/kernel/version");
}

#[test]
fn sched_ext() {
    let state = "/sys/kernel/sched_ext/state";
    let ops = ("/sys/kernel/sched_ext/root/ops", "rusty_1.0\n");
    check(scx_ops, &[(state, "enabled\n"), ops], "rusty_1.0");
    check(scx_ops, &[(state, "disabled\n")], "disabled: no sched_ext scheduler is loaded");
    check(scx_ops, &[], "absent: there is no /sys/kernel/sched_ext/state");
}

#[test]
fn values_of_each_cpu() {
    let governor =
        |root: &Root| each_cpu(root, "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
    let path = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    let paths = [0, 1, 2, 10].map(path);
    let of = |values: [&'static str; 4]| -> Vec<(&str, &str)> {
        paths.iter().map(String::as_str).zip(values).collect()
    };
    check(governor, &of(["schedutil"; 4]), "schedutil");
    let mixed = of(["performance", "powersave", "performance", "performance"]);
    check(governor, &mixed, "performance (0,2,10), powersave (1)");
    let missing = "absent: there is no /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    let other = ("/sys/devices/system/cpu/cpufreq/boost", "1");
    check(governor, &[("/sys/devices/system/cpu/cpu0/online", "1"), other], missing);
    check(governor, &[], "absent: there is no /sys/devices/system/cpu/");
}

#[test]
fn smt_and_boost() {
    let control = ("/sys/devices/system/cpu/smt/control", "on\n");
    check(smt, &[control, ("/sys/devices/system/cpu/smt/active", "1\n")], "on, active");
    check(smt, &[control, ("/sys/devices/system/cpu/smt/active", "0\n")], "on, not active");
    check(smt, &[control], "on");
    let (boost_file, no_turbo) =
        ("/sys/devices/system/cpu/cpufreq/boost", "/sys/devices/system/cpu/intel_pstate/no_turbo");
    check(boost, &[(boost_file, "0")], "off");
    check(boost, &[(no_turbo, "0")], "on");
    check(boost, &[(no_turbo, "1")], "off");
    check(boost, &[], "absent: there is no /sys/devices/system/cpu/cpufreq/boost");
}

#[test]
fn idle_states_with_their_latency() {
    let files = [
        ("/sys/devices/system/cpu/cpu1/cpuidle/state0/name", "POLL\n"),
        ("/sys/devices/system/cpu/cpu1/cpuidle/state0/latency", "0\n"),
        ("/sys/devices/system/cpu/cpu1/cpuidle/state10/name", "C6\n"),
        ("/sys/devices/system/cpu/cpu1/cpuidle/state10/latency", "133\n"),
        ("/sys/devices/system/cpu/cpu1/cpuidle/state10/disable", "1\n"),
        ("/sys/devices/system/cpu/cpu1/cpuidle/state2/name", "C1\n"),
        ("/sys/devices/system/cpu/cpu0/online", "0\n"),
    ];
    let expected = "POLL (0 us), C1 (latency unknown), C6 (133 us, disabled)";
    check(idle_states, &files, expected);
    let missing = "absent: there is no /sys/devices/system/cpu/cpu*/cpuidle";
    check(idle_states, &files[6..], missing);
}

#[test]
fn what_cpuinfo_tells() {
    let cpuinfo = |text| ("/proc/cpuinfo", text);
    let guest = cpuinfo("processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc hypervisor\n");
    let vendor = ("/sys/class/dmi/id/sys_vendor", "QEMU\n");
    check(hypervisor, &[guest, vendor], "yes (QEMU)");
    check(hypervisor, &[guest], "yes");
    check(hypervisor, &[guest, ("/sys/hypervisor/type", "xen\n")], "yes (xen)");
    check(hypervisor, &[cpuinfo("flags : fpu\n"), vendor], "no");
    let arm = "not supported: /proc/cpuinfo has no line flags on this architecture";
    check(hypervisor, &[cpuinfo("processor : 0\nFeatures : fp\n")], arm);
    check(counter_flags, &[guest], "constant_tsc nonstop_tsc");
    check(counter_flags, &[cpuinfo("flags : fpu constant_tsc\n")], "constant_tsc");
    check(counter_flags, &[cpuinfo("flags : fpu\n")], "none");
    check(counter_flags, &[], "absent: there is no /proc/cpuinfo");
}

#[test]
fn vulnerabilities() {
    let directory = "/sys/devices/system/cpu/vulnerabilities";
    let names = ["a", "b", "c", "d"].map(|name| format!("{directory}/{name}"));
    let texts = ["Mitigation: x", "Not affected", "Vulnerable: no microcode", "Mitigation: y"];
    let files: Vec<_> = names.iter().map(String::as_str).zip(texts).collect();
    check(mitigations, &files, "mitigated: a, d; vulnerable: c");
    check(mitigations, &files[1..2], "none");
}

fn of_cgroups(
    read: fn(&Root, &Cgroups) -> Reading<String>,
    mounts: &'static str,
) -> impl Fn(&[(&str, &str)], &str) {
    move |files, expected| {
        let mut all = vec![("/proc/self/mountinfo", mounts), ("/proc/self/cgroup", CGROUP)];
        all.extend_from_slice(files);
        let dir = fake(&all);
        let root = Root::new(dir.path());
        let cgroups = Cgroups::read(&root).value().unwrap().clone();
        let got = read(&root, &cgroups);
        let shown = got.value().map_or(got.reason(), String::as_str);
        assert_eq!(shown, expected, "of {files:?}");
    }
}

const CGROUP: &str = "3:cpu,cpuset:/c/d\n0::/a/b\n";
const V2: &str = "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n";
const V1: &str =
    "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n31 23 0:27 / /old rw - cgroup x rw,cpu,cpuset\n";

#[test]
fn cpu_share_of_cgroups() {
    let v2 = of_cgroups(cgroup_cpu_max, V2);
    v2(&[("/cg/a/b/cpu.max", "max 100000\n")], "none");
    v2(
        &[("/cg/a/b/cpu.max", "300000 100000\n"), ("/cg/a/cpu.max", "75000 50000\n")],
        "1.5 CPUs (75000 of 50000 us in /cg/a)",
    );
    let v1 = of_cgroups(cgroup_cpu_max, V1);
    let period = ("/old/c/cpu.cfs_period_us", "100000\n");
    v1(&[("/old/c/cpu.cfs_quota_us", "-1\n"), period], "none");
    let limit = "0.5 CPUs (50000 of 100000 us in /old/c)";
    v1(&[("/old/c/cpu.cfs_quota_us", "50000\n"), period], limit);
    let none = of_cgroups(cgroup_cpu_max, "");
    none(&[], "no cgroup file system with the controller cpu is mounted");
}

#[test]
fn cpuset_and_path_of_cgroups() {
    of_cgroups(cgroup, V2)(&[], "v2 /a/b");
    of_cgroups(cgroup, V1)(&[], "v1 /c/d");
    let v2 = of_cgroups(cgroup_cpuset, V2);
    v2(&[("/cg/cpuset.cpus.effective", "0-7\n"), ("/cg/a/b/cpuset.cpus", "\n")], "0-7");
    v2(&[("/cg/cpuset.cpus.effective", "0-7\n"), ("/cg/a/cpuset.cpus.effective", "2-3")], "2-3");
    v2(&[], "no cgroup above us has a cpuset");
    of_cgroups(cgroup_cpuset, V1)(&[("/old/c/d/cpuset.cpus", "1\n")], "1");
}
