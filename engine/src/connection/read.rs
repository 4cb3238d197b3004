//! Reading: one record at a time, lent where it lies.

use super::Connection;
use super::event::Received;
use super::inbound::{Front, Lent};
use crate::backend::Backend;
use crate::error::{BadRecord, Error, Native};
use crate::ffi::bio::{Border, Refusal};
use crate::ffi::tls::Outcome;
use crate::record::frame::Frame;
use crate::record::open::{Opened, relabel};
use crate::record::{
    ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, CONTROL_RESERVE, HANDSHAKE, HEADER, MAX_EMPTY_RECORDS, MAX_RECORD_OUT,
};
use crate::state::Trigger;
use crate::want::Want;

/// What one step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Nothing,
    HandshakeComplete,
    Plaintext,
    PeerClosed,
    Truncated,
}

/// A record of a content type that nobody knows, which OpenSSL answers with the alert unexpected_message.
const UNEXPECTED: [u8; HEADER + 1] = [24, 3, 3, 0, 1, 1];

impl<B: Backend> Connection<B> {
    /// Gives back the memory of plaintext that was read to its end.
    pub(super) fn settle(&mut self) {
        if self.inbound.lent.len == 0 && self.inbound.lent.record > 0 {
            self.backend.consume(self.inbound.lent.record);
            self.inbound.lent = Lent::default();
        }
    }

