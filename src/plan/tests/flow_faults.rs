//! Everything that can be wrong with steps that decide about others.

use super::*;

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
        &["this step is never reached: the `forever` before it does not end"],
    );
    // Others' messages are as many as there are rounds; these may be any number.
    let unequal = "{ active = '1/2', choose = 'random', steps = [ { send = 'c' } ] }";
    check(unequal, &[]);
}
