//! What the guest says to the host: a line for each check.
//!
//! It goes over a serial line of its own, so that no message of the kernel falls into it. Must not
//! know: which checks there are.

/// The line in the guest.
pub const DEVICE: &str = "/dev/ttyS1";

/// What became of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// With the reason, in one line.
    Failed(String),
}

/// The first line of a guest whose kernel has come to user space.
pub const UP: &str = "guest up";

/// The last line of a guest that went through all its checks.
pub const DONE: &str = "checks done";

/// One line of the guest's: `check NAME ok`, `check NAME FAILED: why`.
pub fn line(name: &str, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed => format!("check {name} ok"),
        Outcome::Failed(why) => {
            let why: Vec<&str> = why.lines().map(str::trim).collect();
            format!("check {name} FAILED: {}", why.join(" | "))
        }
    }
}

/// The outcomes of the checks `names`, in their order, from all that the line brought. What
/// has no line has failed.
pub fn outcomes(text: &str, names: &[&str]) -> Vec<Outcome> {
    let is_done = text.lines().any(|line| line.trim_end() == DONE);
    let missing = match is_done {
        true => "the guest did not run it",
        false => "the guest ended before it had an outcome",
    };
    let found = |name: &&str| {
        let begin = format!("check {name} ");
        let rest = text.lines().find_map(|line| line.trim_end().strip_prefix(&begin));
        match rest.map(|rest| (rest, rest.strip_prefix("FAILED: "))) {
            Some(("ok", _)) => Outcome::Passed,
            Some((_, Some(why))) => Outcome::Failed(why.to_owned()),
            Some((other, None)) => Outcome::Failed(format!("a line that is none: `{other}`")),
            None => Outcome::Failed(missing.to_owned()),
        }
    };
    names.iter().map(found).collect()
}

#[test]
fn what_is_said_is_understood() {
    let failed = |why: &str| Outcome::Failed(why.to_owned());
    let check = |text: &str, name: &str, expected: Outcome| {
        assert_eq!(outcomes(text, &[name]), [expected], "{text}");
    };
    check("[1.0] noise\r\ncheck a ok\r\n", "a", Outcome::Passed);
    check("check a FAILED: 1 is not 2\r\n", "a", failed("1 is not 2"));
    check("check ab ok\n", "a", failed("the guest ended before it had an outcome"));
    check("check ab ok\nchecks done\r\n", "a", failed("the guest did not run it"));
    check("check a o", "a", failed("a line that is none: `o`"));
    check(&line("a", &Outcome::Passed), "a", Outcome::Passed);
    check(&line("a", &failed("left: 1\n right: 2\n")), "a", failed("left: 1 | right: 2"));
}
