//! What the kernel counted for one thread: /proc/self/task/TID/{schedstat,sched,status}.
//!
//! These files are gone when the thread is, so each worker reads its own at its end; twenty
//! thousand of them do, from small stacks. Must not know: workers, what the counts are for. Three
//! zeros in schedstat are passed on: whether they mean "off" is for the caller to say.

use super::files::{Root, absence, parsed};
use crate::base::{CpuList, Reading, State};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;

/// All that is wanted of a thread at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskFiles {
    pub nr_migrations: Reading<u64>,
    /// Switches because it waited, and because it was preempted.
    pub voluntary: Reading<u64>,
    pub involuntary: Reading<u64>,
    /// Time on a CPU, and runnable but waiting for one.
    pub run_ns: Reading<u64>,
    pub run_delay_ns: Reading<u64>,
    pub timeslices: Reading<u64>,
}

/// The numbers of a schedstat file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedstat {
    pub run_ns: u64,
    pub delay_ns: u64,
    pub timeslices: u64,
}

/// The numbers of a sched file that mean the same in all kernels.
#[derive(Debug, Clone, PartialEq)]
pub struct Sched {
    pub nr_migrations: Reading<u64>,
    pub nr_switches: Reading<u64>,
    pub voluntary: Reading<u64>,
    pub involuntary: Reading<u64>,
}

/// What a status file says about scheduling.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub voluntary: Reading<u64>,
    pub involuntary: Reading<u64>,
    pub cpus_allowed: Reading<CpuList>,
}

/// In reasons, in place of the number: thousands of threads then give one reason, not thousands.
const SCHEDSTAT: &str = "/proc/self/task/TID/schedstat";
const SCHED: &str = "/proc/self/task/TID/sched";
const STATUS: &str = "/proc/self/task/TID/status";

/// Reads the files of one thread of this process: two files, or three where `sched` has no
/// switches, each with one open, one read and one close.
pub fn read_task(root: &Root, tid: i32) -> TaskFiles {
    let mut files = Files {
        directory: root.path(&format!("/proc/self/task/{tid}")),
        bytes: Vec::with_capacity(FIRST_READ),
    };
    let schedstat = match files.text("schedstat", SCHEDSTAT) {
        Reading::Value(text) => parse_schedstat(text),
        Reading::Absent(it) => Reading::Absent(it),
    };
    let Sched { nr_migrations, mut voluntary, mut involuntary, .. } =
        match files.text("sched", SCHED) {
            Reading::Value(text) => parse_sched(text),
            Reading::Absent(it) => {
                let absent = || Reading::Absent(it.clone());
                Sched {
                    nr_migrations: absent(),
                    nr_switches: absent(),
                    voluntary: absent(),
                    involuntary: absent(),
                }
            }
        };
    if voluntary.value().is_none() || involuntary.value().is_none() {
        let status = files.text("status", STATUS);
        if let Reading::Value(text) = status {
            (voluntary, involuntary) = switches_of_status(text);
        }
    }
    TaskFiles {
        nr_migrations,
        voluntary,
        involuntary,
        run_ns: schedstat.clone().map(|it| it.run_ns),
        run_delay_ns: schedstat.clone().map(|it| it.delay_ns),
        timeslices: schedstat.map(|it| it.timeslices),
    }
}

/// "run_ns delay_ns timeslices" (fs/proc/base.c, proc_pid_schedstat, v6.12).
pub fn parse_schedstat(text: &str) -> Reading<Schedstat> {
    let mut numbers = text.split_ascii_whitespace().map(|word| word.parse().ok());
    let mut next = || numbers.next().flatten();
    match (next(), next(), next()) {
        (Some(run_ns), Some(delay_ns), Some(timeslices)) => {
            Reading::Value(Schedstat { run_ns, delay_ns, timeslices })
        }
        _ => Reading::absent(State::NotSupported, format!("{SCHEDSTAT} is not three numbers")),
    }
}

