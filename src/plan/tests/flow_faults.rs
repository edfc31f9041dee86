//! Everything that can be wrong with steps that decide about others.

use super::*;
use crate::profile::{Region, Step, Team};

/// A team `w` of four, with a channel `c` that somebody takes from.
fn check(steps: &str, expected: &[&str]) {
    let text = format!(
        "about = 'x'\n[channel.c]\nkind = 'queue'\n[team.w]\nsize = 4\nsteps = [ {steps} ]\n\
         [team.other]\nsize = 1\nsteps = [ {{ send = 'c' }} ]\n\
         [team.taker]\nsize = 1\nbackground = true\n\
         steps = [ {{ forever = [ {{ receive = 'c' }} ] }} ]"
    );
    match Plan::new(&profile(&text), &host(TWO_NODES), &Overrides::default()) {
        Ok(_) => assert_eq!(expected, &[] as &[&str], "of {steps}"),
        Err(error) => assert_eq!(faults(error), expected, "of {steps}"),
    }
}

#[test]
fn of_shares() {
    let active = |share: &str| format!("{{ active = '{share}', steps = [ {{ send = 'c' }} ] }}");
    check(&active("1/4"), &[]);
    check(&active("0"), &[]);
    check(
        &active("cpus / 4"),
        &["`cpus / 4` gives 400%, and the share of `active` must be at most 100%"],
    );
    check(
        &active("me / 4"),
        &["the share of `active`: unknown name `me`; `me` can be used in counts, amounts, \
           addresses and `on`"],
    );
}

#[test]
fn of_weights() {
    let choose = |weights: [&str; 2], deal: &str| {
        let [a, b] = weights;
        format!(
            "{{ choose = [ {{ weight = '{a}', steps = [ {{ send = 'c' }} ] }}, \
             {{ weight = '{b}', steps = [ {{ spin = '1us' }} ] }} ], as = '{deal}' }}"
        )
    };
    check(&choose(["0.1", "cpus"], "random"), &[]);
    check(&choose(["0", "1"], "deck"), &[]);
    for deal in ["random", "deck"] {
        check(
            &choose(["0", "0"], deal),
            &["the weights of `choose` are all zero; give what is to be done a weight"],
        );
    }
    check(
        &choose(["2.5", "cpus / 3"], "deck"),
        &["a weight in a deck must be a whole number, not 2.5; it is a number of cards; or \
           choose at `random`"],
    );
    check(
        &choose(["500", "501"], "deck"),
        &["a deck of 1001 cards is larger than 1000; divide the weights by what they have in \
           common, or choose at `random`"],
    );
}

#[test]
fn of_what_is_behind_and_inside() {
    let forever = "{ forever = [ { send = 'c' } ] }";
    let spin = "{ spin = '1us' }";
    // Some go on.
    check(&format!("{{ active = '1/2', steps = [ {spin} ] }}, {spin}"), &[]);
    check(
        &format!("{{ choose = [ {{ steps = [ {forever} ] }} ] }}, {spin}"),
        &["this step is never reached: the `choose` before it does not end"],
    );
    // Others' messages are as many as there are rounds; these may be any number.
    let unequal = "{ active = '1/2', choose = 'random', steps = [ { send = 'c' } ] }";
    check(unequal, &[]);
}

#[test]
fn of_blocks_to_which_not_all_come_equally_often() {
    let active = |choose: &str, inside: &str| {
        format!("{{ active = '1/2', choose = '{choose}', steps = [ {inside} ] }}")
    };
    let choose =
        |inside: &str| format!("{{ choose = [ {{ steps = [ {inside}, {{ spin = '1us' }} ] }} ] }}");
    let spin = "{ spin = '1us' }";
    let told = |verb: &str| {
        format!(
            "`active` is inside `{verb}`, so that not all members come to it equally often; put \
             it behind that block, or say who: `repeat = \"max(0, 1 - me)\"`"
        )
    };
    check(&active("fixed", &active("fixed", spin)), &[]);
    check(&active("rotating", &format!("{{ repeat = 2, steps = [ {spin} ] }}")), &[]);
    check(&format!("{}, {}", choose(spin), active("random", spin)), &[]);
    check(&active("random", &choose(spin)), &[]);
    for inner in ["fixed", "rotating", "random"] {
        let inside = format!("{{ repeat = 2, steps = [ {} ] }}", active(inner, spin));
        check(&choose(&inside), &[&told("choose")]);
        for outer in ["rotating", "random"] {
            check(&active(outer, &inside), &[&told("active")]);
            check(&active(inner, &active(outer, spin)), &[&told("active")]);
        }
    }
}

