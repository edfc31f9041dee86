//! Words that may stand only in some places of the code, and the reason for each.
//!
//! Must not know: comments and literals, which [`crate::lex`] has taken out.

use crate::lex::{Token, starts_with};
use crate::tree::{Fault, File, Tree};

/// Where a rule applies.
enum Scope {
    /// All Rust code but that below these paths.
    AllBut(&'static [&'static str]),
    /// The code of src that is not a test, but for that below these paths.
    ProductBut(&'static [&'static str]),
}

/// Tokens that may not stand side by side outside the scope's exceptions.
struct Rule {
    words: &'static [&'static str],
    scope: Scope,
    advice: &'static str,
}

const TO_CLI: &str =
    "only src/cli and src/bin print: return the text, or write to what is handed in";
const NO_PANIC: &str = "outside tests an error is returned, with what was tried, on what, and why";
const FINISH: &str = "finish it, or return an error that says what is missing";

const RULES: &[Rule] = &[
    rule(
        &["unsafe"],
        Scope::AllBut(&["src/sys/"]),
        "only src/sys is unsafe: put the call there, behind a safe function",
    ),
    rule(&["println", "!"], Scope::ProductBut(&["src/cli/", "src/bin/"]), TO_CLI),
    rule(&["print", "!"], Scope::ProductBut(&["src/cli/", "src/bin/"]), TO_CLI),
    rule(&["eprintln", "!"], Scope::ProductBut(&["src/cli/", "src/bin/"]), TO_CLI),
    rule(&["eprint", "!"], Scope::ProductBut(&["src/cli/", "src/bin/"]), TO_CLI),
    rule(&["dbg", "!"], Scope::AllBut(&[]), "take it out again"),
    rule(&[".", "unwrap", "("], Scope::ProductBut(&[]), NO_PANIC),
    rule(&[".", "expect", "("], Scope::ProductBut(&[]), NO_PANIC),
    rule(&["todo", "!"], Scope::AllBut(&[]), FINISH),
    rule(&["unimplemented", "!"], Scope::AllBut(&[]), FINISH),
    rule(
        &["use", "super", "::", "*"],
        Scope::ProductBut(&[]),
        "name what is used, so that the edge between the modules can be seen",
    ),
];

const fn rule(words: &'static [&'static str], scope: Scope, advice: &'static str) -> Rule {
    Rule { words, scope, advice }
}

pub fn check(tree: &Tree) -> Vec<Fault> {
    tree.rust().flat_map(|file| RULES.iter().flat_map(|rule| check_rule(file, rule))).collect()
}

fn check_rule(file: &File, rule: &Rule) -> Vec<Fault> {
    let (exceptions, in_tests) = match rule.scope {
        Scope::AllBut(exceptions) => (exceptions, true),
        Scope::ProductBut(exceptions) => (exceptions, false),
    };
    if exceptions.iter().any(|dir| file.path.starts_with(dir)) {
        return Vec::new();
    }
    let stands_at = |at: &usize| {
        let first: &Token = &file.tokens[*at];
        (in_tests || !first.test) && starts_with(&file.tokens[*at..], rule.words)
    };
    (0..file.tokens.len())
        .filter(stands_at)
        .map(|at| {
            let what = rule.words.concat().replace("usesuper", "use super");
            file.fault(file.tokens[at].line, format!("`{what}`: {}", rule.advice))
        })
        .collect()
}

#[test]
fn words_in_their_places() {
    let check_text = |path: &str, text: &str, expected: &[usize]| {
        let faults = check(&Tree::of(&[(path, text)]));
        let lines: Vec<usize> = faults.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, expected, "{path}: {text}: {faults:?}");
    };
    check_text("src/run/a.rs", "fn f() {}\nunsafe fn g() {}", &[2]);
    check_text("src/sys/a.rs", "unsafe fn g() {}", &[]);
    check_text("tests/a.rs", "fn f() { unsafe { g() } }", &[1]);
    check_text("src/run/a.rs", "// unsafe\n#![deny(unsafe_code)]\nlet a = \"unsafe\";", &[]);
    check_text("src/run/a.rs", "println!(); eprintln!()", &[1, 1]);
    check_text("src/cli/a.rs", "println!()", &[]);
    check_text("src/run/a.rs", "writeln!(out); fn println() {}", &[]);
    check_text("tests/a.rs", "println!(); dbg!(1)", &[1]);
    check_text("src/run/a.rs", "a.unwrap();\na.expect(\"b\");\na.unwrap_or(1)", &[1, 2]);
    check_text(
        "src/run/a.rs",
        "#[cfg(test)] mod tests { use super::*; fn f() { a.unwrap() } }",
        &[],
    );
    check_text("src/run/a.rs", "use super::*;", &[1]);
    check_text("src/run/a.rs", "fn f() { todo!() }", &[1]);
}
