//! Who may import whom: a module may use only modules on floors below its own.
//!
//! Inside one crate nothing else holds this. [`FLOORS`] is the only table of floors. Must not know:
//! anything else about the modules.

use std::collections::HashMap;

use crate::lex::{Token, closing, starts_with};
use crate::tree::{Fault, File, Tree};

/// Every module of the crate, as the path below `crate`, with its floor. The rooms of `step` are
/// modules of their own here, since they may not know each other.
const FLOORS: &[(&str, u32)] = &[
    ("base", 0),
    ("sys", 1),
    ("host", 1),
    ("profile", 1),
    ("record", 2),
    ("step", 2),
    ("step::channel", 2),
    ("step::sync", 2),
    ("step::work", 2),
    ("step::memory", 2),
    ("metric", 2),
    ("plan", 3),
    ("run", 4),
    ("report", 5),
    ("compare", 6),
    ("output", 7),
    ("compat", 7),
    ("cli", 8),
];

/// What a path in the code refers to, from the crate's root, and where it stands.
struct Import {
    path: Vec<String>,
    line: usize,
}

pub fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    let macros = exported_macros(tree);
    for file in tree.rust().filter(|file| file.path.starts_with("src/")) {
        let Some(module) = module_of(&file.path) else {
            continue;
        };
        match room_of(&module) {
            Some(room) => faults.extend(check_file(file, &module, room, &macros)),
            None => faults.push(file.fault(
                1,
                format!(
                    "module `{}` has no floor: add it to FLOORS in tests/tidy/floors.rs",
                    module.join("::")
                ),
            )),
        }
    }
    faults
}

fn check_file(
    file: &File,
    module: &[String],
    room: (&str, u32),
    macros: &HashMap<&str, Vec<String>>,
) -> Vec<Fault> {
    let tokens: Vec<Token> = file.product().cloned().collect();
    let mut faults = Vec::new();
    for import in imports(&tokens, module) {
        let shown = format!("crate::{}", import.path.join("::"));
        let name = import.path.first().map_or("", String::as_str);
        let owner = macros.get(name).unwrap_or(&import.path);
        match room_of(owner) {
            None if import.path.is_empty() => {}
            None => faults.push(file.fault(
                import.line,
                format!(
                    "`{shown}` names no module that has a floor: name it by its module, or add \
                     the module to FLOORS in tests/tidy/floors.rs"
                ),
            )),
            Some(used) if used.0 == room.0 || used.1 < room.1 => {}
            Some(used) => faults.push(file.fault(
                import.line,
                format!(
                    "{} (floor {}) uses `{shown}` (floor {}): a module may use only floors \
                     below its own; move the type down, or hand the value in from above",
                    room.0, room.1, used.1
                ),
            )),
        }
    }
    faults
}

/// The module that each macro is written in: `#[macro_export]` puts its name at the root.
fn exported_macros(tree: &Tree) -> HashMap<&str, Vec<String>> {
    let mut found = HashMap::new();
    for file in tree.rust() {
        for three in file.tokens.windows(3) {
            if starts_with(three, &["macro_rules", "!"])
                && let Some(module) = module_of(&file.path)
            {
                found.insert(three[2].text.as_str(), module);
            }
        }
    }
    found
}

/// Path below `crate` of the module that is in a file; `None` for the root and for binaries.
fn module_of(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    if path == "lib" || path.starts_with("bin/") {
        return None;
    }
    let path = path.strip_suffix("/mod").unwrap_or(path);
    Some(path.split('/').map(str::to_owned).collect())
}

/// The row of [`FLOORS`] that is the longest beginning of `path`.
fn room_of(path: &[String]) -> Option<(&'static str, u32)> {
    (1..=path.len().min(2)).rev().find_map(|len| {
        let name = path[..len].join("::");
        FLOORS.iter().find(|row| row.0 == name).copied()
    })
}

