//! The kernel's own numbers summed over the tasks, and the table of sources with their states.
//!
//! A sum exists only where every task that checked out has the number, and says so where not all
//! checked out. Must not know: how the numbers were read.

use crate::base::{Absence, Reading, State};
use crate::record::recording::{KernelCounts, TaskRecord};
use crate::record::timeline::InstanceSample;
use crate::report::judge::Case;
use crate::report::{KernelTotals, Source, Sourced};

/// Sums of the kernel's counts.
pub(super) struct Kernel {
    pub migrations: Sourced,
    pub totals: KernelTotals,
    /// CPU time before the tasks were ready (ns), which `totals` has as well.
    pub ready_ns: u64,
    /// The same of waiting for a CPU.
    pub ready_delay_ns: u64,
}

impl Kernel {
    pub fn of(tasks: &[TaskRecord]) -> Kernel {
        Kernel::of_these(&tasks.iter().collect::<Vec<_>>())
    }

    /// The tasks of one team.
    pub fn of_team(tasks: &[TaskRecord], team: usize) -> Kernel {
        Kernel::of_these(&tasks.iter().filter(|task| task.team == team).collect::<Vec<_>>())
    }

    fn of_these(tasks: &[&TaskRecord]) -> Kernel {
        let sum = |of: fn(&KernelCounts) -> &Reading<u64>| sum(tasks, of);
        let out = || tasks.iter().filter(|task| task.checked_out);
        Kernel {
            migrations: sum(|kernel| &kernel.nr_migrations),
            totals: KernelTotals {
                voluntary_switches: sum(|kernel| &kernel.voluntary_switches),
                involuntary_switches: sum(|kernel| &kernel.involuntary_switches),
                run_ns: sum(|kernel| &kernel.run_ns),
                run_delay_ns: sum(|kernel| &kernel.run_delay_ns),
                timeslices: sum(|kernel| &kernel.timeslices),
            },
            ready_ns: out().map(|task| task.ready_ns).sum(),
            ready_delay_ns: out().map(|task| task.ready_delay_ns).sum(),
        }
    }
}

impl Sourced {
    pub(super) fn of(reading: Reading<u64>) -> Sourced {
        Sourced {
            state: reading.state().name().to_owned(),
            value: reading.value().copied(),
            reason: absence(&reading).map(|absence| absence.reason),
        }
    }
}

/// The sum over some tasks.
pub(super) fn sum(tasks: &[&TaskRecord], of: fn(&KernelCounts) -> &Reading<u64>) -> Sourced {
    let out = || tasks.iter().filter(|task| task.checked_out);
    let n_out = out().count();
    let absent = |state: State, reason: String| Sourced::of(Reading::absent(state, reason));
    if n_out == 0 {
        return absent(State::Absent, "no task checked out to tell it".to_owned());
    }
    let lacking: Vec<&Reading<u64>> =
        out().map(|task| of(&task.kernel)).filter(|reading| reading.value().is_none()).collect();
    if let Some(first) = lacking.first() {
        let which = format!("{} ({} of {n_out} tasks)", first.reason(), lacking.len());
        return absent(first.state(), which);
    }
    let values = out().filter_map(|task| of(&task.kernel).value());
    let n = tasks.len();
    Sourced {
        state: State::Ok.name().to_owned(),
        value: Some(values.sum()),
        reason: (n_out < n).then(|| format!("over {n_out} of {n} tasks")),
    }
}

/// All sources: first those of numbers, then the host's facts as `host.KEY`.
pub(super) fn all(case: &Case<'_>) -> Vec<Source> {
    let totals = &case.kernel.totals;
    let numbers: [(&str, &[&Sourced]); 4] = [
        ("nr_migrations", &[&case.kernel.migrations]),
        ("schedstat", &[&totals.run_ns, &totals.run_delay_ns, &totals.timeslices]),
        ("getrusage", &[&totals.voluntary_switches, &totals.involuntary_switches]),
        ("by_cause", &[&case.migrations.by_cause]),
    ];
    let numbers = numbers.into_iter().map(|(name, parts)| source(name, parts));
    let numbers = numbers.chain(of_memory(case));
    let facts = case.host.facts.iter().map(|fact| Source {
        name: format!("host.{}", fact.key),
        state: fact.value.state().name().to_owned(),
        reason: fact.value.reason().to_owned(),
    });
    numbers.chain(facts).collect()
}

