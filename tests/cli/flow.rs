//! Steps that decide who does others, which and when: what they come to in real runs.

use crate::{json, printed, profile, refused, schedload};
use serde_json::Value;

/// The run of a profile whose counts are known beforehand, with its laws.
pub fn run(text: &str, flags: &str) -> Value {
    let (_dir, path) = profile(&format!("about = \"x\"\n{text}"));
    let document = json(&schedload(&format!("run {path} {flags} --json -")));
    let run = document["runs"][0].clone();
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
    run
}

/// A team of 4 that does these steps, and somebody who takes the messages it sends.
fn senders(steps: &str) -> String {
    format!(
        "[channel.sink]\nkind = \"queue\"\n[team.sender]\nsize = 4\nsteps = [ {steps} ]\n\
         [team.taker]\nsize = 1\nbackground = true\n\
         steps = [ {{ forever = [ {{ receive = \"sink\" }} ] }} ]"
    )
}

fn sent(run: &Value) -> u64 {
    run["messages"]["sent"].as_u64().unwrap()
}

#[test]
fn a_share_of_the_team_takes_part_in_each_round() {
    let check = |share: &str, choose: &str, expected: u64| {
        let steps = format!(
            "{{ repeat = 9, steps = [ {{ active = \"{share}\", choose = \"{choose}\", steps = [ \
             {{ send = \"sink\" }} ] }} ] }}"
        );
        assert_eq!(sent(&run(&senders(&steps), "")), expected, "{share} {choose}");
    };
    for choose in ["fixed", "rotating", "random"] {
        check("1/2", choose, 18);
        check("60%", choose, 27);
        check("1", choose, 36);
    }
}

#[test]
fn a_deck_deals_what_it_holds() {
    let steps = "{ repeat = 40, steps = [ { choose = [ { weight = 3, steps = [ { send = \"sink\" } \
                 ] }, { weight = 7, steps = [ { spin = \"1us\" } ] }, { weight = 0, steps = [ { \
                 repeat = 5, steps = [ { send = \"sink\" } ] } ] } ], as = \"deck\" } ] }";
    assert_eq!(sent(&run(&senders(steps), "")), 4 * 12);
    let random = steps.replace("deck", "random");
    let sent = sent(&run(&senders(&random), ""));
    assert!((1..160).contains(&sent), "{sent}");
}

#[test]
fn plans_say_who_and_which() {
    let steps = "{ active = \"1/3\", steps = [ { choose = [ { weight = 2, steps = [ { spin = \
                 \"1us\" } ] }, { steps = [ { send = \"sink\" } ] } ] } ] }";
    let (_dir, path) = profile(&format!("about = \"x\"\n{}", senders(steps)));
    let plan = printed(&schedload(&format!("plan {path}")), 0);
    let expected = "\
  active 2 members, fixed
    choose, random
      weight 2
        spin 1us
      weight 1
        send sink
";
    assert!(plan.contains(expected), "{plan}");
}

#[test]
fn rounds_keep_their_times() {
    let steps = "{ every = \"2ms\", count = 5, offset = \"me * 500us\", steps = [ { send = \
                 \"sink\" } ] }";
    let run = run(&senders(steps), "");
    assert_eq!(sent(&run), 20);
    let every = &run["arrivals"][0];
    assert_eq!(every["at"], "every 2ms, from me * 500us, 5 times");
    assert_eq!(every["arrivals_total"], 20);
    assert_eq!(every["lateness"]["count"], every["arrivals"]);
    // Four rounds of 2 ms after the first, for whoever begins.
    assert!(run["elapsed_s"].as_f64().unwrap() >= 0.008);
}

#[test]
fn rounds_that_are_missed_are_counted_and_left_out() {
    let steps = "{ every = \"1ms\", count = 4, steps = [ { spin = \"2500us\" } ] }";
    let text = format!("[team.late]\nsize = 1\nsteps = [ {steps} ]");
    let run = run(&text, "");
    let every = &run["arrivals"][0];
    assert_eq!(every["arrivals_total"], 4);
    // At least two periods pass in each round but the last.
    assert!(every["missed"].as_u64().unwrap() >= 6, "{every}");
}

/// Generators, workers behind a queue, and a time from arrival to the end of the work.
fn open_loop(rate: &str, pattern: &str, kind: &str) -> String {
    format!(
        "duration = \"300ms\"\nwarmup = \"50ms\"\n\
         [channel.queue]\nkind = \"{kind}\"\nbytes = 64\n\
         [team.generator]\nsize = 2\nsteps = [ {{ arrive = {rate}, as = \"{pattern}\", steps = [ \
         {{ send = \"queue\" }} ] }} ]\n\
         [team.server]\nsize = 2\nsteps = [ {{ receive = \"queue\" }}, \
         {{ measure = \"response\", from = \"arrival\", steps = [ \
         {{ measure = \"service\", steps = [ {{ spin = \"20us\" }} ] }} ] }} ]"
    )
}

