//! TCP's `tls` layer (an "upper layer protocol", ULP): whether there is one, and giving it keys.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};

use arenatls_engine::{CryptoInfo, Direction, Takeover};
use libc::c_int;

// linux/tls.h
const TLS_TX: c_int = 1;
const TLS_RX: c_int = 2;

/// The layer of this kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    /// It can replace a key (Linux 6.14).
    pub(crate) rekeys: bool,
}

impl Layer {
    /// Tries it on a connection of this machine with itself.
    pub(crate) fn probe() -> Option<Layer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
        let socket = TcpStream::connect(listener.local_addr().ok()?).ok()?;
        attach(socket.as_fd()).ok()?;
        // An AES-128-GCM key of TLS 1.3, all zeros, with which nothing is sent.
        let mut key = [0; 40];
        key[..2].copy_from_slice(&0x0304_u16.to_ne_bytes());
        key[2..4].copy_from_slice(&51_u16.to_ne_bytes());
        give(socket.as_fd(), Direction::Send, &key).ok()?;
        Some(Layer { rekeys: give(socket.as_fd(), Direction::Send, &key).is_ok() })
    }

    /// Gives a direction's keys to `socket`.
    pub(crate) fn take(self, socket: BorrowedFd<'_>, direction: Direction, keys: &CryptoInfo) -> Takeover {
        match attach(socket).and_then(|()| give(socket, direction, keys.as_bytes())) {
            Ok(()) => Takeover::Taken { rekeys: self.rekeys },
            Err(_) => Takeover::Refused,
        }
    }
}

/// Puts the layer on a connected socket, if it is not there yet. Without keys it changes nothing.
fn attach(socket: BorrowedFd<'_>) -> io::Result<()> {
    match set(socket, libc::IPPROTO_TCP, libc::TCP_ULP, b"tls") {
        Err(error) if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        result => result,
    }
}

fn give(socket: BorrowedFd<'_>, direction: Direction, info: &[u8]) -> io::Result<()> {
    let name = match direction {
        Direction::Send => TLS_TX,
        Direction::Receive => TLS_RX,
    };
    set(socket, libc::SOL_TLS, name, info)
}

fn set(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: &[u8]) -> io::Result<()> {
    let len = libc::socklen_t::try_from(value.len()).map_err(io::Error::other)?;
    // SAFETY: `value` is live for the call, which reads `len` bytes of it and keeps none of the pointer.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value.as_ptr().cast(), len) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_tcp_connection_is_refused() {
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(attach(one.as_fd()).is_err());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(attach(listener.as_fd()).is_err());
    }

    #[test]
    fn a_layer_that_is_listed_is_found() {
        let Ok(list) = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_ulp") else { return };
        let listed = list.split_whitespace().any(|ulp| ulp == "tls");
        let found = Layer::probe();
        eprintln!("listed: {listed}; found: {found:?}");
        assert!(found.is_some() || !listed, "it is listed and not found");
    }
}
