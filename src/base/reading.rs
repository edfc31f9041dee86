//! A number that the system gave, or the reason why it did not: never a zero in its stead.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a source has no number. The words are printed in reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It was read.
    Ok,
    /// The kernel was built without it, or the file is not there.
    Absent,
    /// It is there, but not for this user.
    NoPermission,
    /// It is there, but a knob has switched it off.
    Disabled,
    /// This version of the kernel or of the format is not one we can read.
    NotSupported,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Absent => "absent",
            State::NoPermission => "no permission",
            State::Disabled => "disabled",
            State::NotSupported => "not supported",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A state other than `Ok`, with the reason and what would help.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    pub state: State,
    pub reason: String,
}

/// A value, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reading<T> {
    Value(T),
    Absent(Absence),
}

impl<T> Reading<T> {
    pub fn absent(state: State, reason: impl Into<String>) -> Self {
        Reading::Absent(Absence { state, reason: reason.into() })
    }

    pub fn value(&self) -> Option<&T> {
        match self {
            Reading::Value(value) => Some(value),
            Reading::Absent(_) => None,
        }
    }

    pub fn state(&self) -> State {
        match self {
            Reading::Value(_) => State::Ok,
            Reading::Absent(absence) => absence.state,
        }
    }

    /// The reason of an absence, or an empty string.
    pub fn reason(&self) -> &str {
        match self {
            Reading::Value(_) => "",
            Reading::Absent(absence) => &absence.reason,
        }
    }

    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Reading<U> {
        match self {
            Reading::Value(value) => Reading::Value(f(value)),
            Reading::Absent(absence) => Reading::Absent(absence),
        }
    }

    pub fn and_then<U>(self, f: impl FnOnce(T) -> Reading<U>) -> Reading<U> {
        match self {
            Reading::Value(value) => f(value),
            Reading::Absent(absence) => Reading::Absent(absence),
        }
    }
}
