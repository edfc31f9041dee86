//! The thread that called: makes everything ready, opens the gate, keeps the time, ends the run.
//!
//! It sleeps through warm-up and window, but for looks at where tasks and pages are, and whether
//! anybody can go on. Must not know: what tasks do.

mod harvest;
mod stop;

use super::areas::{AreaError, Areas};
use super::cgroups::Cgroups;
use super::claims::Claims;
use super::gate::{Gate, Readiness};
use super::leader::{self, Could};
use super::program::Channels;
use super::sampler::Sampler;
use super::seconds::Seconds;
use super::stage::{Pace, Stage};
use super::watch::Watch;
use super::worker::Worker;
use super::{Control, Progress, RunError, cost, crew, leftovers, roster};
use crate::base::Reading;
use crate::host::Root;
use crate::host::busy::BusyTimes;
use crate::host::oom::OomKills;
use crate::plan::{ChannelPlan, Form, Plan, Sharing, Space};
use crate::record::Layout;
use crate::record::memory::{Memory, Phase, TaskState};
use crate::record::recorder::Recorders;
use crate::record::recording::{End, HarnessCost, Recording};
use crate::sys::clock::{self, Clock, Source};
use crate::sys::cpu::CurrentCpu;
use crate::sys::event::{self, Woken};
use crate::sys::fd::{self, EventCount};
use crate::sys::rights::OpenFiles;
use crate::sys::scheduling::{self, Attributes, Hastened};
use crate::sys::shared::page_bytes;
use crate::sys::signal::{self, Blocked, Reporting};
use crate::sys::thread::Seeds;
use crate::sys::usage::{Of, Usage, usage};
use crate::sys::{Errno, process, raw, thread};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

pub(super) fn run(
    plan: &Plan,
    source: Source,
    control: &Control<'_>,
) -> Result<Recording, RunError> {
    if plan.has_processes() && !leader::can_lead() {
        return Err(RunError::NoLeader);
    }
    if let Some(own) = &plan.own_cgroup {
        leftovers::remove(Path::new(own));
    }
    let _limit = OpenFiles::allow(plan.needs.open_files)
        .map_err(RunError::system("raising the limit on open files"))?;
    let pace = Pace::measure(plan, Clock::calibrate(source));
    let harness = cost::measure(plan, pace.clock)?;
    let (memory, unbound) = Memory::create(Layout::new(plan.layout_spec(page_bytes())))
        .map_err(RunError::system("shared memory for recording"))?;
    let foreground = plan.teams.iter().filter(|team| !team.background);
    let mut n_foreground: u32 = foreground.map(|team| team.size * plan.copies).sum();
    if plan.duration_ns.is_some() {
        // Where all teams are in the background, nobody counts down: the time alone ends the run.
        n_foreground = n_foreground.max(1);
    }
    memory.control().n_foreground.store(n_foreground, Relaxed);
    signal::be_interruptible().map_err(RunError::system("sigaction"))?;

    let event = fd::eventfd(EventCount::Sum).map_err(RunError::system("eventfd"))?;
    let _reporting = Reporting::to(&event).map_err(RunError::system("eventfd"))?;
    let gate = Gate::new().map_err(RunError::system("pipes of the start gate"))?;
    let mut coordinator = Coordinator {
        plan,
        memory: &memory,
        pace,
        control,
        event,
        harness,
        notes: unbound.into_iter().collect(),
        start_ns: 0,
        gate_ns: 0,
        used_at_gate: Usage::default(),
        end: End::Done,
        sampler: None,
        busy: BusyTimes::read(&Root::default()),
        oom_kills: OomKills::read(&Root::default()),
        watch: Watch::new(plan, &memory),
        cgroups: Vec::new(),
    };
    if plan.has_processes() { coordinator.processes(gate) } else { coordinator.threads(gate) }
}

struct Coordinator<'a> {
    plan: &'a Plan,
    memory: &'a Memory,
    pace: Pace,
    control: &'a Control<'a>,
    event: OwnedFd,
    harness: HarnessCost,
    notes: Vec<String>,
    /// From the first task's creation until all were ready.
    start_ns: u64,
    /// When the gate was opened (CLOCK_MONOTONIC).
    gate_ns: u64,
    /// What this process had used right before.
    used_at_gate: Usage,
    end: End,
    /// From the gate on, for plans with memory.
    sampler: Option<Sampler<'a>>,
    /// When the gate was opened.
    busy: BusyTimes,
    /// Before any task was created.
    oom_kills: OomKills,
    watch: Watch<'a>,
    /// Directories of the instances' cgroups.
    cgroups: Vec<String>,
}

