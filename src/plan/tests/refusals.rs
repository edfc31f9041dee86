//! What a host lacks.

use super::*;
use crate::base::{Reading, unit};
use crate::host::{CgroupLimit, Limit, SystemLimit};

fn refused(text: &str, host: &Host) -> Vec<String> {
    match Plan::new(&profile(text), host, &Overrides::default()) {
        Err(PlanError::Host(refusals)) => refusals.iter().map(ToString::to_string).collect(),
        Err(PlanError::Faults(faults)) => panic!("{faults}"),
        Ok(_) => Vec::new(),
    }
}

fn team(keys: &str) -> String {
    format!("about = 'x'\n[team.w]\n{keys}\nsteps = [ {{ spin = '1us' }} ]")
}

#[test]
fn places_that_are_not_there() {
    let mut host = host(TWO_NODES);
    host.allowed = "0-1,4".parse().unwrap();
    let check = |keys: &str, expected: &[&str]| {
        assert_eq!(refused(&team(keys), &host), expected, "for {keys}");
    };
    check("size = 1\non = 'node:0'", &[]);
    check(
        "size = 1\non = 'node:1'",
        &["team `w` is to run on node 1, and 1 node can be used here (0); ask for another, or \
             start with a wider CPU mask"],
    );
    check(
        "size = 1\non = 'llc:2'",
        &["team `w` is to run on llc 2, and 2 llcs can be used here (0 to 1); ask for another, \
             or start with a wider CPU mask"],
    );
    check(
        "size = 4\non = 'core:me'",
        &["team `w` is to run on core 2, and 2 cores can be used here (0 to 1); ask for \
             another, or start with a wider CPU mask"],
    );
    check(
        "size = 1\non = 'cpus:2'",
        &["team `w` is to run on cpu 2, which is not allowed here; allowed: 0-1,4; start with \
             a wider CPU mask (`taskset -c`)"],
    );
    check(
        "size = 1\non = 'cpus:0-1,14-17'",
        &[
            "team `w` is to run on cpus 14-15, which are not allowed here; allowed: 0-1,4; start \
             with a wider CPU mask (`taskset -c`)",
            "team `w` is to run on cpus 16-17, which are offline or not there (online: 0-15); \
             allowed: 0-1,4; ask for others",
        ],
    );
    host.allowed = "".parse().unwrap();
    assert_eq!(
        refused(&team("size = 1"), &host),
        ["no online CPU is allowed here; allowed: ``; start with a wider CPU mask"]
    );
}

#[test]
fn rights() {
    let mut host = host("core:2 pu:1");
    host.limits.rt_priority = Some(Limit { soft: 0, hard: 0 });
    host.limits.nice = Some(Limit { soft: 0, hard: 0 });
    host.kernel_release = Reading::Value("6.1.0-18-amd64".to_owned());
    let wanting = [
        (
            "policy = 'fifo'\npriority = 5",
            "team `w` needs real-time priority 5, and RLIMIT_RTPRIO is 0; raise it with `ulimit \
             -r 5`, or run it as root, or with CAP_SYS_NICE",
        ),
        (
            "nice = -5",
            "team `w` needs nice -5, and RLIMIT_NICE is 0, where it takes 25; raise it with \
             `ulimit -e 25`, or run it as root, or with CAP_SYS_NICE",
        ),
        (
            "policy = 'deadline'\ndeadline = { runtime = '1ms', period = '10ms' }",
            "team `w` needs policy deadline, and CAP_SYS_NICE is not held; run it as root, or \
             with CAP_SYS_NICE",
        ),
        (
            "slice = '1ms'",
            "team `w` needs a slice of its own, which Linux has since 6.12, and this is \
             6.1.0-18-amd64; leave out `slice`",
        ),
    ];
    for (keys, expected) in wanting {
        assert_eq!(refused(&team(&format!("size = 1\n{keys}")), &host), [expected], "for {keys}");
    }
    assert_eq!(refused(&team("size = 1\nnice = 5"), &host), [""; 0]);
    host.limits.can_set_nice = true;
    host.kernel_release = Reading::Value("6.12".to_owned());
    for (keys, _) in wanting {
        assert_eq!(refused(&team(&format!("size = 1\n{keys}")), &host), [""; 0], "for {keys}");
    }
}

/// A hundred copies of ten tasks, each with a pipe.
fn a_thousand(form: &str) -> String {
    format!(
        "about = 'x'\ncopies = 100\n[channel.c]\nkind = 'pipe'\ncount = 10\n\
         [team.w]\nsize = 10\nas = '{form}'\n\
         steps = [ {{ send = 'c[me]' }}, {{ receive = 'c[me]' }} ]"
    )
}

