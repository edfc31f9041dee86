//! Doubts that travel with the numbers: what a reader should know before believing them.
//!
//! A caveat breaks nothing; thresholds are constants with their reason. Must not know: laws (a
//! broken one is no caveat), how text is wrapped.

use crate::base::unit;
use crate::record::recording::End;
use crate::report::judge::{Case, harness_share};
use crate::report::{ALL, Arrivals, Caveat, Latency, Run, arrivals, memory_doubts};
use crate::sys::clock::Source;

/// Keys of the host facts that are looked at here.
pub(super) const CLOCKSOURCE: &str = "clocksource";
const HYPERVISOR: &str = "hypervisor";
const GOVERNOR: &str = "governor";
const LOADAVG: &str = "loadavg";
const SCX: &str = "scx";
const SCX_OPS: &str = "scx_ops";
const CPU_QUOTA: &str = "cgroup_cpu_max";
pub(super) const NUMA_BALANCING: &str = "numa_balancing";

const ONE_RUN: &str = "one_run";

/// Below this the 99th percentile is the maximum.
const FEW: u64 = 100;
/// Below this the 99.9th percentile is the maximum.
const FEW_FOR_P999: u64 = 1_000;
/// A window shorter than this sees few load-balancing intervals and no settled frequency.
const SHORT_WINDOW_NS: u64 = 1_000_000_000;
/// Share of an allowed CPU that others may use before it is worth a word: less than that is the
/// background of any system, and the shell's own work to start us.
const OTHER_LOAD_PER_CPU: f64 = 0.25;
/// Above this the harness's own work is a visible part of what is measured.
const HARNESS_SHARE: f64 = 0.02;

pub(super) fn all(case: &Case<'_>, rows: &[Latency], arrivals: &[Arrivals]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut add = |id: &str, text: Option<String>| {
        caveats.extend(text.map(|text| Caveat { id: id.to_owned(), text }));
    };
    add("incomplete", incomplete(case));
    add("generator_late", arrivals::generator_late(case, arrivals));
    add("origin_lost", arrivals::origin_lost(case));
    add("virtual_machine", virtual_machine(case));
    add("governor", governor(case));
    add("scx", scx(case));
    add("cpu_quota", cpu_quota(case));
    add("numa_balancing_off", numa_balancing_off(case));
    add("other_load", other_load(case));
    add("one_cpu", one_cpu(case));
    add("clock", clock(case));
    add("harness_cost", harness_cost(case));
    add("short_window", short_window(case));
    add("no_warmup", no_warmup(case));
    add("few_samples", few(rows, 1..FEW, "99th"));
    add("few_samples_p999", few(rows, FEW..FEW_FOR_P999, "99.9th"));
    add("no_wakeups", no_wakeups(rows));
    add("unstamped", unstamped(case));
    add("sync_unstamped", sync_unstamped(case));
    add("negative_differences", negative_differences(case));
    caveats.extend(memory_doubts::all(case));
    let mut add = |id: &str, text: Option<String>| {
        caveats.extend(text.map(|text| Caveat { id: id.to_owned(), text }));
    };
    for note in &case.recording.notes {
        add("run_note", Some(note.clone()));
    }
    for note in &case.plan.notes {
        add("plan_note", Some(note.clone()));
    }
    caveats
}

fn incomplete(case: &Case<'_>) -> Option<String> {
    let how = match &case.recording.end {
        End::Done | End::TimeUp => None,
        End::Interrupted(signal) => Some(format!("interrupted by signal {signal}")),
        End::Failed(failure) => {
            Some(format!("ended when task {} of team {} failed", failure.task_idx, failure.team))
        }
        End::LeaderGone(_) => {
            Some("ended when the leader process did, and with it its tasks".to_owned())
        }
        End::Stalled(_) => Some("ended when nobody could go on".to_owned()),
    };
    let missing = match case.n_missing() {
        0 => String::new(),
        n => format!(
            "; the counts of {n} of {} tasks are missing or incomplete",
            case.plan.n_tasks()
        ),
    };
    match how {
        Some(how) => Some(format!(
            "the run was {how}: the numbers cover what was measured until then{missing}"
        )),
        None if missing.is_empty() => None,
        None => Some(format!("the run is incomplete{missing}")),
    }
}

/// Words by which a fact says that there is nothing of the kind.
pub(super) fn is_none(value: &str) -> bool {
    matches!(value.trim(), "" | "none" | "no" | "off" | "0" | "disabled")
}

fn virtual_machine(case: &Case<'_>) -> Option<String> {
    let what = case.fact(HYPERVISOR).filter(|value| !is_none(value))?;
    let what = what.trim_start_matches("yes");
    Some(format!(
        "virtual machine{what}: the hypervisor schedules our CPUs, so latencies hold its delays, \
         and the topology may not be the hardware's"
    ))
}

