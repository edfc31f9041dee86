//! The kernel's own numbers summed over the tasks, and the table of sources with their states.
//!
//! A sum exists only where every task that checked out has the number, and says so where not all
//! checked out. Must not know: how the numbers were read.

use crate::base::{Reading, State};
use crate::record::recording::{KernelCounts, TaskRecord};
use crate::report::judge::Case;
use crate::report::{KernelTotals, Source, Sourced};

/// Sums of the kernel's counts.
pub(super) struct Kernel {
    pub migrations: Sourced,
    pub totals: KernelTotals,
}

impl Kernel {
    pub fn of(tasks: &[TaskRecord]) -> Kernel {
        let sum = |of: fn(&KernelCounts) -> &Reading<u64>| sum(tasks, of);
        Kernel {
            migrations: sum(|kernel| &kernel.nr_migrations),
            totals: KernelTotals {
                voluntary_switches: sum(|kernel| &kernel.voluntary_switches),
                involuntary_switches: sum(|kernel| &kernel.involuntary_switches),
                run_ns: sum(|kernel| &kernel.run_ns),
                run_delay_ns: sum(|kernel| &kernel.run_delay_ns),
                timeslices: sum(|kernel| &kernel.timeslices),
            },
        }
    }
}

fn sum(tasks: &[TaskRecord], of: fn(&KernelCounts) -> &Reading<u64>) -> Sourced {
    let out = || tasks.iter().filter(|task| task.checked_out);
    let n_out = out().count();
    let absent = |state: State, reason: String| Sourced {
        state: state.name().to_owned(),
        value: None,
        reason: Some(reason),
    };
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
    Sourced {
        state: State::Ok.name().to_owned(),
        value: Some(values.sum()),
        reason: (n_out < tasks.len()).then(|| format!("over {n_out} of {} tasks", tasks.len())),
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