    pub(super) fn lend(&mut self) -> Received<'_> {
        let Lent { offset, len, .. } = self.inbound.lent;
        let data = self.backend.input().get_mut(offset..offset + len).unwrap_or_default();
        // A backend that broke its promise and lost bytes gets what is there.
        self.inbound.lent.len = data.len();
        Received::new(data, &mut self.inbound.lent)
    }

    pub(super) fn step_read(&mut self) -> Result<Step, Error> {
        self.settle();
        if self.inbound.lent.len > 0 {
            return Ok(Step::Plaintext);
        }
        loop {
            let frame = Frame::parse(self.backend.input(), self.inbound.max_ciphertext());
            let all_seen = matches!(frame, Frame::Partial { .. });
            let waits = all_seen && !self.backend.input_ended() && self.inbound.unopened.is_none();
            if let Some(want) = self.held_up()? {
                self.want = Some(want);
                return Ok(Step::Nothing);
            }
            if waits {
                self.want = Some(Want::Input);
                return Ok(Step::Nothing);
            }
            self.want = None;
            if let (true, Some(bad)) = (all_seen, self.inbound.unopened) {
                return Err(self.refuse(bad.into()));
            }
            let step = self.read_record(frame)?;
            if step != Step::Nothing {
                return Ok(step);
            }
        }
    }

    fn read_record(&mut self, frame: Frame) -> Result<Step, Error> {
        let engine = self.inbound.is_engine();
        match frame {
            Frame::Whole { len, .. } if engine => self.read_engine(len),
            Frame::Broken(bad) if engine => Err(self.refuse(bad.into())),
            // OpenSSL lets one through to a client, which RFC 8446 §5 forbids after the peer's Finished.
            Frame::Whole { content_type: CHANGE_CIPHER_SPEC, .. } if self.is_tls13() => {
                Err(self.refuse(BadRecord::ContentType(CHANGE_CIPHER_SPEC).into()))
            }
            Frame::Whole { len, .. } => self.read_native(Front { start: 0, end: len, record: len }),
            // Not a record, or the end came in the middle of one: OpenSSL has to know.
            Frame::Partial { .. } | Frame::Broken(_) => {
                let all = self.backend.input().len();
                self.read_native(Front { start: 0, end: if engine { 0 } else { all }, record: all })
            }
        }
    }

    /// Opens the record of `len` bytes at the start of the input, and keeps it or passes it on.
    fn read_engine(&mut self, len: usize) -> Result<Step, Error> {
        if let Some(front) = self.inbound.opened {
            return self.read_native(front);
        }
        let opened = match self.open_front(len) {
            Ok(opened) => opened,
            Err(bad) => return Err(self.refuse(bad.into())),
        };
        match opened.content_type {
            APPLICATION_DATA if !self.inbound.watch => self.keep(opened, len),
            ALERT | HANDSHAKE | APPLICATION_DATA => {
                self.inbound.watch_after(opened.content_type);
                match self.relabel_front(opened, len) {
                    Ok(front) => self.read_native(front),
                    Err(bad) => Err(self.refuse(bad.into())),
                }
            }
            other => Err(self.refuse(BadRecord::ContentType(other).into())),
        }
    }

    pub(super) fn open_front(&mut self, len: usize) -> Result<Opened, BadRecord> {
        let record = &mut self.backend.input()[..len];
        self.inbound.opener().map_or(Err(BadRecord::Mac), |opener| opener.open(record))
    }

    /// Writes the header that OpenSSL expects before the plaintext of an opened record.
    pub(super) fn relabel_front(&mut self, opened: Opened, record: usize) -> Result<Front, BadRecord> {
        relabel(&mut self.backend.input()[..record], opened).ok_or(BadRecord::TooShort { length: record })?;
        let front = Front::of(opened, record);
        self.inbound.opened = Some(front);
        self.wipe_what_is_private(opened);
        Ok(front)
    }

    /// Has OpenSSL wipe what it is about to read, if that is data. An alert is nobody's secret; nor is a Finished, a
    /// KeyUpdate or a ticket, which will be sent in the clear, and which OpenSSL does not wipe where it keeps it.
    pub(super) fn wipe_what_is_private(&mut self, opened: Opened) {
        self.tls.set_wiping(opened.content_type == APPLICATION_DATA);
    }

    /// Application data stays where it was opened until it is read.
    fn keep(&mut self, opened: Opened, record: usize) -> Result<Step, Error> {
        if opened.len == 0 {
            self.backend.consume(record);
            return self.count_empty();
        }
        self.inbound.count_data(opened.len);
        self.inbound.lent = Lent { offset: opened.offset, len: opened.len, record };
        Ok(Step::Plaintext)
    }

    pub(super) fn count_empty(&mut self) -> Result<Step, Error> {
        self.inbound.empties += 1;
        if self.inbound.empties > MAX_EMPTY_RECORDS {
            return Err(self.refuse(Error::Flood { what: "empty records", limit: MAX_EMPTY_RECORDS }));
        }
        Ok(Step::Nothing)
    }

    /// Has OpenSSL read what `front` shows of the input.
    fn read_native(&mut self, front: Front) -> Result<Step, Error> {
        let ended = self.backend.input_ended();
        let ports = self.backend.ports(CONTROL_RESERVE);
        let mut border = Border::new(ports.room, &mut self.outbound, &mut self.inbound);
        border.ended = ended && front.record == ports.input.len();
        let outcome = self.tls.read(&mut border, &mut ports.input[..front.record], front);
        let (taken, put) = (border.taken, border.put);
        self.backend.commit(put);
        if let Ok(Outcome::Done(len)) = outcome {
            self.inbound.lent = Lent { offset: front.text(), len, record: front.record };
        } else if outcome.is_ok() {
            self.take_front(front, taken);
        }
        self.judge(outcome)
    }

    /// What it means that OpenSSL read a record.
    pub(super) fn judge(&mut self, outcome: Result<Outcome, Error>) -> Result<Step, Error> {
        match outcome {
            Ok(Outcome::Done(len)) => {
                self.inbound.opened = None;
                self.inbound.count_data(len);
                Ok(Step::Plaintext)
            }
            Ok(Outcome::Wants(_)) if self.kernel_cannot_follow() => Err(self.cannot_follow()),
            Ok(Outcome::Wants(want)) => {
                self.blocked = match want {
                    Want::Input => self.owes_key_update().then_some(Want::Drain),
                    other => Some(other),
                };
                self.after_control()
            }
            Ok(Outcome::PeerClosed) => {
                self.transit(Trigger::PeerClosed)?;
                Ok(Step::PeerClosed)
            }
            Err(Error::Truncated) => {
                self.fail(Error::Truncated);
                Ok(Step::Truncated)
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    fn after_control(&mut self) -> Result<Step, Error> {
        if self.inbound.count_control() {
            return Ok(Step::Nothing);
        }
        let limit = self.options.control_limit;
        Err(self.refuse(Error::Flood { what: "records without application data", limit }))
    }

    /// Consumes what OpenSSL took of the input. A record that the engine opened is taken whole or not at all.
    pub(super) fn take_front(&mut self, front: Front, taken: usize) {
        if taken == 0 {
            return;
        }
        let whole = self.inbound.opened.take().is_some();
        self.backend.consume(if whole { front.record } else { taken });
    }

    /// An answer to the peer's KeyUpdate that is still to be sent (not after our close_notify).
    pub(super) fn owes_key_update(&self) -> bool {
        self.state.can_write() && self.tls.owes_key_update()
    }

    /// What keeps every call into OpenSSL from making sense: something of its own that it cannot finish yet, or no room
    /// for a control record.
    #[inline]
    pub(super) fn held_up(&mut self) -> Result<Option<Want>, Error> {
        if self.blocked.is_some() {
            self.unblock()?;
        }
        Ok(self.blocked.or_else(|| (!self.has_reserve()).then_some(Want::Drain)))
    }

    /// Lets OpenSSL finish what it has begun: the answer to a KeyUpdate, a callback that said "later", a control record
    /// that did not fit.
    #[cold]
    fn unblock(&mut self) -> Result<(), Error> {
        if self.outbound.keys.awaits_kernel() {
            return Ok(());
        }
        let owes = self.owes_key_update();
        let room = if owes { CONTROL_RESERVE } else { MAX_RECORD_OUT + CONTROL_RESERVE };
        if self.backend.room(room).is_empty() {
            self.blocked = Some(Want::Drain);
            return Ok(());
        }
        let handshake = self.tls.in_init();
        let outcome = self.native_with(room, |tls, border| match (owes, handshake) {
            (true, _) => tls.key_update(border, false),
            (false, true) => tls.handshake(border),
            (false, false) => tls.provoke(border),
        });
        self.blocked = match outcome {
            Ok(Outcome::Done(_)) if !owes && !handshake => return Err(self.bug("a read without input gave data")),
            // What comes next is for the key that the kernel has still to be given.
            Ok(_) if self.outbound.keys.awaits_kernel() => Some(Want::Drain),
            Ok(Outcome::Done(_) | Outcome::Wants(Want::Input) | Outcome::PeerClosed) => None,
            Ok(Outcome::Wants(want)) => Some(want),
            Err(error) => return Err(self.fail(error)),
        };
        Ok(())
    }

    /// Ends the connection for something the peer did: OpenSSL sends the alert, `error` is the cause.
    pub(super) fn refuse(&mut self, error: Error) -> Error {
        let refusal = match error {
            Error::Record(BadRecord::Mac | BadRecord::TooShort { .. }) => Some(Refusal::Mac),
            Error::Record(BadRecord::Overflow { .. }) => Some(Refusal::Overflow),
            Error::Record(BadRecord::Version(_)) => Some(Refusal::Version),
            _ => None,
        };
        // What OpenSSL says of it is what it was told; the cause is known here.
        let _: Result<Outcome, Error> = self.native(|tls, border| {
            border.refusal = refusal;
            border.show(if refusal.is_none() { &UNEXPECTED } else { &[] });
            tls.provoke(border)
        });
        self.fail(error)
    }

    pub(super) fn bug(&mut self, what: &'static str) -> Error {
        self.fail(Error::Bug { what, native: Native::drain() })
    }
}
