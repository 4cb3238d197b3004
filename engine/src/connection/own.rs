//! Records in memory that is neither the backend's nor the engine's: a mapped region, a registered buffer.

use std::ops::Range;

use super::Connection;
use super::inbound::Front;
use super::read::Step;
use crate::backend::Backend;
use crate::error::{BadRecord, Error};
use crate::ffi::bio::Border;
use crate::protection::Protection;
use crate::record::frame::Frame;
use crate::record::gather::Gather;
use crate::record::open::{Opened, relabel};
use crate::record::{ALERT, APPLICATION_DATA, CONTROL_RESERVE, HANDSHAKE};
use crate::state::Trigger;
use crate::want::{Progress, Want};

/// What a record that was opened in the caller's memory held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// Application data, at these bytes of the record.
    Plaintext(Range<usize>),
    /// Nothing for the application: a ticket, a KeyUpdate, an empty record. Output may wait in the backend.
    Control,
    /// The peer's close_notify.
    PeerClosed,
}

const NOT_OURS: Error = Error::Misuse("records in the caller's own memory need Engine protection in that direction");

impl<B: Backend> Connection<B> {
    /// How long a record of `plaintext` bytes is once sealed, header included (bytes); `None` where the engine
    /// has no sending keys, or if that is more than a record may hold
    /// ([`Options::max_plaintext`](crate::Options::max_plaintext)).
    pub fn sealed_len(&mut self, plaintext: usize) -> Option<usize> {
        if plaintext > self.options.max_plaintext {
            return None;
        }
        if self.outbound.protection() != Protection::Engine {
            return None;
        }
        let padding = self.options.padding.zeros(plaintext);
        self.outbound.sealer().map(|sealer| sealer.sealed_len(plaintext, padding))
    }

    /// Seals `plaintext` as one record at the start of `out`, and returns the record's length
    /// ([`sealed_len`](Self::sealed_len)). The record belongs on the wire before anything that the backend is given
    /// later. `Want::Drain`: the backend has output that belongs before it; send that first.
    ///
    /// # Errors
    ///
    /// [`Error::TooSmall`], [`Error::Misuse`] and [`Error::Illegal`], with nothing changed; else the cause for which the
    /// connection failed.
    pub fn seal_into(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<Progress<usize>, Error> {
        self.check(Trigger::Write)?;
        if plaintext.is_empty() {
            return Ok(Progress::Done(0));
        }
        if self.outbound.protection() != Protection::Engine {
            return Err(NOT_OURS);
        }
        let needed = self.sealed_len(plaintext.len());
        let needed = needed.ok_or(Error::Misuse("this is more plaintext than one record may hold"))?;
        if out.len() < needed {
            return Err(Error::TooSmall { needed, given: out.len() });
        }
        if self.is_held() {
            return Ok(Progress::Want(Want::Drain));
        }
        // A KeyUpdate that falls due goes to the backend, and so before this record.
        if let Some(want) = self.held_up()? {
            return Ok(Progress::Want(want));
        }
        if let Some(want) = self.keep_keys_fresh()? {
            return Ok(Progress::Want(want));
        }
        if self.backend.unsent() > 0 {
            return Ok(Progress::Want(Want::Drain));
        }
        let sealed = self.seal_data(Gather::one(plaintext), out)?;
        self.count_sent(plaintext.len());
        Ok(Progress::Done(sealed))
    }

    /// Opens in place the one record that `record` holds, the next one of the stream; where its plaintext lies is in
    /// the answer. `Want::Drain`: there is no room for an answer it may call for; nothing was changed.
    ///
    /// # Errors
    ///
    /// [`Error::Misuse`] if it is not exactly one record or the backend holds input that comes before it, and
    /// [`Error::Illegal`], with nothing changed; else the cause for which the connection failed.
    pub fn open_in(&mut self, record: &mut [u8]) -> Result<Progress<InPlace>, Error> {
        self.check(Trigger::Read)?;
        if self.inbound.protection() != Protection::Engine {
            return Err(NOT_OURS);
        }
        self.settle();
        if !self.backend.input().is_empty() {
            return Err(Error::Misuse("the backend holds input that comes before this record"));
        }
        if let Some(want) = self.held_up()? {
            return Ok(Progress::Want(want));
        }
        match Frame::parse(record, self.inbound.max_ciphertext()) {
            Frame::Whole { len, .. } if len == record.len() => {}
            Frame::Broken(bad) => return Err(self.refuse(bad.into())),
            _ => return Err(Error::Misuse("the memory does not hold exactly one record")),
        }
        let opened = match self.inbound.opener().map_or(Err(BadRecord::Mac), |opener| opener.open(record)) {
            Ok(opened) => opened,
            Err(bad) => return Err(self.refuse(bad.into())),
        };
        self.classify_in(opened, record).map(Progress::Done)
    }

    fn classify_in(&mut self, opened: Opened, record: &mut [u8]) -> Result<InPlace, Error> {
        let text = opened.offset..opened.offset + opened.len;
        let step = match opened.content_type {
            APPLICATION_DATA if !self.inbound.watch && opened.len == 0 => self.count_empty()?,
            APPLICATION_DATA if !self.inbound.watch => {
                self.inbound.count_data(opened.len);
                return Ok(InPlace::Plaintext(text));
            }
            ALERT | HANDSHAKE | APPLICATION_DATA => {
                self.inbound.watch_after(opened.content_type);
                self.show_openssl(opened, record)?
            }
            other => return Err(self.refuse(BadRecord::ContentType(other).into())),
        };
        match step {
            Step::Plaintext => Ok(InPlace::Plaintext(text)),
            Step::PeerClosed => Ok(InPlace::PeerClosed),
            Step::Nothing => Ok(InPlace::Control),
            Step::HandshakeComplete | Step::Truncated => {
                Err(self.bug("a record cannot end a handshake or a transport"))
            }
        }
    }

    fn show_openssl(&mut self, opened: Opened, record: &mut [u8]) -> Result<Step, Error> {
        let front = Front::of(opened, record.len());
        if relabel(record, opened).is_none() {
            return Err(self.refuse(BadRecord::TooShort { length: record.len() }.into()));
        }
        self.wipe_what_is_private(opened);
        let room = self.backend.room(CONTROL_RESERVE);
        let mut border = Border::new(room, &mut self.outbound, &mut self.inbound);
        let outcome = self.tls.read(&mut border, record, front);
        let put = border.put;
        self.backend.commit(put);
        self.judge(outcome)
    }
}
