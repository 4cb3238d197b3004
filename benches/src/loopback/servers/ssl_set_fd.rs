//! OpenSSL over a socket of its own (`SSL_set_fd`), under a hand-written epoll loop.
//!
//! With read-ahead one `read` brings header and body of a record; `SSL_has_pending` tells whether it brought more.

use std::ffi::c_int;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use foreign_types::ForeignType;
use openssl::error::ErrorStack;
use openssl::ssl::Ssl;
use openssl_sys as ffi;

use super::Server;
use super::epoll_loop::{self, Desk, Peer};
use crate::contender::openssl_set_fd::set_fd;
use crate::loopback::epoll::{Wish, share};
use crate::loopback::work::{Job, Work};

unsafe extern "C" {
    /// `openssl/ssl.h`; openssl-sys does not declare it.
    fn SSL_has_pending(ssl: *const ffi::SSL) -> c_int;
}

pub(super) struct SslSetFd;

impl Server for SslSetFd {
    fn serve(&self, listener: TcpListener, job: &Arc<Job>) {
        let context = Job::setting().openssl_server();
        epoll_loop::serve(&listener, job, |socket| {
            let mut ssl = Ssl::new(&context).expect("OpenSSL makes a server");
            ssl.set_accept_state();
            Line::new(ssl, socket)
        });
    }
}

struct Line {
    // Dropped first: it has the socket's descriptor, but does not own it.
    ssl: Ssl,
    socket: TcpStream,
    /// How much of a record of its stream it has sent.
    sent: usize,
}

/// What a call into OpenSSL came to.
enum Came {
    To(usize),
    Wait(Wish),
}

impl Line {
    fn new(ssl: Ssl, socket: TcpStream) -> Self {
        socket.set_nodelay(true).expect("a TCP socket");
        socket.set_nonblocking(true).expect("a socket");
        set_fd(&ssl, &socket);
        Self { ssl, socket, sent: 0 }
    }

    /// `SSL_read`, which does what is left of the handshake.
    fn read(&self, into: &mut [u8]) -> Came {
        let room = c_int::try_from(into.len()).expect("a record's length");
        // SAFETY: the `SSL` is live and nobody else uses it; `into` has `room` bytes.
        self.came(unsafe { ffi::SSL_read(self.ssl.as_ptr(), into.as_mut_ptr().cast(), room) })
    }

    /// `SSL_write`, likewise.
    fn write(&self, bytes: &[u8]) -> Came {
        let length = c_int::try_from(bytes.len()).expect("a record's length");
        // SAFETY: the `SSL` is live and nobody else uses it; `bytes` holds `length` bytes.
        self.came(unsafe { ffi::SSL_write(self.ssl.as_ptr(), bytes.as_ptr().cast(), length) })
    }

    fn came(&self, code: c_int) -> Came {
        if code > 0 {
            return Came::To(usize::try_from(code).expect("a length"));
        }
        // SAFETY: the `SSL` is live, and `code` is what its last call returned.
        let error = unsafe { ffi::SSL_get_error(self.ssl.as_ptr(), code) };
        match error {
            ffi::SSL_ERROR_WANT_READ => Came::Wait(Wish::Read),
            ffi::SSL_ERROR_WANT_WRITE => Came::Wait(Wish::Write),
            _ => {
                // The client is gone. What OpenSSL says of that is not to be taken for another connection's.
                drop(ErrorStack::get());
                Came::Wait(Wish::End)
            }
        }
    }

    fn has_more(&self) -> bool {
        // SAFETY: the `SSL` is live.
        unsafe { SSL_has_pending(self.ssl.as_ptr()) == 1 }
    }

    fn stream(&mut self, desk: &Desk<'_>) -> Wish {
        share(|| match self.write(&desk.record[self.sent..]) {
            Came::To(n) => {
                self.sent = (self.sent + n) % desk.record.len();
                desk.job.has_moved(n);
                None
            }
            Came::Wait(wish) => Some(wish),
        })
    }
}

impl Peer for Line {
    fn go_on(&mut self, which: usize, desk: &mut Desk<'_>) -> Wish {
        if desk.job.work == Work::Send {
            return self.stream(desk);
        }
        loop {
            let bytes = match self.read(&mut desk.buffer) {
                Came::To(n) => &desk.buffer[..n],
                Came::Wait(wish) => return wish,
            };
            if desk.job.work == Work::Receive {
                desk.sink.take(desk.job, which, bytes);
            } else {
                match self.write(bytes) {
                    Came::To(n) => assert_eq!(n, bytes.len(), "a socket takes an answer whole"),
                    Came::Wait(Wish::End) => return Wish::End,
                    Came::Wait(_) => panic!("a socket has room for one answer"),
                }
            }
            if !self.has_more() {
                return Wish::Read;
            }
        }
    }

    fn socket(&self) -> &TcpStream {
        &self.socket
    }
}
