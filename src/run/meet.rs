//! Steps at sync objects: barriers, locks, group commits, desks and safepoints.
//!
//! As with messages, a wakeup is recorded by who was woken, from the waker's stamp; it travels as
//! the note of the object. Must not know: how objects wait.

use super::areas::Areas;
use super::failure::Failed;
use super::program::take_turn;
use super::visitors::{Filler, Filling, Here};
use super::worker::{Stop, Worker};
use crate::base::Zipf;
use crate::plan::{Act, Pick, Plan, SyncOp, SyncPlan, SyncSort};
use crate::record::Memory;
use crate::record::memory::Phase;
use crate::record::recorder::{Since, Waited};
use crate::record::stamp::Stamp;
use crate::step::sync::barrier::{self, Barrier};
use crate::step::sync::commit::{Commit, Turn};
use crate::step::sync::desk::Desk;
use crate::step::sync::lock::{self, Held, Locks, Mode};
use crate::step::sync::safepoint::Safepoint;
use crate::step::sync::{Hitch, Scope, Visit, Wait};
use crate::step::work;

/// A sync object of one copy.
pub(super) enum Object<'a> {
    Barrier(Barrier<'a>),
    Locks(Locks<'a>),
    Commit {
        commit: Commit<'a>,
        flush: &'static work::Kind,
        flush_ns: u64,
    },
    Desk(Desk<'a>),
    Safepoint(Safepoint<'a>),
    /// Of a kind that has no row; no plan has one.
    Nothing,
}

/// The objects of a copy, in the order of the plan.
pub(super) fn open<'a>(plan: &Plan, memory: &'a Memory, copy: u32) -> Vec<Object<'a>> {
    let objects = plan.syncs.iter().enumerate();
    let offset = |index| memory.layout.sync(copy as usize, index);
    let open = |(index, object)| Object::open(plan, object, memory, offset(index));
    objects.map(|it| open(it).unwrap_or(Object::Nothing)).collect()
}

impl<'a> Object<'a> {
    fn open(
        plan: &Plan,
        object: &SyncPlan,
        memory: &'a Memory,
        offset: usize,
    ) -> Option<Object<'a>> {
        let scope = if object.across_processes { Scope::Shared } else { Scope::Private };
        let shared = &memory.shared;
        Some(match &object.sort {
            SyncSort::Barrier { kind, parties, spins, crowded } => {
                let (parties, spins, crowded) = (*parties, *spins, *crowded);
                let kind = barrier::find(kind)?;
                let opening = barrier::Opening { scope, parties, spins, crowded, shared, offset };
                Object::Barrier((kind.open)(&opening))
            }
            SyncSort::Lock { kind, count } => {
                let (kind, count, cpus) = (lock::find(kind)?, *count, plan.cpu_numbers());
                Object::Locks((kind.open)(&lock::Opening { scope, count, cpus, shared, offset }))
            }
            SyncSort::Commit { flush_ns, by } => Object::Commit {
                commit: Commit::at(shared, offset, object.members, scope),
                flush: work::find(by)?,
                flush_ns: *flush_ns,
            },
            SyncSort::Desk { servers } => {
                let tasks = (*servers, object.members);
                Object::Desk(Desk::at(shared, offset, tasks, scope))
            }
            SyncSort::Safepoint { mutators, helpers } => {
                let tasks = (*mutators, *helpers);
                Object::Safepoint(Safepoint::at(shared, offset, tasks, scope))
            }
        })
    }
}

/// A task's place at an object.
pub(super) struct Tie {
    /// The number of the object in its copy.
    object: usize,
    visit: Visit,
    /// Whether pauses of it wait for the task.
    mutates: bool,
    /// Its number among the safepoints in whose pauses the team helps.
    pause: usize,
}

/// One for each object of the team, in its order.
pub(super) fn ties(plan: &Plan, (team, me): (usize, u32)) -> Vec<Tie> {
    let of_team = &plan.teams[team];
    let mut helps = 0;
    let tie = |object: u32| {
        let visit = Visit::new(plan.first_member(object, team) + me);
        let pause = helps;
        helps += usize::from(of_team.acts_at(object).any(|act| *act == Act::Pause));
        let mutates = |act: &Act| matches!(act, Act::Poll | Act::Collect);
        let mutates = of_team.acts_at(object).any(mutates);
        Tie { object: object as usize, visit, mutates, pause }
    };
    of_team.syncs().into_iter().map(tie).collect()
}

