//! The profiles that are compiled in, and loading one by name or path.
//!
//! A profile is one file under `profiles/` and one row here. Must not know: the command line.

use crate::base::nearest::nearest;
use crate::profile::{Faults, ParamValue, Profile, Source};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A profile that is compiled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    pub name: &'static str,
    /// The parameter whose words are profiles by their own names, if there is one.
    pub by_word: Option<&'static str>,
    pub text: &'static str,
}

/// Every built-in profile, the smallest idea first.
pub const BUILTINS: &[Builtin] = &[
    Builtin { name: "pingpong", by_word: None, text: include_str!("../../profiles/pingpong.toml") },
    Builtin { name: "fanout", by_word: None, text: include_str!("../../profiles/fanout.toml") },
    Builtin {
        name: "hackbench",
        by_word: None,
        text: include_str!("../../profiles/hackbench.toml"),
    },
    Builtin { name: "schbench", by_word: None, text: include_str!("../../profiles/schbench.toml") },
    Builtin { name: "mix", by_word: None, text: include_str!("../../profiles/mix.toml") },
    Builtin {
        name: "who-moves",
        by_word: None,
        text: include_str!("../../profiles/who-moves.toml"),
    },
    Builtin { name: "numa", by_word: Some("test"), text: include_str!("../../profiles/numa.toml") },
    Builtin { name: "linpack", by_word: None, text: include_str!("../../profiles/linpack.toml") },
    Builtin { name: "stream", by_word: None, text: include_str!("../../profiles/stream.toml") },
    Builtin { name: "oltp", by_word: None, text: include_str!("../../profiles/oltp.toml") },
    Builtin {
        name: "nas-third",
        by_word: None,
        text: include_str!("../../profiles/nas-third.toml"),
    },
    Builtin { name: "cas", by_word: None, text: include_str!("../../profiles/cas.toml") },
    Builtin { name: "jbb", by_word: None, text: include_str!("../../profiles/jbb.toml") },
    Builtin { name: "web", by_word: None, text: include_str!("../../profiles/web.toml") },
];

/// A profile file larger than this is no profile.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Why a profile could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("no profile is called `{name}`: {help}")]
    NoSuchProfile { name: String, help: String },
    #[error("cannot read profile `{path}`: {reason}")]
    Unreadable { path: String, reason: String },
    #[error(transparent)]
    Faulty(#[from] Faults),
}

impl Builtin {
    pub fn profile(&self) -> Result<Profile, Faults> {
        let path = format!("profiles/{}.toml", self.name);
        Profile::parse(self.name, Source { path, text: self.text.to_owned() })
    }
}

/// The built-in of that name.
pub fn find(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}

impl Builtin {
    /// The words that are profiles of their own.
    pub fn variants(&self) -> Vec<String> {
        let profile = self.by_word.and_then(|_| self.profile().ok());
        let params = profile.iter().flat_map(|profile| &profile.params);
        let params = params.filter(|param| Some(param.name.as_str()) == self.by_word);
        let words = params.filter_map(|param| match &param.value {
            ParamValue::Word { choices, .. } => Some(choices),
            ParamValue::Number { .. } => None,
        });
        words.flatten().map(|choice| choice.word.clone()).collect()
    }
}

/// A built-in with one of its words as the only choice, under that name.
fn variant(name: &str) -> Option<Result<Profile, Faults>> {
    let builtin = BUILTINS.iter().find(|it| it.variants().iter().any(|word| word == name))?;
    let profile = builtin.profile().map(|mut profile| {
        profile.name = name.to_owned();
        for param in &mut profile.params {
            if let ParamValue::Word { default, choices } = &mut param.value
                && Some(param.name.as_str()) == builtin.by_word
            {
                default.text = name.to_owned();
                choices.retain(|choice| choice.word == name);
            }
        }
        profile
    });
    Some(profile)
}

/// The names of all built-ins.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    BUILTINS.iter().map(|builtin| builtin.name)
}

