//! Everything that can be wrong with regions, steps on them, and teams that a step starts.

use super::*;
use crate::profile::{Region, Step, Team};

fn check(text: &str, expected: &[&str]) {
    let text = format!("about = 'x'\n{text}");
    match Plan::new(&profile(&text), &host(TWO_NODES), &Overrides::default()) {
        Ok(_) => assert_eq!(expected, &[] as &[&str], "of {text}"),
        Err(error) => assert_eq!(faults(error), expected, "of {text}"),
    }
}

/// Regions `area` (two slices of 1 MiB) and `other` (two of 4 KiB), and a team `w` of two.
fn steps(steps: &str) -> String {
    format!(
        "[memory.area]\nbytes = '1 MiB'\ncount = 2\n[memory.other]\nbytes = '4 KiB'\ncount = 2\n\
         [team.w]\nsize = 2\nsteps = [ {steps} ]"
    )
}

/// A region `area` of these keys that a team `w` of two goes through.
fn region(keys: &str) -> String {
    format!("[memory.area]\n{keys}\n[team.w]\nsize = 2\nsteps = [ {{ sweep = 'area' }} ]")
}

#[test]
fn of_slices() {
    check(&steps("{ sweep = 'area[me]' }, { sweep = 'area' }"), &[]);
    check(
        &steps("{ sweep = 'area[me + 1]' }"),
        &["`me + 1` for member 1 gives 2, and the slice of `area` (count 2) must be at most 1"],
    );
    check(
        &steps("{ sweep = 'area[me - 1]' }"),
        &["`me - 1` for member 0 gives -1, and the slice of `area` (count 2) must be at least 0"],
    );
    check(
        &steps("{ touch = 'area[2]', count = 5 }"),
        &["`2` gives 2, and the slice of `area` (count 2) must be at most 1"],
    );
    check(
        &steps("{ chase = 'area[1 / me]', count = 5 }"),
        &["the slice of `area` (count 2): `1 / me` divides by zero for member 0"],
    );
    for which in ["any", "next"] {
        check(
            &steps(&format!("{{ sweep = 'area[{which}]' }}")),
            &["a step uses one slice, or all of a region; write `area[me]` or `area`"],
        );
    }
    check(
        &steps("{ sweep = 'area', halo = '50%' }"),
        &["`halo` is of the next slice, and this is the whole region; name a slice: `area[me]`"],
    );
    check(
        &steps("{ touch = 'area', count = 'me - 1' }"),
        &["team `w`: `me - 1` for member 0 gives -1, and the count of accesses must be at least 0"],
    );
    check(
        &steps("{ sweep = 'area[me]', halo = 'cpus' }"),
        &["`cpus` gives 1600%, and `halo` must be at most 100%"],
    );
    check(
        &steps("{ touch = 'area', count = 1, skew = 'cpus' }"),
        &["`cpus` gives 1600%, and `skew` must be at most 1000%"],
    );
}

#[test]
fn of_arrays() {
    check(&steps("{ triad = 'area[me]', from = 'area[me]', and = 'area[1 - me]' }"), &[]);
    let help = "give their regions the same `bytes`, and name a slice of each or all";
    check(
        &steps("{ copy = 'area[me]', from = 'area' }"),
        &[&format!(
            "`copy` is over arrays of one length, and these have 1048576 B and 2097152 B; {help}"
        )],
    );
    check(
        &steps("{ add = 'area[me]', from = 'area[me]', and = 'other[me]' }"),
        &[&format!(
            "`add` is over arrays of one length, and these have 1048576 B and 4096 B; {help}"
        )],
    );
}

