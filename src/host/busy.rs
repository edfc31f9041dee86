//! How long each CPU was busy, whoever kept it so.
//!
//! Must not know: runs and their tasks.

use super::Root;
use crate::base::{CpuId, Reading, State};

/// The kernel's times of each online CPU, as they were when it was read.
#[derive(Debug, Clone)]
pub struct BusyTimes {
    /// Busy, and altogether (ticks of 1/100 s).
    by_cpu: Reading<Vec<(CpuId, u64, u64)>>,
}

/// What a CPU's times are called before they are numbers.
const STAT: &str = "/proc/stat";

impl BusyTimes {
    /// From /proc/stat, where a CPU's idle and iowait are the fourth and fifth of its times, and
    /// those of guests are in user and nice already (fs/proc/stat.c, show_stat, v6.12).
    pub fn read(root: &Root) -> BusyTimes {
        let by_cpu = match root.text(STAT) {
            Reading::Value(text) => parsed(&text),
            Reading::Absent(absence) => Reading::Absent(absence),
        };
        BusyTimes { by_cpu }
    }

    /// The share of its time for which each CPU was busy since `before`; one that was not online
    /// at both is left out.
    pub fn since(&self, before: &BusyTimes) -> Reading<Vec<(CpuId, f64)>> {
        let (now, before) = match (&self.by_cpu, &before.by_cpu) {
            (Reading::Value(now), Reading::Value(before)) => (now, before),
            (Reading::Absent(absence), _) | (_, Reading::Absent(absence)) => {
                return Reading::Absent(absence.clone());
            }
        };
        let grown = now.iter().filter_map(|&(cpu, busy, all)| {
            let (_, busy_before, all_before) = before.iter().find(|(it, ..)| *it == cpu)?;
            let all = all.checked_sub(*all_before).filter(|ticks| *ticks > 0)?;
            Some((cpu, busy.saturating_sub(*busy_before).min(all) as f64 / all as f64))
        });
        let grown: Vec<(CpuId, f64)> = grown.collect();
        match grown.is_empty() {
            true => Reading::absent(State::Absent, "the run was shorter than a tick of /proc/stat"),
            false => Reading::Value(grown),
        }
    }
}

fn parsed(text: &str) -> Reading<Vec<(CpuId, u64, u64)>> {
    let of_cpu = |line: &str| -> Option<(CpuId, u64, u64)> {
        let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
        let cpu = CpuId(words.next()?.parse().ok()?);
        // user nice system idle iowait irq softirq steal
        let times: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
        let all: u64 = times.iter().sum();
        let idle = times.get(3)? + times.get(4)?;
        Some((cpu, all - idle, all))
    };
    // The first line is the sum of all and has no number.
    let cpus = text.lines().take_while(|line| line.starts_with("cpu")).skip(1);
    let cpus: Vec<_> = cpus.filter_map(of_cpu).collect();
    match cpus.is_empty() {
        true => Reading::absent(State::NotSupported, format!("{STAT} has no line of a CPU")),
        false => Reading::Value(cpus),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_up(text: &str) -> BusyTimes {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        std::fs::write(dir.path().join("proc/stat"), text).unwrap();
        BusyTimes::read(&Root::new(dir.path()))
    }

    #[test]
    fn shares_are_of_what_grew() {
        let check = |before: &str, now: &str, expected: &[(u32, f64)]| {
            let got = made_up(now).since(&made_up(before));
            let got = got.value().cloned().unwrap_or_default();
            let got: Vec<(u32, f64)> = got.iter().map(|(cpu, share)| (cpu.0, *share)).collect();
            assert_eq!(got, expected, "{before:?} {now:?}");
        };
        let all = "cpu  9 9 9 9 9 9 9 9 9 9\n";
        let before = format!("{all}cpu0 10 0 10 100 5 0 0 0 0 0\ncpu1 0 0 0 7 0 0 0 0 0 0\nintr 1");
        // Guests' time is in that of users; waiting for I/O is idle, stolen time is not.
        let now = format!("{all}cpu0 20 5 11 155 25 1 2 6 10 5\ncpu1 0 0 0 17 0 0 0 0\nintr 2");
        check(&before, &now, &[(0, 0.25), (1, 0.0)]);
        // A counter that ran backwards, a CPU that came or went, a run of no length.
        let idle = format!("{all}cpu0 9 0 10 201 5 0 0 0\n");
        check(&before, &idle, &[(0, 0.0)]);
        check(&idle, &format!("{all}cpu3 1 0 0 1 0 0 0 0\n"), &[]);
        check(&now, &now, &[]);
    }

    #[test]
    fn says_why_there_is_nothing() {
        let check = |before: &BusyTimes, now: &BusyTimes, expected: &str| {
            assert!(now.since(before).reason().contains(expected), "{:?}", now.since(before));
        };
        let some = made_up("cpu 1 1 1 1 1\ncpu0 1 1 1 1 1\n");
        check(&some, &some, "shorter than a tick");
        check(&made_up("intr 1"), &some, "no line of a CPU");
        check(&some, &BusyTimes::read(&Root::new("/nowhere")), "no /proc/stat");
    }
}
