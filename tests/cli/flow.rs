//! Steps that decide who does others, which and when: what they come to in real runs.

use crate::{json, printed, profile, schedload};
use serde_json::Value;

/// The run of a profile whose counts are known beforehand, with its laws.
pub fn run(text: &str, flags: &str) -> Value {
    let (_dir, path) = profile(&format!("about = \"x\"\n{text}"));
    let document = json(&schedload(&format!("run {path} {flags} --json -")));
    let run = document["runs"][0].clone();
    for check in run["checks"].as_array().unwrap() {
        assert_eq!(check["ok"], true, "{check}");
    }
    run
}

/// A team of 4 that does these steps, and somebody who takes the messages it sends.
fn senders(steps: &str) -> String {
    format!(
        "[channel.sink]\nkind = \"queue\"\n[team.sender]\nsize = 4\nsteps = [ {steps} ]\n\
         [team.taker]\nsize = 1\nbackground = true\nsteps = [ {{ forever = [ {{ receive = \"sink\" }} ] }} ]"
    )
}

fn sent(run: &Value) -> u64 {
    run["messages"]["sent"].as_u64().unwrap()
}

#[test]
fn a_share_of_the_team_takes_part_in_each_round() {
    let check = |share: &str, choose: &str, expected: u64| {
        let steps = format!(
            "{{ repeat = 9, steps = [ {{ active = \"{share}\", choose = \"{choose}\", steps = [ \
             {{ send = \"sink\" }} ] }} ] }}"
        );
        assert_eq!(sent(&run(&senders(&steps), "")), expected, "{share} {choose}");
    };
    for choose in ["fixed", "rotating", "random"] {
        check("1/2", choose, 18);
        check("60%", choose, 27);
        check("1", choose, 36);
    }
}

#[test]
fn a_deck_deals_what_it_holds() {
    let steps = "{ repeat = 40, steps = [ { choose = [ { weight = 3, steps = [ { send = \"sink\" } \
                 ] }, { weight = 7, steps = [ { spin = \"1us\" } ] }, { weight = 0, steps = [ { \
                 repeat = 5, steps = [ { send = \"sink\" } ] } ] } ], as = \"deck\" } ] }";
    assert_eq!(sent(&run(&senders(steps), "")), 4 * 12);
    let random = steps.replace("deck", "random");
    let sent = sent(&run(&senders(&random), ""));
    assert!((1..160).contains(&sent), "{sent}");
}

#[test]
fn plans_say_who_and_which() {
    let steps = "{ active = \"1/3\", steps = [ { choose = [ { weight = 2, steps = [ { spin = \
                 \"1us\" } ] }, { steps = [ { send = \"sink\" } ] } ] } ] }";
    let (_dir, path) = profile(&format!("about = \"x\"\n{}", senders(steps)));
    let plan = printed(&schedload(&format!("plan {path}")), 0);
    let expected = "\
  active 2 members, fixed
    choose, random
      weight 2
        spin 1us
      weight 1
        send sink
";
    assert!(plan.contains(expected), "{plan}");
}