/// A chase would go on in one line, or along whatever numbers it finds.
#[test]
fn of_ways_that_are_written_over() {
    let chase = "{ chase = 'area[me]', count = 5 }";
    let check = |other: &str, expected: &[&str]| {
        check(&steps(&format!("{chase}, {other}")), expected);
        check(&steps(&format!("{other}, {chase}")), expected);
    };
    for access in ["read", "write", "modify"] {
        check(&format!("{{ sweep = 'area', access = '{access}' }}"), &[]);
    }
    check("{ sweep = 'other', access = 'zero' }", &[]);
    let help = "use another region, or an access that leaves it: `read`, `write`, `modify`";
    let zeros = format!("zeros would write over the way that `chase` goes in `area`; {help}");
    check("{ sweep = 'area', access = 'zero' }", &[&zeros]);
    check("{ touch = 'area[0]', access = 'zero', count = 1 }", &[&zeros]);
    // STREAM's numbers are written into all of its arrays.
    let copy = format!("copy would write over the way that `chase` goes in `area`; {help}");
    check("{ copy = 'area[me]', from = 'area[1 - me]' }", &[&copy]);
    let mixed = "`area` is chased as a whole and by slices; a line is on one way only: chase all \
     of \
                 it, or slices";
    check("{ chase = 'area', count = 1 }", &[mixed]);
}

#[test]
fn of_regions() {
    check(&region("bytes = '1 MiB'\nfirst_touch = 'w'\npolicy = 'interleave'"), &[]);
    check(
        &region("bytes = '4 KiB'\nfirst_touch = 'onwer'\npolicy = 'bnd:0'"),
        &[
            "unknown memory policy `bnd:0`; did you mean `bind:0`?",
            "nobody called `onwer` can touch memory first; did you mean `owner`?",
        ],
    );
    check(
        &region("bytes = '4 KiB'\nfirst_touch = 'somebody'"),
        &["nobody called `somebody` can touch memory first; known are owner, main, node:0, \
           interleave, opposite, nobody, w"],
    );
    check(
        &region("bytes = '4 KiB'\npolicy = 'bind:me - 1'\ncount = 2"),
        &["`me - 1` for member 0 gives -1, and the node must be at least 0"],
    );
    check(
        &region("bytes = '4 KiB'\npolicy = 'preferred:99999999999'"),
        &["`99999999999` gives 99999999999, and the node must be at most 4294967295"],
    );
    check(
        &region("bytes = '4 KiB'\nfirst_touch = 'node:'"),
        &["`node:` does not say which node; write the number of one: `node:0`"],
    );
    check(
        &region("bytes = '4 KiB'\npolicy = 'bind:nods'"),
        &["the node: unknown name `nods`; did you mean `nodes`?"],
    );
    check(
        &region("bytes = 'cpus * -1 B'"),
        &["`cpus * -1 B` gives -16B, and a slice of `area` must be at least 0B"],
    );
    check(
        &region("bytes = '4 KiB'\ncount = 'cpus - 16'"),
        &["`cpus - 16` gives 0, and count of region `area` must be at least 1"],
    );
}

#[test]
fn of_sizes_that_no_machine_has() {
    check(
        &region("bytes = 'cpus * 100_000 GiB'"),
        &["`cpus * 100_000 GiB` gives 1600000GiB, and a slice of `area` must be at most 131072GiB"],
    );
    check(
        &region("bytes = '100_000 GiB'\ncount = 4_000_000"),
        &["region `area` has 4000000 slices of 100000 GiB, and an address space holds 131072 \
             GiB; \
           ask for fewer slices, or smaller ones"],
    );
    check(
        &format!("instances = 4_000\n{}", region("bytes = '4 KiB'\ncount = 4_000")),
        &["region `area` has 4000 slices in each of 4000 instances, and at most 4000000 in all \
           can be planned; ask for fewer slices, or smaller ones"],
    );
    let one = "[team.w]\nsize = 1\nsteps = [ { spin = '1us' } ]";
    check(
        &format!("instances = 3_000_000\ncopies = 3_000_000\n{one}"),
        &["3000000 copies in each of 3000000 instances are more than the 4000000 that can be \
           planned"],
    );
    check(
        &format!("instances = 'cpus - 16'\n{one}"),
        &["`cpus - 16` gives 0, and instances must be at least 1"],
    );
    check(
        &format!("nodes = 'nodes - 2'\n{one}"),
        &["`nodes - 2` gives 0, and nodes must be at least 1"],
    );
}

