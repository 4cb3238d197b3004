//! Two joined sockets, and what the kernel counts of them.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;

/// Both ends of a connection over loopback, without TLS; Nagle's algorithm is on, as it is by default.
///
/// # Panics
///
/// If there is no such connection to be had.
#[must_use]
pub fn joined() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let client = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection to it");
    let (server, _) = listener.accept().expect("a connection from it");
    (client, server)
}

/// What has come in at a socket since its connection was made, as the kernel counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes of the stream.
    pub bytes: u64,
    /// Segments that carried any. Over loopback a submission becomes one, unless it waits for another or is too long.
    pub segments: u32,
}

impl Traffic {
    /// What came since `before`.
    #[must_use]
    pub fn since(self, before: Traffic) -> Traffic {
        Traffic { bytes: self.bytes - before.bytes, segments: self.segments.wrapping_sub(before.segments) }
    }
}

/// A look at somebody else's socket.
#[derive(Debug)]
pub struct Watch(TcpStream);

/// Bytes of Linux's `tcp_info` (`linux/tcp.h`) up to and with `tcpi_data_segs_out`, which came with 4.6; fields are only
/// ever added behind.
const TCP_INFO: usize = 160;
const BYTES_RECEIVED: usize = 128;
const DATA_SEGMENTS_IN: usize = 152;

impl Watch {
    /// Will watch `socket`.
    ///
    /// # Panics
    ///
    /// If the descriptor cannot be duplicated.
    #[must_use]
    pub fn of(socket: &TcpStream) -> Watch {
        Watch(socket.try_clone().expect("a descriptor for it"))
    }

    /// Has the socket send at once (`TCP_NODELAY`), or wait while a small segment is unacknowledged (Nagle's algorithm).
    ///
    /// # Panics
    ///
    /// If the socket has no such option.
    pub fn set_nagle(&self, on: bool) {
        self.0.set_nodelay(!on).expect("a socket of TCP");
    }

    /// What has come in so far.
    ///
    /// # Panics
    ///
    /// If the kernel does not tell.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let info = self.info();
        let number = |at: usize| u32::from_ne_bytes(info[at..at + 4].try_into().expect("four bytes"));
        let bytes = info[BYTES_RECEIVED..BYTES_RECEIVED + 8].try_into().expect("eight bytes");
        Traffic { bytes: u64::from_ne_bytes(bytes), segments: number(DATA_SEGMENTS_IN) }
    }

    fn info(&self) -> [u8; TCP_INFO] {
        let mut info = [0; TCP_INFO];
        let mut len = libc::socklen_t::try_from(TCP_INFO).expect("a short length");
        let (fd, value, room) = (self.0.as_raw_fd(), info.as_mut_ptr().cast(), &raw mut len);
        // SAFETY: `value` is writable for `len` bytes, and `room` points to that length; both live through the call.
        let code = unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, value, room) };
        assert!(code == 0 && len as usize == TCP_INFO, "TCP_INFO: {}", io::Error::last_os_error());
        info
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn a_watch_counts_what_comes_in() {
        let (mut client, mut server) = joined();
        client.set_nodelay(true).unwrap();
        let watch = Watch::of(&server);
        for n in 1..=3 {
            client.write_all(&[7; 100]).unwrap();
            server.read_exact(&mut [0; 100]).unwrap();
            assert_eq!(watch.traffic(), Traffic { bytes: 100 * u64::from(n), segments: n });
        }
    }
}
