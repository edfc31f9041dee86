//! Profiles with barriers, locks, group commits and safepoints: what is counted and conserved.
//!
//! Must not know: how long any wait is.

use crate::{json, printed, profile, refused, schedload};
use schedload::step::sync::{barrier, lock};
use serde_json::Value;

/// The run of a profile, all of whose laws hold.
fn run(text: &str) -> Value {
    let (_dir, path) = profile(&format!("about = 'x'\n{text}"));
    let document = json(&schedload(&format!("run {path} --json -")));
    let run = &document["runs"][0];
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check} of {text}");
    }
    let laws = run["checks"].as_array().unwrap().iter().filter(|it| {
        ["sync_conserved", "sync_waits_explained"].iter().any(|law| it["name"] == *law)
    });
    assert_eq!(laws.count(), 2, "{run}");
    run.clone()
}

/// A number of an object, summed over the teams.
fn sum(run: &Value, name: &str, of: &str) -> u64 {
    let rows = run["sync"].as_array().unwrap().iter().filter(|row| row["name"] == name);
    rows.filter_map(|row| row[of].as_u64()).sum()
}

/// In threads and in processes, where a kind can.
fn forms(processes: bool) -> &'static [&'static str] {
    if processes { &["threads", "processes"] } else { &["threads"] }
}

#[test]
fn passes_of_a_barrier_are_parties_times_rounds() {
    for kind in barrier::KINDS {
        for form in forms(true) {
            let run = run(&format!(
                "copies = 2\n[barrier.phase]\nkind = '{}'\n\
                 [team.a]\nsize = 2\nas = '{form}'\nsteps = [ {{ repeat = 100, steps = [ \
                 {{ spin = 'me * 5us' }}, {{ barrier = 'phase' }} ] }} ]\n\
                 [team.b]\nsize = 1\nas = '{form}'\nsteps = [ {{ repeat = 50, steps = [ \
                 {{ barrier = 'phase' }}, {{ barrier = 'phase' }} ] }} ]",
                kind.name
            ));
            assert_eq!(sum(&run, "phase", "passes"), 2 * 3 * 100, "{} {form}", kind.name);
            if !kind.of_members {
                assert_eq!(sum(&run, "phase", "rounds"), 2 * 100, "{} {form}", kind.name);
            }
        }
    }
}

/// They cannot be interrupted: each leaves with the lock, once the one before has given it back.
#[test]
fn a_crowd_at_one_lock_leaves() {
    for lock in lock::KINDS {
        let run = run(&format!(
            "duration = '200ms'\n[lock.door]\nkind = '{}'\n[team.crowd]\nsize = 500\n\
             steps = [ {{ lock = 'door', steps = [ {{ spin = '1us' }} ] }} ]",
            lock.name
        ));
        assert_eq!(run["end"], "time_up", "{}", lock.name);
        assert!(sum(&run, "door", "passes") > 0, "{}", lock.name);
    }
}

#[test]
fn who_slept_was_woken() {
    let run = run("[barrier.phase]\nkind = 'futex'\n[team.a]\nsize = 3\nsteps = [ \
                   { repeat = 200, steps = [ { spin = 'me * 10us' }, { barrier = 'phase' } ] } ]");
    let (slept, unstamped) = (sum(&run, "phase", "slept"), sum(&run, "phase", "unstamped"));
    let rows = run["latency"].as_array().unwrap().iter();
    let whole = |row: &&Value| row["series"] == "wakeup" && row["relation"] == "all";
    let wakeups: u64 = rows.filter(whole).filter_map(|row| row["count"].as_u64()).sum();
    assert!(slept > 0);
    assert_eq!(wakeups, slept - unstamped);
    assert_eq!(run["messages"]["wakeups"], 0, "they are no messages");
    assert_eq!(sum(&run, "phase", "spun") + slept + sum(&run, "phase", "rounds"), 600);
}

#[test]
fn locks_are_given_back_as_often_as_taken() {
    for kind in lock::KINDS {
        for form in forms(kind.processes) {
            let run = run(&format!(
                "[lock.rows]\nkind = '{}'\ncount = 3\n[lock.root]\nkind = '{}'\n\
                 [team.a]\nsize = 3\nas = '{form}'\nsteps = [ {{ repeat = 200, steps = [ \
                 {{ lock = 'root', steps = [ {{ lock = 'rows[any]', skew = 0.9, mode = 'read', \
                 steps = [ {{ spin = '1us' }} ] }} ] }}, \
                 {{ lock = 'rows[next]', steps = [ {{ spin = '1us' }} ] }} ] }} ]",
                kind.name, kind.name
            ));
            for (name, times) in [("root", 600), ("rows", 1200)] {
                assert_eq!(sum(&run, name, "passes"), times, "{} {form}", kind.name);
                assert_eq!(sum(&run, name, "releases"), times, "{} {form}", kind.name);
            }
        }
    }
}

