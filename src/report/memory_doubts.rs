//! Doubts about what a run tells of memory and NUMA balancing.
//!
//! None for a plan without memory regions. Must not know: latencies, how text is wrapped.

use crate::base::{NodeId, Reading, unit};
use crate::host::Fact;
use crate::host::numa::{self, Mode};
use crate::host::topology::Llc;
use crate::plan::{FirstTouch, HugePages, MemoryPlan, MemoryPolicy, Op, Sharing};
use crate::record::memory::Moved;
use crate::report::caveats::NUMA_BALANCING;
use crate::report::judge::Case;
use crate::report::looks;
use crate::report::metrics;
use crate::report::{Caveat, InstancePlacement};
use crate::sys::signal;
use std::collections::BTreeSet;

/// A thread decides early in its life, while it has gone through at most so many passes, more
/// freely than later (kernel/sched/fair.c, should_numa_migrate_memory, v6.12), and it chooses its
/// preferred node at the end of one (task_numa_placement): below, what is seen is the beginning.
const SCAN_PASSES: f64 = 4.0;
/// Above this the looks themselves are a visible part of what runs.
const SAMPLER_SHARE: f64 = 0.01;
/// A look that stands for more of the run than this says little of what happened in it.
const GAP_SHARE: f64 = 0.1;
/// So much of a region may be elsewhere than the plan has it at the first look: pages that went
/// astray for want of free ones, and rounding of the sample.
const ASTRAY: f64 = 0.05;

pub(super) fn all(case: &Case<'_>) -> Vec<Caveat> {
    if case.plan.memory.is_empty() {
        return Vec::new();
    }
    let mut caveats = Vec::new();
    let mut add = |id: &str, text: Option<String>| {
        caveats.extend(text.map(|text| Caveat { id: id.to_owned(), text }));
    };
    for it in &case.placement {
        let signal = it.signal;
        add("instance_killed", signal.map(|signal| killed(it, signal, case)));
    }
    add("one_node", one_node(case));
    add("small_arrays", small_arrays(case));
    add("numa_balancing_absent", balancing_absent(case));
    add("few_scan_passes", few_scan_passes(case));
    add("started_local", started(case, "started_local"));
    add("start_unclear", started(case, "unclear"));
    for instance in 0..case.plan.instances {
        for (at, region) in case.plan.memory.iter().enumerate() {
            add("memory_astray", astray(case, instance, at, region));
        }
    }
    for region in &case.plan.memory {
        add("huge_pages_off", huge_pages_off(case, region));
    }
    add("sampler_cost", sampler_cost(case));
    add("sparse_looks", sparse_looks(case));
    caveats
}

fn killed(it: &InstancePlacement, signal: i32, case: &Case<'_>) -> String {
    let who = match &it.killed_process {
        Some(process) => format!("process `{process}` of instance {}", it.instance),
        None => format!("instance {}", it.instance),
    };
    let others = match case.placement.len() {
        1 => "",
        _ => "; those of the others are kept",
    };
    let signal = signal::words(signal);
    format!("{who} was killed by {signal}: its numbers end there{others}")
}

/// Nodes on which tasks may run or memory may be.
pub(super) fn nodes(case: &Case<'_>) -> BTreeSet<NodeId> {
    let cpus = case.allowed().map(|cpu| cpu.place.node);
    let memory = case.plan.nodes.iter().filter(|node| node.has_memory).map(|node| node.id);
    cpus.chain(memory).collect()
}

fn one_node(case: &Case<'_>) -> Option<String> {
    (nodes(case).len() < 2).then(|| {
        "only one node: all memory is local, so local share and convergence say nothing".to_owned()
    })
}

/// STREAM's rule: each array has at least four times the size of all last-level caches that are
/// used.
const CACHES: u64 = 4;

