//! A pipe: the reader sleeps on the pipe's wait queue and is woken as by a waker about to sleep
//! (fs/pipe.c, wake_up_interruptible_sync_poll, v6.12).
//!
//! Must not know: anything beyond its descriptors.

use super::stream::Stream;
use super::{Instance, OpenError, Opening};
use crate::sys::fd;

pub(super) fn open<'a>(_: &Opening<'a>) -> Result<Instance<'a>, OpenError> {
    Stream::open("pipe2", fd::pipe())
}
