//! Our own counts against those that the kernel keeps of the same tasks.
//!
//! Must not know: how either is taken.

use crate::{Outcome, Test, builtin, host, plan, ran};
use schedload::base::Reading;
use schedload::host::Host;
use schedload::plan::Plan;
use schedload::record::Recording;
use schedload::record::recording::{KernelCounts, Series, SeriesKind};
use schedload::sys::usage::{Of, usage};

pub const TESTS: &[Test] = &[
    Test { name: "counts::migrations", body: migrations },
    Test { name: "counts::pinned_tasks_stay", body: pinned_tasks_stay },
    Test { name: "counts::wakeups_are_switches", body: wakeups_are_switches },
    Test { name: "counts::switches_of_the_process", body: switches_of_the_process },
    Test { name: "counts::cpu_time", body: cpu_time },
    Test { name: "counts::messages", body: messages },
];

/// The sum over the tasks of a team; the reason if one of them could not read its number.
fn sum(
    recording: &Recording,
    team: Option<usize>,
    of: fn(&KernelCounts) -> &Reading<u64>,
) -> Result<u64, String> {
    let tasks = recording.tasks.iter();
    tasks
        .filter(|task| team.is_none_or(|team| task.team == team))
        .map(|task| match of(&task.kernel) {
            Reading::Value(value) => Ok(*value),
            Reading::Absent(absence) => Err(absence.reason.clone()),
        })
        .sum()
}

/// Spinners and sleepers for every CPU three times, and a single task of each sort.
fn restless(host: &Host) -> Plan {
    let steps = "{ forever = [ { spin = '300us' }, { sleep = '50us' } ] }";
    let team =
        |name: &str, size: &str| format!("[team.{name}]\nsize = '{size}'\nsteps = [ {steps} ]\n");
    let text = team("many", "3 * cpus") + &team("first", "1") + &team("second", "1");
    plan(host, Some("200ms"), &text)
}

/// A task may be moved there and back between two looks, but not seen to move without having been.
fn migrations() -> Outcome {
    let host = host();
    let recording = ran(&restless(&host), &host);
    for task in &recording.tasks {
        let kernel = match &task.kernel.nr_migrations {
            Reading::Value(kernel) => *kernel,
            Reading::Absent(absence) => return Outcome::Skipped(absence.reason.clone()),
        };
        let own = task.migrations.total();
        assert!(own <= kernel, "{} {}: {own} of {kernel}", task.team, task.index);
    }
    Outcome::Passed
}

fn pinned_tasks_stay() -> Outcome {
    let host = host();
    let text = "[team.pinned]\nsize = '3 * cpus'\npin = true\n\
                steps = [ { forever = [ { spin = '300us' }, { sleep = '50us' } ] } ]\n";
    let recording = ran(&plan(&host, Some("100ms"), text), &host);
    assert!(recording.tasks.iter().all(|task| task.migrations.total() == 0));
    let team = &recording.teams[0];
    // On a busy machine some CPUs may not have come to them within the window.
    let strange = team.residency.iter().find(|(cpu, _)| !host.allowed.contains(*cpu));
    assert_eq!(strange, None);
    Outcome::Passed
}

fn wakeups(recording: &Recording, team: usize) -> u64 {
    let mine = recording.series.iter().filter(|it| it.team == team);
    mine.filter(|it| matches!(it.kind, SeriesKind::Wakeup { .. })).map(Series::count).sum()
}

