//! Everything that is wrong with a profile or a value.

use super::*;

/// Two channels of two and teams that fit them; `{}` is replaced.
fn check(text: &str, expected: &[&str]) {
    let text = format!("about = 'x'\n{text}");
    match Plan::new(&profile(&text), &host(TWO_NODES), &Overrides::default()) {
        Ok(_) => assert_eq!(expected, &[] as &[&str], "of {text}"),
        Err(error) => assert_eq!(faults(error), expected, "of {text}"),
    }
}

fn team(keys: &str) -> String {
    format!("[team.w]\n{keys}\nsteps = [ {{ spin = '1us' }} ]")
}

/// A team `w` of 2 and channels `c` (one) and `d` (three).
fn steps(steps: &str) -> String {
    format!(
        "[channel.c]\nkind = 'pipe'\n[channel.d]\nkind = 'pipe'\ncount = 3\n\
         [team.w]\nsize = 2\nsteps = [ {steps} ]"
    )
}

#[test]
fn of_parameters_and_times() {
    let text = "about = 'x'\n[param]\nn = { default = 4, min = 1, max = 9, about = 'n' }\n\
                [team.w]\nsize = 'n'\nsteps = [ { spin = '1us' } ]";
    let check = |change: fn(&mut Overrides), expected: &[&str]| {
        let mut overrides = Overrides::default();
        change(&mut overrides);
        let error = Plan::new(&profile(text), &host("core:2"), &overrides).unwrap_err();
        assert_eq!(faults(error), expected);
    };
    check(
        |it| it.params.push(("m".to_owned(), "3".to_owned())),
        &["`test` has no parameter `m`: did you mean `n`?"],
    );
    check(
        |it| it.params.push(("n".to_owned(), "10".to_owned())),
        &[""],
    );
    check(|it| it.duration = Some("0".to_owned()), &[""]);
    check(|it| it.duration = Some("-1s".to_owned()), &[""]);
    check(|it| it.duration = Some("10".to_owned()), &[""]);
    check(|it| it.duration = Some("10 x".to_owned()), &[""]);
    check(|it| it.warmup = Some("1s".to_owned()), &[""]);
    check(
        |it| (it.duration, it.warmup) = (Some("1s".to_owned()), Some("-1s".to_owned())),
        &[""],
    );
}

#[test]
fn of_sizes_and_words() {
    check(&team("size = 'cpus - 16'"), &[""]);
    check(&team("size = 'cpus / 0'"), &[""]);
    check(
        "copies = 1_000_000\n[team.w]\nsize = 5\nsteps = [ { spin = '1us' } ]",
        &[""],
    );
    check(&team("size = 5_000_000"), &[""]);
    check(
        "[channel.c]\nkind = 'pip'\ncount = 'cpus - 16'\n[team.w]\nsize = 1\nsteps = []",
        &[""],
    );
    check(
        "[param]\nas = { default = 'fibres', about = 'x' }\n[team.w]\nas = 'as'\nsize = 1\nsteps = []",
        &[""],
    );
    check(&team("size = 1\non = 'node:me - 1'"), &[""]);
    check(&team("size = 2\non = 'node:1 / me'"), &[""]);
    check(
        "[watch]\nmessage_per_s = 'x'\n[team.w]\nsize = 1\nsteps = []",
        &[""],
    );
}

#[test]
fn of_scheduling() {
    check(&team("size = 1\npolicy = 'fifo'"), &[""]);
    check(&team("size = 1\npriority = 3"), &[""]);
    check(&team("size = 1\npolicy = 'rr'\npriority = 100"), &[""]);
    check(&team("size = 1\nnice = 20"), &[""]);
    check(
        &team("size = 1\npolicy = 'idle'\nnice = 1\nslice = '1ms'"),
        &[""],
    );
    check(&team("size = 1\nslice = '10us'"), &[""]);
    check(&team("size = 1\nuclamp = { min = 500, max = 400 }"), &[""]);
    check(&team("size = 1\npolicy = 'deadline'"), &[""]);
    let times = "deadline = { runtime = '2ms', deadline = '1ms', period = '10ms' }";
    check(
        &team(&format!("size = 1\npolicy = 'deadline'\n{times}")),
        &[""],
    );
    check(
        &team("size = 1\ndeadline = { runtime = '2ms', period = '10ms' }"),
        &[""],
    );
    let times = "deadline = { runtime = '2ms', period = '10ms' }";
    check(
        &team(&format!(
            "size = 1\npin = true\npolicy = 'deadline'\n{times}"
        )),
        &[""],
    );
}

#[test]
fn of_steps() {
    check(&steps("{ spim = '1us' }"), &[""]);
    check(
        &steps("{ repeat = 'me - 1', steps = [ { spin = '1us' } ] }"),
        &[""],
    );
    check(&steps("{ spin = '1us / me' }"), &[""]);
    check(&steps("{ forever = [ { spin = '1us' } ] }"), &[""]);
    check(
        &steps("{ forever = [ { spin = '1us' } ] }, { spin = '1us' }"),
        &["", ""],
    );
    check(
        &steps("{ measure = 'a', steps = [ { measure = 'a', steps = [ { spin = '1us' } ] } ] }"),
        &[""],
    );
    check(
        "[team.w]\nsize = 1\nbackground = true\nsteps = [ { spin = '1us' } ]",
        &[""],
    );
    check("duration = '1s'", &[""]);
}

#[test]
fn of_addresses() {
    check(
        &steps("{ send = 'd[me + 2]' }, { receive = 'd[me + 2]' }"),
        &["", ""],
    );
    check(&steps("{ send = 'd[3]' }, { receive = 'd[0]' }"), &[""]);
    check(
        &steps("{ send = 'd[me - 1]' }, { receive = 'd[me]' }"),
        &[""],
    );
    // Member 0 never comes there.
    check(
        &steps(
            "{ repeat = 'me', steps = [ { send = 'd[me - 1]' } ] }, \
             { repeat = '1 - me', steps = [ { receive = 'd[me]' } ] }",
        ),
        &[],
    );
}

#[test]
fn of_who_wakes_whom() {
    check(&steps("{ send = 'c' }"), &[""]);
    check(&steps("{ receive = 'c' }"), &[""]);
    check(&steps("{ send = 'd[*]' }, { receive = 'd[me]' }"), &[""]);
    check(&steps("{ send = 'd[me]' }, { receive = 'd[*]' }"), &[""]);
    check(&steps("{ send = 'c' }, { receive = 'c' }"), &[]);
    check(
        &steps("{ send = 'c' }, { receive = 'c' }, { receive = 'c' }"),
        &[""],
    );
    check(&steps("{ send = 'd[any]' }, { receive = 'd[next]' }"), &[]);
    check(&steps("{ send = 'd[any]' }, { receive = 'd[*]' }"), &[""]);
    check(
        &steps("{ send = 'c', bytes = '4B' }, { receive = 'c', bytes = '8B' }"),
        &[""],
    );
    check(
        "[channel.c]\nkind = 'queue'\n[team.w]\nas = 'processes'\nsize = 2\n\
         steps = [ { send = 'c' }, { receive = 'c' } ]",
        &[""],
    );
}
