//! Short real runs against witnesses of their own: the kernel's counts, perf, what is left behind.
//!
//! A harness of its own: every test runs on the main thread with nothing beside it, so that threads
//! and descriptors of the process can be counted, and the process can be confined to one CPU or
//! started as a leader. No test looks at how long anything took, but that it came to an end. Must
//! not know: the crate's inner parts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod counts;
mod ends;
mod host;
mod leftovers;
mod perf;

use schedload::host::Host;
use schedload::plan::{Overrides, Plan};
use schedload::profile::{Profile, Source, catalogue};
use schedload::record::Recording;
use schedload::report::Report;
use schedload::run::{self, Control, leader};
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

/// What became of a test that did not panic.
enum Outcome {
    Passed,
    /// Nothing was tested, for this reason.
    Skipped(String),
}

struct Test {
    name: &'static str,
    body: fn() -> Outcome,
}

const TESTS: &[&[Test]] = &[counts::TESTS, host::TESTS, leftovers::TESTS, ends::TESTS, perf::TESTS];

/// A run that hangs would hang for ever, since waits have no time limit.
const PATIENCE: Duration = Duration::from_secs(240);

fn main() -> ExitCode {
    leader::enter_if_asked();
    let asked = Asked::from(std::env::args().skip(1));
    let tests = TESTS.iter().copied().flatten();
    let tests = tests.filter(|test| asked.wants(test.name));
    if asked.list {
        tests.for_each(|test| println!("{}: test", test.name));
        return ExitCode::SUCCESS;
    }
    watch();
    let (mut n_passed, mut n_skipped, mut n_failed) = (0, 0, 0);
    for test in tests {
        *NOW.lock().unwrap() = test.name;
        let word = match catch_unwind(test.body) {
            Ok(Outcome::Passed) => {
                n_passed += 1;
                "ok".to_owned()
            }
            Ok(Outcome::Skipped(why)) => {
                n_skipped += 1;
                format!("skipped: {why}")
            }
            Err(_) => {
                n_failed += 1;
                "FAILED".to_owned()
            }
        };
        println!("test {} ... {word}", test.name);
    }
    println!("\ntest result: {n_passed} passed; {n_failed} failed; {n_skipped} skipped");
    ExitCode::from(u8::from(n_failed > 0) * 101)
}

/// The test that is running.
static NOW: Mutex<&str> = Mutex::new("");

/// Ends this process when it does not end by itself.
fn watch() {
    std::thread::spawn(|| {
        std::thread::sleep(PATIENCE);
        println!("test {} ... FAILED: it hangs", NOW.lock().unwrap());
        std::process::exit(101);
    });
}

/// What the command line asks of a test binary, as far as cargo and nextest use it.
#[derive(Default)]
struct Asked {
    names: Vec<String>,
    skip: Vec<String>,
    exact: bool,
    list: bool,
    ignored: bool,
}

impl Asked {
    fn from(mut args: impl Iterator<Item = String>) -> Asked {
        let mut asked = Asked::default();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--exact" => asked.exact = true,
                "--list" => asked.list = true,
                "--ignored" => asked.ignored = true,
                "--skip" => asked.skip.extend(args.next()),
                "--format" | "--color" | "--test-threads" | "--logfile" | "-Z" => {
                    args.next();
                }
                flag if flag.starts_with('-') => {}
                name => asked.names.push(name.to_owned()),
            }
        }
        asked
    }

    fn wants(&self, test: &str) -> bool {
        let fits = |name: &String| match self.exact {
            true => name == test,
            false => test.contains(name.as_str()),
        };
        // No test is ignored.
        !self.ignored
            && (self.names.is_empty() || self.names.iter().any(fits))
            && !self.skip.iter().any(fits)
    }
}

fn host() -> Host {
    Host::read().unwrap()
}

/// A profile of these lines with this duration.
fn plan(host: &Host, duration: Option<&str>, text: &str) -> Plan {
    let source = Source { path: String::new(), text: format!("about = 'x'\n{text}") };
    let profile = Profile::parse("test", source).unwrap_or_else(|faults| panic!("{faults}"));
    let overrides = Overrides { duration: duration.map(str::to_owned), ..Overrides::default() };
    Plan::new(&profile, host, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// A built-in with these flags, as on a command line.
fn builtin(host: &Host, name: &str, flags: &str) -> Plan {
    let words: Vec<&str> = flags.split_whitespace().collect();
    let mut overrides = Overrides::default();
    for pair in words.chunks(2) {
        let (name, value) = (pair[0].trim_start_matches("--"), pair[1].to_owned());
        match name {
            "duration" => overrides.duration = Some(value),
            "warmup" => overrides.warmup = Some(value),
            _ => overrides.params.push((name.to_owned(), value)),
        }
    }
    let profile = catalogue::load(name).unwrap();
    Plan::new(&profile, host, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs it; all laws must hold.
fn ran(plan: &Plan, host: &Host) -> Recording {
    let recording = run::run(plan, host, &Control::default());
    let recording = recording.unwrap_or_else(|error| panic!("{}: {error}", plan.profile));
    assert_lawful(plan, host, &recording);
    recording
}

fn assert_lawful(plan: &Plan, host: &Host, recording: &Recording) {
    let report = Report::judge(plan, host, std::slice::from_ref(recording));
    let broken: Vec<_> = report.broken().collect();
    assert!(broken.is_empty(), "{}: {broken:?}", plan.profile);
}
