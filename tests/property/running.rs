//! Generated profiles: each plans or has faults, and what plans runs and keeps the laws.
//!
//! With real threads, of kinds that a signal gets out of their waits and kinds that need a word.
//! Must not know: how long anything takes.

use crate::cases;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use schedload::host::Host;
use schedload::plan::{Overrides, Plan, PlanError};
use schedload::profile::{Profile, Source};
use schedload::record::recording::End;
use schedload::report::Report;
use schedload::run::{self, Control};
use std::cell::Cell;
use std::sync::LazyLock;

/// Read once, before any thread is pinned.
static HOST: LazyLock<Host> = LazyLock::new(|| match Host::read() {
    Ok(host) => host,
    Err(error) => panic!("{error}"),
});

/// Tasks of a profile that is run.
const TASKS_MAX: u64 = 40;

fn choice(of: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(of).prop_map(str::to_owned)
}

fn address() -> impl Strategy<Value = String> {
    let which = prop_oneof![
        15 => choice(&["*", "next", "any", "0", "me % 2", "(me + 1) % 2"]),
        1 => choice(&["me", "me + 1"]),
    ];
    prop_oneof![
        1 => Just("one".to_owned()),
        3 => which.prop_map(|which| format!("many[{which}]"))
    ]
}

fn block(step: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::vec(step, 1..4).prop_map(|steps| steps.join(", "))
}

/// Slices that each member has; ways of a chase are in a region of their own.
fn use_of_memory() -> impl Strategy<Value = String> {
    let access = choice(&["read", "write", "modify", "zero"]);
    let part = choice(&["area", "area[me % 3]", "area[2]", "none"]);
    let count = choice(&["me", "n", "1_000", "1_000_000_000"]);
    (0..6, part, access, count).prop_map(|(verb, part, access, count)| match verb {
        0 => format!("{{ sweep = '{part}', access = '{access}' }}"),
        1 => format!("{{ sweep = 'area[me % 3]', access = '{access}', halo = '70%' }}"),
        2 => format!("{{ touch = '{part}', access = '{access}', count = '{count}', skew = 0.5 }}"),
        3 => format!("{{ chase = 'way[me % 2]', count = '{count}' }}"),
        4 => format!("{{ allocate = '{part}', bytes = '{count}' }}"),
        _ => format!("{{ scale = '{part}', from = '{part}' }}"),
    })
}

/// At objects of each sort; locks in one order.
fn sync() -> impl Strategy<Value = String> {
    choice(&[
        "{ barrier = 'phase' }",
        "{ barrier = 'pair' }",
        "{ commit = 'log' }",
        "{ safepoint = 'gc' }",
        "{ collect = 'gc' }",
        "{ lock = 'rows[any]', skew = 0.9, steps = [ { spin = '1us' } ] }",
        "{ lock = 'rows[next]', mode = 'read', steps = [ { receive = 'one' } ] }",
        "{ lock = 'root', steps = [ { lock = 'rows[0]', steps = [ { commit = 'log' } ] } ] }",
    ])
}

fn objects() -> impl Strategy<Value = String> {
    let barrier = choice(&["spin", "spin_then_futex", "futex", "neighbour"]);
    let lock = choice(&["mutex", "futex", "rwlock", "per_cpu"]);
    (barrier, lock, choice(&["sleep", "spin"])).prop_map(|(barrier, lock, by)| {
        format!(
            "[barrier.phase]\nkind = '{barrier}'\n[barrier.pair]\nparties = 2\n\
             [lock.rows]\nkind = '{lock}'\ncount = 3\n[lock.root]\nkind = '{lock}'\n\
             [commit.log]\nflush = '50us'\nby = '{by}'\n[safepoint.gc]\n"
        )
    })
}

/// An `active` block is in no other, nor in a `choose`.
fn step() -> impl Strategy<Value = String> {
    let who = choice(&[
        "active = '1/n', choose = 'rotating'",
        "active = '1/2', choose = 'random'",
        "active = '1/2'",
    ]);
    let active = (who, block(step_of_all()))
        .prop_map(|(who, steps)| format!("{{ {who}, steps = [ {steps} ] }}"));
    prop_oneof![7 => step_of_all(), 1 => active]
}