/// A word that the command line gives is found wrong as one in the profile is.
#[test]
fn of_words_of_the_command_line() {
    let check = |key: &str, default: &str, given: &str, expected: &str| {
        let (of_region, of_team, of_step) = match key {
            "access" => (String::new(), String::new(), ", access = 'word'".to_owned()),
            "start" => (String::new(), "start = 'word'".to_owned(), String::new()),
            _ => (format!("{key} = 'word'"), String::new(), String::new()),
        };
        let text = format!(
            "about = 'x'\n[param]\nword = {{ default = '{default}', about = 'x' }}\n\
             [memory.area]\nbytes = '4 KiB'\n{of_region}\n\
             [team.w]\nsize = 1\n{of_team}\nsteps = [ {{ sweep = 'area'{of_step} }} ]"
        );
        let error = Plan::new(&profile(&text), &host(TWO_NODES), &overrides(&[("word", given)]));
        assert_eq!(faults(error.unwrap_err()), [expected], "of {text}");
    };
    check("access", "read", "wirte", "unknown access `wirte`; did you mean `write`?");
    check("huge", "leave", "alway", "unknown setting of `huge` `alway`; did you mean `always`?");
    check("shared", "all", "none", "unknown sharing `none`; known are process, instance, all");
    check("policy", "default", "bind", "unknown memory policy `bind`; did you mean `bind:0`?");
    check("start", "gate", "spwaned", "unknown start `spwaned`; did you mean `spawned`?");
}

/// A team `m` with these steps, and a spawned team `w` of two that has those.
fn spawning(main: &str, worker: &str) -> String {
    format!(
        "[team.m]\nsize = 1\nsteps = [ {main} ]\n\
         [team.w]\nsize = 2\nstart = 'spawned'\nsteps = [ {worker} ]"
    )
}

const SPIN: &str = "{ spin = '1us' }";

#[test]
fn of_spawning() {
    let check = |main: &str, expected: &[&str]| check(&spawning(main, SPIN), expected);
    check("{ spawn = 'w' }", &[]);
    check("{ spawn = 'w' }, { join = 'w' }", &[]);
    check(SPIN, &["team `w` is never spawned; add a step `{ spawn = \"w\" }`"]);
    check(
        "{ repeat = 0, steps = [ { spawn = 'w' } ] }, { spin = '1us' }",
        &["team `w` is never spawned; add a step `{ spawn = \"w\" }`"],
    );
    check(
        "{ spawn = 'w' }, { spawn = 'w' }",
        &["team `w` is spawned a second time; a team starts once"],
    );
    for block in ["repeat = 3", "during = '1s'"] {
        check(
            &format!("{{ {block}, steps = [ {{ spawn = 'w' }} ] }}"),
            &["team `w` is spawned in a loop; a team starts once: move the step out"],
        );
    }
    check("{ measure = 'a', steps = [ { spawn = 'w' } ] }", &[]);
    let known = "did you mean `w`?";
    for verb in ["spawn", "join"] {
        check(
            &format!("{{ spawn = 'w' }}, {{ {verb} = 'ww' }}"),
            &[&format!("unknown team `ww`; {known}")],
        );
        let how = if verb == "spawn" { "spawned" } else { "joined" };
        check(
            &format!("{{ spawn = 'w' }}, {{ {verb} = 'm' }}"),
            &[&format!(
                "team `m` starts at the gate and cannot be {how}; add `start = \"spawned\"` to \
                 [team.m]"
            )],
        );
    }
}

