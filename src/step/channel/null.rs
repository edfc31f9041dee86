//! Nothing at all: what a run of this kind costs is the harness itself.
//!
//! Also the file to copy for a new kind. Must not know: anything.

use super::{Channel, Hitch, OpenError, Opening};

struct Null;

pub(super) fn open<'a>(_: &Opening<'a>) -> Result<Box<dyn Channel + 'a>, OpenError> {
    Ok(Box::new(Null))
}

impl Channel for Null {
    fn wake(&self, _: &[u8]) -> Result<(), Hitch> {
        Ok(())
    }

    fn wait(&self, _: &mut [u8]) -> Result<(), Hitch> {
        Ok(())
    }
}
