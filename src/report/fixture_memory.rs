//! Made-up runs with memory: two processes on two nodes, and trials of who moves.
//!
//! Must not know: what is tested with them.

use crate::base::{CpuId, NodeId, Reading, State};
use crate::plan::{
    Amount, FirstTouch, Form, HugePages, MemoryPlan, MemoryPolicy, Op, Pick, Plan, Scheduling,
    Sharing, Slice, TeamPlan, Use,
};
use crate::profile::expr::Node;
use crate::record::Recording;
use crate::record::recording::{
    Begun, CpuTime, Messages, Migrations, MovedBytes, PerPhase, TaskRecord, TeamRecord,
};
use crate::record::timeline::{
    CgroupRecord, Growth, InstanceSample, Pages, Sample, SpaceRecord, Timeline,
};
use crate::report::{Report, fixture};
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;
/// Pages of a region that are looked at.
const SAMPLED: u32 = 100;

pub(crate) fn region(name: &str, slice_bytes: u64, count: u32) -> MemoryPlan {
    MemoryPlan {
        name: name.to_owned(),
        slice_bytes,
        count,
        first_touch: FirstTouch::Nodes(vec![NodeId(0)]),
        policies: vec![MemoryPolicy::Default],
        huge: HugePages::Leave,
        sharing: Sharing::Process,
    }
}

fn team(name: &str, size: u32, spawned: bool) -> TeamPlan {
    TeamPlan {
        name: name.to_owned(),
        size,
        form: Form::Threads,
        background: false,
        spawned,
        scheduling: Scheduling::default(),
        cpus: Vec::new(),
        start_cpus: Vec::new(),
        ops: vec![
            Op::Loop { count: Amount::Fixed(1), end: 3 },
            sweep(0, Pick::All),
            Op::Again { begin: 0 },
        ],
        measures: Vec::new(),
        receives: false,
        buffer_bytes: 0,
    }
}

fn me() -> Node {
    Node::Name("me".to_owned())
}

fn sweep(region: u32, slice: Pick) -> Op {
    Op::Use(Box::new(Use {
        verb: "sweep".to_owned(),
        at: Slice { region, slice },
        from: None,
        and: None,
        access: "write".to_owned(),
        halo: 0.0,
        part: None,
        count: Amount::Fixed(0),
        skew: None,
    }))
}

/// Two processes of two tasks, each with an area for both and a slice for each.
pub(crate) fn two_instances_plan() -> Plan {
    let mut plan = fixture::plan();
    plan.profile = "numa01".to_owned();
    plan.about = "Two processes whose tasks each write all of the process's memory".to_owned();
    plan.params = vec![("bytes".to_owned(), "1GiB".to_owned())];
    plan.watch = vec!["elapsed_s".to_owned()];
    (plan.instances, plan.copies) = (2, 2);
    plan.own_processes = true;
    plan.channels.clear();
    plan.memory = vec![region("area", 1 << 30, 1), region("own", 32 << 20, 2)];
    let mut sweeper = team("sweeper", 2, false);
    sweeper.ops = vec![sweep(0, Pick::All), sweep(1, Pick::At(Amount::PerMember(me())))];
    plan.teams = vec![sweeper];
    plan
}

/// One task writes an area, starts another that goes over it, and waits.
pub(crate) fn who_moves_plan() -> Plan {
    let mut plan = two_instances_plan();
    plan.profile = "who-moves".to_owned();
    plan.about =
        "A task iterates over memory that another has made: which goes to which?".to_owned();
    plan.params =
        vec![("age".to_owned(), "0s".to_owned()), ("bytes".to_owned(), "256MiB".to_owned())];
    plan.watch = vec!["local_share".to_owned()];
    (plan.instances, plan.copies) = (1, 1);
    plan.memory = vec![region("area", 256 << 20, 1)];
    plan.teams = vec![team("main", 1, false), team("worker", 1, true)];
    plan
}