/// Lines `key : value`; the keys changed their prefixes over the versions (`se.nr_migrations`,
/// `se.statistics.nr_wakeups`), not their last part (kernel/sched/debug.c, proc_sched_show_task).
pub fn parse_sched(text: &str) -> Sched {
    // The head holds the thread's name, which may look like anything.
    let body = text.split_once("\n---").map_or(text, |(_, body)| body);
    let number = |key| number_of(body, key, SCHED);
    Sched {
        nr_migrations: number("nr_migrations"),
        nr_switches: number("nr_switches"),
        voluntary: number("nr_voluntary_switches"),
        involuntary: number("nr_involuntary_switches"),
    }
}

pub fn parse_status(text: &str) -> Status {
    let (voluntary, involuntary) = switches_of_status(text);
    let cpus_allowed = match value_of(text, "Cpus_allowed_list") {
        Some(list) => parsed(STATUS, list, "a list of CPUs"),
        None => no_line(STATUS, "Cpus_allowed_list"),
    };
    Status { voluntary, involuntary, cpus_allowed }
}

fn switches_of_status(text: &str) -> (Reading<u64>, Reading<u64>) {
    let number = |key| number_of(text, key, STATUS);
    (number("voluntary_ctxt_switches"), number("nonvoluntary_ctxt_switches"))
}

fn number_of(text: &str, key: &str, path: &str) -> Reading<u64> {
    match value_of(text, key) {
        Some(value) => parsed(path, value, "a number"),
        None => no_line(path, key),
    }
}

/// The value of the line whose key ends in `key`, as a whole or after a dot.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    let mut found = pairs.filter(|(name, _)| name.trim().rsplit('.').next() == Some(key));
    found.next().map(|(_, value)| value.trim())
}

fn no_line<T>(path: &str, key: &str) -> Reading<T> {
    Reading::absent(State::Absent, format!("{path} has no line {key} in this kernel"))
}

/// These files are about 2 KiB; the masks of a machine with 8,192 CPUs add as much to `status`.
const FIRST_READ: usize = 8192;

/// Files of one directory, read one after the other into the same memory.
struct Files {
    directory: PathBuf,
    bytes: Vec<u8>,
}

impl Files {
    fn text(&mut self, name: &str, shown: &str) -> Reading<&str> {
        self.directory.push(name);
        let read = self.read();
        self.directory.pop();
        match read {
            Ok(()) => match std::str::from_utf8(&self.bytes) {
                Ok(text) => Reading::Value(text),
                // Only the thread's name can be anything but ASCII, and it is in the head.
                Err(_) => Reading::Value(after_the_name(&self.bytes)),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Reading::absent(
                State::Absent,
                format!("there is no {shown}: {}", why_missing(name)),
            ),
            Err(error) => absence(shown, &error),
        }
    }

    fn read(&mut self) -> io::Result<()> {
        let mut file = File::open(&self.directory)?;
        self.bytes.resize(FIRST_READ, 0);
        let mut length = 0;
        loop {
            match file.read(&mut self.bytes[length..]) {
                Ok(n) => length += n,
                // The signal that ends a run may come at any time.
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            // The kernel prints these files whole (single_open), so less than asked is the end
            // (fs/seq_file.c, seq_read_iter, v6.12).
            if length < self.bytes.len() {
                self.bytes.truncate(length);
                return Ok(());
            }
            self.bytes.resize(length * 2, 0);
        }
    }
}

fn after_the_name(bytes: &[u8]) -> &str {
    let line_end = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    std::str::from_utf8(&bytes[line_end..]).unwrap_or("")
}

fn why_missing(name: &str) -> &'static str {
    match name {
        "sched" => "a kernel without CONFIG_SCHED_DEBUG (before 6.15), or the thread has ended",
        "schedstat" => "a kernel without CONFIG_SCHED_INFO, or the thread has ended",
        _ => "the thread has ended, or /proc is not mounted",
    }
}

#[cfg(test)]
mod tests;
