//! Recorder, shared memory and gathering against a list of values that is sorted.
//!
//! Two tasks of two teams act in turn in one thread, which is moved between CPUs; every act is also
//! done on plain lists. Must not know: runs.
#![allow(clippy::unwrap_used, reason = "a test, also outside of #[test] functions")]

use crate::cases;
use proptest::prelude::*;
use schedload::base::{CpuId, CpuList, NodeId, Place, Relation, bucket};
use schedload::record::gather::{self, TaskId, TeamId};
use schedload::record::layout::{Cpu, Layout, Spec, Team};
use schedload::record::memory::{Memory, Phase};
use schedload::record::recorder::{Recorder, Recorders, Since};
use schedload::record::recording::{Migrations, Series, SeriesKind, Wakeups};
use schedload::record::stamp::Stamp;
use schedload::report::Histogram;
use schedload::sys::clock::{Clock, Source};
use schedload::sys::cpu::CurrentCpu;
use schedload::sys::scheduling::{self, Confined};
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

/// One thing that a task does, or that happens to it.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// A message comes that was sent so long ago (ns), from this CPU of the machine.
    Receive {
        ago: u64,
        waited: bool,
        waker: usize,
    },
    /// A message comes whose stamp is ahead of our clock.
    ReceiveFromTheFuture,
    ReceiveUnstamped,
    /// A measure block ends that began so long ago (ns).
    Measure {
        ago: u64,
    },
    Send,
    Look(Since),
    /// The thread goes to one of the CPUs that it may use.
    Move {
        to: usize,
    },
    Enter(Phase),
}

fn act() -> impl Strategy<Value = Act> {
    // As many short times as long ones, up to beyond the last bucket.
    let ago = || (0u32..38, any::<u64>()).prop_map(|(bits, noise)| noise & ((1 << bits) - 1));
    let receive = (ago(), any::<bool>(), 0..4usize).prop_map(|(ago, waited, waker)| Act::Receive {
        ago,
        waited,
        waker,
    });
    prop_oneof![
        20 => receive,
        1 => Just(Act::ReceiveFromTheFuture),
        2 => Just(Act::ReceiveUnstamped),
        6 => ago().prop_map(|ago| Act::Measure { ago }),
        4 => Just(Act::Send),
        3 => prop_oneof![Just(Since::Running), Just(Since::Sleeping)].prop_map(Act::Look),
        4 => (0..4usize).prop_map(|to| Act::Move { to }),
        1 => prop_oneof![Just(Phase::Warmup), Just(Phase::Window), Just(Phase::Window),
                         Just(Phase::After)].prop_map(Act::Enter),
    ]
}

/// Four CPUs, each at another distance from the first; those that this thread may use come first
/// and have shards, the others are made up.
fn machine() -> Vec<Cpu> {
    let mine: Vec<CpuId> = scheduling::affinity().unwrap().iter().take(4).collect();
    let others = (0..).map(CpuId).filter(|id| !mine.contains(id));
    let ids = mine.iter().copied().chain(others).take(4);
    let places = [(0, 0, 0), (0, 0, 0), (1, 1, 0), (2, 2, 1)];
    let mut cpus: Vec<Cpu> = ids
        .zip(places)
        .map(|(id, (core, llc, node))| Cpu {
            id,
            place: Place { core, llc, node: NodeId(node) },
            allowed: mine.contains(&id),
        })
        .collect();
    cpus.sort_by_key(|cpu| cpu.id);
    cpus
}

fn relation(cpus: &[Cpu], a: u32, b: u32) -> Relation {
    let place = |id| cpus.iter().find(|cpu| cpu.id.0 == id).unwrap().place;
    match a == b {
        true => Relation::SameCpu,
        false => Relation::of_places(place(a), place(b)),
    }
}

/// What one task's team should have in the end.
#[derive(Default)]
struct Expected {
    values: HashMap<SeriesKind, Vec<u64>>,
    between_migrations: u64,
    migrations: Migrations,
    unstamped: u64,
    negative: u64,
    sent: [u64; 3],
    received: [u64; 3],
    last_cpu: u32,
    has_migrated: bool,
}

impl Expected {
    fn value(&mut self, kind: SeriesKind, value: u64) {
        self.values.entry(kind).or_default().push(value);
    }

    /// All, and those across nodes.
    fn wakeups(&self) -> [u64; 2] {
        let mut sums = [0; 2];
        for (kind, values) in &self.values {
            if let SeriesKind::Wakeup { relation, .. } = kind {
                sums[0] += values.len() as u64;
                sums[1] += values.len() as u64 * u64::from(*relation == Relation::CrossNode);
            }
        }
        sums
    }