fn governor(case: &Case<'_>) -> Option<String> {
    let what = case.fact(GOVERNOR).filter(|value| value.trim() != "performance")?;
    Some(format!("cpufreq governor is {what}, not performance: latencies hold frequency changes"))
}

fn scx(case: &Case<'_>) -> Option<String> {
    let state = case.fact(SCX).filter(|value| !is_none(value))?;
    let name = case.fact(SCX_OPS).filter(|value| !is_none(value));
    Some(format!(
        "sched_ext was {state} ({}): the numbers are that scheduler's, not those of fair.c",
        name.unwrap_or("of unknown name")
    ))
}

fn cpu_quota(case: &Case<'_>) -> Option<String> {
    let quota = case.fact(CPU_QUOTA).filter(|value| !is_none(value))?;
    Some(format!(
        "the cgroup has a quota of {quota}: once it is used up, all tasks stop for the rest of the \
         period"
    ))
}

fn numa_balancing_off(case: &Case<'_>) -> Option<String> {
    let mut nodes: Vec<_> = case.allowed().map(|cpu| cpu.place.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let off = case.fact(NUMA_BALANCING).is_some_and(is_none);
    (off && nodes.len() > 1).then(|| {
        format!(
            "numa_balancing is off on {} nodes: neither tasks nor pages follow each other",
            nodes.len()
        )
    })
}

fn other_load(case: &Case<'_>) -> Option<String> {
    let text = case.fact(LOADAVG)?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    let cpus = case.allowed().count();
    (load > OTHER_LOAD_PER_CPU * cpus as f64).then(|| {
        format!("load average was {load} on {cpus} CPUs before the run: others were running too")
    })
}

fn one_cpu(case: &Case<'_>) -> Option<String> {
    (case.allowed().count() == 1)
        .then(|| "only one CPU is allowed: no migration and no idle CPU is possible".to_owned())
}

fn clock(case: &Case<'_>) -> Option<String> {
    let cost = case.recording.harness;
    let source = case.fact(CLOCKSOURCE).unwrap_or("not known");
    (cost.clock == Source::Monotonic).then(|| {
        format!(
            "the kernel's clocksource is {source}, not a cycle counter that we can read: stamps \
             cost a call of clock_gettime, {:.0} ns each",
            cost.clock_ns
        )
    })
}

fn harness_cost(case: &Case<'_>) -> Option<String> {
    let share = harness_share(case).filter(|share| *share > HARNESS_SHARE)?;
    Some(format!(
        "measuring took {:.1} % of the tasks' CPU time, more than {:.0} %",
        share * 100.0,
        HARNESS_SHARE * 100.0
    ))
}

fn short_window(case: &Case<'_>) -> Option<String> {
    let ns = case.recording.window_ns;
    (ns < SHORT_WINDOW_NS).then(|| {
        format!(
            "the window was {}, shorter than 1 s: starting up and luck of placement weigh in",
            crate::base::unit::time(ns as f64)
        )
    })
}

fn no_warmup(case: &Case<'_>) -> Option<String> {
    (case.plan.warmup_ns == 0).then(|| {
        "no warm-up: first wakeups, page faults and frequency ramps are in the numbers".to_owned()
    })
}

fn few(rows: &[Latency], counts: std::ops::Range<u64>, percentile: &str) -> Option<String> {
    let few: Vec<String> = wholes(rows)
        .filter(|row| counts.contains(&row.count))
        .map(|row| format!("{} of {} ({})", row.series, row.team, row.count))
        .collect();
    (!few.is_empty()).then(|| {
        format!(
            "too few samples for the {percentile} percentile, which is the maximum below {}: {}",
            counts.end,
            few.join(", ")
        )
    })
}

fn no_wakeups(rows: &[Latency]) -> Option<String> {
    let none = wholes(rows).filter(|row| row.count == 0);
    let teams: Vec<&str> = none.map(|row| row.team.as_str()).collect();
    (!teams.is_empty())
        .then(|| format!("no wakeup was recorded in the window for team {}", teams.join(", ")))
}

/// The rows by which a series is judged; those of migrations and found-ready only tell.
fn wholes(rows: &[Latency]) -> impl Iterator<Item = &Latency> {
    rows.iter().filter(|row| {
        row.relation == ALL && row.series != "found_ready" && row.series != "between_migrations"
    })
}

fn unstamped(case: &Case<'_>) -> Option<String> {
    let teams = case.recording.teams.iter();
    let n: u64 = teams.map(|team| team.found_ready_unstamped).sum();
    (n > 0).then(|| {
        format!(
            "{} found ready had no stamp, as small or mixed ones have only while few are \
             queued: their queueing time is not in found_ready",
            unit::counted(n, "message")
        )
    })
}

fn sync_unstamped(case: &Case<'_>) -> Option<String> {
    let syncs = case.recording.syncs.iter();
    let (n, slept) = syncs.fold((0, 0), |(n, slept), it| (n + it.unstamped, slept + it.slept));
    (n > 0).then(|| {
        format!(
            "{n} of {slept} waits that slept at sync objects do not know who ended them, as where \
             several let tasks go at once: they are in no wakeup latency and not in wakeups_per_s"
        )
    })
}

fn negative_differences(case: &Case<'_>) -> Option<String> {
    let n = case.recording.negative_differences;
    (n > 0).then(|| {
        format!(
            "{n} clock differences were negative and counted as 0: the CPUs' clocks disagree, or \
             messages of several wakers were mixed"
        )
    })
}

/// One run alone allows no verdict; with a second one that is over.
pub(super) fn of_number_of_runs(runs: &mut [Run]) {
    match runs {
        [only] => only.caveats.push(Caveat {
            id: ONE_RUN.to_owned(),
            text: "one run: it shows no spread, so no difference from another run is a verdict; \
                   --repeat gives one"
                .to_owned(),
        }),
        [first, ..] => first.caveats.retain(|caveat| caveat.id != ONE_RUN),
        [] => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Reading;
    use crate::host::Host;
    use crate::plan::Plan;
    use crate::record::Recording;
    use crate::report::{Report, fixture, fixture_sync};

    /// Whether a change to a run without doubts raises this caveat, and only this one.
    fn check(id: &str, change: impl FnOnce(&mut Plan, &mut Host, &mut Recording)) {
        let (mut plan, mut host) = (fixture::plan(), fixture::host());
        let mut recording = fixture::recording();
        change(&mut plan, &mut host, &mut recording);
        let report = Report::judge(&plan, &host, &[recording.clone(), recording]);
        let caveats = &report.runs[0].caveats;
        let ids: Vec<&str> = caveats.iter().map(|caveat| caveat.id.as_str()).collect();
        let expected: Vec<&str> = (!id.is_empty()).then_some(id).into_iter().collect();
        assert_eq!(ids, expected);
    }

    fn set(host: &mut Host, key: &str, value: &str) {
        let fact = host.facts.iter_mut().find(|fact| fact.key == key).unwrap();
        fact.value = Reading::Value(value.to_owned());
    }

    #[test]
    fn a_run_without_doubts_has_none() {
        check("", |_, _, _| ());
        check("", |_, host, _| set(host, "scx", "disabled"));
        check("", |_, host, _| set(host, "loadavg", "0.30 5.00 5.00"));
    }

    #[test]
    fn each_doubt_has_its_caveat() {
        check("virtual_machine", |_, host, _| set(host, "hypervisor", "yes (QEMU)"));
        check("governor", |_, host, _| set(host, "governor", "schedutil"));
        check("scx", |_, host, _| set(host, "scx", "enabled"));
        check("cpu_quota", |_, host, _| set(host, "cgroup_cpu_max", "1.5 CPUs"));
        check("numa_balancing_off", |_, host, _| set(host, "numa_balancing", "0"));
        check("other_load", |_, host, _| set(host, "loadavg", "2.50 1 1"));
        check("clock", |_, _, run| run.harness.clock = Source::Monotonic);
        check("harness_cost", |_, _, run| run.harness.record_ns = 1_000.0);
        check("short_window", |_, _, run| run.window_ns = 999_999_999);
        check("no_warmup", |plan, _, _| plan.warmup_ns = 0);
        check("incomplete", |_, _, run| run.end = End::Interrupted(15));
        check("incomplete", |_, _, run| run.tasks[0].checked_out = false);
        check("negative_differences", |_, _, run| run.negative_differences = 3);
        check("unstamped", |_, _, run| run.teams[1].found_ready_unstamped = 3);
        check("sync_unstamped", |_, _, run| {
            run.syncs = fixture_sync::recording().syncs;
            run.syncs[0].unstamped = 3;
        });
        check("run_note", |_, _, run| run.notes.push("cpu 3 went offline".to_owned()));
        check("plan_note", |plan, _, _| plan.notes.push("bytes are not carried".to_owned()));
    }

    #[test]
    fn one_allowed_cpu() {
        check("one_cpu", |plan, host, _| {
            plan.cpus.iter_mut().skip(1).for_each(|cpu| cpu.allowed = false);
            set(host, "loadavg", "0.00 0 0");
        });
    }

    #[test]
    fn series_with_few_samples() {
        let keep = |run: &mut Recording, n: u64| {
            run.series.truncate(1);
            run.series[0].counts.iter_mut().for_each(|count| *count = 0);
            run.series[0].counts[10] = n;
        };
        check("few_samples", |_, _, run| keep(run, 99));
        check("few_samples_p999", |_, _, run| keep(run, 100));
        check("", |_, _, run| keep(run, 1_000));
        check("no_wakeups", |_, _, run| keep(run, 0));
    }
}