/// The end of the window comes inside of locks, which others wait for.
#[test]
fn who_leaves_gives_its_lock_back() {
    for kind in lock::KINDS {
        let text = format!(
            "duration = '30ms'\n[lock.one]\nkind = '{}'\n[channel.never]\nkind = 'futex'\n\
             [team.feed]\nsize = 1\nbackground = true\nsteps = [ {{ sleep = '1min' }}, \
             {{ send = 'never' }} ]\n\
             [team.a]\nsize = 3\n\
             steps = [ {{ lock = 'one', steps = [ {{ receive = 'never' }} ] }} ]",
            kind.name
        );
        let run = run(&text);
        assert_eq!(run["end"], "time_up", "{}", kind.name);
    }
}

#[test]
fn every_commit_is_in_a_group() {
    for (form, by) in [("threads", "sleep"), ("threads", "spin"), ("processes", "sleep")] {
        let run = run(&format!(
            "[commit.log]\nflush = '20us'\nby = '{by}'\n[team.a]\nsize = 4\nas = '{form}'\n\
             steps = [ {{ repeat = 100, steps = [ {{ commit = 'log' }} ] }} ]"
        ));
        let (passes, grouped) = (sum(&run, "log", "passes"), sum(&run, "log", "grouped"));
        assert_eq!((passes, grouped), (400, 400), "{form} {by}");
        let groups = sum(&run, "log", "groups");
        assert!((100..=400).contains(&groups), "{groups} groups");
        assert!(run["metrics"]["commits_per_s"]["value"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn the_world_stops_and_goes_on() {
    for form in forms(true) {
        // Main goes on, and lets the window end, once both helpers have said that they are through.
        let run = run(&format!(
            "[safepoint.gc]\n[channel.through]\nkind = 'pipe'\n\
             [team.main]\nsize = 1\nas = '{form}'\nsteps = [ {{ repeat = 20, steps = [ \
             {{ spin = '20us' }}, {{ collect = 'gc' }}, {{ receive = 'through' }}, \
             {{ receive = 'through' }} ] }} ]\n\
             [team.mutator]\nsize = 2\nas = '{form}'\nsteps = [ {{ repeat = 500, steps = [ \
             {{ spin = '2us' }}, {{ safepoint = 'gc' }} ] }} ]\n\
             [team.helper]\nsize = 2\nas = '{form}'\nbackground = true\nsteps = [ \
             {{ forever = [ {{ pause = 'gc', steps = [ {{ spin = '5us' }} ] }}, \
             {{ send = 'through' }} ] }} ]"
        ));
        let row = |team: &str| {
            let mut rows = run["sync"].as_array().unwrap().iter();
            rows.find(|row| row["team"] == team).unwrap()
        };
        // Those who have ended are not waited for, and who asks has its pause.
        assert_eq!(row("main")["passes"], 20, "{form}");
        assert_eq!(sum(&run, "gc", "pauses"), 20, "{form}");
        assert!(row("mutator")["passes"].as_u64().unwrap() <= 40, "{form}");
        let pauses = run["latency"].as_array().unwrap().iter();
        let pauses = pauses.filter(|row| row["series"] == "gc:pause");
        assert_eq!(pauses.filter_map(|row| row["count"].as_u64()).sum::<u64>(), 20, "{form}");
    }
}

/// Nobody hangs where it meets others when the time is up, and what is printed has the objects.
#[test]
fn all_get_out_when_the_time_is_up() {
    let (_dir, path) = profile(
        "about = 'x'\nduration = '50ms'\n\
         [barrier.phase]\nkind = 'kind'\n[commit.log]\nflush = '100us'\n[safepoint.gc]\n\
         [param]\nkind = { default = 'spin', about = 'kind of barrier' }\n\
         [team.a]\nsize = '2 * cpus + 1'\nsteps = [ { forever = [ { barrier = 'phase' }, \
         { commit = 'log' }, { safepoint = 'gc' } ] } ]\n\
         [team.b]\nsize = 1\nsteps = [ { sleep = '5ms' }, { collect = 'gc' } ]\n\
         [team.c]\nsize = 2\nsteps = [ { pause = 'gc', steps = [ { spin = '10us' } ] } ]",
    );
    for kind in barrier::KINDS {
        let text = printed(&schedload(&format!("run {path} --kind {}", kind.name)), 0);
        assert!(text.contains("waits at sync objects"), "{text}");
        for name in ["phase", "log", "gc"] {
            assert!(text.contains(&format!("\n  {name} by ")), "{name} in {text}");
        }
    }
}

#[test]
fn what_can_never_work_is_refused() {
    let check = |text: &str, words: &[&str]| {
        let (_dir, path) = profile(&format!("about = 'x'\n{text}"));
        refused(&schedload(&format!("run {path}")), 2, words);
    };
    check(
        "[barrier.b]\nparties = 5\n[team.a]\nsize = 2\nsteps = [ { barrier = 'b' } ]",
        &["barrier `b` wants 5 parties, and only 2 come to it"],
    );
    check(
        "[lock.l]\n[team.a]\nsize = 2\nsteps = [ { lock = 'l', steps = [ { lock = 'l', steps = [ \
         { spin = '1us' } ] } ] } ]",
        &["a lock of `l` is taken by who has one"],
    );
}
