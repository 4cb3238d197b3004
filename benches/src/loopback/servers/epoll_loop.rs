//! The servers on epoll: one loop, non-blocking sockets, one system call to read a request and one to send its answer.

use std::net::{TcpListener, TcpStream};

use crate::loopback::epoll::{Epoll, Wish};
use crate::loopback::work::{Answer, Job, Sink};

/// One connection in the loop.
pub(super) trait Peer {
    /// Does all it can without waiting, and says what it waits for then.
    fn go_on(&mut self, which: usize, desk: &mut Desk<'_>) -> Wish;

    /// Its socket.
    fn socket(&self) -> &TcpStream;
}

/// What all connections of a loop share.
pub(super) struct Desk<'a> {
    pub(super) job: &'a Job,
    pub(super) answer: Answer,
    pub(super) sink: Sink,
    /// What streams repeat.
    pub(super) record: Box<[u8]>,
    /// Room for a record's plaintext.
    pub(super) buffer: Box<[u8]>,
}

impl<'a> Desk<'a> {
    fn new(job: &'a Job) -> Self {
        let (record, buffer) = (job.record(), job.record());
        Self { job, answer: Answer::new(), sink: Sink::new(job, job.connections), record, buffer }
    }
}

/// Serves on epoll; `admit` makes what is needed of a socket.
pub(super) fn serve<P: Peer>(listener: &TcpListener, job: &Job, mut admit: impl FnMut(TcpStream) -> P) {
    let mut epoll = Epoll::new();
    let mut desk = Desk::new(job);
    let mut peers: Vec<Option<(P, Wish)>> = Vec::with_capacity(job.connections);
    let (mut ready, mut ended) = (Vec::with_capacity(256), 0);
    // The listener's name is beyond all connections'.
    epoll.add(listener, job.connections, Wish::Read);
    while ended < job.connections {
        epoll.wait(None, &mut ready);
        for which in ready.drain(..) {
            if which == job.connections {
                let (socket, _) = listener.accept().expect("a connection");
                let peer = admit(socket);
                epoll.add(peer.socket(), peers.len(), Wish::Read);
                peers.push(Some((peer, Wish::Read)));
            } else if let Some((peer, before)) = &mut peers[which] {
                let wish = peer.go_on(which, &mut desk);
                if wish == Wish::End {
                    peers[which] = None;
                    ended += 1;
                } else if wish != std::mem::replace(before, wish) {
                    epoll.change(peer.socket(), which, wish);
                }
            }
        }
    }
}
