//! Ready `SslContext`s over the rig's identities.

use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{SslContext, SslContextBuilder, SslMethod, SslVerifyMode, SslVersion};
use openssl::x509::X509;

use crate::identity::{Authority, Identity};

/// What both ends of a pair agree on: the version, the suite, and how many tickets the server sends.
///
/// [`Terms::default`] leaves version and suite to OpenSSL and sends its usual two tickets.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms {
    version: Option<SslVersion>,
    suite: Option<&'static str>,
    tickets: Option<usize>,
}

impl Terms {
    /// Exactly this protocol version.
    #[must_use]
    pub fn version(mut self, version: SslVersion) -> Self {
        self.version = Some(version);
        self
    }

    /// Exactly this suite, by OpenSSL's name of it: `TLS_AES_128_GCM_SHA256` (a TLS 1.3 suite is known by its prefix
    /// `TLS_`) or `ECDHE-ECDSA-AES128-GCM-SHA256`.
    #[must_use]
    pub fn suite(mut self, suite: &'static str) -> Self {
        self.suite = Some(suite);
        self
    }

    /// This many TLS 1.3 tickets after the handshake.
    #[must_use]
    pub fn tickets(mut self, tickets: usize) -> Self {
        self.tickets = Some(tickets);
        self
    }

    fn apply(&self, builder: &mut SslContextBuilder) -> Result<(), ErrorStack> {
        builder.set_min_proto_version(self.version)?;
        builder.set_max_proto_version(self.version)?;
        match self.suite {
            Some(suite) if suite.starts_with("TLS_") => builder.set_ciphersuites(suite)?,
            Some(suite) => builder.set_cipher_list(suite)?,
            None => {}
        }
        if let Some(tickets) = self.tickets {
            builder.set_num_tickets(tickets)?;
        }
        Ok(())
    }
}

/// A server context that presents `identity`.
///
/// # Panics
///
/// Panics if OpenSSL refuses the identity or the terms: a test cannot go on without.
#[must_use]
pub fn server(identity: &Identity, terms: &Terms) -> SslContext {
    server_builder(identity, terms).build()
}

/// A server context that presents `identity` and requires a client certificate signed by `clients`.
///
/// # Panics
///
/// As [`server`].
#[must_use]
pub fn mutual_server(identity: &Identity, clients: &Authority, terms: &Terms) -> SslContext {
    let mut builder = server_builder(identity, terms);
    let root = certificate(clients.der());
    builder.add_client_ca(&root).expect("a CA can be named to clients");
    trust(&mut builder, root);
    builder.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    // Resumption of a session that had a client certificate wants a context of its own.
    builder.set_session_id_context(b"rig").expect("three bytes are no more than 32");
    builder.build()
}

/// A client context that trusts `authority` alone and verifies its peer.
///
/// # Panics
///
/// As [`server`].
#[must_use]
pub fn client(authority: &Authority, terms: &Terms) -> SslContext {
    client_builder(authority, terms).build()
}

/// As [`client`], presenting `identity` when asked for a certificate.
///
/// # Panics
///
/// As [`server`].
#[must_use]
pub fn mutual_client(authority: &Authority, identity: &Identity, terms: &Terms) -> SslContext {
    mutual_client_builder(authority, identity, terms).build()
}

/// [`mutual_client`], still open for callbacks and further settings.
///
/// # Panics
///
/// As [`server`].
#[must_use]
pub fn mutual_client_builder(authority: &Authority, identity: &Identity, terms: &Terms) -> SslContextBuilder {
    let mut builder = client_builder(authority, terms);
    present(&mut builder, identity).expect("OpenSSL takes the rig's identity");
    builder
}

/// [`server`], still open for callbacks and further settings.
///
/// # Panics
///
/// As [`server`].
#[must_use]
pub fn server_builder(identity: &Identity, terms: &Terms) -> SslContextBuilder {
    let mut builder = builder(SslMethod::tls_server(), terms);
    present(&mut builder, identity).expect("OpenSSL takes the rig's identity");
    builder
}

/// [`client`], still open for callbacks and further settings.
///
/// # Panics
///
/// As [`server`].
#[must_use]
pub fn client_builder(authority: &Authority, terms: &Terms) -> SslContextBuilder {
    let mut builder = builder(SslMethod::tls_client(), terms);
    trust(&mut builder, certificate(authority.der()));
    builder.set_verify(SslVerifyMode::PEER);
    builder
}

fn builder(method: SslMethod, terms: &Terms) -> SslContextBuilder {
    let mut builder = SslContext::builder(method).expect("OpenSSL makes a context");
    terms.apply(&mut builder).expect("OpenSSL knows the version and the suite");
    builder
}

fn present(builder: &mut SslContextBuilder, identity: &Identity) -> Result<(), ErrorStack> {
    let mut chain = identity.chain_der().map(certificate);
    if let Some(leaf) = chain.next() {
        builder.set_certificate(&leaf)?;
    }
    chain.try_for_each(|link| builder.add_extra_chain_cert(link))?;
    let key = private_key(identity)?;
    builder.set_private_key(&key)?;
    builder.check_private_key()
}

fn private_key(identity: &Identity) -> Result<PKey<Private>, ErrorStack> {
    PKey::private_key_from_der(identity.key_der())
}

fn trust(builder: &mut SslContextBuilder, root: X509) {
    builder.cert_store_mut().add_cert(root).expect("a store takes a root");
}

fn certificate(der: &[u8]) -> X509 {
    X509::from_der(der).expect("what rcgen wrote, OpenSSL reads")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TLS13: (SslVersion, &str) = (SslVersion::TLS1_3, "TLS_AES_128_GCM_SHA256");
    const TLS12: (SslVersion, &str) = (SslVersion::TLS1_2, "ECDHE-ECDSA-AES128-GCM-SHA256");

    #[test]
    fn terms_pin_version_and_suite() {
        let authority = Authority::new("rig");
        for (version, suite) in [TLS13, TLS12] {
            let terms = Terms::default().version(version).suite(suite).tickets(0);
            let mut builder = server_builder(&authority.server(), &terms);
            assert_eq!(builder.min_proto_version(), Some(version));
            assert_eq!(builder.max_proto_version(), Some(version));
            assert_eq!(builder.build().num_tickets(), 0);
        }
    }

    #[test]
    fn every_kind_of_context_can_be_made() {
        let authority = Authority::new("rig");
        let terms = Terms::default();
        let identity = authority.server().with_ballast(2, 400);
        let server = mutual_server(&identity, &authority, &terms);
        let client = mutual_client(&authority, &authority.client("somebody"), &terms);
        assert_eq!(server.extra_chain_certs().len(), 2);
        assert_eq!(client.verify_mode(), SslVerifyMode::PEER);
    }
}
