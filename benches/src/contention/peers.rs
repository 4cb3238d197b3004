//! Who is at the other end, and on what terms.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use openssl::ssl::{Ssl, SslContext, SslStream};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::setting::{Parties, SERVER_NAME, Suite, Version};

/// An echo on a socket of its own: OpenSSL in one thread, with blocking calls. It ends with its client.
pub(super) fn echo(listener: TcpListener, context: SslContext) -> JoinHandle<()> {
    thread::spawn(move || {
        let (socket, _) = listener.accept().expect("a client comes");
        socket.set_nodelay(true).expect("a TCP socket");
        let ssl = Ssl::new(&context).expect("OpenSSL has memory");
        let mut stream = SslStream::new(ssl, socket).expect("OpenSSL has memory");
        stream.accept().expect("the client is honest");
        let mut bytes = vec![0; 16_384];
        while let Ok(n @ 1..) = stream.read(&mut bytes) {
            if stream.write_all(&bytes[..n]).is_err() {
                break;
            }
        }
    })
}

/// The name of the server as rustls wants it.
pub(super) fn server_name() -> ServerName<'static> {
    ServerName::try_from(SERVER_NAME).expect("the server's name is a DNS name")
}

fn provider(suite: Suite) -> (Arc<rustls::crypto::CryptoProvider>, &'static rustls::SupportedProtocolVersion) {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    let (name, version) = match suite.version {
        Version::Tls12 => (rustls::CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, &rustls::version::TLS12),
        Version::Tls13 => (rustls::CipherSuite::TLS13_AES_128_GCM_SHA256, &rustls::version::TLS13),
    };
    provider.cipher_suites.retain(|offered| offered.suite() == name);
    (Arc::new(provider), version)
}

/// rustls as a client, over aws-lc-rs.
pub(super) fn rustls_client(suite: Suite, parties: &Parties) -> ClientConfig {
    let (provider, version) = provider(suite);
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(parties.authority.der())).expect("rustls takes the authority");
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version]);
    builder.expect("the provider knows the version").with_root_certificates(roots).with_no_client_auth()
}

/// rustls as a server, over aws-lc-rs.
pub(super) fn rustls_server(suite: Suite, parties: &Parties) -> ServerConfig {
    let (provider, version) = provider(suite);
    let chain = parties.server.chain_der().map(|link| CertificateDer::from(link).into_owned()).collect();
    let key = PrivateKeyDer::try_from(parties.server.key_der()).expect("the rig's key is PKCS#8").clone_key();
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[version]);
    let builder = builder.expect("the provider knows the version").with_no_client_auth();
    builder.with_single_cert(chain, key).expect("rustls takes the identity")
}
