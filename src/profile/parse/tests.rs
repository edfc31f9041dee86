//! What is refused in a profile, where, and with which words.

use crate::profile::{Profile, Source};

fn parse(text: &str) -> Result<Profile, crate::profile::Faults> {
    Profile::parse(
        "test",
        Source {
            path: "test.toml".into(),
            text: text.into(),
        },
    )
}

/// The faults of a text, each as `line:column message (help)`.
fn faults(text: &str) -> Vec<String> {
    let list = parse(text).map_or_else(|faults| faults.list, |_| Vec::new());
    let shown = list.iter().map(|fault| {
        let before = &text[..fault.span.start];
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
        let help = fault
            .help
            .as_ref()
            .map(|help| format!(" ({help})"))
            .unwrap_or_default();
        format!("{line}:{column} {}{help}", fault.message)
    });
    shown.collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(faults(text), expected, "of {text}");
}

/// A sound profile around the lines of a team and of steps.
fn with(params: &str, team: &str, steps: &str) -> String {
    format!(
        "about = \"x\"\n[param]\n{params}\n[channel.inbox]\nkind = \"pipe\"\ncount = 4\n\
         [channel.one]\nkind = \"pipe\"\n[team.t]\nsize = 2\n{team}\nsteps = [\n{steps}\n]\n"
    )
}

fn check_step(step: &str, expected: &[&str]) {
    let text = with("", "", step);
    let moved: Vec<String> = expected.iter().map(|fault| format!("13:{fault}")).collect();
    assert_eq!(faults(&text), moved, "of {step}");
}

fn check_team(team: &str, expected: &[&str]) {
    let text = with("", team, "{ spin = \"1us\" }");
    let moved: Vec<String> = expected.iter().map(|fault| format!("11:{fault}")).collect();
    assert_eq!(faults(&text), moved, "of {team}");
}

fn check_param(param: &str, expected: &[&str]) {
    let text = with(param, "", "{ spin = \"1us\" }");
    let moved: Vec<String> = expected.iter().map(|fault| format!("3:{fault}")).collect();
    assert_eq!(faults(&text), moved, "of {param}");
}

#[test]
fn steps() {
    check_step("{ send = \"inbox[me]\", bytes = \"10 B\" }", &[]);
    check_step("{ send = \"one\" }, { receive = \"inbox[any]\" }", &[]);
    check_step(
        "{ wait = \"inbox[(me + 1) % size]\" }, { wake = \"inbox[next]\" }",
        &[],
    );
    check_step("{ repeat = 0, steps = [ { spin = 0 } ] }", &[]);
    check_step(
        "{ recieve = \"inbox[me]\" }",
        &["3 unknown step `recieve` (did you mean `receive`?)"],
    );
    check_step(
        "{ send = \"inbox[me]\", receive = \"one\" }",
        &["23 a step does one thing, not `send` and `receive` (make it two steps)"],
    );
    check_step(
        "{ send = \"inbox[me]\", byts = 3 }",
        &["23 `send` has no option `byts` (did you mean `bytes`?)"],
    );
    check_step(
        "{ wake = \"inbox[me]\", bytes = 3 }",
        &[
            "23 `wake` has no option `bytes` (`wake` has no options; make `bytes` a step of its \
                 own)",
        ],
    );
    check_step(
        "{ repeat = 2 }",
        &["3 `repeat` has no `steps` (add `steps = [ ... ]`: what is done in there)"],
    );
    check_step(
        "{ repeat = -1, steps = [ { spin = 0 } ] }",
        &["12 `repeat` is -1, and must be 0 or more"],
    );
    check_step(
        "{ repeat = 1.5, steps = [ { spin = 0 } ] }",
        &["12 `repeat` must be a whole number, not 1.5"],
    );
    check_step(
        "{ repeat = \"10ms\", steps = [ { spin = 0 } ] }",
        &["13 `repeat` is a plain number, and `10ms` a time"],
    );
    check_step("{ repeat = 2, steps = [] }", &["23 `steps` has no step"]);
    check_step(
        "3",
        &["1 a step must be a table, not a number (write a step as `{ send = \"inbox[*]\" }`)"],
    );
    check_step(
        "{ bytes = 3 }",
        &[
            "1 the step has no verb (verbs are send, receive, wake, wait, repeat, forever, \
                 measure, \
           and what burns or passes time)",
        ],
    );
    check_step(
        "{ forever = [ { spin = 0 } ] }, { spin = 0 }",
        &[
            "33 this step is never reached (a step after `forever` is never done: move it \
                 before, or inside)",
        ],
    );
    check_step(
        "{ spin = true }",
        &["10 `spin` must be a number or an expression in quotes, not true or false"],
    );
    check_step("{ spin = \"1 / 0\" }", &["11 `1 / 0` divides by zero"]);
    check_step(
        "{ spin = \"cpsu\" }",
        &["11 unknown name `cpsu` (did you mean `cpus`?)"],
    );
    check_step(
        "{ spin = inf }",
        &["10 `inf` is no number that `spin` can be"],
    );
    check_step("{ spin = 0x10 }, { spin = +3 }, { spin = 1e3 }", &[]);
    check_step(
        "{ measure = \"Round trip\", steps = [ { spin = 0 } ] }",
        &[
            "13 `Round trip` is no name for a measure (a name is made of a-z, 0-9 and _, and \
                 does not start with a digit)",
        ],
    );
}

