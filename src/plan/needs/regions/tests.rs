//! Regions on machines whose nodes have this much free.

use super::*;
use crate::host::{CgroupLimit, Host, Topology};
use crate::plan::Sharing;
use crate::plan::{HugePages, Overrides};
use crate::profile::{Profile, Source};

fn region(name: &str, mib: u64, first_touch: FirstTouch, policy: MemoryPolicy) -> MemoryPlan {
    MemoryPlan {
        name: name.to_owned(),
        slice_bytes: mib * MIB,
        count: 1,
        first_touch,
        policies: vec![policy],
        huge: HugePages::Leave,
        sharing: Sharing::Process,
    }
}

fn bound(mib: u64, nodes: &[u32]) -> MemoryPlan {
    let nodes = nodes.iter().copied().map(NodeId).collect();
    region("a", mib, FirstTouch::Owner, MemoryPolicy::Bind(nodes))
}

fn touched(mib: u64, nodes: &[u32]) -> MemoryPlan {
    let nodes = FirstTouch::Nodes(nodes.iter().copied().map(NodeId).collect());
    region("b", mib, nodes, MemoryPolicy::Default)
}

fn anywhere(mib: u64) -> MemoryPlan {
    region("c", mib, FirstTouch::Main, MemoryPolicy::Default)
}

fn times(count: u32, region: MemoryPlan) -> MemoryPlan {
    MemoryPlan { count, ..region }
}

/// Three nodes, of which the last has no memory.
fn host() -> Host {
    let machine = "pack:3 [numa] core:1 pu:1";
    let mut topology = Topology::from_synthetic(machine).unwrap();
    topology.nodes[2].memory_bytes = Some(0);
    Host::made_up(topology, "made up")
}

fn plan(host: &Host, memory: Vec<MemoryPlan>) -> Plan {
    let text = "about = 'x'\n[team.w]\nsize = 1\nsteps = [ { spin = '1us' } ]";
    let source = Source { path: "test.toml".to_owned(), text: text.to_owned() };
    let profile = Profile::parse("test", source).unwrap_or_else(|faults| panic!("{faults}"));
    let plan = Plan::new(&profile, host, &Overrides::default());
    Plan { memory, instances: 2, ..plan.unwrap_or_else(|why| panic!("{why}")) }
}

/// All refusals of the limits for a plan with these regions in two instances.
fn refused(host: &Host, memory: Vec<MemoryPlan>) -> Vec<String> {
    let mut plan = plan(host, memory);
    plan.needs = super::super::of(&plan);
    let mut refusals = Vec::new();
    super::super::check(&mut plan, host, &mut refusals);
    refusals.iter().map(ToString::to_string).collect()
}

/// On nodes with 1000 and 500 MiB free.
fn with_free() -> Host {
    let mut host = host();
    let limit = |(id, free): (u32, Option<u64>)| NodeLimit {
        id: NodeId(id),
        free_bytes: free.map(|mib| mib * MIB),
        allowed: true,
    };
    host.limits.nodes = [(0, Some(1000)), (1, Some(500)), (2, None)].map(limit).to_vec();
    host
}

#[test]
fn nodes_that_cannot_be_used() {
    let mut host = with_free();
    host.limits.nodes[1].allowed = false;
    let check = |memory: MemoryPlan, expected: &[&str]| {
        assert_eq!(refused(&host, vec![memory.clone()]), expected, "for {memory:?}");
    };
    let absent = "which is not there; nodes: 0-2; ask for another";
    let empty = "which has no memory; nodes with memory: 0-1; ask for another";
    let forbidden = "where the cpuset allows no memory; allowed (Mems_allowed_list of \
                     /proc/self/status): 0,2; ask for another, or start in a cgroup with this \
                     node in cpuset.mems";
    let on = |name: &str, node: u32, why: &str| {
        format!("region `{name}` is to be on node {node}, {why}")
    };
    check(bound(1, &[0]), &[]);
    check(bound(1, &[3]), &[&on("a", 3, absent)]);
    check(bound(1, &[2, 1]), &[&on("a", 1, forbidden), &on("a", 2, empty)]);
    check(touched(1, &[0, 2]), &[&on("b", 2, empty)]);
    let preferred = MemoryPolicy::Preferred(NodeId(1));
    check(region("p", 1, FirstTouch::Owner, preferred), &[&on("p", 1, forbidden)]);
    let interleaved = MemoryPolicy::Interleave(vec![NodeId(0), NodeId(9)]);
    check(region("i", 1, FirstTouch::Owner, interleaved), &[&on("i", 9, absent)]);
    // Larger than what is free: that the node is closed says it all.
    check(bound(5000, &[1]), &[&on("a", 1, forbidden)]);
    check(anywhere(5000), &[]);
}

