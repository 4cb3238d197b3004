//! rustls by its buffered API.
//!
//! Tickets are those of the provider's `Ticketer`; clients keep them in their configuration, each for one use, and the
//! resumption brings the next.

use std::io::BufRead as _;
use std::io::Write as _;
use std::marker::PhantomData;
use std::ops::DerefMut;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ProducesTickets;
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, ConnectionCommon, Error, HandshakeKind, ProtocolVersion,
    RootCertStore, ServerConfig, ServerConnection, SideData, SupportedProtocolVersion,
};

use super::{Agreed, End, Group, Kit, Parties, Terms};
use crate::contender::Look;
use crate::setting::{SERVER_NAME, Version};
use crate::wire::Wire;

/// Sessions that clients keep.
const SESSIONS: usize = 64;

/// rustls over the provider `P`.
#[derive(Debug)]
pub struct Rustls<P> {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    provider: PhantomData<fn() -> P>,
}

/// Where rustls takes its cryptography from.
pub trait Provider {
    /// All of it.
    fn provider() -> CryptoProvider;

    /// The key exchange, if it has it.
    fn group(group: Group) -> Option<&'static dyn SupportedKxGroup>;

    /// What makes tickets, with keys of its own.
    ///
    /// # Errors
    ///
    /// If it has no random bytes.
    fn ticketer() -> Result<Arc<dyn ProducesTickets>, Error>;
}

/// The crate `aws-lc-rs`.
#[derive(Debug)]
pub struct AwsLcRs;

/// The crate `ring`.
#[derive(Debug)]
pub struct Ring;

impl Provider for AwsLcRs {
    fn provider() -> CryptoProvider {
        aws_lc_rs::default_provider()
    }

    fn group(group: Group) -> Option<&'static dyn SupportedKxGroup> {
        Some(match group {
            Group::X25519 => aws_lc_rs::kx_group::X25519,
            Group::X25519Mlkem768 => aws_lc_rs::kx_group::X25519MLKEM768,
        })
    }

    fn ticketer() -> Result<Arc<dyn ProducesTickets>, Error> {
        aws_lc_rs::Ticketer::new()
    }
}

impl Provider for Ring {
    fn provider() -> CryptoProvider {
        ring::default_provider()
    }

    fn group(group: Group) -> Option<&'static dyn SupportedKxGroup> {
        match group {
            Group::X25519 => Some(ring::kx_group::X25519),
            Group::X25519Mlkem768 => None,
        }
    }

    fn ticketer() -> Result<Arc<dyn ProducesTickets>, Error> {
        ring::Ticketer::new()
    }
}

impl<P: Provider> Kit for Rustls<P> {
    type Client = RustlsEnd<ClientConnection>;
    type Server = RustlsEnd<ServerConnection>;

    fn can(terms: &Terms) -> bool {
        P::group(terms.group).is_some()
    }

    fn new(terms: &Terms, parties: &Parties, sibling: Option<&Self>) -> Self {
        let ticketer = sibling.map(|sibling| Arc::clone(&sibling.server.ticketer));
        Self {
            client: Arc::new(client::<P>(terms, parties)),
            server: Arc::new(server::<P>(terms, parties, ticketer)),
            provider: PhantomData,
        }
    }

    fn client(&self) -> Self::Client {
        let name = ServerName::try_from(SERVER_NAME).expect("the server's name is a DNS name");
        let client = ClientConnection::new(Arc::clone(&self.client), name);
        RustlsEnd(client.expect("rustls makes a client"))
    }

    fn server(&self) -> Self::Server {
        RustlsEnd(ServerConnection::new(Arc::clone(&self.server)).expect("rustls makes a server"))
    }

    fn keep(&self, _client: &mut Self::Client) {}
}

fn client<P: Provider>(terms: &Terms, parties: &Parties) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let root = parties.root.to_der().expect("a certificate is made of bytes");
    roots.add(CertificateDer::from(root)).expect("rustls takes the authority");
    let mut config = ClientConfig::builder_with_provider(provider::<P>(terms))
        .with_protocol_versions(&[version(terms)])
        .expect("the provider knows the version")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption =
        if terms.resumption { Resumption::in_memory_sessions(SESSIONS) } else { Resumption::disabled() };
    config
}

