//! Per-connection choices that are the engine's own; everything else is configured on the `Ssl`.

use crate::error::BuildError;
use crate::record::MAX_PLAINTEXT;
use crate::record::aead::AeadChoice;
use crate::record::seal::MAX_PADDING;

/// How TLS 1.3 records are padded (RFC 8446 §5.4). Only Engine protection pads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// Not at all.
    #[default]
    None,
    /// Up to the next multiple of this many bytes (2..=256) of plaintext, where the record can hold it.
    Multiple(usize),
}

impl Padding {
    /// Zeros to add to `len` bytes of plaintext.
    pub(crate) fn zeros(self, len: usize) -> usize {
        match self {
            Padding::None => 0,
            Padding::Multiple(of) => (len.next_multiple_of(of) - len).min(MAX_PLAINTEXT - len).min(MAX_PADDING),
        }
    }
}

/// Records that start small and grow, so that a receiver can use the first bytes of an answer early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicRecords {
    /// Plaintext of each record at first (bytes).
    pub first: usize,
    /// Once this many bytes were written, records are as large as fit.
    pub until: u64,
}

/// Choices for one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub(crate) take_keys: bool,
    pub(crate) aead: AeadChoice,
    pub(crate) max_plaintext: usize,
    pub(crate) dynamic: Option<DynamicRecords>,
    pub(crate) padding: Padding,
    pub(crate) rekey_after: u64,
    pub(crate) control_limit: u32,
    /// Of the sending direction, and of the receiving one.
    pub(crate) keep_keys: (bool, bool),
}

impl Default for Options {
    fn default() -> Self {
        Options {
            take_keys: true,
            aead: AeadChoice::default(),
            max_plaintext: MAX_PLAINTEXT,
            dynamic: None,
            padding: Padding::None,
            rekey_after: DEFAULT_REKEY_AFTER,
            control_limit: DEFAULT_CONTROL_LIMIT,
            keep_keys: (false, false),
        }
    }
}

/// Half of the 2^24 full-sized records that AES-GCM may safely protect under one key (RFC 8446 §5.5 allows 2^24.5).
pub const DEFAULT_REKEY_AFTER: u64 = 1 << 23;
/// Control records that may come without application data between them.
pub const DEFAULT_CONTROL_LIMIT: u32 = 64;

impl Options {
    /// Leaves every record to OpenSSL ([`Protection::Library`](crate::Protection::Library)). By default the engine
    /// takes the keys wherever OpenSSL offers them.
    #[must_use]
    pub fn library_protection(mut self) -> Self {
        self.take_keys = false;
        self
    }

    /// Who does the record layer's AEAD in Engine protection.
    #[must_use]
    pub fn aead(mut self, choice: AeadChoice) -> Self {
        self.aead = choice;
        self
    }

    /// The most plaintext that a record we send carries (1..=16384 bytes).
    #[must_use]
    pub fn max_plaintext(mut self, bytes: usize) -> Self {
        self.max_plaintext = bytes;
        self
    }

    /// Small records first; see [`DynamicRecords`].
    #[must_use]
    pub fn dynamic_records(mut self, dynamic: DynamicRecords) -> Self {
        self.dynamic = Some(dynamic);
        self
    }

    /// Padding of the records we send.
    #[must_use]
    pub fn padding(mut self, padding: Padding) -> Self {
        self.padding = padding;
        self
    }

    /// How many records one key may seal (1 to [`DEFAULT_REKEY_AFTER`]) before it is replaced by a KeyUpdate (TLS 1.3) or
    /// the connection ends (TLS 1.2 with AES-GCM). In TLS 1.2 full-sized records count, and small ones for what they
    /// are; with ChaCha20-Poly1305 there is no limit.
    #[must_use]
    pub fn rekey_after(mut self, records: u64) -> Self {
        self.rekey_after = records;
        self
    }

    /// How many KeyUpdates, tickets, empty records and the like may come in a row before the peer is cut off.
    #[must_use]
    pub fn control_limit(mut self, records: u32) -> Self {
        self.control_limit = records;
        self
    }

    /// Keeps the raw keys of a direction, beside the AEAD that has them, until
    /// [`Connection::hand_over`](crate::Connection::hand_over) offers them to the kernel. By default none are kept.
    ///
    /// Records that are padded, or shorter than they could be, are for the engine to make: with
    /// [`padding`](Self::padding), [`dynamic_records`](Self::dynamic_records) or
    /// [`max_plaintext`](Self::max_plaintext) no sending keys are kept.
    #[must_use]
    pub fn keep_keys(mut self, sending: bool, receiving: bool) -> Self {
        self.keep_keys = (sending, receiving);
        self
    }

    /// Whether the kernel makes records of the kind that is asked for here.
    fn kernel_can_send(&self) -> bool {
        self.padding == Padding::None && self.dynamic.is_none() && self.max_plaintext == MAX_PLAINTEXT
    }

    /// These options, with what cannot be together left out.
    pub(crate) fn settled(mut self) -> Self {
        self.keep_keys.0 &= self.kernel_can_send();
        self
    }

    pub(crate) fn check(&self) -> Result<(), BuildError> {
        let sizes = [self.max_plaintext, self.dynamic.map_or(1, |d| d.first)];
        if sizes.iter().any(|size| !(1..=MAX_PLAINTEXT).contains(size)) {
            return Err(BuildError::BadOption("a record carries 1 to 16384 bytes of plaintext"));
        }
        if let Padding::Multiple(of) = self.padding
            && !(2..=MAX_PADDING + 1).contains(&of)
        {
            return Err(BuildError::BadOption("padding goes to a multiple of 2 to 256 bytes"));
        }
        if !(1..=DEFAULT_REKEY_AFTER).contains(&self.rekey_after) {
            return Err(BuildError::BadOption("a key may seal 1 to 2^23 records"));
        }
        Ok(())
    }

    /// The plaintext of the next record, with `written` bytes before it.
    pub(crate) fn record_size(&self, written: u64) -> usize {
        match self.dynamic {
            Some(dynamic) if written < dynamic.until => dynamic.first.min(self.max_plaintext),
            _ => self.max_plaintext,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_reaches_the_multiple_and_never_leaves_the_record() {
        assert_eq!(Padding::Multiple(64).zeros(1), 63);
        assert_eq!(Padding::Multiple(64).zeros(64), 0);
        assert_eq!(Padding::Multiple(256).zeros(1), 255);
        assert_eq!(Padding::Multiple(100).zeros(MAX_PLAINTEXT), 0);
        assert_eq!(Padding::Multiple(100).zeros(MAX_PLAINTEXT - 1), 1);
    }

    #[test]
    fn options_that_cannot_be_are_refused() {
        let bad = [
            Options::default().max_plaintext(0),
            Options::default().max_plaintext(MAX_PLAINTEXT + 1),
            Options::default().padding(Padding::Multiple(1)),
            Options::default().padding(Padding::Multiple(257)),
            Options::default().rekey_after(0),
            Options::default().rekey_after(DEFAULT_REKEY_AFTER + 1),
            Options::default().dynamic_records(DynamicRecords { first: 0, until: 1 }),
        ];
        for options in bad {
            assert!(matches!(options.check(), Err(BuildError::BadOption(_))), "{options:?}");
        }
        assert_eq!(Options::default().check(), Ok(()));
    }
}
