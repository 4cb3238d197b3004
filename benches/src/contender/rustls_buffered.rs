//! rustls by its buffered API: `writer`/`write_tls` and `read_tls`/`process_new_packets`/`reader`.
//!
//! Settings: no limit on its buffers. Reading borrows the plaintext from the connection (`BufRead`), which saves the
//! copy that `Read` would cost. How much `read_tls` takes at once (4 KiB) and when its buffers grow and shrink is
//! rustls's own choice and cannot be set.

use std::io::{BufRead, Write};

use rustls::{ClientConnection, ConnectionCommon, ServerConnection, SideData};

use super::rustls_config::{self, Provider};
use super::{Contender, Look};
use crate::setting::Setting;
use crate::wire::Wire;

struct Pair {
    client: ClientConnection,
    server: ServerConnection,
}

/// Makes a connected pair over the provider `P`.
pub(super) fn connect<P: Provider>(setting: &Setting<'_>) -> Box<dyn Contender> {
    let mut client = ClientConnection::new(rustls_config::client::<P>(setting), rustls_config::server_name())
        .expect("rustls makes a client");
    let mut server = ServerConnection::new(rustls_config::server::<P>(setting)).expect("rustls makes a server");
    client.set_buffer_limit(None);
    server.set_buffer_limit(None);
    shake(&mut client, &mut server);
    Box::new(Pair { client, server })
}

fn shake(client: &mut ClientConnection, server: &mut ServerConnection) {
    let (mut there, mut back) = (Wire::new(), Wire::new());
    while client.is_handshaking() || server.is_handshaking() {
        carry(client, &mut there, server);
        carry(server, &mut back, client);
    }
}

fn carry<A: SideData, B: SideData>(from: &mut ConnectionCommon<A>, wire: &mut Wire, to: &mut ConnectionCommon<B>) {
    wire.reset();
    while from.wants_write() {
        from.write_tls(wire).expect("the wire takes all");
    }
    while !wire.is_empty() {
        to.read_tls(wire).expect("the wire is not empty");
        to.process_new_packets().expect("the peer is honest");
    }
}

impl Contender for Pair {
    fn write(&mut self, payload: &[u8], wire: &mut Wire) {
        self.client.writer().write_all(payload).expect("the buffer has no limit");
        while self.client.wants_write() {
            self.client.write_tls(wire).expect("the wire takes all");
        }
    }

    fn read(&mut self, wire: &mut Wire, look: &mut Look<'_>) -> usize {
        loop {
            self.server.read_tls(wire).expect("a record is on the wire");
            let io = self.server.process_new_packets().expect("it opens");
            if io.plaintext_bytes_to_read() > 0 {
                break;
            }
        }
        self.show(look)
    }
}

impl Pair {
    fn show(&mut self, look: &mut Look<'_>) -> usize {
        let mut reader = self.server.reader();
        let mut shown = 0;
        while let Ok(chunk) = reader.fill_buf() {
            let length = chunk.len();
            look(chunk);
            reader.consume(length);
            shown += length;
        }
        shown
    }
}
