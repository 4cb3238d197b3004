//! A second record AEAD, over the `ring` crate.
//!
//! `ring` seals in place only, so the plaintext is first copied to where it is sealed: one copy per byte sent, none per
//! byte received. It does not zero its keys when they are dropped; EVP does.

use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

use super::aead::{AeadFailure, RecordAead, TAG};
use super::gather::Gather;
use super::keys::Suite;

/// A key of one direction.
pub(crate) struct RingAead {
    key: LessSafeKey,
}

impl RingAead {
    pub(crate) fn new(suite: Suite, key: &[u8]) -> Result<RingAead, AeadFailure> {
        let algorithm = match suite {
            Suite::Aes128Gcm => &AES_128_GCM,
            Suite::Aes256Gcm => &AES_256_GCM,
            Suite::ChaCha20Poly1305 => &CHACHA20_POLY1305,
        };
        let key = UnboundKey::new(algorithm, key).map_err(|_| AeadFailure)?;
        Ok(RingAead { key: LessSafeKey::new(key) })
    }
}

impl RecordAead for RingAead {
    fn seal(
        &mut self,
        nonce: &[u8; 12],
        aad: &[u8],
        plain: Gather<'_>,
        tail: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadFailure> {
        let (text, tag) = out.split_last_chunk_mut::<TAG>().ok_or(AeadFailure)?;
        let mut rest = &mut *text;
        for piece in plain.pieces().chain(std::iter::once(tail)) {
            let (here, next) = rest.split_at_mut_checked(piece.len()).ok_or(AeadFailure)?;
            here.copy_from_slice(piece);
            rest = next;
        }
        if !rest.is_empty() {
            return Err(AeadFailure);
        }
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let made = self.key.seal_in_place_separate_tag(nonce, Aad::from(aad), text).map_err(|_| AeadFailure)?;
        tag.copy_from_slice(made.as_ref());
        Ok(())
    }

    fn open(&mut self, nonce: &[u8; 12], aad: &[u8], body: &mut [u8]) -> Result<(), AeadFailure> {
        let nonce = Nonce::assume_unique_for_key(*nonce);
        self.key.open_in_place(nonce, Aad::from(aad), body).map(|_| ()).map_err(|_| AeadFailure)
    }
}
