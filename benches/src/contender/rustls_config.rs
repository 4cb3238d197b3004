//! What the rustls contenders share: providers and configurations.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{CipherSuite, ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};

use crate::setting::{Aead, SERVER_NAME, Setting, Suite, Version};

/// Where rustls takes its cryptography from.
pub(crate) trait Provider {
    /// The provider with all its suites.
    fn provider() -> CryptoProvider;
}

/// The crate `aws-lc-rs`.
pub(crate) struct AwsLcRs;

/// The crate `ring`.
pub(crate) struct Ring;

impl Provider for AwsLcRs {
    fn provider() -> CryptoProvider {
        rustls::crypto::aws_lc_rs::default_provider()
    }
}

impl Provider for Ring {
    fn provider() -> CryptoProvider {
        rustls::crypto::ring::default_provider()
    }
}

/// The client's configuration: it trusts the setting's authority and speaks the setting's suite alone.
pub(crate) fn client<P: Provider>(setting: &Setting<'_>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(setting.parties.authority.der())).expect("rustls takes the authority");
    let config = ClientConfig::builder_with_provider(provider::<P>(setting.suite))
        .with_protocol_versions(&[version(setting.suite)])
        .expect("the provider knows the version")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

/// The server's configuration. It sends no tickets: nothing but the measured records crosses the wire.
pub(crate) fn server<P: Provider>(setting: &Setting<'_>) -> Arc<ServerConfig> {
    let chain = setting.parties.server.chain_der();
    let chain = chain.map(|link| CertificateDer::from(link).into_owned());
    let key = PrivateKeyDer::try_from(setting.parties.server.key_der()).expect("the rig's key is PKCS#8").clone_key();
    let mut config = ServerConfig::builder_with_provider(provider::<P>(setting.suite))
        .with_protocol_versions(&[version(setting.suite)])
        .expect("the provider knows the version")
        .with_no_client_auth()
        .with_single_cert(chain.collect(), key)
        .expect("rustls takes the identity");
    config.send_tls13_tickets = 0;
    Arc::new(config)
}

/// The name by which clients call the server.
pub(crate) fn server_name() -> ServerName<'static> {
    ServerName::try_from(SERVER_NAME).expect("the server's name is a DNS name")
}

fn provider<P: Provider>(suite: Suite) -> Arc<CryptoProvider> {
    let mut provider = P::provider();
    provider.cipher_suites.retain(|offered| offered.suite() == name(suite));
    Arc::new(provider)
}

fn version(suite: Suite) -> &'static SupportedProtocolVersion {
    match suite.version {
        Version::Tls12 => &rustls::version::TLS12,
        Version::Tls13 => &rustls::version::TLS13,
    }
}

fn name(suite: Suite) -> CipherSuite {
    match (suite.version, suite.aead) {
        (Version::Tls13, Aead::Aes128Gcm) => CipherSuite::TLS13_AES_128_GCM_SHA256,
        (Version::Tls13, Aead::Aes256Gcm) => CipherSuite::TLS13_AES_256_GCM_SHA384,
        (Version::Tls13, Aead::ChaCha20Poly1305) => CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        (Version::Tls12, Aead::Aes128Gcm) => CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        (Version::Tls12, Aead::Aes256Gcm) => CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        (Version::Tls12, Aead::ChaCha20Poly1305) => CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    }
}
