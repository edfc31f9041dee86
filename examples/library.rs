//! A profile built in Rust, run, and judged, without a file and without the command line.
//!
//! The tasks of one team pass a token around a ring, as many tasks as there are CPUs. What is
//! printed: how many messages a second the ring made, and how long a wakeup took by how far apart
//! waker and wakee were.
//!
//! ```text
//! cargo run --release --example library
//! ```

#![allow(clippy::print_stdout, reason = "the program's purpose")]

use schedload::plan::Overrides;
use schedload::profile::{Channel, Param, Profile, Step, Team};
use schedload::report::Run;
use schedload::run::{self, Control, leader};
use schedload::{Host, Plan, Report};
use std::error::Error;
use std::time::Duration;

/// A ring in which everybody wakes the next one, with one token under way.
fn ring() -> Result<Profile, Box<dyn Error>> {
    let pass =
        [Step::receive("slot[me]"), Step::act("spin", "work"), Step::send("slot[(me + 1) % size]")];
    let profile = Profile::new("ring")
        .about("Tasks in a ring, each waking the next")
        .param(Param::number("tasks", "max(2, cpus)").at_least(2).about("tasks in the ring"))
        .param(Param::number("work", "2us").about("CPU time burnt with a token in hand"))
        .duration(Duration::from_millis(500))
        .warmup(Duration::from_millis(100))
        .watch("messages_per_s", "cost of a wakeup and a switch")
        .watch("wakeup_latency_ns_p99", "where the next one is placed")
        // An eventfd wakes without carrying anything.
        .channel(Channel::new("slot", "eventfd").count("tasks"))
        .team(
            Team::new("member", "tasks")
                // Only the first puts a token in.
                .step(Step::repeat("max(0, 1 - me)", [Step::send("slot[1]")]))
                .step(Step::forever(pass)),
        );
    // Everything that is wrong would be told here, with the place in the profile's own text.
    Ok(profile.checked()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    // Profiles with processes start this program again as their leader, which must come here first.
    leader::enter_if_asked();

    // The host is read once, before anything is pinned.
    let host = Host::read()?;
    // What the command line would set: `--work 5us --seed 7`.
    let overrides = Overrides {
        params: vec![("work".to_owned(), "5us".to_owned())],
        seed: Some(7),
        ..Overrides::default()
    };
    let plan = Plan::new(&ring()?, &host, &overrides)?;
    let recording = run::run(&plan, &host, &Control::default())?;
    let report = Report::judge(&plan, &host, &[recording]);

    // With a broken law the numbers mean nothing.
    if let Some(check) = report.broken().next() {
        return Err(format!("{}: {}", check.name, check.detail).into());
    }
    for run in &report.runs {
        print(run);
    }
    Ok(())
}

fn print(run: &Run) {
    // A number that was not measured is `None`, never 0.
    match run.metrics.get("messages_per_s").and_then(|metric| metric.value) {
        Some(rate) => println!("{rate:.0} messages/s, {} migrations", run.migrations.total),
        None => println!("no throughput was measured"),
    }
    println!("{:<12} {:>10} {:>12}", "wakeups", "count", "p99 (us)");
    let wakeups = run.latency.iter().filter(|row| row.series == "wakeup");
    // `moved` splits each relation once more, by whether the wakee resumed on another CPU.
    for row in wakeups.filter(|row| row.moved.is_none()) {
        let name = &row.relation;
        match row.p99 {
            Some(ns) => println!("{name:<12} {:>10} {:>12.1}", row.count, ns as f64 / 1e3),
            None => println!("{name:<12} {:>10} {:>12}", row.count, "-"),
        }
    }
    for caveat in &run.caveats {
        println!("note: {}", caveat.text);
    }
}
