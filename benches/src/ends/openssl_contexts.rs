//! What all ends over OpenSSL share: a context for each side, ticket keys, a session.

use std::ffi::{c_int, c_long};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foreign_types::ForeignTypeRef;
use openssl::error::ErrorStack;
use openssl::ssl::{
    Ssl, SslContext, SslContextBuilder, SslMethod, SslMode, SslOptions, SslRef, SslSession, SslSessionCacheMode,
    SslVerifyMode, SslVersion,
};
use openssl_sys as ffi;

use super::{Agreed, Group, Parties, Terms};
use crate::setting::Version;

/// `SSL_CTRL_SET_TLSEXT_TICKET_KEYS` (`openssl/ssl.h`; openssl-sys does not declare it).
const SET_TICKET_KEYS: c_int = 59;
/// `SSL_CTRL_GET_NEGOTIATED_GROUP` (`openssl/ssl.h`; openssl-sys does not declare it).
const GET_NEGOTIATED_GROUP: c_int = 134;
/// Name, HMAC key and AES key of tickets (bytes): `SSL_CTX_set_tlsext_ticket_keys`.
const TICKET_KEYS: usize = 80;
/// What a group without a number of OpenSSL's own is reported as, with its number in TLS (`TLSEXT_nid_unknown`).
const UNKNOWN_GROUP: c_long = 0x0100_0000;
/// The number of X25519MLKEM768 in TLS.
const X25519MLKEM768: c_long = 0x11ec;

/// A context for each side, and the session that its clients offer.
pub struct Contexts {
    client: SslContext,
    server: SslContext,
    ticket_keys: [u8; TICKET_KEYS],
    session: Mutex<Option<SslSession>>,
}

impl Contexts {
    /// Contexts that agree on `terms`; those of the `sibling` resume each other's sessions.
    ///
    /// # Panics
    ///
    /// If OpenSSL refuses the terms.
    #[must_use]
    pub fn new(terms: &Terms, parties: &Parties, sibling: Option<&Contexts>, mode: SslMode) -> Contexts {
        let mut ticket_keys = [0; TICKET_KEYS];
        match sibling {
            Some(sibling) => ticket_keys = sibling.ticket_keys,
            None => openssl::rand::rand_bytes(&mut ticket_keys).expect("OpenSSL has random bytes"),
        }
        Contexts {
            client: client(terms, parties, mode).expect("OpenSSL takes a client's terms"),
            server: server(terms, parties, mode, &mut ticket_keys).expect("OpenSSL takes a server's terms"),
            ticket_keys,
            session: Mutex::default(),
        }
    }

    /// Whether this OpenSSL has the group.
    #[must_use]
    pub fn can(terms: &Terms) -> bool {
        let builder = SslContext::builder(SslMethod::tls());
        let able = builder.is_ok_and(|mut builder| builder.set_groups_list(terms.group.name()).is_ok());
        // What OpenSSL has to say about it is no concern of whoever uses it next.
        drop(ErrorStack::get());
        able
    }

    /// The servers' context.
    #[must_use]
    pub fn for_servers(&self) -> &SslContext {
        &self.server
    }

    /// A client's `SSL` with the session that was kept.
    pub(super) fn client(&self) -> Ssl {
        let mut ssl = Ssl::new(&self.client).expect("OpenSSL makes a client");
        if let Some(session) = &*self.session() {
            // SAFETY: the session was made by a connection of this very context.
            unsafe { ssl.set_session(session) }.expect("OpenSSL takes the session");
        }
        ssl
    }

    /// A server's `SSL`.
    pub(super) fn server(&self) -> Ssl {
        Ssl::new(&self.server).expect("OpenSSL makes a server")
    }

    /// Keeps the session of a client of this context.
    pub(super) fn keep(&self, client: &SslRef) {
        *self.session() = client.session().map(ToOwned::to_owned);
    }

    fn session(&self) -> MutexGuard<'_, Option<SslSession>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Contexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contexts").field("session_kept", &self.session().is_some()).finish_non_exhaustive()
    }
}

/// What the handshake of `ssl` came to (`SSL_version`, `SSL_get_negotiated_group`, `SSL_session_reused`).
pub(super) fn agreed(ssl: &SslRef) -> Agreed {
    let version = match ssl.version2() {
        Some(SslVersion::TLS1_3) => Version::Tls13,
        Some(SslVersion::TLS1_2) => Version::Tls12,
        other => panic!("TLS 1.2 or 1.3, not {other:?}"),
    };
    let resumed = ssl.session_reused();
    // In TLS 1.2 OpenSSL would tell the group of the session's first handshake.
    let exchanged = version == Version::Tls13 || !resumed;
    Agreed { version, group: exchanged.then(|| group(ssl)), resumed }
}

fn group(ssl: &SslRef) -> Result<Group, String> {
    // SAFETY: the `SSL` is live; this control reads no argument and changes nothing.
    let number = unsafe { ffi::SSL_ctrl(ssl.as_ptr(), GET_NEGOTIATED_GROUP, 0, ptr::null_mut()) };
    match number {
        number if number == c_long::from(ffi::NID_X25519) => Ok(Group::X25519),
        number if number == UNKNOWN_GROUP | X25519MLKEM768 => Ok(Group::X25519Mlkem768),
        number => Err(number.to_string()),
    }
}

fn client(terms: &Terms, parties: &Parties, mode: SslMode) -> Result<SslContext, ErrorStack> {
    let mut builder = builder(SslMethod::tls_client(), terms, mode)?;
    builder.cert_store_mut().add_cert(parties.root.clone())?;
    builder.set_verify(SslVerifyMode::PEER);
    Ok(builder.build())
}

fn server(
    terms: &Terms,
    parties: &Parties,
    mode: SslMode,
    ticket_keys: &mut [u8; TICKET_KEYS],
) -> Result<SslContext, ErrorStack> {
    let mut builder = builder(SslMethod::tls_server(), terms, mode)?;
    builder.set_certificate(&parties.leaf)?;
    builder.set_private_key(&parties.key)?;
    builder.set_num_tickets(usize::from(terms.resumption))?;
    let length = c_long::try_from(TICKET_KEYS).expect("a small number");
    let keys = ticket_keys.as_mut_ptr().cast();
    // SAFETY: the context is live and nobody else's; this control copies so many bytes from `keys`.
    let taken = unsafe { ffi::SSL_CTX_ctrl(builder.as_ptr(), SET_TICKET_KEYS, length, keys) };
    assert_eq!(taken, 1, "OpenSSL takes ticket keys");
    Ok(builder.build())
}

fn builder(method: SslMethod, terms: &Terms, mode: SslMode) -> Result<SslContextBuilder, ErrorStack> {
    let version = match terms.version {
        Version::Tls12 => SslVersion::TLS1_2,
        Version::Tls13 => SslVersion::TLS1_3,
    };
    let mut builder = SslContext::builder(method)?;
    builder.set_min_proto_version(Some(version))?;
    builder.set_max_proto_version(Some(version))?;
    builder.set_ciphersuites("TLS_AES_128_GCM_SHA256")?;
    builder.set_cipher_list("ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256")?;
    // In TLS 1.2 a certificate's curve has to be in the list, too. Only the first has a key share.
    builder.set_groups_list(&format!("{}:P-256", terms.group.name()))?;
    builder.set_session_cache_mode(SslSessionCacheMode::OFF);
    builder.set_mode(SslMode::AUTO_RETRY | mode);
    if !terms.resumption {
        builder.set_options(SslOptions::NO_TICKET);
    }
    Ok(builder)
}
