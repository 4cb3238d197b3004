//! rustls's own stream, blocking, at both ends, over aws-lc-rs. Its client resumes what its memory has, once for each
//! ticket; its server gives tickets and keeps nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::{ClientConfig, ClientConnection, HandshakeKind, ServerConfig, ServerConnection, StreamOwned};

use super::blocking::{self, Library};
use super::{Outcome, Plan};
use crate::contention::peers::{rustls_client, rustls_server, server_name};
use crate::setting::{Parties, Suite};

struct Both {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

pub(super) fn run(suite: Suite, parties: &Parties, plan: Plan) -> Result<Outcome, String> {
    let (mut client, mut server) = (rustls_client(suite, parties), rustls_server(suite, parties));
    if !plan.resume {
        client.resumption = Resumption::disabled();
    }
    server.ticketer = rustls::crypto::aws_lc_rs::Ticketer::new().map_err(|error| error.to_string())?;
    Ok(blocking::run(&Both { client: Arc::new(client), server: Arc::new(server) }, plan))
}

impl Library for Both {
    fn serve(&self, socket: TcpStream) {
        let connection = ServerConnection::new(Arc::clone(&self.server)).expect("rustls makes a server");
        let mut stream = StreamOwned::new(connection, socket);
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a byte comes");
        stream.write_all(&byte).expect("the client reads");
        assert_eq!(stream.read(&mut byte).expect("close_notify comes"), 0);
        stream.conn.send_close_notify();
        stream.flush().expect("the client still reads");
    }

    fn connect(&self, socket: TcpStream) -> (bool, Option<Vec<u8>>) {
        let connection = ClientConnection::new(Arc::clone(&self.client), server_name()).expect("rustls makes a client");
        let mut stream = StreamOwned::new(connection, socket);
        stream.write_all(b"x").expect("the server reads");
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("it comes back");
        assert_eq!(byte, *b"x");
        let resumed = stream.conn.handshake_kind() == Some(HandshakeKind::Resumed);
        stream.conn.send_close_notify();
        stream.flush().expect("the server reads");
        assert_eq!(stream.read(&mut byte).expect("close_notify comes"), 0);
        (resumed, None)
    }
}
