//! Bad command lines and bad profiles: refused before anything runs, with exit code 2 and what
//! would help.

use crate::{profile, program, refused, schedload};

const NUMA: &str = env!("CARGO_BIN_EXE_schedload-numa");

#[test]
fn command_lines() {
    let check = |line: &str, words: &[&str]| refused(&schedload(line), 2, words);
    check("", &["Usage"]);
    check("rum", &["rum", "run"]);
    check("run", &["PROFILE"]);
    check("run hackbnech", &["hackbnech", "did you mean `hackbench`"]);
    check("run zzz", &["zzz", "hackbench", "pingpong"]);
    check("run no/such.toml", &["no/such.toml", "No such file"]);
    check("run /", &["Is a directory"]);
    check("run hackbench --gruops 3", &["--gruops", "--groups"]);
    check("run hackbench --groups", &["--groups"]);
    check("run --groups 3 hackbench", &["--groups", "PROFILE [PARAMETERS"]);
    check("run hackbench extra", &["extra"]);
    check("run hackbench --repeat 0", &["0", "--repeat"]);
    check("run hackbench --repeat 1001", &["1001", "--repeat"]);
    check("run hackbench --repeat 1x", &["1x", "--repeat"]);
    check("run hackbench --seed -1", &["-1"]);
    check("run hackbench --format xml", &["xml", "text"]);
    check("run hackbench --width 5", &["5", "--width"]);
    check("run hackbench --json a --out a", &["--json", "--out"]);
    check("report no-such-file", &["no-such-file", "No such file"]);
    check("report", &["FILE"]);
    check("show hackbnech", &["did you mean `hackbench`"]);
}

#[test]
fn words_that_are_no_variant() {
    let check = |line: &str, words: &[&str]| {
        refused(&program(NUMA, &format!("{line} --allow-single-node")), 2, words);
    };
    check("nmua04", &["`nmua04` is none of numa01,", "did you mean `numa04`?"]);
    check("worst", &["`worst` is none of numa01,", "did you mean `--arm worst`?"]);
    check("whatever", &["`whatever` is none of numa01,"]);
    check("numa04 --sweep test=numa01", &["test = numa01: can only be numa04 in this profile"]);
    check("numa04 --sweep arm=wurst", &["arm = wurst: must be one of free, best, worst"]);
}

#[test]
fn numbers_that_are_none_or_absurd() {
    let check = |value: &str, words: &[&str]| {
        let line = format!("run hackbench --as threads --groups 1 --loops {value}");
        refused(&schedload(&line), 2, words);
    };
    check("0", &["loops", "1"]);
    check("-5", &["loops", "1"]);
    check("1000000000000000000", &["loops"]);
    check("1x", &["loops", "`x`"]);
    check("NaN", &["loops", "NaN"]);
    check("inf", &["loops", "inf"]);
    check("1/0", &["divides by zero"]);
    check("10ms", &["loops"]);
    check("cpsu", &["cpsu", "cpus"]);
    refused(&schedload("run hackbench --duration 0"), 2, &["duration"]);
    refused(&schedload("run hackbench --duration 0s"), 2, &["duration"]);
    refused(&schedload("run hackbench --duration=-1s"), 2, &["duration"]);
    refused(&schedload("run hackbench --kind pip"), 2, &["pip", "did you mean `pipe`"]);
    refused(&schedload("run hackbench --as thread"), 2, &["thread", "threads"]);
    refused(&schedload("run pingpong --kind queue --as processes"), 2, &["queue", "processes"]);
}

#[test]
fn sweeps() {
    let check = |line: &str, words: &[&str]| refused(&schedload(line), 2, words);
    check("run hackbench --sweep groups", &["--sweep", "groups=1,2,4"]);
    check("run hackbench --sweep groups=", &["empty"]);
    check("run hackbench --sweep gruops=1,2", &["gruops", "did you mean `groups`"]);
    check("run hackbench --groups 1 --sweep groups=1,2", &["both set `groups`"]);
    // The last point is found wrong before the first one runs.
    check("run hackbench --loops 1 --sweep groups=1,0", &["groups = 0"]);
}

/// A sound profile, to be spoilt in one place.
const SOUND: &str = r#"
about = "One waker and one wakee"
[channel.door]
kind = "pipe"
[team.waker]
size = 1
steps = [ { repeat = 10, steps = [ { send = "door" } ] } ]
[team.wakee]
size = 1
steps = [ { repeat = 10, steps = [ { receive = "door" } ] } ]
"#;

#[test]
fn profiles() {
    let check = |from: &str, to: &str, words: &[&str]| {
        assert!(SOUND.contains(from), "{from}");
        let (_dir, path) = profile(&SOUND.replacen(from, to, 1));
        let output = schedload(&format!("run {path}"));
        refused(&output, 2, words);
        // Each fault says where it is.
        refused(&output, 2, &["mine.toml"]);
    };
    check("about =", "about ==", &["mine.toml:2"]);
    check("size = 1", "sise = 1", &["sise", "did you mean `size`"]);
    check("size = 1", "size = 1\nsize = 2", &["size", "duplicate key"]);
    check("size = 1", "size = 0", &["size"]);
    check("size = 1", "size = \"1 / (cpus - cpus)\"", &["divides by zero"]);
    check("size = 1", "size = 1000000000000000000", &["size"]);
    check("\"pipe\"", "\"pip\"", &["pip", "did you mean `pipe`"]);
    check("send = \"door\"", "send = \"dor\"", &["dor", "did you mean `door`"]);
    check("{ send = \"door\" }", "{ spin = \"1ms\" }", &["door", "nobody"]);
    check("[channel.door]", "duration = 0\n[channel.door]", &["duration"]);
}

#[test]
fn all_faults_of_a_profile_are_told_at_once() {
    let (_dir, path) = profile(&SOUND.replace("size = 1", "sise = 1"));
    let output = schedload(&format!("plan {path}"));
    refused(&output, 2, &["mine.toml:6", "mine.toml:9"]);
}

#[test]
fn a_parameter_cannot_take_the_name_of_a_flag() {
    let text = format!("{SOUND}\n[param]\njson = {{ default = 1, about = \"x\" }}\n");
    let (_dir, path) = profile(&text);
    refused(&schedload(&format!("run {path}")), 2, &["json"]);
}