/// Loads a built-in by its name, or a file: whatever has a slash in it or ends in `.toml`.
pub fn load(profile: &str) -> Result<Profile, LoadError> {
    if profile.contains('/') || profile.ends_with(".toml") {
        return load_file(Path::new(profile));
    }
    match find(profile).map(Builtin::profile).or_else(|| variant(profile)) {
        Some(profile) => Ok(profile?),
        None => {
            let variants: Vec<String> = BUILTINS.iter().flat_map(Builtin::variants).collect();
            let mut all: Vec<&str> = names().collect();
            all.extend(variants.iter().map(String::as_str));
            let help = match nearest(profile, all.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let known = names().collect::<Vec<_>>().join(", ");
                    format!("there are {known}; a file needs a `/` or the ending `.toml`")
                }
            };
            Err(LoadError::NoSuchProfile { name: profile.to_owned(), help })
        }
    }
}

/// Loads the profile of a file, which is called as the file is.
pub fn load_file(path: &Path) -> Result<Profile, LoadError> {
    let shown = path.display().to_string();
    let unreadable = |reason: String| LoadError::Unreadable { path: shown.clone(), reason };
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let mut bytes = Vec::new();
    let mut limited = file.take(FILE_BYTES_MAX + 1);
    limited.read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(unreadable(format!("it is larger than {FILE_BYTES_MAX} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        unreadable(format!("byte {at} is not UTF-8 text"))
    })?;
    let name = path.file_stem().map_or_else(|| shown.clone(), |s| s.to_string_lossy().into_owned());
    Ok(Profile::parse(&name, Source { path: shown, text })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Expr;

    #[test]
    fn built_ins_are_sound() {
        for builtin in BUILTINS {
            let profile = builtin.profile().unwrap_or_else(|faults| panic!("{faults}"));
            assert_eq!(profile.name, builtin.name);
            assert!(!profile.watch.is_empty(), "{}: says what to watch", builtin.name);
            let head = builtin.text.lines().take_while(|line| line.starts_with('#')).count();
            assert!(head > 5, "{}: a head comment says what it exercises", builtin.name);
            for param in &profile.params {
                assert!(!param.about.is_empty(), "{}: {} has help", builtin.name, param.name);
            }
        }
    }

    #[test]
    fn defaults_hold_on_one_cpu() {
        for builtin in BUILTINS {
            let profile = builtin.profile().unwrap();
            let fact = |name: &str| match name {
                "llc_bytes" => Some(1e6),
                "first_node" | "second_node" => Some(0.0),
                _ => Some(1.0),
            };
            let bound = profile.bind(&[], &fact);
            assert!(bound.is_ok(), "{}: {bound:?}", builtin.name);
        }
    }

    #[test]
    fn hackbench_counts_its_messages() {
        let profile = find("hackbench").unwrap().profile().unwrap();
        let default = |name: &str| {
            let param = profile.params.iter().find(|param| param.name == name).unwrap();
            match &param.value {
                ParamValue::Number { default, .. } => Expr::constant(default),
                ParamValue::Word { .. } => None,
            }
        };
        assert_eq!(default("groups"), Some(10.0));
        assert_eq!(default("bytes"), Some(100.0));
        assert_eq!(profile.copies.text, "groups");
    }

    #[test]
    fn says_why_nothing_was_loaded() {
        let check = |name: &str, expected: &str| {
            let error = load(name).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("hackbnech", "no profile is called `hackbnech`: did you mean `hackbench`?");
        check("xyz", "a file needs");
        check("numa11", "did you mean `numa01`?");
        check("no/such.toml", "cannot read profile `no/such.toml`: No such file");
        check("/", "cannot read profile `/`: Is a directory");
        check("/dev/zero", "it is larger than 1048576 bytes");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("odd.toml");
        std::fs::write(&path, b"about = \xff").unwrap();
        check(path.to_str().unwrap(), "byte 8 is not UTF-8 text");
        std::fs::write(&path, "about = \"x\"").unwrap();
        check(path.to_str().unwrap(), "the profile has no `team`");
    }

    #[test]
    fn loads_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mine.toml");
        std::fs::write(&path, BUILTINS[0].text).unwrap();
        let profile = load(path.to_str().unwrap()).unwrap();
        assert_eq!(profile.name, "mine");
        assert_eq!(profile.source.path, path.to_str().unwrap());
    }
}
