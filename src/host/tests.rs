//! Whole machines: a topology and a made-up /proc and /sys.

use super::files::tests::fake;
use super::*;

const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max processes             96365                96366                processes 
Max open files            1024                 unlimited            files     
Max nice priority         0                    40                   
Max realtime priority     0                    99                   
";

const NO_IDS: &str = "0 0 4294967295\n";

fn read(files: &[(&str, &str)], machine: &str) -> Result<Host, HostError> {
    let dir = fake(files);
    Host::read_under(dir.path(), Topology::from_synthetic(machine).unwrap())
}

fn cgroup_limit(file: &str, max: u64, used: u64) -> Option<CgroupLimit> {
    Some(CgroupLimit { file: file.to_owned(), max, used })
}

fn value<'a>(host: &'a Host, key: &str) -> Option<&'a str> {
    host.fact(key).unwrap().value.value().map(String::as_str)
}

/// Two CPUs, one node, version 1 of cgroups beside an empty version 2, root.
#[test]
fn a_small_guest() {
    let files = [
        (
            "/proc/self/status",
            "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-1\n",
        ),
        ("/proc/self/uid_map", NO_IDS),
        ("/proc/self/limits", LIMITS),
        ("/proc/self/cgroup", "8:pids:/\n4:memory:/api/x\n1:cpu:/\n0::/\n"),
        (
            "/proc/self/mountinfo",
            "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
             35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        ),
        ("/sys/fs/cgroup/memory/api/x/memory.limit_in_bytes", "3000\n"),
        ("/sys/fs/cgroup/memory/api/x/memory.usage_in_bytes", "2000\n"),
        (
            "/sys/fs/cgroup/memory/api/x/memory.stat",
            "inactive_file 9\ntotal_inactive_file 500\ntotal_active_file 100\n",
        ),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "5000\n"),
        ("/proc/sys/kernel/osrelease", "6.18.44\n"),
        ("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n"),
        ("/proc/sys/kernel/threads-max", "192730\n"),
        ("/proc/sys/kernel/pid_max", "32768\n"),
        ("/proc/sys/vm/max_map_count", "65530\n"),
        ("/proc/sys/fs/nr_open", "1048576\n"),
        ("/proc/meminfo", "MemTotal: 9 kB\nMemAvailable:   1000 kB\n"),
        ("/proc/sys/kernel/numa_balancing", "0\n"),
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock\n"),
    ];
    let host = read(&files, "core:2 pu:1").unwrap();
    assert_eq!(host.allowed.to_string(), "0-1");
    assert_eq!(host.kernel_release, Reading::Value("6.18.44".to_owned()));
    assert_eq!(value(&host, "numa_balancing"), Some("0"));
    assert_eq!(value(&host, "preempt"), Some("dynamic, mode not readable"));
    assert_eq!(value(&host, "cgroup"), Some("v1 /"));
    assert_eq!(cycle_counter_trusted(&host).value(), None);
    let expected = Limits {
        cgroup_v2: host.limits.cgroup_v2.clone(),
        cgroup_v2_barred: Some(
            "absent: there is no /sys/fs/cgroup/unified/cgroup.controllers".to_owned(),
        ),
        cgroup_v2_controllers: None,
        user_tasks_used: None,
        file_bytes: None,
        open_files: Some(Limit { soft: 1024, hard: u64::MAX }),
        user_tasks: Some(Limit { soft: 96365, hard: 96366 }),
        user_tasks_enforced: false,
        cgroup_tasks: None,
        system_tasks: Some(SystemLimit { file: "/proc/sys/kernel/pid_max".to_owned(), max: 32768 }),
        max_map_count: Some(65530),
        open_files_max: Some(1_048_576),
        memory_available_bytes: Some(1_024_000),
        cgroup_memory: cgroup_limit(
            "/sys/fs/cgroup/memory/api/x/memory.limit_in_bytes",
            3000,
            1400,
        ),
        nodes: vec![NodeLimit { id: NodeId(0), free_bytes: None, allowed: true }],
        rt_priority: Some(Limit { soft: 0, hard: 99 }),
        nice: Some(Limit { soft: 0, hard: 40 }),
        can_set_nice: true,
        can_raise_limits: true,
    };
    assert_eq!(host.limits, expected);
}

