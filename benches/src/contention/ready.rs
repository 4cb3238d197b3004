//! Waiting for a socket that does not block.

use std::net::TcpStream;
use std::os::fd::AsRawFd as _;

use super::message::WATCHDOG;

/// What a socket is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    ToRead,
    ToWrite,
}

/// Waits until `socket` is ready (`poll`).
///
/// # Panics
///
/// Panics if that takes too long.
pub(super) fn wait(socket: &TcpStream, ready: Ready) {
    let events = match ready {
        Ready::ToRead => libc::POLLIN,
        Ready::ToWrite => libc::POLLOUT,
    };
    let limit = i32::try_from(WATCHDOG.as_millis()).expect("a minute is not long");
    let mut entry = libc::pollfd { fd: socket.as_raw_fd(), events, revents: 0 };
    loop {
        // SAFETY: `entry` is one entry, writable for the call; its descriptor is open as long as `socket` is borrowed.
        let count = unsafe { libc::poll(&raw mut entry, 1, limit) };
        match count {
            1.. => return,
            0 => panic!("the socket is not ready {ready:?}"),
            _ => assert_eq!(std::io::Error::last_os_error().kind(), std::io::ErrorKind::Interrupted),
        }
    }
}
