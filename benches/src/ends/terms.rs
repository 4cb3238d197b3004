//! What the ends of a connection shall agree on, and what they did.

use crate::setting::Version;

/// What the two ends shall agree on; the suite is AES-128-GCM with SHA-256 in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The protocol version.
    pub version: Version,
    /// The kind of the server's key, and of its authority's.
    pub certificate: Certificate,
    /// The key exchange.
    pub group: Group,
    /// Whether the server gives a ticket (one, and another for each resumption). Nobody keeps a cache.
    pub resumption: bool,
}

/// The kind of the server's key, and of its authority's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificate {
    /// ECDSA over P-256.
    P256,
    /// RSA with 2,048 bits.
    Rsa2048,
}

/// A key exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// X25519 (RFC 7748).
    X25519,
    /// X25519 and ML-KEM-768 together (draft-ietf-tls-ecdhe-mlkem).
    X25519Mlkem768,
}

/// What a handshake came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// The protocol version.
    pub version: Version,
    /// The key exchange, or its name if it is another; nothing where the library does not tell, as after a resumption in
    /// TLS 1.2, which has none.
    pub group: Option<Result<Group, String>>,
    /// Whether a session was resumed.
    pub resumed: bool,
}

impl Terms {
    /// The usual: TLS 1.3, P-256, X25519, no tickets.
    pub const USUAL: Self =
        Self { version: Version::Tls13, certificate: Certificate::P256, group: Group::X25519, resumption: false };

    /// What a handshake on these terms has to come to.
    #[must_use]
    pub fn expected(&self, resumed: bool) -> Agreed {
        let exchanged = self.version == Version::Tls13 || !resumed;
        Agreed { version: self.version, group: exchanged.then_some(Ok(self.group)), resumed }
    }
}

impl Certificate {
    /// The kind as reports spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Certificate::P256 => "P-256",
            Certificate::Rsa2048 => "RSA-2048",
        }
    }
}

impl Group {
    /// The key exchange as everybody spells it, letter case aside.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Group::X25519 => "X25519",
            Group::X25519Mlkem768 => "X25519MLKEM768",
        }
    }

    /// The key exchange of that name, or the name.
    pub(super) fn called(name: &str) -> Result<Group, String> {
        let known = [Group::X25519, Group::X25519Mlkem768].into_iter();
        let mut called = known.filter(|group| group.name().eq_ignore_ascii_case(name));
        called.next().ok_or_else(|| name.into())
    }
}