/// Two nodes, version 2 with limits in several groups, a user without rights.
#[test]
fn a_server_with_cgroups_v2() {
    let files = [
        (
            "/proc/self/status",
            "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0\nCpus_allowed_list:\t4-19,64\n",
        ),
        ("/proc/self/uid_map", NO_IDS),
        ("/proc/self/cgroup", "0::/user.slice/user-1000.slice/run-1.scope\n"),
        ("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("/sys/fs/cgroup/user.slice/user-1000.slice/run-1.scope/pids.max", "max\n"),
        ("/sys/fs/cgroup/user.slice/user-1000.slice/run-1.scope/pids.current", "3\n"),
        ("/sys/fs/cgroup/user.slice/user-1000.slice/pids.max", "1000\n"),
        ("/sys/fs/cgroup/user.slice/user-1000.slice/pids.current", "100\n"),
        ("/sys/fs/cgroup/user.slice/pids.max", "1200\n"),
        ("/sys/fs/cgroup/user.slice/pids.current", "700\n"),
        ("/sys/fs/cgroup/user.slice/memory.max", "5000\n"),
        ("/sys/fs/cgroup/user.slice/memory.high", "4000\n"),
        ("/sys/fs/cgroup/user.slice/memory.current", "3500\n"),
        (
            "/sys/fs/cgroup/user.slice/memory.stat",
            "anon 7\ninactive_file 1000\nactive_file 200\nslab_reclaimable 30\n",
        ),
        ("/sys/fs/cgroup/user.slice/cpu.max", "800000 100000\n"),
    ];
    let host = read(&files, "pack:2 [numa] l3:2 core:4 pu:2").unwrap();
    assert_eq!(host.allowed.to_string(), "4-19");
    let facts = host.topology.facts(&host.allowed);
    assert_eq!((facts.cpus, facts.nodes, facts.cpus_per_node), (16, 2, 12));
    let limits = &host.limits;
    let tasks = cgroup_limit("/sys/fs/cgroup/user.slice/pids.max", 1200, 700);
    assert_eq!(limits.cgroup_tasks, tasks);
    let memory = cgroup_limit("/sys/fs/cgroup/user.slice/memory.high", 4000, 2270);
    assert_eq!(limits.cgroup_memory, memory);
    assert_eq!((limits.can_set_nice, limits.user_tasks_enforced), (false, true));
    let cpu_max = "8 CPUs (800000 of 100000 us in /sys/fs/cgroup/user.slice)";
    assert_eq!(value(&host, "cgroup_cpu_max"), Some(cpu_max));
}

#[test]
fn memory_of_nodes() {
    let meminfo = |node: u32, free: u32| {
        let path = format!("/sys/devices/system/node/node{node}/meminfo");
        let text = format!(
            "Node {node} MemTotal: 9000 kB\nNode {node} MemFree: {free} kB\nNode {node} \
             Inactive(file): 100 kB\n"
        );
        (path, text)
    };
    let nodes = [meminfo(0, 500), meminfo(1, 0)];
    let check = |status: &str, expected: [(Option<u64>, bool); 3]| {
        let mut files = vec![("/proc/self/status", status)];
        files.extend(nodes.iter().map(|(path, text)| (path.as_str(), text.as_str())));
        let limits = read(&files, "pack:3 [numa] core:1 pu:1").unwrap().limits.nodes;
        let got: Vec<_> = limits.iter().map(|it| (it.free_bytes, it.allowed)).collect();
        assert_eq!(got, expected, "of {status:?}");
        assert_eq!(limits.iter().map(|it| it.id.0).collect::<Vec<_>>(), [0, 1, 2]);
    };
    let bytes = [600, 100].map(|kib| Some(kib * 1024));
    check("Mems_allowed_list:\t0,2\n", [(bytes[0], true), (bytes[1], false), (None, true)]);
    check("", [(bytes[0], true), (bytes[1], true), (None, true)]);
}

#[test]
fn rights() {
    let check = |uid: &str, capabilities: &str, uid_map: &str, expected: [bool; 3]| {
        let status = format!("Uid:\t{uid}\t0\t0\t0\nCapEff:\t{capabilities}\n");
        let files = [("/proc/self/status", status.as_str()), ("/proc/self/uid_map", uid_map)];
        let it = read(&files, "pu:1").unwrap().limits;
        let got = [it.can_set_nice, it.can_raise_limits, it.user_tasks_enforced];
        assert_eq!(got, expected, "user {uid}, {capabilities}, {uid_map:?}");
    };
    check("1000", "0000000000000000", NO_IDS, [false, false, true]);
    check("1000", "0000000000800000", NO_IDS, [true, false, true]);
    check("1000", "0000000001000000", NO_IDS, [false, true, false]);
    check("1000", "0000000000200000", NO_IDS, [false, false, false]);
    check("0", "0000000000000000", NO_IDS, [false, false, false]);
    check("0", "000001ffffffffff", "0 1000 1\n", [false, false, true]);
    check("0", "000001ffffffffff", "", [true, true, false]);
}

#[test]
fn nothing_can_be_read() {
    let host = read(&[], "pack:1 l3:1 core:4 pu:2").unwrap();
    assert_eq!(host.allowed.to_string(), "0-7");
    let nodes = vec![NodeLimit { id: NodeId(0), free_bytes: None, allowed: true }];
    assert_eq!(host.limits, Limits { user_tasks_enforced: true, nodes, ..Limits::default() });
    assert!(host.facts.iter().all(|fact| !fact.value.reason().is_empty()));
    assert_eq!(host.kernel_release.reason(), "there is no /proc/sys/kernel/osrelease");
    assert_eq!(cycle_counter_trusted(&host).value(), None);
}

#[test]
fn a_mask_of_cpus_that_are_offline() {
    let error = read(&[("/proc/self/status", "Cpus_allowed_list:\t8-9\n")], "pu:8").unwrap_err();
    let expected = "none of the CPUs that this process may use (8-9) is online (0-7); start it \
                    with another mask (taskset, cpuset)";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn made_up_machines_know_no_kernel() {
    let host = Host::made_up(Topology::from_synthetic("pu:2").unwrap(), "synthetic pu:2");
    assert_eq!((host.allowed.to_string().as_str(), &host.limits), ("0-1", &Limits::default()));
    let reason = "synthetic pu:2 is a made-up machine";
    assert!(host.facts.iter().all(|fact| fact.value.reason() == reason));
    assert_eq!(cycle_counter_trusted(&host).reason(), reason);
}

#[test]
fn this_machine_is_read_whole() {
    let host = Host::read().unwrap();
    assert!(host.kernel_release.value().is_some());
    assert_eq!(host.allowed.without(&host.topology.online()).to_string(), "");
    let copy: Host = serde_json::from_str(&serde_json::to_string(&host).unwrap()).unwrap();
    assert_eq!(copy, host);
}
