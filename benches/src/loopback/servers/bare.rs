//! A ring without TLS: bytes of a record's length.

use std::net::TcpListener;
use std::sync::Arc;

use super::{Server, accept_all};
use crate::loopback::bare_ring::{BareRing, Done};
use crate::loopback::work::{EXPANSION, Job, REQUEST, Sink, Work};

pub(super) struct Bare;

impl Server for Bare {
    fn serve(&self, listener: TcpListener, job: &Arc<Job>) {
        let record = job.record();
        let mut ring = BareRing::new(accept_all(&listener, job), record.len());
        let mut sink = Sink::new(job, job.connections);
        for which in 0..job.connections {
            if job.work == Work::Send {
                ring.memory(which).copy_from_slice(&record);
                ring.send(which, 0, record.len());
            } else {
                ring.receive(which, 0);
            }
        }
        let mut done = Vec::with_capacity(1024);
        while ring.in_flight() > 0 {
            ring.turn(&mut done);
            done.drain(..).for_each(|done| on(&mut ring, done, job, &mut sink));
        }
    }
}

fn on(ring: &mut BareRing, done: Done, job: &Job, sink: &mut Sink) {
    match (done, job.work) {
        (Done::Received { which, from, to }, Work::Receive) => {
            sink.take(job, which, &ring.memory(which)[from..to]);
            ring.receive(which, 0);
        }
        (Done::Received { which, from: _, to }, _) if to < REQUEST + EXPANSION => ring.receive(which, to),
        (Done::Received { which, .. }, _) => ring.send(which, 0, REQUEST + EXPANSION),
        (Done::Sent { which, to, end, .. }, Work::Answer) if to == end => ring.receive(which, 0),
        (Done::Sent { which, from, to, end }, Work::Send) => {
            job.has_moved(to - from);
            ring.send(which, to % end, end);
        }
        (Done::Sent { which, to, end, .. }, _) => ring.send(which, to, end),
        (Done::Ended, _) => {}
    }
}