fn server<P: Provider>(terms: &Terms, parties: &Parties, ticketer: Option<Arc<dyn ProducesTickets>>) -> ServerConfig {
    let chain = vec![CertificateDer::from(parties.leaf.to_der().expect("a certificate is made of bytes"))];
    let key = parties.key.private_key_to_pkcs8().expect("a key is made of bytes");
    let mut config = ServerConfig::builder_with_provider(provider::<P>(terms))
        .with_protocol_versions(&[version(terms)])
        .expect("the provider knows the version")
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::Pkcs8(key.into()))
        .expect("rustls takes the identity");
    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    config.send_tls13_tickets = usize::from(terms.resumption);
    if terms.resumption {
        config.ticketer = ticketer.unwrap_or_else(|| P::ticketer().expect("there are random bytes"));
    }
    config
}

fn provider<P: Provider>(terms: &Terms) -> Arc<CryptoProvider> {
    let mut provider = P::provider();
    let suites = [
        CipherSuite::TLS13_AES_128_GCM_SHA256,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    ];
    provider.cipher_suites.retain(|offered| suites.contains(&offered.suite()));
    provider.kx_groups = P::group(terms.group).into_iter().collect();
    Arc::new(provider)
}

fn version(terms: &Terms) -> &'static SupportedProtocolVersion {
    match terms.version {
        Version::Tls12 => &rustls::version::TLS12,
        Version::Tls13 => &rustls::version::TLS13,
    }
}

/// A connection of rustls.
#[derive(Debug)]
pub struct RustlsEnd<C>(C);

impl<C, S> RustlsEnd<C>
where
    C: DerefMut<Target = ConnectionCommon<S>>,
    S: SideData,
{
    fn receive(&mut self, from: &mut Wire) {
        while !from.is_empty() {
            self.0.read_tls(from).expect("the wire is not empty");
            self.0.process_new_packets().expect("the peer is honest");
        }
    }

    fn send(&mut self, to: &mut Wire) {
        while self.0.wants_write() {
            self.0.write_tls(to).expect("the wire takes all");
        }
    }
}

impl<C, S> End for RustlsEnd<C>
where
    C: DerefMut<Target = ConnectionCommon<S>>,
    S: SideData,
{
    fn go_on(&mut self, from: &mut Wire, to: &mut Wire) -> bool {
        self.receive(from);
        self.send(to);
        !self.0.is_handshaking()
    }

    fn agreed(&self) -> Agreed {
        let version = match self.0.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => Version::Tls13,
            Some(ProtocolVersion::TLSv1_2) => Version::Tls12,
            other => panic!("TLS 1.2 or 1.3, not {other:?}"),
        };
        let group = self.0.negotiated_key_exchange_group();
        let group = group.map(|group| Group::called(group.name().as_str().unwrap_or("a group without a name")));
        let resumed = match self.0.handshake_kind() {
            Some(HandshakeKind::Full) => false,
            Some(HandshakeKind::Resumed) => true,
            other => panic!("a full handshake or a resumption, not {other:?}"),
        };
        Agreed { version, group, resumed }
    }

    fn write(&mut self, plaintext: &[u8], to: &mut Wire) {
        let written = self.0.writer().write(plaintext).expect("the buffer has room");
        assert_eq!(written, plaintext.len(), "all is taken");
        self.send(to);
    }

    fn read(&mut self, from: &mut Wire, look: &mut Look<'_>) -> usize {
        let mut shown = 0;
        while !from.is_empty() {
            self.0.read_tls(from).expect("the wire is not empty");
            self.0.process_new_packets().expect("the peer is honest");
            let mut reader = self.0.reader();
            while let Ok(chunk) = reader.fill_buf() {
                let length = chunk.len();
                if length == 0 {
                    break;
                }
                look(chunk);
                reader.consume(length);
                shown += length;
            }
        }
        shown
    }

    fn close(&mut self, to: &mut Wire) {
        self.0.send_close_notify();
        self.send(to);
    }
}
