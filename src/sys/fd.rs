//! Pipes, eventfds and whole reads and writes on owned descriptors.
//!
//! Must not know: what the bytes mean.

use super::{Errno, raw};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// pipe(2) with close-on-exec: the read end and the write end.
pub fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for the two descriptors, which are ours when the call succeeds.
    unsafe {
        Errno::check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// What an eventfd's read returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventCount {
    /// One for each read.
    Semaphore,
    /// All at once.
    Sum,
}

/// eventfd(2) with close-on-exec.
pub fn eventfd(count: EventCount) -> Result<OwnedFd, Errno> {
    let semaphore = match count {
        EventCount::Semaphore => libc::EFD_SEMAPHORE,
        EventCount::Sum => 0,
    };
    // SAFETY: no pointers; the descriptor is ours when the call succeeds.
    unsafe {
        let fd = Errno::check(libc::eventfd(0, libc::EFD_CLOEXEC | semaphore))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// A file in memory with this content, to be read from its start.
pub fn memory_file(content: &[u8]) -> Result<OwnedFd, Errno> {
    use std::io::{Seek, Write};
    // SAFETY: a literal name; the descriptor is ours when the call succeeds.
    let file = unsafe {
        let fd = libc::memfd_create(c"schedload-orders".as_ptr(), libc::MFD_CLOEXEC);
        OwnedFd::from_raw_fd(Errno::check(fd)?)
    };
    let mut file = std::fs::File::from(file);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file.into())
}

/// A raw descriptor made ours: for those handed over by the process that started this one.
///
/// # Errors
///
/// EBADF if there is no such descriptor.
pub(crate) fn inherited(fd: RawFd) -> Result<OwnedFd, Errno> {
    // SAFETY: F_SETFD has no memory effects. The number is part of the agreement between a leader
    // and the program that started it: nobody else in this process owns it.
    unsafe {
        Errno::check(libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Why a whole message could not be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    Interrupted,
    /// End of the file: all writers are gone.
    Ended,
    Failed(Errno),
}

impl From<Errno> for Broken {
    #[inline]
    fn from(errno: Errno) -> Broken {
        if errno == Errno::INTERRUPTED { Broken::Interrupted } else { Broken::Failed(errno) }
    }
}

/// Reads until `buffer` is full. The first call is inlined, since most often it is the only one.
#[inline(always)]
pub fn read_whole(fd: RawFd, buffer: &mut [u8]) -> Result<(), Broken> {
    match raw::read(fd, buffer)? {
        n if n == buffer.len() => Ok(()),
        n => read_rest(fd, buffer, n),
    }
}

#[cold]
#[inline(never)]
fn read_rest(fd: RawFd, buffer: &mut [u8], mut done: usize) -> Result<(), Broken> {
    while done != buffer.len() {
        match raw::read(fd, &mut buffer[done..])? {
            0 => return Err(Broken::Ended),
            n => done += n,
        }
    }
    Ok(())
}

/// Writes all of `buffer`, the first call inlined.
#[inline(always)]
pub fn write_whole(fd: RawFd, buffer: &[u8]) -> Result<(), Broken> {
    match raw::write(fd, buffer)? {
        n if n == buffer.len() => Ok(()),
        n => write_rest(fd, buffer, n),
    }
}

#[cold]
#[inline(never)]
fn write_rest(fd: RawFd, buffer: &[u8], mut done: usize) -> Result<(), Broken> {
    while done != buffer.len() {
        done += raw::write(fd, &buffer[done..])?;
    }
    Ok(())
}

/// Writes a file of the kernel that is there, in one call.
pub fn write_file(path: &std::path::Path, text: &str) -> Result<(), Errno> {
    let file = std::fs::OpenOptions::new().write(true).open(path)?;
    raw::write(file.as_raw_fd(), text.as_bytes()).map(|_| ())
}

/// Reads a small file of /proc into `buffer` without allocating; what does not fit is left out.
pub fn read_start<'a>(path: &std::ffi::CStr, buffer: &'a mut [u8]) -> Result<&'a [u8], Errno> {
    // SAFETY: the path is a C string; the descriptor is ours when the call succeeds.
    let file = unsafe {
        let fd = Errno::check(libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC))?;
        OwnedFd::from_raw_fd(fd)
    };
    let n = raw::read(file.as_raw_fd(), buffer)?;
    Ok(&buffer[..n])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_messages_arrive_in_pieces_too() {
        let (read, write) = pipe().unwrap();
        write_whole(write.as_raw_fd(), b"abc").unwrap();
        write_whole(write.as_raw_fd(), b"defgh").unwrap();
        let mut buffer = [0; 8];
        read_whole(read.as_raw_fd(), &mut buffer).unwrap();
        assert_eq!(&buffer, b"abcdefgh");
    }

    #[test]
    fn the_end_of_a_pipe_is_an_error_in_the_middle_and_at_the_start() {
        let (read, write) = pipe().unwrap();
        write_whole(write.as_raw_fd(), b"abc").unwrap();
        drop(write);
        let mut buffer = [0; 8];
        assert_eq!(read_whole(read.as_raw_fd(), &mut buffer), Err(Broken::Ended));
        assert_eq!(read_whole(read.as_raw_fd(), &mut buffer), Err(Broken::Ended));
    }
}
