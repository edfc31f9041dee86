//! Connected pairs of stream sockets.
//!
//! Must not know: which end does what.

use super::Errno;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// socketpair(2), AF_UNIX stream.
pub fn unix_pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (a, b) = UnixStream::pair()?;
    Ok((a.into(), b.into()))
}

/// A TCP connection over the loopback interface, with TCP_NODELAY on both ends: without it a
/// message would wait for the acknowledgement of the one before.
pub fn tcp_pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let a = TcpStream::connect(listener.local_addr()?)?;
    // Somebody else might have connected to the port in between: only our own peer will do.
    let b = loop {
        let (b, peer) = listener.accept()?;
        if peer == a.local_addr()? {
            break b;
        }
    };
    a.set_nodelay(true)?;
    b.set_nodelay(true)?;
    Ok((a.into(), b.into()))
}