/// What these are refused on a machine so changed.
fn check_limits(form: &str, change: fn(&mut Host), expected: &[&str]) {
    let mut host = host("core:2 pu:1");
    change(&mut host);
    assert_eq!(refused(&a_thousand(form), &host), expected);
}

#[test]
fn limits_of_files_and_tasks() {
    let check = check_limits;
    let open_files = |host: &mut Host| {
        host.limits.open_files = Some(Limit { soft: 20, hard: 256 });
    };
    check(
        "threads",
        open_files,
        &["RLIMIT_NOFILE allows 256 open files, and this plan needs 2032; raise it as root \
             with `ulimit -n 2032`, or by LimitNOFILE=2032"],
    );
    // A leader has the channels of one copy open at a time.
    check("processes", open_files, &[]);
    fn file_bytes(soft: u64) -> Option<Limit> {
        Some(Limit { soft, hard: u64::MAX })
    }
    check("threads", |host| host.limits.file_bytes = file_bytes(1 << 30), &[]);
    check("threads", |host| host.limits.file_bytes = file_bytes(u64::MAX), &[]);
    let mut host = host("core:2 pu:1");
    host.limits.file_bytes = file_bytes(512);
    let [refusal] = &refused(&a_thousand("threads"), &host)[..] else { panic!("one refusal") };
    let words = "RLIMIT_FSIZE allows 512 B shared memory, and this plan needs ";
    assert!(refusal.starts_with(words) && refusal.ends_with("`ulimit -f unlimited`"), "{refusal}");
    check("threads", |host| host.limits.user_tasks = Some(Limit { soft: 500, hard: 9999 }), &[]);
    check(
        "threads",
        |host| {
            host.limits.user_tasks = Some(Limit { soft: 500, hard: 9999 });
            host.limits.user_tasks_enforced = true;
        },
        &["RLIMIT_NPROC allows 500 tasks, and this plan needs 1002; it is 500; raise it with \
             `ulimit -u 1002`"],
    );
    check(
        "threads",
        |host| {
            host.limits.user_tasks = Some(Limit { soft: 1100, hard: 9999 });
            host.limits.user_tasks_enforced = true;
            host.limits.user_tasks_used = Some(99);
        },
        &["RLIMIT_NPROC leaves 1001 tasks, and this plan needs 1002; it is 1100; raise it with \
             `ulimit -u 1101`"],
    );
    check(
        "threads",
        |host| {
            let file = "/sys/fs/cgroup/a/pids.max".to_owned();
            host.limits.cgroup_tasks = Some(CgroupLimit { file, max: 1500, used: 700 });
        },
        &["/sys/fs/cgroup/a/pids.max leaves 800 tasks, and this plan needs 1002; raise it as \
             root: `echo 1702 > /sys/fs/cgroup/a/pids.max`"],
    );
    check(
        "threads",
        |host| {
            let file = "/proc/sys/kernel/threads-max".to_owned();
            host.limits.system_tasks = Some(SystemLimit { file, max: 900 });
        },
        &["/proc/sys/kernel/threads-max allows 900 tasks, and this plan needs 1002; raise it \
             as root: `echo 2004 > /proc/sys/kernel/threads-max`"],
    );
}

#[test]
fn siblings_can_be_unequal() {
    let text = "about = 'x'\ninstances = 3\n\
                cgroup = { weight = '100 * (instance + 1)', max = '(instance + 1) / 2' }\n\
                [team.w]\nsize = 1\nsteps = [ { spin = '1us' } ]";
    let plan = planned(text, &host("core:2 pu:1"));
    let of: Vec<_> = plan.cgroups.iter().map(|it| (it.weight, it.quota_ns)).collect();
    let ms = |n: u64| Some(n * 1_000_000);
    assert_eq!(of, [(Some(100), ms(50)), (Some(200), ms(100)), (Some(300), ms(150))]);
}

#[test]
fn a_cgroup_of_weight_0_is_none() {
    let text = |weight: &str| {
        format!(
            "about = 'x'\ninstances = 2\ncgroup = {{ weight = '{weight}', max = 1 }}\n\
             [team.w]\nsize = 1\nsteps = [ {{ spin = '1us' }} ]"
        )
    };
    let check = |weight: &str, expected: usize| {
        let plan = planned(&text(weight), &host("core:2 pu:1"));
        assert_eq!(plan.cgroups.len(), expected, "{weight}");
    };
    check("0", 0);
    check("0 * instance", 0);
    check("instance + 1", 2);
    let mixed = Plan::new(&profile(&text("instance")), &host("core:2 pu:1"), &Overrides::default());
    let expected = "the cgroup's weight is 0 for some instances, which is no cgroup; make it 0 for \
                    all, or for none";
    assert_eq!(faults(mixed.unwrap_err()), [expected]);
}