#[test]
fn addresses() {
    const HELP: &str = "an address is a channel and which of its instances: \
                        `inbox[me]`, `inbox[*]`, `inbox[next]`, `inbox[any]`, `inbox[0]`";
    let check = |address: &str, expected: &str| {
        let step = format!("{{ send = \"{address}\" }}");
        let expected: Vec<&str> = std::iter::once(expected)
            .filter(|it| !it.is_empty())
            .collect();
        check_step(&step, &expected);
    };
    check("inbox[3]", "");
    check("inbox[ * ]", "");
    check(
        "inbox[",
        &format!("11 `inbox[` is no address: its `]` is missing ({HELP})"),
    );
    check(
        "inbox[]",
        &format!("11 `inbox[]` does not say which ({HELP})"),
    );
    check("inbox[1 +]", "20 a number or a name is missing at the end");
    check("inbox[mee]", "17 unknown name `mee` (did you mean `me`?)");
    check("inbox[-1]", "17 `inbox` is -1, and must be 0 or more");
    check(
        "inbx[me]",
        "11 unknown channel `inbx` (did you mean `inbox`?)",
    );
    check("door[me]", "11 unknown channel `door` (known: inbox, one)");
    check(
        "inbox",
        "11 `inbox` is not one channel but several (say which: `inbox[me]`, `inbox[*]`, \
             `inbox[next]`)",
    );
    check("", "11 unknown channel `` (known: inbox, one)");
    check(
        "\\u0069nbox[mee]",
        "10 unknown name `mee` (did you mean `me`?)",
    );
}

#[test]
fn teams() {
    check_team("on = \"llc:me % llcs\"\npin = true\nspread = \"core\"", &[]);
    check_team(
        "policy = \"deadline\"\ndeadline = { runtime = \"1ms\", period = \"10ms\" }",
        &[],
    );
    check_team("uclamp = { min = 100, max = 1024 }\nnice = \"me\"", &[]);
    check_team(
        "sise = 3",
        &["1 unknown key `sise` in [team.t] (did you mean `size`?)"],
    );
    check_team(
        "as = \"thread\"",
        &["7 `as` cannot be `thread` (did you mean `threads`?)"],
    );
    check_team("pin = 1", &["7 `pin` must be true or false, not a number"]);
    check_team("nice = 20", &["8 `nice` is 20, and must be -20 to 19"]);
    check_team("priority = 0", &["12 `priority` is 0, and must be 1 to 99"]);
    check_team(
        "slice = 3",
        &[
            "9 `slice` is a time, and `3` a plain number (write its unit, as in `10us`, `10ms` \
                 or `10s`)",
        ],
    );
    check_team(
        "on = \"socket:1\"",
        &["7 `socket` is no part of a machine (write `node:0`, `llc:1`, `core:2` or `cpus:0-3`)"],
    );
    check_team(
        "on = \"node:nods\"",
        &["12 unknown name `nods` (did you mean `nodes`?)"],
    );
    check_team(
        "policy = \"deadline\"",
        &[
            "11 policy deadline needs its times (add `deadline = { runtime = \"1ms\", period = \
                 \"10ms\" }`)",
        ],
    );
    let deadline = "deadline = { runtime = \"1ms\", period = \"1s\" }\npolicy = \"fifo\"";
    check_team(deadline, &["1 `deadline` is for policy deadline, not fifo"]);
}

