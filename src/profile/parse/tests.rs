//! What is refused in a profile, where, and with which words.

mod memory;
mod params;
mod steps;

use crate::profile::{Profile, Source};

fn parse(text: &str) -> Result<Profile, crate::profile::Faults> {
    Profile::parse("test", Source { path: "test.toml".into(), text: text.into() })
}

/// The faults of a text, each as `line:column message (help)`.
fn faults(text: &str) -> Vec<String> {
    let list = parse(text).map_or_else(|faults| faults.list, |_| Vec::new());
    let shown = list.iter().map(|fault| {
        let before = &text[..fault.span.start];
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
        let help = fault.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
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

fn check_team(team: &str, expected: &[&str]) {
    let text = with("", team, "{ spin = \"1us\" }");
    let moved: Vec<String> = expected.iter().map(|fault| format!("11:{fault}")).collect();
    assert_eq!(faults(&text), moved, "of {team}");
}

#[test]
fn teams() {
    check_team("on = \"llc:me % llcs\"\npin = true\nspread = \"core\"", &[]);
    check_team("policy = \"deadline\"\ndeadline = { runtime = \"1ms\", period = \"10ms\" }", &[]);
    check_team("uclamp = { min = 100, max = 1024 }\nnice = \"me\"", &[]);
    check_team("sise = 3", &["1 unknown key `sise` in [team.t] (did you mean `size`?)"]);
    check_team("as = \"thread\"", &["7 `as` cannot be `thread` (did you mean `threads`?)"]);
    check_team("pin = 1", &["7 `pin` must be true or false, not a number"]);
    check_team("nice = 20", &["8 `nice` is 20, and must be -20 to 19"]);
    check_team("priority = 0", &["12 `priority` is 0, and must be 1 to 99"]);
    check_team(
        "slice = 3",
        &["9 `slice` is a time, and `3` a plain number (write its unit, as in `10us`, `10ms` \
                 or `10s`)"],
    );
    check_team(
        "on = \"socket:1\"",
        &["7 `socket` is no part of a machine (write `node:0`, `llc:1`, `core:2`, `cpus:0-3` or \
             `any`)"],
    );
    check_team("on = \"node:nods\"", &["12 unknown name `nods` (did you mean `nodes`?)"]);
    check_team(
        "policy = \"deadline\"",
        &["11 policy deadline needs its times (add `deadline = { runtime = \"1ms\", period = \
                 \"10ms\" }`)"],
    );
    let deadline = "deadline = { runtime = \"1ms\", period = \"1s\" }\npolicy = \"fifo\"";
    check_team(deadline, &["1 `deadline` is for policy deadline, not fifo"]);
}

#[test]
fn the_top() {
    let team = "[team.t]\nsize = 1\nsteps = [ { spin = 0 } ]\n";
    let check = |head: &str, expected: &[&str]| check(&format!("{head}{team}"), expected);
    check("about = \"x\"\n", &[]);
    check("about = \"x\"\nduration = \"5s\"\nwarmup = 0\ncopies = \"cpus\"\n", &[]);
    check(
        "",
        &["1:1 the profile has no `about` (add `about = \"...\"`: one line: what the threads do)"],
    );
    check("about = 3\n", &["1:9 `about` must be a string, not a number"]);
    check(
        "about = \"x\"\nduration = 5\n",
        &["2:12 `duration` is a time, and `5` a plain number (write its unit, as in `10us`, \
                 `10ms` or `10s`)"],
    );
    check(
        "about = \"x\"\nduration = \"5 sec\"\n",
        &["2:15 unknown unit `sec` (units are ns, us, ms, s, min, B, kB, MB, GB, KiB, MiB, \
                 GiB, %)"],
    );
    check("about = \"x\"\ncopies = \"me\"\n", &["2:11 `me` means something only in a team"]);
    check(
        "about = \"x\"\ncopies = 1e18\n",
        &["2:10 `copies` is 1000000000000000000, and must be 1 to 9007199254740992"],
    );
    check(
        "about = \"x\"\nchanel = 3\n",
        &["2:1 unknown key `chanel` in the profile (did you mean `channel`?)"],
    );
    check("about = \"x\"\nabout = \"y\"\n", &["2:1 duplicate key `about`"]);
    check("about = \"x\"\n[watch]\na = 3\n", &["3:5 `a` must be a string, not a number"]);
    check("about = \"x\"\n[channel]\n", &[]);
    check("about = \"x\"\n[process]\n", &[]);
    check("about = \"x\"\n[process.server]\n[process.client]\nabout = \"it asks\"\n", &[]);
    check(
        "about = \"x\"\n[process.server]\nsize = 3\n[process.Client]\n",
        &[
            "3:1 unknown key `size` in [process.server] (known: about)",
            "4:10 `Client` is no name for a process (a name is made of a-z, 0-9 and _, and does \
             not start with a digit)",
        ],
    );
}

#[test]
fn whole_files() {
    check(
        "about = \"x\"\n",
        &["1:1 the profile has no `team` (add `[team.NAME]`: identical tasks)"],
    );
    check("about = \"x\"\nteam = {}\n", &["2:8 there is no team (add `[team.NAME]`)"]);
    check("about = \"x\nb\"\n", &["1:11 not TOML: invalid basic string, expected `\"`"]);
    check(
        "[team.a\n\n\nb\n",
        &[
            "1:8 not TOML: unclosed table, expected `]`",
            "4:2 not TOML: key with no value, expected `=`",
        ],
    );
    check("about = \"x\"\n[team.t]\nsize = 1\nsteps = [ ]\n", &["4:9 `steps` has no step"]);
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