/// On one CPU a wakee can only be woken after it has left the CPU to its waker, by waiting or
/// because it was preempted on the way.
fn wakeups_are_switches() -> Outcome {
    const LOOPS: u64 = 2_000;
    /// Of a switch that is no wait for a message: at the gate, behind a lock of the kernel.
    const SLACK: u64 = LOOPS / 2;
    let host = host();
    let cpu = host.allowed.get(0).unwrap();
    let team = |name: &str, steps: &str| {
        format!(
            "[team.{name}]\nsize = 1\non = 'cpus:{cpu}'\n\
             steps = [ {{ repeat = {LOOPS}, steps = [ {steps} ] }} ]\n"
        )
    };
    let text = "[channel.ping]\nkind = 'pipe'\n[channel.pong]\nkind = 'pipe'\n".to_owned()
        + &team("ping", "{ send = 'ping' }, { receive = 'pong' }")
        + &team("pong", "{ receive = 'ping' }, { send = 'pong' }");
    let recording = ran(&plan(&host, None, &text), &host);
    for team in 0..2 {
        let voluntary = sum(&recording, Some(team), |it| &it.voluntary_switches).unwrap();
        let involuntary = sum(&recording, Some(team), |it| &it.involuntary_switches).unwrap();
        let wakeups = wakeups(&recording, team);
        assert!(
            wakeups <= voluntary + involuntary,
            "{wakeups} wakeups, {voluntary} + {involuntary} switches"
        );
        assert!(voluntary <= LOOPS + SLACK, "{voluntary} waits for {LOOPS} messages");
    }
    Outcome::Passed
}

/// What the tasks read of themselves is in the sum that the kernel has of the process.
fn switches_of_the_process() -> Outcome {
    let host = host();
    let plan = builtin(&host, "hackbench", "--groups 2 --fds 4 --loops 50 --as threads");
    let before = usage(Of::Process);
    let recording = ran(&plan, &host);
    let whole = usage(Of::Process).since(before);
    let tasks = sum(&recording, None, |it| &it.voluntary_switches).unwrap();
    assert!(tasks <= whole.voluntary_switches, "{tasks} of {}", whole.voluntary_switches);
    let tasks = sum(&recording, None, |it| &it.involuntary_switches).unwrap();
    assert!(tasks <= whole.involuntary_switches, "{tasks} of {}", whole.involuntary_switches);
    Outcome::Passed
}

/// The tasks' time on a CPU, by schedstat, is in the CPU time of the process, by getrusage.
fn cpu_time() -> Outcome {
    /// The two are brought up to date at different times.
    const SLACK_NS: u64 = 20_000_000;
    let host = host();
    for form in ["threads", "processes"] {
        let text = format!(
            "[team.busy]\nsize = 'cpus + 1'\nas = '{form}'\n\
             steps = [ {{ forever = [ {{ spin = '1ms' }} ] }} ]\n"
        );
        let recording = ran(&plan(&host, Some("150ms"), &text), &host);
        let on_cpu = match sum(&recording, None, |it| &it.run_ns) {
            Ok(on_cpu) => on_cpu,
            Err(reason) => return Outcome::Skipped(reason),
        };
        let used = recording.cpu.value().unwrap().total_ns();
        assert!(on_cpu > 0 && used > 0, "{form}: {on_cpu} ns, {used} ns");
        assert!(on_cpu <= used + SLACK_NS, "{form}: {on_cpu} of {used} ns");
    }
    Outcome::Passed
}

/// Every message that the profile means is sent and received, whatever carries it.
fn messages() -> Outcome {
    let host = host();
    let kinds = schedload::step::channel::KINDS.iter();
    for kind in kinds.filter(|kind| kind.name != "null") {
        for form in ["threads", "processes"] {
            if form == "processes" && !kind.processes {
                continue;
            }
            let flags = format!("--groups 2 --fds 3 --loops 20 --as {form} --kind {}", kind.name);
            let recording = ran(&builtin(&host, "hackbench", &flags), &host);
            let count = |team: usize| {
                let tasks = recording.tasks.iter().filter(move |task| task.team == team);
                tasks.map(|task| {
                    let messages = task.messages;
                    (messages.sent.total(), messages.received.total())
                })
            };
            assert!(count(0).eq([(0, 60); 6]), "{} as {form}", kind.name);
            assert!(count(1).eq([(60, 0); 6]), "{} as {form}", kind.name);
        }
    }
    Outcome::Passed
}
