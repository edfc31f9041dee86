//! Raising the limit on open files, beyond the hard one too where the kernel lets us.
//!
//! Must not know: how much is needed, and why.

use super::Errno;

/// The limit on open files; it is put back when this is dropped.
#[derive(Debug)]
pub struct OpenFiles(libc::rlimit);

fn open_files() -> Result<libc::rlimit, Errno> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct is ours to fill in.
    Errno::check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    Ok(limit)
}

fn set(limit: &libc::rlimit) -> Result<(), Errno> {
    // SAFETY: the struct outlives the call.
    Errno::check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, limit) }).map(|_| ())
}

impl OpenFiles {
    /// Allows at least `need` open files; the children inherit it.
    ///
    /// # Errors
    ///
    /// EPERM if the hard limit is lower, without CAP_SYS_RESOURCE or above fs.nr_open.
    pub fn allow(need: u64) -> Result<OpenFiles, Errno> {
        let before = open_files()?;
        if before.rlim_cur < need {
            set(&libc::rlimit { rlim_cur: need, rlim_max: before.rlim_max.max(need) })?;
        }
        Ok(OpenFiles(before))
    }
}

impl Drop for OpenFiles {
    fn drop(&mut self) {
        // Lowering a limit cannot fail.
        let _ = set(&self.0);
    }
}
