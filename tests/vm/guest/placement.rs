//! Runs on machines with nodes: laws, relations, distances of migrations, CPUs that are not used.
//!
//! Must not know: how the product computes relations.

use super::Check;
use super::kernel_files;
use super::program::{self, Run, Started};
use crate::cpulist::{self, List};
use crate::shape::Shape;
use std::process::Command;
use std::time::Duration;

/// Runs whose laws must hold, whatever the machine.
pub const LAWS: &[Check] = &[
    Check { name: "laws::hackbench_processes", body: hackbench_processes },
    Check { name: "laws::hackbench_threads", body: hackbench_threads },
    Check { name: "laws::pingpong_processes", body: pingpong_processes },
    Check { name: "laws::pingpong_threads", body: pingpong_threads },
];

/// What needs two nodes with CPUs.
pub const ACROSS: &[Check] = &[
    Check { name: "nodes::wakeups_across_by_threads", body: wakeups_across_by_threads },
    Check { name: "nodes::wakeups_across_by_processes", body: wakeups_across_by_processes },
    Check { name: "nodes::wakeups_within", body: wakeups_within },
    Check { name: "nodes::migrations_across", body: migrations_across },
];

/// What needs two CPUs of one node that share an LLC.
pub const WITHIN: &[Check] =
    &[Check { name: "nodes::migrations_within_an_llc", body: migrations_within_an_llc }];

/// What needs a node with two LLCs.
pub const BETWEEN_LLCS: &[Check] =
    &[Check { name: "nodes::migrations_between_llcs", body: migrations_between_llcs }];

/// What needs CPUs that are offline or isolated.
pub const UNUSED: &[Check] = &[Check { name: "unused::cpus_out_of_reach", body: out_of_reach }];

pub const ISOLATED: &[Check] =
    &[Check { name: "unused::isolated_cpus_that_are_allowed", body: isolated_but_allowed }];

fn hackbench_processes(shape: &Shape) {
    hackbench(shape, "processes");
}

fn hackbench_threads(shape: &Shape) {
    hackbench(shape, "threads");
}

/// 2 groups of 3 senders that write 20 messages to each of 3 receivers.
fn hackbench(shape: &Shape, kind: &str) {
    let line = format!("schedload run hackbench --as {kind} --groups 2 --fds 3 --loops 20");
    let run = lawful(shape, &line);
    assert_eq!(run.number("messages.received"), 2 * 3 * 3 * 20);
}

fn pingpong_processes(shape: &Shape) {
    pingpong(shape, "processes");
}

fn pingpong_threads(shape: &Shape) {
    pingpong(shape, "threads");
}

fn pingpong(shape: &Shape, kind: &str) {
    let line = format!("schedload run pingpong --as {kind} --pairs 2 --loops 100");
    let run = lawful(shape, &line);
    assert_eq!(run.number("messages.received"), 2 * 2 * 100);
}

fn lawful(shape: &Shape, line: &str) -> Run {
    let run = program::run(line);
    let usable = shape.usable();
    assert!(run.cpus().is_subset(&usable), "ran on {:?} of {usable:?}", run.cpus());
    run
}

fn wakeups_across_by_threads(shape: &Shape) {
    wakeups_across(shape, "threads");
}

fn wakeups_across_by_processes(shape: &Shape) {
    wakeups_across(shape, "processes");
}

fn wakeups_across(shape: &Shape, kind: &str) {
    let run = pair(kind, shape.nodes_in_use()[0], shape.nodes_in_use()[1]);
    let all = run.wakeups("all");
    assert!(all > 0, "nobody was woken");
    assert_eq!(run.wakeups("cross_node"), all);
    assert_eq!(run.number("migrations.by_distance.cross_node"), 0);
}

fn wakeups_within(shape: &Shape) {
    let node = shape.nodes_in_use()[1];
    let run = pair("threads", node, node);
    assert!(run.wakeups("all") > 0, "nobody was woken");
    assert_eq!(run.wakeups("cross_node"), 0);
    let cpus = &shape.cpus_of_nodes()[node];
    assert!(run.cpus().is_subset(cpus), "ran on {:?} of {cpus:?}", run.cpus());
}

