//! OpenSSL over sockets of its own (`SSL_set_fd`), through openssl-sys: what C programs do.
//!
//! Settings: those of [`Setting::openssl_client`]. The wire is not used. The sockets block, but never for long: a record
//! is there before it is read.

use std::ffi::c_int;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::thread;

use foreign_types::ForeignType;
use openssl::ssl::Ssl;
use openssl_sys as ffi;

use super::{Contender, Look, MAX_PLAINTEXT};
use crate::setting::{SERVER_NAME, Setting};
use crate::wire::Wire;

unsafe extern "C" {
    /// `openssl/ssl.h`; openssl-sys does not declare it.
    fn SSL_set_fd(ssl: *mut ffi::SSL, fd: c_int) -> c_int;
}

/// Lets OpenSSL read from a socket, and write to it, by itself (`SSL_set_fd`).
///
/// # Panics
///
/// Panics if OpenSSL refuses.
pub(crate) fn set_fd(ssl: &Ssl, socket: &TcpStream) {
    // SAFETY: the `SSL` is live. A descriptor is a number to it: should the socket be closed too early, its calls fail.
    let code = unsafe { SSL_set_fd(ssl.as_ptr(), socket.as_raw_fd()) };
    assert_eq!(code, 1, "OpenSSL takes a descriptor");
}

struct Pair {
    client: End,
    server: End,
    plaintext: Box<[u8]>,
}

struct End {
    ssl: Ssl,
    /// Dropped after the `SSL` that uses it.
    _socket: TcpStream,
}

/// Makes a connected pair.
pub(super) fn connect(setting: &Setting<'_>) -> Box<dyn Contender> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let near = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let far = listener.accept().expect("its other end").0;
    let mut client = Ssl::new(&setting.openssl_client()).expect("OpenSSL makes a client");
    client.param_mut().set_host(SERVER_NAME).expect("the server's name is a host name");
    client.set_connect_state();
    let mut server = Ssl::new(&setting.openssl_server()).expect("OpenSSL makes a server");
    server.set_accept_state();
    let (client, server) = (End::new(client, near), End::new(server, far));
    let server = thread::scope(|scope| {
        let server = scope.spawn(|| {
            server.shake();
            server
        });
        client.shake();
        server.join().expect("the server shakes hands")
    });
    Box::new(Pair { client, server, plaintext: vec![0; MAX_PLAINTEXT].into_boxed_slice() })
}

impl End {
    fn new(ssl: Ssl, socket: TcpStream) -> Self {
        socket.set_nodelay(true).expect("a TCP socket");
        set_fd(&ssl, &socket);
        Self { ssl, _socket: socket }
    }

    fn shake(&self) {
        // SAFETY: the `SSL` is live and nobody else uses it.
        let code = unsafe { ffi::SSL_do_handshake(self.ssl.as_ptr()) };
        assert_eq!(code, 1, "the handshake is done");
    }
}

impl Contender for Pair {
    fn write(&mut self, payload: &[u8], _wire: &mut Wire) {
        let length = c_int::try_from(payload.len()).expect("a record's length");
        // SAFETY: the `SSL` is live and nobody else uses it; `payload` holds `length` bytes.
        let written = unsafe { ffi::SSL_write(self.client.ssl.as_ptr(), payload.as_ptr().cast(), length) };
        assert_eq!(written, length, "a record is taken whole");
    }

    fn read(&mut self, _wire: &mut Wire, look: &mut Look<'_>) -> usize {
        let room = c_int::try_from(self.plaintext.len()).expect("a record's length");
        // SAFETY: the `SSL` is live and nobody else uses it; `plaintext` has `room` bytes.
        let read = unsafe { ffi::SSL_read(self.server.ssl.as_ptr(), self.plaintext.as_mut_ptr().cast(), room) };
        assert!(read > 0, "a record is there and opens");
        let length = usize::try_from(read).expect("a length");
        look(&self.plaintext[..length]);
        length
    }
}
