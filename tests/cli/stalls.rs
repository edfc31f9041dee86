//! Runs in which some can never go on: they end by themselves, with exit code 3 and who waits for
//! what.

use crate::{json, profile, schedload, stderr};
use serde_json::Value;

/// Two that each wait for the other first.
const ORDER: &str = "about = 'x'
[channel.there]
kind = 'pipe'
[channel.back]
kind = 'pipe'
[team.ping]
size  = 1
steps = [ { repeat = 3, steps = [ { receive = 'back' }, { send = 'there' } ] } ]
[team.pong]
size  = 1
steps = [ { repeat = 3, steps = [ { receive = 'there' }, { send = 'back' } ] } ]
";

/// Waits for what only a team sends that it has yet to start.
const SPAWN: &str = "about = 'x'
[channel.back]
kind = 'futex'
[team.main]
size  = 1
steps = [ { receive = 'back' }, { spawn = 'child' }, { join = 'child' } ]
[team.child]
size  = 1
start = 'spawned'
steps = [ { send = 'back' } ]
";

/// One fills a pipe that the others would empty after they were told to.
const FULL: &str = "about = 'x'
[channel.data]
kind  = 'pipe'
bytes = '64 KiB'
[channel.word]
kind  = 'condvar'
count = 3
[team.filler]
size  = 1
steps = [ { repeat = 30, steps = [ { send = 'data' } ] }, { send = 'word[*]' } ]
[team.drain]
size  = 3
steps = [ { receive = 'word[me]' }, { repeat = 10, steps = [ { receive = 'data' } ] } ]
";

fn stalls(text: &str, flags: &str, who: &[&str]) {
    let (_dir, path) = profile(text);
    let output = schedload(&format!("run {path} --json - {flags}"));
    let err = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{flags}: {err}");
    for words in who.iter().chain(&["run 0 stalled: some can never go on"]) {
        assert!(err.contains(words), "{words}: {err}");
    }
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &report["runs"][0];
    assert_eq!(run["end"], "stalled");
    let caveats = run["caveats"].as_array().unwrap();
    assert!(caveats.iter().any(|it| it["id"] == "incomplete"), "{caveats:?}");
    assert!(run["checks"].as_array().unwrap().iter().all(|it| it["ok"] == true), "{run:#}");
}

#[test]
fn nobody_can_go_on() {
    let order = [
        "ping-0 waits for a message on `back` (line 8)",
        "pong-0 waits for a message on `there` (line 11)",
    ];
    stalls(ORDER, "", &order);
    stalls(ORDER, "--duration 10min", &order);
    stalls(ORDER, "--warmup 10min --duration 1s", &order);
    let processes = ORDER.replace("size  = 1", "size = 1\nas = 'processes'");
    stalls(&processes, "", &["ping-0 waits for a message on `back` (line 9)"]);
    stalls(&format!("instances = 2\n{ORDER}"), "", &["2 tasks of team ping wait for a message"]);
    let beside = format!("{ORDER}\n[team.hog]\nsize = 1\nsteps = [ {{ spin = '10us' }} ]\n");
    stalls(&beside, "--duration 10min", &order);
    let sleeps = "background = true\nsteps = [ { forever = [ { sleep = '10ms' } ] } ]\n";
    stalls(&format!("{ORDER}\n[team.idle]\nsize = 1\n{sleeps}"), "", &order);
    stalls(SPAWN, "", &["main-0 waits for a message on `back` (line 6)"]);
    stalls(SPAWN, "--duration 10min", &["main-0 waits for a message on `back` (line 6)"]);
    let full = [
        "filler-0 waits for room in `data` (line 10)",
        "3 tasks of team drain wait for a message on `word` (line 13)",
    ];
    stalls(FULL, "", &full);
}

/// One has the lock that the other needs to come to the barrier, whether they sleep or spin.
#[test]
fn nobody_comes_to_a_barrier() {
    for (barrier, lock) in [("spin_then_futex", "futex"), ("spin", "mutex")] {
        let text = format!(
            "about = 'x'\n[barrier.b]\nkind = '{barrier}'\n[lock.l]\nkind = '{lock}'\n\
             [team.a]\nsize = 2\nsteps = [ {{ lock = 'l', steps = [ {{ barrier = 'b' }} ] }} ]\n"
        );
        let who = [" waits for others at barrier `b` (line 8)", " waits for lock `l` (line 8)"];
        stalls(&text, "", &who);
    }
}

/// The run of a profile that comes to its end.
fn goes_on(text: &str) -> Value {
    let (_dir, path) = profile(text);
    let run = json(&schedload(&format!("run {path} --json -")))["runs"][0].take();
    assert_eq!(run["end"], "done");
    run
}

#[test]
fn who_sleeps_for_a_time_can_go_on() {
    let text = "about = 'x'
[channel.back]
kind = 'pipe'
[team.main]
size  = 3
steps = [ { receive = 'back' } ]
[team.late]
size  = 1
steps = [ { sleep = '1500ms' }, { repeat = 3, steps = [ { send = 'back' } ] } ]
";
    assert_eq!(goes_on(text)["messages"]["received"], 3);
}

/// They are released when the foreground has ended, and not before.
#[test]
fn a_background_that_waits_stalls_nobody() {
    let text = "about = 'x'
[channel.back]
kind = 'pipe'
[channel.forth]
kind = 'pipe'
[team.idle]
size       = 2
background = true
steps      = [ { forever = [ { receive = 'back' }, { send = 'forth' } ] } ]
[team.idler]
size       = 2
background = true
steps      = [ { forever = [ { receive = 'forth' }, { send = 'back' } ] } ]
[team.main]
size  = 1
steps = [ { sleep = '1500ms' } ]
";
    goes_on(text);
}
