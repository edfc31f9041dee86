//! Everything that is wrong with a profile or a value.

use super::*;
use crate::profile::{Step, Team};

/// Two channels of two and teams that fit them; `{}` is replaced.
fn check(text: &str, expected: &[&str]) {
    let text = format!("about = 'x'\n{text}");
    match Plan::new(&profile(&text), &host(TWO_NODES), &Overrides::default()) {
        Ok(_) => assert_eq!(expected, &[] as &[&str], "of {text}"),
        Err(error) => assert_eq!(faults(error), expected, "of {text}"),
    }
}

fn team(keys: &str) -> String {
    format!("[team.w]\n{keys}\nsteps = [ {{ spin = '1us' }} ]")
}

/// A team `w` of 2 and channels `c` (one) and `d` (three).
fn steps(steps: &str) -> String {
    format!(
        "[channel.c]\nkind = 'pipe'\n[channel.d]\nkind = 'pipe'\ncount = 3\n\
         [team.w]\nsize = 2\nsteps = [ {steps} ]"
    )
}

#[test]
fn of_parameters_and_times() {
    let text = "about = 'x'\n[param]\nn = { default = 4, min = 1, max = 9, about = 'n' }\n\
                [team.w]\nsize = 'n'\nsteps = [ { spin = '1us' } ]";
    let check = |change: fn(&mut Overrides), expected: &[&str]| {
        let mut overrides = Overrides::default();
        change(&mut overrides);
        let error = Plan::new(&profile(text), &host("core:2 pu:1"), &overrides).unwrap_err();
        assert_eq!(faults(error), expected);
    };
    check(
        |it| it.params.push(("m".to_owned(), "3".to_owned())),
        &["`test` has no parameter `m`: did you mean `n`?"],
    );
    check(|it| it.params.push(("n".to_owned(), "10".to_owned())), &["n = 10: must be 1 to 9"]);
    check(
        |it| it.duration = Some("0".to_owned()),
        &["`0` gives 0ns, and the duration must be at least 1ns"],
    );
    check(
        |it| it.duration = Some("-1s".to_owned()),
        &["`-1s` gives -1s, and the duration must be at least 1ns"],
    );
    check(
        |it| it.duration = Some("10".to_owned()),
        &["`10` is a plain number, and the duration wants a time; add a unit: ns, us, ms, s or \
             min"],
    );
    check(
        |it| it.duration = Some("10 x".to_owned()),
        &["the duration: unknown unit `x`; units are ns, us, ms, s, min, B, kB, MB, GB, KiB, \
             MiB, GiB, %"],
    );
    check(
        |it| it.warmup = Some("1s".to_owned()),
        &["a warm-up without a duration has no end; give a duration: `--duration 10s`"],
    );
    check(
        |it| (it.duration, it.warmup) = (Some("1s".to_owned()), Some("-1s".to_owned())),
        &["`-1s` gives -1s, and the warm-up must be at least 0ns"],
    );
}

#[test]
fn of_sizes_and_words() {
    check(
        &team("size = 'cpus - 16'"),
        &["`cpus - 16` gives 0, and size of team `w` must be at least 1"],
    );
    check(&team("size = 'cpus / 0'"), &["size of team `w`: `cpus / 0` divides by zero"]);
    check(
        "copies = 1_000_000\n[team.w]\nsize = 5\nsteps = [ { spin = '1us' } ]",
        &["1000000 copies of 5 tasks are 5000000 tasks, and at most 4000000 can be planned"],
    );
    check(
        &team("size = 5_000_000"),
        &["`5000000` gives 5000000, and size of team `w` must be at most 4000000"],
    );
    check(
        "[channel.c]\nkind = 'pip'\ncount = 'cpus - 16'\n[team.w]\nsize = 1\nsteps = [ { spin = \
         '1us' } ]",
        &[
            "unknown kind of channel `pip`; did you mean `pipe`?",
            "`cpus - 16` gives 0, and count of channel `c` must be at least 1",
        ],
    );
    check(
        &team("size = 1\non = 'node:me - 1'"),
        &["`me - 1` for member 0 gives -1, and `on`'s node must be at least 0"],
    );
    check(
        &team("size = 2\non = 'node:1 / me'"),
        &["`on`'s node: `1 / me` divides by zero for member 0"],
    );
    check(
        "[watch]\nmessage_per_s = 'x'\n[team.w]\nsize = 1\nsteps = [ { spin = '1us' } ]",
        &["unknown metric `message_per_s`; did you mean `messages_per_s`?"],
    );
}