/// Sampled pages of which so many in a hundred are on node 1.
pub(crate) fn pages(on_1: u32) -> Reading<Pages> {
    Reading::Value(Pages { by_node: vec![SAMPLED - on_1, on_1], ..Pages::default() })
}

/// The same before anybody has touched any.
pub(crate) fn untouched() -> Reading<Pages> {
    Reading::Value(Pages { by_node: vec![0, 0], absent: SAMPLED, ..Pages::default() })
}

/// The same of slices of these tasks, as if each task had its part on both nodes.
pub(crate) fn own(tasks: [u32; 2], on_1: u32) -> Reading<Pages> {
    let n = tasks.iter().sum::<u32>().max(1);
    let own = tasks.map(|at| vec![(SAMPLED - on_1) * at / n, on_1 * at / n]);
    pages(on_1).map(|pages| Pages { own: Some(own.into()), ..pages })
}

pub(crate) fn unknown<T>() -> Reading<T> {
    Reading::absent(State::NoPermission, "move_pages: EPERM, as a seccomp filter may have it")
}

pub(crate) fn seen(tasks: [u32; 2], regions: Vec<Reading<Pages>>) -> InstanceSample {
    InstanceSample { tasks: tasks.to_vec(), regions }
}

/// A look each 200 ms.
pub(crate) fn timeline(looks: Vec<Vec<InstanceSample>>) -> Timeline {
    let samples = looks.into_iter().enumerate();
    Timeline {
        interval_ns: 200 * MS,
        cost_ns: 4 * MS,
        refused: None,
        samples: samples
            .map(|(at, instances)| Sample { at_ns: at as u64 * 200 * MS, instances })
            .collect(),
    }
}

/// By distance.
fn migrated(while_running: [u64; 5]) -> Migrations {
    Migrations { while_running, ..Migrations::default() }
}

fn task(team: usize, copy: u32, index: u32, begun: Begun) -> TaskRecord {
    TaskRecord {
        team,
        copy,
        index,
        messages: Messages { sent: PerPhase::default(), received: PerPhase::default() },
        begun: Some(begun),
        migrations: migrated([0, 1, 4, 0, 3]),
        ready_ns: 0,
        ready_delay_ns: 0,
        blocks: Some([412_000_000, 198_000_000]),
        ..fixture::recording().tasks[0].clone()
    }
}

/// The same task, which moved so many GB in ten seconds, those of `on_1` while on node 1.
fn moving(gb: u64, on_1: u64, task: TaskRecord) -> TaskRecord {
    const GB: u64 = 1_000_000_000;
    let mut moved = task.moved;
    moved[0] = MovedBytes { bytes: gb * GB, ns: 10_000 * MS };
    let on = |(node, gb)| (NodeId(node), [gb * GB, 0, 0, 0, 0]);
    let moved_on = [(0, gb - on_1), (1, on_1)].map(on).into();
    TaskRecord { moved, moved_on, ..task }
}

fn team_record(name: &str, size: u32, residency: &[(u32, u64)]) -> TeamRecord {
    TeamRecord {
        name: name.to_owned(),
        size,
        background: false,
        residency: residency.iter().map(|&(cpu, ms)| (CpuId(cpu), ms * MS)).collect(),
        found_ready_unstamped: 0,
    }
}

fn growths() -> Vec<Growth> {
    let of =
        |(key, value): (&str, u64)| Growth { key: key.to_owned(), value: Reading::Value(value) };
    [
        ("numa_pte_updates", 1_100_000),
        ("numa_hint_faults", 70_000),
        ("numa_hint_faults_local", 52_500),
        ("numa_pages_migrated", 65_536),
    ]
    .map(of)
    .into()
}

fn scanned(passes: u64) -> SpaceRecord {
    SpaceRecord { signal: None, scan_seq: [1, 1 + passes].map(Reading::Value) }
}

