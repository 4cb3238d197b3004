//! The receiving direction's state; shares nothing with the sending one.

use super::keys::Keys;
use crate::error::BadRecord;
use crate::options::Options;
use crate::protection::{Counters, Protection};
use crate::record::keys::TrafficKeys;
use crate::record::open::{Opened, Opener};
use crate::record::{ALERT, HANDSHAKE, HEADER, MAX_CIPHERTEXT_12};

/// Plaintext that lies in the backend's input and may be lent: all positions from the start of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lent {
    /// Start of what is left of the plaintext.
    pub(crate) offset: usize,
    /// Length of what is left.
    pub(crate) len: usize,
    /// Length of the record, to be consumed when nothing is left.
    pub(crate) record: usize,
}

/// What OpenSSL may see of the input: positions from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    /// Start of what OpenSSL sees, a header first (0, or where the engine wrote one before the plaintext).
    pub(crate) start: usize,
    /// End of it.
    pub(crate) end: usize,
    /// Length of the record as it was received.
    pub(crate) record: usize,
}

impl Front {
    /// What is shown of a record of `record` bytes that the engine opened: a header right before the plaintext.
    pub(crate) fn of(opened: Opened, record: usize) -> Front {
        Front { start: opened.offset - HEADER, end: opened.offset + opened.len, record }
    }

    /// Where the plaintext goes, or is.
    pub(crate) fn text(self) -> usize {
        (self.start + HEADER).min(self.record)
    }
}

/// Opener, counters, and what lies at the start of the input.
pub(crate) struct Inbound {
    options: Options,
    pub(crate) keys: Keys<Opener>,
    pub(crate) counters: Counters,
    /// The record at the start of the input was opened, and this is what is left of it.
    pub(crate) lent: Lent,
    /// The record at the start of the input was opened for OpenSSL, which has not taken it yet.
    pub(crate) opened: Option<Front>,
    /// The last record was a handshake message: OpenSSL sees the next one too, whatever it is (RFC 8446 §5.1: no
    /// interleaving).
    pub(crate) watch: bool,
    /// The kernel would not open the record behind what is in the input.
    pub(crate) unopened: Option<BadRecord>,
    /// Empty records in a row.
    pub(crate) empties: u32,
    /// Records without application data in a row.
    pub(crate) controls: u32,
}

impl Inbound {
    pub(crate) fn new(options: Options) -> Inbound {
        Inbound {
            options,
            keys: Keys::OpenSsl,
            counters: Counters::default(),
            lent: Lent::default(),
            opened: None,
            watch: false,
            unopened: None,
            empties: 0,
            controls: 0,
        }
    }

    pub(crate) fn is_engine(&self) -> bool {
        self.keys.are_ours()
    }

    pub(crate) fn protection(&self) -> Protection {
        self.keys.protection()
    }

    #[inline]
    pub(crate) fn opener(&mut self) -> Option<&mut Opener> {
        self.keys.get()
    }

    /// The most that may follow a record's header (bytes).
    pub(crate) fn max_ciphertext(&self) -> usize {
        match &self.keys {
            Keys::Ours(opener) => opener.max_body(),
            Keys::OpenSsl | Keys::Lost(_) => MAX_CIPHERTEXT_12,
        }
    }

    /// Forgets the keys, which zeroes them.
    pub(crate) fn drop_keys(&mut self) {
        self.keys.lose();
    }

    /// Answers a key offer.
    pub(crate) fn take_keys(&mut self, keys: &TrafficKeys) -> bool {
        if !self.options.take_keys {
            return false;
        }
        let (aead, keep) = (self.options.aead, self.options.keep_keys.1);
        let taken = self.keys.take(keys, || Opener::new(aead, keys, keep), |opener| opener.rekey(keys));
        self.counters.key_generations += u64::from(taken);
        taken
    }

    /// Notes the type of a record that OpenSSL saw. An alert in the middle of a handshake message does not end it.
    pub(crate) fn watch_after(&mut self, content_type: u8) {
        self.watch = content_type == HANDSHAKE || (self.watch && content_type == ALERT);
    }

    /// Counts a record that carried `len` bytes of application data.
    pub(crate) fn count_data(&mut self, len: usize) {
        self.counters.records += 1;
        self.counters.bytes += len as u64;
        self.empties = 0;
        self.controls = 0;
    }

    /// Counts a record that carried none; false when there were too many in a row.
    pub(crate) fn count_control(&mut self) -> bool {
        self.counters.control_records += 1;
        self.controls += 1;
        self.controls <= self.options.control_limit
    }
}
