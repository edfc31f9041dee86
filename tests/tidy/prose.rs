//! The form of CHANGELOG.md, and words that may stand nowhere.
//!
//! Must not know: the code.

use crate::tree::{Fault, File, Tree};

const SECTIONS: &[&str] = &["### Added", "### Changed", "### Fixed"];

pub fn check_words(tree: &Tree) -> Vec<Fault> {
    let words = forbidden();
    tree.files
        .iter()
        .flat_map(|file| words.iter().flat_map(|word| check_word(file, word)))
        .collect()
}

struct Word {
    text: String,
    advice: &'static str,
}

/// The words are put together here so that this file does not hold them.
fn forbidden() -> Vec<Word> {
    const HOST: &str = "name the package, not the host it is fetched from";
    const PATH: &str = "a path of one machine: use one relative to the repository";
    let word = |parts: &[&str], advice| Word { text: parts.concat(), advice };
    vec![
        word(&["crates", ".io"], HOST),
        word(&["pypi", ".org"], HOST),
        word(&["python", "hosted.org"], HOST),
        word(&["npmjs", ".org"], HOST),
        word(&["proxy.", "golang.org"], HOST),
        word(&["deb.", "debian.org"], HOST),
        word(&["/wo", "rk/"], PATH),
        word(&["/ro", "ot/"], PATH),
        word(&["/ho", "me/"], PATH),
        word(&["../sh", "ared"], PATH),
    ]
}

fn check_word(file: &File, word: &Word) -> Vec<Fault> {
    file.text
        .lines()
        .enumerate()
        .filter(|(_, line)| stands_in(line, &word.text))
        .map(|(idx, _)| file.fault(idx + 1, format!("`{}`: {}", word.text, word.advice)))
        .collect()
}

/// Whether `word` stands in the line other than as the middle of a longer path or name.
fn stands_in(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-}*)>".contains(c))
    })
}

pub fn check_changelog(tree: &Tree) -> Vec<Fault> {
    match tree.find("CHANGELOG.md") {
        Some(file) => check_releases(file),
        None => vec![Fault {
            path: "CHANGELOG.md".to_owned(),
            line: 1,
            text: "is missing: begin it with `# Changelog` and `## Unreleased`".to_owned(),
        }],
    }
}

fn check_releases(file: &File) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut n_releases = 0;
    // How many of SECTIONS have been passed in this release.
    let mut n_sections = 0;
    for (idx, line) in file.text.lines().enumerate() {
        let mut fault = |text: &str| faults.push(file.fault(idx + 1, text));
        if idx == 0 {
            if line != "# Changelog" {
                fault("the first line is `# Changelog`");
            }
        } else if let Some(release) = line.strip_prefix("## ") {
            if n_releases == 0 && release != "Unreleased" {
                fault("the first release is `## Unreleased`, even when it is empty: add it");
            } else if n_releases > 0 && !is_release(release) {
                fault("a release is `## 1.2.3 - 2026-01-31`");
            }
            n_releases += 1;
            n_sections = 0;
        } else if line.starts_with("### ") {
            match SECTIONS.iter().position(|section| *section == line) {
                Some(section) if section >= n_sections => n_sections = section + 1,
                _ => fault("a release has `### Added`, `### Changed`, `### Fixed`, in that order"),
            }
        } else if n_sections > 0 && !(line.is_empty() || is_entry(line)) {
            fault("an entry is `- ` and a sentence, further lines of it indented by two");
        }
    }
    if n_releases == 0 {
        faults.push(file.fault(1, "no `## Unreleased`: add it on top"));
    }
    faults
}

fn is_entry(line: &str) -> bool {
    line.starts_with("- ") || line.starts_with("  ")
}

/// `1.2.3 - 2026-01-31`
fn is_release(text: &str) -> bool {
    let numbers = |text: &str, sep: char| {
        let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        text.split(sep).count() == 3 && text.split(sep).all(is_number)
    };
    text.split_once(" - ").is_some_and(|(version, date)| {
        numbers(version, '.') && date.len() == 10 && numbers(date, '-')
    })
}

#[test]
fn words_that_stand_nowhere() {
    let check_text = |text: &str, n_expected: usize| {
        let faults = check_words(&Tree::of(&[("README.md", text)]));
        assert_eq!(faults.len(), n_expected, "{text}: {faults:?}");
    };
    let slashed = |name: &str| format!("/{name}/");
    check_text(&format!("src/step{0}spin.rs and {{dir}}{0}", slashed("work")), 0);
    check_text(&format!("cd {}x", slashed("work")), 1);
    check_text(&format!("in `{}.cargo`", slashed("root")), 1);
    check_text(&format!("\n\"{}me\"", slashed("home")), 1);
    check_text(&format!("from {} it", ["crates", "io"].join(".")), 1);
    check_text(&format!("see {}/DESIGN.md", ["..", "shared"].join("/")), 1);
}

#[test]
fn the_form_of_a_changelog() {
    let check_text = |text: &str, expected: &[usize]| {
        let faults = check_releases(&File::new("CHANGELOG.md", text));
        let lines: Vec<usize> = faults.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, expected, "{text}: {faults:?}");
    };
    check_text("# Changelog\n\n## Unreleased\n\n### Added\n\n- A.\n  B.\n", &[]);
    check_text("# Changelog\n\n## Unreleased\n\n## 1.0.0 - 2026-01-31\n\n### Fixed\n- A.\n", &[]);
    check_text("# Changes\n## Unreleased\n", &[1]);
    check_text("# Changelog\n## 1.0.0 - 2026-01-31\n", &[2]);
    check_text("# Changelog\n## Unreleased\n## 1.0\n", &[3]);
    check_text("# Changelog\n## Unreleased\n### News\n", &[3]);
    check_text("# Changelog\n## Unreleased\n### Fixed\n### Added\n", &[4]);
    check_text("# Changelog\n## Unreleased\n### Added\nA.\n", &[4]);
    check_text("# Changelog\n", &[1]);
}
