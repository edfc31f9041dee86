//! Made-up plans, hosts and recordings for the tests of this floor and of those above.
//!
//! Two senders and two receivers on a machine of two nodes, of which half the CPUs are allowed.
//! Must not know: what is tested with them.

use crate::base::{CpuId, NodeId, Place, Random, Reading, Relation, State, bucket};
use crate::host::topology::{Cpu, Llc, Node};
use crate::host::{Fact, Host, Limits, Topology};
use crate::plan::{
    Amount, ChannelPlan, Form, Needs, Op, Pick, Plan, PlanCpu, PlanNode, Scheduling, TeamPlan,
};
use crate::record::Recording;
use crate::record::recording::{
    CpuTime, End, Failure, HarnessCost, KernelCounts, Messages, Migrations, PerPhase, Series,
    SeriesKind, TaskRecord, TeamRecord, Wakeups,
};
use crate::record::timeline::Timeline;
use crate::report::{Report, fixture_sync};
use crate::sys::clock::Source;
use std::collections::BTreeMap;

/// Rounds of each sender; a round is one message to each of the two receivers.
const ROUNDS: u64 = 50_000;

/// 16 CPUs: two siblings to a core, four CPUs to an LLC, eight to a node.
fn place(cpu: u32) -> Place {
    Place { core: cpu / 2, llc: cpu / 4, node: NodeId(cpu / 8) }
}

pub(crate) fn host() -> Host {
    let cpus = |range: std::ops::Range<u32>| range.map(CpuId).collect();
    let fact = |key: &str, value: &str| Fact {
        key: key.to_owned(),
        value: Reading::Value(value.to_owned()),
        from: format!("/made/up/{key}"),
        about: "a test".to_owned(),
    };
    let mut facts = vec![
        fact("clocksource", "tsc"),
        fact("preempt", "voluntary"),
        fact("numa_balancing", "1"),
        fact("thp", "madvise"),
        fact("governor", "performance"),
        fact("smt", "on"),
        fact("hypervisor", "no"),
        fact("scx", "disabled"),
        fact("cgroup_cpu_max", "none"),
        fact("loadavg", "0.08 0.03 0.01"),
    ];
    facts.push(Fact {
        value: Reading::absent(State::NoPermission, "debugfs is for root only"),
        ..fact("sched_features", "")
    });
    Host {
        topology: Topology {
            cpus: (0..16)
                .map(|id| Cpu { id: CpuId(id), package: id / 8, place: place(id) })
                .collect(),
            nodes: (0..2)
                .map(|id| Node {
                    id: NodeId(id),
                    cpus: cpus(id * 8..id * 8 + 8),
                    memory_bytes: Some(32 << 30),
                })
                .collect(),
            llcs: (0..4)
                .map(|id| Llc {
                    cpus: cpus(id * 4..id * 4 + 4),
                    node: NodeId(id / 2),
                    bytes: Some(32 << 20),
                })
                .collect(),
            n_cores: 8,
            n_packages: 2,
            distances: None,
        },
        allowed: "0-3,8-11".parse().unwrap(),
        made_up: Some("a test".to_owned()),
        kernel_release: Reading::Value("6.18.0-test".to_owned()),
        kernel_version: Reading::Value("#1 SMP PREEMPT_DYNAMIC".to_owned()),
        facts,
        limits: Limits::default(),
    }
}

pub(super) fn team(name: &str, ops: Vec<Op>) -> TeamPlan {
    TeamPlan {
        name: name.to_owned(),
        size: 2,
        form: Form::Threads,
        background: false,
        spawned: false,
        scheduling: Scheduling::default(),
        cpus: Vec::new(),
        start_cpus: Vec::new(),
        ops,
        measures: Vec::new(),
        receives: name == "receiver",
        buffer_bytes: 100,
    }
}

