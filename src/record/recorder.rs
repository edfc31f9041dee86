//! What a worker does to be remembered: the hot path of measuring.
//!
//! Each method is a handful of instructions on memory of the worker's own CPU: no allocation, no
//! lock, no system call. There is one locked instruction in each entry, since a task can be moved
//! between finding its CPU and counting there. Must not know: channels, plans, what is done between
//! two calls.

mod blocks;
mod paced;

use super::layout::{NO_SERIES, TeamLayout};
use super::memory::{
    Control, Extremes, Memory, Moved, MovedOnNode, PaceCount, Phase, SyncCounts, TaskSlot,
    TeamShard, WAIT_BITS,
};
use super::stamp::Stamp;
use crate::base::bucket::{self, BUCKETS};
use crate::base::{Place, Relation};
use crate::sys::clock::Clock;
use crate::sys::cpu::CurrentCpu;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// What all workers of a process share: the shards by CPU number, and how long things take.
pub struct Recorders<'a> {
    pub memory: &'a Memory,
    pub clock: Clock,
    pub cpu: CurrentCpu,
    /// By CPU number, up to the largest one online.
    cpus: Vec<CpuShard<'a>>,
    ticks_10ms: u64,
    ticks_100ms: u64,
}

/// One CPU as the hot path needs it.
struct CpuShard<'a> {
    histograms: &'a [AtomicU64],
    /// Number of the shard; the first one for a CPU that has none.
    shard: usize,
    place: Place,
    /// Position in the layout's nodes; past them all in a run without regions.
    node: usize,
    /// Position in the layout's LLCs.
    llc: usize,
    has_shard: bool,
}

impl<'a> Recorders<'a> {
    pub fn new(memory: &'a Memory, clock: Clock, cpu: CurrentCpu) -> Recorders<'a> {
        let spec = &memory.layout.spec;
        let largest = spec.cpus.last().map_or(0, |cpu| cpu.id.0);
        let find = |id: u32| spec.cpus.iter().position(|cpu| cpu.id.0 == id);
        let shard_of = |id: u32| {
            let shard = memory.layout.shard_cpus.iter().position(|cpu| cpu.0 == id);
            // A CPU that came online after the plan was made stands where the first one does.
            let place = spec.cpus[find(id).unwrap_or(0)].place;
            CpuShard {
                histograms: memory.histograms(shard.unwrap_or(0)),
                shard: shard.unwrap_or(0),
                place,
                node: memory.layout.moved_nodes.partition_point(|&node| node < place.node),
                llc: memory.layout.llcs.partition_point(|&llc| llc < place.llc),
                has_shard: shard.is_some(),
            }
        };
        Recorders {
            memory,
            clock,
            cpu,
            cpus: (0..=largest).map(shard_of).collect(),
            ticks_10ms: clock.ticks(10_000_000),
            ticks_100ms: clock.ticks(100_000_000),
        }
    }

    /// A CPU that came online during the run counts as the last one we know.
    #[inline(always)]
    fn cpu_shard(&self, cpu: u32) -> &CpuShard<'a> {
        &self.cpus[(cpu as usize).min(self.cpus.len() - 1)]
    }

    /// The relation of two CPUs.
    #[inline(always)]
    fn relation(&self, a: u32, b: u32) -> Relation {
        if a == b {
            return Relation::SameCpu;
        }
        Relation::of_places(self.cpu_shard(a).place, self.cpu_shard(b).place)
    }
}

/// What a task did since the last look at its CPU, which decides how a change is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// Nothing that gives up the CPU.
    Running,
    /// A call that sleeps, or may have.
    Sleeping,
}

/// How a task waited at a sync object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    Awake,
    /// With the waker's stamp, if it is known.
    Asleep(Option<Stamp>),
}

/// The recorder of one task.
pub struct Recorder<'a> {
    shared: &'a Recorders<'a>,
    control: &'a Control,
    slot: &'a TaskSlot,
    extremes: &'a [Extremes],
    paces: &'a [PaceCount],
    moved_on: &'a [MovedOnNode],
    syncs: &'a [SyncCounts],
    team: usize,
    instance: usize,
    layout: &'a TeamLayout,
    /// The series of its measure blocks.
    first_measure: u16,
    /// Where it last ran, and since when as far as we know (ticks).
    last_cpu: u32,
    cpu_since: u64,
    /// Where it was before its last migration; ticks of that, 0 without one.
    left_cpu: u32,
    migrated_at: u64,
    /// Ticks of the last reading of the clock, if nothing but recording came after it.
    now: Option<u64>,
    /// Waits so far, shifted by [`WAIT_BITS`].
    waits: u64,
}

