//! When the watch fires, and what it says then: with threads that sleep, run and come back.
//!
//! Must not know: what the coordinator does about it.

use super::*;
use crate::host::{Host, Topology};
use crate::plan::Overrides;
use crate::profile::{Profile, Source};
use crate::record::Layout;
use crate::sys::{event, thread};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Release;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Sender, channel};

/// Two that wait for one, who starts one more and waits for that.
const TEXT: &str = "about = 'x'
[channel.one]
kind  = 'pipe'
count = 2
[team.eater]
size  = 2
steps = [ { receive = 'one[me]' } ]
[team.feeder]
size  = 1
steps = [ { send = 'one[*]' },
          { spawn = 'late' },
          { join = 'late' } ]
[team.late]
size  = 1
start = 'spawned'
steps = [ { spin = '1us' } ]
";

fn plan() -> Plan {
    planned(TEXT)
}

fn planned(text: &str) -> Plan {
    let source = Source { path: String::new(), text: text.to_owned() };
    let profile = Profile::parse("feed", source).unwrap_or_else(|faults| panic!("{faults}"));
    let host = Host::made_up(Topology::from_synthetic("core:2 pu:1").unwrap(), "made up");
    Plan::new(&profile, &host, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn memory(plan: &Plan) -> Memory {
    Memory::create(Layout::new(plan.layout_spec(4096))).unwrap().0
}

/// The tasks of the plan by number.
const FEEDER: usize = 2;
const LATE: usize = 3;

fn set(memory: &Memory, task: usize, state: TaskState, waits_at: u64) {
    memory.slot(task).state.store(state as u32, Release);
    memory.slot(task).waits_at.store(waits_at, Relaxed);
}

/// A thread in place of each task: it sleeps until it is poked, again and again.
struct Stand {
    memory: Memory,
    pokes: Mutex<Vec<Sender<()>>>,
    poked: AtomicU64,
    spins: AtomicBool,
}

impl Stand {
    fn asleep(&self, task: usize) -> Option<[u64; 2]> {
        let slot = self.memory.slot(task);
        let (pid, tid) = (slot.pid.load(Relaxed), slot.tid.load(Relaxed));
        let status = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/status"));
        host::task::asleep(&status.unwrap_or_default())
    }

    fn await_that(&self, what: impl Fn() -> bool) {
        while !what() {
            event::pause(1_000_000);
        }
    }

    /// Wakes a task, and waits until it sleeps again.
    fn poke(&self, task: usize) {
        let before = self.poked.load(Relaxed);
        self.pokes.lock().unwrap()[task].send(()).unwrap();
        self.await_that(|| self.poked.load(Relaxed) > before && self.asleep(task).is_some());
    }

    /// Has a task run on and on.
    fn spin(&self, task: usize) {
        self.spins.store(true, Relaxed);
        self.pokes.lock().unwrap()[task].send(()).unwrap();
        self.await_that(|| self.asleep(task).is_none());
    }
}

/// Whether the last of three looks, which comes after a change, says that nobody can go on. The
/// first two have nothing to compare with and must not.
fn looks(plan: &Plan, before: impl FnOnce(&Stand), change: impl FnOnce(&Stand)) -> bool {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..LATE).map(|_| channel::<()>()).unzip();
    let stand = &Stand {
        memory: memory(plan),
        pokes: Mutex::new(senders),
        poked: AtomicU64::new(0),
        spins: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        for (task, receiver) in receivers.into_iter().enumerate() {
            scope.spawn(move || {
                let (pid, tid) = thread::ids();
                stand.memory.slot(task).tid.store(tid, Relaxed);
                stand.memory.slot(task).pid.store(pid, Release);
                while receiver.recv().is_ok() {
                    stand.poked.fetch_add(1, Relaxed);
                    while stand.spins.load(Relaxed) {
                        std::hint::spin_loop();
                    }
                }
            });
        }
        for task in 0..LATE {
            set(&stand.memory, task, TaskState::Running, 1);
            stand.await_that(|| stand.asleep(task).is_some());
        }
        before(stand);
        let mut watch = Watch::new(plan, &stand.memory);
        let too_early = watch.look() || watch.look();
        change(stand);
        let stalled = watch.look();
        // Without a sender they end.
        stand.spins.store(false, Relaxed);
        stand.pokes.lock().unwrap().clear();
        assert!(!too_early);
        stalled
    })
}