#[test]
fn params() {
    let param = |fields: &str| format!("p = {{ about = \"x\", {fields} }}");
    let check = |fields: &str, expected: &[&str]| check_param(&param(fields), expected);
    check(
        "default = \"max(1, cpus - 1)\", min = 1, short = \"p\"",
        &[],
    );
    check("default = \"pipe\"", &[]);
    check("default = \"a b\", choices = [\"a b\", \"c\"]", &[]);
    check("default = 0, unit = \"time\", max = \"1s\"", &[]);
    check(
        "default = 0, min = 1",
        &["30 `default` is 0, and must be 1 or more"],
    );
    check(
        "default = 5, min = 9, max = 3",
        &["39 min 9 is above max 3"],
    );
    check(
        "default = 1.5",
        &["30 `default` must be a whole number, not 1.5"],
    );
    check(
        "default = \"1ms\", max = 5",
        &[
            "43 `5` is a plain number, and the parameter is a time (write its unit, as in \
                 `10us`, `10ms` or `10s`)",
        ],
    );
    check(
        "default = \"1ms + 1B\"",
        &["31 `1ms` is a time and `1B` is a size in bytes: they do not go together"],
    );
    check("default = \"me\"", &[]);
    check(
        "default = \"me + 1\"",
        &[
            "31 `me` cannot be used here: a default knows only the machine (known: cpus, cores, \
                 llcs, nodes, cpus_per_node, cpus_per_llc, smt)",
        ],
    );
    check(
        "default = 1, max = \"cpus\"",
        &["40 `cpus` cannot be used here: a limit is a plain number"],
    );
    check(
        "default = \"pip\", choices = [\"pipe\"]",
        &["30 `default` is `pip`, which is not among the choices (did you mean `pipe`?)"],
    );
    check(
        "default = \"pipe\", min = 3",
        &["38 `min` is for numbers, and this is a word"],
    );
    check(
        "default = 1, short = \"gg\"",
        &["41 `short` must be one letter, such as \"g\""],
    );
    check(
        "default = 1, short = \"h\"",
        &["41 short letter `h` is taken by `--help`"],
    );
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
        &[
            "1 a parameter cannot be called `duration`: `--duration` is a flag (choose another \
                 name)",
        ],
    );
    check_param(
        &named("cpus"),
        &["1 a parameter cannot be called `cpus`: expressions know that"],
    );
    check_param(
        &named("Big"),
        &[
            "1 `Big` is no name for a parameter (a name is made of a-z, 0-9 and _, and does not \
                 start with a digit)",
        ],
    );
    check_param(
        "p = 3",
        &[
            "5 [param] `p` must be a table, not a number (a table with the keys default, min, \
                 max, short, about, choices, unit)",
        ],
    );
}

#[test]
fn params_among_each_other_and_in_use() {
    let two = "a = { default = 1, short = \"x\", about = \"\" }\nb = { default = 1, short = \
         \"x\", about = \"\" }";
    let spin = "{ spin = \"1us\" }";
    assert_eq!(
        faults(&with(two, "", spin)),
        ["4:28 short letter `x` is taken by `a`"]
    );
    let param =
        "kind = { default = \"pipe\", about = \"\" }\nn = { default = \"1ms\", about = \"\" }";
    let check = |team: &str, step: &str, expected: &str| {
        let found = faults(&with(param, team, step));
        assert_eq!(found, [expected], "of {team} {step}");
    };
    check(
        "",
        "{ spin = \"kind\" }",
        "14:11 `kind` is a word (`pipe`), not a number",
    );
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
    check(
        "nice = \"n\"",
        spin,
        "12:9 `nice` is a plain number, and `n` a time",
    );
}