/// All paths that begin with `crate`, `self` or `super`, in `use` and elsewhere, resolved.
fn imports(tokens: &[Token], module: &[String]) -> Vec<Import> {
    let mut found = Vec::new();
    // Inline modules that are open at this token, with the index of their closing brace.
    let mut inline: Vec<(String, usize)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        inline.retain(|(_, end)| at < *end);
        if token.text == "mod" && tokens.get(at + 2).is_some_and(|brace| brace.text == "{") {
            inline.push((tokens[at + 1].text.clone(), closing(tokens, at + 2)));
        }
        let begins = matches!(token.text.as_str(), "crate" | "super" | "self")
            && starts_with(&tokens[at + 1..], &["::"])
            && (at == 0 || tokens[at - 1].text != "::");
        if !begins {
            continue;
        }
        let mut here = module.to_vec();
        here.extend(inline.iter().map(|(name, _)| name.clone()));
        let base = if token.text == "crate" { Vec::new() } else { here };
        expand(tokens, at, base, &mut found);
    }
    found
}

/// Follows one path from the token at `at`, into every branch of `{...}`; returns the index after.
fn expand(
    tokens: &[Token],
    mut at: usize,
    mut base: Vec<String>,
    found: &mut Vec<Import>,
) -> usize {
    let line = tokens[at].line;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "crate" | "self" | "*" => {}
            "super" => {
                base.pop();
            }
            "{" => {
                let end = closing(tokens, at);
                at += 1;
                while at < end {
                    at = expand(tokens, at, base.clone(), found);
                    let rest = tokens[at..end].iter();
                    at += rest.take_while(|token| token.text != ",").count() + 1;
                }
                return end + 1;
            }
            word if word.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                base.push(word.to_owned());
            }
            // `Vec::<T>` and the like: the path has ended.
            _ => break,
        }
        at += 1;
        if !starts_with(&tokens[at.min(tokens.len())..], &["::"]) {
            break;
        }
        at += 1;
    }
    found.push(Import { path: base, line });
    at
}

#[test]
fn an_exported_macro_belongs_to_its_module() {
    let check_user = |path: &str, n_expected: usize| {
        let user = (path, "use crate::plain; crate::plain! {}");
        let faults = check(&Tree::of(&[("src/sys/a.rs", "macro_rules! plain {}"), user]));
        assert_eq!(faults.len(), n_expected, "{path}: {faults:?}");
    };
    check_user("src/step/channel/futex.rs", 0);
    check_user("src/host/mod.rs", 2);
}

#[test]
fn imports_from_below_only() {
    let check_text = |path: &str, text: &str, expected: &[&str]| {
        let faults = check(&Tree::of(&[(path, text)]));
        let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
        assert_eq!(lines.len(), expected.len(), "{text}: {lines:?}");
        for (line, part) in lines.iter().zip(expected) {
            assert!(line.contains(part), "{line} should contain {part}");
        }
    };
    check_text("src/run/mod.rs", "use crate::plan::Plan;", &[]);
    check_text("src/plan/mod.rs", "\nuse crate::run;", &["src/plan/mod.rs:2: plan (floor 3)"]);
    check_text("src/host/a.rs", "use super::b; use super::Topology;", &[]);
    check_text("src/host/a.rs", "use super::super::sys::x;", &["`crate::sys::x` (floor 1)"]);
    check_text("src/plan/mod.rs", "fn f() -> crate::report::R { g() }", &["`crate::report::R`"]);
    check_text(
        "src/record/mod.rs",
        "use crate::{base::{CpuId, unit::{self, Unit as U}}, plan::{Plan, x::*}, sys};",
        &["`crate::plan::Plan`", "`crate::plan::x`"],
    );
    check_text("src/step/sync/mod.rs", "use crate::step::channel::K;", &["step::sync (floor 2)"]);
    check_text("src/step/sync/a.rs", "use super::Kind; use crate::sys::clock;", &[]);
    check_text("src/sys/mod.rs", "mod a { use super::b; use super::super::cli::C; }", &["cli::C"]);
    check_text("src/sys/mod.rs", "#[cfg(test)] mod tests { use crate::cli; }", &[]);
    check_text("src/sys/mod.rs", "/// [`crate::cli`]\npub(crate) fn f() {}", &[]);
    check_text("src/cli/mod.rs", "use crate::Plan;", &["names no module that has a floor"]);
    check_text("src/new/mod.rs", "", &["module `new` has no floor: add it"]);
    check_text("src/bin/schedload.rs", "use schedload::cli;", &[]);
    check_text("src/lib.rs", "pub use crate::cli::main;", &[]);
}