#[test]
fn of_scheduling() {
    check(
        &team("size = 1\npolicy = 'fifo'"),
        &["team `w`: policy `fifo` needs a `priority` (1 to 99)"],
    );
    check(
        &team("size = 1\npriority = 3"),
        &["team `w`: policy `other` takes no `priority`, only fifo and rr do"],
    );
    check(
        &team("size = 1\npolicy = 'rr'\npriority = 'cpus * 10'"),
        &["`cpus * 10` gives 160, and `priority` of team `w` must be at most 99"],
    );
    check(
        &team("size = 1\nnice = 'cpus + 4'"),
        &["`cpus + 4` gives 20, and `nice` of team `w` must be at most 19"],
    );
    check(
        &team("size = 1\npolicy = 'idle'\nnice = 1\nslice = '1ms'"),
        &["team `w`: policy `idle` takes no `nice`", "team `w`: policy `idle` takes no `slice`"],
    );
    check(
        &team("size = 1\nslice = 'cpus * 1us'"),
        &["`slice` of team `w` is 16us, and must be at least 100us, or 0"],
    );
    check(
        &team("size = 1\ntimer_slack = '(cpus - 16) * 1ns'"),
        &["`(cpus - 16) * 1ns` gives 0ns, and `timer_slack` of team `w` must be at least 1ns"],
    );
    check(
        &team("size = 1\nuclamp = { min = 500, max = 400 }"),
        &["team `w`: uclamp_min 500 is above uclamp_max 400"],
    );
    let times = "deadline = { runtime = '2ms', deadline = '1ms', period = '10ms' }";
    check(
        &team(&format!("size = 1\npolicy = 'deadline'\n{times}")),
        &["team `w`: runtime 2000000 ns, deadline 1000000 ns, period 10000000 ns: each must be \
             at most the next"],
    );
    check(
        &team("size = 1\ndeadline = { runtime = '2ms', period = '10ms' }"),
        &["team `w`: policy `other` takes no deadline times"],
    );
    let times = "deadline = { runtime = '2ms', period = '10ms' }";
    check(
        &team(&format!("size = 1\npin = true\npolicy = 'deadline'\n{times}")),
        &["team `w`: the kernel refuses policy `deadline` to tasks that may not run \
             everywhere: leave out `on`, `spread` and `pin`"],
    );
}

#[test]
fn of_steps() {
    check(&steps("{ spim = '1us' }"), &["unknown step `spim`; did you mean `spin`?"]);
    check(
        &steps("{ repeat = 'me - 1', steps = [ { spin = '1us' } ] }"),
        &["team `w`: `me - 1` for member 0 gives -1, and the count of `repeat` must be at least 0"],
    );
    check(
        &steps("{ spin = '1us / me' }"),
        &["team `w`: `spin`: `1us / me` divides by zero for member 0"],
    );
    check(
        &steps("{ forever = [ { spin = '1us' } ] }"),
        &["the run would never end: team `w` goes on for ever; give a duration: `--duration \
             10s`, or `duration = \"10s\"` in the profile"],
    );
    check(
        &steps("{ measure = 'a', steps = [ { measure = 'a', steps = [ { spin = '1us' } ] } ] }"),
        &["measure `a` is inside itself"],
    );
    check(
        "[team.w]\nsize = 1\nbackground = true\nsteps = [ { spin = '1us' } ]",
        &["all teams are in the background: the run would end as it begins; give a duration: \
             `--duration 10s`, or `duration = \"10s\"` in the profile"],
    );
}

#[test]
fn of_addresses() {
    check(
        &steps("{ send = 'd[me + 2]' }, { receive = 'd[me + 2]' }"),
        &[
            "team `w`: `me + 2` for member 1 gives 3, and the index in `d` (count 3) must be at \
             most 2",
            "team `w`: `me + 2` for member 1 gives 3, and the index in `d` (count 3) must be at \
             most 2",
        ],
    );
    check(
        &steps("{ send = 'd[3]' }, { receive = 'd[0]' }"),
        &["team `w`: this is 3, and the index in `d` (count 3) must be at most 2"],
    );
    check(
        &steps("{ send = 'd[me - 1]' }, { receive = 'd[me]' }"),
        &["team `w`: `me - 1` for member 0 gives -1, and the index in `d` (count 3) must be at \
             least 0"],
    );
    // Member 0 never comes there.
    check(
        &steps(
            "{ repeat = 'me', steps = [ { send = 'd[me - 1]' } ] }, \
             { repeat = '1 - me', steps = [ { receive = 'd[me]' } ] }",
        ),
        &[],
    );
}

