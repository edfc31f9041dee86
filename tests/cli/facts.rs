//! Commands that tell and run nothing: list, show, plan, host, completions, help.

use crate::{HACKBENCH, json, printed, program, refused, schedload};
use schedload::metric::METRICS;
use schedload::output::FORMATS;
use schedload::profile::catalogue::BUILTINS;
use schedload::step::{channel, sync, work};

#[test]
fn lists_have_a_line_for_each_row() {
    let check = |topic: &str, names: Vec<&str>| {
        let text = printed(&schedload(&format!("list {topic}")), 0);
        let listed: Vec<&str> =
            text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(listed, names, "of {topic}");
    };
    check("", BUILTINS.iter().map(|row| row.name).collect());
    check("profiles", BUILTINS.iter().map(|row| row.name).collect());
    check("channels", channel::KINDS.iter().map(|row| row.name).collect());
    let sorts = sync::rows().map(|row| row.name.split(' ').next().unwrap().to_owned());
    let sorts: Vec<String> = sorts.collect();
    check("sync", sorts.iter().map(String::as_str).collect());
    check("work", work::KINDS.iter().map(|row| row.name).collect());
    check("metrics", METRICS.iter().map(|row| row.key).collect());
    check("formats", FORMATS.iter().map(|row| row.name).collect());
    refused(&schedload("list profils"), 2, &["profils", "profiles"]);
}

#[test]
fn show_prints_the_file_as_it_is() {
    for builtin in BUILTINS {
        let text = printed(&schedload(&format!("show {}", builtin.name)), 0);
        assert_eq!(text, builtin.text);
    }
    let text = printed(&schedload("show hackbench --params"), 0);
    assert!(text.lines().any(|line| line.starts_with("groups ")), "{text}");
}

#[test]
fn plans_for_a_machine_that_is_not_here() {
    let topology = "pack:2 [numa] l3:2 core:4 pu:2";
    let plan = |more: &[&str]| {
        let mut command = std::process::Command::new(crate::SCHEDLOAD);
        command.args(["plan", "hackbench", "--topology", topology]).args(more).output().unwrap()
    };
    let text = printed(&plan(&[]), 0);
    assert!(text.contains("32 of 32 CPUs"), "{text}");
    let plan = json(&plan(&["--json", "--groups", "cpus / 8"]));
    assert_eq!(plan["cpus"].as_array().unwrap().len(), 32);
    assert_eq!(plan["copies"], 4);
    refused(&schedload("plan hackbench --topology pack:x"), 2, &["pack:x", "made-up machine"]);
    refused(&schedload("plan hackbench --topology no/such.xml"), 2, &["no/such.xml"]);
}

#[test]
fn a_plan_of_this_machine_prints_its_parameters() {
    let plan = json(&schedload("plan pingpong --pairs 3 --seed 7 --duration 2s --json"));
    let params = plan["params"].as_array().unwrap();
    assert!(params.contains(&serde_json::json!(["pairs", "3"])), "{params:?}");
    assert_eq!(plan["seed"], 7);
    assert_eq!(plan["duration_ns"], 2_000_000_000_u64);
}

#[test]
fn host_has_the_same_facts_in_text_and_json() {
    let host = json(&schedload("host --json"));
    let text = printed(&schedload("host"), 0);
    for fact in host["facts"].as_array().unwrap() {
        let key = fact["key"].as_str().unwrap();
        assert!(text.contains(key), "{key} is not in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    for node in host["topology"]["nodes"].as_array().unwrap() {
        assert!(text.contains(&format!("\nnode {} ", node["id"])), "{text}");
    }
}

#[test]
fn help_shows_the_parameters_of_the_profile() {
    let check = |line: &str, words: &[&str]| {
        let text = printed(&schedload(line), 0);
        for word in words {
            assert!(text.contains(word), "{line}: `{word}` is not in\n{text}");
        }
    };
    check("--help", &["run", "plan", "Exit codes"]);
    check("run --help", &["--repeat", "--sweep", "PROFILE"]);
    check("run hackbench --help", &["Parameters of hackbench", "-g, --groups", "default: 10"]);
    check("plan pingpong --help", &["--topology", "--pairs"]);
    check("--version", &[env!("CARGO_PKG_VERSION")]);
    let pingpong = program(env!("CARGO_BIN_EXE_schedload-pingpong"), "--help");
    assert!(printed(&pingpong, 0).contains("--pairs"));
    let fanout = program(env!("CARGO_BIN_EXE_schedload-fanout"), "--help");
    assert!(printed(&fanout, 0).contains("--wakees"));
    assert!(printed(&program(HACKBENCH, "-h"), 0).contains("--datasize"));
}

#[test]
fn completions_are_made_for_each_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&schedload(&format!("completions {shell}")), 0);
        assert!(script.contains("schedload"), "{shell}");
    }
    refused(&schedload("completions tcsh"), 2, &["tcsh"]);
}
