//! Rows, files and documents say the same: whatever has a row has its file, and the other way.
//!
//! Must not know: what a row holds beside its name.

use std::collections::BTreeSet;

use schedload::step::{channel, sync, work};

use crate::tree::{Fault, File, Tree};

/// Rows that have one file each.
struct Table<'a> {
    /// What a row is.
    what: &'a str,
    /// Where the rows are.
    rows_path: &'a str,
    names: Vec<&'a str>,
    /// `{dir}NAME{ending}` is the file of a row.
    dir: &'a str,
    ending: &'a str,
    /// Files in `dir` that are not of a row, each with its reason.
    others: &'a [(&'a str, &'a str)],
}

pub fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for table in [channels(), barriers(), locks(), work_kinds(), profiles(tree)] {
        faults.extend(check_table(tree, &table));
    }
    if let Some(readme) = tree.find("README.md") {
        faults.extend(check_readme(readme, &tree.stems("profiles/", ".toml")));
    }
    faults
}

fn channels() -> Table<'static> {
    Table {
        what: "kind of channel",
        rows_path: "src/step/channel/mod.rs",
        names: channel::KINDS.iter().map(|kind| kind.name).collect(),
        dir: "src/step/channel/",
        ending: ".rs",
        others: &[("mod", "the rows"), ("stream", "what pipes and sockets have in common")],
    }
}

fn barriers() -> Table<'static> {
    Table {
        what: "kind of barrier",
        rows_path: "src/step/sync/barrier/mod.rs",
        names: sync::barrier::KINDS.iter().map(|kind| kind.name).collect(),
        dir: "src/step/sync/barrier/",
        ending: ".rs",
        others: &[("mod", "the rows"), ("central", "what barriers of one count have in common")],
    }
}

fn locks() -> Table<'static> {
    Table {
        what: "kind of lock",
        rows_path: "src/step/sync/lock/mod.rs",
        names: sync::lock::KINDS.iter().map(|kind| kind.name).collect(),
        dir: "src/step/sync/lock/",
        ending: ".rs",
        others: &[("mod", "the rows"), ("parking", "what locks of parking_lot have in common")],
    }
}

fn work_kinds() -> Table<'static> {
    Table {
        what: "kind of work",
        rows_path: concat!("src/step/", "work/mod.rs"),
        names: work::KINDS.iter().map(|kind| kind.name).collect(),
        dir: concat!("src/step/", "work/"),
        ending: ".rs",
        others: &[
            ("mod", "the rows"),
            ("pacing", "waiting for a time, which `every` and `arrive` do"),
            ("spread", "amounts that vary, of whatever kind"),
        ],
    }
}

/// The built-in profiles are those that the code of src/profile includes.
fn profiles(tree: &Tree) -> Table<'_> {
    Table {
        what: "built-in profile",
        rows_path: "src/profile/catalogue.rs",
        names: tree
            .rust()
            .filter(|file| file.path.starts_with("src/profile/"))
            .flat_map(|file| included_profiles(&file.text))
            .collect(),
        dir: "profiles/",
        ending: ".toml",
        others: &[],
    }
}

/// NAME of every `include_str!("../../profiles/NAME.toml")`.
fn included_profiles(text: &str) -> Vec<&str> {
    text.split("/profiles/")
        .skip(1)
        .filter_map(|rest| rest.split_once(".toml\""))
        .map(|(name, _)| name)
        .filter(|name| !name.contains(char::is_whitespace))
        .collect()
}

fn check_table(tree: &Tree, table: &Table) -> Vec<Fault> {
    let others = table.others.iter().map(|(name, _)| *name);
    let files: BTreeSet<&str> = tree.stems(table.dir, table.ending).into_iter().collect();
    let rows: BTreeSet<&str> = table.names.iter().copied().collect();
    let known: BTreeSet<&str> = rows.iter().copied().chain(others).collect();
    let mut faults = Vec::new();
    for name in rows.difference(&files) {
        let path = format!("{}{name}{}", table.dir, table.ending);
        faults.push(Fault {
            path: table.rows_path.to_owned(),
            line: 1,
            text: format!("{} `{name}` has no file: add {path}, or take out its row", table.what),
        });
    }
    for name in files.difference(&known) {
        faults.push(Fault {
            path: format!("{}{name}{}", table.dir, table.ending),
            line: 1,
            text: format!(
                "no {} has this name: add its row in {}, or name the file in tests/tidy/rows.rs \
                 with the reason why it has none",
                table.what, table.rows_path
            ),
        });
    }
    faults
}

