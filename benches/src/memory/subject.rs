//! The process that is measured: it has nothing but servers.

use std::io;
use std::thread;
use std::time::Duration;

use super::frame::Op;
use super::holder::Holder;
use super::reading::Reading;
use super::{PAYLOAD, Readings};
use crate::ends::{Certificate, End, Kit, Parties, Terms};
use crate::payload;
use crate::wire::Wire;

/// How long idle connections are left alone before they are measured, where nothing happens by a clock.
const IDLE: Duration = Duration::from_millis(50);

/// So many servers in memory, their ciphertext carried to the holder and back.
pub(super) fn in_memory<K: Kit>(connections: usize) -> io::Result<Readings> {
    let parties = Parties::new(Certificate::P256);
    let kit = || K::new(&Terms::USUAL, &parties, None);
    let mut course = Course {
        kit: kit(),
        holder: Holder::start(&parties)?,
        wires: [Wire::new(), Wire::new()],
        plaintext: Vec::with_capacity(PAYLOAD),
    };
    // What a library makes once, it makes now; what a kit keeps of its connections (a pool's blocks), it keeps later.
    let mut first = course.connect(0)?;
    course.echo(0, &mut first)?;
    drop(first);
    course.holder.ask(Op::Drop, 0, &[])?;
    course.kit = kit();
    Reading::now();
    let before = Reading::now();
    let mut servers = Vec::with_capacity(connections);
    for index in 0..connections {
        servers.push(course.connect(index)?);
    }
    let shaken = Reading::now();
    servers.iter_mut().for_each(End::rest);
    thread::sleep(IDLE);
    let idle = Reading::now();
    for (index, server) in servers.iter_mut().enumerate() {
        course.echo(index, server)?;
    }
    let echoed = Reading::now();
    drop(servers);
    let dropped = Reading::now();
    Ok([shaken, idle, echoed, dropped].map(|reading| reading.since(before)))
}

struct Course<K> {
    kit: K,
    holder: Holder,
    wires: [Wire; 2],
    plaintext: Vec<u8>,
}

impl<K: Kit> Course<K> {
    /// A server, after its handshake with the holder's client of that index.
    fn connect(&mut self, index: usize) -> io::Result<K::Server> {
        let mut server = self.kit.server();
        let mut said = self.holder.ask(Op::Hello, index, &[])?;
        let [there, back] = &mut self.wires;
        let mut done = false;
        while !said.is_empty() {
            [&mut *there, &mut *back].into_iter().for_each(Wire::reset);
            there.push(&said);
            done |= server.go_on(there, back);
            said = if back.is_empty() { Vec::new() } else { self.holder.ask(Op::Feed, index, &all_of(back))? };
        }
        assert!(done, "the handshake is done");
        assert_eq!(server.agreed(), Terms::USUAL.expected(false));
        Ok(server)
    }

    /// The client writes, the server reads and writes it back, the client finds what it wrote.
    fn echo(&mut self, index: usize, server: &mut K::Server) -> io::Result<()> {
        let written = self.holder.ask(Op::Write, index, &[])?;
        let [there, back] = &mut self.wires;
        [&mut *there, &mut *back].into_iter().for_each(Wire::reset);
        there.push(&written);
        self.plaintext.clear();
        server.read(there, &mut |piece| self.plaintext.extend_from_slice(piece));
        assert!(self.plaintext[..] == payload::of(PAYLOAD)[..], "what was sent comes out");
        server.write(&self.plaintext, back);
        self.holder.ask(Op::Read, index, &all_of(back)).map(drop)
    }
}

fn all_of(wire: &mut Wire) -> Vec<u8> {
    let mut all = vec![0; wire.len()];
    wire.pull(&mut all);
    all
}
