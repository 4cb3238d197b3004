//! What a pair is set up for: protocol version, suite, and whom it trusts.

use arenatls_rig::contexts::Terms;
use arenatls_rig::identity::{Authority, Identity};
use openssl::ssl::{SslContext, SslContextBuilder, SslMode, SslVersion};

/// The server's name in every pair.
pub const SERVER_NAME: &str = "localhost";

/// A protocol version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// TLS 1.2.
    Tls12,
    /// TLS 1.3.
    Tls13,
}

/// A record AEAD; with TLS 1.2 under ECDHE-ECDSA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aead {
    /// AES-128-GCM.
    Aes128Gcm,
    /// AES-256-GCM.
    Aes256Gcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
}

/// A version with a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suite {
    /// The protocol version.
    pub version: Version,
    /// The record AEAD.
    pub aead: Aead,
}

impl Suite {
    /// Every suite the ledger knows, the usual one first.
    pub const ALL: [Self; 6] = [
        Self::new(Version::Tls13, Aead::Aes128Gcm),
        Self::new(Version::Tls12, Aead::Aes128Gcm),
        Self::new(Version::Tls13, Aead::Aes256Gcm),
        Self::new(Version::Tls12, Aead::Aes256Gcm),
        Self::new(Version::Tls13, Aead::ChaCha20Poly1305),
        Self::new(Version::Tls12, Aead::ChaCha20Poly1305),
    ];

    const fn new(version: Version, aead: Aead) -> Self {
        Self { version, aead }
    }

    /// The short name by which the ledger's `--suite` knows it.
    #[must_use]
    pub fn short(self) -> &'static str {
        match (self.version, self.aead) {
            (Version::Tls13, Aead::Aes128Gcm) => "tls13-aes128",
            (Version::Tls13, Aead::Aes256Gcm) => "tls13-aes256",
            (Version::Tls13, Aead::ChaCha20Poly1305) => "tls13-chacha20",
            (Version::Tls12, Aead::Aes128Gcm) => "tls12-aes128",
            (Version::Tls12, Aead::Aes256Gcm) => "tls12-aes256",
            (Version::Tls12, Aead::ChaCha20Poly1305) => "tls12-chacha20",
        }
    }

    /// OpenSSL's name of the suite.
    #[must_use]
    pub fn openssl(self) -> &'static str {
        match (self.version, self.aead) {
            (Version::Tls13, Aead::Aes128Gcm) => "TLS_AES_128_GCM_SHA256",
            (Version::Tls13, Aead::Aes256Gcm) => "TLS_AES_256_GCM_SHA384",
            (Version::Tls13, Aead::ChaCha20Poly1305) => "TLS_CHACHA20_POLY1305_SHA256",
            (Version::Tls12, Aead::Aes128Gcm) => "ECDHE-ECDSA-AES128-GCM-SHA256",
            (Version::Tls12, Aead::Aes256Gcm) => "ECDHE-ECDSA-AES256-GCM-SHA384",
            (Version::Tls12, Aead::ChaCha20Poly1305) => "ECDHE-ECDSA-CHACHA20-POLY1305",
        }
    }

    /// The protocol version as reports spell it.
    #[must_use]
    pub fn version_name(self) -> &'static str {
        match self.version {
            Version::Tls12 => "TLSv1.2",
            Version::Tls13 => "TLSv1.3",
        }
    }

    fn terms(self) -> Terms {
        let version = match self.version {
            Version::Tls12 => SslVersion::TLS1_2,
            Version::Tls13 => SslVersion::TLS1_3,
        };
        // No tickets: nothing but the measured records crosses the wire.
        let terms = Terms::default().version(version).tickets(0);
        terms.suite(self.openssl())
    }
}

/// Identities shared by all pairs, made once.
#[derive(Debug)]
pub struct Parties {
    /// Whom clients trust.
    pub authority: Authority,
    /// Who the server is.
    pub server: Identity,
}

impl Parties {
    /// Makes an authority and a server for [`SERVER_NAME`].
    #[must_use]
    pub fn new() -> Self {
        let authority = Authority::new("ledger");
        let server = authority.server_for(&[SERVER_NAME]);
        Self { authority, server }
    }
}

impl Default for Parties {
    fn default() -> Self {
        Self::new()
    }
}

/// All that a contender needs to know to make a pair.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// Version and suite of the pair.
    pub suite: Suite,
    /// Who takes part.
    pub parties: &'a Parties,
}

impl Setting<'_> {
    /// A client context for a pair over OpenSSL.
    ///
    /// The settings are those that cost least per record: accepted data may move, buffers are kept, and header and body
    /// of a record are read at once (read-ahead), which saves a tenth of the time of a read.
    #[must_use]
    pub fn openssl_client(&self) -> SslContext {
        let terms = self.suite.terms();
        let builder = arenatls_rig::contexts::client_builder(&self.parties.authority, &terms);
        tuned(builder)
    }

    /// A server context for a pair over OpenSSL; the settings as in [`openssl_client`](Setting::openssl_client).
    #[must_use]
    pub fn openssl_server(&self) -> SslContext {
        let terms = self.suite.terms();
        let builder = arenatls_rig::contexts::server_builder(&self.parties.server, &terms);
        tuned(builder)
    }
}

fn tuned(mut builder: SslContextBuilder) -> SslContext {
    builder.set_mode(SslMode::AUTO_RETRY | SslMode::ACCEPT_MOVING_WRITE_BUFFER);
    builder.set_mode(SslMode::ENABLE_PARTIAL_WRITE);
    builder.set_read_ahead(true);
    builder.build()
}