/// A cgroup whose memory went to node 1.
fn charged() -> CgroupRecord {
    let anon = |bytes: [u64; 2]| Reading::Value((0..).map(NodeId).zip(bytes).collect());
    let counters = growths().into_iter().filter(|it| it.key != "numa_hint_faults_local");
    CgroupRecord { counters: counters.collect(), anon: [[1 << 30, 0], [0, 1 << 30]].map(anon) }
}

/// One without the memory controller.
fn not_charged() -> CgroupRecord {
    let missing = |file: &str| {
        format!("there is no schedload-7-1/{file}: the controller memory is not enabled for it")
    };
    let none = |file: &str| Reading::absent(State::Absent, missing(file));
    let counters = charged().counters.into_iter();
    CgroupRecord {
        counters: counters.map(|it| Growth { value: none("memory.stat"), ..it }).collect(),
        anon: [(); 2].map(|()| Reading::absent(State::Absent, missing("memory.numa_stat"))),
    }
}

fn without_messages() -> Recording {
    let mut recording = fixture::recording();
    recording.series.clear();
    recording.cpu = Reading::Value(CpuTime { user_ns: 8_500 * MS, sys_ns: 700 * MS });
    recording.vmstat = growths();
    recording
}

/// Both processes' memory begins on node 0; that of the second goes to node 1 with its tasks.
pub(crate) fn two_instances() -> Recording {
    let look = |at: u32| {
        let gone = (at.saturating_sub(10) * 4).min(98);
        let tasks = |home: usize| match at {
            0..8 => [1, 1],
            _ if home == 0 => [2, 0],
            _ => [0, 2],
        };
        let first = seen(tasks(0), vec![pages(0), own(tasks(0), 0)]);
        let own = own(tasks(1), if at < 12 { 0 } else { 100 });
        vec![first, seen(tasks(1), vec![pages(gone), own])]
    };
    let begun = |cpu| Begun { at_ns: MS, cpu: CpuId(cpu) };
    let preferring = |mut task: TaskRecord| {
        task.kernel.preferred_node = Reading::Value(Some(NodeId(task.copy)));
        task.kernel.numa_faults = Reading::Value(9_000);
        let far = [[0, 1, 2, 0, 1], [0, 0, 2, 0, 1], [0; 5], [0, 0, 0, 0, 1]];
        task.migrations = migrated(far[(2 * task.copy + task.index) as usize]);
        task
    };
    Recording {
        elapsed_ns: 12_040 * MS,
        window_ns: 12_000 * MS,
        cpu: Reading::Value(CpuTime { user_ns: 44_000 * MS, sys_ns: 700 * MS }),
        teams: vec![team_record(
            "sweeper",
            4,
            &[(0, 9_000), (1, 12_000), (8, 11_000), (9, 12_000)],
        )],
        instances: vec![vec![(0, 21_000 * MS), (2, 1_000 * MS)], vec![(2, 22_000 * MS)]],
        tasks: [(0, 0, 0, 0), (0, 1, 8, 30), (1, 0, 1, 60), (1, 1, 9, 80)]
            .map(|(copy, index, cpu, gb)| (80 + gb / 4, gb, task(0, copy, index, begun(cpu))))
            .map(|(gb, on_1, task)| preferring(moving(gb, on_1, task)))
            .into(),
        spaces: vec![scanned(7), scanned(6)],
        cgroups: vec![charged(), not_charged()],
        timeline: timeline((0..60).map(look).collect()),
        ..without_messages()
    }
}

