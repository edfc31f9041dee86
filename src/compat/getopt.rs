//! Command lines as getopt_long(3) reads them, for stand-ins of C programs.
//!
//! Bundled letters, `--fds=20`, unambiguous beginnings of long names; but numbers are strict, where
//! atoi(3) takes `1x` for 1. Must not know: what any option means.

use crate::base::nearest::nearest;

/// The largest number that an option takes; the plan may well refuse less.
const MOST: u64 = 1_000_000_000_000;

/// One option of a program.
pub struct Row<M: 'static> {
    pub long: &'static str,
    pub short: Option<char>,
    pub value: Value,
    pub meaning: M,
    pub about: &'static str,
}

/// Whether an option has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    Needed,
    None,
}

/// All options of a program.
pub struct Options<M: 'static> {
    /// The original's: the beginning of a long name is enough.
    pub original: &'static [Row<M>],
    /// Ours: to be written out, so as to take no beginning from the original's.
    pub added: &'static [Row<M>],
}

/// What was given of the options that schedload adds, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Added(Vec<(&'static str, Option<String>)>);

/// An option as it stood on the command line.
pub struct Given<M: 'static> {
    pub row: &'static Row<M>,
    /// As it was written: `-g` or `--groups`.
    pub option: String,
    pub value: Option<String>,
}

/// Why a command line was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GetoptError {
    #[error("unknown option `{option}`{}", suggestion(.near))]
    Unknown { option: String, near: Option<String> },
    #[error("option `{option}` could be {}; write it out", .meant.join(" or "))]
    Ambiguous { option: String, meant: Vec<String> },
    #[error("option `{option}` needs a value")]
    NoValue { option: String },
    #[error("option `{option}` takes no value, but was given `{value}`")]
    Surplus { option: String, value: String },
    #[error("`{value}` of option `{option}` is not a whole number from {least} to {MOST}")]
    Number { option: String, value: String, least: u64 },
    #[error("unexpected operand `{operand}`: everything is set by options; see --help")]
    Operand { operand: String },
}

fn suggestion(near: &Option<String>) -> String {
    match near {
        Some(near) => format!("; did you mean `--{near}`?"),
        None => "; see --help".to_string(),
    }
}

impl<M> Given<M> {
    /// Its value as a count, from 1.
    pub fn number(&self) -> Result<u64, GetoptError> {
        self.number_from(1)
    }

    pub fn number_from(&self, least: u64) -> Result<u64, GetoptError> {
        let value = self.value.as_deref().unwrap_or_default();
        // `parse` alone would take a leading plus sign.
        let digits = value.bytes().all(|byte| byte.is_ascii_digit());
        match value.parse() {
            Ok(number) if digits && (least..=MOST).contains(&number) => Ok(number),
            _ => Err(GetoptError::Number {
                option: self.option.clone(),
                value: value.to_string(),
                least,
            }),
        }
    }
}

type Next<'a> = dyn FnMut() -> Option<String> + 'a;

