//! The sending direction's state; shares nothing with the receiving one.

use super::keys::Keys;
use crate::alert::Alert;
use crate::options::Options;
use crate::protection::{Counters, Protection};
use crate::record::aead::AeadFailure;
use crate::record::gather::Gather;
use crate::record::keys::{TrafficKeys, Version};
use crate::record::seal::Sealer;
use crate::record::{ALERT, APPLICATION_DATA, CONTROL_RESERVE, MAX_PLAINTEXT};

/// A control record of this much plaintext or less (an alert, a KeyUpdate) may use the reserve.
const SMALL_CONTROL: usize = 64;

/// Sealer, counters, and what the BIO needs to remember between writes.
pub(crate) struct Outbound {
    options: Options,
    pub(crate) keys: Keys<Sealer>,
    pub(crate) counters: Counters,
    /// Content type of what OpenSSL writes next, once the keys are ours.
    control_type: u8,
    /// The last write was cut short or refused: what comes next continues it.
    cut: bool,
}

impl Outbound {
    pub(crate) fn new(options: Options) -> Outbound {
        Outbound {
            options,
            keys: Keys::OpenSsl,
            counters: Counters::default(),
            control_type: APPLICATION_DATA,
            cut: false,
        }
    }

    pub(crate) fn is_engine(&self) -> bool {
        self.keys.are_ours()
    }

    pub(crate) fn protection(&self) -> Protection {
        self.keys.protection()
    }

    #[inline]
    pub(crate) fn sealer(&mut self) -> Option<&mut Sealer> {
        self.keys.get()
    }

    /// Forgets the keys, which zeroes them.
    pub(crate) fn drop_keys(&mut self) {
        self.keys.lose();
    }

    /// Answers a key offer.
    pub(crate) fn take_keys(&mut self, keys: &TrafficKeys) -> bool {
        // TLS 1.2's explicit nonce is our sequence number, which must not meet one that OpenSSL chose before.
        let fresh = keys.version() == Version::Tls13 || keys.sequence() == 0;
        if !self.options.take_keys || !fresh {
            return false;
        }
        let (aead, keep) = (self.options.aead, self.options.keep_keys.0);
        let taken = self.keys.take(keys, || Sealer::new(aead, keys, keep), |sealer| sealer.rekey(keys));
        self.counters.key_generations += u64::from(taken);
        taken
    }

    /// Seals a fatal alert that OpenSSL knows nothing of.
    pub(crate) fn seal_alert(&mut self, alert: Alert, room: &mut [u8]) -> Option<usize> {
        const FATAL: u8 = 2;
        self.control_type = ALERT;
        self.seal_control(&[FATAL, alert.0], room).ok().flatten()
    }

    pub(crate) fn set_control_type(&mut self, content_type: u8) {
        self.control_type = content_type;
    }

    /// Seals what OpenSSL wrote as one control record; `None` if `room` (reserve included) is too short now.
    pub(crate) fn seal_control(&mut self, data: &[u8], room: &mut [u8]) -> Result<Option<usize>, AeadFailure> {
        let Some(sealer) = self.keys.get() else { return Err(AeadFailure) };
        if data.len() > MAX_PLAINTEXT {
            return Err(AeadFailure);
        }
        let reserve = if self.control_type == ALERT || data.len() <= SMALL_CONTROL { 0 } else { CONTROL_RESERVE };
        if room.len() < sealer.overhead() + data.len() + reserve {
            return Ok(None);
        }
        let sealed = sealer.seal(self.control_type, Gather::one(data), 0, room)?;
        self.counters.control_records += 1;
        Ok(Some(sealed))
    }

    /// How much of a ready-made write to take, with `plain` bytes of room and `all` with the reserve. Only an alert
    /// or another small protected record that starts a write of its own may use the reserve: the rest of a long
    /// flight does not.
    pub(crate) fn admit(&mut self, data: &[u8], plain: usize, all: usize) -> usize {
        let control = match data.first() {
            Some(&ALERT) => data.len() <= CONTROL_RESERVE,
            Some(&APPLICATION_DATA) => data.len() <= SMALL_CONTROL,
            _ => false,
        };
        let n = if control && !self.cut && data.len() <= all { data.len() } else { data.len().min(plain) };
        self.cut = n < data.len();
        n
    }
}
