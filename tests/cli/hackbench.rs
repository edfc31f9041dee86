//! The stand-in for hackbench: its three lines, its flags, and where it is stricter.

use crate::{HACKBENCH, json, printed, program, refused, stderr};
use serde_json::Value;

fn hackbench(line: &str) -> std::process::Output {
    program(HACKBENCH, line)
}

/// Whether it is `Time: 0.123`, three digits after the point.
fn is_time(line: &str) -> bool {
    let Some((s, ms)) = line.strip_prefix("Time: ").and_then(|time| time.split_once('.')) else {
        return false;
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(s) && digits(ms) && ms.len() == 3
}

#[test]
fn three_lines_and_no_more() {
    let check = |line: &str, first: &str, second: &str| {
        let text = printed(&hackbench(line), 0);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[0], format!("Running in {first}\n"));
        assert_eq!(lines[1], format!("Each sender will pass {second}\n"));
        assert!(is_time(lines[2].trim_end()) && lines[2].ends_with('\n'), "{text}");
    };
    check(
        "",
        "process mode with 10 groups using 40 file descriptors each (== 400 tasks)",
        "100 messages of 100 bytes",
    );
    check(
        "-T -g 2 -f 3 -l 4 -s 5",
        "threaded mode with 2 groups using 6 file descriptors each (== 12 tasks)",
        "4 messages of 5 bytes",
    );
    check(
        "-p -g1 -f 2 --loops=10",
        "process mode with 1 groups using 4 file descriptors each (== 4 tasks)",
        "10 messages of 100 bytes",
    );
    check(
        "--inet --threads --process --groups 1 --fds 2",
        "process mode with 1 groups using 4 file descriptors each (== 4 tasks)",
        "100 messages of 100 bytes",
    );
}

#[test]
fn messages_of_any_size() {
    for transport in ["", "-p", "-i"] {
        for form in ["-P", "-T"] {
            for bytes in [1, 15, 16, 65_537, 9_000_000] {
                let line = format!("-g 1 -f 2 -l 2 {form} {transport} -s {bytes} --json -");
                let document = json(&hackbench(&line));
                let messages = &document["runs"][0]["messages"];
                assert_eq!(messages["sent"], 8, "{line}");
                assert_eq!(messages["received"], 8, "{line}");
            }
        }
    }
}

#[test]
fn the_report_follows_when_asked_for() {
    let text = printed(&hackbench("-g 1 -f 2 -l 10 --report"), 0);
    let lines: Vec<&str> = text.lines().collect();
    assert!(is_time(lines[2]), "{text}");
    assert!(text.contains("messages_per_s"), "{text}");
    let output = hackbench("-g 1 -f 2 -l 10 --json - --report");
    let document: Value = serde_json::from_str(&printed(&output, 0)).unwrap();
    assert_eq!(document["profile"]["params"]["groups"], "1");
    assert!(is_time(stderr(&output).lines().nth(2).unwrap()));
    let output = hackbench("-g 1 -f 2 -l 1000000000 --duration 100ms --json -");
    assert_eq!(json(&output)["runs"][0]["end"], "time_up");
}

#[test]
fn the_starting_task_may_become_real_time() {
    let output = hackbench("-F -g 1 -f 2 -l 10");
    match output.status.code() {
        Some(0) => assert!(is_time(printed(&output, 0).lines().nth(2).unwrap())),
        _ => {
            let text = printed(&output, 4);
            assert!(!text.contains("Time:"), "{text}");
            assert!(stderr(&output).contains("SCHED_FIFO"), "{}", stderr(&output));
        }
    }
}

#[test]
fn bad_command_lines_end_with_hackbenchs_code() {
    let check = |line: &str, words: &[&str]| refused(&hackbench(line), 1, words);
    check("-g 1x", &["1x", "-g"]);
    check("-g 0", &["0", "-g"]);
    check("-l -5", &["-5", "-l"]);
    check("-s 1000000000000000000", &["1000000000000000000", "-s"]);
    check("-f 10001", &["fds", "10001"]);
    check("-p -i", &["--pipe", "--inet"]);
    check("extra -g 1", &["extra"]);
    check("50 process 1000", &["50"]);
    check("-x", &["-x"]);
    check("--gruops 1", &["--gruops", "--groups"]);
    check("-g", &["-g", "value"]);
    check("--seed x", &["--seed", "x"]);
    check("--duration 0", &["duration"]);
}

#[test]
fn what_the_host_cannot_do_is_refused_before_the_first_line() {
    refused(&hackbench("-g 100000"), 4, &["tasks"]);
}
