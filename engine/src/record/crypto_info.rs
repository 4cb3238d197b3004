//! Traffic keys as Linux has them: the structs of `linux/tls.h`.

use std::fmt;

use zeroize::Zeroizing;

use super::Shape;
use super::keys::{Suite, TrafficKeys, Version};

/// Length of what every struct begins with: version and cipher type, each a `u16` of the machine (bytes).
pub(crate) const HEAD: usize = 4;
/// Length of the record sequence number, which ends every struct (bytes).
pub(crate) const SEQUENCE: usize = 8;
/// The longest of the structs (bytes).
const LONGEST: usize = 56;

/// Lengths of the byte arrays of `tls12_crypto_info_aes_gcm_128` and kin, in their order; a sequence number follows.
pub(crate) struct Layout {
    pub(crate) suite: Suite,
    pub(crate) iv: usize,
    pub(crate) key: usize,
    pub(crate) salt: usize,
}

pub(crate) const fn layout(cipher_type: u16) -> Option<Layout> {
    Some(match cipher_type {
        51 => Layout { suite: Suite::Aes128Gcm, iv: 8, key: 16, salt: 4 },
        52 => Layout { suite: Suite::Aes256Gcm, iv: 8, key: 32, salt: 4 },
        54 => Layout { suite: Suite::ChaCha20Poly1305, iv: 12, key: 32, salt: 0 },
        _ => return None,
    })
}

const fn cipher_type(suite: Suite) -> u16 {
    match suite {
        Suite::Aes128Gcm => 51,
        Suite::Aes256Gcm => 52,
        Suite::ChaCha20Poly1305 => 54,
    }
}

const fn wire(version: Version) -> u16 {
    match version {
        Version::Tls12 => 0x0303,
        Version::Tls13 => 0x0304,
    }
}

/// One direction's key and the sequence number of its next record, as `setsockopt(SOL_TLS, TLS_TX or TLS_RX)` takes them.
/// Zeroed when dropped; `Debug` shows none of it.
pub struct CryptoInfo {
    bytes: Zeroizing<[u8; LONGEST]>,
    len: usize,
    sequence: u64,
    overhead: usize,
}

impl CryptoInfo {
    /// `keys`, with `sequence` records behind them.
    pub(crate) fn new(keys: &TrafficKeys, sequence: u64) -> CryptoInfo {
        let shape = Shape { version: keys.version(), suite: keys.suite() };
        let bytes = Zeroizing::new([0; LONGEST]);
        let mut info = CryptoInfo { bytes, len: 0, sequence, overhead: shape.overhead() };
        let salt = if keys.suite() == Suite::ChaCha20Poly1305 { 0 } else { 4 };
        info.put(&wire(keys.version()).to_ne_bytes());
        info.put(&cipher_type(keys.suite()).to_ne_bytes());
        if shape.explicit_nonce() > 0 {
            // The kernel counts the explicit nonce on from here, as we did from 0: none comes twice.
            info.put(&sequence.to_be_bytes());
        } else {
            info.put(&keys.iv()[salt..]);
        }
        info.put(keys.key());
        info.put(&keys.iv()[..salt]);
        info.put(&sequence.to_be_bytes());
        info
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// The struct that its cipher type names: `tls12_crypto_info_aes_gcm_128` and kin.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The sequence number of the next record.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// How much longer a record is than its plaintext (bytes).
    pub fn overhead(&self) -> usize {
        self.overhead
    }
}

impl fmt::Debug for CryptoInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CryptoInfo({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `linux/tls.h` says, field by field, with a number of its own for every byte of key and IV.
    #[test]
    fn fields_are_where_linux_tls_h_puts_them() {
        let key: Vec<u8> = (100..132).collect();
        let iv: Vec<u8> = (1..13).collect();
        let next: u64 = 0x0102_0304_0506_0708;
        let of = |version, suite: Suite| {
            let keys = TrafficKeys::new(version, suite, &key[..suite.key_len()], [&iv, &[]], 0).unwrap();
            CryptoInfo::new(&keys, next).as_bytes().to_vec()
        };
        let head = |version: u16, cipher: u16| [version.to_ne_bytes(), cipher.to_ne_bytes()].concat();
        let next = next.to_be_bytes();
        assert_eq!(
            of(Version::Tls13, Suite::Aes128Gcm),
            [&head(0x0304, 51), &iv[4..], &key[..16], &iv[..4], &next].concat()
        );
        assert_eq!(of(Version::Tls13, Suite::Aes256Gcm), [&head(0x0304, 52), &iv[4..], &key, &iv[..4], &next].concat());
        assert_eq!(of(Version::Tls13, Suite::ChaCha20Poly1305), [&head(0x0304, 54), &iv, &key[..], &next].concat());
        let explicit = &next[..];
        assert_eq!(
            of(Version::Tls12, Suite::Aes128Gcm),
            [&head(0x0303, 51), explicit, &key[..16], &iv[..4], &next].concat()
        );
        assert_eq!(of(Version::Tls12, Suite::ChaCha20Poly1305), [&head(0x0303, 54), &iv, &key[..], &next].concat());
    }
}
