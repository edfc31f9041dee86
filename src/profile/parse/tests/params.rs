//! Parameters that are refused, and wrong uses of sound ones.

use super::{faults, with};

fn check_param(param: &str, expected: &[&str]) {
    let text = with(param, "", "{ spin = \"1us\" }");
    let moved: Vec<String> = expected.iter().map(|fault| format!("3:{fault}")).collect();
    assert_eq!(faults(&text), moved, "of {param}");
}

#[test]
fn params() {
    let param = |fields: &str| format!("p = {{ about = \"x\", {fields} }}");
    let check = |fields: &str, expected: &[&str]| check_param(&param(fields), expected);
    check("default = \"max(1, cpus - 1)\", min = 1, short = \"p\"", &[]);
    check("default = \"pipe\"", &[]);
    check("default = \"a b\", choices = [\"a b\", \"c\"]", &[]);
    check("default = 0, unit = \"time\", max = \"1s\"", &[]);
    check("default = 0, min = 1", &["30 `default` is 0, and must be 1 or more"]);
    check("default = 5, min = 9, max = 3", &["39 min 9 is above max 3"]);
    check("default = 1.5", &["30 `default` must be a whole number, not 1.5"]);
    check(
        "default = \"1ms\", max = 5",
        &["43 `5` is a plain number, and the parameter is a time (write its unit, as in \
                 `10us`, `10ms` or `10s`)"],
    );
    check(
        "default = \"1ms + 1B\"",
        &["31 `1ms` is a time and `1B` is a size in bytes: they do not go together"],
    );
    check("default = \"me\"", &[]);
    check(
        "default = \"me + 1\"",
        &["31 `me` cannot be used here: a default knows only the machine (known: cpus, cores, \
                 llcs, nodes, cpus_per_node, cpus_per_llc, smt, llc_bytes, first_node, \
                 second_node)"],
    );
    check(
        "default = 1, max = \"cpus\"",
        &["40 `cpus` cannot be used here: a limit is a plain number"],
    );
    check(
        "default = \"pip\", choices = [\"pipe\"]",
        &["30 `default` is `pip`, which is not among the choices (did you mean `pipe`?)"],
    );
    check("default = \"pipe\", min = 3", &["38 `min` is for numbers, and this is a word"]);
}

#[test]
fn flags_and_names_of_params() {
    let param = |fields: &str| format!("p = {{ about = \"x\", {fields} }}");
    let check = |fields: &str, expected: &[&str]| check_param(&param(fields), expected);
    check("default = 1, short = \"gg\"", &["41 `short` must be one letter, such as \"g\""]);
    check("default = 1, short = \"h\"", &["41 short letter `h` is taken by `--help`"]);
    check(
        "default = 1, unit = \"seconds\"",
        &["41 `unit` cannot be `seconds` (known: count, time, bytes, share, word)"],
    );
    check(
        "defalt = 1",
        &[
            "1 [param] `p` has no `default` (add `default = 1`: the value if nobody sets it: a \
                 number, an expression over machine facts, or a word)",
            "20 unknown key `defalt` in [param] `p` (did you mean `default`?)",
        ],
    );
    let named = |name: &str| format!("{name} = {{ default = 1, about = \"x\" }}");
    check_param(
        &named("duration"),
        &["1 a parameter cannot be called `duration`: `--duration` is a flag (choose another \
                 name)"],
    );
    check_param(&named("cpus"), &["1 a parameter cannot be called `cpus`: expressions know that"]);
    check_param(
        &named("Big"),
        &["1 `Big` is no name for a parameter (a name is made of a-z, 0-9 and _, and does not \
                 start with a digit)"],
    );
    check_param(
        "p = 3",
        &["5 [param] `p` must be a table, not a number (a table with the keys default, min, \
                 max, short, about, choices, unit)"],
    );
}

#[test]
fn params_among_each_other_and_in_use() {
    let two = "a = { default = 1, short = \"x\", about = \"\" }\nb = { default = 1, short = \
         \"x\", about = \"\" }";
    let spin = "{ spin = \"1us\" }";
    assert_eq!(faults(&with(two, "", spin)), ["4:28 short letter `x` is taken by `a`"]);
    let param =
        "kind = { default = \"pipe\", about = \"\" }\nn = { default = \"1ms\", about = \"\" }";
    let check = |team: &str, step: &str, expected: &str| {
        let found = faults(&with(param, team, step));
        assert_eq!(found, [expected], "of {team} {step}");
    };
    check("", "{ spin = \"kind\" }", "14:11 `kind` is a word (`pipe`), not a number");
    check(
        "",
        "{ spin = \"n + 1\" }",
        "14:11 `n` is a time and `1` is a plain number: they do not go together",
    );
    check(
        "as = \"kind\"",
        spin,
        "12:7 `as` cannot be `pipe`, which `kind` may become (`as` is one of threads, processes)",
    );
    check("on = \"n\"", spin, "12:7 `on` is a word, and `n` a number");
    check("nice = \"n\"", spin, "12:9 `nice` is a plain number, and `n` a time");
}
