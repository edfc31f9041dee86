//! The tables of profiles/README.md, made from the rows, and the markers they stand between.
//!
//! [`replaced`] serves other documents with tables made from rows as well. Must not know: which
//! documents exist.

use crate::base::unit;
use crate::profile::expr::Function;
use crate::profile::keys::{
    ACT, ARM, Absent, BARRIER, CGROUP, CHANNEL, COMMIT, CONDITION, DEADLINE, FACTS, Form, KeyRow,
    LOCK, MEMBER, MEMORY, NUMBER_MAX, PARAM, PROCESS, PROFILE, RAMP, TEAM, UCLAMP, VERBS,
};
use crate::profile::parse::described_range;

/// Every table of the language: the name of its markers and its Markdown.
pub fn tables() -> Vec<(&'static str, String)> {
    vec![
        ("profile-keys", keys(PROFILE)),
        ("condition-keys", keys(CONDITION)),
        ("ramp-keys", keys(RAMP)),
        ("param-keys", keys(PARAM)),
        ("channel-keys", keys(CHANNEL)),
        ("cgroup-keys", keys(CGROUP)),
        ("memory-keys", keys(MEMORY)),
        ("process-keys", keys(PROCESS)),
        ("barrier-keys", keys(BARRIER)),
        ("lock-keys", keys(LOCK)),
        ("commit-keys", keys(COMMIT)),
        ("verb-options", options()),
        ("act-keys", keys(ACT)),
        ("arm-keys", keys(ARM)),
        ("team-keys", keys(TEAM)),
        ("uclamp-keys", keys(UCLAMP)),
        ("deadline-keys", keys(DEADLINE)),
        ("verbs", verbs()),
        ("names", names()),
        ("functions", functions()),
        ("units", units()),
        ("profiles", profiles()),
    ]
}

/// Replaces what stands between `<!-- NAME -->` and `<!-- end NAME -->` in a document.
pub fn replaced(document: &str, name: &str, content: &str) -> Result<String, MissingMarker> {
    let (begin, end) = (format!("<!-- {name} -->"), format!("<!-- end {name} -->"));
    let missing = |marker: &str| MissingMarker { marker: marker.to_owned() };
    let start = document.find(&begin).ok_or_else(|| missing(&begin))? + begin.len();
    let length = document[start..].find(&end).ok_or_else(|| missing(&end))?;
    let (before, after) = (&document[..start], &document[start + length..]);
    Ok(format!("{before}\n{}\n{after}", content.trim_end()))
}

/// A document has no place for a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the document has no line `{marker}`")]
pub struct MissingMarker {
    pub marker: String,
}

/// A Markdown table.
pub fn markdown(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let head_cells: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let rule = format!("|{}\n", " --- |".repeat(head.len()));
    line(&head_cells) + &rule + &rows.iter().map(|row| line(row)).collect::<String>()
}

fn keys(rows: &[KeyRow]) -> String {
    let row = |row: &KeyRow| {
        vec![format!("`{}`", row.key), form(&row.form), absent(row.absent), row.about.to_owned()]
    };
    let rows: Vec<_> = rows.iter().map(row).collect();
    markdown(&["key", "value", "if absent", "what it is"], &rows)
}

fn form(form: &Form) -> String {
    match form {
        Form::Number { unit: None, .. } => "number or expression".to_owned(),
        Form::Number { unit: Some(unit), min, max } => {
            let what = match unit {
                unit::Unit::Count => "number",
                unit::Unit::Time => "time",
                unit::Unit::Bytes => "bytes",
                unit::Unit::Share => "share",
            };
            let limits = (*min, *max);
            let beyond = if *max >= NUMBER_MAX { min - 1.0 } else { *min };
            format!("{what}, {}", described_range(beyond, limits, *unit))
        }
        Form::Word([]) => "word".to_owned(),
        Form::Word(words) => quoted(words),
        Form::Address => "address".to_owned(),
        Form::Text => "text".to_owned(),
        Form::Switch => "`true`, `false`".to_owned(),
        Form::Texts => "array of words".to_owned(),
        Form::Steps => "array of steps".to_owned(),
        Form::Tables(rows) => format!("array of tables: {}", keys_of(rows)),
        Form::Table([]) => "table".to_owned(),
        Form::Table(rows) => {
            format!("table: {}", keys_of(rows))
        }
    }
}

fn keys_of(rows: &[KeyRow]) -> String {
    let keys: Vec<&str> = rows.iter().map(|row| row.key).collect();
    quoted(&keys)
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn absent(absent: Absent) -> String {
    match absent {
        Absent::Required(_) => "an error".to_owned(),
        Absent::Default(value) => format!("`{value}`"),
        Absent::Means(what) => what.to_owned(),
    }
}

fn verbs() -> String {
    let row = |row: &crate::profile::keys::VerbRow| {
        vec![format!("`{}`", row.verb), format!("`{}`", row.example), row.about.to_owned()]
    };
    let rows: Vec<_> = VERBS.iter().map(row).collect();
    markdown(&["verb", "written", "what the task does"], &rows)
}

/// The options of all verbs but `steps`, which every block has.
fn options() -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for verb in VERBS {
        for option in verb.options.iter().filter(|option| option.form != Form::Steps) {
            let verb = format!("`{}`", verb.verb);
            let key = format!("`{}`", option.key);
            match rows.iter_mut().find(|row| row[0] == key && row[4] == option.about) {
                Some(row) => row[1] = format!("{}, {verb}", row[1]),
                None => rows.push(vec![
                    key,
                    verb,
                    form(&option.form),
                    absent(option.absent),
                    option.about.to_owned(),
                ]),
            }
        }
    }
    markdown(&["option", "of", "value", "if absent", "what it is"], &rows)
}

