//! Where results go: stdout, a stored file, or a device; and what happens when that fails.
//!
//! A stored file is never half written: it is replaced as a whole, so that what an earlier repeat
//! saved outlives a crash of a later one. Must not know: what is written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Why a result could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Whoever read our output has closed it: not a failure.
    #[error("stdout was closed")]
    Closed,
    #[error("can not write to stdout: {0}")]
    Stdout(io::Error),
    #[error("can not write `{}`: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("can not write `{}`: it is a directory; name a file in it", path.display())]
    Directory { path: PathBuf },
}

/// A place for one result, found fit before anything runs.
#[derive(Debug)]
pub enum Sink {
    Stdout,
    /// A file on disk, replaced by each `save`.
    Stored(PathBuf),
    /// A device or a fifo: written once, at the end.
    Stream {
        path: PathBuf,
        file: File,
    },
}

impl Sink {
    /// `-` is stdout; everything else a path, which is tried out but not changed.
    pub fn open(target: &str) -> Result<Sink, WriteError> {
        if target == "-" {
            return Ok(Sink::Stdout);
        }
        // Through a symlink, so that the link stays and its target is replaced.
        let path = fs::canonicalize(target).unwrap_or_else(|_| PathBuf::from(target));
        let failed = |error| WriteError::File { path: PathBuf::from(target), error };
        match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => Err(WriteError::Directory { path }),
            Ok(meta) if meta.is_file() => {
                OpenOptions::new().write(true).open(&path).map_err(failed)?;
                try_beside(&path).map_err(failed)?;
                Ok(Sink::Stored(path))
            }
            Ok(_) => {
                let file = OpenOptions::new().write(true).open(&path).map_err(failed)?;
                Ok(Sink::Stream { path, file })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                try_beside(&path).map_err(failed)?;
                Ok(Sink::Stored(path))
            }
            Err(error) => Err(failed(error)),
        }
    }

    pub fn is_stdout(&self) -> bool {
        matches!(self, Sink::Stdout)
    }

    /// Whether it keeps what it is given, so that it can be replaced later on.
    pub fn is_stored(&self) -> bool {
        matches!(self, Sink::Stored(_))
    }

    /// Replaces what is stored; stdout and streams get nothing but the final text.
    pub fn save(&mut self, text: &str) -> Result<(), WriteError> {
        match self {
            Sink::Stored(path) => replace(path, text.as_bytes()),
            Sink::Stdout | Sink::Stream { .. } => Ok(()),
        }
    }

    /// Writes the final text.
    pub fn finish(&mut self, text: &str) -> Result<(), WriteError> {
        match self {
            Sink::Stdout => stdout(text),
            Sink::Stored(path) => replace(path, text.as_bytes()),
            Sink::Stream { path, file } => file
                .write_all(text.as_bytes())
                .and_then(|()| file.flush())
                .map_err(|error| WriteError::File { path: path.clone(), error }),
        }
    }
}

/// Writes to stdout at once, so that nothing waits in a buffer while a run goes on.
pub fn stdout(text: &str) -> Result<(), WriteError> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => WriteError::Closed,
        _ => WriteError::Stdout(error),
    })
}

/// The name of the file that is written before it takes the place of `path`.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// Whether a file can be made where `path` is to be; leaves nothing behind.
fn try_beside(path: &Path) -> io::Result<()> {
    if path.file_name().is_none() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not the name of a file"));
    }
    let draft = beside(path);
    File::create(&draft)?;
    fs::remove_file(&draft)
}

fn replace(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let draft = beside(path);
    let written = File::create(&draft).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&draft, path)).map_err(|error| {
        // The error is what matters; a draft that cannot be removed either is no second one.
        let _ = fs::remove_file(&draft);
        WriteError::File { path: path.to_path_buf(), error }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_file_is_replaced_as_a_whole_and_leaves_no_draft() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.json");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        fs::write(&path, "old and long").unwrap();
        let mut sink = Sink::open(link.to_str().unwrap()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old and long");
        sink.save("first").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        sink.finish("both").unwrap();
        assert_eq!(fs::read_to_string(&link).unwrap(), "both");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn opening_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.json");
        Sink::open(path.to_str().unwrap()).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_cannot_be_written_is_found_by_opening() {
        let dir = tempfile::tempdir().unwrap();
        let check = |target: &str, expected: &str| {
            let error = Sink::open(target).expect_err(target).to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(dir.path().to_str().unwrap(), "is a directory");
        check(dir.path().join("no/such").to_str().unwrap(), "No such file");
        check("", "not the name of a file");
    }

    #[test]
    fn a_full_device_fails_when_written() {
        let mut sink = Sink::open("/dev/full").unwrap();
        sink.save("not yet").unwrap();
        let error = sink.finish("text").unwrap_err().to_string();
        assert!(error.contains("No space left"), "{error}");
    }
}