fn step_of_all() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => use_of_memory(),
        1 => choice(&["{ join = 'late' }"]),
        4 => address().prop_map(|to| format!("{{ send = '{to}' }}")),
        4 => address().prop_map(|from| format!("{{ receive = '{from}' }}")),
        3 => sync(),
        1 => choice(&["{ spin = '20us' }", "{ spin = 'me * 1us' }", "{ work = '5us' }",
                      "{ work = '5us', spread = 'lognormal' }",
                      "{ sleep = '9us', spread = 'exponential' }",
                      "{ sleep = '100us' }", "{ sleep = '1min' }", "{ spin = '1min' }"]),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        let count = choice(&[
            "repeat = 2",
            "repeat = 'n * 2'",
            "repeat = 'me'",
            "repeat = 10_000_000",
            "during = 'me * 1ms'",
            "during = '1min'",
            "every = '1us', count = 50, offset = 'me * 1ms'",
            "measure = 'answer', from = 'arrival'",
        ]);
        let choose = (block(inner.clone()), block(inner.clone())).prop_map(|(a, b)| {
            format!("{{ choose = [ {{ weight = 2, steps = [ {a} ] }}, {{ steps = [ {b} ] }} ] }}")
        });
        let looped = (count, block(inner))
            .prop_map(|(count, steps)| format!("{{ {count}, steps = [ {steps} ] }}"));
        prop_oneof![4 => looped, 1 => choose]
    })
}

/// What goes on until the run ends, up to its steps.
fn endless() -> impl Strategy<Value = String> {
    choice(&[
        "forever",
        "every = '1ms', steps",
        "arrive = 2_000, steps",
        "arrive = 'n * 500', as = 'burst', awake = '10us', steps",
    ])
}

/// Some steps, a measured block, or some steps and then others for ever.
fn steps() -> impl Strategy<Value = String> {
    prop_oneof![
        block(step()),
        block(step()).prop_map(|steps| format!("{{ measure = 'block', steps = [ {steps} ] }}")),
        (block(step()), endless(), block(step()))
            .prop_map(|(once, head, again)| format!("{once}, {{ {head} = [ {again} ] }}")),
    ]
}

fn team(name: &'static str) -> impl Strategy<Value = String> {
    let keys = choice(&[
        "",
        "",
        "",
        "pin = true",
        "spread = 'core'",
        "background = true",
        "nice = 3",
        "policy = 'batch'",
        "policy = 'idle'",
        "on = 'node:0'",
        "on = 'llc:9'",
    ]);
    (choice(&["1", "2", "n", "cpus"]), keys, steps()).prop_map(move |(size, keys, steps)| {
        format!("[team.{name}]\nsize = '{size}'\n{keys}\nsteps = [ {steps} ]\n")
    })
}

/// Regions of three slices, of none, and of ways.
fn regions() -> impl Strategy<Value = String> {
    let touch =
        choice(&["owner", "main", "a", "late", "interleave", "opposite", "nobody", "node:0"]);
    let policy = choice(&["default", "interleave", "bind:0", "preferred:me * 0"]);
    let shared = choice(&["process", "all"]);
    (touch, policy, shared).prop_map(|(touch, policy, shared)| {
        format!(
            "[memory.area]\nbytes = '100 KiB'\ncount = 3\nfirst_touch = '{touch}'\n\
             policy = '{policy}'\nshared = '{shared}'\n\
             [memory.none]\nbytes = 0\n[memory.way]\nbytes = '8 KiB'\ncount = 2\n"
        )
    })
}

/// A team that a step starts: at once, later, or after the window.
fn spawned() -> impl Strategy<Value = String> {
    let before = choice(&[
        "{ spin = '1us' }",
        "{ sleep = '5ms' }",
        "{ sleep = '1min' }",
        "{ during = '1min', steps = [ { sweep = 'area' } ] }",
    ]);
    let after = choice(&["{ join = 'late' }", "{ spin = '1us' }"]);
    (team("late"), before, after).prop_map(|(late, before, after)| {
        let late = late.replacen("size", "start = 'spawned'\nsize", 1);
        format!(
            "{late}[team.main]\nsize = 1\nsteps = [ {before}, {{ spawn = 'late' }}, {after} ]\n"
        )
    })
}

