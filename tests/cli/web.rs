//! The profile `web`: where its requests are at the end, and since when they are timed.
//!
//! Must not know: how long a request takes.

use crate::{json, schedload};
use serde_json::Value;

const WORKERS: u64 = 3;
const ACCEPTORS: u64 = 2;
const SUBREQUESTS: u64 = 3;

/// A short run without a warm-up, so that all of it is in the window, and all its laws hold.
fn run(flags: &str) -> Value {
    let sizes = format!(
        "--workers {WORKERS} --acceptors {ACCEPTORS} --backends 2 --subrequests {SUBREQUESTS} \
         --heap 1MiB --touches 20 --duration 300ms --warmup 0ms"
    );
    let document = json(&schedload(&format!("run web {sizes} {flags} --json -")));
    let run = document["runs"][0].clone();
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check} {flags}");
    }
    run
}

fn metric(run: &Value, key: &str) -> f64 {
    run["metrics"][key]["value"].as_f64().unwrap_or_else(|| panic!("{key}: {}", run["metrics"]))
}

fn count(run: &Value, series: &str) -> u64 {
    let rows = run["latency"].as_array().unwrap().iter();
    let mut found = rows.filter(|row| row["series"] == series && row["relation"] == "all");
    found.next().unwrap_or_else(|| panic!("no {series}"))["count"].as_u64().unwrap()
}

/// The longest queue of a channel.
fn queued(run: &Value, channel: &str) -> u64 {
    let rows = run["queues"].as_array().unwrap();
    let row = rows.iter().find(|row| row["channel"] == channel).unwrap();
    row["most"]["value"].as_u64().unwrap_or_else(|| panic!("{row}"))
}

/// Those that came are served, queued, or in the hands of somebody; none is dropped.
fn arrivals_are_served_or_queued(run: &Value) {
    let arrived = run["arrivals"][0]["arrivals_total"].as_u64().unwrap();
    let served = count(run, "service");
    assert!(served > 0 && served <= arrived, "{served} of {arrived}");
    // Some may have lost their arrival: who sends and who receives are many.
    let (taken, answered) = (count(run, "wait"), count(run, "response"));
    assert!(taken <= served + WORKERS && answered <= served, "{taken}, {answered} of {served}");
    let at = |key: &str| run["messages"][key].as_u64().unwrap();
    let under_way = at("sent") - at("received");
    // What a worker may have asked its backends for, and an answer that was not looked at.
    let asked = WORKERS * (2 * SUBREQUESTS + 1);
    let queued = arrived - served;
    assert!(
        queued <= under_way + ACCEPTORS + 2 * WORKERS && under_way <= queued + asked,
        "{queued} are queued, and {under_way} messages are under way"
    );
}

#[test]
fn requests_that_arrive_are_served_or_queued() {
    // The last is more than the workers can serve, and fills no ring of stamps within a second.
    for flags in ["", "--arrivals constant", "--arrivals burst", "--rate 3000 --parse 2ms"] {
        for form in ["threads", "processes"] {
            let rate = if flags.contains("rate") { "" } else { "--rate 300" };
            let run = run(&format!("{rate} {flags} --as {form}"));
            arrivals_are_served_or_queued(&run);
            assert_eq!(run["arrivals"][0]["open_loop"], true);
            let arrived = run["arrivals"][0]["arrivals_total"].as_u64().unwrap();
            for channel in ["arrival", "request"] {
                assert!((1..=arrived).contains(&queued(&run, channel)), "{}", run["queues"]);
            }
            assert_eq!(queued(&run, "answer"), 0);
            let longest = ["arrival", "request", "ask", "reply"].map(|it| queued(&run, it));
            let longest = longest.into_iter().max().unwrap();
            assert_eq!(metric(&run, "queued_most"), longest as f64);
        }
    }
}

#[test]
fn a_response_is_a_wait_and_a_service() {
    let run = run("--rate 300");
    let mean = |name: &str| metric(&run, &format!("{name}_ns_mean"));
    let at_once = |name: &str| metric(&run, &format!("{name}s_at_once"));
    let parts = mean("wait") + mean("service");
    // One of them may be in the window without the others.
    let edge = 1.0 + 2.0 * WORKERS as f64 / count(&run, "service") as f64;
    assert!(mean("response") <= parts * edge * 1.1, "{} of {parts}", mean("response"));
    for name in ["wait", "service", "response"] {
        let rate = metric(&run, &format!("{name}s_per_s"));
        let little = rate * mean(name) / 1e9;
        assert!((at_once(name) / little - 1.0).abs() < 1e-6, "{name}: {little}");
    }
    assert!(at_once("service") <= WORKERS as f64);
    assert_eq!(metric(&run, "offered_per_s"), 300.0);
    assert!(metric(&run, "arrival_lateness_ns_p999") > 0.0);
}

#[test]
fn users_that_wait_for_answers_have_one_request_each() {
    const USERS: u64 = 5;
    let run = run(&format!("--arrivals closed --generators {USERS} --rate 100000"));
    arrivals_are_served_or_queued(&run);
    let arrivals = &run["arrivals"][0];
    assert_eq!(arrivals["open_loop"], false);
    assert_eq!(run["conditions"].as_array().map(Vec::len), Some(0), "they are of open loops");
    let arrived = arrivals["arrivals_total"].as_u64().unwrap();
    assert!(arrived - count(&run, "service") <= USERS, "{arrived}");
    assert!(metric(&run, "responses_at_once") <= (USERS + 1) as f64);
    for channel in ["arrival", "request", "answer"] {
        assert!((1..=USERS).contains(&queued(&run, channel)), "{}", run["queues"]);
    }
    for channel in ["ask", "reply"] {
        assert!((1..=SUBREQUESTS).contains(&queued(&run, channel)), "{}", run["queues"]);
    }
    // They never reach that rate, and it is no fault of the generator.
    assert!(run["caveats"].as_array().unwrap().iter().all(|it| it["id"] != "generator_late"));
}
