//! rustls with aws-lc-rs by its buffered API, under a hand-written epoll loop.

use std::io::{BufRead as _, ErrorKind, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rustls::ServerConnection;

use super::Server;
use super::epoll_loop::{self, Desk, Peer};
use crate::contender::rustls_config::{self, AwsLcRs};
use crate::loopback::epoll::{Wish, share};
use crate::loopback::work::{Job, Work};

pub(super) struct RustlsEpoll;

impl Server for RustlsEpoll {
    fn serve(&self, listener: TcpListener, job: &Arc<Job>) {
        let config = rustls_config::server::<AwsLcRs>(&Job::setting());
        epoll_loop::serve(&listener, job, |socket| {
            socket.set_nodelay(true).expect("a TCP socket");
            socket.set_nonblocking(true).expect("a socket");
            let connection = ServerConnection::new(Arc::clone(&config)).expect("rustls makes a server");
            Line { connection, socket, sent: 0 }
        });
    }
}

struct Line {
    connection: ServerConnection,
    socket: TcpStream,
    /// How much of a record of its stream it has sent.
    sent: usize,
}

impl Peer for Line {
    fn go_on(&mut self, which: usize, desk: &mut Desk<'_>) -> Wish {
        let streams = desk.job.work == Work::Send && !self.connection.is_handshaking();
        if !streams && !self.receive(which, desk) {
            return Wish::End;
        }
        if desk.job.work == Work::Send && !self.connection.is_handshaking() {
            return self.stream(desk);
        }
        self.flush()
    }

    fn socket(&self) -> &TcpStream {
        &self.socket
    }
}

impl Line {
    /// Takes what the socket has; false if the client is gone.
    fn receive(&mut self, which: usize, desk: &mut Desk<'_>) -> bool {
        match self.connection.read_tls(&mut self.socket) {
            Ok(0) => return false,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
            Err(_) => return false,
            Ok(_) => {}
        }
        self.connection.process_new_packets().expect("the client is honest");
        loop {
            let mut reader = self.connection.reader();
            let Ok(bytes @ [_, ..]) = reader.fill_buf() else { return true };
            let length = bytes.len();
            let answers = desk.job.work == Work::Answer;
            if answers {
                desk.answer.to(bytes);
            } else {
                desk.sink.take(desk.job, which, bytes);
            }
            reader.consume(length);
            if answers {
                self.connection.writer().write_all(desk.answer.bytes()).expect("there is room for one answer");
            }
        }
    }

    fn flush(&mut self) -> Wish {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Wish::Write,
                Err(_) => return Wish::End,
            }
        }
        Wish::Read
    }

    fn stream(&mut self, desk: &Desk<'_>) -> Wish {
        share(|| {
            match self.flush() {
                Wish::Read => {}
                wish => return Some(wish),
            }
            let n = self.connection.writer().write(&desk.record[self.sent..]).expect("rustls takes some");
            self.sent = (self.sent + n) % desk.record.len();
            desk.job.has_moved(n);
            None
        })
    }
}
