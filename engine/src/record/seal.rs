//! Sealing: from the caller's plaintext straight into the backend's memory.

use zeroize::Zeroizing;

use super::aead::{Aead, AeadChoice, AeadFailure, RecordAead, TAG};
use super::crypto_info::CryptoInfo;
use super::gather::Gather;
use super::hand_over::{Kept, Keyed, Takeover, frame_plain};
use super::keys::{Suite, TrafficKeys, Version};
use super::{APPLICATION_DATA, HEADER, MAX_PLAINTEXT, Shape, header};

/// The longest padding of one record (bytes).
pub const MAX_PADDING: usize = 255;

const BLOCK: usize = 16;
const BLOCKS_OF_FULL_RECORD: u64 = (MAX_PLAINTEXT / BLOCK) as u64;

/// Protects one direction's records.
pub(crate) struct Sealer {
    aead: Aead,
    shape: Shape,
    iv: Zeroizing<[u8; 12]>,
    sequence: u64,
    /// Records sealed under this key.
    records: u64,
    /// AES blocks (16 bytes) that they took.
    blocks: u64,
    kept: Kept,
}

impl Sealer {
    /// A sealer; `keep` keeps the keys for [`Keyed::hand_over`], too.
    pub(crate) fn new(choice: AeadChoice, keys: &TrafficKeys, keep: bool) -> Result<Sealer, AeadFailure> {
        Ok(Sealer {
            aead: Aead::new(choice, keys.suite(), keys.key(), true)?,
            shape: Shape { version: keys.version(), suite: keys.suite() },
            iv: Zeroizing::new(*keys.iv()),
            sequence: keys.sequence(),
            records: 0,
            blocks: 0,
            kept: Kept::new(keys, keep),
        })
    }

    /// The next generation of keys, in the same memory.
    pub(crate) fn rekey(&mut self, keys: &TrafficKeys) -> Result<(), AeadFailure> {
        self.aead.rekey(keys.suite(), keys.key())?;
        self.shape = Shape { version: keys.version(), suite: keys.suite() };
        *self.iv = *keys.iv();
        self.sequence = keys.sequence();
        (self.records, self.blocks) = (0, 0);
        self.kept.renew(keys, self.aead.is_kernel());
        Ok(())
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Whether the key has done as much as it may, `limit` records. In TLS 1.2, where that ends the connection, it is
    /// only what full-sized records would make of them that counts (RFC 8446 §5.5 reckons in those), and ChaCha20 has no
    /// limit that sequence numbers do not have.
    #[inline]
    pub(crate) fn is_worn(&self, limit: u64) -> bool {
        match (self.shape.version, self.shape.suite) {
            (Version::Tls13, _) => self.records >= limit,
            (Version::Tls12, Suite::ChaCha20Poly1305) => false,
            (Version::Tls12, _) => self.blocks >= limit.saturating_mul(BLOCKS_OF_FULL_RECORD),
        }
    }

    /// All that a record adds to its plaintext here, without padding (bytes).
    pub(crate) fn overhead(&self) -> usize {
        if self.aead.is_kernel() { HEADER } else { self.shape.overhead() }
    }

    /// Length of a record of `plain` bytes with `padding` zeros (bytes).
    pub(crate) fn sealed_len(&self, plain: usize, padding: usize) -> usize {
        if self.aead.is_kernel() {
            return HEADER + plain;
        }
        self.shape.overhead() + plain + if self.shape.version == Version::Tls13 { padding } else { 0 }
    }

    /// Seals `plain` as one record of `content_type` with `padding` zeros (TLS 1.3 only) at the start of `out`, and
    /// returns the record's length. On failure nothing but `out` has changed.
    ///
    /// The caller has seen to it that `plain` is at most 2^14 bytes and that `out` has room.
    pub(crate) fn seal(
        &mut self,
        content_type: u8,
        plain: Gather<'_>,
        padding: usize,
        out: &mut [u8],
    ) -> Result<usize, AeadFailure> {
        let padding = if self.shape.version == Version::Tls13 { padding.min(MAX_PADDING) } else { 0 };
        let len = self.sealed_len(plain.len(), padding);
        if plain.len() > MAX_PLAINTEXT || self.sequence == u64::MAX {
            return Err(AeadFailure);
        }
        let record = out.get_mut(..len).ok_or(AeadFailure)?;
        if self.aead.is_kernel() {
            frame_plain(content_type, plain, record).ok_or(AeadFailure)?;
            self.count(len);
            return Ok(len);
        }
        let nonce = self.shape.nonce(&self.iv, self.sequence);
        let (head, body) = record.split_first_chunk_mut::<HEADER>().ok_or(AeadFailure)?;
        match self.shape.version {
            Version::Tls13 => {
                *head = header(APPLICATION_DATA, body.len());
                if padding == 0 {
                    self.aead.seal(&nonce, head, plain, &[content_type], body)?;
                } else {
                    let mut tail = [0; 1 + MAX_PADDING];
                    tail[0] = content_type;
                    self.aead.seal(&nonce, head, plain, &tail[..=padding], body)?;
                }
            }
            Version::Tls12 => {
                *head = header(content_type, body.len());
                let aad = Shape::aad_12(self.sequence, content_type, plain.len());
                let (explicit, body) = body.split_at_mut_checked(self.shape.explicit_nonce()).ok_or(AeadFailure)?;
                if let Some(explicit) = explicit.first_chunk_mut::<8>() {
                    *explicit = self.sequence.to_be_bytes();
                }
                self.aead.seal(&nonce, &aad, plain, &[], body)?;
            }
        }
        self.count(len);
        Ok(len)
    }

    fn count(&mut self, len: usize) {
        self.sequence += 1;
        self.records += 1;
        self.blocks += (len / BLOCK) as u64 + 1;
    }
}

impl Keyed for Sealer {
    fn aead(&self) -> &Aead {
        &self.aead
    }

    fn offers_keys(&self) -> bool {
        self.kept.is_some()
    }

    fn hand_over(&mut self, take: impl FnOnce(&CryptoInfo) -> Takeover) -> bool {
        self.kept.hand_over(&mut self.aead, &mut self.iv, self.sequence, take)
    }
}

const _: () = assert!(TAG == 16 && HEADER == 5, "Shape::overhead and the RFCs agree");
