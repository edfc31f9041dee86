//! The rules of this repository that neither the compiler nor clippy hold, as tests.
//!
//! Every message names the file and line, what is wrong, and what to do. A rule is a function from
//! the tree to its faults, in a file of its own, with a test on a tiny bad tree beside it. Must not
//! know: how the code behaves.

#[path = "tidy/code.rs"]
mod code;
#[path = "tidy/floors.rs"]
mod floors;
#[path = "tidy/lex.rs"]
mod lex;
#[path = "tidy/prose.rs"]
mod prose;
#[path = "tidy/rows.rs"]
mod rows;
#[path = "tidy/size.rs"]
mod size;
#[path = "tidy/tree.rs"]
mod tree;

use std::fmt;

use tree::{Fault, Tree};

/// Printed line by line by the test harness, and without a backtrace, which would tell nothing.
struct Faults(Vec<Fault>);

impl fmt::Debug for Faults {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|fault| write!(out, "\n{fault}"))
    }
}

fn hold(check: fn(&Tree) -> Vec<Fault>) -> Result<(), Faults> {
    let tree = Tree::read();
    assert!(tree.files.len() > 20, "the tree was not found");
    match check(&tree) {
        faults if faults.is_empty() => Ok(()),
        faults => Err(Faults(faults)),
    }
}

#[test]
fn modules_import_from_lower_floors_only() -> Result<(), Faults> {
    hold(floors::check)
}

#[test]
fn words_stand_where_they_may() -> Result<(), Faults> {
    hold(code::check)
}

#[test]
fn files_functions_and_lines_are_short() -> Result<(), Faults> {
    hold(size::check)
}

#[test]
fn rows_are_files_are_docs() -> Result<(), Faults> {
    hold(rows::check)
}

#[test]
fn no_forbidden_words() -> Result<(), Faults> {
    hold(prose::check_words)
}

#[test]
fn the_changelog_has_its_form() -> Result<(), Faults> {
    hold(prose::check_changelog)
}
