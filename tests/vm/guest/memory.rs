//! Where memory is: the harness's own, which must be bound and must cost no hint faults.
//!
//! NUMA balancing passes over memory with an explicit policy (kernel/sched/fair.c, task_numa_work,
//! v6.12), and over shared memory even without one (mm/mempolicy.c, vma_policy_mof: what
//! shmem_get_policy does not know is not scanned): so that it is bound is a check of its own.
//! Must not know: how the harness lays its memory out.

use super::Check;
use super::kernel_files::{self, Knob, Vmstat};
use super::numa_maps::{self, Mapping};
use super::program::{self, Started};
use super::trace::PageFaults;
use crate::cpulist;
use crate::shape::Shape;
use std::ops::Range;
use std::time::Duration;

pub const CHECKS: &[Check] = &[
    Check { name: "memory::harness_is_bound_to_nodes", body: harness_is_bound },
    Check { name: "memory::harness_has_no_hint_faults", body: harness_has_no_hint_faults },
    Check { name: "memory::no_hint_faults_when_off", body: no_hint_faults_when_off },
];

/// The harness's mapping, by the name of its memfd.
const HARNESS: &str = "/memfd:schedload";

/// A pair of threads on two nodes that send each other messages for so long.
fn start_pair(shape: &Shape, duration: &str) -> Started {
    let nodes = shape.nodes_in_use();
    let (first, second) = (nodes[0], nodes[1]);
    let path = program::profile(&format!(
        "duration = '{duration}'\n\
         [channel.there]\nkind = 'pipe'\n[channel.back]\nkind = 'pipe'\n\
         [team.ping]\nsize = 1\non = 'node:{first}'\n\
         steps = [ {{ send = 'there' }}, {{ receive = 'back' }}, {{ spin = '200us' }} ]\n\
         [team.pong]\nsize = 1\non = 'node:{second}'\n\
         steps = [ {{ receive = 'there' }}, {{ spin = '200us' }}, {{ send = 'back' }} ]\n"
    ));
    let mut started = Started::new(&format!("schedload run {path}"));
    let pid = started.pid();
    // Once both have been asleep, the gate is open and the harness's memory has been touched.
    started.until("its window opened", || {
        let tasks = program::threads(pid);
        let has_slept = |id: &&u32| {
            let path = format!("/proc/{pid}/task/{id}/status");
            let status = std::fs::read_to_string(path).unwrap_or_default();
            let mut lines = status.lines();
            let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            count.and_then(|n| n.trim().parse::<u64>().ok()).is_some_and(|n| n > 20)
        };
        (tasks.iter().filter(has_slept).count() == 2).then_some(())
    });
    started
}

/// Where the harness's memory of a process is: its parts with a policy of their own.
fn harness_of(pid: u32) -> Vec<Mapping> {
    let ranges = ranges_of(pid, HARNESS);
    let mappings = numa_maps::of_process(pid);
    let part = |range: &Range<u64>| numa_maps::at(&mappings, range.start).cloned();
    ranges.iter().map(|range| part(range).expect("numa_maps has what maps has")).collect()
}

/// Each part is bound, and its pages are on the nodes of its policy; some part is on each node that
/// has CPUs.
fn harness_is_bound(shape: &Shape) {
    let started = start_pair(shape, "2s");
    let harness = harness_of(started.pid());
    let mut nodes_with_pages = cpulist::List::new();
    assert!(!harness.is_empty(), "there is no mapping of {HARNESS}");
    for mapping in &harness {
        let nodes = mapping.policy.strip_prefix("bind:");
        let nodes = cpulist::parse(nodes.unwrap_or_else(|| panic!("not bound: {mapping:?}")));
        let used: cpulist::List = mapping.bytes_by_node.keys().copied().collect();
        assert!(used.is_subset(&nodes), "pages elsewhere: {mapping:?}");
        if nodes.len() == 1 {
            nodes_with_pages.extend(used);
        }
    }
    for node in shape.nodes_in_use() {
        assert!(nodes_with_pages.contains(&(node as u32)), "nothing on node {node}: {harness:?}");
    }
    started.end();
}

/// With balancing on, scans mark what they may move, and each fault on that is a hint fault. The
/// harness's memory was touched before the window, so that any fault there now would be one.
fn harness_has_no_hint_faults(shape: &Shape) {
    let _on = Knob::numa_balancing("1");
    let started = start_pair(shape, "9s");
    let (harness, all) = (ranges_of(started.pid(), HARNESS), ranges_of(started.pid(), ""));
    assert!(!harness.is_empty(), "there is no mapping of {HARNESS}");
    let faults = PageFaults::start();
    let before = Vmstat::read();
    std::thread::sleep(Duration::from_secs(6));
    let now = Vmstat::read();
    let addresses = faults.addresses();
    let (updates, hints) =
        (now.grown(&before, "numa_pte_updates"), now.grown(&before, "numa_hint_faults"));
    started.end();
    assert!(updates > 0 && hints > 0, "nothing was scanned: {updates} marked, {hints} faults");
    assert!(addresses.len() as u64 >= hints, "{} traced of {hints}", addresses.len());
    let within = |ranges: &[Range<u64>]| {
        let is_in = |address: &&u64| ranges.iter().any(|range| range.contains(address));
        addresses.iter().filter(is_in).count()
    };
    assert!(within(&all) > 0, "the run's own stacks had no hint fault: nothing could be seen");
    assert_eq!(within(&harness), 0, "of {hints} hint faults, in the harness");
}

/// Nothing is marked, and nobody in the run has had a hint fault. (The counter of the whole machine
/// may still grow by what was marked before.)
fn no_hint_faults_when_off(shape: &Shape) {
    let _off = Knob::numa_balancing("0");
    let before = Vmstat::read();
    let started = start_pair(shape, "4s");
    let pid = started.pid();
    std::thread::sleep(Duration::from_secs(2));
    let tasks = program::threads(pid);
    assert_eq!(tasks.len(), 2, "two tasks");
    for task in tasks {
        assert_eq!(kernel_files::sched(pid, task, "total_numa_faults"), 0);
        assert_eq!(kernel_files::sched(pid, task, "mm->numa_scan_seq"), 0);
    }
    assert_eq!(Vmstat::read().grown(&before, "numa_pte_updates"), 0);
    started.end();
}

/// The addresses of a process's mappings of a file.
fn ranges_of(pid: u32, file: &str) -> Vec<Range<u64>> {
    let maps = kernel_files::read(&format!("/proc/{pid}/maps"));
    let lines = maps.lines().filter(|line| line.contains(file));
    let number = |text| u64::from_str_radix(text, 16).unwrap();
    lines
        .map(|line| {
            let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
            number(start)..number(end)
        })
        .collect()
}
