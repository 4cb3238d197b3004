//! The `openssl` crate's `Ssl` over memory BIOs, driven through openssl-sys.

use std::ffi::{c_char, c_int};
use std::marker::PhantomData;
use std::ptr;

use foreign_types::ForeignType;
use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslMode};
use openssl_sys as ffi;

use super::openssl_contexts::agreed;
use super::{Agreed, Contexts, End, Kit, Parties, Terms};
use crate::contender::{Look, MAX_PLAINTEXT};
use crate::setting::SERVER_NAME;
use crate::wire::Wire;

/// `BIO_CTRL_RESET` (`openssl/bio.h`; openssl-sys does not declare it).
const BIO_CTRL_RESET: c_int = 1;
/// `BIO_CTRL_PENDING` (`openssl/bio.h`; openssl-sys does not declare it).
const BIO_CTRL_PENDING: c_int = 10;

/// OpenSSL over memory BIOs.
#[derive(Debug)]
pub struct Openssl<M> {
    contexts: Contexts,
    mode: PhantomData<fn() -> M>,
}

/// How OpenSSL is to treat its buffers.
pub trait Mode {
    /// What is set beyond the usual.
    fn mode() -> SslMode;
}

/// As it does by itself.
#[derive(Debug)]
pub struct Usual;

/// Gives them back when they are empty (`SSL_MODE_RELEASE_BUFFERS`).
#[derive(Debug)]
pub struct WithoutIdleBuffers;

impl Mode for Usual {
    fn mode() -> SslMode {
        SslMode::empty()
    }
}

impl Mode for WithoutIdleBuffers {
    fn mode() -> SslMode {
        SslMode::RELEASE_BUFFERS
    }
}

/// An `SSL` with its two memory BIOs, which it owns.
#[derive(Debug)]
pub struct OpensslEnd {
    ssl: Ssl,
    input: *mut ffi::BIO,
    output: *mut ffi::BIO,
    done: bool,
}

impl<M: Mode> Kit for Openssl<M> {
    type Client = OpensslEnd;
    type Server = OpensslEnd;

    fn can(terms: &Terms) -> bool {
        Contexts::can(terms)
    }

    fn new(terms: &Terms, parties: &Parties, sibling: Option<&Self>) -> Self {
        let sibling = sibling.map(|sibling| &sibling.contexts);
        Self { contexts: Contexts::new(terms, parties, sibling, M::mode()), mode: PhantomData }
    }

    fn client(&self) -> OpensslEnd {
        let mut ssl = self.contexts.client();
        ssl.set_hostname(SERVER_NAME).expect("the server's name is a host name");
        ssl.param_mut().set_host(SERVER_NAME).expect("the server's name is a host name");
        ssl.set_connect_state();
        OpensslEnd::new(ssl)
    }

    fn server(&self) -> OpensslEnd {
        let mut ssl = self.contexts.server();
        ssl.set_accept_state();
        OpensslEnd::new(ssl)
    }

    fn keep(&self, client: &mut OpensslEnd) {
        self.contexts.keep(&client.ssl);
    }
}

impl OpensslEnd {
    fn new(ssl: Ssl) -> Self {
        let (input, output) = (memory_bio(), memory_bio());
        // SAFETY: the `SSL` is live and has no BIOs yet; it takes both over, so they live as long as `ssl`.
        unsafe { ffi::SSL_set_bio(ssl.as_ptr(), input, output) };
        Self { ssl, input, output, done: false }
    }

    /// `SSL_do_handshake`.
    fn shake(&mut self) {
        // SAFETY: the `SSL` is live and nobody else uses it.
        let code = unsafe { ffi::SSL_do_handshake(self.ssl.as_ptr()) };
        self.done = code == 1;
        if !self.done {
            let error = self.error(code);
            assert_eq!(error, ffi::SSL_ERROR_WANT_READ, "the handshake goes on: {}", ErrorStack::get());
        }
    }