fn small_arrays(case: &Case<'_>) -> Option<String> {
    let kernels = case.plan.teams.iter().flat_map(|team| &team.ops).filter_map(|op| match op {
        Op::Use(it) if Moved::of_verb(&it.verb) != Moved::Accesses => Some(it.at.region as usize),
        _ => None,
    });
    let array = kernels.map(|region| case.plan.memory[region].bytes()).min()?;
    let is_used = |llc: &&Llc| case.allowed().any(|cpu| llc.cpus.contains(cpu.id));
    let caches: u64 =
        case.host.topology.llcs.iter().filter(is_used).filter_map(|llc| llc.bytes).sum();
    (array < CACHES * caches).then(|| {
        format!(
            "an array of {} is less than {CACHES} times the last-level caches ({}): part of the \
             bandwidth is theirs, not the memory's",
            unit::bytes(array as f64),
            unit::bytes(caches as f64)
        )
    })
}

fn balancing<'a>(case: &Case<'a>) -> Option<&'a Fact> {
    case.host.facts.iter().find(|fact| fact.key == NUMA_BALANCING)
}

fn balancing_absent(case: &Case<'_>) -> Option<String> {
    if nodes(case).len() < 2 || case.fact(NUMA_BALANCING).is_some() {
        return None;
    }
    let why = match balancing(case) {
        Some(fact) => format!("{}: {}", fact.value.state(), fact.value.reason()),
        None => "not looked at".to_owned(),
    };
    Some(format!(
        "numa_balancing is not known ({why}): without it neither tasks nor pages follow each other"
    ))
}

fn few_scan_passes(case: &Case<'_>) -> Option<String> {
    // Tiering alone moves hot pages up, and scans for nothing else.
    let mode = numa::balancing(case.host);
    let on = matches!(mode, Reading::Value(Mode::Normal | Mode::NormalAndTiering));
    if !on || nodes(case).len() < 2 {
        return None;
    }
    let living = case.placement.iter().filter(|it| it.signal.is_none());
    let least = living.filter_map(|it| it.scan_passes.value).reduce(f64::min)?;
    (least < SCAN_PASSES).then(|| {
        format!(
            "too short to tell: the NUMA balancer went over an instance's memory {least:.0} times, \
             and what it makes of it takes {SCAN_PASSES:.0} and more"
        )
    })
}

fn started(case: &Case<'_>, how: &str) -> Option<String> {
    let trial = case.trial.as_ref().filter(|trial| trial.start == how)?;
    let what = match trial.reason.as_deref() {
        Some(reason) => format!("no trial of who moves: {reason}"),
        None => format!(
            "no trial of who moves: {} began on the node of {}, so neither had to",
            trial.team, trial.region
        ),
    };
    Some(what)
}

/// More of a region elsewhere than its policy or first touch allows, at the first look that told.
fn astray(case: &Case<'_>, instance: u32, at: usize, region: &MemoryPlan) -> Option<String> {
    let room = room(case, instance, region)?;
    let mut samples = case.recording.timeline.samples.iter();
    let shares = samples.find_map(|sample| {
        let pages = sample.instances.get(instance as usize)?.regions.get(at)?.value()?;
        let counts: Vec<f64> = pages.by_node.iter().map(|n| f64::from(*n)).collect();
        // Before its first touch a region has no pages anywhere.
        looks::shares(&counts)
    })?;
    let over = |(at, share): (usize, &f64)| (share - room.get(at).copied().unwrap_or(0.0)).max(0.0);
    let astray: f64 = shares.iter().enumerate().map(over).sum();
    (astray > ASTRAY).then(|| {
        let on = |shares: &[f64]| {
            let nodes = case.plan.nodes.iter().zip(shares);
            let told = nodes.filter(|(_, share)| **share > 0.0);
            let told =
                told.map(|(node, share)| format!("node {}: {:.0} %", node.id, share * 100.0));
            told.collect::<Vec<_>>().join(", ")
        };
        format!(
            "{} of instance {instance} was not where the plan has it at the first look: {} of {}",
            region.name,
            on(&shares),
            on(&room)
        )
    })
}

