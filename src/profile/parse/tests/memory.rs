//! Regions and steps on them that are refused, and what starts and joins.

use super::{check, faults};

/// A sound profile with a region of these keys, and these steps.
fn text(keys: &str, steps: &str) -> String {
    format!("about = \"x\"\n[memory.area]\n{keys}\n[team.t]\nsize = 2\nsteps = [\n{steps}\n]\n")
}

const BYTES: &str = "bytes = \"1 MiB\"";

fn check_step(step: &str, expected: &[&str]) {
    let moved: Vec<String> = expected.iter().map(|fault| format!("7:{fault}")).collect();
    assert_eq!(faults(&text(BYTES, step)), moved, "of {step}");
}

fn check_region(keys: &str, expected: &[&str]) {
    assert_eq!(faults(&text(keys, "{ sweep = \"area\" }")), expected, "of {keys}");
}

#[test]
fn regions() {
    check_region("bytes = \"cpus * 1 MiB\"\ncount = \"nodes\"\nhuge = \"never\"", &[]);
    check_region("bytes = \"0 B\"\nshared = \"all\"\npolicy = \"bind:instance\"", &[]);
    check_region(
        "count = 2",
        &["2:9 [memory.area] has no `bytes` (add `bytes = \"64MiB\"`: size of a slice; 0 is no \
           region)"],
    );
    check_region("bytes = \"-1 MiB\"", &["3:10 `bytes` is -1MiB, and must be 0B or more"]);
    check_region("bytes = \"1 GB GB\"", &["3:15 `GB` is not a name: names are lower case"]);
    check_region("bytes = \"1s\"", &["3:10 `bytes` is a size in bytes, and `1s` a time"]);
    check_region(
        "bytes = \"1e30 B\"",
        &["3:10 `bytes` is 931322574615478500000GiB, and must be 0B to 8388608GiB"],
    );
    check_region("bytes = 1\ncount = 0", &["4:9 `count` is 0, and must be 1 or more"]);
    check_region("bytes = 1\ncount = \"me\"", &["4:10 `me` means something only in a team"]);
    check_region(
        "bytes = 1\nhuge = \"alway\"",
        &["4:9 `huge` cannot be `alway` (did you mean `always`?)"],
    );
    check_region(
        "bytes = 1\nshared = \"none\"",
        &["4:11 `shared` cannot be `none` (known: process, instance, all)"],
    );
    check_region(
        "bytes = 1\npolcy = \"x\"",
        &["4:1 unknown key `polcy` in [memory.area] (did you mean `policy`?)"],
    );
    check_region(
        "bytes = 1\npolicy = 3",
        &["4:10 `policy` must be a word in quotes, not a number"],
    );
    check(
        &text(BYTES, "{ sweep = \"area\" }").replace("memory.area", "memory.Area"),
        &[
            "2:9 `Area` is no name for a region (a name is made of a-z, 0-9 and _, and does not \
             start with a digit)",
            "7:12 unknown region of memory `area` (did you mean `Area`?)",
        ],
    );
}

#[test]
fn steps_on_regions() {
    check_step("{ sweep = \"area[(me + 1) % size]\", access = \"zero\", halo = \"10%\" }", &[]);
    check_step(
        "{ touch = \"area\", count = \"me\", skew = 0.5 }, { chase = \"area\", count = 1 }",
        &[],
    );
    check_step("{ triad = \"area\", from = \"area[0]\", and = \"area[me]\" }", &[]);
    check_step(
        "{ sweep = \"aera\" }",
        &["12 unknown region of memory `aera` (did you mean `area`?)"],
    );
    check_step(
        "{ sweep = 3 }",
        &["11 `sweep` must be a region or a slice, such as \"area[me]\", not a number"],
    );
    let part = "(write `area` for all of a region, `area[me]` or `area[0]` for a slice)";
    check_step(
        "{ sweep = \"area[\" }",
        &[&format!("12 `area[` is no address: its `]` is missing {part}")],
    );
    check_step("{ sweep = \"area[]\" }", &[&format!("12 `area[]` does not say which {part}")]);
    check_step("{ sweep = \"area[mee]\" }", &["17 unknown name `mee` (did you mean `me`?)"]);
    check_step(
        "{ sweep = \"area\", access = \"wirte\" }",
        &["29 `access` cannot be `wirte` (did you mean `write`?)"],
    );
    check_step(
        "{ sweep = \"area\", count = 3 }",
        &["19 `sweep` has no option `count` (known: access, halo, bytes)"],
    );
    for verb in ["touch", "chase"] {
        check_step(
            &format!("{{ {verb} = \"area\" }}"),
            &[&format!(
                "3 `{verb}` has no `count` (add `count = 1000`: number of accesses or \
                 multiplications)"
            )],
        );
    }
    check_step("{ chase = \"area\", count = -1 }", &["27 `count` is -1, and must be 0 or more"]);
    check_step(
        "{ chase = \"area\", count = 1, access = \"write\" }",
        &["30 `chase` has no option `access` (known: count)"],
    );
    check_step(
        "{ touch = \"area\", count = 1, skew = 11 }",
        &["37 `skew` is 1100%, and must be 0% to 1000%"],
    );
    check_step(
        "{ sweep = \"area[me]\", halo = \"150%\" }",
        &["31 `halo` is 150%, and must be 0% to 100%"],
    );
    check_step(
        "{ copy = \"area\" }",
        &["3 `copy` has no `from` (add `from = \"b[me]\"`: what is read)"],
    );
    check_step(
        "{ add = \"area\", from = \"b\" }",
        &[
            "3 `add` has no `and` (add `and = \"c[me]\"`: what is read besides)",
            "25 unknown region of memory `b` (known: area)",
        ],
    );
    check(
        &text(BYTES, "{ sweep = \"area\" }").replace(&format!("[memory.area]\n{BYTES}\n"), ""),
        &["5:12 unknown region of memory `area` (add `[memory.area]`)"],
    );
}

