//! arenatls in arena memory, under a hand-written epoll loop.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use arenatls_engine::{Connection, Event, Progress};
use arenatls_memory_bio::ArenaPool;
use openssl::ssl::Ssl;

use super::Server;
use super::epoll_loop::{self, Desk, Peer};
use crate::loopback::epoll::{Wish, share};
use crate::loopback::link::{BUDGET, Found, Left, Link};
use crate::loopback::work::{Job, Work};

pub(super) struct ArenaEpoll;

impl Server for ArenaEpoll {
    fn serve(&self, listener: TcpListener, job: &Arc<Job>) {
        let context = Job::setting().openssl_server();
        let pool = ArenaPool::with_limit(BUDGET, job.connections);
        epoll_loop::serve(&listener, job, |socket| {
            let ssl = Ssl::new(&context).expect("OpenSSL makes a server");
            let memory = pool.backend().expect("there is memory for all connections");
            let connection = Connection::accept(ssl, memory).expect("a server is made");
            Line { link: Link::new(connection, socket), handshaken: false, sent: 0 }
        });
    }
}

struct Line<'memory> {
    link: Link<'memory>,
    handshaken: bool,
    /// How much of a record of its stream it has sent.
    sent: usize,
}

impl Peer for Line<'_> {
    fn go_on(&mut self, which: usize, desk: &mut Desk<'_>) -> Wish {
        let sends = desk.job.work == Work::Send;
        let found = if sends && self.handshaken { Found::All } else { self.link.receive() };
        if found == Found::End {
            return Wish::End;
        }
        while self.poll(which, desk) {}
        if !self.handshaken && self.link.flush() == Left::Nothing {
            // A handshake is complete once its last flight has left.
            while self.poll(which, desk) {}
        }
        if sends && self.handshaken {
            return self.stream(desk);
        }
        match self.link.flush() {
            Left::Nothing => Wish::Read,
            Left::Some => Wish::Write,
            Left::ToNobody => Wish::End,
        }
    }

    fn socket(&self) -> &TcpStream {
        self.link.socket()
    }
}

impl Line<'_> {
    /// Handles the next event; false if there is none.
    fn poll(&mut self, which: usize, desk: &mut Desk<'_>) -> bool {
        match self.link.connection.poll_event().expect("the client is honest") {
            Some(Event::Plaintext(bytes)) if desk.job.work == Work::Receive => {
                desk.sink.take(desk.job, which, &bytes);
            }
            Some(Event::Plaintext(bytes)) => {
                desk.answer.to(&bytes);
                let written = self.link.connection.write(desk.answer.bytes()).expect("the client is well");
                assert_eq!(written, Progress::Done(desk.answer.bytes().len()), "there is room for one answer");
            }
            Some(Event::HandshakeComplete) => self.handshaken = true,
            Some(_) => {}
            None => return false,
        }
        true
    }

    fn stream(&mut self, desk: &Desk<'_>) -> Wish {
        share(|| {
            let rest = &desk.record[self.sent..];
            match self.link.connection.write(rest).expect("the client is well") {
                Progress::Done(n) => {
                    self.sent = (self.sent + n) % desk.record.len();
                    desk.job.has_moved(n);
                    None
                }
                Progress::Want(_) => match self.link.flush() {
                    Left::Nothing => None,
                    Left::Some => Some(Wish::Write),
                    Left::ToNobody => Some(Wish::End),
                },
            }
        })
    }
}
