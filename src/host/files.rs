//! Files of /proc and /sys under a root directory, which tests replace by a made-up tree.
//!
//! A file that is missing or may not be read is a reading with its reason, never an error or a
//! zero. Must not know: what any file means.

use crate::base::{CpuList, Reading, State};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The directory that stands for `/`.
#[derive(Debug, Clone)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Self {
        Root(PathBuf::from("/"))
    }
}

impl Root {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Root(path.into())
    }

    /// Where the absolute `path` is under this root.
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(Path::new(path.trim_start_matches('/')))
    }

    /// The text of a file without white space at its end.
    pub fn text(&self, path: &str) -> Reading<String> {
        match fs::read(self.path(path)) {
            Ok(bytes) => Reading::Value(text_of(&bytes)),
            Err(error) => absence(path, &error),
        }
    }

    /// The text that one read call gives, for files whose beginning says it all: /proc/cpuinfo
    /// takes a thousand CPUs long to print.
    pub fn beginning(&self, path: &str) -> Reading<String> {
        let mut bytes = vec![0; 8192];
        match File::open(self.path(path)).and_then(|mut file| file.read(&mut bytes)) {
            Ok(n) => Reading::Value(text_of(&bytes[..n])),
            Err(error) => absence(path, &error),
        }
    }

    pub fn number(&self, path: &str) -> Reading<u64> {
        self.parsed(path, "a number")
    }

    pub fn list(&self, path: &str) -> Reading<CpuList> {
        self.parsed(path, "a list of CPUs")
    }

    /// The user whose file or directory this is, and its mode.
    pub fn owner(&self, path: &str) -> Option<(u32, u32)> {
        let it = fs::metadata(self.path(path)).ok()?;
        Some((it.uid(), it.mode()))
    }

    /// The names in a directory, sorted by the number they end in, then by name.
    pub fn names(&self, path: &str) -> Reading<Vec<String>> {
        let entries = match fs::read_dir(self.path(path)) {
            Ok(entries) => entries,
            Err(error) => return absence(path, &error),
        };
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_by_cached_key(|name| (number_at_end(name), name.clone()));
        Reading::Value(names)
    }

    fn parsed<T: FromStr>(&self, path: &str, what: &str) -> Reading<T> {
        match self.text(path) {
            Reading::Value(text) => parsed(path, &text, what),
            Reading::Absent(absence) => Reading::Absent(absence),
        }
    }
}

/// `text`, found in `path`, as the `what` that it should be.
pub(super) fn parsed<T: FromStr>(path: &str, text: &str, what: &str) -> Reading<T> {
    match text.trim().parse() {
        Ok(value) => Reading::Value(value),
        Err(_) => {
            let shown: String = text.chars().take(40).collect();
            Reading::absent(State::NotSupported, format!("{path} holds `{shown}`, not {what}"))
        }
    }
}

/// Why there is no value, from the error that opening or reading `path` gave.
pub(super) fn absence<T>(path: &str, error: &io::Error) -> Reading<T> {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            Reading::absent(State::Absent, format!("there is no {path}"))
        }
        ErrorKind::PermissionDenied => {
            Reading::absent(State::NoPermission, format!("{path} may not be read by this user"))
        }
        // Its files can be opened before a task ends and read after.
        _ if error.raw_os_error() == Some(libc::ESRCH) => {
            Reading::absent(State::Absent, format!("the task of {path} has ended"))
        }
        _ => Reading::absent(State::NotSupported, format!("{path} could not be read: {error}")),
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

fn number_at_end(name: &str) -> Option<u64> {
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.parse().ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A root directory with these files.
    pub fn fake(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn values_and_their_absence() {
        let dir = fake(&[("/a/text", "one two\n"), ("/a/number", "42\n"), ("/a/list", "0-2,7\n")]);
        let root = Root::new(dir.path());
        assert_eq!(root.text("/a/text"), Reading::Value("one two".to_owned()));
        assert_eq!(root.beginning("/a/text"), Reading::Value("one two".to_owned()));
        assert_eq!(root.number("/a/number"), Reading::Value(42));
        assert_eq!(root.list("/a/list"), Reading::Value("0-2,7".parse().unwrap()));

        let check = |state: State, reason: &str, expected: (State, &str)| {
            assert_eq!((state, reason), expected);
        };
        let reading = root.number("/a/text");
        let expected = (State::NotSupported, "/a/text holds `one two`, not a number");
        check(reading.state(), reading.reason(), expected);
        let reading = root.list("/b/list");
        check(reading.state(), reading.reason(), (State::Absent, "there is no /b/list"));
        let reading = root.text("/a/text/below");
        check(reading.state(), reading.reason(), (State::Absent, "there is no /a/text/below"));
        assert_eq!(root.text("/a").state(), State::NotSupported);
        assert_eq!(root.names("/b").state(), State::Absent);
    }

    #[test]
    fn errors_of_the_system() {
        let check = |errno: i32, state: State, reason: &str| {
            let reading: Reading<u64> = absence("/x", &io::Error::from_raw_os_error(errno));
            assert_eq!((reading.state(), reading.reason()), (state, reason), "of {errno}");
        };
        check(libc::ENOENT, State::Absent, "there is no /x");
        check(libc::ESRCH, State::Absent, "the task of /x has ended");
        check(libc::EACCES, State::NoPermission, "/x may not be read by this user");
        check(libc::EPERM, State::NoPermission, "/x may not be read by this user");
        let unsupported = "/x could not be read: Operation not supported (os error 95)";
        check(libc::EOPNOTSUPP, State::NotSupported, unsupported);
    }

    #[test]
    fn names_come_in_the_order_of_their_numbers() {
        let dir = fake(&[("/d/cpu10", ""), ("/d/cpu9", ""), ("/d/other", ""), ("/d/cpu0", "")]);
        let names = Root::new(dir.path()).names("/d");
        let expected = ["other", "cpu0", "cpu9", "cpu10"].map(str::to_owned).to_vec();
        assert_eq!(names, Reading::Value(expected));
    }
}
