//! Giving a direction's keys to the kernel.

use zeroize::Zeroize as _;

use super::aead::Aead;
use super::crypto_info::CryptoInfo;
use super::gather::Gather;
use super::keys::TrafficKeys;
use super::{HEADER, header};

/// What became of keys that were offered to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takeover {
    /// The kernel does not protect these records.
    Refused,
    /// From the next record on, it does.
    Taken {
        /// It can replace the key by another one, as a KeyUpdate asks (Linux 6.14 and newer).
        rekeys: bool,
    },
}

/// A sealer or an opener, as one that has keys for the kernel.
pub(crate) trait Keyed {
    fn aead(&self) -> &Aead;

    /// Whether there are raw keys for the kernel.
    fn offers_keys(&self) -> bool;

    /// Offers the raw keys, with the number of the next record. True if they were taken: then this seals no more, or
    /// opens, and only writes or reads headers.
    fn hand_over(&mut self, take: impl FnOnce(&CryptoInfo) -> Takeover) -> bool;
}

/// Raw keys that wait for the kernel. They are taken out for one offer, and zeroed whatever becomes of it.
pub(crate) struct Kept(Option<Box<TrafficKeys>>);

impl Kept {
    pub(crate) fn new(keys: &TrafficKeys, keep: bool) -> Kept {
        Kept(keep.then(|| Box::new(keys.again())))
    }

    pub(crate) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// The next generation of keys: for the kernel, if it has those before or is still to be asked.
    pub(crate) fn renew(&mut self, keys: &TrafficKeys, kernel: bool) {
        *self = Kept::new(keys, kernel || self.is_some());
    }

    /// Offers the keys with `sequence` records behind them; if they are taken, the AEAD's own are dropped and
    /// the nonces' part of them is zeroed.
    pub(crate) fn hand_over(
        &mut self,
        aead: &mut Aead,
        iv: &mut [u8; 12],
        sequence: u64,
        take: impl FnOnce(&CryptoInfo) -> Takeover,
    ) -> bool {
        let Some(keys) = self.0.take() else { return false };
        match take(&CryptoInfo::new(&keys, sequence)) {
            Takeover::Taken { rekeys } => {
                *aead = Aead::Kernel { rekeys };
                iv.zeroize();
                true
            }
            Takeover::Refused => false,
        }
    }
}

/// Lays a header and `plain` into `record`, which is as long as both.
pub(crate) fn frame_plain(content_type: u8, plain: Gather<'_>, record: &mut [u8]) -> Option<()> {
    let (head, mut rest) = record.split_first_chunk_mut::<HEADER>()?;
    *head = header(content_type, plain.len());
    for piece in plain.pieces() {
        let (here, next) = rest.split_at_mut_checked(piece.len())?;
        here.copy_from_slice(piece);
        rest = next;
    }
    rest.is_empty().then_some(())
}