/// Who the tasks are, for getting them out of their waits.
#[derive(Clone, Copy)]
enum Tasks<'c, 'a> {
    Threads(&'c [Channels<'a>]),
    /// The leader holds the other end of this pipe until it has reaped everybody.
    Processes {
        ready: &'c OwnedFd,
    },
}

/// What ended a wait of the coordinator.
enum Ended {
    Done,
    TimeUp,
    Interrupted(i32),
    /// The task of this number failed.
    Failed(usize),
    /// Nobody can go on.
    Stalled,
    LeaderGone,
}

impl<'a> Coordinator<'a> {
    /// All tasks as threads of this process.
    fn threads(&mut self, gate: Gate) -> Result<Recording, RunError> {
        let (plan, memory) = (self.plan, self.memory);
        let recorders = Recorders::new(memory, self.pace.clock, CurrentCpu::find());
        let (seeds, at_work) = (Seeds::default(), roster::all_at_work(plan));
        let stage = Stage {
            plan,
            memory,
            recorders: &recorders,
            pace: self.pace,
            gate: gate.for_tasks(),
            event: self.event.as_raw_fd(),
            seeds: &seeds,
            at_work: &at_work,
            claims: Claims::of(plan),
        };
        // All in one address space.
        let Some(space) = plan.spaces().into_iter().next() else {
            return Err(RunError::system("a plan without tasks")(Errno(libc::EINVAL)));
        };
        let areas = self.map_areas(&space)?;
        let open = |copy| {
            Channels::open(plan, memory, copy)
                .map_err(|(channel, error)| self.not_opened(channel, error.call, error.errno))
        };
        let channels: Vec<Channels<'_>> =
            space.copies.clone().map(open).collect::<Result<_, _>>()?;
        let tasks = Tasks::Threads(&channels);
        let begun = clock::monotonic_ns();
        let mut workers: Vec<_> =
            crew::workers(&stage, &space, &channels, &areas, Form::Threads).collect();
        thread::crew(&seeds, |crew| {
            let ran = self
                .start_threads(crew, &mut workers)
                .and_then(|()| self.wait_ready(&gate.ready_out, begun))
                .and_then(|()| self.through(&gate.go_in, tasks));
            if ran.is_err() {
                self.abandon(&gate.go_in, tasks);
            }
            crew.join();
            ran
        })?;
        let elapsed_ns = clock::monotonic_ns() - self.gate_ns;
        let used = usage(Of::Process).since(self.used_at_gate);
        Ok(self.recording(elapsed_ns, Reading::Value(used)))
    }

    /// The regions of our own address space, with what the main thread touches first.
    fn map_areas(&self, space: &Space) -> Result<Areas, RunError> {
        let plan = self.plan;
        let mapped = Areas::shared(plan).and_then(|shared| {
            let areas = shared.of_instance(plan, space.instance)?.own(plan, space)?;
            areas.tell(plan, self.memory, space.number);
            let over = || signal::stop_signal().is_some();
            for sharing in [Sharing::All, Sharing::Instance, Sharing::Process] {
                areas.touch(plan, space.instance, sharing, &over)?;
            }
            Ok(areas)
        });
        mapped.map_err(|AreaError { region, call, errno }| self.no_memory(region, call, errno))
    }

    fn no_memory(&self, region: usize, call: &str, errno: Errno) -> RunError {
        let region = self.plan.memory[region].name.clone();
        RunError::Region { region, call: call.to_owned(), errno }
    }

