//! From the shared memory of a run that has ended to a [`super::Recording`].
//!
//! Must not know: how the run was made; it is told what the memory cannot say.

use super::layout::Layout;
use super::memory::{Kernel, Memory, TaskSlot, TaskState};
use super::recording::{
    Begun, KernelCounts, Messages, Migrations, MovedBytes, Paced, PerPhase, Series, SeriesKind,
    SyncRecord, TaskRecord, TeamRecord, Wakeups,
};
use super::stamp::{Ring, Unknown};
use crate::base::bucket::BUCKETS;
use crate::base::{CpuId, NodeId, Reading, State};
use crate::sys::clock::Clock;
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// What a task is, by its number.
#[derive(Debug, Clone, Copy)]
pub struct TaskId {
    pub team: usize,
    pub copy: u32,
    pub index: u32,
}

/// Name and size of a team, which the memory does not hold.
#[derive(Debug, Clone)]
pub struct TeamId {
    pub name: String,
    pub size: u32,
    pub background: bool,
}

const SCHED: &str = "/proc/thread-self/sched";

/// Where a number of the kernel comes from, and what it means that it is not there.
fn source(of: Kernel) -> (&'static str, &'static str) {
    match of {
        Kernel::Migrations => {
            (SCHED, "a kernel before 6.15 without CONFIG_SCHED_DEBUG, or no /proc")
        }
        Kernel::VoluntarySwitches | Kernel::InvoluntarySwitches => ("getrusage", ""),
        Kernel::RunNs | Kernel::RunDelayNs | Kernel::Timeslices => {
            ("/proc/thread-self/schedstat", "a kernel without CONFIG_SCHED_INFO, or no /proc")
        }
        Kernel::ScanSeq | Kernel::PreferredNode | Kernel::NumaFaults => {
            (SCHED, "a kernel without CONFIG_NUMA_BALANCING or CONFIG_SCHED_DEBUG")
        }
    }
}

/// A [`State`] as a word in a task slot; 0 if the task never came to it.
pub fn state_word(state: State) -> u32 {
    match state {
        State::Ok => 1,
        State::Absent => 2,
        State::NoPermission => 3,
        State::Disabled => 4,
        State::NotSupported => 5,
    }
}

/// A preferred node as a word in a task slot; 0 for none.
pub fn node_word(node: Option<NodeId>) -> u64 {
    node.map_or(0, |node| u64::from(node.0) + 1)
}

fn node_of_word(word: u64) -> Option<NodeId> {
    word.checked_sub(1).map(|node| NodeId(node as u32))
}

/// All histograms with at least one entry.
pub fn series(memory: &Memory, tasks: &[TaskId]) -> Vec<Series> {
    let layout = &memory.layout;
    let mut extremes: HashMap<(usize, usize), (u64, u64, u128)> = HashMap::new();
    for (number, task) in tasks.iter().enumerate() {
        let n_series = layout.teams[task.team].kinds.len();
        for (series, [least, most, sum]) in memory.extremes(number, n_series).iter().enumerate() {
            let (least, most) = (least.load(Relaxed), most.load(Relaxed));
            let all = extremes.entry((task.team, series)).or_insert((u64::MAX, 0, 0));
            // Zero is where nothing was recorded: no duration is 2^64 - 1 ns long.
            if least != 0 {
                *all = (all.0.min(u64::MAX - least), all.1.max(most), all.2);
                all.2 += u128::from(sum.load(Relaxed));
            }
        }
    }
    let mut found = Vec::new();
    for (team, team_layout) in layout.teams.iter().enumerate() {
        for (number, kind) in team_layout.kinds.iter().enumerate() {
            let counts = counts(memory, team_layout.first_series + number);
            if counts.iter().any(|&n| n > 0) {
                let (min, max, sum) = extremes.get(&(team, number)).copied().unwrap_or_default();
                found.push(Series { team, kind: SeriesKind::clone(kind), counts, min, max, sum });
            }
        }
    }
    found
}

/// The buckets of a series, summed over the shards.
fn counts(memory: &Memory, series: usize) -> Vec<u64> {
    let mut sum = vec![0; BUCKETS];
    for shard in 0..memory.layout.shard_cpus.len() {
        let counts = &memory.histograms(shard)[series * BUCKETS..][..BUCKETS];
        for (sum, count) in sum.iter_mut().zip(counts) {
            *sum += count.load(Relaxed);
        }
    }
    sum
}

