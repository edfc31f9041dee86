//! A task that is told where it is and when, on a machine that nobody has.

use super::*;
use crate::base::{CpuId, NodeId};
use crate::record::gather::{self, TaskId, TeamId};
use crate::record::layout::{Cpu, Layout, Spec, Team};
use crate::record::recording::{Migrations, SeriesKind, TaskRecord, Wakeups};
use crate::sys::clock::Source;

const MS: u64 = 1_000_000;

/// Two nodes with two LLCs of two cores each, one CPU a core; CPU 7 may not be used.
fn memory() -> Memory {
    let cpu = |id: u32| Cpu {
        id: CpuId(id),
        place: Place { core: id, llc: id / 2, node: NodeId(id / 4) },
        allowed: id != 7,
    };
    let spec = Spec {
        cpus: (0..8).map(cpu).collect(),
        teams: vec![Team {
            receives: true,
            measures: vec![],
            syncs: vec![],
            pauses: vec![],
            paces: 0,
        }],
        n_tasks: 1,
        channels: vec![],
        sync_bytes: vec![],
        copies: 1,
        instances_apart: 1,
        n_instances: 2,
        spaces: 1,
        n_regions: 1,
        page_bytes: 4096,
    };
    let (memory, _) = Memory::create(Layout::new(spec)).unwrap();
    memory.control().phase.store(Phase::Window as u32, Relaxed);
    memory
}

/// The task whose recorder this is, in the second instance.
const TASK: TaskId = TaskId { team: 0, copy: 0, index: 0 };