#[test]
fn of_one_name_for_two_sorts_of_time() {
    let arrival = "{ arrive = 100, steps = [ { measure = 'm', from = 'arrival', steps = [ { spin = \
                   '1us' } ] } ] }";
    let begin = |name: &str| format!("{{ measure = '{name}', steps = [ {{ spin = '1us' }} ] }}");
    let check = |first: &str, second: &str, expected: &[&str]| {
        let text = format!(
            "about = 'x'\nduration = '1s'\n[team.a]\nsize = 1\nsteps = [ {first} ]\n\
             [team.b]\nsize = 2\nsteps = [ {second} ]"
        );
        match Plan::new(&profile(&text), &host(TWO_NODES), &Overrides::default()) {
            Ok(_) => assert_eq!(expected, &[] as &[&str], "of {text}"),
            Err(error) => assert_eq!(faults(error), expected, "of {text}"),
        }
    };
    let both = [
        "`m` is measured from an arrival here, and elsewhere from the block's begin; one name has \
         one histogram: give the other times another name",
        "`m` is measured from the block's begin here, and elsewhere from an arrival; one name has \
         one histogram: give the other times another name",
    ];
    check(arrival, arrival, &[]);
    check(&begin("m"), &begin("m"), &[]);
    check(arrival, &begin("other"), &[]);
    check(arrival, &begin("m"), &both);
    check(&begin("m"), arrival, &both);
    let second =
        arrival.replace("steps = [ { measure", &format!("steps = [ {}, {{ measure", begin("m")));
    check(&second, &begin("m"), &both);
}

#[test]
fn of_times() {
    let every = |period: &str, options: &str| {
        format!("{{ every = '{period}', {options}steps = [ {{ send = 'c' }} ] }}")
    };
    let endless = "the run would never end: team `w` goes on for ever; give a duration: \
                   `--duration 10s`, or `duration = \"10s\"` in the profile";
    check(&every("1ms", "count = 3, "), &[]);
    check(&every("1ms * (me + 1)", "count = 'me', offset = 'me * 1ms', "), &[]);
    check(&every("1ms", ""), &[endless]);
    check(
        &every("me * 1ms", "count = 3, "),
        &["team `w`: `me * 1ms` for member 0 gives 0ns, and the time of `every` must be at least \
           1ns"],
    );
    check(
        &format!("{}, {{ spin = '1us' }}", every("1ms", "")),
        &["this step is never reached: the `every` before it does not end"],
    );
    check("{ arrive = 100, steps = [ { send = 'c' } ] }", &[endless]);
    check(
        "{ arrive = 'cpus / 100', steps = [ { send = 'c' } ] }",
        &["`cpus / 100` gives 0, and the rate of `arrive` must be at least 1"],
    );
    check(
        "{ measure = 'm', from = 'arrival', steps = [ { send = 'c' } ] }",
        &["`m` is measured from an arrival, and nothing arrives; let a team `arrive`, or leave \
           out the `from`"],
    );
}

#[test]
fn of_amounts_that_vary_and_memory_that_is_taken() {
    let spin = |options: &str| format!("{{ spin = '1us', {options} }}");
    check(&spin("spread = 'lognormal', cv = 2"), &[]);
    check(&spin("spread = 'exponential'"), &[]);
    check(
        &spin("spread = 'uniform', cv = '70%'"),
        &["`70%` gives 70%, and the cv of spread `uniform` must be at most 56.25%"],
    );
    check(
        &spin("spread = 'exponential', cv = '50%'"),
        &["`50%` gives 50%, and the cv of spread `exponential` must be at least 100%"],
    );
    check(&spin("spread = 'normal'"), &["unknown spread `normal`; did you mean `lognormal`?"]);
    let allocate = Step::with_memory("allocate", "area");
    let profile =
        Profile::new("p").memory(Region::new("area", 4096)).team(Team::new("w", 1).step(allocate));
    let error = Plan::new(&profile, &host(TWO_NODES), &Overrides::default()).unwrap_err();
    assert_eq!(
        faults(error),
        ["`allocate` has no `bytes`; as in `{ allocate = \"area[me]\", bytes = \"64KiB\" }`"]
    );
}
