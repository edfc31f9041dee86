//! One task: made ready, through its steps, checked out.
//!
//! This is the one place where a wakeup is defined. The waker stamps, then wakes; the wakee notes
//! the time, waits, and when its wait has returned reads the clock first of all: the difference to
//! the stamp is the wakeup latency if the stamp is not older than the wakee's note, else the
//! message was found ready. In the interval are the waker's system call up to the wake, the choice
//! of a CPU, IPI and idle exit, the run delay, and the wakee's return to user space. Must not know:
//! what kinds of channel there are, who created the task.

use super::door::{self, Join};
use super::failure::{self, AT_START, Failed, Tried};
use super::gate::TaskGate;
use super::program::{Channels, Ends, Program, Step, take_turn};
use crate::base::{CpuList, Random, Reading, State};
use crate::host::numa::TaskNuma;
use crate::host::task;
use crate::record::Recorder;
use crate::record::gather::{node_word, state_word};
use crate::record::memory::{Kernel, Memory, Phase, TaskState};
use crate::record::recorder::Since;
use crate::record::stamp::Stamp;
use crate::step::channel::{Channel, Hitch};
use crate::step::memory::{self, Span};
use crate::step::work::{self, Tools};
use crate::sys::policy::{Policy, with_thread_policy};
use crate::sys::scheduling::{self, Attributes};
use crate::sys::thread::Seeds;
use crate::sys::usage::{Of, Usage, of_thread_now, usage};
use crate::sys::{Errno, clock, fd, raw, thread};
use std::os::fd::RawFd;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

/// All that a task needs, prepared by whoever creates it and on cache lines of its own: a worker
/// neither allocates nor frees.
#[repr(align(128))]
pub(super) struct Worker<'a> {
    pub task: usize,
    pub team: usize,
    pub name: String,
    pub program: Program<'a>,
    pub channels: &'a Channels<'a>,
    pub recorder: Recorder<'a>,
    pub memory: &'a Memory,
    pub random: Random,
    /// When the request arrived that the task is at (ticks); 0 if that is not known.
    pub origin: u64,
    pub clock: clock::Clock,
    pub rounds_per_us: u64,
    pub attributes: Attributes,
    /// Where it may run; `None`: wherever its creator may.
    pub cpus: Option<CpuList>,
    /// Where it begins, before it may run on `cpus`, which it then has.
    pub start_cpus: Option<CpuList>,
    /// How late its sleeps may end; `None`: as its creator's.
    pub timer_slack_ns: Option<u64>,
    /// Whether its steps start over until the window ends.
    pub starts_over: bool,
    pub background: bool,
    /// `None`: a step starts it.
    pub gate: Option<TaskGate>,
    /// An eventfd that wakes the coordinator.
    pub event: RawFd,
    /// Memory that it touches first, with its policy meanwhile.
    pub touches: Vec<(Span<'a>, Policy)>,
    pub seeds: &'a Seeds,
    /// Tasks that have not done their steps, by copy and team; and which of these is its own.
    pub at_work: &'a [AtomicU32],
    pub own_at_work: usize,
}

/// Why a task stops before its last step.
pub(super) enum Stop {
    /// The window is over.
    Over,
    Failed(Failed),
}

impl Stop {
    fn at_start(tried: Tried) -> impl Fn(Errno) -> Stop {
        move |errno| Stop::Failed(Failed { op: AT_START, tried, errno })
    }

    /// A step that failed.
    pub(super) fn at(step: usize, tried: Tried) -> impl Fn(Errno) -> Stop {
        move |errno| Stop::Failed(Failed { op: step as u32, tried, errno })
    }
}

impl thread::Task for Worker<'_> {
    /// The task's whole life.
    fn run(&mut self) {
        let slot = self.recorder.slot();
        let (pid, tid) = thread::ids();
        slot.pid.store(pid, Relaxed);
        slot.tid.store(tid, Relaxed);
        slot.state.store(TaskState::Running as u32, Release);
        let result = self.start().and_then(|()| self.steps());
        if let Err(Stop::Failed(failed)) = result {
            self.announce(failed);
        }
        if self.gate.is_none() {
            door::done(&self.at_work[self.own_at_work]);
        }
        if !self.background && self.memory.control().n_foreground.fetch_sub(1, AcqRel) == 1 {
            self.end_window();
            self.wake_coordinator();
        }
        slot.state.store(TaskState::Leaving as u32, Release);
        // Before the wait for the end adds one.
        let switches = usage(Of::Thread);
        let phase = &self.memory.control().phase;
        door::wait_for_end(phase);
        self.keep_kernel_counts(switches);
        slot.state.store(TaskState::CheckedOut as u32, Release);
        door::release(phase, 1);
    }
}

