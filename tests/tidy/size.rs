//! How long files, functions and lines may be, and that every file opens with its head.
//!
//! Must not know: what the code is about.

use crate::lex::{Token, closing};
use crate::tree::{Fault, File, Tree};

const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 70;
const LINE_COLUMNS: usize = 100;

/// Files that may be longer, each with its reason: they are tables of rows.
const LONG_FILES: &[(&str, &str)] =
    &[("src/profile/keys.rs", "the rows of all keys, verbs and names of the language")];

pub fn check(tree: &Tree) -> Vec<Fault> {
    check_with(tree, LONG_FILES)
}

fn check_with(tree: &Tree, long_files: &[(&str, &str)]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in &tree.files {
        if is_code(&file.path) {
            faults.extend(long_lines(file));
        }
        if file.is_rust() {
            faults.extend(no_head(file));
            faults.extend(long_file(file, long_files));
            faults.extend(long_functions(file));
        }
    }
    for (path, reason) in long_files {
        let n_lines = tree.find(path).map_or(0, |file| file.text.lines().count());
        if n_lines <= FILE_LINES {
            faults.push(Fault {
                path: (*path).to_owned(),
                line: 1,
                text: format!(
                    "needs no exception from the {FILE_LINES} lines ({reason}): take it out of \
                     LONG_FILES in tests/tidy/size.rs"
                ),
            });
        }
    }
    faults
}

/// Tables in Markdown and TOML, and goldens, are as wide as their rows.
fn is_code(path: &str) -> bool {
    let is_script = matches!(path, "Makefile" | "scripts/setup" | ".ci/run");
    is_script || path.ends_with(".rs") || path.ends_with(".py")
}

fn long_lines(file: &File) -> Vec<Fault> {
    let too_long = |line: &str| line.chars().count() > LINE_COLUMNS;
    file.text
        .lines()
        .enumerate()
        .filter(|(_, line)| too_long(line))
        .map(|(idx, _)| {
            let text = format!("longer than {LINE_COLUMNS} columns: break it, or say it shorter");
            file.fault(idx + 1, text)
        })
        .collect()
}

fn no_head(file: &File) -> Option<Fault> {
    let first = file.text.lines().find(|line| !line.trim().is_empty())?;
    (!first.starts_with("//! ")).then(|| {
        file.fault(
            1,
            "opens without a head: begin with `//!`, what the file owns and what it must not know",
        )
    })
}

fn long_file(file: &File, exceptions: &[(&str, &str)]) -> Option<Fault> {
    let n_lines = file.text.lines().count();
    let excepted = exceptions.iter().any(|(path, _)| *path == file.path);
    (n_lines > FILE_LINES && !excepted).then(|| {
        file.fault(
            FILE_LINES + 1,
            format!(
                "{n_lines} lines, {FILE_LINES} are allowed: split it by what it owns; a table of \
                 rows goes into LONG_FILES in tests/tidy/size.rs with its reason"
            ),
        )
    })
}

fn long_functions(file: &File) -> Vec<Fault> {
    functions(&file.tokens)
        .into_iter()
        .filter(|function| function.n_lines > FUNCTION_LINES)
        .map(|function| {
            file.fault(
                function.line,
                format!(
                    "function `{}` has {} lines, {FUNCTION_LINES} are allowed: keep the decisions \
                     and move the leaves into functions of their own",
                    function.name, function.n_lines
                ),
            )
        })
        .collect()
}

struct Function {
    name: String,
    line: usize,
    /// From the line of its `fn` to that of its closing brace.
    n_lines: usize,
}

fn functions(tokens: &[Token]) -> Vec<Function> {
    let is_name = |token: &Token| token.text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let mut found = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        // `fn(` is the type of a pointer.
        if pair[0].text != "fn" || !is_name(&pair[1]) {
            continue;
        }
        if let Some(open) = body(tokens, at) {
            found.push(Function {
                name: pair[1].text.clone(),
                line: pair[0].line,
                n_lines: tokens[closing(tokens, open)].line - pair[0].line + 1,
            });
        }
    }
    found
}

/// The brace that opens the body of the function at `at`; `None` for a mere declaration.
fn body(tokens: &[Token], mut at: usize) -> Option<usize> {
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "{" => return Some(at),
            ";" => return None,
            "(" | "[" => at = closing(tokens, at),
            _ => {}
        }
        at += 1;
    }
    None
}

#[test]
fn sizes() {
    let check_text = |text: &str, expected: &[&str]| {
        let faults = check_with(&Tree::of(&[("src/a.rs", text)]), &[]);
        let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
        assert_eq!(lines.len(), expected.len(), "{lines:?}");
        for (line, part) in lines.iter().zip(expected) {
            assert!(line.contains(part), "{line} should contain {part}");
        }
    };
    let statements = |n: usize| "    a();\n".repeat(n);
    check_text("//! Owns a.\n", &[]);
    check_text("\n// No head.\n", &["src/a.rs:1: opens without a head"]);
    check_text(&format!("//! {}", "é".repeat(96)), &[]);
    check_text(&format!("//! \n//{}", "é".repeat(99)), &["src/a.rs:2: longer than 100"]);
    check_text(&format!("//! a\n{}", "\n".repeat(499)), &[]);
    check_text(&format!("//! a\n{}", "\n".repeat(500)), &["src/a.rs:501: 501 lines"]);
    check_text(&format!("//! a\nfn f() {{\n{}}}\n", statements(68)), &[]);
    check_text(
        &format!("//! a\nfn f(a: [u8; 2]) {{\n{}}}\n", statements(69)),
        &["src/a.rs:2: function `f` has 71 lines"],
    );
    check_text(&format!("//! a\ntrait T {{ fn f(); }}\nmod m {{{}}}", statements(90)), &[]);
}

#[test]
fn an_exception_lasts_as_long_as_its_need() {
    let long = format!("//! Rows.\n{}", "\n".repeat(500));
    let rows: &[(&str, &str)] = &[("src/a.rs", "rows")];
    assert_eq!(check_with(&Tree::of(&[("src/a.rs", &long)]), rows), []);
    let faults = check_with(&Tree::of(&[("src/a.rs", "//! Rows.\n")]), rows);
    assert!(faults[0].text.contains("needs no exception"), "{faults:?}");
}
