//! Our connection against rustls, in both roles.

use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex};

use arenatls::{Connection, Event, Options};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::identity::Identity;
use arenatls_rig::mode::{authority, identity, usual_pool};
use openssl::ssl::{AlpnError, Ssl, SslContext, SslSession, SslSessionCacheMode, SslVersion, select_next_proto};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};

mod peer;

use peer::{Conversation, Peer, SUITES, converse};

/// rustls's end, and what it has read.
struct Rustls {
    connection: rustls::Connection,
    received: Vec<u8>,
}

impl Rustls {
    fn client(config: &Arc<ClientConfig>) -> Rustls {
        let name = "localhost".try_into().expect("a name");
        Rustls::over(ClientConnection::new(Arc::clone(config), name).expect("a client").into())
    }

    fn server(config: &Arc<ServerConfig>) -> Rustls {
        Rustls::over(ServerConnection::new(Arc::clone(config)).expect("a server").into())
    }

    fn over(mut connection: rustls::Connection) -> Rustls {
        connection.set_buffer_limit(None);
        Rustls { connection, received: Vec::new() }
    }
}

impl Peer for Rustls {
    fn handshake(&mut self) -> bool {
        !self.connection.is_handshaking()
    }

    fn write(&mut self, data: &[u8]) {
        self.connection.writer().write_all(data).expect("rustls writes");
    }

    fn read(&mut self) -> (Vec<u8>, bool) {
        let state = self.connection.process_new_packets().expect("rustls reads");
        (std::mem::take(&mut self.received), state.peer_has_closed())
    }

    fn update_keys(&mut self, _: bool) {
        // It never asks.
        self.connection.refresh_traffic_keys().expect("rustls updates its keys");
    }

    fn close(&mut self) {
        self.connection.send_close_notify();
    }

    fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.connection.read_tls(&mut bytes).expect("rustls takes ciphertext");
            let state = self.connection.process_new_packets().expect("rustls reads");
            // It holds no more than a record or so.
            let mut data = vec![0; state.plaintext_bytes_to_read()];
            self.connection.reader().read_exact(&mut data).expect("rustls holds so much");
            self.received.extend(data);
        }
    }

    fn take(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut bytes).expect("rustls gives ciphertext");
        }
        bytes
    }
}

/// rustls's suite for OpenSSL's name of it, alone.
fn provider(suite: &str) -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    let wanted = suite.replace("TLS_", "").replace("ECDHE-ECDSA-", "TLS_ECDHE_ECDSA_WITH_");
    // AES128-GCM of OpenSSL is AES_128_GCM of the registry.
    let wanted = wanted.replace('-', "_").replace("AES128", "AES_128").replace("AES256", "AES_256");
    provider.cipher_suites.retain(|suite| format!("{:?}", suite.suite()).replace("TLS13_", "").starts_with(&wanted));
    assert_eq!(provider.cipher_suites.len(), 1, "{suite}: {:?}", provider.cipher_suites);
    Arc::new(provider)
}

fn versions(version: SslVersion) -> &'static [&'static SupportedProtocolVersion] {
    static TLS12: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS12];
    static TLS13: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS13];
    if version == SslVersion::TLS1_3 { &TLS13 } else { &TLS12 }
}

fn roots() -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(authority().der())).expect("a root");
    Arc::new(roots)
}

fn chain(identity: &Identity) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let chain = identity.chain_der().map(|der| CertificateDer::from(der).into_owned()).collect();
    (chain, PrivateKeyDer::try_from(identity.key_der().to_vec()).expect("a key"))
}

/// What rustls's client is, but for what a test changes.
fn client_config(version: SslVersion, suite: &str, shown: Option<&Identity>) -> ClientConfig {
    let builder = ClientConfig::builder_with_provider(provider(suite)).with_protocol_versions(versions(version));
    let builder = builder.expect("versions").with_root_certificates(roots());
    match shown {
        None => builder.with_no_client_auth(),
        Some(shown) => {
            let (chain, key) = chain(shown);
            builder.with_client_auth_cert(chain, key).expect("an identity")
        }
    }
}

/// What rustls's server is, but for what a test changes.
fn server_config(version: SslVersion, suite: &str, is_mutual: bool) -> ServerConfig {
    let provider = provider(suite);
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions(version));
    let builder = builder.expect("versions");
    let (chain, key) = chain(identity());
    let builder = if is_mutual {
        let verifier = WebPkiClientVerifier::builder_with_provider(roots(), provider).build();
        builder.with_client_cert_verifier(verifier.expect("a verifier"))
    } else {
        builder.with_no_client_auth()
    };
    builder.with_single_cert(chain, key).expect("an identity")
}

fn connect(
    context: &SslContext,
    session: Option<&SslSession>,
    options: Options,
    theirs: Rustls,
) -> Conversation<Rustls> {
    let mut ssl = Ssl::new(context).expect("an Ssl");
    if let Some(session) = session {
        // SAFETY: both tests that resume keep one context for both connections.
        unsafe { ssl.set_session(session) }.expect("a session");
    }
    let backend = usual_pool().backend().expect("memory");
    let ours = Connection::connect_with(ssl, "localhost", backend, &options).expect("a client");
    Conversation::start(ours, theirs)
}

fn accept(context: &SslContext, options: Options, theirs: Rustls) -> Conversation<Rustls> {
    let backend = usual_pool().backend().expect("memory");
    let ours = Connection::accept_with(Ssl::new(context).expect("an Ssl"), backend, &options).expect("a server");
    Conversation::start(ours, theirs)
}

fn terms(version: SslVersion, suite: &'static str) -> Terms {
    Terms::default().version(version).suite(suite)
}