fn whole<'a>(run: &'a Value, series: &str) -> &'a Value {
    let rows = run["latency"].as_array().unwrap().iter();
    let mut found = rows.filter(|row| row["series"] == series && row["relation"] == "all");
    found.next().unwrap_or_else(|| panic!("no {series}"))
}

#[test]
fn arrivals_are_served_or_queued_and_timed_from_when_they_were_due() {
    for (pattern, kind) in [("poisson", "queue"), ("constant", "pipe"), ("burst", "socketpair")] {
        let run = run(&open_loop("1000", pattern, kind), "");
        let arrivals = &run["arrivals"][0];
        let total = arrivals["arrivals_total"].as_u64().unwrap();
        assert!(total > 0, "{pattern}");
        assert_eq!(sent(&run), total, "{pattern}");
        assert_eq!(arrivals["offered_per_s"], 1000.0);
        assert_eq!(arrivals["lateness"]["count"], arrivals["arrivals"]);
        let (response, service) = (whole(&run, "response"), whole(&run, "service"));
        let count = |row: &Value| row["count"].as_u64().unwrap();
        // The window may end between the two.
        assert!(count(service).abs_diff(count(response)) <= 2, "{pattern}");
        assert!(count(response) > 0, "{pattern}");
        for part in ["min", "p50", "max"] {
            let ns = |row: &Value| row[part].as_u64().unwrap();
            assert!(ns(response) >= ns(service), "{pattern}: {part}");
        }
        assert!(run["caveats"].as_array().unwrap().iter().all(|it| it["id"] != "origin_lost"));
    }
}

#[test]
fn a_generator_that_cannot_keep_up_says_so() {
    // Each arrival takes 1 ms and there are to be 4000 in a second.
    let text = "duration = \"200ms\"\n\
                [team.generator]\nsize = 1\nsteps = [ { arrive = 4000, as = \
                \"constant\", steps = [ { spin = \"1ms\" } ] } ]";
    let run = run(text, "");
    let caveats = run["caveats"].as_array().unwrap();
    let late = caveats.iter().find(|it| it["id"] == "generator_late").unwrap();
    assert!(late["text"].as_str().unwrap().starts_with("invalid: the generator was"), "{late}");
    // It makes up for what it missed, and says how late it was.
    assert!(run["arrivals"][0]["lateness"]["max"].as_u64().unwrap() > 50_000_000);
}

#[test]
fn what_is_allocated_is_counted() {
    let text = "[memory.nursery]\nbytes = \"1MiB\"\ncount = 2\n\
                [team.mutator]\nsize = 2\nsteps = [ { \
                repeat = 70, steps = [ { allocate = \"nursery[me]\", bytes = \"100KiB\" } ] } ]";
    let run = run(text, "");
    let per_s = run["metrics"]["memory_bytes_per_s"]["value"].as_f64().unwrap();
    let bytes = per_s * run["window_s"].as_f64().unwrap();
    assert_eq!(bytes.round() as u64, 2 * 70 * 100 * 1024);
}

#[test]
fn sweeps_have_the_points_of_the_machine() {
    let text = "[param]\nn = { default = 1, about = \"tasks\" }\n\
                [team.w]\nsize = \"n\"\nsteps = [ { \
                spin = \"20us\", spread = \"lognormal\", cv = 1 } ]";
    let (_dir, path) = profile(&format!("about = \"x\"\n{text}"));
    let points = |sweep: &str| -> Vec<u64> {
        let document = json(&schedload(&format!("run {path} --sweep {sweep} --json -")));
        let points = document["sweep"]["points"].as_array().unwrap().iter();
        points.map(|point| point["runs"][0]["tasks"].as_u64().unwrap()).collect()
    };
    assert_eq!(points("n=1..5:2,2,3,8"), [1, 3, 5, 2, 8]);
    assert_eq!(points("n=1..8*2"), [1, 2, 4, 8]);
    let sizes = points("n=topology");
    assert!(sizes.is_sorted() && sizes[..2] == [1, 2], "{sizes:?}");
    refused(
        &schedload(&format!("run {path} --sweep n=4..1")),
        2,
        &["`4..1` has no points: it would begin at 4 and end at 1"],
    );
}