/// What each team did together.
pub fn teams(memory: &Memory, teams: &[TeamId], clock: Clock) -> Vec<TeamRecord> {
    let shards = || 0..memory.layout.shard_cpus.len();
    let one = |(team, id): (usize, &TeamId)| {
        let unstamped = |shard| memory.team_shard(shard, team).unstamped.load(Relaxed);
        let time = |shard| clock.ns(memory.team_shard(shard, team).residency.load(Relaxed));
        let residency = shards().map(|shard| (memory.layout.shard_cpus[shard], time(shard)));
        TeamRecord {
            name: id.name.clone(),
            size: id.size,
            background: id.background,
            residency: residency.filter(|&(_, ns)| ns > 0).collect(),
            found_ready_unstamped: shards().map(unstamped).sum(),
        }
    };
    teams.iter().enumerate().map(one).collect()
}

/// Where the tasks of each instance were: time (ns) by LLC.
pub fn instances(memory: &Memory, clock: Clock) -> Vec<Vec<(u32, u64)>> {
    let llcs = &memory.layout.llcs;
    let of = |instance| {
        let ticks = memory.homes(instance).iter().map(|home| home.load(Relaxed));
        let times = llcs.iter().copied().zip(ticks.map(|ticks| clock.ns(ticks)));
        times.filter(|&(_, ns)| ns > 0).collect()
    };
    (0..memory.layout.spec.n_instances).map(of).collect()
}

/// Each task over its life.
pub fn tasks(memory: &Memory, tasks: &[TaskId], clock: Clock) -> Vec<TaskRecord> {
    let one = |(number, id): (usize, &TaskId)| {
        let slot = memory.slot(number);
        TaskRecord {
            team: id.team,
            copy: id.copy,
            index: id.index,
            checked_out: slot.state.load(Relaxed) == TaskState::CheckedOut as u32,
            messages: Messages { sent: per_phase(&slot.sent), received: per_phase(&slot.received) },
            woken: wakeups(slot),
            migrations: migrations(slot),
            ready_ns: slot.ready.iter().map(|time| time.load(Relaxed)).sum(),
            ready_delay_ns: slot.ready_delay.load(Relaxed),
            blocks: blocks(memory, number, clock),
            moved: moved(memory, number, clock),
            paced: paced(memory, number, id.team),
            without_origin: slot.without_origin.load(Relaxed),
            draws: [0, 1].map(|active| slot.draws[active].load(Relaxed)),
            flops: slot.flops.load(Relaxed),
            moved_on: moved_on(memory, number),
            begun: begun(memory, number, clock),
            kernel: kernel_counts(memory, number),
        }
    };
    tasks.iter().enumerate().map(one).collect()
}

/// What each team did at each of its sync objects; `objects`: which these are, by team.
pub fn syncs(memory: &Memory, tasks: &[TaskId], objects: &[Vec<u32>]) -> Vec<SyncRecord> {
    let mut records = Vec::new();
    for (team, objects) in objects.iter().enumerate() {
        for (at, &object) in objects.iter().enumerate() {
            let mut sum = SyncRecord { team, object: object as usize, ..SyncRecord::default() };
            for (number, _) in tasks.iter().enumerate().filter(|(_, task)| task.team == team) {
                let counts = &memory.sync_counts(number, objects.len())[at];
                sum.passes += per_phase(&counts.passes);
                sum.led += per_phase(&counts.led);
                sum.leads += counts.leads.load(Relaxed);
                sum.spun += counts.spun.load(Relaxed);
                sum.slept += counts.slept.load(Relaxed);
                sum.unstamped += counts.unstamped.load(Relaxed);
            }
            records.push(sum);
        }
    }
    records
}

/// The longest queue of each channel; what one of its instances does not tell, it does not.
pub fn queues(memory: &Memory) -> Vec<Reading<u64>> {
    let spec = &memory.layout.spec;
    let queue = |channel: usize| {
        let mut longest = 0;
        for copy in 0..spec.copies {
            for instance in 0..spec.channels[channel].count {
                match queue(memory.ring(copy, channel, instance)) {
                    Reading::Value(most) => longest = longest.max(most),
                    absent => return absent,
                }
            }
        }
        Reading::Value(longest)
    };
    (0..spec.channels.len()).map(queue).collect()
}

fn queue(ring: Option<Ring<'_>>) -> Reading<u64> {
    let Some(ring) = ring else {
        let reason = "its messages carry their stamps, and nobody counts them on their way";
        return Reading::absent(State::NotSupported, reason);
    };
    match ring.most() {
        Ok(most) => Reading::Value(most),
        Err(Unknown::NoRoom(n)) => {
            let reason = format!("{n} or more: its ring of stamps has no more entries");
            Reading::absent(State::NotSupported, reason)
        }
        Err(Unknown::NoneTaken) => {
            Reading::absent(State::Absent, "none of its messages was taken in the window")
        }
    }
}