#[test]
fn more_than_nodes_have_free() {
    let host = with_free();
    let check = |memory: &[MemoryPlan], expected: &[&str]| {
        assert_eq!(refused(&host, memory.to_vec()), expected, "for {memory:?}");
    };
    let files = "free or reclaimable (/sys/devices/system/node/node*/meminfo), and this plan puts";
    let help = "ask for smaller regions or other nodes";
    let one = |node: u32, free: &str, bytes: &str, need: &str| {
        format!(
            "node {node} has {free} {files} {bytes} on it and leaves 5 % of that to the kernel, \
             {need} in all; {help}"
        )
    };
    // Two instances of 475 MiB are 950 MiB, and with 5 % more 997.5 MiB.
    check(&[bound(475, &[0])], &[]);
    check(&[bound(477, &[0])], &[&one(0, "1000 MiB", "954 MiB", "1002 MiB")]);
    check(&[touched(300, &[1])], &[&one(1, "500 MiB", "600 MiB", "630 MiB")]);
    check(&[bound(230, &[1]), touched(20, &[1])], &[&one(1, "500 MiB", "500 MiB", "525 MiB")]);
    check(&[bound(230, &[1]), touched(20, &[0])], &[]);
    // Shared by the instances, so there once.
    let shared = MemoryPlan { sharing: Sharing::All, ..bound(475, &[1]) };
    check(&[shared], &[]);
    // Each instance: one slice on node 0, one on node 1, one on node 0.
    check(&[times(3, touched(238, &[0, 1, 0, 0, 1, 0]))], &[]);
    let both = [one(0, "1000 MiB", "960 MiB", "1008 MiB"), one(1, "500 MiB", "480 MiB", "504 MiB")];
    check(&[times(3, touched(240, &[0, 1, 0, 0, 1, 0]))], &[&both[0], &both[1]]);
    // The instances on different nodes: what each has is on its own.
    check(&[touched(470, &[0, 1])], &[]);
    check(&[touched(480, &[0, 1])], &[&one(1, "500 MiB", "480 MiB", "504 MiB")]);
    // A policy that binds decides, whoever touches.
    let by_policy = MemoryPolicy::Bind(vec![NodeId(0)]);
    check(&[region("q", 470, FirstTouch::Nodes(vec![NodeId(1)]), by_policy)], &[]);
    // Nobody says where it goes.
    check(&[anywhere(5000)], &[]);
    let preferred = MemoryPolicy::Preferred(NodeId(1));
    check(&[region("p", 5000, FirstTouch::Owner, preferred)], &[]);
}

#[test]
fn more_than_a_set_of_nodes_has_free() {
    let host = with_free();
    let check = |memory: &[MemoryPlan], expected: &[&str]| {
        assert_eq!(refused(&host, memory.to_vec()), expected, "for {memory:?}");
    };
    // 1400 MiB fit both nodes only as long as nothing else is on either.
    check(&[bound(700, &[0, 1])], &[]);
    let expected = "nodes 0-1 have 1500 MiB free or reclaimable \
                    (/sys/devices/system/node/node*/meminfo), and this plan puts 1600 MiB on them \
                    and leaves 5 % of that to the kernel, 1680 MiB in all; ask for smaller \
                    regions or other nodes";
    check(&[bound(700, &[1, 0]), bound(100, &[0])], &[expected]);
}

#[test]
fn what_is_free_need_not_be_known() {
    let mut host = with_free();
    host.limits.nodes[0].free_bytes = None;
    assert_eq!(refused(&host, vec![bound(5000, &[0]), bound(5000, &[0, 1])]), [""; 0]);
    host.limits.nodes.clear();
    assert_eq!(refused(&host, vec![bound(5000, &[1])]), [""; 0]);
}

#[test]
fn more_than_the_machine_or_the_cgroup_has() {
    let check = |change: fn(&mut Host), memory: Vec<MemoryPlan>, expected: &[&str]| {
        let mut host = host();
        change(&mut host);
        assert_eq!(refused(&host, memory.clone()), expected, "for {memory:?}");
    };
    let available = |host: &mut Host| host.limits.memory_available_bytes = Some(1000 * MIB);
    check(available, vec![anywhere(400)], &[]);
    check(
        available,
        vec![anywhere(400), MemoryPlan { sharing: Sharing::All, ..anywhere(200) }],
        &["MemAvailable in /proc/meminfo leaves 0.98 GiB memory, and this plan needs 1.03 GiB; \
           ask for fewer tasks or smaller regions (the regions are 0.98 GiB, and 50.0 MiB more \
           is left to the kernel)"],
    );
    let cgroup = |host: &mut Host| {
        let file = "/sys/fs/cgroup/a/memory.max".to_owned();
        host.limits.cgroup_memory = Some(CgroupLimit { file, max: 900 * MIB, used: 100 * MIB });
    };
    check(cgroup, vec![anywhere(300)], &[]);
    let mut host = host();
    cgroup(&mut host);
    let got = refused(&host, vec![anywhere(400)]);
    let [message] = &got[..] else { panic!("{got:?}") };
    let (start, end) = (
        "/sys/fs/cgroup/a/memory.max leaves 800 MiB memory, and this plan needs 84",
        "(the regions are 800 MiB, and 40.0 MiB more is left to the kernel)",
    );
    assert!(message.starts_with(start) && message.ends_with(end), "{message}");
}

#[test]
fn numbers_that_differ_look_different() {
    let mut host = host();
    let memory = vec![anywhere(400)];
    let need = super::super::of(&plan(&host, memory.clone())).memory_bytes + spare(800 * MIB);
    host.limits.memory_available_bytes = Some(need);
    assert_eq!(refused(&host, memory.clone()), [""; 0]);
    host.limits.memory_available_bytes = Some(need - 1);
    let got = refused(&host, memory);
    let expected = format!("leaves {} B memory, and this plan needs {need} B;", need - 1);
    assert!(got.len() == 1 && got[0].contains(&expected), "{got:?}");
}

#[test]
fn sums_do_not_wrap() {
    let host = with_free();
    let huge = times(u32::MAX, bound(1 << 43, &[0]));
    let plan = plan(&host, vec![huge.clone(), huge]);
    assert_eq!(bytes(&plan), u64::MAX);
}

#[test]
fn mappings_of_slices() {
    let host = host();
    let of = |memory: Vec<MemoryPlan>| mappings(&plan(&host, memory));
    let two = MemoryPlan { policies: vec![MemoryPolicy::Default; 8], ..times(8, anywhere(1)) };
    assert_eq!(of(vec![]), 0);
    assert_eq!(of(vec![times(8, anywhere(1))]), 2);
    assert_eq!(of(vec![times(8, touched(1, &[0, 1])), two]), 18);
}