#[test]
fn nodes_are_asked_of_those_who_need_several() {
    // As hwloc has it where /sys is missing.
    let host = host("pack:1 [numa(memory=0)] core:2 pu:1");
    assert_eq!(refused(&team("size = 1"), &host), [""; 0]);
    let two = refused(&format!("nodes = 2\n{}", team("size = 1")), &host);
    assert!(two[0].contains("lets us use 0 NUMA nodes with memory"), "{two:?}");
}

#[test]
fn cgroups_that_cannot_be_made() {
    let text = "about = 'x'\ninstances = 1\ncgroup = { weight = 50 }\n[team.w]\nsize = 1\n\
                steps = [ { spin = '1us' } ]";
    let check = |change: fn(&mut Host), expected: &[&str]| {
        let mut host = host("core:2 pu:1");
        host.made_up = None;
        change(&mut host);
        let refused = refused(text, &host);
        assert_eq!(refused.len(), expected.len().min(1), "{refused:?}");
        for words in expected {
            assert!(refused[0].contains(words), "{refused:?}");
        }
    };
    let delegated = |host: &mut Host| host.limits.cgroup_v2 = Some("/sys/fs/cgroup/a".to_owned());
    check(delegated, &[]);
    check(|_| {}, &["no file system of cgroups v2"]);
    check(
        |host| {
            host.limits.cgroup_v2 = Some("/sys/fs/cgroup/a".to_owned());
            host.limits.cgroup_v2_barred = Some("no permission: it is not ours".to_owned());
        },
        &["no permission: it is not ours", "Delegate=yes"],
    );
    check(
        |host| {
            host.limits.cgroup_v2 = Some("/sys/fs/cgroup/a".to_owned());
            host.limits.cgroup_v2_controllers = Some(vec!["cpuset".to_owned()]);
        },
        &["`weight` of the cgroup of an instance needs the controller cpu", "has cpuset"],
    );
}

#[test]
fn limits_of_memory() {
    let check = check_limits;
    check(
        "threads",
        |host| host.limits.max_map_count = Some(2000),
        &["vm.max_map_count allows 2000 mappings, and this plan needs 2512; raise it as root: \
             `sysctl -w vm.max_map_count=2512`"],
    );
    check("processes", |host| host.limits.max_map_count = Some(2000), &[]);
    // How much it is exactly is the layout's to say; most of it are stacks and page tables.
    let need = |form: &str, task_kib: u64| {
        let need = planned(&a_thousand(form), &host("core:2 pu:1")).needs.memory_bytes;
        let of_tasks = 1000 * (task_kib << 10);
        assert!((of_tasks..of_tasks * 5 / 4).contains(&need), "{form}: {need}");
        need
    };
    let shown = |need: u64| unit::bytes(need as f64);
    let words = format!(
        "MemAvailable in /proc/meminfo leaves 1.00 MiB memory, and this plan needs {}; ask for \
         fewer tasks or smaller messages",
        shown(need("threads", 40))
    );
    check("threads", |host| host.limits.memory_available_bytes = Some(1 << 20), &[&words]);
    let need = need("processes", 300);
    let words = format!(
        "/sys/fs/cgroup/a/memory.max leaves 4.00 MiB memory, and this plan needs {}; raise it as \
         root: `echo {} > /sys/fs/cgroup/a/memory.max`",
        shown(need),
        need + (60 << 20)
    );
    check(
        "processes",
        |host| {
            let file = "/sys/fs/cgroup/a/memory.max".to_owned();
            let (max, used) = (64 << 20, 60 << 20);
            host.limits.cgroup_memory = Some(CgroupLimit { file, max, used });
        },
        &[&words],
    );
}

#[test]
fn a_soft_limit_is_raised_and_said() {
    let mut host = host("core:2 pu:1");
    host.limits.open_files = Some(Limit { soft: 32, hard: 4096 });
    let text = "about = 'x'\n[channel.c]\nkind = 'pipe'\n[team.w]\nsize = 1\n\
                steps = [ { send = 'c' }, { receive = 'c' } ]";
    let plan = planned(text, &host);
    assert_eq!(plan.notes, ["the limit of open files (RLIMIT_NOFILE) is raised from 32 to 34"]);
    assert_eq!(plan.needs.limits[0].max, 4096);
}
