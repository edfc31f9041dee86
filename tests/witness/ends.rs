//! Every run comes to an end, wherever its tasks wait, and stays on the CPUs it was given.
//!
//! A hang is caught by the harness's watch; there is no other time limit. Must not know: what a
//! run measures.

use crate::{Outcome, Test, builtin, host, plan, ran};
use schedload::base::{CpuId, CpuList};
use schedload::record::Recording;
use schedload::record::recording::End;
use schedload::step::channel::{KINDS, Kind};
use schedload::sys::scheduling::Confined;

pub const TESTS: &[Test] = &[
    Test { name: "ends::whatever_tasks_wait_for", body: whatever_tasks_wait_for },
    Test { name: "ends::during_the_warm_up_of_a_crowd", body: during_the_warm_up_of_a_crowd },
    Test { name: "ends::in_the_middle_of_work", body: in_the_middle_of_work },
    Test { name: "ends::background_alone_lasts_its_time", body: background_alone_lasts_its_time },
    Test {
        name: "ends::background_ends_with_the_foreground",
        body: background_ends_with_the_foreground,
    },
    Test { name: "ends::confined_to_one_cpu", body: confined_to_one_cpu },
    Test { name: "ends::spawned_as_the_gate_opens", body: spawned_as_the_gate_opens },
];

/// Wakees that wait for what never comes, and wakers whose channel is full for good.
fn stuck(kind: &Kind, form: &str) -> String {
    let channel =
        |name: &str| format!("[channel.{name}]\nkind = '{}'\nbytes = '4 KiB'\n", kind.name);
    let team = |name: &str, size: u32, steps: &str| {
        format!("[team.{name}]\nsize = {size}\nas = '{form}'\nsteps = [ {steps} ]\n")
    };
    [
        channel("empty"),
        channel("full"),
        team("once", 1, "{ send = 'empty' }, { sleep = '1min' }"),
        team("starved", 3, "{ forever = [ { receive = 'empty' } ] }"),
        team("taster", 1, "{ receive = 'full' }, { sleep = '1min' }"),
        // A kind that never blocks its waker would count up without a pause.
        team("blocked", 2, "{ forever = [ { send = 'full' }, { spin = '1us' } ] }"),
    ]
    .concat()
}

fn whatever_tasks_wait_for() -> Outcome {
    let host = host();
    for kind in KINDS {
        for form in ["threads", "processes"] {
            if form == "processes" && !kind.processes {
                continue;
            }
            let recording = ran(&plan(&host, Some("30ms"), &stuck(kind, form)), &host);
            assert_eq!(recording.end, End::TimeUp, "{} as {form}", kind.name);
            let out = recording.tasks.iter().all(|task| task.checked_out);
            assert!(out, "{} as {form}", kind.name);
        }
    }
    Outcome::Passed
}

fn during_the_warm_up_of_a_crowd() -> Outcome {
    let host = host();
    // The tasks have done all their steps before the warm-up is over, and start over.
    for form in ["threads", "processes"] {
        let flags =
            format!("--wakees 150 --interval 1ms --duration 20ms --warmup 20ms --as {form}");
        let recording = ran(&builtin(&host, "fanout", &flags), &host);
        assert_eq!(recording.end, End::TimeUp, "as {form}");
    }
    Outcome::Passed
}

fn in_the_middle_of_work() -> Outcome {
    let host = host();
    for step in ["spin", "work", "sleep"] {
        let text = format!("[team.busy]\nsize = 2\nsteps = [ {{ {step} = '60min' }} ]\n");
        let recording = ran(&plan(&host, Some("30ms"), &text), &host);
        assert_eq!(recording.end, End::TimeUp, "{step}");
    }
    Outcome::Passed
}

fn background_alone_lasts_its_time() -> Outcome {
    let host = host();
    for form in ["threads", "processes"] {
        let text = format!(
            "[team.ghost]\nsize = 2\nas = '{form}'\nbackground = true\n\
             steps = [ {{ sleep = '1ms' }} ]\n"
        );
        let recording = ran(&plan(&host, Some("30ms"), &text), &host);
        assert_eq!(recording.end, End::TimeUp, "as {form}");
        assert!(recording.window_ns >= 29_000_000, "as {form}");
    }
    Outcome::Passed
}

fn background_ends_with_the_foreground() -> Outcome {
    let host = host();
    for form in ["threads", "processes"] {
        let text = format!(
            "[team.ghost]\nsize = 2\nas = '{form}'\nbackground = true\n\
             steps = [ {{ forever = [ {{ sleep = '1min' }} ] }} ]\n\
             [team.worker]\nsize = 1\nas = '{form}'\nsteps = [ {{ sleep = '5ms' }} ]\n"
        );
        let recording = ran(&plan(&host, None, &text), &host);
        assert_eq!(recording.end, End::Done, "as {form}");
    }
    Outcome::Passed
}

/// The CPUs on which tasks were seen.
fn seen(recording: &Recording) -> CpuList {
    let residency = recording.teams.iter().flat_map(|team| &team.residency);
    residency.map(|(cpu, _)| *cpu).collect()
}

fn confined_to_one_cpu() -> Outcome {
    let all: Vec<CpuId> = host().allowed.iter().collect();
    for cpu in [all[0], all[all.len() - 1]] {
        let only: CpuList = std::iter::once(cpu).collect();
        let _confined = Confined::to(&only).unwrap();
        let host = host();
        assert_eq!(host.allowed, only);
        for form in ["threads", "processes"] {
            for (name, flags) in [
                ("pingpong", "--loops 200"),
                ("fanout", "--wakees 4 --duration 30ms --warmup 0s"),
                ("hackbench", "--groups 1 --fds 3 --loops 20"),
            ] {
                let flags = format!("{flags} --as {form}");
                let plan = builtin(&host, name, &flags);
                let recording = ran(&plan, &host);
                let seen = seen(&recording);
                // Within a time limit it may not have come to run at all.
                let fits = seen == only || (plan.duration_ns.is_some() && seen.is_empty());
                assert!(fits, "{name} {flags}: {seen}");
            }
        }
    }
    Outcome::Passed
}

/// The team that is spawned comes last in the profile, and its spawner has nothing else to do.
fn spawned_as_the_gate_opens() -> Outcome {
    let host = host();
    for top in ["copies = 4", "instances = 2\ncopies = 2"] {
        let text = format!(
            "{top}\n[team.main]\nsize = 1\nsteps = [ {{ spawn = 'w' }}, {{ join = 'w' }} ]\n\
             [team.w]\nsize = 3\nstart = 'spawned'\nsteps = [ {{ spin = '1us' }} ]\n"
        );
        let plan = plan(&host, None, &text);
        for _ in 0..50 {
            assert_eq!(ran(&plan, &host).end, End::Done, "{top}");
        }
    }
    Outcome::Passed
}
