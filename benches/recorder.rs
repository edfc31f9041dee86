//! What measuring costs: each act of the hot path, the channels against bare system calls, and the
//! work before and after a run that grows with the number of tasks.
//!
//! `cargo bench --bench recorder` prints the median of several trials, with the least and the most;
//! words after `--` choose the rows that hold one of them. The caller's thread is pinned to the CPU
//! that it is on. Must not know: what is fast enough; these numbers are for people.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people: it prints, and stops where it cannot go on"
)]

use schedload::base::{CpuId, CpuList, NodeId, Place, bucket};
use schedload::host::{Host, Topology, cycle_counter_trusted};
use schedload::plan::{Overrides, Plan};
use schedload::profile::{Channel, Param, Profile, Step, Team, catalogue};
use schedload::record::layout::{self, Layout};
use schedload::record::memory::{Memory, Phase};
use schedload::record::recorder::{Recorder, Recorders, Since};
use schedload::record::stamp::{self, Ring, Stamp};
use schedload::report::Report;
use schedload::run::{self, Control};
use schedload::step::channel::{self, Channel as _, Opening, Scope};
use schedload::sys::clock::{Clock, Source, monotonic_ns};
use schedload::sys::cpu::CurrentCpu;
use schedload::sys::{Shared, fd, raw, scheduling};
use std::hint::black_box;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::Relaxed;

const TRIALS: usize = 15;
/// A trial of short acts lasts about so long.
const TRIAL_NS: u64 = 2_000_000;

/// Times acts and prints a row for each.
struct Table {
    /// Rows whose name holds one of these; all if there is none.
    chosen: Vec<String>,
}

impl Table {
    fn heading(&self, text: &str) {
        println!("\n{text:<44} {:>12} {:>12} {:>12}", "median", "least", "most");
    }

    fn wants(&self, name: &str) -> bool {
        self.chosen.is_empty() || self.chosen.iter().any(|word| name.contains(word.as_str()))
    }

    /// An act of nanoseconds: many in each trial.
    fn short(&self, name: &str, mut act: impl FnMut()) {
        let mut trial = |calls: u64| {
            let start = monotonic_ns();
            for _ in 0..calls {
                act();
            }
            monotonic_ns() - start
        };
        // Doubled until a trial is long enough, which also warms up.
        let mut calls = 64;
        while self.wants(name) && trial(calls) < TRIAL_NS {
            calls *= 2;
        }
        self.row(name, || trial(calls) as f64 / calls as f64);
    }

    /// An act of milliseconds: one in each trial.
    fn long<R>(&self, name: &str, mut act: impl FnMut() -> R) {
        self.row(name, || {
            let start = monotonic_ns();
            black_box(act());
            (monotonic_ns() - start) as f64
        });
    }

    fn row(&self, name: &str, mut trial: impl FnMut() -> f64) {
        if !self.wants(name) {
            return;
        }
        let mut ns: Vec<f64> = (0..TRIALS).map(|_| trial()).collect();
        ns.sort_by(f64::total_cmp);
        let [median, least, most] = [ns[TRIALS / 2], ns[0], ns[TRIALS - 1]].map(shown);
        println!("{name:<44} {median:>12} {least:>12} {most:>12}");
    }
}

fn shown(ns: f64) -> String {
    match ns {
        ..1e3 => format!("{ns:.1} ns"),
        ..1e6 => format!("{:.2} us", ns / 1e3),
        _ => format!("{:.2} ms", ns / 1e6),
    }
}

fn main() {
    let host = Host::read().unwrap();
    let source = match cycle_counter_trusted(&host).value() {
        Some(()) => Source::Counter,
        None => Source::Monotonic,
    };
    let clock = Clock::calibrate(source);
    let current = CurrentCpu::find();
    // Flags are for the harness that cargo thinks we have.
    let words = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let table = Table { chosen: words.collect() };
    println!("clock: {source:?}, current CPU by rseq: {}, {TRIALS} trials", current.is_rseq());
    run_and_judge(&table, &host);

    let here: CpuList = std::iter::once(CpuId(current.get())).collect();
    scheduling::set_affinity(&here).unwrap();
    hot_path(&table, clock, current);
    migrations(&table, clock, current, &host);
    channels(&table);
    planning(&table);
}