/// Whether the table under the README's heading "Profiles" has exactly these names in its first
/// column. Without such a heading there is nothing to hold yet.
fn check_readme(readme: &File, names: &[&str]) -> Vec<Fault> {
    let lines: Vec<&str> = readme.text.lines().collect();
    let is_heading = |line: &str| line.starts_with('#') && line.ends_with("rofiles");
    let Some(heading) = lines.iter().position(|line| is_heading(line)) else {
        return Vec::new();
    };
    let shown: Vec<(usize, &str)> = lines
        .iter()
        .enumerate()
        .skip(heading + 1)
        .take_while(|(_, line)| !line.starts_with('#'))
        .filter_map(|(idx, line)| Some((idx + 1, first_cell(line)?)))
        .collect();
    let mut faults = Vec::new();
    for name in names {
        if !shown.iter().any(|(_, cell)| cell == name) {
            let text = format!("no row for `{name}` in the table of profiles: add it");
            faults.push(readme.fault(heading + 1, text));
        }
    }
    for (line, cell) in shown {
        if !names.contains(&cell) {
            let text = format!("there is no profiles/{cell}.toml: take out its row, or add it");
            faults.push(readme.fault(line, text));
        }
    }
    faults
}

/// The name in code quotes that is the first cell of a row of a Markdown table.
fn first_cell(line: &str) -> Option<&str> {
    let cell = line.strip_prefix('|')?.split('|').next()?.trim();
    let cell = cell.strip_prefix('[').unwrap_or(cell);
    cell.strip_prefix('`')?.split('`').next()
}

#[test]
fn every_row_has_its_file() {
    let table = Table {
        what: "kind",
        rows_path: "src/k/mod.rs",
        names: vec!["a", "b"],
        dir: "src/k/",
        ending: ".rs",
        others: &[("mod", "the rows")],
    };
    let paths = ["src/k/mod.rs", "src/k/a.rs", "src/k/c.rs"];
    let tree = Tree::of(&paths.map(|path| (path, "struct A;")));
    let faults: Vec<String> = check_table(&tree, &table).iter().map(Fault::to_string).collect();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].starts_with("src/k/mod.rs:1: kind `b` has no file: add src/k/b.rs"));
    assert!(faults[1].starts_with("src/k/c.rs:1: no kind has this name: add its row"));
}

#[test]
fn profiles_that_the_code_includes() {
    let text =
        "a(include_str!(\"../../profiles/a.toml\")); b(include_str!(\"../profiles/b-c.toml\"))";
    assert_eq!(included_profiles(text), ["a", "b-c"]);
    assert_eq!(included_profiles("/// in /profiles/ there are .toml\" files"), [""; 0]);
}

#[test]
fn the_readme_lists_the_profiles() {
    let check_text = |text: &str, expected: &[&str]| {
        let faults = check_readme(&File::new("README.md", text), &["a", "b"]);
        let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
        assert_eq!(lines.len(), expected.len(), "{text}: {lines:?}");
        for (line, part) in lines.iter().zip(expected) {
            assert!(line.contains(part), "{line} should contain {part}");
        }
    };
    check_text("# schedload\n", &[]);
    check_text("## Profiles\n| name |\n|---|\n| `a` | x |\n| [`b`](b) | y |\n# C\n| `c` |", &[]);
    check_text("## Profiles\n| `a` | x |\n", &["README.md:1: no row for `b`"]);
    check_text("## Profiles\n| `a` |\n| `b` |\n| `c` |\n", &["README.md:4: there is no"]);
}
