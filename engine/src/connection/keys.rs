//! Who has the traffic keys of one direction.

use std::sync::OnceLock;

use super::Connection;
use crate::backend::Backend;
use crate::protection::Protection;
use crate::record::aead::AeadFailure;
use crate::record::crypto_info::CryptoInfo;
use crate::record::hand_over::{Keyed, Takeover};
use crate::record::keys::{TrafficKeys, Version};

/// Who has the traffic keys of one direction. They never go back: OpenSSL's own record layer has no sequence number to
/// go on with.
pub(crate) enum Keys<T> {
    /// OpenSSL: its record layer protects the records.
    OpenSsl,
    /// We do, or the kernel for us.
    Ours(T),
    /// We had them, and dropped them or could not follow a KeyUpdate: nothing can be protected any more.
    Lost(Protection),
}

impl<B: Backend> Connection<B> {
    /// Has the processor fetch what the next record of each direction needs outside of the connection itself: a hint, for
    /// who has many connections and knows a little earlier which come next ([`prefetch`](crate::prefetch) does the same for
    /// any memory).
    pub fn prefetch(&self) {
        self.inbound.keys.prefetch();
        self.outbound.keys.prefetch();
    }
}

impl<T: Keyed> Keys<T> {
    fn prefetch(&self) {
        if let Keys::Ours(keyed) = self {
            keyed.aead().prefetch();
        }
    }

    pub(crate) fn are_ours(&self) -> bool {
        !matches!(self, Keys::OpenSsl)
    }

    pub(crate) fn protection(&self) -> Protection {
        match self {
            Keys::OpenSsl => Protection::Library,
            Keys::Ours(keyed) if keyed.aead().is_kernel() => Protection::Kernel,
            Keys::Ours(_) => Protection::Engine,
            Keys::Lost(was) => *was,
        }
    }

    /// Whether there are raw keys for the kernel.
    pub(crate) fn offers_keys(&self) -> bool {
        matches!(self, Keys::Ours(keyed) if keyed.offers_keys())
    }

    /// Whether the kernel protects these records and has to be given another key first.
    pub(crate) fn awaits_kernel(&self) -> bool {
        matches!(self, Keys::Ours(keyed) if keyed.aead().is_kernel() && keyed.offers_keys())
    }

    /// Whether a KeyUpdate can be followed.
    pub(crate) fn rekeys(&self) -> bool {
        !matches!(self, Keys::Ours(keyed) if !keyed.aead().rekeys())
    }

    /// Offers the raw keys to the kernel.
    pub(crate) fn hand_over(&mut self, take: impl FnOnce(&CryptoInfo) -> Takeover) -> bool {
        self.get().is_some_and(|keyed| keyed.hand_over(take))
    }

    #[inline]
    pub(crate) fn get(&mut self) -> Option<&mut T> {
        match self {
            Keys::Ours(keyed) => Some(keyed),
            Keys::OpenSsl | Keys::Lost(_) => None,
        }
    }

    /// Zeroes what there is.
    pub(crate) fn lose(&mut self) {
        if self.are_ours() {
            *self = Keys::Lost(self.protection());
        }
    }

    /// Answers an offer of `keys`. The first may be declined, and OpenSSL keeps the direction; a later one that cannot be
    /// taken loses it.
    pub(crate) fn take(
        &mut self,
        keys: &TrafficKeys,
        first: impl FnOnce() -> Result<T, AeadFailure>,
        next: impl FnOnce(&mut T) -> Result<(), AeadFailure>,
    ) -> bool {
        match self {
            Keys::OpenSsl if keys.version() == Version::Tls13 && !rekeys_tls13() => return false,
            Keys::OpenSsl => match first() {
                Ok(keyed) => *self = Keys::Ours(keyed),
                Err(AeadFailure) => return false,
            },
            Keys::Ours(keyed) => {
                if next(keyed).is_err() {
                    self.lose();
                }
            }
            Keys::Lost(_) => {}
        }
        matches!(self, Keys::Ours(_))
    }
}

/// Whether this OpenSSL offers the next generation of TLS 1.3 keys after a KeyUpdate. Before 3.2 it offers only the
/// first sending key, and would send its KeyUpdate while we went on under the old key; nothing it does earlier tells.
fn rekeys_tls13() -> bool {
    const OPENSSL_3_2: i64 = 0x3020_0000;
    static REKEYS: OnceLock<bool> = OnceLock::new();
    *REKEYS.get_or_init(|| openssl::version::number() >= OPENSSL_3_2)
}