#[test]
fn the_top() {
    let team = "[team.t]\nsize = 1\nsteps = [ { spin = 0 } ]\n";
    let check = |head: &str, expected: &[&str]| check(&format!("{head}{team}"), expected);
    check("about = \"x\"\n", &[]);
    check(
        "about = \"x\"\nduration = \"5s\"\nwarmup = 0\ncopies = \"cpus\"\n",
        &[],
    );
    check(
        "",
        &["1:1 the profile has no `about` (add `about = \"...\"`: one line: what the threads do)"],
    );
    check(
        "about = 3\n",
        &["1:9 `about` must be a string, not a number"],
    );
    check(
        "about = \"x\"\nduration = 5\n",
        &[
            "2:12 `duration` is a time, and `5` a plain number (write its unit, as in `10us`, \
                 `10ms` or `10s`)",
        ],
    );
    check(
        "about = \"x\"\nduration = \"5 sec\"\n",
        &[
            "2:15 unknown unit `sec` (units are ns, us, ms, s, min, B, kB, MB, GB, KiB, MiB, \
                 GiB, %)",
        ],
    );
    check(
        "about = \"x\"\ncopies = \"me\"\n",
        &["2:11 `me` means something only in a team"],
    );
    check(
        "about = \"x\"\ncopies = 1e18\n",
        &["2:10 `copies` is 1000000000000000000, and must be 1 to 9007199254740992"],
    );
    check(
        "about = \"x\"\nchanel = 3\n",
        &["2:1 unknown key `chanel` in the profile (did you mean `channel`?)"],
    );
    check(
        "about = \"x\"\nabout = \"y\"\n",
        &["2:1 duplicate key `about`"],
    );
    check(
        "about = \"x\"\n[watch]\na = 3\n",
        &["3:5 `a` must be a string, not a number"],
    );
    check("about = \"x\"\n[channel]\n", &[]);
}

#[test]
fn whole_files() {
    check(
        "about = \"x\"\n",
        &["1:1 the profile has no `team` (add `[team.NAME]`: identical tasks)"],
    );
    check(
        "about = \"x\"\nteam = {}\n",
        &["2:8 there is no team (add `[team.NAME]`)"],
    );
    check(
        "about = \"x\nb\"\n",
        &["1:11 not TOML: invalid basic string, expected `\"`"],
    );
    check(
        "[team.a\n\n\nb\n",
        &[
            "1:8 not TOML: unclosed table, expected `]`",
            "4:2 not TOML: key with no value, expected `=`",
        ],
    );
    check(
        "about = \"x\"\n[team.t]\nsize = 1\nsteps = [ ]\n",
        &["4:9 `steps` has no step"],
    );
}

/// Several faults of all kinds in one pass, in the order of the text.
#[test]
fn prints_all_faults() {
    let text = r#"about = "x"
duratoin = "5s"

[channel.inbox]
kind  = "pipe"
count = "cpu"

[team.reader]
sise  = 3
steps = [
    { receive = "inbx[me]" },
    { spin = "10 ps" },
]
"#;
    insta::assert_snapshot!(parse(text).unwrap_err(), @r#"
    error: unknown key `duratoin` in the profile
     --> test.toml:2:1
      |
    2 | duratoin = "5s"
      | ^^^^^^^^
      |
      = help: did you mean `duration`?

    error: unknown name `cpu`
     --> test.toml:6:10
      |
    6 | count = "cpu"
      |          ^^^
      |
      = help: did you mean `cpus`?

    error: [team.reader] has no `size`
     --> test.toml:8:7
      |
    8 | [team.reader]
      |       ^^^^^^
      |
      = help: add `size = 1`: number of tasks

    error: unknown key `sise` in [team.reader]
     --> test.toml:9:1
      |
    9 | sise  = 3
      | ^^^^
      |
      = help: did you mean `size`?

    error: unknown channel `inbx`
      --> test.toml:11:18
       |
    11 |     { receive = "inbx[me]" },
       |                  ^^^^
       |
       = help: did you mean `inbox`?

    error: unknown unit `ps`
      --> test.toml:12:18
       |
    12 |     { spin = "10 ps" },
       |                  ^^
       |
       = help: did you mean `10ms`? units are ns, us, ms, s, min, B, kB, MB, GB, KiB, MiB, GiB, %
    "#);
}
