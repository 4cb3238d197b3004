//! s2n-tls over callbacks. What is agreed follows from policies, which are lists by name; a client of the policy with
//! ML-KEM sends a second key share, of X25519 alone, as the others do not.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use s2n_tls::config::Config;
use s2n_tls::connection::Connection;
use s2n_tls::enums::{Mode, Version as S2nVersion};

use super::{Agreed, End, Group, Kit, Parties, Terms};
use crate::contender::{Look, MAX_PLAINTEXT};
use crate::s2n;
use crate::setting::{SERVER_NAME, Version};
use crate::wire::Wire;

/// s2n-tls.
#[derive(Debug)]
pub struct S2nTls {
    client: Config,
    server: Config,
    ticket_key: [u8; 32],
    /// Empty, or a session as s2n-tls writes it.
    session: Mutex<Vec<u8>>,
}

impl Kit for S2nTls {
    type Client = S2nEnd;
    type Server = S2nEnd;

    fn can(terms: &Terms) -> bool {
        terms.version == Version::Tls13 || terms.group == Group::X25519
    }

    fn new(terms: &Terms, parties: &Parties, sibling: Option<&Self>) -> Self {
        let mut ticket_key = [0; 32];
        match sibling {
            Some(sibling) => ticket_key = sibling.ticket_key,
            None => openssl::rand::rand_bytes(&mut ticket_key).expect("OpenSSL has random bytes"),
        }
        Self {
            client: client(terms, parties),
            server: server(terms, parties, &ticket_key),
            ticket_key,
            session: Mutex::default(),
        }
    }

    fn client(&self) -> S2nEnd {
        let mut connection = s2n::connection(Mode::Client);
        connection.set_config(self.client.clone()).expect("it is for clients");
        connection.set_server_name(SERVER_NAME).expect("the server's name is a host name");
        let session = self.session();
        if !session.is_empty() {
            connection.set_session_ticket(&session).expect("s2n-tls takes the session");
        }
        S2nEnd { connection, done: false }
    }

    fn server(&self) -> S2nEnd {
        let mut connection = s2n::connection(Mode::Server);
        connection.set_config(self.server.clone()).expect("it is for servers");
        S2nEnd { connection, done: false }
    }

    fn keep(&self, client: &mut S2nEnd) {
        let length = client.connection.session_ticket_length().expect("there is a session");
        let mut session = self.session();
        session.resize(length, 0);
        client.connection.session_ticket(&mut session).expect("s2n-tls writes the session");
    }
}

impl S2nTls {
    fn session(&self) -> MutexGuard<'_, Vec<u8>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn client(terms: &Terms, parties: &Parties) -> Config {
    let mut builder = s2n::builder(policies(terms).0);
    let root = parties.root.to_pem().expect("a certificate is made of bytes");
    builder.trust_pem(&root).expect("s2n-tls takes the authority");
    builder.enable_session_tickets(terms.resumption).expect("s2n-tls knows tickets");
    builder.build().expect("s2n-tls makes a configuration")
}

fn server(terms: &Terms, parties: &Parties, ticket_key: &[u8]) -> Config {
    let mut builder = s2n::builder(policies(terms).1);
    let leaf = parties.leaf.to_pem().expect("a certificate is made of bytes");
    let key = parties.key.private_key_to_pem_pkcs8().expect("a key is made of bytes");
    builder.load_pem(&leaf, &key).expect("s2n-tls takes the identity");
    if terms.resumption {
        // A key is good from the second after its introduction.
        let introduced = SystemTime::now() - Duration::from_secs(2);
        builder.add_session_ticket_key(b"bench", ticket_key, introduced).expect("s2n-tls takes a ticket key");
    }
    builder.build().expect("s2n-tls makes a configuration")
}

/// The client's and the server's.
fn policies(terms: &Terms) -> (&'static str, &'static str) {
    match (terms.version, terms.group) {
        (Version::Tls12, _) => ("20240501", "AWS-CRT-SDK-TLSv1.2"),
        (Version::Tls13, Group::X25519) => ("AWS-CRT-SDK-TLSv1.3", "AWS-CRT-SDK-TLSv1.3"),
        (Version::Tls13, Group::X25519Mlkem768) => ("AWS-CRT-SDK-TLSv1.3-2025-PQ", "AWS-CRT-SDK-TLSv1.3-2025-PQ"),
    }
}

/// A connection of s2n-tls.
#[derive(Debug)]
pub struct S2nEnd {
    connection: Connection,
    done: bool,
}

impl End for S2nEnd {
    fn go_on(&mut self, from: &mut Wire, to: &mut Wire) -> bool {
        if !self.done {
            let done = s2n::over(&mut self.connection, from, to, |end| end.poll_negotiate().map_ok(drop));
            self.done = done.is_some();
        }
        if self.done && !from.is_empty() {
            let came = s2n::over(&mut self.connection, from, to, |end| end.poll_recv(&mut [0]));
            assert_eq!(came.unwrap_or(0), 0, "nothing but tickets and close_notify comes");
        }
        self.done
    }

    fn agreed(&self) -> Agreed {
        let version = match self.connection.actual_protocol_version().expect("there is one") {
            S2nVersion::TLS13 => Version::Tls13,
            S2nVersion::TLS12 => Version::Tls12,
            other => panic!("TLS 1.2 or 1.3, not {other:?}"),
        };
        let resumed = self.connection.resumed();
        let exchanged = version == Version::Tls13 || !resumed;
        let group = self.connection.selected_key_exchange_group().filter(|_| exchanged);
        Agreed { version, group: group.map(Group::called), resumed }
    }

    fn write(&mut self, plaintext: &[u8], to: &mut Wire) {
        let sent = s2n::over(&mut self.connection, &mut Wire::default(), to, |end| end.poll_send(plaintext));
        assert_eq!(sent, Some(plaintext.len()), "all is taken");
    }

    fn read(&mut self, from: &mut Wire, look: &mut Look<'_>) -> usize {
        let (mut room, mut shown) = ([0; MAX_PLAINTEXT], 0);
        let mut back = Wire::default();
        while let Some(length) = s2n::over(&mut self.connection, from, &mut back, |end| end.poll_recv(&mut room)) {
            if length == 0 {
                break;
            }
            look(&room[..length]);
            shown += length;
        }
        shown
    }

    fn close(&mut self, to: &mut Wire) {
        let closed =
            s2n::over(&mut self.connection, &mut Wire::default(), to, |end| end.poll_shutdown_send().map_ok(drop));
        assert!(closed.is_some(), "close_notify is said");
    }

    fn rest(&mut self) {
        self.connection.release_buffers().expect("nothing waits in them");
    }
}
