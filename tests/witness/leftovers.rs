//! What a run leaves behind in the process that called it: nothing, also when it failed.
//!
//! Must not know: what runs measure.

use crate::{Outcome, Test, assert_lawful, builtin, host, plan, ran};
use schedload::base::CpuList;
use schedload::host::Host;
use schedload::plan::{DeadlineTimes, Plan, Policy, Scheduling};
use schedload::record::recording::{End, TaskRecord};
use schedload::run::{self, Control, Progress, RunError};
use schedload::sys::{process, scheduling, thread};
use std::cell::Cell;
use std::fs;
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    Test { name: "leftovers::of_a_run", body: of_a_run },
    Test { name: "leftovers::of_regions_and_spawned_teams", body: of_regions_and_spawned_teams },
    Test { name: "leftovers::of_many_runs", body: of_many_runs },
    Test { name: "leftovers::of_a_run_that_cannot_start", body: of_a_run_that_cannot_start },
    Test { name: "leftovers::of_a_killed_task", body: of_a_killed_task },
    Test { name: "leftovers::of_a_killed_leader", body: of_a_killed_leader },
    Test { name: "leftovers::of_two_runs_at_once", body: of_two_runs_at_once },
];

/// What this process has.
#[derive(Debug, PartialEq)]
struct Possessions {
    n_threads: usize,
    n_descriptors: usize,
    /// Of this process and of whatever it started.
    n_descendants: usize,
    /// Mappings of a run's memory.
    n_mappings: usize,
    affinity: CpuList,
    open_files_limit: String,
}

impl Possessions {
    fn now() -> Possessions {
        let text = |path: &str| fs::read_to_string(path).unwrap();
        let limits = text("/proc/self/limits");
        let limit = limits.lines().find(|line| line.starts_with("Max open files"));
        let maps = text("/proc/self/maps");
        Possessions {
            n_threads: fs::read_dir("/proc/self/task").unwrap().count(),
            n_descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
            n_descendants: descendants().len(),
            n_mappings: maps.lines().filter(|it| it.contains("memfd:schedload")).count(),
            affinity: scheduling::affinity().unwrap(),
            open_files_limit: limit.unwrap_or_default().to_owned(),
        }
    }
}

/// A process as /proc has it.
struct Process {
    pid: u32,
    parent: u32,
    name: String,
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name is in parentheses and may hold any.
        let (name, rest) = (stat.split_once('(')?.1).rsplit_once(") ")?;
        let parent = rest.split(' ').nth(1)?.parse().ok()?;
        Some(Process { pid, parent, name: name.to_owned() })
    })
    .collect()
}

/// Children of this process, their children, and so on.
fn descendants() -> Vec<Process> {
    let mut left = processes();
    let mut family = vec![thread::ids().0];
    let mut found = Vec::new();
    loop {
        let (more, others): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|it| family.contains(&it.parent));
        left = others;
        if more.is_empty() {
            return found;
        }
        family.extend(more.iter().map(|it| it.pid));
        found.extend(more);
    }
}

/// Runs it; afterwards this process has what it had before. A thread that was joined may be seen
/// in /proc for a moment longer (kernel/exit.c, v6.12: it is woken for before it is released).
fn leaves_nothing<R>(what: &str, act: impl FnOnce() -> R) -> R {
    let before = Possessions::now();
    let result = act();
    let begun = Instant::now();
    let mut now = Possessions::now();
    while now != before && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
        now = Possessions::now();
    }
    assert_eq!(now, before, "{what}");
    result
}

const FORMS: [&str; 2] = ["threads", "processes"];

fn of_a_run() -> Outcome {
    let host = host();
    for form in FORMS {
        let flags = format!("--groups 2 --fds 5 --loops 10 --as {form}");
        let hackbench = builtin(&host, "hackbench", &flags);
        leaves_nothing(form, || ran(&hackbench, &host));
        let flags = format!("--wakees 8 --duration 20ms --warmup 5ms --as {form}");
        let fanout = builtin(&host, "fanout", &flags);
        leaves_nothing(form, || ran(&fanout, &host));
    }
    Outcome::Passed
}

/// Also where the time is up before the team is spawned.
fn of_regions_and_spawned_teams() -> Outcome {
    let host = host();
    for top in ["", "instances = 3", "instances = 2\ncopies = 2"] {
        let shared = ["process", "instance", "all"].map(|shared| (shared, "1ms"));
        for (shared, sleep) in shared.into_iter().chain([("process", "1min")]) {
            let text = format!(
                "{top}\n[memory.area]\nbytes = '1 MiB'\ncount = 2\nshared = '{shared}'\n\
                 [team.main]\nsize = 1\n\
                 steps = [ {{ sleep = '{sleep}' }}, {{ spawn = 'w' }}, {{ join = 'w' }} ]\n\
                 [team.w]\nsize = 2\nstart = 'spawned'\n\
                 steps = [ {{ chase = 'area[me]', count = 100 }}, {{ sweep = 'area' }} ]\n"
            );
            let duration = (sleep == "1min").then_some("20ms");
            let plan = plan(&host, duration, &text);
            let recording = leaves_nothing(&text, || ran(&plan, &host));
            // Those of main may also have no turn before the time is up.
            let late = |task: &&TaskRecord| plan.teams[task.team].spawned;
            let (late, main): (Vec<_>, Vec<_>) = recording.tasks.iter().partition(late);
            let begun =
                |tasks: &[&TaskRecord]| tasks.iter().filter(|it| it.begun.is_some()).count();
            match duration {
                Some(_) => assert_eq!(begun(&late), 0, "{text}"),
                None => {
                    assert_eq!((begun(&late), begun(&main)), (late.len(), main.len()), "{text}")
                }
            }
        }
    }
    Outcome::Passed
}