/// A lock that a task has.
pub(super) struct Holding {
    tie: usize,
    held: Held,
}

/// One step.
#[derive(Clone, Copy)]
pub(super) struct Meet<'a> {
    /// A position in the task's ties, which is the number of the object within its team.
    tie: usize,
    deed: Deed<'a>,
}

/// What is done there.
#[derive(Clone, Copy)]
enum Deed<'a> {
    Pass,
    Lock { pick: LockPick, mode: Mode },
    Unlock,
    Commit,
    Ask { measure: u16 },
    Serve { filling: Option<Filling<'a>> },
    Poll,
    Collect,
    Pause,
    Resume,
}

/// Which lock of a table.
#[derive(Clone, Copy)]
enum LockPick {
    At(u32),
    Next { n: u32 },
    Any { n: u32 },
    Skewed(Zipf),
}

impl<'a> Meet<'a> {
    /// The step of member `me` of a team.
    pub(super) fn new(
        op: &SyncOp,
        plan: &Plan,
        (team, me): (usize, u32),
        ties: &[Tie],
        areas: &'a Areas,
    ) -> Meet<'a> {
        let tie = ties.iter().position(|tie| tie.object == op.object as usize);
        let n = match plan.syncs[op.object as usize].sort {
            SyncSort::Lock { count, .. } => count,
            _ => 1,
        };
        let deed = match &op.act {
            Act::Pass => Deed::Pass,
            Act::Lock { pick, skew, reads } => {
                let pick = match (pick, skew) {
                    (Pick::At(index), _) => LockPick::At(index.of(me) as u32),
                    (Pick::Next, _) => LockPick::Next { n },
                    (_, Some(skew)) => LockPick::Skewed(Zipf::new(n.into(), *skew)),
                    (_, None) => LockPick::Any { n },
                };
                Deed::Lock { pick, mode: if *reads { Mode::Read } else { Mode::Write } }
            }
            Act::Unlock { .. } => Deed::Unlock,
            Act::Commit => Deed::Commit,
            Act::Ask { measure } => Deed::Ask { measure: *measure as u16 },
            Act::Serve { fill } => {
                let servers = (plan.first_member(op.object, team), plan.teams[team].size);
                let filling = fill.and_then(|fill| Filling::new(fill, plan, servers, areas));
                Deed::Serve { filling }
            }
            Act::Poll => Deed::Poll,
            Act::Collect => Deed::Collect,
            Act::Pause => Deed::Pause,
            Act::Resume { .. } => Deed::Resume,
        };
        // The ties are those of the same team's steps.
        Meet { tie: tie.unwrap_or(0), deed }
    }

    /// Of how many locks it takes one in turn, where it does.
    pub(super) fn turns(&self) -> Option<u64> {
        match self.deed {
            Deed::Lock { pick: LockPick::Next { n }, .. } => Some(n.into()),
            _ => None,
        }
    }
}

fn waited(wait: Wait) -> Option<Waited> {
    match wait {
        Wait::Open => None,
        Wait::Spun => Some(Waited::Awake),
        Wait::Slept(note) => Some(Waited::Asleep(note.map(Stamp::of_words))),
    }
}

/// Whether a wait that did not come through ends the task.
#[cold]
fn stops(phase: Phase, at: usize, hitch: Hitch) -> Result<(), Stop> {
    if phase == Phase::After {
        return Err(Stop::Over);
    }
    match Failed::of_sync(at, hitch) {
        Some(failed) => Err(Stop::Failed(failed)),
        None => Ok(()),
    }
}

impl<'a> Worker<'a> {
    #[inline(never)]
    pub(super) fn meet(&mut self, at: usize, meet: usize) -> Result<(), Stop> {
        let Meet { tie, deed } = self.program.meets[meet];
        let channels = self.channels;
        match (deed, &channels.syncs[self.program.ties[tie].object]) {
            (Deed::Pass, Object::Barrier(barrier)) => self.pass(at, tie, barrier),
            (Deed::Lock { pick, mode }, Object::Locks(locks)) => {
                let number = self.lock_number(at, pick);
                self.lock(at, tie, locks, (number, mode))
            }
            (Deed::Unlock, _) => self.unlock(at),
            (Deed::Commit, Object::Commit { commit, flush, flush_ns }) => {
                self.commit(at, tie, commit, (flush, *flush_ns))
            }
            (Deed::Ask { measure }, Object::Desk(desk)) => self.ask(at, tie, desk, measure),
            (Deed::Serve { filling }, Object::Desk(desk)) => self.serve(at, tie, desk, filling),
            (Deed::Poll, Object::Safepoint(safepoint)) if !safepoint.is_asked() => Ok(()),
            (Deed::Poll, Object::Safepoint(safepoint)) => self.park(at, tie, safepoint).map(drop),
            (Deed::Collect, Object::Safepoint(safepoint)) => self.collect(at, tie, safepoint),
            (Deed::Pause, Object::Safepoint(safepoint)) => self.help(at, tie, safepoint),
            (Deed::Resume, Object::Safepoint(safepoint)) => self.resume(at, tie, safepoint),
            _ => Ok(()),
        }
    }

