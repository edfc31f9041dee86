//! What is wrong in a profile, where, and what would help; every fault of a file at once.
//!
//! Must not know: how a fault was found. Parsing and planning both report through this.

use crate::profile::{Source, Span};

/// One thing wrong in a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Lower case, without the place: "unknown key `sise` in [team.reader]".
    pub message: String,
    /// The offending text; empty when the profile as a whole is meant.
    pub span: Span,
    /// What would help: "did you mean `size`?".
    pub help: Option<String>,
}

/// All faults of one profile, at least one. Prints with file, line, column and the offending text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    pub path: String,
    pub text: String,
    pub list: Vec<Fault>,
}

impl Faults {
    pub fn new(source: &Source, list: Vec<Fault>) -> Faults {
        Faults {
            path: source.path.clone(),
            text: source.text.clone(),
            list,
        }
    }
}

impl std::error::Error for Faults {}

impl std::fmt::Display for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let _ = f;
        todo!()
    }
}
