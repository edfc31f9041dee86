//! The files of the repository as text, and what a check says about them.
//!
//! Must not know: any rule.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::lex::{self, Token};

/// What breaks a rule, where, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    pub path: String,
    pub line: usize,
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.text)
    }
}

/// One file: its path from the root of the repository, with `/`, and its text.
pub struct File {
    pub path: String,
    pub text: String,
    /// The code without comments and literals; empty unless it is Rust.
    pub tokens: Vec<Token>,
}

impl File {
    pub fn new(path: &str, text: &str) -> Self {
        let tokens = if path.ends_with(".rs") { lex::tokens(text) } else { Vec::new() };
        Self { path: path.to_owned(), text: text.to_owned(), tokens }
    }

    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub fn fault(&self, line: usize, text: impl Into<String>) -> Fault {
        Fault { path: self.path.clone(), line, text: text.into() }
    }

    /// The tokens of code that is part of the product: nothing under `#[cfg(test)]`.
    pub fn product(&self) -> impl Iterator<Item = &Token> {
        self.tokens.iter().filter(|token| !token.test)
    }
}

/// The files that people write; not what tools generate or download.
pub struct Tree {
    pub files: Vec<File>,
}

/// Directories and single files that are read, from the root of the repository.
const PLACES: &[&str] =
    &["src", "tests", "benches", "profiles", "scripts", "examples", ".ci", "docs"];

impl Tree {
    pub fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut paths = Vec::new();
        for place in PLACES {
            walk(&root.join(place), &mut paths);
        }
        let top = fs::read_dir(root).into_iter().flatten().flatten();
        paths.extend(top.map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".md") || name.ends_with(".toml") || name == "Makefile"
        }));
        let mut files: Vec<File> = paths
            .iter()
            .filter_map(|path| {
                let text = fs::read_to_string(path).ok()?;
                let name = path.strip_prefix(root).ok()?.to_str()?;
                Some(File::new(name, &text))
            })
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        mark_test_files(&mut files);
        Self { files }
    }

    /// A made-up tree, for the tests of the checks.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let mut files: Vec<File> = files.iter().map(|(p, t)| File::new(p, t)).collect();
        mark_test_files(&mut files);
        Self { files }
    }

    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    pub fn find(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Names without ending of the files right in `dir` that end in `ending`, but for test modules.
    pub fn stems(&self, dir: &str, ending: &str) -> Vec<&str> {
        let is_test = |file: &File| file.is_rust() && file.product().next().is_none();
        self.files
            .iter()
            .filter(|file| !is_test(file))
            .filter_map(|file| file.path.strip_prefix(dir)?.strip_suffix(ending))
            .filter(|stem| !stem.contains('/'))
            .collect()
    }
}

/// All files below `dir`; none if there is no such directory.
fn walk(dir: &Path, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, paths);
        } else {
            paths.push(path);
        }
    }
}

/// Everything in a file that is declared as `#[cfg(test)] mod name;` is test code, and so is
/// everything outside src.
fn mark_test_files(files: &mut [File]) {
    let mut test_paths = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let dir = match file.path.strip_suffix("/mod.rs") {
            Some(dir) => dir.to_owned(),
            None if file.path.ends_with("/lib.rs") => "src".to_owned(),
            None => file.path.trim_end_matches(".rs").to_owned(),
        };
        for name in lex::test_modules(&file.tokens) {
            test_paths.push(format!("{dir}/{name}.rs"));
            test_paths.push(format!("{dir}/{name}/"));
        }
    }
    for file in files {
        let is_test = !file.path.starts_with("src/")
            || test_paths
                .iter()
                .any(|test| file.path == *test || file.path.starts_with(test.as_str()));
        if is_test {
            for token in &mut file.tokens {
                token.test = true;
            }
        }
    }
}

#[test]
fn a_test_module_in_a_file_of_its_own_is_test_code() {
    let tree = Tree::of(&[
        ("src/a/mod.rs", "#[cfg(test)]\nmod tests;\nmod b;\n"),
        ("src/a/tests.rs", "fn t() {}"),
        ("src/a/b.rs", "fn b() {}"),
        ("tests/c.rs", "fn c() {}"),
    ]);
    let n_product = |path| tree.find(path).expect(path).product().count();
    assert_eq!(n_product("src/a/tests.rs"), 0);
    assert!(n_product("src/a/b.rs") > 0);
    assert_eq!(n_product("tests/c.rs"), 0);
    assert_eq!(tree.stems("src/a/", ".rs"), ["mod", "b"]);
}
