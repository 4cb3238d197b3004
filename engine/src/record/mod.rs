//! TLS records: their frames, limits and protection.

/// Length of a record header (RFC 8446 §5.1), bytes.
pub const HEADER: usize = 5;
/// Most plaintext in one record (RFC 8446 §5.1), bytes.
pub const MAX_PLAINTEXT: usize = 1 << 14;
/// Most ciphertext in one TLS 1.3 record (RFC 8446 §5.2), bytes, without the header.
pub const MAX_CIPHERTEXT_13: usize = MAX_PLAINTEXT + 256;
/// Most ciphertext in one record before TLS 1.3 (RFC 5246 §6.2.3), bytes, without the header.
pub const MAX_CIPHERTEXT_12: usize = MAX_PLAINTEXT + 2048;
/// Contiguous input memory that holds any legal record, header included (bytes).
pub const MAX_RECORD_IN: usize = HEADER + MAX_CIPHERTEXT_12;
/// Contiguous output memory that holds any record we make, header included (bytes).
pub const MAX_RECORD_OUT: usize = HEADER + MAX_CIPHERTEXT_13;
/// Output room kept free for alerts and other control records (bytes).
pub const CONTROL_RESERVE: usize = 512;
/// Empty records of application data that may come in a row.
pub const MAX_EMPTY_RECORDS: u32 = 32;
/// change_cipher_spec (RFC 8446 §5.1).
pub const CHANGE_CIPHER_SPEC: u8 = 20;
/// alert (RFC 8446 §5.1).
pub const ALERT: u8 = 21;
/// handshake (RFC 8446 §5.1).
pub const HANDSHAKE: u8 = 22;
/// application_data (RFC 8446 §5.1).
pub const APPLICATION_DATA: u8 = 23;

pub mod aead;
pub(crate) mod crypto_info;
pub mod frame;
pub mod gather;
pub(crate) mod hand_over;
pub mod keys;
pub mod open;
#[cfg(feature = "ring")]
mod ring;
pub mod seal;
#[cfg(test)]
mod tests;

use keys::{Suite, Version};

/// How a version and a suite lay out a protected record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) version: Version,
    pub(crate) suite: Suite,
}

impl Shape {
    /// Bytes of explicit nonce between header and ciphertext (RFC 5288 §3); none in TLS 1.3 or with ChaCha20.
    pub(crate) const fn explicit_nonce(self) -> usize {
        match (self.version, self.suite) {
            (Version::Tls12, Suite::Aes128Gcm | Suite::Aes256Gcm) => 8,
            _ => 0,
        }
    }

    /// Bytes that follow the plaintext inside the ciphertext: TLS 1.3's inner content type.
    pub(crate) const fn inner_type(self) -> usize {
        match self.version {
            Version::Tls12 => 0,
            Version::Tls13 => 1,
        }
    }

    /// All that a record adds to its plaintext, without padding (bytes).
    pub(crate) const fn overhead(self) -> usize {
        HEADER + self.explicit_nonce() + self.inner_type() + aead::TAG
    }

    /// The most that may follow a record's header (bytes).
    pub(crate) const fn max_ciphertext(self) -> usize {
        match self.version {
            Version::Tls12 => MAX_CIPHERTEXT_12,
            Version::Tls13 => MAX_CIPHERTEXT_13,
        }
    }

    /// The nonce of record `sequence` (RFC 8446 §5.3, RFC 5288 §3, RFC 7905 §2).
    pub(crate) fn nonce(self, iv: &[u8; 12], sequence: u64) -> [u8; 12] {
        let mut nonce = *iv;
        let tail = if self.explicit_nonce() > 0 {
            sequence
        } else {
            u64::from_be_bytes([iv[4], iv[5], iv[6], iv[7], iv[8], iv[9], iv[10], iv[11]]) ^ sequence
        };
        nonce[4..].copy_from_slice(&tail.to_be_bytes());
        nonce
    }

    /// TLS 1.2's additional data (RFC 5246 §6.2.3.3).
    pub(crate) fn aad_12(sequence: u64, content_type: u8, plain_len: usize) -> [u8; 13] {
        let mut aad = [0; 13];
        aad[..8].copy_from_slice(&sequence.to_be_bytes());
        aad[8..].copy_from_slice(&header(content_type, plain_len));
        aad
    }
}

/// A record header of version 3.3. `len` is at most 2^14 + 2048 where this is called.
pub(crate) fn header(content_type: u8, len: usize) -> [u8; HEADER] {
    let [high, low] = u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes();
    [content_type, 3, 3, high, low]
}