/// Two tasks, each on its node, that wake each other in turn.
fn pair(kind: &str, ping_node: usize, pong_node: usize) -> Run {
    let path = program::profile(&format!(
        "[channel.there]\nkind = 'pipe'\n[channel.back]\nkind = 'pipe'\n\
         [team.ping]\nsize = 1\nas = '{kind}'\non = 'node:{ping_node}'\n\
         steps = [ {{ repeat = 200, steps = [ {{ send = 'there' }}, {{ receive = 'back' }} ] }} ]\n\
         [team.pong]\nsize = 1\nas = '{kind}'\non = 'node:{pong_node}'\n\
         steps = [ {{ repeat = 200, steps = [ {{ receive = 'there' }}, {{ send = 'back' }} ] }} ]\n"
    ));
    program::run(&format!("schedload run {path}"))
}

fn migrations_across(shape: &Shape) {
    let nodes = shape.usable_of_nodes();
    let of_node = |idx: usize| *nodes[shape.nodes_in_use()[idx]].first().unwrap();
    migrations(of_node(0), of_node(1), "cross_node");
}

fn migrations_within_an_llc(shape: &Shape) {
    let (a, b) = shape.pair_within_an_llc().expect("two CPUs that share an LLC");
    migrations(a, b, "same_llc");
}

fn migrations_between_llcs(shape: &Shape) {
    let (a, b) = shape.pair_between_llcs().expect("a node with two LLCs");
    migrations(a, b, "same_node");
}

/// A task that may only be on two CPUs is moved between them from outside: whatever else moves it,
/// each of its migrations is of this one distance.
fn migrations(a: u32, b: u32, distance: &str) {
    let path = program::profile(&format!(
        "duration = '4s'\n[team.mover]\nsize = 1\n\
         on = 'cpus:{a},{b}'\nsteps = [ {{ spin = '1ms' }} ]\n"
    ));
    let mut started = Started::new(&format!("schedload run {path}"));
    let pid = started.pid();
    let task = started.until("its task was there", || {
        let named = |id: &u32| {
            let path = format!("/proc/{pid}/task/{id}/comm");
            std::fs::read_to_string(path).is_ok_and(|name| name.starts_with("mover"))
        };
        program::threads(pid).into_iter().find(named)
    });
    for cpu in [b, a].into_iter().cycle() {
        std::thread::sleep(Duration::from_millis(150));
        // A task that has just ended cannot be moved.
        let mask = cpulist::mask(&List::from([cpu]));
        let mut taskset = Command::new("busybox");
        taskset.args(["taskset", "-p", &mask, &task.to_string()]).output().unwrap();
        if !started.is_running() {
            break;
        }
    }
    let run = started.end();
    let total = run.number("migrations.total");
    assert!(total > 0, "the task was not moved");
    assert_eq!(run.number(&format!("migrations.by_distance.{distance}")), total, "{a} and {b}");
    assert_eq!(run.cpus(), List::from([a, b]));
}

/// Seen from outside, while it runs, and by its report.
fn out_of_reach(shape: &Shape) {
    for kind in ["threads", "processes"] {
        let line = format!("schedload run hackbench --as {kind} --groups 3 --fds 2 --duration 2s");
        let mut started = Started::new(&line);
        let mut seen = List::new();
        while started.is_running() {
            seen.extend(program::cpus_of_tasks(&["sender-", "receiver-"]));
            std::thread::sleep(Duration::from_millis(20));
        }
        let run = started.end();
        let usable = shape.usable();
        assert!(!seen.is_empty(), "no task was seen");
        assert!(seen.is_subset(&usable), "{kind} seen on {seen:?}, not only on {usable:?}");
        assert!(run.cpus().is_subset(&usable), "{kind} on {:?}, not {usable:?}", run.cpus());
    }
}

/// With a mask that has them, isolated CPUs are still not used unless a profile pins to them, since
/// they are in no scheduling domain (kernel/sched/topology.c, build_sched_domains, v6.12); our own
/// setting up must not go there either.
fn isolated_but_allowed(shape: &Shape) {
    let mask = cpulist::mask(&shape.online());
    let line = "schedload run hackbench --groups 2 --fds 2 --loops 50";
    let run = program::run(&format!("busybox taskset {mask} {line}"));
    let usable = shape.usable();
    assert!(run.cpus().is_subset(&usable), "ran on {:?} of {usable:?}", run.cpus());
    let isolated = kernel_files::read("/sys/devices/system/cpu/isolated");
    assert_eq!(&shape.online() - &cpulist::parse(&isolated), usable);
}