    /// Calls until it comes through; a signal that was not meant for the end is nothing.
    #[inline(always)]
    fn through<T>(
        &mut self,
        at: usize,
        tie: usize,
        mut call: impl FnMut(&mut Visit, &mut Here<'_, 'a>) -> Result<T, Hitch>,
    ) -> Result<T, Stop> {
        self.recorder.waits_at(at);
        let through = loop {
            let visit = &mut self.program.ties[tie].visit;
            match call(visit, &mut Here(&mut self.recorder)) {
                Ok(through) => break through,
                Err(hitch) => stops(self.recorder.phase(), at, hitch)?,
            }
        };
        self.recorder.goes_on();
        Ok(through)
    }

    /// When a wait begins.
    #[inline(always)]
    fn arrives(&mut self) -> u64 {
        self.recorder.look(Since::Running);
        self.recorder.now()
    }

    fn pass(&mut self, at: usize, tie: usize, barrier: &Barrier<'_>) -> Result<(), Stop> {
        let since = self.arrives();
        let passed = self.through(at, tie, |visit, here| barrier.pass(visit, here))?;
        self.recorder.waited(tie, since, waited(passed.wait));
        self.recorder.passed(tie, Some(since));
        self.recorder.led(tie, passed.led.into());
        Ok(())
    }

    fn lock_number(&mut self, at: usize, pick: LockPick) -> u32 {
        match pick {
            LockPick::At(number) => number,
            LockPick::Next { n } => take_turn(&mut self.program.numbers[at], n.into()) as u32,
            LockPick::Any { n } => self.random.below(n.into()) as u32,
            LockPick::Skewed(zipf) => zipf.draw(&mut self.random) as u32 - 1,
        }
    }

    fn lock(
        &mut self,
        at: usize,
        tie: usize,
        locks: &Locks<'_>,
        (number, mode): (u32, Mode),
    ) -> Result<(), Stop> {
        let tried = locks.try_lock(number, mode);
        // Who takes it up from here must not take the clock of before the try for now.
        self.recorder.time_passed();
        let (held, since) = match tried {
            Some(held) => {
                self.recorder.look(Since::Running);
                (held, None)
            }
            None => {
                let since = self.arrives();
                let (wait, held) =
                    self.through(at, tie, |visit, here| locks.lock(number, mode, visit, here))?;
                self.recorder.waited(tie, since, waited(wait));
                (held, Some(since))
            }
        };
        // Room for it was made beforehand.
        self.program.held.push(Holding { tie, held });
        self.recorder.passed(tie, since);
        if self.recorder.phase() == Phase::After {
            // Others wait for it to be able to leave.
            return Err(Stop::Over);
        }
        Ok(())
    }

    fn unlock(&mut self, at: usize) -> Result<(), Stop> {
        let Some(Holding { tie, held }) = self.program.held.pop() else { return Ok(()) };
        self.recorder.led(tie, 1);
        let Object::Locks(locks) = &self.channels.syncs[self.program.ties[tie].object] else {
            return Ok(());
        };
        let unlocked = locks.unlock(held, &mut Here(&mut self.recorder));
        self.recorder.time_passed();
        match unlocked.map_err(|hitch| Failed::of_sync(at, hitch)) {
            Err(Some(failed)) => Err(Stop::Failed(failed)),
            _ => Ok(()),
        }
    }

    /// All locks that a task has when it leaves.
    pub(super) fn give_back(&mut self) {
        while !self.program.held.is_empty() {
            // It can only fail for a bad address, and the task leaves anyway.
            let _ = self.unlock(0);
        }
    }