fn wakeups(slot: &TaskSlot) -> Wakeups {
    Wakeups {
        total: slot.woken.load(Relaxed),
        cross_node: slot.woken_cross_node.load(Relaxed),
        pulled_llc: slot.pulled_llc.load(Relaxed),
        pulled_node: slot.pulled_node.load(Relaxed),
    }
}

fn migrations(slot: &TaskSlot) -> Migrations {
    let loaded = |counters: &[AtomicU64; 5]| counters.each_ref().map(|it| it.load(Relaxed));
    Migrations {
        across_sleep: loaded(&slot.across_sleep),
        while_running: loaded(&slot.while_running),
        returned_10ms: slot.returned_10ms.load(Relaxed),
        returned_100ms: slot.returned_100ms.load(Relaxed),
    }
}

fn blocks(memory: &Memory, task: usize, clock: Clock) -> Option<[u64; 2]> {
    let slot = memory.slot(task);
    let kept = |word: &AtomicU64| word.load(Relaxed).checked_sub(1).map(|ticks| clock.ns(ticks));
    Some([kept(&slot.first_block)?, kept(&slot.last_block)?])
}

fn moved(memory: &Memory, task: usize, clock: Clock) -> [MovedBytes; 5] {
    memory.slot(task).moved.each_ref().map(|[bytes, ticks]| MovedBytes {
        bytes: bytes.load(Relaxed),
        ns: clock.ns(ticks.load(Relaxed)),
    })
}

fn paced(memory: &Memory, task: usize, team: usize) -> Vec<Paced> {
    let layout = &memory.layout.teams[team];
    let counts = memory.paces(task, layout.n_paces).iter();
    let paced = counts
        .map(|[begun, missed]| Paced { begun: begun.load(Relaxed), missed: missed.load(Relaxed) });
    paced.collect()
}

fn moved_on(memory: &Memory, task: usize) -> Vec<(NodeId, [u64; 5])> {
    let nodes = memory.layout.moved_nodes.iter().copied().zip(memory.moved_on(task));
    let bytes = nodes.map(|(node, on)| (node, on.each_ref().map(|bytes| bytes.load(Relaxed))));
    bytes.filter(|(_, on)| on.iter().any(|&bytes| bytes > 0)).collect()
}

fn begun(memory: &Memory, task: usize, clock: Clock) -> Option<Begun> {
    let slot = memory.slot(task);
    let cpu = slot.first_cpu.load(Relaxed).checked_sub(1)?;
    let gate = memory.control().gate.load(Relaxed);
    let ticks = slot.begun.load(Relaxed).saturating_sub(gate);
    Some(Begun { at_ns: clock.ns(ticks), cpu: CpuId(cpu) })
}

/// Passes of the NUMA balancer over each address space when its last task ended: the largest number
/// that one of its tasks (`space_of`, by task) read.
pub fn scan_seq(memory: &Memory, space_of: &[usize]) -> Vec<Reading<u64>> {
    let mut found: Vec<Option<Reading<u64>>> = vec![None; memory.layout.spec.spaces];
    for (task, &space) in space_of.iter().enumerate() {
        let reading = kernel_reading(memory, task, Kernel::ScanSeq);
        let best = &mut found[space];
        let larger = match (&best, &reading) {
            (None | Some(Reading::Absent(_)), _) => true,
            (Some(Reading::Value(old)), Reading::Value(new)) => new > old,
            (Some(Reading::Value(_)), Reading::Absent(_)) => false,
        };
        if larger {
            *best = Some(reading);
        }
    }
    let none = || Reading::absent(State::Absent, "it has no task");
    found.into_iter().map(|reading| reading.unwrap_or_else(none)).collect()
}

fn per_phase(counters: &[AtomicU64; 3]) -> PerPhase {
    let [warmup, window, after] = counters.each_ref().map(|counter| counter.load(Relaxed));
    PerPhase { warmup, window, after }
}

/// One of the kernel's numbers.
fn kernel_reading(memory: &Memory, task: usize, of: Kernel) -> Reading<u64> {
    let slot = memory.slot(task);
    let (from, missing) = source(of);
    let absent = |state: State| match state {
        State::Absent => Reading::absent(state, format!("{from}: {missing}")),
        _ => Reading::absent(state, format!("{from}: {state}")),
    };
    match slot.kernel_state[of as usize].load(Relaxed) {
        1 => Reading::Value(slot.kernel[of as usize].load(Relaxed)),
        2 => absent(State::Absent),
        3 => absent(State::NoPermission),
        4 => absent(State::Disabled),
        5 => absent(State::NotSupported),
        _ => Reading::absent(State::Absent, "the task ended before it could read it"),
    }
}