impl<M> Options<M> {
    /// Reads the arguments after the program's name.
    pub fn split(&self, args: &[String]) -> Result<Vec<Given<M>>, GetoptError> {
        let mut all = Vec::new();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if arg == "--" {
                return match args.next() {
                    Some(operand) => Err(GetoptError::operand(operand)),
                    None => Ok(all),
                };
            }
            let mut next = || args.next().cloned();
            if let Some(long) = arg.strip_prefix("--") {
                all.push(self.long(long, &mut next)?);
            } else if let Some(letters) = arg.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                self.bundle(letters, &mut next, &mut all)?;
            } else {
                return Err(GetoptError::operand(arg));
            }
        }
        Ok(all)
    }

    /// `groups=20`, or `groups` with its value in the next argument.
    fn long(&self, text: &str, next: &mut Next) -> Result<Given<M>, GetoptError> {
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (text, None),
        };
        let row = self.find(name)?;
        let option = format!("--{name}");
        let value = match (row.value, attached) {
            (Value::None, Some(value)) => return Err(GetoptError::Surplus { option, value }),
            (Value::None, None) => None,
            (Value::Needed, attached) => match attached.or_else(next) {
                Some(value) => Some(value),
                None => return Err(GetoptError::NoValue { option }),
            },
        };
        Ok(Given { row, option, value })
    }

    /// The option of that name, or the only one of the original whose name begins so.
    fn find(&self, name: &str) -> Result<&'static Row<M>, GetoptError> {
        let every = || self.original.iter().chain(self.added);
        if let Some(row) = every().find(|row| row.long == name) {
            return Ok(row);
        }
        let begins = |row: &&Row<M>| !name.is_empty() && row.long.starts_with(name);
        let begun: Vec<&Row<M>> = self.original.iter().filter(begins).collect();
        let option = format!("--{name}");
        match begun[..] {
            [row] => Ok(row),
            [] => Err(GetoptError::Unknown {
                option,
                near: nearest(name, every().map(|row| row.long)).map(str::to_string),
            }),
            _ => Err(GetoptError::Ambiguous {
                option,
                meant: begun.iter().map(|row| format!("--{}", row.long)).collect(),
            }),
        }
    }

    /// `Tpg10`: letters without a value, then perhaps one with its value behind it or in the next
    /// argument.
    fn bundle(
        &self,
        letters: &str,
        next: &mut Next,
        all: &mut Vec<Given<M>>,
    ) -> Result<(), GetoptError> {
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            let option = format!("-{letter}");
            let Some(row) = self.original.iter().find(|row| row.short == Some(letter)) else {
                return Err(GetoptError::Unknown { option, near: None });
            };
            if row.value == Value::None {
                let value = None;
                all.push(Given { row, option, value });
                continue;
            }
            let attached = Some(rest.as_str()).filter(|rest| !rest.is_empty());
            let Some(value) = attached.map(str::to_string).or_else(next) else {
                return Err(GetoptError::NoValue { option });
            };
            let value = Some(value);
            all.push(Given { row, option, value });
            break;
        }
        Ok(())
    }

    /// What `--help` prints of them, then `note` and the exit codes.
    pub fn help(&self, program: &str, note: &str) -> String {
        let list = |rows: &[Row<M>]| -> String { rows.iter().map(Row::help).collect() };
        format!(
            "Options of {program}:\n{}\n\
             Options that schedload adds, to be written out:\n{}\n\
             {note}\n\n\
             Exit codes:\n  \
               0  done\n  \
               1  bad command line, as {program} has it\n  \
               3  the run failed\n  \
               4  this host cannot run it\n  \
               5  a conservation check broke\n  \
               130, 143, 129  after SIGINT, SIGTERM, SIGHUP\n",
            list(self.original),
            list(self.added),
        )
    }
}

impl Added {
    pub(super) fn push<M>(&mut self, given: Given<M>) {
        self.0.push((given.row.long, given.value));
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(long, _)| *long == name)
    }

    /// The value of an option; the last one counts.
    pub fn value(&self, name: &str) -> Option<&str> {
        let mut given = self.0.iter().rev();
        given.find(|(long, _)| *long == name)?.1.as_deref()
    }
}

impl GetoptError {
    fn operand(operand: &str) -> GetoptError {
        GetoptError::Operand { operand: operand.to_string() }
    }
}

impl<M: Copy> Row<M> {
    /// An option with a value.
    pub const fn valued(
        long: &'static str,
        short: char,
        meaning: M,
        about: &'static str,
    ) -> Row<M> {
        Row { long, short: Some(short), value: Value::Needed, meaning, about }
    }

    /// One without.
    pub const fn switch(
        long: &'static str,
        short: char,
        meaning: M,
        about: &'static str,
    ) -> Row<M> {
        Row { long, short: Some(short), value: Value::None, meaning, about }
    }

    /// One that has no letter.
    pub const fn long(long: &'static str, value: Value, meaning: M, about: &'static str) -> Row<M> {
        Row { long, short: None, value, meaning, about }
    }
}

impl<M> Row<M> {
    /// Its line in the list of options.
    fn help(&self) -> String {
        let short = match self.short {
            Some(letter) => format!("-{letter},"),
            None => String::new(),
        };
        let value = match self.value {
            Value::Needed => " VALUE",
            Value::None => "",
        };
        let long = format!("--{}{value}", self.long);
        format!("  {short:<3} {long:<18} {}\n", self.about)
    }
}