/// Memory for one task of one team on these CPUs.
fn memory(cpus: &[(u32, Place)]) -> Memory {
    let cpu = |&(id, place): &(u32, Place)| layout::Cpu { id: CpuId(id), place, allowed: true };
    let layout = Layout::new(layout::Spec {
        cpus: cpus.iter().map(cpu).collect(),
        teams: vec![layout::Team {
            receives: true,
            measures: vec!["block".to_owned()],
            syncs: Vec::new(),
            pauses: Vec::new(),
            paces: 0,
        }],
        n_tasks: 1,
        channels: Vec::new(),
        sync_bytes: Vec::new(),
        copies: 1,
        instances_apart: 1,
        n_instances: 1,
        spaces: 1,
        n_regions: 0,
        page_bytes: schedload::sys::shared::page_bytes(),
    });
    let (memory, _) = Memory::create(layout).unwrap();
    memory.control().phase.store(Phase::Window as u32, Relaxed);
    memory
}

fn place(core: u32) -> Place {
    Place { core, llc: 0, node: NodeId(0) }
}

fn hot_path(table: &Table, clock: Clock, current: CurrentCpu) {
    table.heading("recording, each act");
    table.short("clock read", || {
        black_box(clock.now());
    });
    table.short("clock read: CLOCK_MONOTONIC", || {
        black_box(monotonic_ns());
    });
    table.short("current CPU", || {
        black_box(current.get());
    });
    let mut value = 0u64;
    table.short("histogram bucket", || {
        value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        black_box(bucket::index(value >> 30));
    });

    let memory = memory(&[(current.get(), place(0))]);
    let recorders = Recorders::new(&memory, clock, current);
    let mut recorder = Recorder::new(&recorders, 0, 0);
    recorder.begin();
    let mut message = [0; stamp::BYTES];
    table.short("stamp into a message", || {
        recorder.sent();
        recorder.stamp().write(black_box(&mut message));
    });
    table.short("look, and record a wakeup", || {
        recorder.look(Since::Running);
        let waiting_since = recorder.now();
        recorder.received(waiting_since, |_| {
            Some(Stamp { ticks: waiting_since, cpu: current.get(), origin: 0 })
        });
    });
    table.short("look, and record a message found ready", || {
        recorder.look(Since::Running);
        let waiting_since = recorder.now();
        recorder.received(waiting_since, |_| Stamp::read(black_box(&message)));
    });
    table.short("measured block", || {
        recorder.time_passed();
        let began = recorder.now();
        recorder.time_passed();
        recorder.measured(0, began);
    });

    let shared = Shared::create(stamp::ring_bytes(16)).unwrap();
    let ring = Ring::at(&shared, 0, 16);
    table.short("stamp through a ring: post and take", || {
        ring.post(recorder.stamp());
        black_box(ring.take(Phase::Window));
    });
}

/// The slow path: each of many tasks began on another CPU, and looks for the first time here.
fn migrations(table: &Table, clock: Clock, current: CurrentCpu, host: &Host) {
    let name = "look that finds a migration";
    let here = current.get();
    let mut allowed = host.allowed.iter().map(|cpu| cpu.0);
    let Some(other) = allowed.find(|cpu| *cpu != here) else {
        println!("{name:<44} {:>12}", "one CPU");
        return;
    };
    let mut cpus = [(here, place(0)), (other, place(1))];
    cpus.sort_by_key(|(id, _)| *id);
    let memory = memory(&cpus);
    let recorders = Recorders::new(&memory, clock, current);
    let go = |cpu: u32| scheduling::set_affinity(&std::iter::once(CpuId(cpu)).collect()).unwrap();
    table.row(name, || {
        const TASKS: usize = 1_000;
        go(other);
        let mut tasks: Vec<Recorder<'_>> = Vec::with_capacity(TASKS);
        for _ in 0..TASKS {
            let mut recorder = Recorder::new(&recorders, 0, 0);
            recorder.begin();
            tasks.push(recorder);
        }
        go(here);
        let start = monotonic_ns();
        for task in &mut tasks {
            task.look(Since::Sleeping);
        }
        (monotonic_ns() - start) as f64 / TASKS as f64
    });
}

