//! What pipes and sockets have in common: whole messages through a pair of descriptors.
//!
//! Must not know: how the pair was made.

use super::{Call, Channel, Hitch, Instance, OpenError};
use crate::sys::Errno;
use crate::sys::fd::{read_whole, write_whole};
use std::os::fd::{AsRawFd, OwnedFd};

/// A stream of bytes from `into` to `out`.
pub(super) struct Stream {
    out: OwnedFd,
    into: OwnedFd,
}

impl Stream {
    /// The stream through a pair (end to read, end to write) that `call` made.
    pub(super) fn open<'a>(
        call: &'static str,
        pair: Result<(OwnedFd, OwnedFd), Errno>,
    ) -> Result<Instance<'a>, OpenError> {
        let (out, into) = pair.map_err(|errno| OpenError { call, errno })?;
        Ok(Instance::from(Stream { out, into }))
    }
}

impl Channel for Stream {
    #[inline(always)]
    fn wake(&self, message: &[u8]) -> Result<(), Hitch> {
        write_whole(self.into.as_raw_fd(), message).map_err(Hitch::from_broken(Call::Write))
    }

    #[inline(always)]
    fn wait(&self, message: &mut [u8]) -> Result<(), Hitch> {
        read_whole(self.out.as_raw_fd(), message).map_err(Hitch::from_broken(Call::Read))
    }
}
