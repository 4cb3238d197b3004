//! The handshake, one record of input at a time.

use super::Connection;
use super::event::Event;
use super::inbound::Front;
use super::read::Step;
use crate::backend::Backend;
use crate::error::{BadRecord, Error};
use crate::ffi::bio::Border;
use crate::ffi::tls::Outcome;
use crate::record::CONTROL_RESERVE;
use crate::record::frame::Frame;
use crate::state::{State, Trigger};
use crate::want::Want;

impl<B: Backend> Connection<B> {
    /// Does what can be done with what the backend holds, and reports the next thing that happened. `None`: nothing
    /// more for now, and [`want`](Self::want) says what for.
    ///
    /// # Errors
    ///
    /// The cause for which the connection failed, now and at every later call. Ciphertext that the backend still
    /// holds for sending (an alert) should be sent all the same.
    pub fn poll_event(&mut self) -> Result<Option<Event<'_>>, Error> {
        Ok(match self.step()? {
            Step::Nothing => None,
            Step::HandshakeComplete => Some(Event::HandshakeComplete),
            Step::Plaintext => Some(Event::Plaintext(self.lend())),
            Step::PeerClosed => Some(Event::PeerClosed),
            Step::Truncated => Some(Event::Truncated),
        })
    }

    fn step(&mut self) -> Result<Step, Error> {
        match self.state {
            State::Idle | State::Handshake => self.step_handshake(),
            State::Traffic | State::SendClosed => self.step_read(),
            State::ReceiveClosed | State::Closed => {
                self.want = None;
                Ok(Step::Nothing)
            }
            State::Failed => Err(self.cause.clone().unwrap_or_else(|| self.bug("a failure without a cause"))),
        }
    }

    fn step_handshake(&mut self) -> Result<Step, Error> {
        self.transit(Trigger::Start)?;
        loop {
            if self.handshaken {
                return self.finish_handshake();
            }
            if let Some(want) = self.cannot_go_on() {
                self.want = Some(want);
                return Ok(Step::Nothing);
            }
            let unsent = self.backend.unsent();
            match self.handshake_once() {
                Ok(Outcome::Done(_)) => self.handshaken = true,
                Ok(Outcome::Wants(want)) => self.want = Some(want),
                Ok(Outcome::PeerClosed) => return Err(self.fail(Error::ClosedInHandshake)),
                Err(Error::Truncated) => {
                    self.fail(Error::Truncated);
                    return Ok(Step::Truncated);
                }
                Err(error) => return Err(self.fail(error)),
            }
            // A callback that said "later" is asked again at the next poll, not in a loop.
            let stuck = self.want == Some(Want::Drain) && self.backend.unsent() == unsent;
            if (stuck || !matches!(self.want, None | Some(Want::Input | Want::Drain))) && !self.handshaken {
                return Ok(Step::Nothing);
            }
        }
    }

    /// The end is reported when the last flight has left: a peer may be waiting for it.
    fn finish_handshake(&mut self) -> Result<Step, Error> {
        if self.backend.unsent() > 0 {
            self.want = Some(Want::Drain);
            return Ok(Step::Nothing);
        }
        self.want = None;
        self.transit(Trigger::HandshakeDone)?;
        Ok(Step::HandshakeComplete)
    }

    /// What is missing for another call to make sense.
    fn cannot_go_on(&mut self) -> Option<Want> {
        // Whatever the last call waited for, a control record must fit; and one that waited for room needs some
        // beside the reserve.
        let needed = CONTROL_RESERVE + usize::from(self.want == Some(Want::Drain));
        if self.backend.room(needed).is_empty() {
            return Some(Want::Drain);
        }
        if self.want == Some(Want::Input) && !self.backend.input_ended() {
            let limit = self.inbound.max_ciphertext();
            if matches!(Frame::parse(self.backend.input(), limit), Frame::Partial { .. }) {
                return Some(Want::Input);
            }
        }
        None
    }

    fn handshake_once(&mut self) -> Result<Outcome, Error> {
        let front = match self.handshake_front() {
            Ok(front) => front,
            Err(bad) => return Err(self.refuse(bad.into())),
        };
        let ended = self.backend.input_ended();
        let ports = self.backend.ports(CONTROL_RESERVE + usize::from(self.want == Some(Want::Drain)));
        let mut border = Border::new(ports.room, &mut self.outbound, &mut self.inbound);
        border.show(&ports.input[front.start..front.end]);
        border.ended = ended && front.record == ports.input.len();
        let outcome = self.tls.handshake(&mut border);
        let (taken, put) = (border.taken, border.put);
        self.backend.commit(put);
        self.take_front(front, taken);
        if self.inbound.is_engine() {
            // Before, each record of the handshake would have a buffer allocated, wiped and freed; at its end it would be
            // too late for TLS 1.2, where no record of OpenSSL's comes after.
            self.tls.release_buffers();
        }
        outcome
    }

    /// What the next handshake call may see: the record at the start of the input, opened if the keys are ours; all
    /// the input if it is no record, for OpenSSL to judge; nothing if there is no whole record.
    fn handshake_front(&mut self) -> Result<Front, BadRecord> {
        if let Some(front) = self.inbound.opened {
            return Ok(front);
        }
        let input = self.backend.input().len();
        match Frame::parse(self.backend.input(), self.inbound.max_ciphertext()) {
            Frame::Partial { .. } if self.backend.input_ended() => Ok(Front { start: 0, end: input, record: input }),
            Frame::Partial { .. } => Ok(Front { start: 0, end: 0, record: 0 }),
            Frame::Whole { len, .. } if self.inbound.is_engine() => {
                let opened = self.open_front(len)?;
                self.relabel_front(opened, len)
            }
            Frame::Whole { len, .. } => Ok(Front { start: 0, end: len, record: len }),
            Frame::Broken(bad) if self.inbound.is_engine() => Err(bad),
            Frame::Broken(_) => Ok(Front { start: 0, end: input, record: input }),
        }
    }
}
