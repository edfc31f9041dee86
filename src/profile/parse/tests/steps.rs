//! Steps and addresses that are refused.

use super::{faults, with};

fn check_step(step: &str, expected: &[&str]) {
    let text = with("", "", step);
    let moved: Vec<String> = expected.iter().map(|fault| format!("13:{fault}")).collect();
    assert_eq!(faults(&text), moved, "of {step}");
}

#[test]
fn steps() {
    check_step("{ send = \"inbox[me]\", bytes = \"10 B\" }", &[]);
    check_step("{ send = \"one\" }, { receive = \"inbox[any]\" }", &[]);
    check_step("{ wait = \"inbox[(me + 1) % size]\" }, { wake = \"inbox[next]\" }", &[]);
    check_step("{ repeat = 0, steps = [ { spin = 0 } ] }", &[]);
    check_step(
        "{ recieve = \"inbox[me]\" }",
        &["3 unknown step `recieve` (did you mean `receive`?)"],
    );
    check_step(
        "{ sleep = \"3 h\" }",
        &["14 unknown unit `h` (units are ns, us, ms, s, min, B, kB, MB, GB, KiB, MiB, GiB, %)"],
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
        &["23 `wake` has no option `bytes` (`wake` has no options; make `bytes` a step of its \
                 own)"],
    );
}

#[test]
fn blocks_and_amounts() {
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
        &["1 the step has no verb (verbs are send, receive, wake, wait, repeat, forever, during, \
           spawn, join, sweep, touch, chase, multiply, allocate, copy, scale, add, triad, barrier, \
           lock, commit, ask, serve, safepoint, collect, pause, measure, active, choose, every, \
           arrive, and what burns or passes time)"],
    );
    check_step(
        "{ forever = [ { spin = 0 } ] }, { spin = 0 }",
        &["33 this step is never reached (a step after `forever` is never done: move it \
                 before, or inside)"],
    );
    check_step(
        "{ spin = true }",
        &["10 `spin` must be a number or an expression in quotes, not true or false"],
    );
    check_step("{ spin = \"1 / 0\" }", &["11 `1 / 0` divides by zero"]);
    check_step("{ spin = \"cpsu\" }", &["11 unknown name `cpsu` (did you mean `cpus`?)"]);
    check_step("{ spin = inf }", &["10 `inf` is no number that `spin` can be"]);
    check_step("{ spin = 0x10 }, { spin = +3 }, { spin = 1e3 }", &[]);
    check_step(
        "{ measure = \"Round trip\", steps = [ { spin = 0 } ] }",
        &["13 `Round trip` is no name for a measure (a name is made of a-z, 0-9 and _, and \
                 does not start with a digit)"],
    );
}

#[test]
fn addresses() {
    const HELP: &str = "an address is a channel and which of its instances: \
                        `inbox[me]`, `inbox[*]`, `inbox[next]`, `inbox[any]`, `inbox[0]`";
    let check = |address: &str, expected: &str| {
        let step = format!("{{ send = \"{address}\" }}");
        let expected: Vec<&str> = std::iter::once(expected).filter(|it| !it.is_empty()).collect();
        check_step(&step, &expected);
    };
    check("inbox[3]", "");
    check("inbox[ * ]", "");
    check("inbox[", &format!("11 `inbox[` is no address: its `]` is missing ({HELP})"));
    check("inbox[]", &format!("11 `inbox[]` does not say which ({HELP})"));
    check("inbox[1 +]", "20 a number or a name is missing at the end");
    check("inbox[mee]", "17 unknown name `mee` (did you mean `me`?)");
    check("inbox[-1]", "17 `inbox` is -1, and must be 0 or more");
    check("inbx[me]", "11 unknown channel `inbx` (did you mean `inbox`?)");
    check("door[me]", "11 unknown channel `door` (known: inbox, one)");
    check(
        "inbox",
        "11 `inbox` is not one channel but several (say which: `inbox[me]`, `inbox[*]`, \
             `inbox[next]`)",
    );
    check("", "11 unknown channel `` (known: inbox, one)");
    check("\\u0069nbox[mee]", "10 unknown name `mee` (did you mean `me`?)");
}
