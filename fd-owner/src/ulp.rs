//! TCP's `tls` layer (an "upper layer protocol", ULP): whether there is one, and giving it keys.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};

use arenatls_engine::{CryptoInfo, Direction, Takeover};
use libc::c_int;
use zeroize::Zeroizing;

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

/// What TCP had been given of a connection when the layer got the sending keys, to tell whether it has all since.
///
/// The layer takes records that TCP has no room for yet, and keeps them; a `shutdown` or `close` throws those away. Nothing
/// tells how many it has, but how long they would be can be reckoned.
#[derive(Debug)]
pub(crate) struct Mark {
    written: u64,
    sequence: u64,
    overhead: u64,
    len: usize,
}

impl Mark {
    /// Before `socket` gets `keys`.
    pub(crate) fn new(socket: BorrowedFd<'_>, keys: &CryptoInfo) -> Option<Mark> {
        let Written::So(written) = written(socket)? else { return None };
        let (sequence, overhead) = (keys.sequence(), keys.overhead() as u64);
        Some(Mark { written, sequence, overhead, len: keys.as_bytes().len() })
    }

    /// Whether TCP has all records that the layer made of the `plaintext` bytes since. Yes, too, if it takes none any more,
    /// or the kernel would not say.
    pub(crate) fn is_reached(&self, socket: BorrowedFd<'_>, plaintext: u64) -> bool {
        let mut info = Zeroizing::new([0; 64]);
        let (Some(Written::So(written)), Some(info)) =
            (written(socket), get(socket, libc::SOL_TLS, TLS_TX, &mut info[..self.len]))
        else {
            return true;
        };
        let Some(sequence) = info.last_chunk().copied().map(u64::from_be_bytes) else { return true };
        let records = sequence.wrapping_sub(self.sequence);
        written.wrapping_sub(self.written) >= plaintext.wrapping_add(records.wrapping_mul(self.overhead))
    }
}

enum Written {
    /// Bytes, from a beginning that does not matter.
    So(u64),
    /// The connection is no more.
    Over,
}

/// How much TCP was given to send.
fn written(socket: BorrowedFd<'_>) -> Option<Written> {
    // linux/tcp.h: `tcpi_state` and `tcpi_bytes_acked` of `tcp_info`.
    const ACKED: std::ops::Range<usize> = 120..128;
    const CLOSED: u8 = 7;
    let mut info = [0; 128];
    let info = get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
    if info.first() == Some(&CLOSED) {
        return Some(Written::Over);
    }
    let acked = u64::from_ne_bytes(info.get(ACKED)?.try_into().ok()?);
    // Asked for after that: what is acknowledged in between is missing in the sum, and never in it twice.
    let mut waiting: c_int = 0;
    // SAFETY: `waiting` is live, and the request writes one int to it (`SIOCOUTQ`, of the same number).
    let asked = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut waiting) };
    (asked == 0).then(|| Written::So(acked + u64::from(waiting.unsigned_abs())))
}

/// As much of the option's value as fits and there is.
fn get<'v>(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: &'v mut [u8]) -> Option<&'v [u8]> {
    let mut len = libc::socklen_t::try_from(value.len()).ok()?;
    // SAFETY: `value` is live for the call, which writes at most `len` bytes to it and keeps none of the pointers.
    let done = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut len) };
    if done == 0 { value.get(..usize::try_from(len).ok()?) } else { None }
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
