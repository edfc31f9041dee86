//! An eventfd as a semaphore: a write adds one, a read takes one.
//!
//! Must not know: what a message holds; none is carried.

use super::{Call, Channel, Hitch, Instance, OpenError, Opening};
use crate::sys::fd::{self, EventCount, read_whole, write_whole};
use std::os::fd::{AsRawFd, OwnedFd};

pub(super) struct Eventfd(OwnedFd);

pub(super) fn open<'a>(_: &Opening<'a>) -> Result<Instance<'a>, OpenError> {
    let fd = fd::eventfd(EventCount::Semaphore);
    let fd = fd.map_err(|errno| OpenError { call: "eventfd", errno })?;
    Ok(Instance::from(Eventfd(fd)))
}

impl Channel for Eventfd {
    #[inline(always)]
    fn wake(&self, _: &[u8]) -> Result<(), Hitch> {
        let one = 1u64.to_ne_bytes();
        write_whole(self.0.as_raw_fd(), &one).map_err(Hitch::from_broken(Call::Write))
    }

    #[inline(always)]
    fn wait(&self, _: &mut [u8]) -> Result<(), Hitch> {
        let mut count = [0; 8];
        read_whole(self.0.as_raw_fd(), &mut count).map_err(Hitch::from_broken(Call::Read))
    }
}
