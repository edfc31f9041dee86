//! Why there is no plan: the profile or a value is wrong, or this host cannot run it.
//!
//! The two have different exit codes, so they are never mixed: what is wrong with the profile is
//! said first. Must not know: how either was found.

use crate::profile::Faults;
use std::fmt;

/// Everything that stands against a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A bad profile, parameter or option.
    #[error(transparent)]
    Faults(#[from] Faults),
    /// A limit, a right, a CPU or a node is missing here. At least one.
    #[error("{}", joined(.0))]
    Host(Vec<Refusal>),
}

/// One thing that this host lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is needed, what there is, and who says so.
    pub message: String,
    /// The command or the change that would help.
    pub help: Option<String>,
}

impl Refusal {
    pub(super) fn new(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), help: None }
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> Refusal {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

fn joined(refusals: &[Refusal]) -> String {
    let lines: Vec<String> = refusals.iter().map(Refusal::to_string).collect();
    lines.join("\n")
}
