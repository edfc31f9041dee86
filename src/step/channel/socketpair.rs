//! AF_UNIX stream sockets, hackbench's default: each message is an skb of its own
//! (net/unix/af_unix.c, unix_stream_sendmsg; net/core/sock.c, sock_def_readable, v6.12).
//!
//! Must not know: anything beyond its descriptors.

use super::stream::Stream;
use super::{Instance, OpenError, Opening};
use crate::sys::socket;

pub(super) fn open<'a>(_: &Opening<'a>) -> Result<Instance<'a>, OpenError> {
    Stream::open("socketpair", socket::unix_pair())
}
