//! A socket that is not connected yet, which the standard library cannot make.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{FromRawFd as _, OwnedFd};

/// A stream socket for `address`.
pub(super) fn stream(address: &SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: no precondition.
    let fd = unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: R4: a new descriptor that nobody else knows of.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