#[test]
fn a_stall_is_that_all_who_are_there_wait_and_sleep() {
    let plan = plan();
    let check = |what: &str, set_up: fn(&Stand), change: fn(&Stand), expected: bool| {
        assert_eq!(looks(&plan, set_up, change), expected, "{what}");
    };
    let none = |_: &Stand| {};
    check("all wait", none, none, true);
    check(
        "one runs or sleeps for a time",
        |it| set(&it.memory, 0, TaskState::Running, 0),
        none,
        false,
    );
    check("one is runnable in its wait", |it| it.spin(1), none, false);
    check("one has left", |it| set(&it.memory, FEEDER, TaskState::Leaving, 0), none, true);
    check("one was killed", |it| set(&it.memory, FEEDER, TaskState::Killed, 1), none, true);
    check("one is being started", |it| set(&it.memory, LATE, TaskState::Starting, 0), none, false);
    check("one ran for nothing", none, |it| it.poke(0), false);
    check("one became runnable", none, |it| it.spin(0), false);
    check("one went on", none, |it| set(&it.memory, 0, TaskState::Running, 0), false);
    let next = |it: &Stand| set(&it.memory, 1, TaskState::Running, (1 << WAIT_BITS) + 1);
    check("one is at its next wait", none, next, false);
    fn asks(it: &Stand) {
        it.memory.slot(1).spun.fetch_add(1, Relaxed);
    }
    let spins = |it: &Stand| {
        it.spin(1);
        asks(it);
    };
    let asks_in_the_next = |it: &Stand| {
        set(&it.memory, 1, TaskState::Running, (1 << WAIT_BITS) + 1);
        asks(it);
    };
    check("one waits awake", spins, asks, true);
    check("one waits awake and had no turn", spins, none, false);
    check("one waits awake, in its next wait", spins, asks_in_the_next, false);
    let all_left = |it: &Stand| (0..LATE).for_each(|at| set(&it.memory, at, TaskState::Leaving, 0));
    check("nobody is there", all_left, none, false);
}

#[test]
fn who_can_release_each_other_is_a_circle() {
    let check = |more: &str, expected: &[usize]| {
        assert_eq!(circle_of_team(&planned(&format!("{TEXT}{more}"))), expected, "{more}");
    };
    let alone = "[team.alone]\nsize = 1\nsteps = [ { spin = '1us' } ]\n";
    check("", &[0, 0, 0]);
    check(alone, &[0, 0, 0, 3]);
    // Two circles become one by a team that has something of both.
    let team = |name: &str, inside: &str| {
        format!("[team.{name}]\nsize = 1\nsteps = [ {{ lock = 'l', steps = [ {inside} ] }} ]\n")
    };
    let locks = format!("[lock.l]\n{}", team("locks", "{ spin = '1us' }"));
    check(&format!("{locks}{alone}"), &[0, 0, 0, 3, 4]);
    let both = team("both", "{ send = 'one[0]' }");
    check(&format!("{locks}{alone}{both}"), &[0, 0, 0, 0, 4, 0]);
}

/// What waits in the background for who never comes is no reason to end a run that goes on.
#[test]
fn a_circle_has_who_is_in_it_in_its_copy() {
    let idle = "copies = 2\n[channel.idle]\nkind = 'pipe'\n\
                [team.idle]\nsize = 2\nbackground = true\n\
                steps = [ { receive = 'idle' } ]\n\
                [team.source]\nsize = 1\nbackground = true\n\
                steps = [ { forever = [ { send = 'idle' } ] } ]\n";
    let text = TEXT.replacen('\n', &format!("\n{idle}"), 1);
    let found = circles(&planned(&text));
    let found: Vec<_> =
        found.iter().map(|it| (it.tasks.as_slice(), it.foreground.as_slice())).collect();
    let expected: [(&[usize], &[usize]); 4] = [
        (&[0, 1, 2], &[]),
        (&[3, 4, 5, 6], &[3, 4, 5, 6]),
        (&[7, 8, 9], &[]),
        (&[10, 11, 12, 13], &[10, 11, 12, 13]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn who_waits_for_what_and_where_it_says_so() {
    let plan = plan();
    let check = |waits: &[(usize, u64)], expected: &str| {
        let memory = memory(&plan);
        waits.iter().for_each(|(task, op)| set(&memory, *task, TaskState::Running, op + 1));
        let mut watch = Watch::new(&plan, &memory);
        watch.circles.iter_mut().for_each(|circle| circle.is_stuck = true);
        let waiting = watch.waiting();
        let text: Vec<String> = waiting.iter().map(ToString::to_string).collect();
        assert_eq!(text.join("; "), expected);
    };
    check(&[], "");
    check(&[(1, 0)], "eater-1 waits for a message on `one` (line 7)");
    check(
        &[(FEEDER, 0), (1, 0), (0, 0)],
        "2 tasks of team eater wait for a message on `one` (line 7); \
         feeder-0 waits for room in `one[*]` (line 10)",
    );
    check(&[(FEEDER, 2)], "feeder-0 waits for the end of team `late` (line 12)");
}