/// What a task of this memory records, from CPU 0 at 0 ms.
fn recorded(act: impl FnOnce(&mut Recorder<'_>)) -> (Memory, TaskRecord) {
    let memory = memory();
    memory.control().window.begin.store(1, Relaxed);
    // A tick is a nanosecond.
    let clock = Clock::calibrate(Source::Monotonic);
    {
        let recorders = Recorders::new(&memory, clock, CurrentCpu::find());
        let mut recorder = Recorder::new(&recorders, 0, 0).in_instance(1);
        act(&mut recorder);
    }
    let task = gather::tasks(&memory, &[TASK], clock).remove(0);
    (memory, task)
}

#[test]
fn a_task_that_comes_back() {
    // Where it goes at which millisecond; how often it was back within 10 and 100 ms.
    let check = |route: &[(u32, u64)], expected: (u64, u64)| {
        let (_, task) = recorded(|recorder| {
            for &(cpu, ms) in route {
                recorder.migrated(Since::Running, cpu, ms * MS);
            }
        });
        let Migrations { returned_10ms, returned_100ms, .. } = task.migrations;
        assert_eq!((returned_10ms, returned_100ms), expected, "{route:?}");
    };
    check(&[], (0, 0));
    check(&[(1, 5)], (0, 0));
    check(&[(1, 5), (0, 6)], (1, 1));
    check(&[(1, 5), (0, 15)], (1, 1));
    check(&[(1, 5), (0, 16)], (0, 1));
    check(&[(1, 5), (0, 105)], (0, 1));
    check(&[(1, 5), (0, 106)], (0, 0));
    // There and back and there again.
    check(&[(1, 5), (0, 6), (1, 7)], (2, 2));
    // Home, but by a detour.
    check(&[(1, 5), (2, 6), (0, 7)], (0, 0));
}

#[test]
fn time_between_migrations() {
    let (memory, _) = recorded(|recorder| {
        recorder.migrated(Since::Running, 1, 5 * MS);
        recorder.migrated(Since::Running, 2, 7 * MS);
        recorder.migrated(Since::Sleeping, 3, 8 * MS);
    });
    let series = gather::series(&memory, &[TASK]);
    let kinds: Vec<_> = series.iter().map(|series| &series.kind).collect();
    assert_eq!(kinds, [&SeriesKind::BetweenMigrations]);
    let only = &series[0];
    let all = (only.count(), only.min, only.max, only.sum);
    assert_eq!(all, (2, MS, 2 * MS, u128::from(3 * MS)));
}

#[test]
fn migrations_by_distance() {
    let (_, task) = recorded(|recorder| {
        recorder.migrated(Since::Running, 1, 1);
        recorder.migrated(Since::Running, 2, 2);
        recorder.migrated(Since::Sleeping, 4, 3);
        recorder.migrated(Since::Sleeping, 0, 4);
    });
    assert_eq!(task.migrations.while_running, [0, 0, 1, 1, 0]);
    assert_eq!(task.migrations.across_sleep, [0, 0, 0, 0, 2]);
    assert_eq!(task.migrations.total(), 4);
}

#[test]
fn outside_of_the_window_nothing_is_counted() {
    let (_, task) = recorded(|recorder| {
        let phase = &recorder.control.phase;
        phase.store(Phase::Warmup as u32, Relaxed);
        recorder.migrated(Since::Running, 1, MS);
        phase.store(Phase::After as u32, Relaxed);
        recorder.migrated(Since::Running, 0, 2 * MS);
    });
    assert_eq!(task.migrations, Migrations::default());
}

#[test]
fn wakees_pulled_to_their_wakers() {
    // Where the wakee last ran, where the waker is, where the wakee resumes; pulled to LLC, node.
    let check = |from: u32, waker: u32, to: u32, expected: (u64, u64)| {
        let (_, task) = recorded(|recorder| {
            recorder.last_cpu = from;
            recorder.woken(Stamp { ticks: MS, cpu: waker, origin: 0 }, to, 2 * MS);
        });
        let Wakeups { total, pulled_llc, pulled_node, .. } = task.woken;
        assert_eq!(
            (total, pulled_llc, pulled_node),
            (1, expected.0, expected.1),
            "{from} {waker} {to}"
        );
    };
    check(0, 1, 1, (0, 0));
    check(2, 1, 0, (1, 0));
    check(4, 1, 0, (1, 1));
    // To the waker's node, but not to its LLC.
    check(4, 1, 2, (0, 1));
    // Away from the waker.
    check(0, 1, 4, (0, 0));
}

#[test]
fn wakeups_from_another_node() {
    let (_, task) = recorded(|recorder| {
        // CPUs 0 to 3 are of node 0; that of the waker, and on which it resumes.
        for (waker, to) in [(0, 0), (1, 3), (4, 3), (0, 5), (6, 7)] {
            recorder.woken(Stamp { ticks: MS, cpu: waker, origin: 0 }, to, 2 * MS);
        }
    });
    assert_eq!((task.woken.total, task.woken.cross_node), (5, 2));
}

#[test]
fn residency_is_cut_at_the_window() {
    let check = |window: (u64, u64), expected: &[(u32, u64)]| {
        let (memory, _) = recorded(|recorder| {
            recorder.control.window.begin.store(window.0, Relaxed);
            recorder.control.window.end.store(window.1, Relaxed);
            recorder.cpu_since = 100;
            recorder.migrated(Since::Running, 3, 150);
            recorder.migrated(Since::Running, 0, 190);
            recorder.leave_cpu(200);
        });
        let clock = Clock::calibrate(Source::Monotonic);
        let id = TeamId { name: "a".to_owned(), size: 1, background: false };
        let team = gather::teams(&memory, &[id], clock).remove(0);
        let got: Vec<_> = team.residency.iter().map(|(cpu, ns)| (cpu.0, *ns)).collect();
        assert_eq!(got, expected, "window {window:?}");
        // CPU 3 is of the second LLC; the task is of the second instance.
        let of_llcs = got.iter().map(|&(cpu, ns)| (cpu / 2, ns)).collect();
        assert_eq!(gather::instances(&memory, clock), [Vec::new(), of_llcs]);
    };
    check((1, 1000), &[(0, 60), (3, 40)]);
    check((110, 160), &[(0, 40), (3, 10)]);
    check((160, 195), &[(0, 5), (3, 30)]);
    // It has not ended yet.
    check((110, 0), &[(0, 50), (3, 40)]);
    // It never began, or was over before.
    check((0, 0), &[]);
    check((300, 400), &[]);
    check((10, 50), &[]);
}

#[test]
fn cpus_that_nobody_expected() {
    let check = |cpu: u32, expected: u64| {
        let (memory, _) = recorded(|recorder| recorder.migrated(Since::Running, cpu, 1));
        assert_eq!(gather::oddities(&memory), (0, expected), "CPU {cpu}");
    };
    check(6, 0);
    check(7, 1);
    // One that came online during the run counts as the last one known.
    check(900, 1);
}

/// Wherever this test runs: bytes are those of the node of its CPU, and of the window alone.
#[test]
fn pieces_of_memory_belong_to_a_node() {
    let (_, task) = recorded(|recorder| {
        let mut since = recorder.pieces_begin();
        let mut piece = |phase: Phase, moved, bytes| {
            recorder.control.phase.store(phase as u32, Relaxed);
            recorder.piece(moved, bytes, &mut since)
        };
        assert!(piece(Phase::Warmup, Moved::Accesses, 1));
        assert!(piece(Phase::Window, Moved::Accesses, 10));
        assert!(piece(Phase::Window, Moved::Triad, 100));
        assert!(piece(Phase::Window, Moved::Accesses, 1000));
        assert!(!piece(Phase::After, Moved::Triad, 10_000));
    });
    let bytes = [1010, 0, 0, 0, 100];
    assert_eq!(task.moved.map(|moved| moved.bytes), bytes);
    let on = |kind: usize| task.moved_on.iter().map(|(_, on)| on[kind]).sum::<u64>();
    assert_eq!([0, 1, 2, 3, 4].map(on), bytes);
    let known = [NodeId(0), NodeId(1)];
    assert!(task.moved_on.iter().all(|(node, _)| known.contains(node)), "{:?}", task.moved_on);
}

#[test]
fn blocks_of_instances_are_apart() {
    // Whose block it is, of how many that are kept apart, and the number of its series' instance.
    let check = |instance: u32, apart: usize, expected: u32| {
        let mut spec = memory().layout.spec.clone();
        spec.instances_apart = apart;
        spec.teams[0].measures = vec!["a".to_owned(), "b".to_owned()];
        let (memory, _) = Memory::create(Layout::new(spec)).unwrap();
        memory.control().phase.store(Phase::Window as u32, Relaxed);
        let clock = Clock::calibrate(Source::Monotonic);
        let recorders = Recorders::new(&memory, clock, CurrentCpu::find());
        Recorder::new(&recorders, 0, 0).in_instance(instance).measured(1, 0);
        let found = gather::series(&memory, &[TASK]);
        let kinds: Vec<SeriesKind> = found.into_iter().map(|series| series.kind).collect();
        let wanted = SeriesKind::Measure { name: "b".to_owned(), instance: expected };
        assert_eq!(kinds, [wanted], "{instance} of {apart}");
    };
    check(0, 1, 0);
    check(0, 3, 0);
    check(2, 3, 2);
    // Where they are not apart all are in the first.
    check(5, 1, 0);
}