fn kernel_counts(memory: &Memory, task: usize) -> KernelCounts {
    let reading = |of: Kernel| kernel_reading(memory, task, of);
    KernelCounts {
        nr_migrations: reading(Kernel::Migrations),
        voluntary_switches: reading(Kernel::VoluntarySwitches),
        involuntary_switches: reading(Kernel::InvoluntarySwitches),
        run_ns: reading(Kernel::RunNs),
        run_delay_ns: reading(Kernel::RunDelayNs),
        timeslices: reading(Kernel::Timeslices),
        preferred_node: reading(Kernel::PreferredNode).map(node_of_word),
        numa_faults: reading(Kernel::NumaFaults),
    }
}

/// Sums over all teams and CPUs: negative clock differences, looks on CPUs that are not allowed.
pub fn oddities(memory: &Memory) -> (u64, u64) {
    let layout: &Layout = &memory.layout;
    let mut sums = (0, 0);
    for shard in 0..layout.shard_cpus.len() {
        for team in 0..layout.teams.len() {
            let shard = memory.team_shard(shard, team);
            sums.0 += shard.negative.load(Relaxed);
            sums.1 += shard.strangers.load(Relaxed);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::layout::{Spec, Team};

    fn memory() -> Memory {
        let team = |receives| Team {
            receives,
            measures: Vec::new(),
            syncs: Vec::new(),
            pauses: Vec::new(),
            paces: 0,
        };
        let spec = Spec {
            cpus: Vec::new(),
            teams: vec![team(true), team(false)],
            n_tasks: 2,
            channels: Vec::new(),
            sync_bytes: Vec::new(),
            copies: 1,
            instances_apart: 1,
            n_instances: 1,
            spaces: 1,
            n_regions: 0,
            page_bytes: 4096,
        };
        Memory::create(Layout::new(spec)).unwrap().0
    }

    fn ids() -> [TaskId; 2] {
        [0, 1].map(|team| TaskId { team, copy: 0, index: 0 })
    }

    fn clock() -> Clock {
        Clock::calibrate(crate::sys::clock::Source::Monotonic)
    }

    #[test]
    fn a_number_of_the_kernel_keeps_its_state() {
        let check = |word: Option<State>, expected: Reading<u64>| {
            let memory = memory();
            let slot = memory.slot(1);
            slot.kernel[Kernel::Migrations as usize].store(7, Relaxed);
            if let Some(state) = word {
                slot.kernel_state[Kernel::Migrations as usize].store(state_word(state), Relaxed);
            }
            let got = tasks(&memory, &ids(), clock()).remove(1).kernel.nr_migrations;
            assert_eq!(got, expected, "{word:?}");
        };
        let absent =
            |state: State| Reading::absent(state, format!("/proc/thread-self/sched: {state}"));
        check(Some(State::Ok), Reading::Value(7));
        let missing = "/proc/thread-self/sched: a kernel before 6.15 without CONFIG_SCHED_DEBUG, \
                       or no /proc";
        check(Some(State::Absent), Reading::absent(State::Absent, missing));
        for state in [State::NoPermission, State::Disabled, State::NotSupported] {
            check(Some(state), absent(state));
        }
        let early = "the task ended before it could read it";
        check(None, Reading::absent(State::Absent, early));
    }

    #[test]
    fn no_preferred_node_is_an_answer() {
        for node in [None, Some(NodeId(0)), Some(NodeId(1023))] {
            assert_eq!(node_of_word(node_word(node)), node);
        }
        let memory = memory();
        memory.slot(0).kernel_state[Kernel::PreferredNode as usize]
            .store(state_word(State::Ok), Relaxed);
        let of = |task: usize| tasks(&memory, &ids(), clock()).remove(task).kernel.preferred_node;
        assert_eq!(of(0), Reading::Value(None));
        assert_eq!(of(1).state(), State::Absent);
    }

    #[test]
    fn only_who_checked_out_has() {
        let memory = memory();
        for state in [TaskState::Absent, TaskState::Running, TaskState::Leaving, TaskState::Killed]
        {
            memory.slot(0).state.store(state as u32, Relaxed);
            assert!(!tasks(&memory, &ids(), clock())[0].checked_out, "{state:?}");
        }
        let out = TaskState::CheckedOut as u32;
        memory.slot(0).state.store(out, Relaxed);
        let checked_out: Vec<bool> =
            tasks(&memory, &ids(), clock()).iter().map(|it| it.checked_out).collect();
        assert_eq!(checked_out, [true, false]);
    }

    #[test]
    fn nothing_recorded_is_no_series() {
        assert_eq!(series(&memory(), &ids()), []);
    }
}