/// A trial by the worker's node and the hundredths of the pages on node 1 at each look from the
/// tenth on; before, the other task alone is on node 0, where the memory is.
pub(crate) fn trial(begun_on: u32, looks: &[(usize, u32)]) -> Recording {
    let alone = (0..10).map(|_| vec![seen([1, 0], vec![pages(0)])]);
    let both = looks.iter().map(|&(node, on_1)| {
        let mut tasks = [1, 0];
        tasks[node] += 1;
        vec![seen(tasks, vec![pages(on_1)])]
    });
    let begun = |at_ns, cpu| Begun { at_ns, cpu: CpuId(cpu) };
    Recording {
        elapsed_ns: 12_040 * MS,
        window_ns: 12_000 * MS,
        teams: vec![
            team_record("main", 1, &[(0, 12_000)]),
            team_record("worker", 1, &[(0, 3_000), (8, 7_000)]),
        ],
        instances: vec![vec![(0, 15_000 * MS), (2, 7_000 * MS)]],
        tasks: vec![
            task(0, 0, 0, begun(MS, 0)),
            moving(90, 70, task(1, 0, 0, begun(1_900 * MS, begun_on * 8))),
        ],
        spaces: vec![scanned(9)],
        timeline: timeline(alone.chain(both).collect()),
        ..without_messages()
    }
}

/// The memory goes to the worker, four hundredths each look.
pub(crate) fn memory_moves() -> Recording {
    let looks: Vec<(usize, u32)> = (0..50).map(|at: u32| (1, (at * 4).min(100))).collect();
    trial(1, &looks)
}

/// The worker goes to the memory after two seconds.
pub(crate) fn task_moves() -> Recording {
    let looks: Vec<(usize, u32)> = (0..50).map(|at| (usize::from(at < 10), 2)).collect();
    trial(1, &looks)
}

pub(crate) fn nothing_moves() -> Recording {
    trial(1, &[(1, 0); 50])
}

/// Nothing that could be asked had an answer.
pub(crate) fn all_absent() -> Recording {
    let mut recording = two_instances();
    for sample in &mut recording.timeline.samples {
        for region in sample.instances.iter_mut().flat_map(|it| &mut it.regions) {
            *region = unknown();
        }
    }
    for instance in &mut recording.spaces {
        instance.scan_seq =
            [(); 2].map(|()| Reading::absent(State::Absent, "no line mm->numa_scan_seq"));
    }
    for task in &mut recording.tasks {
        task.kernel.numa_faults = Reading::absent(State::Absent, "no line total_numa_faults");
    }
    for growth in &mut recording.vmstat {
        growth.value = Reading::absent(State::Absent, "no CONFIG_NUMA_BALANCING");
    }
    recording
}

/// The second process is killed in the middle.
pub(crate) fn one_killed() -> Recording {
    let mut recording = two_instances();
    recording.spaces[1].signal = Some(9);
    recording.spaces[1].scan_seq[1] = Reading::absent(State::Absent, "the process is gone");
    for task in &mut recording.tasks[2..] {
        task.checked_out = false;
    }
    for sample in &mut recording.timeline.samples[30..] {
        let gone = Reading::absent(State::Absent, "the process is gone");
        sample.instances[1] = seen([0, 0], vec![gone.clone(), gone]);
    }
    recording
}

/// One report of each sort, by name.
pub(crate) fn reports() -> BTreeMap<&'static str, Report> {
    let judge = |plan: &Plan, recordings: &[Recording]| {
        let mut report = Report::judge(plan, &fixture::host(), recordings);
        report.tool = "schedload 0.0.0".to_owned();
        report
    };
    let (two, who) = (two_instances_plan(), who_moves_plan());
    let local = trial(0, &[(0, 0); 50]);
    let trials = [memory_moves(), memory_moves(), task_moves(), nothing_moves(), local];
    BTreeMap::from([
        ("two_instances", judge(&two, &[two_instances()])),
        ("all_absent", judge(&two, &[all_absent()])),
        ("one_killed", judge(&two, &[one_killed()])),
        ("memory_moved", judge(&who, &[memory_moves()])),
        ("task_moved", judge(&who, &[task_moves()])),
        ("neither_moved", judge(&who, &[nothing_moves()])),
        ("trials", judge(&who, &trials)),
    ])
}
