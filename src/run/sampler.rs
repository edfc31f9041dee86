//! Looks at where tasks run and where pages are, at intervals, from the coordinator.
//!
//! No thread of its own: the coordinator is awake then instead of asleep. Pages are asked for by
//! move_pages(2) on a fixed sample of each region, tasks by the CPU that each keeps in its slot.
//! Must not know: what the looks are for.

use super::roster;
use crate::base::{Random, Reading, State};
use crate::host::Root;
use crate::host::numa::{TaskNuma, counters};
use crate::plan::{Plan, Sharing};
use crate::record::Memory;
use crate::record::memory::TaskState;
use crate::record::timeline::{Growth, InstanceSample, Pages, Sample, Timeline};
use crate::sys::Errno;
use crate::sys::clock;
use crate::sys::policy::nodes_of;
use crate::sys::shared::page_bytes;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Time between two looks (ns).
const INTERVAL_NS: u64 = 250_000_000;
/// Pages that are asked for in each region.
const PAGES: u64 = 256;
/// When there are so many looks, every other one is dropped and the interval doubled.
const LOOKS_MAX: usize = 2_000;

/// The looks of a run so far.
pub(super) struct Sampler<'a> {
    plan: &'a Plan,
    memory: &'a Memory,
    /// By task.
    instances: Vec<u32>,
    /// Position in the plan's nodes by CPU number.
    node_of_cpu: Vec<usize>,
    begun_ns: u64,
    next_ns: u64,
    timeline: Timeline,
    vmstat: counters::Counters,
    scan_seq: Vec<Reading<u64>>,
    /// Room for one region's addresses and answers.
    addresses: Vec<usize>,
    status: Vec<i32>,
}

impl<'a> Sampler<'a> {
    /// `None` for a plan without memory. Called when all are at the gate.
    pub(super) fn new(plan: &'a Plan, memory: &'a Memory) -> Option<Sampler<'a>> {
        if plan.memory.is_empty() {
            return None;
        }
        let largest = plan.cpus.last().map_or(0, |cpu| cpu.id.0 as usize);
        let mut node_of_cpu = vec![0; largest + 1];
        for cpu in &plan.cpus {
            let node = plan.nodes.iter().position(|node| node.id == cpu.place.node);
            node_of_cpu[cpu.id.0 as usize] = node.unwrap_or(0);
        }
        let now = clock::monotonic_ns();
        let mut sampler = Sampler {
            plan,
            memory,
            instances: roster::instances(plan),
            node_of_cpu,
            begun_ns: now,
            next_ns: now,
            timeline: Timeline { interval_ns: INTERVAL_NS, ..Timeline::default() },
            vmstat: counters::vmstat(&Root::default()),
            scan_seq: Vec::new(),
            addresses: Vec::with_capacity(PAGES as usize),
            status: Vec::with_capacity(PAGES as usize),
        };
        sampler.scan_seq = (0..plan.instances).map(|it| sampler.scan_seq_of(it)).collect();
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
        let instances = (0..self.plan.instances).map(|instance| self.instance(instance)).collect();
        self.timeline.samples.push(Sample { at_ns: now - self.begun_ns, instances });
        if self.timeline.samples.len() >= LOOKS_MAX {
            let mut keep = false;
            self.timeline.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.timeline.interval_ns *= 2;
        }
        self.next_ns = now + self.timeline.interval_ns;
        self.timeline.cost_ns += clock::thread_cpu_ns() - cpu_ns;
    }

    /// What was seen, and the counters' growth until now.
    pub(super) fn into_parts(self) -> (Timeline, Vec<Growth>, Vec<Reading<u64>>) {
        let grown = counters::grown(&self.vmstat, &counters::vmstat(&Root::default()));
        let growth = |(key, value): (&str, Reading<u64>)| Growth { key: key.to_owned(), value };
        (self.timeline, grown.into_iter().map(growth).collect(), self.scan_seq)
    }

    fn instance(&mut self, instance: u32) -> InstanceSample {
        let mut tasks = vec![0; self.plan.nodes.len()];
        for (task, _) in self.instances.iter().enumerate().filter(|(_, it)| **it == instance) {
            let slot = self.memory.slot(task);
            let running = slot.state.load(Acquire) == TaskState::Running as u32;
            let cpu = slot.cpu.load(Relaxed) as usize;
            if let (true, Some(cpu)) = (running, cpu.checked_sub(1))
                && let Some(node) = self.node_of_cpu.get(cpu)
            {
                tasks[*node] += 1;
            }
        }
        let regions = (0..self.plan.memory.len()).map(|at| self.region(instance, at)).collect();
        InstanceSample { tasks, regions }
    }

    /// The process of an instance as move_pages and /proc know it; 0 for our own.
    fn pid(&self, instance: u32) -> u32 {
        if !self.plan.has_processes() {
            return 0;
        }
        let first = self.instances.iter().position(|it| *it == instance);
        first.map_or(0, |task| self.memory.slot(task).pid.load(Relaxed))
    }

    fn region(&mut self, instance: u32, index: usize) -> Reading<Pages> {
        let region = &self.plan.memory[index];
        let address = self.memory.region_address(instance as usize, index).load(Acquire);
        if address == 0 {
            return Reading::absent(State::Absent, "the region is not mapped");
        }
        if !self.plan.own_processes
            && self.plan.has_processes()
            && region.sharing == Sharing::Process
        {
            return Reading::absent(State::NotSupported, "each process has a region of its own");
        }
        let n_pages = region.bytes() / page_bytes() as u64;
        let n = n_pages.min(PAGES);
        self.addresses.clear();
        // One somewhere in each of n equal parts, always the same ones: even distances would see
        // one node of an interleaved region.
        let mut random = Random::new(0, index as u64);
        let part = (n_pages / n).max(1);
        let pages = (0..n).map(|at| at * n_pages / n + random.below(part));
        self.addresses.extend(pages.map(|page| address as usize + page as usize * page_bytes()));
        self.status.clear();
        self.status.resize(self.addresses.len(), 0);
        match nodes_of(self.pid(instance), &self.addresses, &mut self.status) {
            Ok(()) => Reading::Value(self.pages()),
            Err(errno @ Errno(libc::EPERM | libc::EACCES)) => {
                Reading::absent(State::NoPermission, format!("move_pages: {errno}"))
            }
            Err(errno) => Reading::absent(State::Absent, format!("move_pages: {errno}")),
        }
    }

    fn pages(&self) -> Pages {
        let mut pages = Pages { by_node: vec![0; self.plan.nodes.len()], absent: 0 };
        for status in &self.status {
            let node =
                self.plan.nodes.iter().position(|node| i64::from(node.id.0) == i64::from(*status));
            match node {
                Some(node) => pages.by_node[node] += 1,
                None => pages.absent += 1,
            }
        }
        pages
    }

    /// Passes of the NUMA balancer over an instance's address space so far.
    fn scan_seq_of(&self, instance: u32) -> Reading<u64> {
        let path = match self.pid(instance) {
            0 => "/proc/self/sched".to_owned(),
            pid => format!("/proc/{pid}/sched"),
        };
        Root::default().text(&path).and_then(|text| TaskNuma::parse(&text).scan_seq)
    }
}