fn names() -> String {
    let facts = FACTS.iter().map(|row| (row, "everywhere"));
    let member = MEMBER.iter().map(|row| (row, "in a team"));
    let row = |(row, where_): (&crate::profile::keys::NameRow, &str)| {
        vec![format!("`{}`", row.name), where_.to_owned(), row.about.to_owned()]
    };
    let rows: Vec<_> = facts.chain(member).map(row).collect();
    markdown(&["name", "known", "what it is"], &rows)
}

fn functions() -> String {
    let row = |&(_, name, least, most): &(Function, &str, usize, usize)| {
        let takes = if least == most { least.to_string() } else { format!("{least} to {most}") };
        vec![format!("`{name}`"), takes]
    };
    let rows: Vec<_> = Function::ROWS.iter().map(row).collect();
    markdown(&["function", "arguments"], &rows)
}

fn units() -> String {
    let words = |wanted| {
        let of_unit = |suffix: &&str| unit::suffix(suffix).is_some_and(|(unit, _)| unit == wanted);
        quoted(&unit::suffixes().filter(of_unit).collect::<Vec<_>>())
    };
    let rows = [
        vec!["time".to_owned(), words(unit::Unit::Time)],
        vec!["bytes".to_owned(), words(unit::Unit::Bytes)],
        vec!["share".to_owned(), words(unit::Unit::Share)],
    ];
    markdown(&["a number of", "is written with"], &rows)
}

fn profiles() -> String {
    let row = |builtin: &crate::profile::catalogue::Builtin| {
        let profile = builtin.profile().ok();
        let about = profile.as_ref().map_or("", |profile| profile.about.as_str());
        let first = profile.as_ref().and_then(|profile| profile.watch.first());
        let metric = first.map_or("", |watch| watch.metric.text.as_str());
        let link = format!("[`{0}`]({0}.toml)", builtin.name);
        vec![link, about.to_owned(), format!("`{metric}`")]
    };
    let rows: Vec<_> = crate::profile::catalogue::BUILTINS.iter().map(row).collect();
    markdown(&["profile", "what its tasks do", "its result"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_made_from_the_rows() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/profiles/README.md");
        let found = std::fs::read_to_string(path).unwrap();
        let mut wanted = found.clone();
        for (name, table) in tables() {
            wanted = replaced(&wanted, name, &table).unwrap_or_else(|error| panic!("{error}"));
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(path, &wanted).unwrap();
        } else {
            let help = "run UPDATE_GOLDEN=1 cargo test --lib reference";
            assert_eq!(found, wanted, "profiles/README.md is not up to date: {help}");
        }
    }

    #[test]
    fn replaces_between_markers() {
        let document = "a\n<!-- x -->\nold\n<!-- end x -->\nb\n";
        let expected = "a\n<!-- x -->\nnew\n<!-- end x -->\nb\n";
        assert_eq!(replaced(document, "x", "new\n"), Ok(expected.to_owned()));
        assert_eq!(replaced(expected, "x", "new"), Ok(expected.to_owned()));
        let error = replaced("a\n<!-- x -->\n", "x", "new").unwrap_err().to_string();
        assert_eq!(error, "the document has no line `<!-- end x -->`");
    }

    #[test]
    fn the_profiles_of_the_reference_are_sound() {
        use crate::profile::{Profile, Source};
        let document = include_str!("../../profiles/README.md");
        let texts = document.split("```toml\n").skip(1).filter_map(|it| it.split("```").next());
        // The others are parts of one.
        let texts: Vec<&str> = texts.filter(|text| text.starts_with("about")).collect();
        assert!(texts.len() > 2, "the examples were not found");
        for text in texts {
            let source = Source { path: "README.md".into(), text: text.into() };
            if let Err(faults) = Profile::parse("example", source) {
                panic!("{faults}");
            }
        }
    }

    /// Every example of a verb is a step.
    #[test]
    fn examples_are_read() {
        use crate::profile::{Profile, Source};
        for row in VERBS {
            let step = row.example.replace("[ ... ]", "[ { spin = \"1us\" } ]");
            let text = format!(
                "about = \"x\"\n\
                 [channel.inbox]\nkind = \"pipe\"\n[channel.door]\nkind = \"futex\"\n\
                 [memory.area]\nbytes = 1\n[memory.a]\nbytes = 1\n[memory.b]\nbytes = 1\n\
                 [memory.c]\nbytes = 1\n\
                 [barrier.phase]\n[lock.rows]\ncount = 8\n[commit.log]\nflush = '1us'\n\
                 [desk.desk]\n[safepoint.gc]\n\
                 [team.t]\nsize = 1\nsteps = [ {step} ]\n"
            );
            let source = Source { path: String::new(), text };
            let read = Profile::parse("x", source);
            assert!(read.is_ok(), "{}", read.unwrap_err());
        }
    }
}