#[test]
fn of_who_wakes_whom() {
    check(&steps("{ send = 'c' }"), &["nobody receives from `c`"]);
    check(&steps("{ receive = 'c' }"), &["team `w` waits on `c`, which nobody sends to"]);
    check(&steps("{ send = 'd[*]' }, { receive = 'd[me]' }"), &["nobody receives from `d[2]`"]);
    check(
        &steps("{ send = 'd[me]' }, { receive = 'd[*]' }"),
        &["team `w` waits on `d[2]`, which nobody sends to"],
    );
    check(&steps("{ send = 'c' }, { receive = 'c' }"), &[]);
    check(
        &steps("{ send = 'c' }, { receive = 'c' }, { receive = 'c' }"),
        &["the run would never end: messages sent to `c`: 2, waited for: 4"],
    );
    check(&steps("{ send = 'd[any]' }, { receive = 'd[next]' }"), &[]);
    check(
        &steps("{ send = 'd[any]' }, { receive = 'd[*]' }"),
        &["the run would never end: messages sent to `d`: 2, waited for: 6"],
    );
    check(
        &steps("{ send = 'c', bytes = '4B' }, { receive = 'c', bytes = '8B' }"),
        &["messages of `c` have 8 B here and 4 B in team `w`; give all steps on one channel \
             the same `bytes`"],
    );
    check(
        "[channel.c]\nkind = 'queue'\n[team.w]\nas = 'processes'\nsize = 2\n\
         steps = [ { send = 'c' }, { receive = 'c' } ]",
        &["`queue` does not work between processes, and the members of team `w` are processes; \
             kinds that do: pipe, socketpair, tcp, eventfd, futex, null"],
    );
}

/// What `Profile::parse` refuses already can still be built in Rust.
#[test]
fn of_profiles_built_in_rust() {
    let check = |profile: Profile, expected: &[&str]| {
        let error = Plan::new(&profile, &host("core:2 pu:1"), &Overrides::default()).unwrap_err();
        assert_eq!(faults(error), expected);
    };
    let spin = || Step::act("spin", "1us");
    let team = || Team::new("w", 1).step(spin());
    check(Profile::new("p"), &["this profile has no team"]);
    check(
        Profile::new("p").team(team().form("fibres")),
        &["unknown form `fibres`; known are threads, processes"],
    );
    check(
        Profile::new("p").team(team().on("socket:1")),
        &["`socket` is no part of a machine; write `node:0`, `llc:1`, `core:2`, `cpus:0-3` or \
             `any`"],
    );
    check(
        Profile::new("p").team(team().spread_over("package")),
        &["unknown spread `package`; known are none, node, llc, core, cpu"],
    );
    check(
        Profile::new("p").team(team().policy("deadline")),
        &["team `w`: policy `deadline` needs a runtime and a period"],
    );
    check(
        Profile::new("p").team(team().policy("fiffo")),
        &["unknown policy `fiffo`; did you mean `fifo`?"],
    );
    check(
        Profile::new("p").team(team().step(Step::send("inbox"))),
        &["unknown channel `inbox`; this profile has no channels"],
    );
    let forever = Step::forever([spin()]);
    let endless = Profile::new("p").duration("1s");
    check(
        endless.clone().team(team().step(forever.clone()).step(spin())),
        &["this step is never reached: the `forever` before it does not end"],
    );
    check(
        endless.clone().team(team().step(Step::measure("m", [forever]))),
        &["measure `m` never ends: put it inside `forever`"],
    );
    let deep = (0..40).fold(spin(), |inner, _| Step::repeat(2, [inner]));
    check(endless.team(team().step(deep)), &["steps nest deeper than 32"]);
    check(
        Profile::new("p").team(team()).copies("me"),
        &["copies: unknown name `me`; `me` can be used in counts, amounts, addresses and `on`"],
    );
    check(
        Profile::new("p").team(team()).copies("cpsu"),
        &["copies: unknown name `cpsu`; did you mean `cpus`?"],
    );
}
