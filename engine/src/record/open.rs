//! Opening: in place, in the backend's memory.

use zeroize::{Zeroize as _, Zeroizing};

use super::aead::{Aead, AeadChoice, AeadFailure, RecordAead, TAG};
use super::crypto_info::CryptoInfo;
use super::hand_over::{Kept, Keyed, Takeover};
use super::keys::{TrafficKeys, Version};
use super::{APPLICATION_DATA, HEADER, MAX_PLAINTEXT, Shape, header};
use crate::error::BadRecord;

/// A record that was opened: where its plaintext lies, from the start of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The authenticated content type (TLS 1.3: the inner one).
    pub content_type: u8,
    /// Start of the plaintext (bytes); the five bytes before it are the record's header or free for one.
    pub offset: usize,
    /// Length of the plaintext (bytes).
    pub len: usize,
}

/// Opens one direction's records.
pub(crate) struct Opener {
    aead: Aead,
    shape: Shape,
    iv: Zeroizing<[u8; 12]>,
    sequence: u64,
    kept: Kept,
}

impl Opener {
    /// An opener; `keep` keeps the keys for [`Keyed::hand_over`], too.
    pub(crate) fn new(choice: AeadChoice, keys: &TrafficKeys, keep: bool) -> Result<Opener, AeadFailure> {
        Ok(Opener {
            aead: Aead::new(choice, keys.suite(), keys.key(), false)?,
            shape: Shape { version: keys.version(), suite: keys.suite() },
            iv: Zeroizing::new(*keys.iv()),
            sequence: keys.sequence(),
            kept: Kept::new(keys, keep),
        })
    }

    /// The next generation of keys, in the same memory.
    pub(crate) fn rekey(&mut self, keys: &TrafficKeys) -> Result<(), AeadFailure> {
        self.aead.rekey(keys.suite(), keys.key())?;
        self.shape = Shape { version: keys.version(), suite: keys.suite() };
        *self.iv = *keys.iv();
        self.sequence = keys.sequence();
        self.kept.renew(keys, self.aead.is_kernel());
        Ok(())
    }

    /// The most that may follow a record's header (bytes).
    pub(crate) fn max_body(&self) -> usize {
        if self.aead.is_kernel() { MAX_PLAINTEXT } else { self.shape.max_ciphertext() }
    }

    /// Opens one whole record in place.
    ///
    /// # Errors
    ///
    /// What is wrong with it. The record's memory is then wiped; nothing of an unauthenticated record survives.
    pub(crate) fn open(&mut self, record: &mut [u8]) -> Result<Opened, BadRecord> {
        let (head, body) = record.split_first_chunk_mut::<HEADER>().ok_or(BadRecord::TooShort { length: 0 })?;
        self.open_body(*head, body).inspect_err(|_| body.zeroize())
    }

    fn open_body(&mut self, head: [u8; HEADER], body: &mut [u8]) -> Result<Opened, BadRecord> {
        let length = body.len();
        if self.aead.is_kernel() {
            // The kernel has opened it.
            return Ok(Opened { content_type: head[0], offset: HEADER, len: length });
        }
        if self.sequence == u64::MAX {
            return Err(BadRecord::SequenceWrap);
        }
        if length > self.shape.max_ciphertext() {
            return Err(BadRecord::Overflow { length, limit: self.shape.max_ciphertext() });
        }
        if head[1..3] != [3, 3] {
            return Err(BadRecord::Version(u16::from_be_bytes([head[1], head[2]])));
        }
        // Nothing but application data is protected in TLS 1.3, whatever it says it is (RFC 8446 §5.2).
        if self.shape.version == Version::Tls13 && head[0] != APPLICATION_DATA {
            return Err(BadRecord::ContentType(head[0]));
        }
        let explicit = self.shape.explicit_nonce();
        if length < explicit + self.shape.inner_type() + TAG {
            return Err(BadRecord::TooShort { length });
        }
        let text = length - explicit - TAG;
        let opened = match self.shape.version {
            Version::Tls13 => self.open_13(&head, body),
            Version::Tls12 => self.open_12(head[0], body, explicit, text),
        }?;
        self.sequence += 1;
        if opened.len > MAX_PLAINTEXT {
            return Err(BadRecord::Overflow { length: opened.len, limit: MAX_PLAINTEXT });
        }
        Ok(Opened { offset: HEADER + explicit, ..opened })
    }

    fn open_13(&mut self, head: &[u8; HEADER], body: &mut [u8]) -> Result<Opened, BadRecord> {
        let nonce = self.shape.nonce(&self.iv, self.sequence);
        self.aead.open(&nonce, head, body).map_err(|_| BadRecord::Mac)?;
        let inner = body.len() - TAG;
        if inner > MAX_PLAINTEXT + 1 {
            return Err(BadRecord::Overflow { length: inner, limit: MAX_PLAINTEXT + 1 });
        }
        // The content type is the last byte that is not zero (RFC 8446 §5.4).
        let len = body[..inner].iter().rposition(|b| *b != 0).ok_or(BadRecord::ContentType(0))?;
        Ok(Opened { content_type: body[len], offset: 0, len })
    }

    fn open_12(&mut self, content_type: u8, body: &mut [u8], explicit: usize, len: usize) -> Result<Opened, BadRecord> {
        let (nonce_field, sealed) = body.split_at_mut(explicit);
        let mut nonce = self.shape.nonce(&self.iv, self.sequence);
        if let Some(field) = nonce_field.first_chunk::<8>() {
            nonce[4..].copy_from_slice(field);
        }
        let aad = Shape::aad_12(self.sequence, content_type, len);
        self.aead.open(&nonce, &aad, sealed).map_err(|_| BadRecord::Mac)?;
        Ok(Opened { content_type, offset: 0, len })
    }
}

impl Keyed for Opener {
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

/// Writes the header that OpenSSL expects of a record somebody else opened: inner type, version 3.3, plaintext length.
pub(crate) fn relabel(record: &mut [u8], opened: Opened) -> Option<()> {
    let start = opened.offset.checked_sub(HEADER)?;
    record.get_mut(start..)?.first_chunk_mut::<HEADER>().map(|h| *h = header(opened.content_type, opened.len))
}
