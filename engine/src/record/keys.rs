//! Traffic keys as OpenSSL hands them over.

use std::fmt;

use zeroize::Zeroizing;

/// TLS versions whose records the engine protects itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// TLS 1.2 (RFC 5246), AEAD suites.
    Tls12,
    /// TLS 1.3 (RFC 8446).
    Tls13,
}

impl Version {
    pub(crate) const fn from_wire(version: u16) -> Option<Version> {
        match version {
            0x0303 => Some(Version::Tls12),
            0x0304 => Some(Version::Tls13),
            _ => None,
        }
    }
}

/// AEADs of the record layer; each has a 12-byte nonce and a 16-byte tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// AES-128-GCM.
    Aes128Gcm,
    /// AES-256-GCM.
    Aes256Gcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
}

impl Suite {
    /// Key length (bytes).
    pub const fn key_len(self) -> usize {
        match self {
            Suite::Aes128Gcm => 16,
            Suite::Aes256Gcm | Suite::ChaCha20Poly1305 => 32,
        }
    }
}

/// One direction's key, IV and next sequence number; zeroed when dropped.
pub struct TrafficKeys {
    version: Version,
    suite: Suite,
    key: Zeroizing<[u8; 32]>,
    iv: Zeroizing<[u8; 12]>,
    sequence: u64,
}

impl TrafficKeys {
    /// Keys from their parts; the 12-byte IV comes in two pieces (salt, then the rest). `None` if a length is wrong.
    pub fn new(version: Version, suite: Suite, key: &[u8], iv: [&[u8]; 2], sequence: u64) -> Option<TrafficKeys> {
        if key.len() != suite.key_len() || iv[0].len() + iv[1].len() != 12 {
            return None;
        }
        let mut keys =
            TrafficKeys { version, suite, key: Zeroizing::new([0; 32]), iv: Zeroizing::new([0; 12]), sequence };
        keys.key[..key.len()].copy_from_slice(key);
        keys.iv[..iv[0].len()].copy_from_slice(iv[0]);
        keys.iv[iv[0].len()..].copy_from_slice(iv[1]);
        Some(keys)
    }

    /// The same again; both are zeroed when dropped.
    pub(crate) fn again(&self) -> TrafficKeys {
        TrafficKeys { key: self.key.clone(), iv: self.iv.clone(), ..*self }
    }

    /// The TLS version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The AEAD.
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.key[..self.suite.key_len()]
    }

    /// The static IV; in TLS 1.2 with AES-GCM its first four bytes are the salt.
    pub fn iv(&self) -> &[u8; 12] {
        &self.iv
    }

    /// The sequence number of the first record under this key.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }
}

impl fmt::Debug for TrafficKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrafficKeys")
            .field("version", &self.version)
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}
