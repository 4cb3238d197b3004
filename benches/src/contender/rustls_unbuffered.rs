//! rustls by its unbuffered API: the caller owns the ciphertext buffers of both directions.
//!
//! Settings: none are there to be set. Records are sealed into one buffer of full size that is pushed to the wire, and
//! opened in another, which is moved up only where a partial record stays behind (never, with one record a segment).

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

use super::rustls_config::{self, Provider};
use super::{Contender, Look, MAX_RECORD};
use crate::setting::Setting;
use crate::wire::Wire;

struct Pair {
    client: End<UnbufferedClientConnection>,
    server: End<UnbufferedServerConnection>,
}

/// A connection with its ciphertext buffers.
struct End<C> {
    connection: C,
    incoming: Box<[u8]>,
    filled: usize,
    outgoing: Box<[u8]>,
}

/// A connection of either side, its state machine driven by one method.
trait Machine {
    type Data;
    fn process<'c, 'i>(&'c mut self, tls: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;
}

impl Machine for UnbufferedClientConnection {
    type Data = ClientConnectionData;
    fn process<'c, 'i>(&'c mut self, tls: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(tls)
    }
}

impl Machine for UnbufferedServerConnection {
    type Data = ServerConnectionData;
    fn process<'c, 'i>(&'c mut self, tls: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(tls)
    }
}

/// Makes a connected pair over the provider `P`.
pub(super) fn connect<P: Provider>(setting: &Setting<'_>) -> Box<dyn Contender> {
    let client = UnbufferedClientConnection::new(rustls_config::client::<P>(setting), rustls_config::server_name());
    let server = UnbufferedServerConnection::new(rustls_config::server::<P>(setting));
    let mut pair = Pair {
        client: End::new(client.expect("rustls makes a client")),
        server: End::new(server.expect("rustls makes a server")),
    };
    pair.shake();
    Box::new(pair)
}

impl Pair {
    fn shake(&mut self) {
        let (mut there, mut back) = (Wire::new(), Wire::new());
        loop {
            let client_done = self.client.step(&mut back, &mut there);
            let server_done = self.server.step(&mut there, &mut back);
            if client_done && server_done && there.is_empty() && back.is_empty() {
                return;
            }
        }
    }
}

impl<C: Machine> End<C> {
    fn new(connection: C) -> Self {
        Self {
            connection,
            incoming: vec![0; MAX_RECORD].into_boxed_slice(),
            filled: 0,
            outgoing: vec![0; MAX_RECORD].into_boxed_slice(),
        }
    }

    /// Shakes hands until there is nothing more to do now; returns whether application data may flow.
    fn step(&mut self, from: &mut Wire, to: &mut Wire) -> bool {
        loop {
            self.filled += from.pull(&mut self.incoming[self.filled..]);
            let tls = &mut self.incoming[..self.filled];
            let UnbufferedStatus { discard, state } = self.connection.process(tls);
            let next = match state.expect("the peer is honest") {
                ConnectionState::EncodeTlsData(mut data) => {
                    let length = data.encode(&mut self.outgoing).expect("it fits");
                    to.push(&self.outgoing[..length]);
                    None
                }
                ConnectionState::TransmitTlsData(data) => {
                    data.done();
                    None
                }
                ConnectionState::WriteTraffic(_) => Some(true),
                ConnectionState::BlockedHandshake => Some(false),
                other => panic!("no handshake leads to {other:?}"),
            };
            self.discard(discard);
            match next {
                Some(done) if from.is_empty() => return done,
                _ => {}
            }
        }
    }

    #[inline]
    fn discard(&mut self, length: usize) {
        if length < self.filled {
            self.incoming.copy_within(length..self.filled, 0);
        }
        self.filled -= length;
    }
}

impl Contender for Pair {
    fn write(&mut self, payload: &[u8], wire: &mut Wire) {
        let end = &mut self.client;
        let UnbufferedStatus { state, .. } = end.connection.process(&mut []);
        let ConnectionState::WriteTraffic(mut traffic) = state.expect("the pair is connected") else {
            panic!("a connected client may write");
        };
        let length = traffic.encrypt(payload, &mut end.outgoing).expect("the buffer holds a record");
        wire.push(&end.outgoing[..length]);
    }

    fn read(&mut self, wire: &mut Wire, look: &mut Look<'_>) -> usize {
        let end = &mut self.server;
        let mut shown = 0;
        while shown == 0 {
            let pulled = wire.pull(&mut end.incoming[end.filled..]);
            assert!(pulled > 0, "a record is on the wire");
            end.filled += pulled;
            let tls = &mut end.incoming[..end.filled];
            let UnbufferedStatus { mut discard, state } = end.connection.process(tls);
            if let ConnectionState::ReadTraffic(mut traffic) = state.expect("it opens") {
                while let Some(record) = traffic.next_record() {
                    let record = record.expect("it opens");
                    look(record.payload);
                    shown += record.payload.len();
                    discard += record.discard;
                }
            }
            end.discard(discard);
        }
        shown
    }
}
