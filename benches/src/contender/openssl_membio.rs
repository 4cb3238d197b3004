//! The `openssl` crate's `Ssl` over memory BIOs, driven through openssl-sys: the usual way to OpenSSL without sockets.
//!
//! Settings: those of [`Setting::openssl_client`]. Draining looks at the ciphertext where it lies in the BIO
//! (`BIO_get_mem_data`), pushes it from there and resets the BIO, which is faster than `BIO_read` at every size.

use std::ffi::{c_char, c_int};
use std::ptr;

use foreign_types::ForeignType;
use openssl::ssl::Ssl;
use openssl_sys as ffi;

use super::{Contender, Look, MAX_PLAINTEXT, MAX_RECORD};
use crate::setting::{SERVER_NAME, Setting};
use crate::wire::Wire;

/// `BIO_CTRL_RESET` (`openssl/bio.h`; openssl-sys does not declare it).
const BIO_CTRL_RESET: c_int = 1;

struct Pair {
    client: End,
    server: End,
    ciphertext: Box<[u8]>,
    plaintext: Box<[u8]>,
}

/// An `SSL` with its two memory BIOs, which it owns.
struct End {
    ssl: Ssl,
    input: *mut ffi::BIO,
    output: *mut ffi::BIO,
}

/// Makes a connected pair.
pub(super) fn connect(setting: &Setting<'_>) -> Box<dyn Contender> {
    let mut client = Ssl::new(&setting.openssl_client()).expect("OpenSSL makes a client");
    client.param_mut().set_host(SERVER_NAME).expect("the server's name is a host name");
    client.set_connect_state();
    let mut server = Ssl::new(&setting.openssl_server()).expect("OpenSSL makes a server");
    server.set_accept_state();
    let mut pair = Pair {
        client: End::new(client),
        server: End::new(server),
        ciphertext: vec![0; MAX_RECORD].into_boxed_slice(),
        plaintext: vec![0; MAX_PLAINTEXT].into_boxed_slice(),
    };
    pair.shake();
    Box::new(pair)
}

impl Pair {
    fn shake(&mut self) {
        let mut wire = Wire::new();
        while !(self.client.shake() & self.server.shake()) {
            for (from, to) in [(&self.client, &self.server), (&self.server, &self.client)] {
                from.drain(&mut wire);
                to.feed(&mut wire, &mut self.ciphertext);
                wire.reset();
            }
        }
    }
}

impl End {
    fn new(ssl: Ssl) -> Self {
        let (input, output) = (memory_bio(), memory_bio());
        // SAFETY: the `SSL` is live and has no BIOs yet; it takes both over, so they live as long as `ssl`.
        unsafe { ffi::SSL_set_bio(ssl.as_ptr(), input, output) };
        Self { ssl, input, output }
    }

    /// Goes on with the handshake (`SSL_do_handshake`); returns whether it is done.
    fn shake(&self) -> bool {
        // SAFETY: the `SSL` is live and nobody else uses it.
        let code = unsafe { ffi::SSL_do_handshake(self.ssl.as_ptr()) };
        if code == 1 {
            return true;
        }
        // SAFETY: the `SSL` is live, and `code` is what its last call returned.
        let error = unsafe { ffi::SSL_get_error(self.ssl.as_ptr(), code) };
        assert_eq!(error, ffi::SSL_ERROR_WANT_READ, "the handshake goes on");
        false
    }

    /// Pushes all ciphertext (`BIO_get_mem_data`), then empties the BIO (`BIO_reset`).
    #[inline]
    fn drain(&self, wire: &mut Wire) {
        let mut data: *mut c_char = ptr::null_mut();
        // SAFETY: the BIO is live and of memory; it stores where its data lie.
        let length = unsafe { ffi::BIO_get_mem_data(self.output, &mut data) };
        let length = usize::try_from(length).expect("a length");
        if length == 0 {
            return;
        }
        // SAFETY: the BIO holds `length` bytes there, until it is written to or reset.
        let ciphertext = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) };
        wire.push(ciphertext);
        // SAFETY: the BIO is live, and `ciphertext` is not used again.
        unsafe { ffi::BIO_ctrl(self.output, BIO_CTRL_RESET, 0, ptr::null_mut()) };
    }

    /// Pulls what there is and gives it to the BIO (`BIO_write`).
    #[inline]
    fn feed(&self, wire: &mut Wire, scratch: &mut [u8]) {
        let length = wire.pull(scratch);
        if length == 0 {
            return;
        }
        let length = c_int::try_from(length).expect("a record's length");
        // SAFETY: the BIO is live; `scratch` holds `length` bytes, which the BIO copies.
        let taken = unsafe { ffi::BIO_write(self.input, scratch.as_ptr().cast(), length) };
        assert_eq!(taken, length, "a memory BIO takes all");
    }
}

impl Contender for Pair {
    fn write(&mut self, payload: &[u8], wire: &mut Wire) {
        let ssl = self.client.ssl.as_ptr();
        let length = c_int::try_from(payload.len()).expect("a record's length");
        // SAFETY: the `SSL` is live and nobody else uses it; `payload` holds `length` bytes.
        let written = unsafe { ffi::SSL_write(ssl, payload.as_ptr().cast(), length) };
        assert_eq!(written, length, "a record is taken whole");
        self.client.drain(wire);
    }

    fn read(&mut self, wire: &mut Wire, look: &mut Look<'_>) -> usize {
        self.server.feed(wire, &mut self.ciphertext);
        let ssl = self.server.ssl.as_ptr();
        let room = c_int::try_from(self.plaintext.len()).expect("a record's length");
        // SAFETY: the `SSL` is live and nobody else uses it; `plaintext` has `room` bytes.
        let read = unsafe { ffi::SSL_read(ssl, self.plaintext.as_mut_ptr().cast(), room) };
        assert!(read > 0, "a record is on the wire and opens");
        let length = usize::try_from(read).expect("a length");
        look(&self.plaintext[..length]);
        length
    }
}

fn memory_bio() -> *mut ffi::BIO {
    // SAFETY: the method is static.
    let method = unsafe { ffi::BIO_s_mem() };
    // SAFETY: the method is the one for memory.
    let bio = unsafe { ffi::BIO_new(method) };
    assert!(!bio.is_null(), "OpenSSL makes a BIO");
    bio
}
