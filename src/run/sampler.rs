//! Looks at where tasks run and where pages are, at intervals, from the coordinator.
//!
//! No thread of its own: the coordinator is awake then instead of asleep. Pages are asked for by
//! `residence.rs`, tasks are known by the CPU that each keeps in its slot. Must not know: what the
//! looks are for.

use super::charges::{self, Charges};
use super::residence::{Place, Residence};
use super::roster;
use crate::base::{Reading, State};
use crate::host::Root;
use crate::host::numa::{TaskNuma, counters};
use crate::plan::{Form, Owner, Plan, Sharing, Space, Usage};
use crate::record::Memory;
use crate::record::memory::TaskState;
use crate::record::timeline::{CgroupRecord, Growth, InstanceSample, Pages, Sample, Timeline};
use crate::sys::clock;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Time between two looks (ns).
const INTERVAL_NS: u64 = 250_000_000;
/// The same right behind the gate, until tasks of all instances were seen at their steps, but not
/// for longer than the other: else it would not be known for so long where they began.
const BEGIN_NS: u64 = 4_000_000;
/// A look that took long puts the next one off, so that looking takes at most one part in so many
/// of the coordinator's time: numa_maps goes over all page tables.
const COST_PARTS: u64 = 100;
/// When there are so many looks, every other one is dropped and the interval doubled.
const LOOKS_MAX: usize = 2_000;

/// The looks of a run so far.
pub(super) struct Sampler<'a> {
    plan: &'a Plan,
    memory: &'a Memory,
    /// Of each task.
    instances: Vec<u32>,
    spaces: Vec<Space>,
    /// By address space: a task in it.
    tasks: Vec<usize>,
    /// Position in the plan's nodes by CPU number.
    node_of_cpu: Vec<usize>,
    /// `None` before the first look.
    gate_ns: Option<u64>,
    next_ns: u64,
    timeline: Timeline,
    vmstat: counters::Counters,
    scan_seq: Vec<Reading<u64>>,
    /// By region.
    usages: Vec<Usage>,
    residence: Residence,
    charges: Charges,
}

/// What the looks of a run have seen.
#[derive(Default)]
pub(super) struct Seen {
    pub timeline: Timeline,
    /// The counters' growth.
    pub vmstat: Vec<Growth>,
    /// By address space, before the first look.
    pub scan_seq: Vec<Reading<u64>>,
    /// By instance; empty without cgroups.
    pub cgroups: Vec<CgroupRecord>,
}