/// Sender and receiver of one channel, whatever the other teams do: most profiles are sound.
fn text() -> impl Strategy<Value = String> {
    let kind = choice(&["futex", "pipe", "eventfd", "condvar", "queue", "socketpair"]);
    // Messages of several wakers can be mixed above PIPE_BUF (pipe(7)).
    let bytes = choice(&["1", "16", "100", "4_096", "100_000"]);
    let teams = (team("a"), team("b"), spawned());
    (kind, bytes, 2..4, 1..3, (regions(), objects()), teams).prop_map(
        |(kind, bytes, count, copies, (regions, objects), (a, b, spawned))| {
            format!(
                "about = 'x'\ncopies = {copies}\n[param]\nn = {{ default = 2, about = 'n' }}\n\
                 [channel.one]\nkind = '{kind}'\nbytes = '{bytes}'\n\
                 [channel.many]\nkind = '{kind}'\ncount = {count}\nbytes = '{bytes}'\n\
                 {regions}{objects}[team.tick]\nsize = 1\nbackground = true\n\
                 steps = [ {{ arrive = 1_000, steps = [ {{ send = 'one' }} ] }} ]\n\
                 [team.helper]\nsize = 1\nbackground = true\n\
                 steps = [ {{ pause = 'gc', steps = [ {{ spin = '1us' }} ] }} ]\n\
                 [team.asker]\nsize = 1\nbackground = true\n\
                 steps = [ {{ spin = '1ms' }}, {{ collect = 'gc' }}, {{ barrier = 'pair' }} ]\n\
                 [team.feed]\nsize = 1\nbackground = true\n\
                 steps = [ {{ send = 'one' }}, {{ send = 'many[*]' }} ]\n\
                 [team.drain]\nsize = 1\nbackground = true\n\
                 steps = [ {{ barrier = 'pair' }}, \
                 {{ receive = 'one' }}, {{ receive = 'many[next]' }} ]\n{a}{b}{spawned}"
            )
        },
    )
}

/// The plan of such a profile for 20 ms, if it is sound and small.
fn planned(text: &str, warmup: &str) -> Result<Option<Plan>, TestCaseError> {
    let source = Source { path: String::new(), text: text.to_owned() };
    let profile = match Profile::parse("test", source) {
        Ok(profile) => profile,
        Err(faults) => {
            prop_assert!(!faults.list.is_empty());
            return Ok(None);
        }
    };
    let overrides = Overrides {
        duration: Some("20ms".to_owned()),
        warmup: Some(warmup.to_owned()),
        ..Overrides::default()
    };
    match Plan::new(&profile, &HOST, &overrides) {
        Ok(plan) => Ok((plan.n_tasks() <= TASKS_MAX).then_some(plan)),
        Err(PlanError::Faults(faults)) => {
            prop_assert!(!faults.list.is_empty());
            Ok(None)
        }
        Err(PlanError::Host(refusals)) => {
            prop_assert!(!refusals.is_empty());
            Ok(None)
        }
    }
}

fn check(text: &str, warmup: &str, n_run: &Cell<u32>) -> Result<(), TestCaseError> {
    let Some(plan) = planned(text, warmup)? else {
        return Ok(());
    };
    n_run.set(n_run.get() + 1);
    let recording = run::run(&plan, &HOST, &Control::default());
    let recording = recording.map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert!(matches!(recording.end, End::Done | End::TimeUp), "{:?}", recording.end);
    prop_assert_eq!(recording.tasks.len() as u64, plan.n_tasks());
    let report = Report::judge(&plan, &HOST, &[recording]);
    let broken: Vec<_> = report.broken().collect();
    prop_assert!(broken.is_empty(), "{:?}", broken);
    Ok(())
}

#[test]
fn what_plans_runs_and_keeps_the_laws() {
    const CASES: u32 = 64;
    let n_run = Cell::new(0);
    let inputs = (text(), choice(&["0s", "3ms"]));
    let ran =
        TestRunner::new(cases(CASES)).run(&inputs, |(text, warmup)| check(&text, &warmup, &n_run));
    if let Err(error) = ran {
        panic!("{error}");
    }
    let n_run = n_run.get();
    assert!(n_run > CASES / 4, "only {n_run} of {CASES} profiles were sound");
}