fn of_many_runs() -> Outcome {
    let host = host();
    for form in FORMS {
        let flags = format!("--loops 50 --as {form}");
        let pingpong = builtin(&host, "pingpong", &flags);
        leaves_nothing(form, || (0..20).for_each(|_| drop(ran(&pingpong, &host))));
    }
    Outcome::Passed
}

/// Two teams, of which the second cannot be made ready while the first waits at the gate.
fn broken(host: &Host, form: &str, break_it: impl FnOnce(&mut Plan)) -> Plan {
    let team = |name: &str, steps: &str| {
        format!("[team.{name}]\nsize = 3\nas = '{form}'\nsteps = [ {steps} ]\n")
    };
    let text = "[channel.c]\nkind = 'pipe'\n".to_owned()
        + &team("sound", "{ send = 'c' }")
        + &team("broken", "{ receive = 'c' }");
    let mut plan = plan(host, None, &text);
    break_it(&mut plan);
    plan
}

fn cannot_start(host: &Host, form: &str, call: &str, break_it: impl FnOnce(&mut Plan)) {
    let plan = broken(host, form, break_it);
    let what = format!("{call} as {form}");
    let error = leaves_nothing(&what, || run::run(&plan, host, &Control::default()));
    match error {
        Err(RunError::Start(failure)) => {
            assert_eq!(failure.team, "broken");
            assert!(failure.call.starts_with(call), "{what}: {}", failure.call);
            assert_eq!(failure.step, "start", "{what}");
        }
        other => panic!("{what}: {other:?}"),
    }
}

fn of_a_run_that_cannot_start() -> Outcome {
    let host = host();
    // Nobody has a CPU of this number, but the kernel takes the number.
    let nowhere: CpuList = "60000".parse().unwrap();
    for form in FORMS {
        cannot_start(&host, form, "sched_setaffinity", |plan| {
            plan.teams[1].cpus = vec![nowhere.clone()];
        });
        cannot_start(&host, form, "sched_setattr", |plan| {
            plan.teams[1].scheduling = Scheduling {
                policy: Some(Policy::Deadline),
                // No right helps against a runtime above the period.
                deadline: Some(DeadlineTimes {
                    runtime_ns: 3_000_000,
                    deadline_ns: 2_000_000,
                    period_ns: 1_000_000,
                }),
                ..Scheduling::default()
            };
        });
    }
    Outcome::Passed
}

/// Two processes that go on until they are stopped, long after the test is over.
fn endless(host: &Host) -> Plan {
    builtin(host, "pingpong", "--as processes --loops 1000000000 --duration 60min")
}

/// Runs it and kills the first descendant of that sort as soon as the window has begun.
fn with_a_kill(
    host: &Host,
    whom: impl Fn(&Process) -> bool,
) -> (Plan, Result<schedload::Recording, RunError>) {
    let plan = endless(host);
    let killed = Cell::new(0);
    let progress = |progress: Progress| {
        if let (Progress::Window { .. }, 0) = (progress, killed.get())
            && let Some(found) = descendants().iter().find(|it| whom(it))
        {
            killed.set(found.pid);
            process::kill(found.pid);
        }
    };
    let control = Control { progress: Some(&progress), ..Control::default() };
    let result = leaves_nothing("a kill", || run::run(&plan, host, &control));
    assert_ne!(killed.get(), 0, "nobody was killed");
    (plan, result)
}

fn of_a_killed_task() -> Outcome {
    let host = host();
    let (plan, result) = with_a_kill(&host, |it| it.name == "pong-0");
    let recording = result.unwrap();
    match &recording.end {
        End::Failed(failure) => {
            assert_eq!((failure.team.as_str(), failure.task_idx), ("pong", 0));
            let killed = failure.error.starts_with("killed by signal 9 (SIGKILL");
            assert!(killed, "{}", failure.error);
        }
        other => panic!("{other:?}"),
    }
    assert_lawful(&plan, &host, &recording);
    Outcome::Passed
}

fn of_a_killed_leader() -> Outcome {
    let (me, host) = (thread::ids().0, host());
    let (plan, result) = with_a_kill(&host, |it| it.parent == me);
    let recording = result.unwrap();
    match &recording.end {
        End::LeaderGone(how) => assert!(how.contains("signal: 9"), "{how}"),
        other => panic!("{other:?}"),
    }
    assert!(recording.cpu.value().is_none());
    assert!(recording.spaces.iter().all(|space| space.signal == Some(libc::SIGKILL)));
    assert_lawful(&plan, &host, &recording);
    Outcome::Passed
}

/// A library's user may run two at once; they do not stop or count each other.
fn of_two_runs_at_once() -> Outcome {
    let host = &host();
    let plans = ["threads", "threads", "processes"].map(|form| {
        let flags = format!("--groups 1 --fds 4 --loops 100 --as {form}");
        builtin(host, "hackbench", &flags)
    });
    leaves_nothing("runs at once", || {
        std::thread::scope(|scope| {
            let runs = plans.each_ref().map(|plan| scope.spawn(move || ran(plan, host)));
            for run in runs {
                let recording = run.join().unwrap();
                let received = recording.tasks.iter().map(|it| it.messages.received.total());
                assert_eq!(received.sum::<u64>(), 4 * 4 * 100);
            }
        });
    });
    Outcome::Passed
}
