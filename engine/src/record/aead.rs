//! The seam between the record layer and the cryptography.

use thiserror::Error;

use super::gather::Gather;
use super::keys::Suite;
use crate::ffi::evp::EvpAead;

/// Tag length of every AEAD here (bytes).
pub const TAG: usize = 16;

/// Sealing refused its arguments, or a tag did not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the AEAD refused")]
pub struct AeadFailure;

/// An AEAD keyed for one direction. It seals from the caller's memory into other memory, and opens in place.
pub trait RecordAead {
    /// Seals `plain` followed by `tail` into `out`, whose length is that of both and the tag.
    ///
    /// # Errors
    ///
    /// [`AeadFailure`] if the lengths do not fit or the provider fails; `out` then holds nothing of value.
    fn seal(
        &mut self,
        nonce: &[u8; 12],
        aad: &[u8],
        plain: Gather<'_>,
        tail: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadFailure>;

    /// Opens `body` (text, then tag) in place.
    ///
    /// # Errors
    ///
    /// [`AeadFailure`] if the tag does not fit; `body` may then hold plaintext that nobody vouches for, which the
    /// caller wipes.
    fn open(&mut self, nonce: &[u8; 12], aad: &[u8], body: &mut [u8]) -> Result<(), AeadFailure>;
}

/// Which implementation protects the records; the handshake is OpenSSL's in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AeadChoice {
    /// OpenSSL's EVP.
    #[default]
    Evp,
    /// The `ring` crate (feature `ring`).
    #[cfg(feature = "ring")]
    Ring,
}

/// The chosen implementation.
#[cfg_attr(
    feature = "ring",
    expect(
        clippy::large_enum_variant,
        reason = "a box would take memory for every connection, and a step for every record"
    )
)]
pub(crate) enum Aead {
    Evp(EvpAead),
    /// The kernel's: the key is not here.
    Kernel {
        /// The kernel takes another key in the place of the one it has.
        rekeys: bool,
    },
    #[cfg(feature = "ring")]
    Ring(super::ring::RingAead),
}

impl Aead {
    /// Has the processor fetch what is not in here.
    pub(crate) fn prefetch(&self) {
        if let Aead::Evp(evp) = self {
            evp.prefetch();
        }
    }

    pub(crate) fn new(choice: AeadChoice, suite: Suite, key: &[u8], seals: bool) -> Result<Aead, AeadFailure> {
        match choice {
            AeadChoice::Evp => EvpAead::new(suite, key, seals).map(Aead::Evp),
            #[cfg(feature = "ring")]
            AeadChoice::Ring => super::ring::RingAead::new(suite, key).map(Aead::Ring),
        }
    }

    pub(crate) fn is_kernel(&self) -> bool {
        matches!(self, Aead::Kernel { .. })
    }

    /// Whether a KeyUpdate can be followed.
    pub(crate) fn rekeys(&self) -> bool {
        !matches!(self, Aead::Kernel { rekeys: false })
    }

    /// Another key, in the same memory. One for the kernel is not kept here.
    pub(crate) fn rekey(&mut self, suite: Suite, key: &[u8]) -> Result<(), AeadFailure> {
        match self {
            Aead::Evp(evp) => evp.rekey(suite, key),
            Aead::Kernel { .. } => Ok(()),
            #[cfg(feature = "ring")]
            Aead::Ring(ring) => {
                *ring = super::ring::RingAead::new(suite, key)?;
                Ok(())
            }
        }
    }
}

impl RecordAead for Aead {
    fn seal(
        &mut self,
        nonce: &[u8; 12],
        aad: &[u8],
        plain: Gather<'_>,
        tail: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadFailure> {
        match self {
            Aead::Evp(evp) => evp.seal(nonce, aad, plain, tail, out),
            Aead::Kernel { .. } => Err(AeadFailure),
            #[cfg(feature = "ring")]
            Aead::Ring(ring) => ring.seal(nonce, aad, plain, tail, out),
        }
    }

    fn open(&mut self, nonce: &[u8; 12], aad: &[u8], body: &mut [u8]) -> Result<(), AeadFailure> {
        match self {
            Aead::Evp(evp) => evp.open(nonce, aad, body),
            Aead::Kernel { .. } => Err(AeadFailure),
            #[cfg(feature = "ring")]
            Aead::Ring(ring) => ring.open(nonce, aad, body),
        }
    }
}
