//! Texts that people read, kept as files: plans of the built-in profiles on machines of many
//! shapes, what is said of bad profiles, and the help of each program.
//!
//! `UPDATE_GOLDEN=1 cargo test --test golden` rewrites the files; the diff then shows what a change
//! means to users. Must not know: this machine.

mod faults;
#[cfg(feature = "cli")]
mod help;
mod plans;

use std::fs;
use std::path::{Path, PathBuf};

/// Paths are relative, as cargo runs tests in the root of the package and texts show them.
const GOLDEN: &str = "tests/golden";

/// A text and the file that should hold it.
struct Golden {
    path: PathBuf,
    text: String,
}

/// Compares all, and reports every difference at once; with UPDATE_GOLDEN=1 writes the files.
fn compare(all: &[Golden]) {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1");
    let mut faults = Vec::new();
    for Golden { path, text } in all {
        let kept = fs::read_to_string(path).unwrap_or_default();
        if kept == *text {
            continue;
        }
        if update {
            let written = fs::write(path, text);
            assert!(written.is_ok(), "writing {}: {written:?}", path.display());
        } else {
            faults.push(format!("{}:{}", path.display(), difference(&kept, text)));
        }
    }
    assert!(
        faults.is_empty(),
        "look at these, and if they are meant, rewrite them with UPDATE_GOLDEN=1:\n{}",
        faults.join("\n")
    );
}

/// Where two texts part: the line, what was kept, what there is now.
fn difference(kept: &str, now: &str) -> String {
    let same = (kept.lines().zip(now.lines())).take_while(|(kept, now)| kept == now).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(the end)").to_owned();
    format!("{}\n- {}\n+ {}", same + 1, line(kept), line(now))
}

/// The files of a directory below the goldens that end so, in order.
fn files(directory: &str, ending: &str) -> Vec<PathBuf> {
    let directory = Path::new(GOLDEN).join(directory);
    let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|it| it == ending)).collect();
    found.sort();
    found
}

/// Nothing lies about that no test looks at any more.
fn no_leftovers(directory: &str, ending: &str, wanted: &[Golden]) {
    for path in files(directory, ending) {
        let known = wanted.iter().any(|golden| golden.path == path);
        assert!(known, "no test has this text: delete {}", path.display());
    }
}

#[test]
fn a_difference_names_the_first_line_that_is_not_the_same() {
    let check = |kept: &str, now: &str, expected: &str| assert_eq!(difference(kept, now), expected);
    check("a\nb\n", "a\nc\n", "2\n- b\n+ c");
    check("a\n", "a\nb\n", "2\n- (the end)\n+ b");
    check("", "a\n", "1\n- (the end)\n+ a");
}