#[test]
fn of_who_spawns() {
    let many = spawning("{ spawn = 'w' }", SPIN).replacen("size = 1", "size = 3", 1);
    check(
        &many,
        &["each of the 3 members of team `m` would spawn team `w`; let a team of one do it"],
    );
    let chain = "[team.v]\nsize = 1\nstart = 'spawned'\nsteps = [ { spin = '1us' } ]";
    let by_spawned =
        spawning("{ spawn = 'w' }", "{ spawn = 'v' }").replacen("size = 2", "size = 1", 1);
    check(
        &format!("{by_spawned}\n{chain}"),
        &["team `w` is itself spawned; spawn from a team that starts at the gate"],
    );
    for team in ["m", "w"] {
        let text = spawning("{ spawn = 'w' }", SPIN);
        let head = format!("[team.{team}]\n");
        check(
            &text.replacen(&head, &format!("{head}as = 'processes'\n"), 1),
            &["only threads can be spawned, by threads; make both teams threads; `instances = 1` \
               gives them a process"],
        );
    }
    // Who is in the background may spawn whom the run waits for.
    let background =
        spawning("{ spawn = 'w' }", SPIN).replacen("size", "background = true\nsize", 1);
    check(&background, &[]);
    let elsewhere = format!(
        "{}\n[team.p]\nsize = 1\nas = 'processes'\nsteps = [ {{ join = 'w' }} ]",
        spawning("{ spawn = 'w' }", SPIN)
    );
    check(
        &elsewhere,
        &["team `w` has another address space than who joins it; make the team that joins it \
           threads of its process"],
    );
}

/// These would sleep until somebody interrupts the run.
#[test]
fn of_joins_without_an_end() {
    let never = "this join would never end: team `w` only ends after it; spawn a team before it is \
                 joined, and let none wait for itself";
    check(&spawning("{ join = 'w' }, { spawn = 'w' }", SPIN), &[never]);
    check(&spawning("{ spawn = 'w' }", "{ join = 'w' }"), &[never]);
    let third =
        |steps: &str| format!("\n[team.v]\nsize = 1\nstart = 'spawned'\nsteps = [ {steps} ]");
    let of_v = never.replace("`w`", "`v`");
    let both = "{ spawn = 'w' }, { spawn = 'v' }";
    check(
        &format!("{}{}", spawning(both, "{ join = 'v' }"), third("{ join = 'w' }")),
        &[&of_v, never],
    );
    // The worker waits for whom main spawns only after the worker has ended.
    check(
        &format!(
            "{}{}",
            spawning("{ spawn = 'w' }, { join = 'w' }, { spawn = 'v' }", "{ join = 'v' }"),
            third(SPIN)
        ),
        &[never, &of_v],
    );
    check(&format!("{}{}", spawning(both, "{ join = 'v' }"), third(SPIN)), &[]);
    // Others may wait for a team from the start.
    let third = "\n[team.v]\nsize = 1\nsteps = [ { join = 'w' } ]";
    check(&format!("{}{third}", spawning("{ spawn = 'w' }", SPIN)), &[]);
    let endless = spawning("{ spawn = 'w' }, { join = 'w' }", "{ forever = [ { spin = '1us' } ] }");
    let endless = endless.replace("start =", "background = true\nstart =");
    check(
        &endless,
        &["the run would never end: team `w` goes on for ever; give a duration: `--duration \
             10s`, \
           or leave out the `join`"],
    );
    check(&format!("duration = '1s'\n{endless}"), &[]);
}

