//! Instances of several processes: they meet on channels, share what they are to share, and are
//! reported together.

use crate::{json, profile, schedload};
use serde_json::Value;

/// A client and a server that ask and answer so often, of so many tasks, and what else there is.
fn text(kind: &str, more: &str) -> String {
    format!(
        "about = \"x\"\n{more}\n[process.client]\n[process.server]\n\
         [channel.ask]\nkind = \"{kind}\"\ncount = 2\n\
         [channel.reply]\nkind = \"{kind}\"\ncount = 2\n\
         [team.client]\nsize = 2\nprocess = \"client\"\nsteps = [ {{ repeat = 50, steps = [ \
         {{ measure = \"round_trip\", steps = [ {{ send = \"ask[me]\", bytes = 32 }}, \
         {{ receive = \"reply[me]\", bytes = 32 }} ] }} ] }} ]\n\
         [team.server]\nsize = 2\nprocess = \"server\"\nsteps = [ {{ repeat = 50, steps = [ \
         {{ receive = \"ask[me]\", bytes = 32 }}, {{ send = \"reply[me]\", bytes = 32 }} ] }} ]\n"
    )
}

/// A run whose laws hold.
fn run(text: &str) -> Value {
    let (_dir, path) = profile(text);
    let run = json(&schedload(&format!("run {path} --json -")))["runs"][0].clone();
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
    run
}

#[test]
fn they_meet_on_channels_of_all_kinds() {
    let check = |kind: &str, more: &str, instances: u64, copies: u64| {
        let run = run(&text(kind, more));
        let round_trips = instances * copies * 2 * 50;
        let of = |row: &&Value| row["series"] == "round_trip" && row["relation"] == "all";
        let latency = run["latency"].as_array().unwrap();
        let row = latency.iter().find(of).unwrap();
        assert_eq!(row["count"], round_trips, "{kind} {more}");
        assert_eq!(run["tasks"], instances * copies * 4, "{kind} {more}");
        let wakeups = latency.iter().filter(|row| {
            row["series"] == "wakeup" && row["relation"] == "all" && row["moved"].is_null()
        });
        let wakeups: u64 = wakeups.map(|row| row["count"].as_u64().unwrap()).sum();
        let ready = run["found_ready"].as_u64().unwrap();
        assert_eq!(wakeups + ready, 2 * round_trips, "{kind} {more}");
    };
    for kind in ["socketpair", "tcp", "futex", "pipe", "eventfd"] {
        check(kind, "", 1, 1);
    }
    check("socketpair", "instances = 2", 2, 1);
    check("tcp", "instances = 2\ncopies = 3", 2, 3);
    check("futex", "instances = 3\ncopies = 2", 3, 2);
}

/// A region that both sweep and one that only the server does, four pages each.
fn with_memory(shared: &str, first_touch: &str) -> String {
    let region = |name: &str, keys: &str| {
        format!("[memory.{name}]\nbytes = \"16 KiB\"\nhuge = \"never\"\n{keys}\n")
    };
    let both = format!("shared = \"{shared}\"\nfirst_touch = \"{first_touch}\"");
    let regions = region("both", &both) + &region("rows", "");
    let sweeps = "steps = [ { sweep = \"both\", access = \"write\" }, ";
    let text = text("socketpair", &format!("instances = 2\n{regions}"));
    let text = text.replace("steps = [ { repeat", &format!("{sweeps}{{ repeat"));
    text.replacen(
        "{ receive = \"ask",
        "{ sweep = \"rows\", access = \"write\" }, { receive = \"ask",
        1,
    )
}

/// Pages of a region that were looked at, in memory and in all, at each look.
fn looked_at(run: &Value, instance: usize, region: usize) -> Vec<(u64, u64)> {
    let region = &run["timeline"]["instances"][instance]["regions"][region];
    let nodes = region["pages"].as_array().unwrap();
    let absent = region["absent"].as_array().unwrap().iter().enumerate();
    absent
        .filter_map(|(look, absent)| {
            let pages = nodes.iter().map(|node| node["pages"][look].as_u64());
            let there = pages.sum::<Option<u64>>()?;
            Some((there, there + absent.as_u64()?))
        })
        .collect()
}

/// What each process has for itself is seen in each of them.
#[test]
fn memory_is_shared_as_far_as_it_is_said() {
    let check = |shared: &str, first_touch: &str, n_mappings: u64| {
        let run = run(&with_memory(shared, first_touch));
        assert_eq!(run["residency"]["instances"].as_array().unwrap().len(), 2);
        for instance in 0..2 {
            let rows = looked_at(&run, instance, 1);
            let both = looked_at(&run, instance, 0);
            assert!(both.iter().all(|(_, all)| *all == 4 * n_mappings), "{shared}: {both:?}");
            assert!(rows.iter().all(|(_, all)| *all == 4), "{shared}: {rows:?}");
            // Where the kernel tells of pages at all: at the last look all have swept.
            for (there, all) in rows.last().into_iter().chain(both.last()) {
                assert_eq!(there, all, "{shared} {first_touch}");
            }
            let bytes = &run["timeline"]["instances"][instance]["regions"][0]["bytes"];
            assert_eq!(bytes.as_u64(), Some(n_mappings << 14), "{shared}");
        }
    };
    for first_touch in ["owner", "main", "nobody"] {
        check("process", first_touch, 2);
        check("instance", first_touch, 1);
        check("all", first_touch, 1);
    }
    check("instance", "server", 1);
    check("instance", "interleave", 1);
}

/// A way that one of them writes is gone by the other, and a team is spawned within its process.
#[test]
fn what_is_prepared_is_there_for_all() {
    let chase = |shared: &str| {
        let area = format!("[memory.area]\nbytes = \"64 KiB\"\nshared = \"{shared}\"");
        let steps = "steps = [ { chase = \"area\", count = 2000 }, { repeat";
        text("tcp", &area).replace("steps = [ { repeat", steps)
    };
    for shared in ["process", "instance", "all"] {
        let run = run(&chase(shared));
        let per_s = run["metrics"]["memory_bytes_per_s"]["value"].as_f64().unwrap();
        let bytes = (per_s * run["window_s"].as_f64().unwrap()).round() as u64;
        assert_eq!(bytes, 4 * 2000 * 64, "{shared}");
    }
    let late = "[team.late]\nsize = 3\nprocess = \"server\"\nstart = \"spawned\"\n\
                steps = [ { spin = \"1us\" } ]\n\
                [team.main]\nsize = 1\nprocess = \"server\"\n\
                steps = [ { spawn = \"late\" }, { join = \"late\" } ]\n";
    let run = run(&(text("pipe", "instances = 2") + late));
    assert_eq!(run["tasks"], 2 * (4 + 4));
}
