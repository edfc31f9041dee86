//! What a host lacks.

use super::*;
use crate::base::Reading;
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
    check("size = 1\non = 'node:1'", &[""]);
    check("size = 1\non = 'llc:2'", &[""]);
    check("size = 4\non = 'core:me'", &[""]);
    check("size = 1\non = 'cpus:2'", &[""]);
    check("size = 1\non = 'cpus:0-1,14-17'", &["", ""]);
    host.allowed = "".parse().unwrap();
    assert_eq!(refused(&team("size = 1"), &host), [""]);
}

#[test]
fn rights() {
    let mut host = host("core:2");
    host.limits.rt_priority = Some(Limit { soft: 0, hard: 0 });
    host.limits.nice = Some(Limit { soft: 0, hard: 0 });
    host.kernel_release = Reading::Value("6.1.0-18-amd64".to_owned());
    let wanting = [
        ("policy = 'fifo'\npriority = 5", ""),
        ("nice = -5", ""),
        (
            "policy = 'deadline'\ndeadline = { runtime = '1ms', period = '10ms' }",
            "",
        ),
        ("slice = '1ms'", ""),
    ];
    for (keys, expected) in wanting {
        assert_eq!(
            refused(&team(&format!("size = 1\n{keys}")), &host),
            [expected],
            "for {keys}"
        );
    }
    assert_eq!(refused(&team("size = 1\nnice = 5"), &host), [""; 0]);
    host.limits.can_set_nice = true;
    host.kernel_release = Reading::Value("6.12".to_owned());
    for (keys, _) in wanting {
        assert_eq!(
            refused(&team(&format!("size = 1\n{keys}")), &host),
            [""; 0],
            "for {keys}"
        );
    }
}

#[test]
fn limits() {
    let channel = "copies = 100\n[channel.c]\nkind = 'pipe'\ncount = 10";
    let check = |form: &str, change: fn(&mut Host), expected: &[&str]| {
        let mut host = host("core:2");
        change(&mut host);
        let text = format!(
            "about = 'x'\n{channel}\n[team.w]\nsize = 10\nas = '{form}'\n\
             steps = [ {{ send = 'c[me]' }}, {{ receive = 'c[me]' }} ]"
        );
        assert_eq!(refused(&text, &host), expected);
    };
    let open_files = |host: &mut Host| {
        host.limits.open_files = Some(Limit {
            soft: 20,
            hard: 256,
        });
    };
    check("threads", open_files, &[""]);
    // A leader has the channels of one copy open at a time.
    check("processes", open_files, &[]);
    check(
        "threads",
        |host| {
            host.limits.user_tasks = Some(Limit {
                soft: 500,
                hard: 9999,
            })
        },
        &[],
    );
    check(
        "threads",
        |host| {
            host.limits.user_tasks = Some(Limit {
                soft: 500,
                hard: 9999,
            });
            host.limits.user_tasks_enforced = true;
        },
        &[""],
    );
    check(
        "threads",
        |host| {
            let file = "/sys/fs/cgroup/a/pids.max".to_owned();
            host.limits.cgroup_tasks = Some(CgroupLimit {
                file,
                max: 1500,
                used: 700,
            });
        },
        &[""],
    );
    check(
        "threads",
        |host| {
            let file = "/proc/sys/kernel/threads-max".to_owned();
            host.limits.system_tasks = Some(SystemLimit { file, max: 900 });
        },
        &[""],
    );
    check(
        "threads",
        |host| host.limits.max_map_count = Some(2000),
        &[""],
    );
    check(
        "processes",
        |host| host.limits.max_map_count = Some(2000),
        &[],
    );
    check(
        "threads",
        |host| host.limits.memory_available_bytes = Some(1 << 20),
        &[""],
    );
    check(
        "processes",
        |host| {
            let file = "/sys/fs/cgroup/a/memory.max".to_owned();
            let (max, used) = (64 << 20, 60 << 20);
            host.limits.cgroup_memory = Some(CgroupLimit { file, max, used });
        },
        &[""],
    );
}

#[test]
fn a_soft_limit_is_raised_and_said() {
    let mut host = host("core:2");
    host.limits.open_files = Some(Limit {
        soft: 32,
        hard: 4096,
    });
    let text = "about = 'x'\n[channel.c]\nkind = 'pipe'\n[team.w]\nsize = 1\n\
                steps = [ { send = 'c' }, { receive = 'c' } ]";
    let plan = planned(text, &host);
    assert_eq!(
        plan.notes,
        ["the limit of open files (RLIMIT_NOFILE) is raised from 32 to 34"]
    );
    assert_eq!(plan.needs.limits[0].max, 4096);
}
