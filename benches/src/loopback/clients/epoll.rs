//! The client of all who speak TLS where there is no io_uring: arenatls in arena memory under an epoll loop.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use arenatls_engine::{Connection, Event, Progress};
use arenatls_memory_bio::ArenaPool;
use openssl::ssl::{Ssl, SslContext};

use super::{Client, OPENING};
use crate::loopback::epoll::{self, Wish, share};
use crate::loopback::link::{BUDGET, Found, Left, Link};
use crate::loopback::load::{Load, Now};
use crate::loopback::work::{Job, Work};
use crate::setting::SERVER_NAME;

/// It looks at the time so often, at least.
const PULSE: Duration = Duration::from_millis(20);

/// arenatls in arena memory, on epoll.
#[derive(Debug, Clone, Copy)]
pub struct Epoll;

impl Client for Epoll {
    fn run(&self, address: SocketAddr, load: &mut Load) {
        let context = Job::setting().openssl_client();
        let pool = ArenaPool::with_limit(BUDGET, load.connections());
        let mut epoll = epoll::Epoll::new();
        let mut lines: Vec<Line<'_>> = Vec::with_capacity(load.connections());
        let mut ready = Vec::with_capacity(256);
        loop {
            while lines.len() < load.connections() && lines.len() - load.ready() < OPENING {
                let mut line = Line::open(address, &context, &pool);
                epoll.add(line.link.socket(), lines.len(), Wish::Read);
                line.go_on(lines.len(), load, &epoll);
                lines.push(line);
            }
            match load.now() {
                Now::GoOn => {}
                Now::Begin => (0..load.active()).for_each(|which| lines[which].begin(which, load, &epoll)),
                Now::Drop => return,
            }
            epoll.wait(Some(PULSE), &mut ready);
            for which in ready.drain(..) {
                assert_ne!(lines[which].link.receive(), Found::End, "the server goes on");
                lines[which].go_on(which, load, &epoll);
            }
        }
    }
}

struct Line<'memory> {
    link: Link<'memory>,
    wish: Wish,
    ready: bool,
    begun: bool,
    /// How much of a record of its stream it has sent.
    sent: usize,
}

impl<'memory> Line<'memory> {
    fn open(address: SocketAddr, context: &SslContext, pool: &'memory ArenaPool) -> Self {
        let socket = TcpStream::connect(address).expect("the server listens");
        let ssl = Ssl::new(context).expect("OpenSSL makes a client");
        let memory = pool.backend().expect("there is memory for all connections");
        let connection = Connection::connect(ssl, SERVER_NAME, memory).expect("a client is made");
        Line { link: Link::new(connection, socket), wish: Wish::Read, ready: false, begun: false, sent: 0 }
    }

    fn begin(&mut self, which: usize, load: &mut Load, epoll: &epoll::Epoll) {
        self.begun = true;
        if load.work() == Work::Answer {
            self.ask(which, load);
        }
        self.go_on(which, load, epoll);
    }

    fn go_on(&mut self, which: usize, load: &mut Load, epoll: &epoll::Epoll) {
        while self.poll(which, load) {}
        let mut left = self.link.flush();
        if !self.ready && left == Left::Nothing {
            // A handshake is complete once its last flight has left.
            while self.poll(which, load) {}
            left = self.link.flush();
        }
        let wish = match left {
            Left::Nothing if self.begun && load.work() == Work::Receive => self.stream(load),
            Left::Nothing => Wish::Read,
            Left::Some => Wish::Write,
            Left::ToNobody => panic!("the server goes on"),
        };
        if wish != std::mem::replace(&mut self.wish, wish) {
            epoll.change(self.link.socket(), which, wish);
        }
    }

    /// Handles the next event; false if there is none.
    fn poll(&mut self, which: usize, load: &mut Load) -> bool {
        match self.link.connection.poll_event().expect("the server is honest") {
            Some(Event::Plaintext(bytes)) if load.work() == Work::Send => load.streamed(which, &bytes),
            Some(Event::Plaintext(bytes)) => {
                load.answered(which, &bytes);
                self.ask(which, load);
            }
            Some(Event::HandshakeComplete) => {
                self.ready = true;
                load.one_more();
            }
            Some(_) => {}
            None => return false,
        }
        true
    }

    fn ask(&mut self, which: usize, load: &mut Load) {
        let Some(request) = load.request(which) else { return };
        let written = self.link.connection.write(request).expect("the server is well");
        assert_eq!(written, Progress::Done(request.len()), "there is room for one request");
    }

    fn stream(&mut self, load: &Load) -> Wish {
        let record = load.record();
        share(|| match self.link.connection.write(&record[self.sent..]).expect("the server is well") {
            Progress::Done(n) => {
                self.sent = (self.sent + n) % record.len();
                None
            }
            Progress::Want(_) => match self.link.flush() {
                Left::Nothing => None,
                Left::Some => Some(Wish::Write),
                Left::ToNobody => panic!("the server goes on"),
            },
        })
    }
}