    fn commit(
        &mut self,
        at: usize,
        tie: usize,
        commit: &Commit<'_>,
        (flush, flush_ns): (&work::Kind, u64),
    ) -> Result<(), Stop> {
        let since = self.arrives();
        match self.through(at, tie, |visit, _| commit.join(visit))? {
            Turn::Done(wait) => self.recorder.waited(tie, since, waited(wait)),
            Turn::Leads(wait, group) => {
                self.recorder.waited(tie, since, waited(wait));
                self.work(at, flush, flush_ns)?;
                if self.recorder.phase() == Phase::After {
                    // It may have been cut short.
                    return Err(Stop::Over);
                }
                self.through(at, tie, |visit, here| commit.finish(group, visit, here))?;
                self.recorder.led(tie, group.size.into());
                self.recorder.time_passed();
            }
        }
        self.recorder.passed(tie, Some(since));
        Ok(())
    }

    fn ask(&mut self, at: usize, tie: usize, desk: &Desk<'_>, measure: u16) -> Result<(), Stop> {
        let since = self.arrives();
        let served = self.through(at, tie, |visit, here| desk.ask(visit, here))?;
        self.recorder.waited(tie, since, waited(served.wait));
        self.recorder.passed(tie, Some(since));
        if let Some(batch) = served.batch {
            self.recorder.measured(measure, Stamp::of_words(batch).ticks);
        }
        Ok(())
    }

    fn serve(
        &mut self,
        at: usize,
        tie: usize,
        desk: &Desk<'_>,
        filling: Option<Filling<'_>>,
    ) -> Result<(), Stop> {
        let since = self.arrives();
        let (wait, batch) = self.through(at, tie, |visit, _| desk.take(visit))?;
        self.recorder.waited(tie, since, waited(wait));
        self.recorder.passed(tie, Some(since));
        let n_served = self.through(at, tie, |_, here| match filling {
            Some(filling) => desk.serve(batch, &mut Filler { here, filling }),
            None => desk.serve(batch, here),
        })?;
        self.recorder.led(tie, n_served.into());
        self.recorder.time_passed();
        Ok(())
    }

    /// Whether there was a pause to park in.
    fn park(&mut self, at: usize, tie: usize, safepoint: &Safepoint<'_>) -> Result<bool, Stop> {
        let since = self.arrives();
        let parked = self.through(at, tie, |visit, here| safepoint.park(visit, here))?;
        let Some((wait, led)) = parked else { return Ok(false) };
        self.recorder.waited(tie, since, waited(wait));
        self.recorder.passed(tie, Some(since));
        self.recorder.led(tie, led.into());
        Ok(true)
    }

    fn collect(&mut self, at: usize, tie: usize, safepoint: &Safepoint<'_>) -> Result<(), Stop> {
        loop {
            // If somebody else has, that pause is as good, unless it ends before we have parked.
            safepoint.ask(&mut Here(&mut self.recorder));
            if self.park(at, tie, safepoint)? {
                return Ok(());
            }
            if self.recorder.phase() == Phase::After {
                return Err(Stop::Over);
            }
        }
    }

    fn help(&mut self, at: usize, tie: usize, safepoint: &Safepoint<'_>) -> Result<(), Stop> {
        let since = self.arrives();
        let wait = self.through(at, tie, |visit, _| safepoint.wait_parked(visit))?;
        self.recorder.waited(tie, since, waited(wait));
        self.recorder.passed(tie, Some(since));
        Ok(())
    }

    fn resume(&mut self, at: usize, tie: usize, safepoint: &Safepoint<'_>) -> Result<(), Stop> {
        let ended = self.through(at, tie, |_, here| safepoint.done(here))?;
        self.recorder.time_passed();
        let Some(ended) = ended else { return Ok(()) };
        self.recorder.led(tie, ended.released.into());
        if let (Some(asked), Some(parked)) = (ended.asked, ended.parked) {
            let stamps = [asked, parked, ended.ended].map(Stamp::of_words);
            self.recorder.paused(self.program.ties[tie].pause, stamps);
        }
        Ok(())
    }

    /// Pauses no longer wait for a task that has done its steps.
    pub(super) fn leave_safepoints(&mut self) {
        for (number, tie) in self.program.ties.iter().enumerate().filter(|(_, tie)| tie.mutates) {
            if let Object::Safepoint(safepoint) = &self.channels.syncs[tie.object] {
                // It can only fail for a bad address.
                let led = safepoint.leave(&mut Here(&mut self.recorder)).unwrap_or(0);
                self.recorder.led(number, led.into());
            }
        }
    }
}
