//! Files of /proc and /sys that checks read, and knobs that they turn: in the guest only.
//!
//! Must not know: what a check concludes.

use std::collections::BTreeMap;
use std::fs;

/// A file's text without the newline at its end.
pub fn read(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.trim_end().to_owned()
}

pub fn write(path: &str, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("`{text}` to {path}: {error}"));
}

/// A knob that has another value until this is dropped.
#[must_use = "the old value comes back when this is dropped"]
pub struct Knob {
    path: String,
    before: String,
}

impl Knob {
    pub fn set(path: &str, value: &str) -> Knob {
        let before = read(path);
        write(path, value);
        assert_eq!(read(path), value, "{path} did not take it");
        Knob { path: path.to_owned(), before }
    }

    /// kernel.numa_balancing: `0` or `1`.
    pub fn numa_balancing(value: &str) -> Knob {
        Knob::set("/proc/sys/kernel/numa_balancing", value)
    }
}

impl Drop for Knob {
    fn drop(&mut self) {
        // A panic here would hide the one that a check may be in.
        let _ = fs::write(&self.path, &self.before);
    }
}

/// The counters of /proc/vmstat at one moment.
pub struct Vmstat(BTreeMap<String, u64>);

impl Vmstat {
    pub fn read() -> Vmstat {
        Vmstat::of(&read("/proc/vmstat"))
    }

    fn of(text: &str) -> Vmstat {
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        Vmstat(pairs.filter_map(|(key, n)| Some((key.to_owned(), n.parse().ok()?))).collect())
    }

    /// How much a counter has grown from then to now.
    pub fn grown(&self, since: &Vmstat, key: &str) -> u64 {
        let of = |stat: &Vmstat| *stat.0.get(key).unwrap_or_else(|| panic!("vmstat has no {key}"));
        let (before, now) = (of(since), of(self));
        now.checked_sub(before).unwrap_or_else(|| panic!("{key} fell from {before} to {now}"))
    }
}

/// A number of a task's sched file, as in `total_numa_faults` or `mm->numa_scan_seq`
/// (kernel/sched/debug.c, proc_sched_show_task, v6.12).
pub fn sched(pid: u32, task: u32, key: &str) -> u64 {
    let path = format!("/proc/{pid}/task/{task}/sched");
    number_in_sched(&read(&path), key).unwrap_or_else(|| panic!("{path} has no {key}"))
}

fn number_in_sched(text: &str, key: &str) -> Option<u64> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.filter(|(name, _)| name.trim() == key).find_map(|(_, n)| n.trim().parse().ok())
}

#[test]
fn numbers_of_a_task() {
    let text = "ping-0 (7, #threads: 3)\n---\nse.nr_migrations   :    12\n\
                mm->numa_scan_seq    :   0\nnumber :  x\n";
    let check = |key: &str, expected: Option<u64>| {
        assert_eq!(number_in_sched(text, key), expected, "{key}");
    };
    check("se.nr_migrations", Some(12));
    check("mm->numa_scan_seq", Some(0));
    check("numa_scan_seq", None);
    check("number", None);
}

#[test]
fn counters_grow() {
    let before = Vmstat::of("numa_hit 5\nnuma_hint_faults 7\n");
    let now = Vmstat::of("numa_hit 5\nnuma_hint_faults 9\nnr_new 1\nodd\n");
    assert_eq!(now.grown(&before, "numa_hint_faults"), 2);
    assert_eq!(now.grown(&before, "numa_hit"), 0);
    assert!(std::panic::catch_unwind(|| now.grown(&before, "nr_new")).is_err());
    assert!(std::panic::catch_unwind(|| before.grown(&now, "numa_hint_faults")).is_err());
}

#[test]
fn a_knob_comes_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("knob");
    let path = path.to_str().expect("UTF-8");
    write(path, "1\n");
    let knob = Knob::set(path, "0");
    assert_eq!(read(path), "0");
    drop(knob);
    assert_eq!(read(path), "1");
}