impl<'a> Recorder<'a> {
    /// The recorder of task number `task`, which is of team number `team` in the first instance.
    pub fn new(shared: &'a Recorders<'a>, task: usize, team: usize) -> Recorder<'a> {
        let memory = shared.memory;
        let layout = &memory.layout.teams[team];
        Recorder {
            shared,
            control: memory.control(),
            slot: memory.slot(task),
            extremes: memory.extremes(task, layout.kinds.len()),
            paces: memory.paces(task, layout.n_paces),
            moved_on: memory.moved_on(task),
            syncs: memory.sync_counts(task, layout.n_syncs),
            team,
            instance: 0,
            layout,
            first_measure: layout.first_measure,
            last_cpu: 0,
            cpu_since: 0,
            left_cpu: u32::MAX,
            migrated_at: 0,
            now: None,
            waits: 0,
        }
    }

    pub fn slot(&self) -> &'a TaskSlot {
        self.slot
    }

    pub fn instance(&self) -> usize {
        self.instance
    }

    #[inline(always)]
    pub fn phase(&self) -> Phase {
        Phase::of(self.control.phase.load(Relaxed))
    }

    /// To be called when the gate has opened: where the task begins.
    pub fn begin(&mut self) {
        self.last_cpu = self.shared.cpu.get();
        self.cpu_since = self.shared.clock.now();
        self.slot.cpu.store(self.last_cpu + 1, Relaxed);
        self.slot.first_cpu.store(self.last_cpu + 1, Relaxed);
        self.slot.begun.store(self.cpu_since, Relaxed);
        self.note_stranger();
    }

    /// To be called after the last step, before anything else.
    pub fn end(&mut self) {
        let now = self.shared.clock.now();
        self.leave_cpu(now);
    }

    /// To be called before operation `op`, which may wait for as long as it takes.
    #[inline(always)]
    pub fn waits_at(&mut self, op: usize) {
        self.waits += 1 << WAIT_BITS;
        self.slot.waits_at.store(self.waits + op as u64 + 1, Relaxed);
    }

    /// To be called now and then by who waits awake, when it has found that nothing has come.
    #[inline(always)]
    pub fn spins(&self) {
        add(&self.slot.spun, 1);
    }

    /// To be called when what was waited for has come.
    #[inline(always)]
    pub fn goes_on(&self) {
        self.slot.waits_at.store(0, Relaxed);
    }

    /// The stamp for a message that is about to be sent.
    #[inline(always)]
    pub fn stamp(&mut self) -> Stamp {
        let ticks = self.shared.clock.now();
        let cpu = self.shared.cpu.get();
        if cpu != self.last_cpu {
            self.migrated(Since::Running, cpu, ticks);
        }
        self.now = None;
        Stamp { ticks, cpu, origin: 0 }
    }

    /// Counts a message that is about to be sent.
    #[inline(always)]
    pub fn sent(&mut self) {
        add(&self.slot.sent[self.phase() as usize], 1);
    }

    /// Looks where the task is now, after it did something without a message.
    #[inline(always)]
    pub fn look(&mut self, since: Since) {
        let cpu = self.shared.cpu.get();
        if cpu != self.last_cpu {
            self.migrated(since, cpu, self.shared.clock.now());
        }
    }

    /// Something was done that took time: the next one needs the clock.
    #[inline(always)]
    pub fn time_passed(&mut self) {
        self.now = None;
    }

    /// The time of now (ticks), from the last reading if nothing was done since.
    #[inline(always)]
    pub fn now(&mut self) -> u64 {
        match self.now {
            Some(now) => now,
            None => *self.now.insert(self.shared.clock.now()),
        }
    }

    /// A wait that was begun at `waiting_since` (ticks, from [`Recorder::now`]) has returned with a
    /// message; `stamp` finds its stamp, and is told when that is.
    #[inline(always)]
    pub fn received(&mut self, waiting_since: u64, stamp: impl FnOnce(Phase) -> Option<Stamp>) {
        let now = self.shared.clock.now();
        let cpu = self.shared.cpu.get();
        self.now = Some(now);
        let phase = self.phase();
        add(&self.slot.received[phase as usize], 1);
        let moved = cpu != self.last_cpu;
        let stamp = stamp(phase);
        if phase == Phase::Window {
            match stamp {
                Some(stamp) if stamp.ticks >= waiting_since => self.woken(stamp, cpu, now),
                Some(stamp) => self.record(cpu, self.layout.found_ready, stamp.ticks, now),
                None => {
                    self.team_shard(cpu).unstamped.fetch_add(1, Relaxed);
                }
            }
        }
        if moved {
            self.migrated(Since::Sleeping, cpu, now);
        }
    }

    /// A wakeup: by who stamped after we had begun to wait. We are on `cpu` now.
    #[inline(always)]
    fn woken(&mut self, stamp: Stamp, cpu: u32, now: u64) {
        let moved = cpu != self.last_cpu;
        let relation = self.shared.relation(stamp.cpu, cpu);
        add(&self.slot.woken, 1);
        if relation == Relation::CrossNode {
            add(&self.slot.woken_cross_node, 1);
        }
        let cell = relation as usize * 2 + usize::from(moved);
        self.record(cpu, self.layout.wakeup[cell], stamp.ticks, now);
        if moved {
            self.note_pulled(stamp.cpu, cpu);
        }
    }

    /// A wait at sync object number `sync` of the team has ended that began at `since` (ticks, from
    /// [`Recorder::now`]); `None`: without a wait.
    #[inline(always)]
    pub fn waited(&mut self, sync: usize, since: u64, waited: Option<Waited>) {
        let Some(waited) = waited else {
            self.now = None;
            return self.look(Since::Running);
        };
        let now = self.shared.clock.now();
        let cpu = self.shared.cpu.get();
        self.now = Some(now);
        if self.phase() == Phase::Window {
            let counts = &self.syncs[sync];
            match waited {
                // As with messages, who was not waiting yet was not woken.
                Waited::Asleep(Some(stamp)) if stamp.ticks >= since => {
                    add(&counts.slept, 1);
                    self.woken(stamp, cpu, now);
                }
                Waited::Awake | Waited::Asleep(Some(_)) => add(&counts.spun, 1),
                Waited::Asleep(None) => {
                    add(&counts.slept, 1);
                    add(&counts.unstamped, 1);
                }
            }
        }
        if cpu != self.last_cpu {
            let slept = matches!(waited, Waited::Asleep(_));
            self.migrated(if slept { Since::Sleeping } else { Since::Running }, cpu, now);
        }
    }

    /// A task is through with a sync object where it came at `since`; `None`: it did not have to
    /// wait, for which it needs no clock.
    #[inline(always)]
    pub fn passed(&mut self, sync: usize, since: Option<u64>) {
        let (since, now) = since.map_or((0, 0), |since| (since, self.now()));
        let phase = self.phase();
        add(&self.syncs[sync].passes[phase as usize], 1);
        if phase == Phase::Window {
            let cpu = self.shared.cpu.get();
            self.record(cpu, self.layout.first_wait + sync as u16, since, now);
        }
    }

    /// A task has let `led` through at its sync object number `sync`; 0 is nothing.
    #[inline(always)]
    pub fn led(&mut self, sync: usize, led: u64) {
        if led == 0 {
            return;
        }
        let counts = &self.syncs[sync];
        let phase = self.phase();
        add(&counts.led[phase as usize], led);
        if phase == Phase::Window {
            add(&counts.leads, 1);
        }
    }

    /// A task has ended a pause of its team's safepoint number `pause`, as the stamps say: of who
    /// asked, who parked last, and its own.
    pub fn paused(&mut self, pause: usize, [asked, parked, ended]: [Stamp; 3]) {
        if self.phase() == Phase::Window {
            let cpu = self.shared.cpu.get();
            let first = self.layout.first_pause + 2 * pause as u16;
            self.record(cpu, first, asked.ticks, ended.ticks);
            self.record(cpu, first + 1, asked.ticks, parked.ticks);
        }
    }

    /// To be called before memory is used, piece by piece.
    pub fn pieces_begin(&mut self) -> u64 {
        self.look(Since::Running);
        self.now()
    }

    /// A piece of memory was used since `since` (ticks), which becomes now; whether to go on. Its
    /// bytes are those of the node where it ended.
    #[inline]
    pub fn piece(&mut self, moved: Moved, bytes: u64, since: &mut u64) -> bool {
        let now = self.shared.clock.now();
        let cpu = self.shared.cpu.get();
        if cpu != self.last_cpu {
            self.migrated(Since::Running, cpu, now);
        }
        let phase = self.phase();
        if phase == Phase::Window {
            let [sum, ticks] = &self.slot.moved[moved as usize];
            add(sum, bytes);
            add(ticks, now.saturating_sub(*since));
            if let Some(on) = self.moved_on.get(self.shared.cpu_shard(cpu).node) {
                add(&on[moved as usize], bytes);
            }
        }
        (*since, self.now) = (now, Some(now));
        phase != Phase::After
    }

    /// One entry of a series of this team.
    #[inline(always)]
    fn record(&mut self, cpu: u32, series: u16, from: u64, to: u64) {
        // Stamps of another CPU can be ahead of our clock by what the counters differ.
        if to < from {
            self.team_shard(cpu).negative.fetch_add(1, Relaxed);
        }
        if series == NO_SERIES {
            return;
        }
        self.enter(cpu, series, self.shared.clock.ns(to.saturating_sub(from)));
    }

    #[inline(always)]
    fn enter(&self, cpu: u32, series: u16, ns: u64) {
        let at = (self.layout.first_series + series as usize) * BUCKETS + bucket::index(ns);
        self.shared.cpu_shard(cpu).histograms[at].fetch_add(1, Relaxed);
        let [least, most, sum] = &self.extremes[series as usize];
        raise(least, u64::MAX - ns);
        raise(most, ns);
        add(sum, ns);
    }

    fn team_shard(&self, cpu: u32) -> &'a TeamShard {
        self.shared.memory.team_shard(self.shared.cpu_shard(cpu).shard, self.team)
    }

    /// The task resumed beside its waker after it had run elsewhere.
    #[cold]
    fn note_pulled(&self, waker: u32, cpu: u32) {
        let place = |cpu| self.shared.cpu_shard(cpu).place;
        let (from, waker, to) = (place(self.last_cpu), place(waker), place(cpu));
        if to.llc == waker.llc && from.llc != to.llc {
            add(&self.slot.pulled_llc, 1);
        }
        if to.node == waker.node && from.node != to.node {
            add(&self.slot.pulled_node, 1);
        }
    }

    /// The task is on another CPU than when we last looked.
    #[cold]
    #[inline(never)]
    fn migrated(&mut self, since: Since, cpu: u32, now: u64) {
        if self.phase() == Phase::Window {
            let slot = self.slot;
            let distance = self.shared.relation(self.last_cpu, cpu) as usize;
            match since {
                Since::Running => add(&slot.while_running[distance], 1),
                Since::Sleeping => add(&slot.across_sleep[distance], 1),
            }
            if self.migrated_at != 0 {
                let away = now.saturating_sub(self.migrated_at);
                if self.left_cpu == cpu && away <= self.shared.ticks_100ms {
                    add(&slot.returned_100ms, 1);
                    add(&slot.returned_10ms, u64::from(away <= self.shared.ticks_10ms));
                }
                self.record(cpu, self.layout.between_migrations, self.migrated_at, now);
            }
        }
        self.leave_cpu(now);
        self.left_cpu = self.last_cpu;
        self.migrated_at = now;
        self.last_cpu = cpu;
        self.slot.cpu.store(cpu + 1, Relaxed);
        self.note_stranger();
    }

    /// Adds the time spent with this CPU as the last one, as far as it was in the window.
    fn leave_cpu(&mut self, now: u64) {
        let window = &self.control.window;
        let (begin, end) = (window.begin.load(Relaxed), window.end.load(Relaxed));
        if begin != 0 {
            let until = if end == 0 { now } else { now.min(end) };
            let time = until.saturating_sub(self.cpu_since.max(begin));
            self.team_shard(self.last_cpu).residency.fetch_add(time, Relaxed);
            let llc = self.shared.cpu_shard(self.last_cpu).llc;
            self.shared.memory.homes(self.instance)[llc].fetch_add(time, Relaxed);
        }
        self.cpu_since = now;
    }

    fn note_stranger(&self) {
        if !self.shared.cpu_shard(self.last_cpu).has_shard {
            self.team_shard(self.last_cpu).strangers.fetch_add(1, Relaxed);
        }
    }
}

/// Adds to a counter that only this task writes.
#[inline(always)]
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Raises a maximum that only this task writes.
#[inline(always)]
fn raise(most: &AtomicU64, value: u64) {
    if value > most.load(Relaxed) {
        most.store(value, Relaxed);
    }
}

#[cfg(test)]
mod tests;