impl Worker<'_> {
    /// Attributes first, so that the task waits at the gate as it will run.
    fn start(&mut self) -> Result<(), Stop> {
        thread::set_name(&self.name);
        if let Some(ns) = self.timer_slack_ns {
            thread::set_timer_slack(ns);
        }
        let prepared = self.prepare();
        if !(self.touches.is_empty() && self.program.usings.is_empty()) {
            self.keep_delay();
        }
        // Also a task that failed is waited for at the gate, which its failure keeps shut if it is
        // known by then.
        if let Err(Stop::Failed(failed)) = prepared {
            self.announce(failed);
        }
        let used = of_thread_now();
        let [user, sys] = &self.recorder.slot().ready;
        user.store(used.user_ns, Relaxed);
        sys.store(used.sys_ns, Relaxed);
        let over = || self.recorder.phase() == Phase::After;
        if let Some(gate) = self.gate {
            gate.ready(over).map_err(Stop::at_start(Tried::Write))?;
        }
        prepared?;
        if let Some(gate) = self.gate {
            gate.wait().map_err(Stop::at_start(Tried::WaitAtGate))?;
        }
        if self.recorder.phase() == Phase::After {
            // The gate was opened to send everybody home.
            return Err(Stop::Over);
        }
        self.recorder.begin();
        if let (Some(_), Some(cpus)) = (&self.start_cpus, &self.cpus) {
            scheduling::set_affinity(cpus).map_err(Stop::at_start(Tried::SetAffinity))?;
        }
        Ok(())
    }

    fn prepare(&mut self) -> Result<(), Stop> {
        if let Some(cpus) = self.start_cpus.as_ref().or(self.cpus.as_ref()) {
            scheduling::set_affinity(cpus).map_err(Stop::at_start(Tried::SetAffinity))?;
        }
        scheduling::set(&self.attributes).map_err(Stop::at_start(Tried::SetScheduling))?;
        let phase = &self.memory.control().phase;
        let mut between = |_| Phase::of(phase.load(Relaxed)) != Phase::After;
        for (span, policy) in &self.touches {
            let mut touch = || memory::first_touch(*span, &mut between);
            match policy {
                Policy::Default => drop(touch()),
                _ => drop(
                    with_thread_policy(policy, touch)
                        .map_err(Stop::at_start(Tried::SetMemoryPolicy))?,
                ),
            }
        }
        for using in &self.program.usings {
            using.prepare(&mut self.random, &mut between);
        }
        Ok(())
    }

    /// The step loop.
    fn steps(&mut self) -> Result<(), Stop> {
        let done = self.rounds();
        self.give_back();
        if done.is_ok() {
            self.leave_safepoints();
        }
        self.recorder.end();
        done
    }

    fn rounds(&mut self) -> Result<(), Stop> {
        loop {
            self.once()?;
            if !self.starts_over || self.recorder.phase() == Phase::After {
                return Ok(());
            }
        }
    }

    /// All steps from the first to the last.
    #[inline(always)]
    fn once(&mut self) -> Result<(), Stop> {
        let mut at = 0;
        while let Some(&step) = self.program.steps.get(at) {
            match step {
                Step::Send { ends, bytes } => self.send(at, ends, bytes)?,
                Step::Receive { ends, bytes } => self.receive(at, ends, bytes)?,
                Step::Loop { count: 0, end } => {
                    at = end;
                    continue;
                }
                Step::Loop { count, .. } => self.program.numbers[at] = count,
                Step::Forever => self.program.numbers[at] = u64::MAX,
                Step::Again { begin } => {
                    if self.recorder.phase() == Phase::After {
                        return Err(Stop::Over);
                    }
                    let left = &mut self.program.numbers[begin];
                    *left -= 1;
                    if *left > 0 {
                        at = begin;
                    }
                }
                Step::During { ns, .. } => {
                    self.program.numbers[at] = self.recorder.now() + self.clock.ticks(ns);
                }
                Step::AgainDuring { begin } => {
                    if self.recorder.phase() == Phase::After {
                        return Err(Stop::Over);
                    }
                    self.recorder.time_passed();
                    if self.recorder.now() < self.program.numbers[begin] {
                        at = begin;
                    }
                }
                Step::Use { using } => self.use_memory(using)?,
                Step::Meet { meet } => self.meet(at, meet)?,
                Step::Spawn { first, n } => self.spawn(at, first, n)?,
                Step::Join { at_work } => self.join(at, at_work)?,
                Step::Turn(turn) => {
                    at = self.turn(at, turn)?;
                    continue;
                }
                Step::Nothing => {}
                Step::Measure => self.program.numbers[at] = self.recorder.now(),
                Step::EndMeasure { begin, measure } => {
                    self.recorder.measured(measure, self.program.numbers[begin]);
                }
                Step::Work { kind, amount } => self.work(at, kind, amount)?,
            }
            at += 1;
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn work(&mut self, at: usize, kind: &work::Kind, amount: u64) -> Result<(), Stop> {
        if kind.sleeps {
            self.recorder.look(Since::Running);
        }
        let memory = self.memory;
        let over = || Phase::of(memory.control().phase.load(Relaxed)) == Phase::After;
        let (clock, rounds_per_us) = (self.clock, self.rounds_per_us);
        let done = (kind.perform)(amount, &Tools { clock, rounds_per_us, stop: &over });
        self.recorder.time_passed();
        self.recorder.look(if kind.sleeps { Since::Sleeping } else { Since::Running });
        if kind.flops > 0 {
            self.recorder.computed(amount, kind.flops);
        }
        done.map_err(Stop::at(at, Tried::Sleep))
    }

    #[inline(never)]
    fn use_memory(&mut self, using: usize) -> Result<(), Stop> {
        let recorder = &mut self.recorder;
        let mut since = recorder.pieces_begin();
        let using = &mut self.program.usings[using];
        let moved = using.moved;
        let mut goes_on = true;
        using.perform(&mut self.random, &mut |bytes| {
            goes_on = recorder.piece(moved, bytes, &mut since);
            goes_on
        });
        if goes_on { Ok(()) } else { Err(Stop::Over) }
    }

    #[cold]
    fn spawn(&mut self, at: usize, first: usize, n: usize) -> Result<(), Stop> {
        if self.recorder.phase() == Phase::After {
            // What began now would only be sent home.
            return Err(Stop::Over);
        }
        for task in first..first + n {
            // Before it is, so that the stall watch never sees one that is on its way as absent.
            self.memory.slot(task).state.store(TaskState::Starting as u32, Release);
            self.seeds.start(task).map_err(Stop::at(at, Tried::Spawn))?;
        }
        self.recorder.time_passed();
        self.recorder.look(Since::Running);
        Ok(())
    }

    /// Sleeps until the tasks of a team have done their steps.
    #[cold]
    fn join(&mut self, at: usize, at_work: usize) -> Result<(), Stop> {
        self.recorder.look(Since::Running);
        self.recorder.waits_at(at);
        let over = || self.recorder.phase() == Phase::After;
        let joined = door::join(&self.at_work[at_work], over);
        match joined.map_err(Stop::at(at, Tried::Join))? {
            Join::AllDone => {}
            Join::Over => return Err(Stop::Over),
        }
        self.recorder.goes_on();
        self.recorder.time_passed();
        self.recorder.look(Since::Sleeping);
        Ok(())
    }

    /// The instances that a step means this time: the first and how many.
    #[inline(always)]
    fn ends(&mut self, at: usize, ends: Ends) -> (usize, usize) {
        match ends {
            Ends::Each { first, n } => (first, n),
            Ends::Next { first, n } => {
                let which = take_turn(&mut self.program.numbers[at], n as u64);
                (first + which as usize, 1)
            }
            Ends::Any { first, n } => (first + self.random.below(n as u64) as usize, 1),
        }
    }

    #[inline(always)]
    fn send(&mut self, at: usize, ends: Ends, bytes: usize) -> Result<(), Stop> {
        let (first, n) = self.ends(at, ends);
        let channels = self.channels;
        self.recorder.waits_at(at);
        for end in &channels.ends[first..first + n] {
            let message = &mut self.program.buffer[..bytes];
            // Before it is: a part of it may be received, together with parts of others, whether or
            // not the rest still gets through.
            self.recorder.sent();
            let stamp = Stamp { origin: self.origin, ..self.recorder.stamp() };
            match &end.ring {
                None if self.program.origins => stamp.write_long(message),
                None => stamp.write(message),
                Some(ring) => ring.post(stamp),
            }
            while let Err(hitch) = end.channel.wake(message) {
                Self::hitch(self.recorder.phase(), at, hitch)?;
            }
            if end.wake_is == Since::Sleeping {
                self.recorder.look(Since::Sleeping);
            }
        }
        self.recorder.goes_on();
        Ok(())
    }

    #[inline(always)]
    fn receive(&mut self, at: usize, ends: Ends, bytes: usize) -> Result<(), Stop> {
        let (first, n) = self.ends(at, ends);
        let channels = self.channels;
        self.recorder.waits_at(at);
        for end in &channels.ends[first..first + n] {
            let message = &mut self.program.buffer[..bytes];
            self.recorder.look(Since::Running);
            let waiting_since = self.recorder.now();
            while let Err(hitch) = end.channel.wait(message) {
                Self::hitch(self.recorder.phase(), at, hitch)?;
            }
            let origins = self.program.origins;
            let mut stamp = None;
            self.recorder.received(waiting_since, |phase| {
                stamp = match &end.ring {
                    None if origins => Stamp::read_long(message),
                    None => Stamp::read(message),
                    Some(ring) => ring.take(phase),
                };
                stamp
            });
            if origins {
                self.note_origin(stamp);
            }
        }
        self.recorder.goes_on();
        Ok(())
    }

    /// A call that did not get its message through: whether that ends the task.
    #[cold]
    fn hitch(phase: Phase, at: usize, hitch: Hitch) -> Result<(), Stop> {
        if phase == Phase::After {
            // Nothing counts any more, not even that others left first.
            return Err(Stop::Over);
        }
        match Failed::of_hitch(at, hitch) {
            Some(failed) => Err(Stop::Failed(failed)),
            None => Ok(()),
        }
    }

    /// The last one of the foreground has done its steps, and nothing counts any more: the
    /// coordinator would only know once it has its turn.
    fn end_window(&self) {
        let control = self.memory.control();
        if self.recorder.phase() == Phase::Window {
            control.window.end.store(self.clock.now(), Relaxed);
            control.phase.store(Phase::After as u32, Release);
        }
    }

    /// Makes a failure known, which ends the run.
    fn announce(&self, failed: Failed) {
        failed.store(self.recorder.slot());
        failure::announce(self.memory, self.task);
        self.wake_coordinator();
    }

    fn wake_coordinator(&self) {
        // An eventfd takes eight bytes at any time; without it the coordinator would wait for its
        // time limit.
        while raw::write(self.event, &1u64.to_ne_bytes()) == Err(Errno::INTERRUPTED) {}
    }

    /// How long this task has waited for a CPU so far: touching memory takes long enough to matter.
    #[inline(never)]
    fn keep_delay(&self) {
        let mut buffer = [0; 128];
        let text = read_text(c"/proc/thread-self/schedstat", &mut buffer);
        if let Reading::Value(schedstat) = text.and_then(task::parse_schedstat) {
            self.recorder.slot().ready_delay.store(schedstat.delay_ns, Relaxed);
        }
    }

    /// The kernel's own numbers of this task, which are gone when it is. Not inlined, so that its
    /// buffer is no part of the stack that a task touches on its way to the gate.
    #[inline(never)]
    fn keep_kernel_counts(&self, switches: Usage) {
        let slot = self.recorder.slot();
        let store = |of: Kernel, reading: Reading<u64>| {
            slot.kernel[of as usize].store(reading.value().copied().unwrap_or(0), Relaxed);
            slot.kernel_state[of as usize].store(state_word(reading.state()), Relaxed);
        };
        // A sched file is some 60 lines of 68 bytes where schedstats are on, NUMA's at its end.
        let mut buffer = [0; 5120];
        // The first thread of a process has its files higher up, where they are found faster.
        let is_process = slot.pid.load(Relaxed) == slot.tid.load(Relaxed);
        let (sched, schedstat) = match is_process {
            true => (c"/proc/self/sched", c"/proc/self/schedstat"),
            false => (c"/proc/thread-self/sched", c"/proc/thread-self/schedstat"),
        };
        let text = read_text(sched, &mut buffer);
        store(Kernel::Migrations, text.clone().and_then(task::nr_migrations));
        let numa = text.map(TaskNuma::parse);
        store(Kernel::ScanSeq, numa.clone().and_then(|it| it.scan_seq));
        store(Kernel::PreferredNode, numa.clone().and_then(|it| it.preferred).map(node_word));
        store(Kernel::NumaFaults, numa.and_then(|it| it.faults));
        store(Kernel::VoluntarySwitches, Reading::Value(switches.voluntary_switches));
        store(Kernel::InvoluntarySwitches, Reading::Value(switches.involuntary_switches));
        let schedstat = read_text(schedstat, &mut buffer).and_then(task::parse_schedstat);
        store(Kernel::RunNs, schedstat.clone().map(|it| it.run_ns));
        store(Kernel::RunDelayNs, schedstat.clone().map(|it| it.delay_ns));
        store(Kernel::Timeslices, schedstat.map(|it| it.timeslices));
    }
}

/// A file of /proc as text, without allocating.
fn read_text<'a>(path: &std::ffi::CStr, buffer: &'a mut [u8]) -> Reading<&'a str> {
    match fd::read_start(path, buffer) {
        Ok(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Reading::Value(text),
            Err(_) => Reading::absent(State::NotSupported, String::new()),
        },
        Err(Errno(libc::EACCES | libc::EPERM)) => {
            Reading::absent(State::NoPermission, String::new())
        }
        Err(_) => Reading::absent(State::Absent, String::new()),
    }
}