/// One source with several numbers has the state of the first that is missing.
fn source(name: &str, parts: &[&Sourced]) -> Source {
    let missing = parts.iter().find(|part| part.value.is_none());
    let reason = missing.and_then(|part| part.reason.clone());
    Source {
        name: name.to_owned(),
        state: missing.map_or(State::Ok.name(), |part| &part.state).to_owned(),
        reason: reason.unwrap_or_default(),
    }
}

/// Those that tell where memory is; without memory regions nobody asks.
fn of_memory(case: &Case<'_>) -> Vec<Source> {
    if case.plan.memory.is_empty() {
        return Vec::new();
    }
    let recording = case.recording;
    let vmstat = recording.vmstat.iter().map(|growth| absence(&growth.value));
    let scans = recording.spaces.iter().filter(|it| it.signal.is_none());
    let scans = scans.flat_map(|it| &it.scan_seq).map(absence);
    let regions =
        |seen: &'_ InstanceSample| -> Vec<_> { seen.regions.iter().map(absence).collect() };
    let seen = recording.timeline.samples.iter().flat_map(|sample| &sample.instances);
    let pages = seen.flat_map(regions).collect();
    let mut sources =
        vec![asked("vmstat", vmstat.collect()), asked("numa_scan_seq", scans.collect())];
    match &recording.timeline.refused {
        None => sources.push(asked("move_pages", pages)),
        Some(refused) => {
            sources.push(asked("move_pages", vec![Some(refused.clone())]));
            sources.push(asked("numa_maps", pages));
        }
    }
    sources
}

fn absence<T>(reading: &Reading<T>) -> Option<Absence> {
    match reading {
        Reading::Value(_) => None,
        Reading::Absent(absence) => Some(absence.clone()),
    }
}

/// A source that was asked so often, each time with an answer or not.
fn asked(name: &str, answers: Vec<Option<Absence>>) -> Source {
    let n = answers.len();
    let lacking: Vec<Absence> = answers.into_iter().flatten().collect();
    let (state, reason) = match lacking.first() {
        None if n == 0 => (State::Absent, "it was not asked".to_owned()),
        None => (State::Ok, String::new()),
        Some(first) if lacking.len() == n => (first.state, first.reason.clone()),
        Some(first) => (first.state, format!("{} ({} of {n} times)", first.reason, lacking.len())),
    };
    Source { name: name.to_owned(), state: state.name().to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use crate::record::Recording;
    use crate::report::fixture_memory::{self as made, unknown};
    use crate::report::{Report, fixture};

    #[test]
    fn sources_of_memory_have_their_states() {
        let check = |name: &str, change: fn(&mut Recording), state: &str, reason: &str| {
            let mut recording = made::two_instances();
            change(&mut recording);
            let report = Report::judge(&made::two_instances_plan(), &fixture::host(), &[recording]);
            let source = report.runs[0].sources.iter().find(|source| source.name == name).unwrap();
            assert_eq!((&*source.state, &*source.reason), (state, reason), "{name}");
        };
        for name in ["vmstat", "numa_scan_seq", "move_pages"] {
            check(name, |_| (), "ok", "");
        }
        check("vmstat", |run| run.vmstat.clear(), "absent", "it was not asked");
        let blind_once = |run: &mut Recording| {
            run.timeline.samples[3].instances[1].regions[0] = unknown();
        };
        let reason = "move_pages: EPERM, as a seccomp filter may have it";
        check("move_pages", blind_once, "no permission", &format!("{reason} (1 of 240 times)"));
        let absent = |run: &mut Recording| *run = made::all_absent();
        check("move_pages", absent, "no permission", reason);
        check("numa_scan_seq", absent, "absent", "no line mm->numa_scan_seq");
        check("vmstat", absent, "absent", "no CONFIG_NUMA_BALANCING");
    }

    #[test]
    fn nobody_asks_where_memory_is_without_any() {
        let report = &fixture::reports()["plain"];
        assert!(report.runs[0].sources.iter().all(|source| source.name != "move_pages"));
    }
}