    /// `SSL_read`; nothing when there is no more, or the peer has closed.
    fn open(&mut self, room: &mut [u8]) -> Option<usize> {
        let length = c_int::try_from(room.len()).expect("a record's length");
        // SAFETY: the `SSL` is live and nobody else uses it; `room` has `length` bytes.
        let code = unsafe { ffi::SSL_read(self.ssl.as_ptr(), room.as_mut_ptr().cast(), length) };
        if code > 0 {
            return usize::try_from(code).ok();
        }
        let error = self.error(code);
        assert!(matches!(error, ffi::SSL_ERROR_WANT_READ | ffi::SSL_ERROR_ZERO_RETURN), "it opens: {error}");
        None
    }

    fn error(&self, code: c_int) -> c_int {
        // SAFETY: the `SSL` is live, and `code` is what its last call returned.
        unsafe { ffi::SSL_get_error(self.ssl.as_ptr(), code) }
    }

    /// Gives all that came to the BIO (`BIO_write`), from where it lies.
    fn feed(&self, from: &mut Wire) {
        from.give(usize::MAX, |bytes| {
            let length = c_int::try_from(bytes.len()).expect("no more than a wire holds");
            // SAFETY: the BIO is live; `bytes` are that many, which the BIO copies.
            let taken = unsafe { ffi::BIO_write(self.input, bytes.as_ptr().cast(), length) };
            assert!(taken == length || length == 0, "a memory BIO takes all");
        });
    }

    /// Pushes all ciphertext (`BIO_get_mem_data`), then empties the BIO (`BIO_reset`).
    fn drain(&self, to: &mut Wire) {
        let mut data: *mut c_char = ptr::null_mut();
        // SAFETY: the BIO is live and of memory; it stores where its data lie.
        let length = unsafe { ffi::BIO_get_mem_data(self.output, &mut data) };
        let length = usize::try_from(length).expect("a length");
        if length == 0 {
            return;
        }
        // SAFETY: the BIO holds `length` bytes there, until it is written to or reset.
        let ciphertext = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) };
        to.push(ciphertext);
        // SAFETY: the BIO is live, and `ciphertext` is not used again.
        unsafe { ffi::BIO_ctrl(self.output, BIO_CTRL_RESET, 0, ptr::null_mut()) };
    }
}

impl End for OpensslEnd {
    fn go_on(&mut self, from: &mut Wire, to: &mut Wire) -> bool {
        self.feed(from);
        if !self.done {
            self.shake();
        }
        // SAFETY: the BIO is live; this control reads no argument and changes nothing.
        if self.done && unsafe { ffi::BIO_ctrl(self.input, BIO_CTRL_PENDING, 0, ptr::null_mut()) } > 0 {
            assert_eq!(self.open(&mut [0]), None, "nothing but tickets and close_notify comes");
        }
        self.drain(to);
        self.done
    }

    fn agreed(&self) -> Agreed {
        agreed(&self.ssl)
    }

    fn write(&mut self, plaintext: &[u8], to: &mut Wire) {
        let length = c_int::try_from(plaintext.len()).expect("no more than a wire holds");
        // SAFETY: the `SSL` is live and nobody else uses it; `plaintext` holds `length` bytes.
        let written = unsafe { ffi::SSL_write(self.ssl.as_ptr(), plaintext.as_ptr().cast(), length) };
        assert_eq!(written, length, "all is taken");
        self.drain(to);
    }

    fn read(&mut self, from: &mut Wire, look: &mut Look<'_>) -> usize {
        let (mut room, mut shown) = ([0; MAX_PLAINTEXT], 0);
        self.feed(from);
        while let Some(length) = self.open(&mut room) {
            look(&room[..length]);
            shown += length;
        }
        shown
    }

    fn close(&mut self, to: &mut Wire) {
        // SAFETY: the `SSL` is live and nobody else uses it.
        let code = unsafe { ffi::SSL_shutdown(self.ssl.as_ptr()) };
        assert!(code >= 0, "close_notify is said");
        self.drain(to);
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