/// A wake and a wait in one thread, so that nobody sleeps: what a kind adds to its system calls.
fn channels(table: &Table) {
    const BYTES: usize = 100;
    table.heading("channels, wake and wait in one thread");
    let mut message = [0; BYTES];
    let (out, into) = fd::pipe().unwrap();
    let (out, into) = (out.as_raw_fd(), into.as_raw_fd());
    table.short("bare write and read: pipe, 100 B", || {
        raw::write(into, &message).unwrap();
        raw::read(out, &mut message).unwrap();
    });
    let event = fd::eventfd(fd::EventCount::Semaphore).unwrap();
    table.short("bare write and read: eventfd", || {
        raw::write(event.as_raw_fd(), &1u64.to_ne_bytes()).unwrap();
        raw::read(event.as_raw_fd(), &mut message[..8]).unwrap();
    });
    let shared = Shared::create(4096).unwrap();
    for kind in channel::KINDS {
        let opening = Opening { scope: Scope::Private, bytes: BYTES, shared: &shared, offset: 0 };
        let channel = (kind.open)(&opening).unwrap();
        table.short(&format!("channel {}", kind.name), || {
            channel.wake(&message).unwrap();
            channel.wait(&mut message).unwrap();
        });
    }
}

/// As many tasks in one ring as `tasks` says.
fn ring() -> Profile {
    Profile::new("ring")
        .about("tasks that wake each other in a ring")
        .param(Param::number("tasks", 10).about("tasks"))
        .channel(Channel::new("slot", "futex").count("tasks"))
        .team(
            Team::new("member", "tasks")
                .step(Step::send("slot[(me + 1) % size]"))
                .step(Step::receive("slot[me]")),
        )
        .checked()
        .unwrap()
}

fn planned(profile: &Profile, host: &Host, params: &[(&str, &str)]) -> Plan {
    let params = params.iter();
    let overrides = Overrides {
        params: params.map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        ..Overrides::default()
    };
    Plan::new(profile, host, &overrides).unwrap()
}

fn planning(table: &Table) {
    table.heading("before a run");
    let machine = "pack:2 [numa] l3:4 core:16 pu:2";
    let host = Host::made_up(Topology::from_synthetic(machine).unwrap(), machine);
    let hackbench = catalogue::load("hackbench").unwrap();
    let ring = ring();
    table.long("parse hackbench", || catalogue::load("hackbench").unwrap());
    let groups = [("groups", "250"), ("as", "threads")];
    table.long("plan hackbench with 10,000 threads", || planned(&hackbench, &host, &groups));
    let tasks = [("tasks", "10000")];
    table.long("plan a ring of 10,000 threads", || planned(&ring, &host, &tasks));
    table.long("read this host", || Host::read().unwrap());
}

/// Before the pinning: a run of 1,000 threads wants all CPUs.
fn run_and_judge(table: &Table, host: &Host) {
    let name = "judge a recording of 1,000 threads";
    let whole = "run 1,000 threads that do next to nothing";
    if !table.wants(name) && !table.wants(whole) {
        return;
    }
    table.heading("a whole run, and after it");
    let hackbench = catalogue::load("hackbench").unwrap();
    let params = [("groups", "25"), ("loops", "1"), ("as", "threads")];
    let plan = planned(&hackbench, host, &params);
    let go = || run::run(&plan, host, &Control::default()).unwrap();
    table.long(whole, go);
    let recording = [go()];
    table.long(name, || Report::judge(&plan, host, &recording));
}