    fn start_threads<'w>(
        &self,
        crew: &mut thread::Crew<'w>,
        workers: &'w mut [Worker<'_>],
    ) -> Result<(), RunError> {
        // Threads inherit the mask, so that a stop signal comes to this thread.
        let _blocked = Blocked::stop_signals();
        crew::start(crew, workers)
            .map_err(RunError::system(format!("starting {} threads", self.plan.n_tasks())))
    }

    /// All tasks through a leader.
    fn processes(&mut self, gate: Gate) -> Result<Recording, RunError> {
        let before = usage(Of::Children);
        let begun = clock::monotonic_ns();
        let Gate { ready_out, ready_in, go_out, go_in } = gate;
        let (ready, go, event) = (ready_in.as_fd(), go_out.as_fd(), self.event.as_fd());
        let cgroups = Cgroups::make(self.plan, self.plan.own_cgroup.as_deref())?;
        let doors = cgroups.doors();
        self.cgroups = cgroups.directories();
        let mut leader = leader::spawn(self.plan, &doors, self.pace, self.memory, ready, go, event)
            .map_err(RunError::system("starting /proc/self/exe as the leader process"))?;
        // From now on only the leader and its tasks hold it, so that its end is theirs.
        drop(ready_in);
        let tasks = Tasks::Processes { ready: &ready_out };
        let ran = self.wait_ready(&ready_out, begun).and_then(|()| self.through(&go_in, tasks));
        if ran.is_err() {
            self.abandon(&go_in, tasks);
        }
        // A leader that somebody has stopped (SIGSTOP) would never end.
        process::go_on(leader.id());
        let ended = leader.wait();
        let reaped_ns = self.memory.control().reaped_ns.load(Acquire);
        if reaped_ns == 0 {
            let how = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
            return match ran {
                Ok(()) => Ok(self.orphaned(how)),
                Err(_) => Err(RunError::LeaderEnded(how)),
            };
        }
        ran?;
        self.see_late_kill();
        let elapsed_ns = reaped_ns.saturating_sub(self.gate_ns);
        let used = usage(Of::Children).since(before).since(self.used_before_gate());
        Ok(self.recording(elapsed_ns, Reading::Value(used)))
    }

    /// A task that was killed after its window had ended as it should.
    fn see_late_kill(&mut self) {
        let Some(task) = (self.memory.control().failed.load(Acquire) as usize).checked_sub(1)
        else {
            return;
        };
        let state = self.memory.slot(task).state.load(Acquire);
        let as_planned = matches!(self.end, End::Done | End::TimeUp);
        if as_planned && state == TaskState::Killed as u32 {
            self.end = End::Failed(self.failure(task));
        }
    }

    /// Until every task is at the gate.
    fn wait_ready(&mut self, ready_out: &OwnedFd, begun: u64) -> Result<(), RunError> {
        let of = self.plan.n_at_gate();
        let mut ready = 0;
        while ready < of {
            let progress = self.control.progress;
            let tell = |ready| {
                if let Some(progress) = progress {
                    progress(Progress::Starting { ready, of });
                }
            };
            let waited = Gate::wait_ready(ready_out, &mut ready, of, self.event.as_fd(), &tell);
            match waited.map_err(RunError::system("waiting for tasks to be ready"))? {
                Readiness::AllReady => {}
                Readiness::Event => self.check_start()?,
                Readiness::Ended => {
                    self.check_start()?;
                    return Err(RunError::LeaderEnded("before all tasks were ready".to_owned()));
                }
            }
        }
        self.check_start()?;
        self.start_ns = clock::monotonic_ns() - begun;
        Ok(())
    }

    /// What the event before the gate was, if it ends the run.
    fn check_start(&self) -> Result<(), RunError> {
        self.drain_event();
        if let Some(signal) = signal::stop_signal() {
            return Err(RunError::Interrupted(signal));
        }
        let control = self.memory.control();
        match control.leader_call.load(Acquire) {
            0 => {}
            could => {
                let errno = Errno(control.leader_errno.load(Relaxed));
                if let Some(call) = Could::call_on_memory(could) {
                    let region = control.leader_object.load(Relaxed) as usize;
                    return Err(self.no_memory(region, call, errno));
                }
                if could == Could::OpenChannels as u32 {
                    let channel = control.leader_object.load(Relaxed) as usize;
                    return Err(self.not_opened(channel, "in the leader process", errno));
                }
                let what = format!("the leader process could not {}", Could::words(could));
                return Err(match could == Could::EnterCgroup as u32 {
                    true => RunError::Cgroup { what, errno },
                    false => RunError::System { what, errno },
                });
            }
        }
        match control.failed.load(Acquire) {
            0 => Ok(()),
            failed => {
                let task = failed as usize - 1;
                let failure = self.failure(task);
                let state = self.memory.slot(task).state.load(Acquire);
                Err(match state == TaskState::Killed as u32 {
                    true => RunError::Killed(failure),
                    false => RunError::Start(failure),
                })
            }
        }
    }

    fn not_opened(&self, channel: usize, call: &str, errno: Errno) -> RunError {
        let ChannelPlan { name, kind, .. } = &self.plan.channels[channel];
        RunError::System { what: format!("opening channel `{name}` ({kind}): {call}"), errno }
    }

    /// From opening the gate until no task has anything left to do.
    fn through(&mut self, go_in: &OwnedFd, tasks: Tasks<'_, '_>) -> Result<(), RunError> {
        if let Some(priority) = self.control.coordinator_fifo {
            let attributes = Attributes {
                policy: Some(scheduling::FIFO),
                priority: Some(priority.into()),
                ..Attributes::default()
            };
            scheduling::set(&attributes)
                .map_err(RunError::system("making the main thread SCHED_FIFO"))?;
        }
        // Else the end of the window waits for a turn of everybody that is runnable: seconds, with
        // some hundred tasks on a CPU.
        let asked = self.control.coordinator_fifo.is_some();
        let _hastened = if asked { None } else { Hastened::now() };
        self.sampler = Sampler::new(self.plan, self.memory, &self.cgroups);
        self.busy = BusyTimes::read(&Root::default());
        if self.plan.warmup_ns == 0 {
            self.set_phase(Phase::Window);
        }
        self.used_at_gate = usage(Of::Process);
        self.memory.control().gate.store(self.pace.clock.now(), Relaxed);
        self.gate_ns = clock::monotonic_ns();
        Gate::open(go_in).map_err(RunError::system("opening the start gate"))?;
        let mut ended = Ended::TimeUp;
        if self.plan.warmup_ns > 0 {
            ended = self.wait(Some(self.plan.warmup_ns), tasks);
            match ended {
                Ended::TimeUp => self.set_phase(Phase::Window),
                Ended::Interrupted(signal) => return Err(RunError::Interrupted(signal)),
                // There is no window then.
                _ => {}
            }
        }
        if let Ended::TimeUp = ended {
            ended = self.wait(self.plan.duration_ns, tasks);
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.look();
        }
        self.set_phase(Phase::After);
        self.end = match ended {
            Ended::Done => End::Done,
            Ended::TimeUp => End::TimeUp,
            Ended::Interrupted(signal) => End::Interrupted(signal),
            // How is known once it has been waited for.
            Ended::LeaderGone => End::LeaderGone(String::new()),
            Ended::Failed(task) => End::Failed(self.failure(task)),
            // They still wait.
            Ended::Stalled => End::Stalled(self.watch.waiting()),
        };
        self.get_out(tasks);
        Ok(())
    }

    fn set_phase(&self, phase: Phase) {
        let control = self.memory.control();
        if Phase::of(control.phase.load(Acquire)) == Phase::After {
            // The last task has ended the window by itself.
            return;
        }
        match phase {
            Phase::Warmup => {}
            Phase::Window => control.window.begin.store(self.pace.clock.now(), Relaxed),
            Phase::After => control.window.end.store(self.pace.clock.now(), Relaxed),
        }
        control.phase.store(phase as u32, Release);
    }

    /// Sleeps until the foreground is done, something happens, or the time is up.
    fn wait(&mut self, limit_ns: Option<u64>, tasks: Tasks<'_, '_>) -> Ended {
        const TELL_EVERY_NS: u64 = 100_000_000;
        let control = self.memory.control();
        let warmup = Phase::of(control.phase.load(Relaxed)) == Phase::Warmup;
        let begin = clock::monotonic_ns();
        let mut seconds = Seconds::new(if warmup { None } else { self.control.each_second });
        loop {
            self.drain_event();
            if let Some(signal) = signal::stop_signal() {
                return Ended::Interrupted(signal);
            }
            match control.failed.load(Acquire) {
                0 => {}
                failed => return Ended::Failed(failed as usize - 1),
            }
            if control.n_foreground.load(Acquire) == 0 {
                return Ended::Done;
            }
            let passed_ns = clock::monotonic_ns() - begin;
            let left = limit_ns.map(|limit| limit.saturating_sub(passed_ns));
            if left == Some(0) {
                return Ended::TimeUp;
            }
            if self.watch.look_if_due() {
                return Ended::Stalled;
            }
            let mut nap_ns = self.watch.due_in_ns().min(left.unwrap_or(u64::MAX));
            if let Some(progress) = self.control.progress {
                progress(match limit_ns {
                    Some(of_ns) if warmup => Progress::Warmup { passed_ns, of_ns },
                    of_ns => Progress::Window { passed_ns, of_ns },
                });
                nap_ns = nap_ns.min(TELL_EVERY_NS);
            }
            nap_ns = nap_ns.min(seconds.tell(passed_ns, self.plan, self.memory));
            if let Some(sampler) = &mut self.sampler {
                sampler.look_if_due();
                nap_ns = nap_ns.min(sampler.due_in_ns());
            }
            let nap = Some(nap_ns);
            let woken = match tasks {
                Tasks::Threads(_) => event::wait_readable(&[self.event.as_fd()], nap),
                Tasks::Processes { ready } => {
                    event::wait_readable(&[self.event.as_fd(), ready.as_fd()], nap)
                }
            };
            if woken == Ok(Woken::Ready(1)) && control.n_foreground.load(Acquire) != 0 {
                return Ended::LeaderGone;
            }
        }
    }

    fn drain_event(&self) {
        let readable = event::wait_readable(&[self.event.as_fd()], Some(0));
        if readable == Ok(Woken::Ready(0)) {
            let _ = raw::read(self.event.as_raw_fd(), &mut [0; 8]);
        }
    }
}
