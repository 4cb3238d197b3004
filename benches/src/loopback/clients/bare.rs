//! The client of those who protect nothing.

use std::net::{SocketAddr, TcpStream};

use super::Client;
use crate::loopback::bare_ring::{BareRing, Done};
use crate::loopback::load::{Load, Now};
use crate::loopback::work::{EXPANSION, REQUEST, Work};

/// Bytes of a record's length, on a ring.
#[derive(Debug, Clone, Copy)]
pub struct Bare;

impl Client for Bare {
    fn run(&self, address: SocketAddr, load: &mut Load) {
        let connect = |_| TcpStream::connect(address).expect("the server listens");
        let sockets = (0..load.connections()).map(connect).collect();
        let mut ring = BareRing::new(sockets, load.record().len().max(REQUEST + EXPANSION));
        (0..load.connections()).for_each(|_| load.one_more());
        let mut done = Vec::with_capacity(1024);
        loop {
            match load.now() {
                Now::GoOn => {}
                Now::Begin => (0..load.active()).for_each(|which| begin(&mut ring, which, load)),
                Now::Drop => ring.shut_all(),
            }
            if ring.in_flight() == 0 {
                return;
            }
            ring.turn(&mut done);
            done.drain(..).for_each(|done| on(&mut ring, done, load));
        }
    }
}

fn begin(ring: &mut BareRing, which: usize, load: &mut Load) {
    match load.work() {
        Work::Answer => ask(ring, which, load),
        Work::Receive => {
            ring.memory(which).copy_from_slice(load.record());
            ring.send(which, 0, load.record().len());
        }
        Work::Send => ring.receive(which, 0),
    }
}

fn ask(ring: &mut BareRing, which: usize, load: &mut Load) {
    if let Some(request) = load.request(which) {
        ring.memory(which)[..REQUEST].copy_from_slice(request);
        ring.send(which, 0, REQUEST + EXPANSION);
    }
}

fn on(ring: &mut BareRing, done: Done, load: &mut Load) {
    match (done, load.work()) {
        (Done::Sent { which, to, end, .. }, Work::Answer) if to == end => ring.receive(which, 0),
        (Done::Sent { which, to, end, .. }, Work::Receive) if to == end => ring.send(which, 0, end),
        (Done::Sent { which, to, end, .. }, _) => ring.send(which, to, end),
        (Done::Received { which, from: _, to }, Work::Answer) if to == REQUEST + EXPANSION => {
            load.answered(which, &ring.memory(which)[..REQUEST]);
            ask(ring, which, load);
        }
        (Done::Received { which, from: _, to }, Work::Answer) => ring.receive(which, to),
        (Done::Received { which, from, to }, _) => {
            load.streamed(which, &ring.memory(which)[from..to]);
            ring.receive(which, 0);
        }
        (Done::Ended, _) => {}
    }
}