    /// The task is seen on this CPU.
    fn seen(&mut self, cpus: &[Cpu], cpu: u32, since: Since, phase: Phase) {
        if cpu == self.last_cpu {
            return;
        }
        let distance = relation(cpus, self.last_cpu, cpu) as usize;
        if phase == Phase::Window {
            match since {
                Since::Running => self.migrations.while_running[distance] += 1,
                Since::Sleeping => self.migrations.across_sleep[distance] += 1,
            }
            self.between_migrations += u64::from(self.has_migrated);
        }
        self.has_migrated = true;
        self.last_cpu = cpu;
    }
}

/// The real recorder of a task and its plain double.
struct Task<'a> {
    recorder: Recorder<'a>,
    expected: Expected,
}

/// Where the thread is and what it records by.
struct World<'a> {
    cpus: &'a [Cpu],
    memory: &'a Memory,
    clock: Clock,
    here: u32,
    phase: Phase,
}

impl World<'_> {
    fn act(&mut self, act: Act, task: &mut Task<'_>) {
        let Task { recorder, expected } = task;
        let (cpus, here, phase) = (self.cpus, self.here, self.phase);
        match act {
            Act::Receive { ago, waited, waker } => {
                let ticks = self.clock.now().saturating_sub(ago).max(1);
                let waker = cpus[waker].id.0;
                let since = if waited { ticks } else { ticks + 1 };
                recorder.received(since, |_| Some(Stamp { ticks, cpu: waker, origin: 0 }));
                // The clock as the recorder read it.
                let value = recorder.now() - ticks;
                expected.received[phase as usize] += 1;
                let moved = here != expected.last_cpu;
                if phase == Phase::Window {
                    let relation = relation(cpus, waker, here);
                    let kind = match waited {
                        true => SeriesKind::Wakeup { relation, moved },
                        false => SeriesKind::FoundReady,
                    };
                    expected.value(kind, value);
                }
                expected.seen(cpus, here, Since::Sleeping, phase);
            }
            Act::ReceiveFromTheFuture => {
                let ticks = self.clock.now() + 3_600_000_000_000;
                recorder.received(1, |_| Some(Stamp { ticks, cpu: here, origin: 0 }));
                expected.received[phase as usize] += 1;
                let (relation, moved) = (Relation::SameCpu, here != expected.last_cpu);
                if phase == Phase::Window {
                    expected.negative += 1;
                    expected.value(SeriesKind::Wakeup { relation, moved }, 0);
                }
                expected.seen(cpus, here, Since::Sleeping, phase);
            }
            Act::ReceiveUnstamped => {
                recorder.received(1, |_| None);
                expected.received[phase as usize] += 1;
                expected.unstamped += u64::from(phase == Phase::Window);
                expected.seen(cpus, here, Since::Sleeping, phase);
            }
            Act::Measure { ago } => {
                recorder.time_passed();
                let began = recorder.now().saturating_sub(ago);
                recorder.measured(0, began);
                if phase == Phase::Window {
                    let kind = SeriesKind::Measure { name: "block".to_owned(), instance: 0 };
                    expected.value(kind, recorder.now() - began);
                }
            }
            Act::Send => {
                let stamp = recorder.stamp();
                assert_eq!(stamp.cpu, here);
                recorder.sent();
                expected.sent[phase as usize] += 1;
                expected.seen(cpus, here, Since::Running, phase);
            }
            Act::Look(since) => {
                recorder.look(since);
                expected.seen(cpus, here, since, phase);
            }
            Act::Move { to } => self.go(to),
            Act::Enter(phase) => {
                self.memory.control().phase.store(phase as u32, Relaxed);
                self.phase = phase;
            }
        }
    }

    fn go(&mut self, to: usize) {
        let allowed: Vec<CpuId> =
            (self.cpus.iter()).filter(|cpu| cpu.allowed).map(|cpu| cpu.id).collect();
        let to = allowed[to % allowed.len()];
        scheduling::set_affinity(&std::iter::once(to).collect()).unwrap();
        self.here = to.0;
    }
}

/// The value at rank ceil(p / 10,000 * n), by sorting.
fn by_sorting(values: &[u64], p: u64) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (p * sorted.len() as u64).div_ceil(10_000).max(1);
    sorted[rank as usize - 1]
}