/// The most that may be on each node, as a share of the region; `None` if the plan leaves that to
/// the kernel and to where a task happens to run. Free memory decides over a preferred node.
fn room(case: &Case<'_>, instance: u32, region: &MemoryPlan) -> Option<Vec<f64>> {
    let slices = region.count.max(1);
    let mut room = vec![0.0; case.plan.nodes.len()];
    for slice in 0..slices {
        let at = region.slice_number(instance, slice);
        let (nodes, even) = match (region.policy(at), &region.first_touch) {
            (MemoryPolicy::Bind(nodes), _) => (nodes.clone(), false),
            (MemoryPolicy::Preferred(node), _) => (vec![*node], false),
            (MemoryPolicy::Interleave(nodes), _) => (nodes.clone(), true),
            (_, FirstTouch::Nodes(nodes)) => {
                (nodes.get(at % nodes.len().max(1)).copied().into_iter().collect(), false)
            }
            (_, FirstTouch::Interleave) => {
                let all = case.plan.nodes.iter().filter(|node| node.has_memory);
                (all.map(|node| node.id).collect(), true)
            }
            _ => return None,
        };
        let part = if even { nodes.len().max(1) as f64 } else { 1.0 };
        for (at, node) in case.plan.nodes.iter().enumerate() {
            if nodes.contains(&node.id) {
                room[at] += 1.0 / (part * f64::from(slices));
            }
        }
    }
    Some(room)
}

/// A region that asks for huge pages where the kernel gives none (mm/huge_memory.c,
/// thp_vma_allowable_orders; mm/shmem.c, shmem_allowable_huge_orders; v6.12).
fn huge_pages_off(case: &Case<'_>, region: &MemoryPlan) -> Option<String> {
    let (key, file, off) = match region.sharing {
        Sharing::Process => ("thp", "enabled", &["never"][..]),
        Sharing::Instance | Sharing::All => ("thp_shmem", "shmem_enabled", &["never", "deny"][..]),
    };
    let value = case.fact(key).filter(|value| off.contains(value))?;
    (region.huge == HugePages::Always).then(|| {
        format!(
            "region {} asks for huge pages and has none, as \
             /sys/kernel/mm/transparent_hugepage/{file} is {value}, unless a size of its own is \
             enabled (hugepages-*kB)",
            region.name
        )
    })
}

fn sampler_cost(case: &Case<'_>) -> Option<String> {
    let share = metrics::sampler_share(case).ok().filter(|share| *share > SAMPLER_SHARE)?;
    Some(format!(
        "looking where tasks and pages are took {:.1} % of the CPUs' time, more than {:.0} %: \
         they are rarer in a longer run, and look less at fewer regions or instances",
        share * 100.0,
        SAMPLER_SHARE * 100.0
    ))
}

