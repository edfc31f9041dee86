//! What the kernel's files of one task say: /proc/self/{sched,schedstat,status} as text.
//!
//! Must not know: who reads them, or when; what the counts are for. Three zeros in schedstat are
//! passed on: whether they mean "off" is for the caller to say.

use super::files::parsed;
use crate::base::{CpuList, Reading, State};

/// The numbers of a schedstat file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedstat {
    pub run_ns: u64,
    pub delay_ns: u64,
    pub timeslices: u64,
}

/// In reasons, in place of the number: thousands of threads then give one reason, not thousands.
const SCHEDSTAT: &str = "/proc/self/task/TID/schedstat";
pub(super) const SCHED: &str = "/proc/self/task/TID/sched";
const STATUS: &str = "/proc/self/task/TID/status";

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

/// `nr_migrations` of a sched file: lines `key : value`, whose keys changed their prefixes over the
/// versions (`se.nr_migrations`), not their last part (kernel/sched/debug.c, proc_sched_show_task).
pub fn nr_migrations(sched: &str) -> Reading<u64> {
    match values_of(sched, Head::Name, ["nr_migrations"]) {
        [Some(value)] => parsed(SCHED, value, "a number"),
        [None] => no_line(SCHED, "nr_migrations"),
    }
}

/// The CPUs that a status file allows.
pub fn cpus_allowed(status: &str) -> Reading<CpuList> {
    match value_of(status, "Cpus_allowed_list") {
        Some(list) => parsed(STATUS, list, "a list of CPUs"),
        None => no_line(STATUS, "Cpus_allowed_list"),
    }
}

/// How often a sleeping task has left its CPU so far, of its own accord and not, from its status
/// file; `None` if it is runnable, stopped, or in a sleep that takes no signal (fs/proc/array.c,
/// get_task_state and task_context_switch_counts, v6.12).
pub fn asleep(status: &str) -> Option<[u64; 2]> {
    let state = value_of(status, "State")?;
    let count = |key| value_of(status, key)?.parse().ok();
    match state.starts_with('S') {
        true => Some([count("voluntary_ctxt_switches")?, count("nonvoluntary_ctxt_switches")?]),
        false => None,
    }
}

/// The value of the line whose key is `key`.
pub(super) fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let [value] = values_of(text, Head::None, [key]);
    value
}

/// How a file begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    None,
    /// With the thread's name, which may look like anything, until a line of dashes.
    Name,
}

/// The values of the first lines whose keys end in these, as a whole or after a dot.
///
/// Loops over bytes that call nothing: as a task ends, each page of code that its process has not
/// been in costs it a fault.
pub(super) fn values_of<'a, const N: usize>(
    text: &'a str,
    head: Head,
    keys: [&str; N],
) -> [Option<&'a str>; N] {
    let mut values = [None; N];
    let (mut begin, mut in_head) = (0, head == Head::Name);
    let ends = text.bytes().chain([b'\n']).enumerate().filter(|(_, byte)| *byte == b'\n');
    for (end, _) in ends {
        let line = &text.as_bytes()[begin..end];
        if in_head {
            in_head = !line.starts_with(b"---");
        } else if let Some(colon) = line.iter().position(|byte| *byte == b':') {
            let name = line[..colon].trim_ascii();
            for (key, value) in keys.iter().zip(&mut values) {
                if value.is_none() && is_key(name, key.as_bytes()) {
                    *value = Some(text[begin + colon + 1..end].trim_ascii());
                }
            }
            if values.iter().all(Option::is_some) {
                break;
            }
        }
        begin = end + 1;
    }
    values
}

/// Whether a name is this key, with or without prefixes that end in dots.
fn is_key(name: &[u8], key: &[u8]) -> bool {
    let before = name.len().checked_sub(key.len());
    before.is_some_and(|before| {
        name[before..].iter().eq(key) && (before == 0 || name[before - 1] == b'.')
    })
}

fn no_line<T>(path: &str, key: &str) -> Reading<T> {
    Reading::absent(State::Absent, format!("{path} has no line {key} in this kernel"))
}

#[cfg(test)]
mod tests;
