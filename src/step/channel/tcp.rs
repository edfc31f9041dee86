//! Loopback TCP: the wakeup comes out of the softirq that delivers the segment, on the waker's CPU
//! (net/core/dev.c, __napi_poll of the backlog, v6.12).
//!
//! Must not know: anything beyond its descriptors.

use super::stream::Stream;
use super::{Instance, OpenError, Opening};
use crate::sys::socket;

pub(super) fn open<'a>(_: &Opening<'a>) -> Result<Instance<'a>, OpenError> {
    Stream::open("loopback tcp connection", socket::tcp_pair())
}