/// Looks that were put off, because one took long or the coordinator waited for a CPU: the last one
/// stood for what came after it, perhaps from before the tasks had begun.
fn sparse_looks(case: &Case<'_>) -> Option<String> {
    let timeline = &case.recording.timeline;
    let at_ns = || timeline.samples.iter().map(|sample| sample.at_ns);
    let span_ns = at_ns().max()?.saturating_sub(at_ns().min()?);
    let gaps = at_ns().zip(at_ns().skip(1)).map(|(a, b)| b.saturating_sub(a));
    let longest_ns = gaps.max()?;
    let is_long = longest_ns > timeline.interval_ns.saturating_mul(3)
        && longest_ns as f64 > span_ns as f64 * GAP_SHARE;
    is_long.then(|| {
        format!(
            "looks were put off: nobody looked for {} of {}, and local share, convergence and \
             places by looks are no finer than that",
            unit::time(longest_ns as f64),
            unit::time(span_ns as f64)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Reading, State};
    use crate::host::Host;
    use crate::plan::Plan;
    use crate::record::Recording;
    use crate::report::fixture_memory::{self as made, pages};
    use crate::report::{Report, fixture};

    /// The doubts of two recordings that a change makes, of a plan without any.
    fn doubts(
        plan: Plan,
        recording: Recording,
        change: impl FnOnce(&mut Plan, &mut Host, &mut Recording),
    ) -> Vec<Caveat> {
        let (mut plan, mut host, mut recording) = (plan, fixture::host(), recording);
        change(&mut plan, &mut host, &mut recording);
        let report = Report::judge(&plan, &host, &[recording.clone(), recording]);
        report.runs[0].caveats.clone()
    }

    /// Whether a change makes this doubt, with these words, and no other.
    fn check(id: &str, words: &str, change: impl FnOnce(&mut Plan, &mut Host, &mut Recording)) {
        let caveats = doubts(made::two_instances_plan(), made::two_instances(), change);
        let ids: Vec<&str> = caveats.iter().map(|caveat| caveat.id.as_str()).collect();
        let expected: Vec<&str> = (!id.is_empty()).then_some(id).into_iter().collect();
        assert_eq!(ids, expected);
        assert!(caveats.iter().all(|caveat| caveat.text.contains(words)), "{caveats:?}");
    }

    fn fact<'a>(host: &'a mut Host, key: &str) -> &'a mut Reading<String> {
        &mut host.facts.iter_mut().find(|fact| fact.key == key).unwrap().value
    }

    #[test]
    fn runs_without_doubts_have_none() {
        check("", "", |_, _, _| ());
        for trial in [made::memory_moves(), made::task_moves(), made::nothing_moves()] {
            assert_eq!(doubts(made::who_moves_plan(), trial, |_, _, _| ()), []);
        }
    }

    #[test]
    fn balancing_that_is_off_or_not_known_or_too_short() {
        let passes = |n: u64| {
            move |_: &mut Plan, _: &mut Host, run: &mut Recording| {
                run.spaces[1].scan_seq = [5, 5 + n].map(Reading::Value);
            }
        };
        check("few_scan_passes", "memory 3 times", passes(3));
        check("", "", passes(4));
        // Off, nobody expects any pass.
        check("numa_balancing_off", "2 nodes", |plan, host, run| {
            passes(0)(plan, host, run);
            *fact(host, "numa_balancing") = Reading::Value("0".to_owned());
        });
        check("numa_balancing_absent", "absent: no CONFIG_NUMA_BALANCING", |plan, host, run| {
            passes(0)(plan, host, run);
            *fact(host, "numa_balancing") =
                Reading::absent(State::Absent, "no CONFIG_NUMA_BALANCING");
        });
        check("", "", |_, _, run| {
            run.spaces[0].scan_seq[1] = Reading::absent(State::Absent, "no such line");
        });
    }

    #[test]
    fn one_node_compares_with_nothing() {
        check("one_node", "say nothing", |plan, _, _| {
            plan.cpus.iter_mut().for_each(|cpu| cpu.place.node = NodeId(0));
            plan.nodes[1].has_memory = false;
        });
        // A node with memory alone is one to go to.
        check("", "", |plan, _, _| {
            plan.cpus.iter_mut().for_each(|cpu| cpu.place.node = NodeId(0));
        });
    }

    #[test]
    fn looks_that_were_put_off() {
        check("sparse_looks", "nobody looked for", |_, _, run| {
            let n = run.timeline.samples.len();
            run.timeline.samples.drain(n / 4..n / 2);
        });
        check("", "", |_, _, run| {
            run.timeline.samples.remove(5);
        });
    }

    #[test]
    fn trials_that_are_none() {
        let local = made::trial(0, &[(0, 0); 50]);
        let caveats = doubts(made::who_moves_plan(), local, |_, _, _| ());
        assert_eq!(caveats[0].id, "started_local");
        let caveats = doubts(made::who_moves_plan(), made::nothing_moves(), |_, _, run| {
            run.tasks[1].begun = None;
        });
        assert_eq!(caveats[0].id, "start_unclear");
        assert!(caveats[0].text.contains("never began"));
    }

    #[test]
    fn the_cost_of_looking() {
        // 12 s on 8 CPUs.
        check("", "", |_, _, run| run.timeline.cost_ns = 960_000_000);
        check("sampler_cost", "took 1.1 %", |_, _, run| run.timeline.cost_ns = 1_056_000_000);
    }

    #[test]
    fn huge_pages_that_the_kernel_does_not_give() {
        let with = |huge: HugePages, sharing: Sharing, key: &'static str, value: &'static str| {
            move |plan: &mut Plan, host: &mut Host, _: &mut Recording| {
                (plan.memory[1].huge, plan.memory[1].sharing) = (huge, sharing);
                let thp = host.facts.iter().find(|fact| fact.key == "thp").unwrap();
                let value = Reading::Value(value.to_owned());
                let fact = Fact { key: key.to_owned(), value, ..thp.clone() };
                host.facts.retain(|fact| fact.key != key);
                host.facts.push(fact);
            }
        };
        use HugePages::{Always, Leave, Never};
        let id = "huge_pages_off";
        check(id, "own asks for huge pages", with(Always, Sharing::Process, "thp", "never"));
        check(id, "shmem_enabled is deny", with(Always, Sharing::All, "thp_shmem", "deny"));
        check(id, "shmem_enabled is never", with(Always, Sharing::All, "thp_shmem", "never"));
        check("", "", with(Always, Sharing::Process, "thp", "madvise"));
        check("", "", with(Always, Sharing::All, "thp_shmem", "advise"));
        check("", "", with(Leave, Sharing::Process, "thp", "never"));
        check("", "", with(Never, Sharing::Process, "thp", "never"));
    }

    #[test]
    fn an_instance_that_was_killed() {
        let caveats = doubts(made::two_instances_plan(), made::one_killed(), |_, _, _| ());
        let killed = caveats.iter().find(|caveat| caveat.id == "instance_killed").unwrap();
        assert!(killed.text.contains("instance 1 was killed by signal 9 (SIGKILL"));
        assert!(killed.text.contains("those of the others are kept"));
    }

    #[test]
    fn memory_that_is_not_where_the_plan_has_it() {
        let check = |touch: FirstTouch, policies: Vec<MemoryPolicy>, count, on_1, expected| {
            let caveats =
                doubts(made::two_instances_plan(), made::two_instances(), |plan, _, run| {
                    plan.memory.truncate(1);
                    plan.memory[0].count = count;
                    plan.memory[0].first_touch = touch.clone();
                    plan.memory[0].policies = policies.clone();
                    let mut untouched = run.timeline.samples[0].clone();
                    for instance in &mut run.timeline.samples[0].instances {
                        instance.regions = vec![pages(on_1)];
                    }
                    for instance in &mut untouched.instances {
                        instance.regions = vec![made::untouched()];
                    }
                    run.timeline.samples.insert(0, untouched);
                });
            let n = caveats.iter().filter(|caveat| caveat.id == "memory_astray").count();
            // Both instances look the same.
            assert_eq!(n, if expected { 2 } else { 0 }, "{touch:?} {policies:?} {count} {on_1}");
        };
        let node = |id| vec![NodeId(id)];
        let both = || vec![NodeId(0), NodeId(1)];
        let (free, nobody) = (vec![MemoryPolicy::Default], FirstTouch::Nobody);
        let bound = |nodes| vec![MemoryPolicy::Bind(nodes)];
        check(FirstTouch::Nodes(node(0)), free.clone(), 1, 5, false);
        check(FirstTouch::Nodes(node(0)), free.clone(), 1, 6, true);
        check(FirstTouch::Nodes(both()), free.clone(), 4, 50, false);
        check(FirstTouch::Nodes(both()), free.clone(), 4, 56, true);
        check(FirstTouch::Interleave, free.clone(), 1, 50, false);
        check(FirstTouch::Interleave, free.clone(), 1, 40, true);
        check(nobody.clone(), bound(node(1)), 1, 100, false);
        check(nobody.clone(), bound(node(1)), 1, 94, true);
        check(nobody.clone(), bound(both()), 1, 94, false);
        check(nobody.clone(), vec![MemoryPolicy::Preferred(NodeId(1))], 1, 0, true);
        check(nobody.clone(), vec![MemoryPolicy::Interleave(both())], 1, 50, false);
        check(nobody.clone(), vec![MemoryPolicy::Interleave(both())], 1, 0, true);
        let by_slice = [node(0), node(1)].map(MemoryPolicy::Bind).to_vec();
        check(nobody.clone(), by_slice.clone(), 2, 50, false);
        check(nobody.clone(), by_slice, 2, 100, true);
        // A policy comes before whoever touches first; without either the kernel decides.
        check(FirstTouch::Nodes(node(0)), bound(node(1)), 1, 100, false);
        check(FirstTouch::Main, free.clone(), 1, 77, false);
        check(FirstTouch::Owner, free, 1, 77, false);
    }
}