impl<'a> Sampler<'a> {
    /// `None` for a plan without memory. Called when all are at the gate, with the directories of
    /// the instances' cgroups. The first look is made here: on a busy machine the next one may be
    /// late, and pages that were in place at the gate must not be seen first where they went to.
    pub(super) fn new(
        plan: &'a Plan,
        memory: &'a Memory,
        cgroups: &[String],
    ) -> Option<Sampler<'a>> {
        if plan.memory.is_empty() {
            return None;
        }
        let largest = plan.cpus.last().map_or(0, |cpu| cpu.id.0 as usize);
        let mut node_of_cpu = vec![0; largest + 1];
        for cpu in &plan.cpus {
            let node = plan.nodes.iter().position(|node| node.id == cpu.place.node);
            node_of_cpu[cpu.id.0 as usize] = node.unwrap_or(0);
        }
        let mut sampler = Sampler {
            plan,
            memory,
            instances: roster::instances(plan),
            spaces: plan.spaces(),
            tasks: inhabitants(plan),
            node_of_cpu,
            gate_ns: None,
            next_ns: 0,
            timeline: Timeline { interval_ns: INTERVAL_NS, ..Timeline::default() },
            vmstat: counters::vmstat(&Root::default()),
            scan_seq: Vec::new(),
            usages: plan.usages(),
            residence: Residence::new(plan.nodes.iter().map(|node| node.id).collect()),
            charges: Charges::begin(Root::default(), cgroups),
        };
        sampler.scan_seq = (0..plan.n_spaces()).map(|it| sampler.scan_seq_of(it)).collect();
        sampler.look();
        // Where a look costs little, the next one is at the gate; no task ran at this one, which so
        // is no cost of the window.
        let now = clock::monotonic_ns();
        if sampler.timeline.cost_ns * COST_PARTS < BEGIN_NS {
            sampler.next_ns = now;
        }
        sampler.timeline.cost_ns = 0;
        sampler.gate_ns = Some(now);
        Some(sampler)
    }

    /// Time until the next look (ns).
    pub(super) fn due_in_ns(&self) -> u64 {
        self.next_ns.saturating_sub(clock::monotonic_ns())
    }

    /// Looks if it is time to.
    pub(super) fn look_if_due(&mut self) {
        if self.due_in_ns() == 0 {
            self.look();
        }
    }

    /// Looks now.
    pub(super) fn look(&mut self) {
        let cpu_ns = clock::thread_cpu_ns();
        let now = clock::monotonic_ns();
        self.residence.look_begins();
        let instances: Vec<InstanceSample> =
            (0..self.plan.instances).map(|instance| self.instance(instance)).collect();
        let at_ns = self.gate_ns.map_or(0, |gate_ns| now - gate_ns);
        let have_begun = instances.iter().all(InstanceSample::has_tasks);
        self.timeline.samples.push(Sample { at_ns, instances });
        if self.timeline.samples.len() >= LOOKS_MAX {
            let mut keep = false;
            self.timeline.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.timeline.interval_ns *= 2;
        }
        let cost_ns = clock::thread_cpu_ns() - cpu_ns;
        let interval_ns = match have_begun || at_ns >= INTERVAL_NS {
            true => self.timeline.interval_ns,
            false => BEGIN_NS,
        };
        self.next_ns = now + interval_ns.max(cost_ns * COST_PARTS);
        self.timeline.cost_ns += cost_ns;
    }

    /// To be called when all tasks have ended.
    pub(super) fn end(self) -> Seen {
        let timeline = Timeline { refused: self.residence.refused(), ..self.timeline };
        let vmstat = charges::grown(&self.vmstat, &counters::vmstat(&Root::default()));
        Seen { timeline, vmstat, scan_seq: self.scan_seq, cgroups: self.charges.end() }
    }

    fn instance(&mut self, instance: u32) -> InstanceSample {
        let mut tasks = vec![0; self.plan.nodes.len()];
        for (task, _) in self.instances.iter().enumerate().filter(|(_, it)| **it == instance) {
            if let Some(node) = self.node_of(task) {
                tasks[node] += 1;
            }
        }
        let regions = (0..self.plan.memory.len()).map(|at| self.region(instance, at)).collect();
        let sample = InstanceSample { tasks, regions };
        if sample.has_tasks() {
            self.charges.look(instance as usize);
        }
        sample
    }

    /// The process of an address space as move_pages and /proc know it; 0 for our own.
    fn pid(&self, space: usize) -> u32 {
        match self.plan.has_processes() {
            true => self.memory.slot(self.tasks[space]).pid.load(Relaxed),
            false => 0,
        }
    }

    /// The region as an instance has it: in all its processes, if each of them has its own.
    fn region(&mut self, instance: u32, index: usize) -> Reading<Pages> {
        let plan = self.plan;
        let owns = |team: usize| plan.teams[team].uses(index) && plan.is_own(team, index);
        if (0..plan.teams.len()).any(owns) {
            return Reading::absent(State::NotSupported, "each process has a region of its own");
        }
        let mapped = |space: &Space| {
            let address = self.memory.region_address(space.number, index).load(Acquire);
            (address != 0).then(|| (self.pid(space.number), address))
        };
        let spaces = self.spaces.iter().filter(|space| space.instance == instance);
        let having = spaces.filter(|space| plan.has(space.process, index));
        let mapped: Vec<(u32, u64)> = having.filter_map(mapped).collect();
        let homes = self.homes(instance, index);
        // What processes share is at one address, since they have it from who forked them.
        let together: Vec<&[(u32, u64)]> = match plan.memory[index].sharing {
            Sharing::Process => mapped.chunks(1).collect(),
            // Copies beside each other would tell the same.
            Sharing::Instance | Sharing::All => mapped.chunks(plan.n_processes()).take(1).collect(),
        };
        let mut all: Option<Pages> = None;
        for processes in together {
            let pids: Vec<u32> = processes.iter().map(|(pid, _)| *pid).collect();
            let place = self.place(index, processes[0].1);
            match (self.residence.pages(&pids, &place, &homes), &mut all) {
                (Reading::Value(pages), Some(all)) => all.add(&pages),
                (Reading::Value(pages), all) => *all = Some(pages),
                (absent, _) => return absent,
            }
        }
        match all {
            Some(pages) => Reading::Value(pages),
            None => Reading::absent(State::Absent, "the region is not mapped"),
        }
    }

    fn place(&self, index: usize, address: u64) -> Place {
        let region = &self.plan.memory[index];
        let (slice_bytes, n_slices) = (region.slice_bytes, u64::from(region.count));
        Place { address, slice_bytes, n_slices, seed: index as u64 }
    }

    /// By slice, the node of the task that it belongs to, if that runs.
    fn homes(&self, instance: u32, index: usize) -> Vec<Option<usize>> {
        let Usage::Slices(owners) = &self.usages[index] else { return Vec::new() };
        // An instance whose slices belong to tasks has one copy.
        let task =
            |owner: Owner| roster::first_task(self.plan, instance, owner.team) + owner.me as usize;
        let node = |owner: &Option<Owner>| self.node_of(task((*owner)?));
        owners.iter().map(node).collect()
    }

    /// The node of the CPU that a task last ran on, between its first step and its last.
    fn node_of(&self, task: usize) -> Option<usize> {
        let slot = self.memory.slot(task);
        let running = slot.state.load(Acquire) == TaskState::Running as u32;
        let cpu = slot.cpu.load(Relaxed).checked_sub(1).filter(|_| running)?;
        self.node_of_cpu.get(cpu as usize).copied()
    }

    /// Passes of the NUMA balancer over an address space so far.
    fn scan_seq_of(&self, space: usize) -> Reading<u64> {
        let path = match self.pid(space) {
            0 => "/proc/self/sched".to_owned(),
            pid => format!("/proc/{pid}/sched"),
        };
        Root::default().text(&path).and_then(|text| TaskNuma::parse(&text).scan_seq)
    }
}

/// A task of each address space: a thread if there is one, since a process has memory for itself.
fn inhabitants(plan: &Plan) -> Vec<usize> {
    let first = |space: Space| {
        let is_thread = |team: &&usize| plan.teams[**team].form == Form::Threads;
        let thread = space.teams.iter().find(is_thread);
        let team = thread.or(space.teams.first()).copied().unwrap_or(0);
        roster::first_task(plan, space.copies.start, team)
    };
    plan.spaces().into_iter().map(first).collect()
}
