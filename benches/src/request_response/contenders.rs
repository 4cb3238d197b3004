//! Who takes part: arenatls over each backend, and its peers over a socket of their own.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::DerefMut;
use std::sync::Arc;

use arenatls_engine::Options;
use arenatls_rig::talk::{Make, Role, Talker, over_a_ring, over_plain_sockets};
use openssl::ssl::{Ssl, SslContext, SslStream};
use rustls::{ClientConnection, ConnectionCommon, ServerConnection, SideData, StreamOwned};

use super::speech::Speech;
use crate::contender::rustls_config::{self, AwsLcRs, Provider, Ring};
use crate::setting::{Parties, SERVER_NAME, Setting, Suite};

/// An entry of the list.
pub(super) struct Contender {
    /// As reports name it.
    pub(super) name: &'static str,
    /// True for arenatls.
    pub(super) ours: bool,
    /// Makes its ends.
    pub(super) make: Make,
}

/// Whoever speaks so, ourselves first; the ring only where there is one.
pub(super) fn contenders(speech: &Speech, parties: &Parties, with_ring: bool) -> Vec<Contender> {
    let contexts = speech.contexts(parties);
    let with = |over: Connect| -> Make {
        let contexts = contexts.clone();
        Arc::new(move |socket, role| over(socket, role, if role == Role::Client { &contexts.0 } else { &contexts.1 }))
    };
    let mut list = vec![Contender { name: "arenatls, arena", ours: true, make: with(arena) }];
    if with_ring {
        list.push(Contender { name: "arenatls, ring", ours: true, make: with(ring) });
    }
    list.push(Contender { name: "openssl SslStream", ours: false, make: with(stream) });
    if let Some(suite) = speech.suite {
        list.push(Contender { name: "rustls aws-lc-rs", ours: false, make: rustls::<AwsLcRs>(suite, parties) });
        list.push(Contender { name: "rustls ring", ours: false, make: rustls::<Ring>(suite, parties) });
    }
    if speech.split {
        list.push(Contender { name: "a send a record (control)", ours: false, make: with(record_by_record) });
    }
    list
}

type Connect = fn(TcpStream, Role, &SslContext) -> Box<dyn Talker>;

fn arena(socket: TcpStream, role: Role, context: &SslContext) -> Box<dyn Talker> {
    over_plain_sockets(socket, role, context, &Options::default())
}

fn ring(socket: TcpStream, role: Role, context: &SslContext) -> Box<dyn Talker> {
    over_a_ring(socket, role, context, &Options::default())
}

/// A socket that counts its calls to send.
struct Counted {
    socket: TcpStream,
    sends: u64,
    /// Whether each record is sent by itself, as the library of the story did.
    apart: bool,
}

impl Counted {
    fn new(socket: TcpStream, apart: bool) -> Counted {
        Counted { socket, sends: 0, apart }
    }

    /// How much goes into the next call: all, or one record (RFC 8446 section 5.1: five bytes of header, the last two of
    /// which are the length of the rest).
    fn piece(&self, bytes: &[u8]) -> usize {
        match bytes {
            [_, _, _, high, low, ..] if self.apart => {
                bytes.len().min(5 + usize::from(u16::from_be_bytes([*high, *low])))
            }
            _ => bytes.len(),
        }
    }
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.socket.read(into) {
                // A ring of the same thread interrupts a call that has a time limit.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut sent = 0;
        while sent < bytes.len() {
            let end = sent + self.piece(&bytes[sent..]);
            sent += self.socket.write(&bytes[sent..end])?;
            self.sends += 1;
        }
        Ok(sent)
    }

    fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.sends += 1;
        self.socket.write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn stream(socket: TcpStream, role: Role, context: &SslContext) -> Box<dyn Talker> {
    openssl(Counted::new(socket, false), role, context)
}

fn record_by_record(socket: TcpStream, role: Role, context: &SslContext) -> Box<dyn Talker> {
    openssl(Counted::new(socket, true), role, context)
}

fn openssl(socket: Counted, role: Role, context: &SslContext) -> Box<dyn Talker> {
    let mut ssl = Ssl::new(context).expect("an Ssl");
    if role == Role::Client {
        ssl.param_mut().set_host(SERVER_NAME).expect("a host name");
    }
    let mut stream = SslStream::new(ssl, socket).expect("a stream");
    match role {
        Role::Client => stream.connect(),
        Role::Server => stream.accept(),
    }
    .expect("an honest peer");
    Box::new(Stream(stream))
}

fn rustls<P: Provider>(suite: Suite, parties: &Parties) -> Make {
    let setting = Setting { suite, parties };
    let (client, server) = (rustls_config::client::<P>(&setting), rustls_config::server::<P>(&setting));
    Arc::new(move |socket, role| match role {
        Role::Client => {
            let made = ClientConnection::new(Arc::clone(&client), rustls_config::server_name());
            shaken(made.expect("a client"), socket)
        }
        Role::Server => shaken(ServerConnection::new(Arc::clone(&server)).expect("a server"), socket),
    })
}

fn shaken<C, S>(connection: C, socket: TcpStream) -> Box<dyn Talker>
where
    C: DerefMut<Target = ConnectionCommon<S>> + 'static,
    S: SideData + 'static,
{
    let mut stream = StreamOwned::new(connection, Counted::new(socket, false));
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).expect("an honest peer");
    }
    Box::new(Stream(stream))
}

/// A peer's stream.
struct Stream<S>(S);

trait Over: Read + Write {
    fn socket(&self) -> &Counted;
}

impl Over for SslStream<Counted> {
    fn socket(&self) -> &Counted {
        self.get_ref()
    }
}

impl<C, S> Over for StreamOwned<C, Counted>
where
    C: DerefMut<Target = ConnectionCommon<S>>,
    S: SideData,
{
    fn socket(&self) -> &Counted {
        &self.sock
    }
}

impl<S: Over> Talker for Stream<S> {
    fn send(&mut self, plaintext: &[u8]) {
        self.0.write_all(plaintext).expect("a connection in traffic");
        self.0.flush().expect("a connection in traffic");
    }

    /// False if the peer is gone. Peers are dropped without a farewell.
    fn receive(&mut self, into: &mut [u8]) -> bool {
        self.0.read_exact(into).is_ok()
    }

    fn submissions(&self) -> u64 {
        self.0.socket().sends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_told_from_the_next() {
        let (socket, _peer) = arenatls_rig::talk::joined();
        let two = [&[23, 3, 1, 0, 2, 9, 9][..], &[23, 3, 1, 1, 0, 9]].concat();
        let apart = Counted::new(socket.try_clone().unwrap(), true);
        assert_eq!((apart.piece(&two), apart.piece(&two[7..])), (7, 6));
        assert_eq!(Counted::new(socket, false).piece(&two), two.len());
    }
}