#[test]
fn times_and_teams() {
    check_step("{ during = \"1ms\", steps = [ { sweep = \"area\" } ] }", &[]);
    check_step(
        "{ during = 3, steps = [ { spin = 0 } ] }",
        &["12 `during` is a time, and `3` a plain number (write its unit, as in `10us`, `10ms` \
             or \
           `10s`)"],
    );
    check_step(
        "{ during = \"-1s\", steps = [ { spin = 0 } ] }",
        &["13 `during` is -1s, and must be 0ns or more"],
    );
    check_step(
        "{ during = \"1s\" }",
        &["3 `during` has no `steps` (add `steps = [ ... ]`: what is done in there)"],
    );
    check_step("{ spawn = 3 }", &["11 `spawn` must be a word in quotes, not a number"]);
    check_step(
        "{ join = \"t\", steps = [] }",
        &["15 `join` has no option `steps` (`join` has no options; make `steps` a step of its \
           own)"],
    );
    let top = |line: &str| format!("{line}\n{}", text(BYTES, "{ sweep = \"area\" }"));
    check(&top("instances = 0"), &["1:13 `instances` is 0, and must be 1 or more"]);
    check(&top("nodes = \"1.5\""), &["1:10 `nodes` must be a whole number, not 1.5"]);
    check(&top("instances = \"size\""), &["1:14 `size` means something only in a team"]);
    let team = |line: &str| {
        text(BYTES, "{ sweep = \"area\" }").replace("size = 2", &format!("size = 2\n{line}"))
    };
    check(
        &team("start = \"spwaned\""),
        &["6:10 `start` cannot be `spwaned` (did you mean `spawned`?)"],
    );
    check(
        &team("start_on = \"nod:0\""),
        &["6:13 `nod` is no part of a machine (write `node:0`, `llc:1`, `core:2`, `cpus:0-3` or \
           `any`)"],
    );
}

#[test]
fn choices_that_set() {
    let check = |params: &str, expected: &[&str]| {
        let text = format!(
            "about = \"x\"\n[param]\n{params}\n[team.t]\nsize = 1\nsteps = [ {{ spin = 0 }} ]\n"
        );
        assert_eq!(faults(&text), expected, "of {params}");
    };
    let param = |choices: &str| {
        format!(
            "n = {{ default = 1, about = \"\" }}\nc = {{ default = \"a\", about = \"\", choices \
             = {{ {choices} }} }}"
        )
    };
    check(&param("a = { n = 2 }, b = { n = \"cpus\" }, d = { n = 1.5 }, e = {}"), &[]);
    check(&param("a = { nn = 2 }"), &["4:52 a choice cannot set `nn` (did you mean `n`?)"]);
    check(
        &param("a = { n = true }"),
        &["4:56 a choice sets `n` to true or false (write a number, or text as the command line \
           would have it)"],
    );
    check(
        &param("a = { c = \"b\" }, b = {}"),
        &["4:52 a choice cannot set `c` (it sets others itself: a choice sets plain parameters)"],
    );
    check(&param("a = 3"), &["4:50 a choice must be a table, not a number"]);
    check(
        &param("b = {}"),
        &["4:17 `default` is `a`, which is not among the choices (did you mean `b`?)"],
    );
}