#[test]
fn our_client_and_its_server_understand_each_other() {
    converse(|version, suite, options| {
        let server = Arc::new(server_config(version, suite, false));
        connect(&contexts::client(authority(), &terms(version, suite)), None, options, Rustls::server(&server))
    });
}

#[test]
fn our_server_and_its_client_understand_each_other() {
    converse(|version, suite, options| {
        let client = Arc::new(client_config(version, suite, None));
        accept(&contexts::server(identity(), &terms(version, suite)), options, Rustls::client(&client))
    });
}

#[test]
fn its_server_resumes_our_sessions() {
    for (version, suite) in SUITES {
        let server = Arc::new(server_config(version, suite, false));
        let newest = Arc::new(Mutex::new(None));
        let mut builder = contexts::client_builder(authority(), &terms(version, suite));
        builder.set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL_STORE);
        let slot = Arc::clone(&newest);
        builder.set_new_session_callback(move |_, session| *slot.lock().expect("a session") = Some(session));
        let context = builder.build();
        for resumed in [false, true] {
            let session = newest.lock().expect("a session").take();
            assert_eq!(session.is_some(), resumed, "{suite}");
            let mut both = connect(&context, session.as_ref(), Options::default(), Rustls::server(&server));
            assert_eq!(both.ours.ssl().session_reused(), resumed, "{suite}");
            assert_eq!(both.theirs.connection.handshake_kind(), Some(kind(resumed)), "{suite}");
            // OpenSSL does not resume the session of a connection that did not end well.
            both.end(true);
        }
    }
}

#[test]
fn its_client_resumes_our_sessions() {
    for (version, suite) in SUITES {
        let client = Arc::new(client_config(version, suite, None));
        let context = contexts::server(identity(), &terms(version, suite));
        for resumed in [false, true] {
            let both = accept(&context, Options::default(), Rustls::client(&client));
            assert_eq!(both.ours.ssl().session_reused(), resumed, "{suite}");
            assert_eq!(both.theirs.connection.handshake_kind(), Some(kind(resumed)), "{suite}");
        }
    }
}

fn kind(resumed: bool) -> rustls::HandshakeKind {
    if resumed { rustls::HandshakeKind::Resumed } else { rustls::HandshakeKind::Full }
}

#[test]
fn alpn_is_agreed_on_in_both_roles() {
    for (version, suite) in [SUITES[0], SUITES[3]] {
        let mut server = server_config(version, suite, false);
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut builder = contexts::client_builder(authority(), &terms(version, suite));
        builder.set_alpn_protos(b"\x01x\x08http/1.1").expect("protocols");
        let both = connect(&builder.build(), None, Options::default(), Rustls::server(&Arc::new(server)));
        assert_eq!(both.ours.ssl().selected_alpn_protocol(), Some(&b"http/1.1"[..]));
        assert_eq!(both.theirs.connection.alpn_protocol(), Some(&b"http/1.1"[..]));

        let mut client = client_config(version, suite, None);
        client.alpn_protocols = vec![b"x".to_vec(), b"h2".to_vec()];
        let mut builder = contexts::server_builder(identity(), &terms(version, suite));
        let ours = b"\x08http/1.1\x02h2";
        builder.set_alpn_select_callback(|_, theirs| select_next_proto(ours, theirs).ok_or(AlpnError::ALERT_FATAL));
        let both = accept(&builder.build(), Options::default(), Rustls::client(&Arc::new(client)));
        assert_eq!(both.ours.ssl().selected_alpn_protocol(), Some(&b"h2"[..]));
        assert_eq!(both.theirs.connection.alpn_protocol(), Some(&b"h2"[..]));
    }
}

#[test]
fn client_certificates_are_shown_and_checked_in_both_roles() {
    let somebody = authority().client("somebody");
    for (version, suite) in [SUITES[0], SUITES[3]] {
        let terms = terms(version, suite);
        let server = Arc::new(server_config(version, suite, true));
        let context = contexts::mutual_client(authority(), &somebody, &terms);
        let both = connect(&context, None, Options::default(), Rustls::server(&server));
        let shown = both.theirs.connection.peer_certificates().expect("a certificate");
        assert_eq!(&*shown[0], somebody.leaf_der());

        let client = Arc::new(client_config(version, suite, Some(&somebody)));
        let context = contexts::mutual_server(identity(), authority(), &terms);
        let both = accept(&context, Options::default(), Rustls::client(&client));
        let shown = both.ours.ssl().peer_certificate().expect("a certificate");
        assert_eq!(shown.to_der().expect("DER"), somebody.leaf_der());
    }
}

#[test]
fn nothing_is_reported_before_its_time() {
    // A handshake in lock step: our client is done only when its last flight has left.
    let server = Arc::new(server_config(SUITES[0].0, SUITES[0].1, false));
    let context = contexts::client(authority(), &terms(SUITES[0].0, SUITES[0].1));
    let backend = usual_pool().backend().expect("memory");
    let mut ours = Connection::connect(Ssl::new(&context).expect("an Ssl"), "localhost", backend).expect("a client");
    let mut theirs = Rustls::server(&server);
    assert!(ours.poll_event().expect("a hello").is_none());
    theirs.feed(&arenatls_rig::pair::take_output(&mut ours));
    let flight = theirs.take();
    assert_eq!(arenatls_rig::pair::feed(&mut ours, &flight), flight.len());
    assert!(ours.poll_event().expect("the flight").is_none(), "its Finished has not left");
    theirs.feed(&arenatls_rig::pair::take_output(&mut ours));
    assert!(matches!(ours.poll_event(), Ok(Some(Event::HandshakeComplete))));
    assert!(!theirs.connection.is_handshaking());
}