fn check_series(series: &[Series], team: usize, expected: &Expected) -> Result<(), TestCaseError> {
    let mine = || series.iter().filter(|series| series.team == team);
    let migrations = mine().find(|series| series.kind == SeriesKind::BetweenMigrations);
    prop_assert_eq!(migrations.map_or(0, Series::count), expected.between_migrations);
    let others = || mine().filter(|series| series.kind != SeriesKind::BetweenMigrations);
    prop_assert_eq!(others().count(), expected.values.len());
    for series in others() {
        let values = &expected.values[&series.kind];
        let mut gathered = Histogram::default();
        gathered.add_series(series);
        // Gathered from the shards of all CPUs, it is as if recorded in one.
        prop_assert_eq!(&gathered, &Histogram::of_values(values.iter().copied()));
        prop_assert_eq!(gathered.max(), values.iter().max().copied());
        for p in [0, 5_000, 9_000, 9_900, 9_990, 10_000] {
            let (got, exact) = (gathered.percentile(p).unwrap(), by_sorting(values, p));
            prop_assert_eq!(bucket::index(got), bucket::index(exact));
            prop_assert!(got >= exact && got <= series.max);
        }
    }
    Ok(())
}

fn spec(cpus: &[Cpu]) -> Spec {
    let team = |measures: &[&str]| Team {
        receives: true,
        measures: measures.iter().map(ToString::to_string).collect(),
        paces: 0,
        syncs: Vec::new(),
        pauses: Vec::new(),
    };
    Spec {
        cpus: cpus.to_vec(),
        teams: vec![team(&["block"]), team(&["block", "other"])],
        n_tasks: 2,
        channels: Vec::new(),
        sync_bytes: Vec::new(),
        copies: 1,
        instances_apart: 1,
        n_instances: 1,
        spaces: 1,
        n_regions: 0,
        page_bytes: 4096,
    }
}

fn check_acts(acts: &[(Act, usize)]) -> Result<(), TestCaseError> {
    let cpus = machine();
    let mine: CpuList = cpus.iter().filter(|it| it.allowed).map(|it| it.id).collect();
    let _confined = Confined::to(&mine).unwrap();
    let (memory, _) = Memory::create(Layout::new(spec(&cpus))).unwrap();
    let clock = Clock::calibrate(Source::Monotonic);
    let recorders = Recorders::new(&memory, clock, CurrentCpu::find());
    let mut world = World { cpus: &cpus, memory: &memory, clock, here: 0, phase: Phase::Warmup };
    world.go(0);
    world.act_enter_window();
    let mut tasks = [0, 1].map(|number| {
        let mut recorder = Recorder::new(&recorders, number, number);
        recorder.begin();
        let expected = Expected { last_cpu: world.here, ..Expected::default() };
        Task { recorder, expected }
    });
    for &(act, task) in acts {
        world.act(act, &mut tasks[task]);
    }

    let ids = [0, 1].map(|team| TaskId { team, copy: 0, index: 0 });
    let names = ["a", "b"].map(|name| TeamId { name: name.to_owned(), size: 1, background: false });
    let series = gather::series(&memory, &ids);
    let teams = gather::teams(&memory, &names, clock);
    let records = gather::tasks(&memory, &ids, clock);
    for (number, Task { expected, .. }) in tasks.iter().enumerate() {
        check_series(&series, number, expected)?;
        let mut migrations = records[number].migrations;
        // When is not known exactly enough for these.
        (migrations.returned_10ms, migrations.returned_100ms) = (0, 0);
        prop_assert_eq!(migrations, expected.migrations);
        let Wakeups { total, cross_node, .. } = records[number].woken;
        prop_assert_eq!([total, cross_node], expected.wakeups());
        prop_assert_eq!(teams[number].found_ready_unstamped, expected.unstamped);
        let messages = records[number].messages;
        let by_phase =
            |it: schedload::record::recording::PerPhase| [it.warmup, it.window, it.after];
        prop_assert_eq!(by_phase(messages.sent), expected.sent);
        prop_assert_eq!(by_phase(messages.received), expected.received);
    }
    let negative: u64 = tasks.iter().map(|task| task.expected.negative).sum();
    prop_assert_eq!(gather::oddities(&memory), (negative, 0));
    Ok(())
}

impl World<'_> {
    fn act_enter_window(&mut self) {
        self.phase = Phase::Window;
        self.memory.control().phase.store(Phase::Window as u32, Relaxed);
    }
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn gathers_what_was_recorded(acts in prop::collection::vec((act(), 0..2usize), 0..200)) {
        check_acts(&acts)?;
    }
}
