//! An error number of the kernel, with its words.
//!
//! Must not know: what was tried; callers add that.

use std::fmt;

/// A positive `errno` value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    pub const INTERRUPTED: Errno = Errno(libc::EINTR);

    /// The error of the libc call that just failed in this thread.
    pub fn last() -> Errno {
        Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    }

    /// A libc result: -1 means that `errno` is set.
    pub(crate) fn check(result: libc::c_int) -> Result<libc::c_int, Errno> {
        if result == -1 { Err(Errno::last()) } else { Ok(result) }
    }

    /// A raw system call's result: negative means the error itself.
    #[inline]
    pub(crate) fn check_raw(result: isize) -> Result<usize, Errno> {
        if result < 0 { Err(Errno(-result as i32)) } else { Ok(result as usize) }
    }
}

impl fmt::Display for Errno {
    /// `Too many open files (errno 24)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = std::io::Error::from_raw_os_error(self.0).to_string();
        let words = text.split(" (os error").next().unwrap_or(&text);
        write!(f, "{words} (errno {})", self.0)
    }
}

impl std::error::Error for Errno {}

impl From<std::io::Error> for Errno {
    fn from(error: std::io::Error) -> Errno {
        Errno(error.raw_os_error().unwrap_or(libc::EIO))
    }
}