#[test]
fn of_times_and_places() {
    let check_steps = |it: &str, expected: &[&str]| check(&steps(it), expected);
    check_steps("{ during = '0s', steps = [ { spin = '1us' } ] }", &[]);
    check_steps(
        "{ during = '(me - 1) * 1s', steps = [ { spin = '1us' } ] }",
        &["team `w`: `(me - 1) * 1s` for member 0 gives -1s, and the time of `during` must be at \
           least 0ns"],
    );
    check_steps(
        "{ during = '1s', steps = [ { forever = [ { spin = '1us' } ] } ] }",
        &["the run would never end: team `w` goes on for ever; give a duration: `--duration \
             10s`, \
           or `duration = \"10s\"` in the profile"],
    );
    let start_on = |place: &str| {
        format!("[team.w]\nsize = 1\nstart_on = '{place}'\nsteps = [ {{ spin = '1us' }} ]")
    };
    check(&start_on("node:instance"), &[]);
    check(
        &start_on("node:me - 1"),
        &["`me - 1` for member 0 gives -1, and `start_on`'s node must be at least 0"],
    );
    check(&start_on("llc:1 / me"), &["`start_on`'s llc: `1 / me` divides by zero for member 0"]);
}

/// What `Profile::parse` refuses already can still be built in Rust.
#[test]
fn of_steps_built_in_rust() {
    let check = |step: Step, expected: &[&str]| {
        let profile = Profile::new("p").memory(Region::new("area", "4 KiB"));
        let profile = profile.team(Team::new("w", 1).step(step));
        let error = Plan::new(&profile, &host(TWO_NODES), &Overrides::default()).unwrap_err();
        assert_eq!(faults(error), expected);
    };
    check(
        Step::with_memory("sweeep", "area"),
        &["unknown step on memory `sweeep`; did you mean `sweep`?"],
    );
    check(
        Step::with_memory("touch", "area"),
        &["`touch` has no `count`; as in `{ touch = \"area\", count = 1000 }`"],
    );
    check(
        Step::with_memory("triad", "area"),
        &["`triad` has no `from`; as in `{ triad = \"a[me]\", from = \"b[me]\", and = \
           \"c[me]\" }`"],
    );
    check(
        Step::sweep("area[next]"),
        &["a step uses one slice, or all of a region; write `area[me]` or `area`"],
    );
    check(Step::sweep("aera"), &["unknown region of memory `aera`; did you mean `area`?"]);
    check(Step::sweep("area").access("wirte"), &["unknown access `wirte`; did you mean `write`?"]);
    check(
        Step::during("5", [Step::sweep("area")]),
        &["`5` is a plain number, and the time of `during` wants a time; add a unit: ns, us, ms, \
           s or min"],
    );
    check(Step::spawn("ww"), &["unknown team `ww`; did you mean `w`?"]);
}

#[test]
fn of_choices() {
    let text = "about = 'x'\n[param]\nn = { default = 1, max = 3, about = 'n' }\n[param.c]\n\
                about = 'x'\ndefault = 'good'\n\
                choices = { good = { n = 2 }, large = { n = 5 }, odd = { n = 1.5 }, time = { n = \
                '1s' } }\n\
                [team.w]\nsize = 'max(1, n)'\nsteps = [ { spin = '1us' } ]";
    let check = |params: &[(&str, &str)], expected: &[&str]| match Plan::new(
        &profile(text),
        &host(TWO_NODES),
        &overrides(params),
    ) {
        Ok(plan) => assert_eq!([format!("size {}", plan.teams[0].size)], *expected),
        Err(error) => assert_eq!(faults(error), expected, "of {params:?}"),
    };
    check(&[], &["size 2"]);
    check(&[("n", "3")], &["size 3"]);
    check(&[("c", "large")], &["n = 5: must be 0 to 3, and c = large sets it so"]);
    check(&[("c", "odd")], &["n = 1.5: must be a whole number, and c = odd sets it so"]);
    check(
        &[("c", "time")],
        &["n = 1s: must be a plain number, not a time, and c = time sets it so"],
    );
    // What is given by itself is not set.
    check(&[("c", "large"), ("n", "1")], &["size 1"]);
    check(
        &[("c", "lrge")],
        &["c = lrge: must be one of good, large, odd, time; did you mean `large`?"],
    );
}