pub(crate) fn plan() -> Plan {
    let bytes = 100;
    let repeat = |count, step| {
        let count = Amount::Fixed(count);
        vec![Op::Loop { count, end: 3 }, step, Op::Again { begin: 0 }]
    };
    let send = Op::Send { channel: 0, pick: Pick::All, bytes };
    let receive = Op::Receive { channel: 0, pick: Pick::At(Amount::Fixed(0)), bytes };
    let mut ops = repeat(ROUNDS, send);
    ops.extend([Op::Measure { measure: 0 }, Op::EndMeasure { measure: 0 }]);
    let mut sender = team("sender", ops);
    sender.measures = vec!["round_trip".to_owned()];
    Plan {
        profile: "hackbench".to_owned(),
        about: "Groups of senders that each write to every receiver of their group".to_owned(),
        params: [("groups", "1"), ("fds", "2"), ("loops", "50000"), ("bytes", "100B")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        conditions: Vec::new(),
        ramp: None,
        watch: vec!["messages_per_s".to_owned(), "elapsed_s".to_owned()],
        seed: 1,
        hash: "0123456789abcdef".to_owned(),
        cpus: (0..16)
            .map(|id| PlanCpu { id: CpuId(id), place: place(id), allowed: id % 8 < 4 })
            .collect(),
        nodes: [0, 1]
            .map(|id| PlanNode { id: NodeId(id), has_memory: true, farthest: NodeId(1 - id) })
            .into(),
        instances: 1,
        own_processes: false,
        processes: Vec::new(),
        cgroups: Vec::new(),
        own_cgroup: None,
        copies: 1,
        channels: vec![ChannelPlan {
            name: "inbox".to_owned(),
            kind: "socketpair".to_owned(),
            count: 2,
            bytes,
            wakers: 1,
            wakees: 1,
            across_processes: false,
        }],
        memory: Vec::new(),
        syncs: Vec::new(),
        teams: vec![sender, team("receiver", repeat(2 * ROUNDS, receive))],
        lines: Vec::new(),
        duration_ns: None,
        warmup_ns: 100_000_000,
        needs: Needs::default(),
        notes: Vec::new(),
    }
}

/// `n` values around `typical`, with a tail of one in a hundred.
pub(super) fn series(team: usize, kind: SeriesKind, n: u64, typical: u64) -> Series {
    let mut random = Random::new(typical, n);
    let mut series =
        Series { team, kind, counts: vec![0; bucket::BUCKETS], min: u64::MAX, max: 0, sum: 0 };
    for _ in 0..n {
        let tail = if random.below(100) == 0 { 1 + random.below(40) } else { 1 };
        let value = (typical / 2 + random.below(typical)) * tail;
        series.counts[bucket::index(value)] += 1;
        series.min = series.min.min(value);
        series.max = series.max.max(value);
        series.sum += u128::from(value);
    }
    series
}

fn task(team: usize, index: u32, sent: PerPhase, received: PerPhase) -> TaskRecord {
    TaskRecord {
        team,
        copy: 0,
        index,
        checked_out: true,
        messages: Messages { sent, received },
        woken: Wakeups::default(),
        migrations: Migrations {
            across_sleep: [0, 1_000, 2_050, 0, 155],
            while_running: [0, 6, 80, 0, 2],
            returned_10ms: 1_450,
            returned_100ms: 2_200,
        },
        ready_ns: 0,
        ready_delay_ns: 0,
        blocks: None,
        moved: Default::default(),
        moved_on: Vec::new(),
        begun: None,
        paced: Vec::new(),
        without_origin: 0,
        draws: [0, 0],
        flops: 0,
        kernel: KernelCounts {
            nr_migrations: Reading::Value(9_000),
            voluntary_switches: Reading::Value(41_000),
            involuntary_switches: Reading::Value(1_200),
            run_ns: Reading::Value(2_300_000_000),
            run_delay_ns: Reading::Value(260_000_000),
            timeslices: Reading::Value(42_000),
            preferred_node: Reading::Value(None),
            numa_faults: Reading::Value(0),
        },
    }
}

fn team_record(name: &str, residency: &[(u32, u64)]) -> TeamRecord {
    TeamRecord {
        name: name.to_owned(),
        size: 2,
        background: false,
        residency: residency.iter().map(|&(cpu, ms)| (CpuId(cpu), ms * 1_000_000)).collect(),
        found_ready_unstamped: 0,
    }
}

const MS: u64 = 1_000_000;

/// Of the allowed CPUs and one besides.
fn busy() -> Reading<Vec<(CpuId, f64)>> {
    let shares = [(0, 0.95), (1, 0.9), (2, 0.99), (3, 0.97), (4, 1.0), (8, 0.4), (9, 0.3)];
    let idle = [(10, 0.0), (11, 0.01)];
    Reading::Value(shares.into_iter().chain(idle).map(|(id, it)| (CpuId(id), it)).collect())
}

/// A run that did all its steps, without a doubt.
pub(crate) fn recording() -> Recording {
    let wakeup =
        |relation, moved, n, typical| series(1, SeriesKind::Wakeup { relation, moved }, n, typical);
    let all = vec![
        wakeup(Relation::SameCpu, false, 30_000, 2_100),
        wakeup(Relation::Smt, false, 9_000, 2_900),
        wakeup(Relation::Smt, true, 2_000, 3_300),
        wakeup(Relation::SameLlc, false, 22_000, 3_800),
        wakeup(Relation::SameLlc, true, 4_000, 4_600),
        wakeup(Relation::CrossNode, false, 2_700, 7_900),
        wakeup(Relation::CrossNode, true, 300, 23_000),
        series(1, SeriesKind::FoundReady, 110_000, 11_000),
        series(1, SeriesKind::BetweenMigrations, 6_000, 320_000),
        series(
            0,
            SeriesKind::Measure { name: "round_trip".to_owned(), instance: 0 },
            90_000,
            38_000,
        ),
    ];
    let phases = |warmup, window, after| PerPhase { warmup, window, after };
    let (half, none) = (phases(10_000, 90_000, 0), PerPhase::default());
    let woken = Wakeups { total: 35_000, cross_node: 1_500, pulled_llc: 280, pulled_node: 250 };
    let receiver = |index| TaskRecord { woken, ..task(1, index, none, half) };
    Recording {
        elapsed_ns: 2_604_512_345,
        window_ns: 2_500_000_000,
        cpu: Reading::Value(CpuTime { user_ns: 700 * MS, sys_ns: 8_500 * MS }),
        start_ns: 1_234_567,
        end: End::Done,
        series: all,
        instances: vec![vec![(0, 9_000 * MS), (2, 800 * MS)]],
        busy: busy(),
        teams: vec![
            team_record("sender", &[(0, 900), (1, 700), (2, 1_500), (3, 1_400), (8, 400)]),
            team_record("receiver", &[(0, 1_100), (1, 1_300), (2, 900), (3, 1_200), (9, 400)]),
        ],
        tasks: vec![task(0, 0, half, none), task(0, 1, half, none), receiver(0), receiver(1)],
        spaces: Vec::new(),
        queues: Vec::new(),
        syncs: Vec::new(),
        cgroups: Vec::new(),
        timeline: Timeline::default(),
        vmstat: Vec::new(),
        negative_differences: 0,
        harness: HarnessCost {
            clock: Source::Counter,
            clock_ns: 7.21,
            stamp_ns: 9.84,
            record_ns: 16.5,
        },
        notes: Vec::new(),
    }
}

/// Nothing fell into the window, and the kernel told nothing.
pub(crate) fn empty() -> Recording {
    let mut empty = recording();
    (empty.window_ns, empty.cpu) = (0, Reading::Value(CpuTime::default()));
    empty.series.clear();
    empty.instances.clear();
    empty.busy = Reading::absent(State::Absent, "the run was shorter than a tick");
    empty.teams.iter_mut().for_each(|team| team.residency.clear());
    for task in &mut empty.tasks {
        (task.woken, task.migrations) = (Wakeups::default(), Migrations::default());
        let total = |phase: PerPhase| PerPhase { warmup: phase.total(), ..PerPhase::default() };
        task.messages.sent = total(task.messages.sent);
        task.messages.received = total(task.messages.received);
        let absent = || Reading::absent(State::Absent, "no CONFIG_SCHED_DEBUG");
        task.kernel = KernelCounts {
            nr_migrations: absent(),
            voluntary_switches: absent(),
            involuntary_switches: absent(),
            run_ns: absent(),
            run_delay_ns: absent(),
            timeslices: absent(),
            preferred_node: Reading::absent(State::Absent, "no CONFIG_SCHED_DEBUG"),
            numa_faults: absent(),
        };
    }
    empty
}

/// Stopped by SIGINT, with a receipt that nothing explains.
pub(crate) fn interrupted() -> Recording {
    let mut stopped = recording();
    stopped.end = End::Interrupted(2);
    stopped.tasks[0].messages.sent.window += 1;
    stopped.tasks[3].messages.received.window += 1;
    stopped.tasks[1].kernel.nr_migrations =
        Reading::absent(State::NotSupported, "sched: no line nr_migrations");
    stopped.notes.push("cpu 3 went offline".to_owned());
    stopped
}

/// A task was killed; the others were stopped.
pub(crate) fn failed() -> Recording {
    let mut failed = recording();
    failed.end = End::Failed(Failure {
        team: "receiver".to_owned(),
        task_idx: 1,
        step: "receive inbox[me]".to_owned(),
        call: "read".to_owned(),
        error: "connection reset by peer (ECONNRESET)".to_owned(),
    });
    failed.tasks[3].checked_out = false;
    failed
}

/// One report of each sort, by name.
pub(crate) fn reports() -> BTreeMap<&'static str, Report> {
    let judge = |recordings: &[Recording]| {
        let mut report = Report::judge(&plan(), &host(), recordings);
        report.tool = "schedload 0.0.0".to_owned();
        report
    };
    let repeat =
        |window_ns| Recording { window_ns, elapsed_ns: window_ns + 104_512_345, ..recording() };
    let repeats = [2_500_000_000, 2_450_000_000, 2_612_000_000].map(repeat);
    let with_memory = crate::report::fixture_memory::reports();
    let without = BTreeMap::from([
        ("plain", judge(&[recording()])),
        ("empty", judge(&[empty()])),
        ("interrupted", judge(&[interrupted()])),
        ("failed", judge(&[failed()])),
        ("repeats", judge(&repeats)),
        ("sync", fixture_sync::report()),
    ]);
    without.into_iter().chain(with_memory).collect()
}
