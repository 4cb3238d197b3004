//! Turns and events.

use std::io;
use std::time::{Duration, Instant};

use arenatls_engine::{Connection, Error, Event, Progress, Received, State};

use super::entry::{Entry, Pending, Stage};
use super::rest::Rest;
use super::{RingDriver, system};
use crate::submission::Full;
use crate::writer::WriterEnd;
use crate::{CloseReason, ConnectionId, DriverError, DriverEvent, FileError, ListenerId};

/// An event before it borrows anything.
pub(super) enum Note {
    Accepted(u32),
    HandshakeComplete,
    Plaintext,
    Writable,
    PeerClosed,
    Truncated,
    SendFailed(i32),
    Failed(Error),
    Closed(CloseReason),
    Detached,
    File(Result<u64, FileError>),
}

impl RingDriver {
    /// The next thing that happened; `None` if there is nothing to tell before the next [`turn`](Self::turn).
    ///
    /// # Errors
    ///
    /// None so far; the signature leaves room for failures of the ring itself.
    pub fn poll_event(&mut self) -> Result<Option<DriverEvent>, DriverError> {
        if let Some(event) = self.poll_listeners() {
            return Ok(Some(event));
        }
        while let Some(index) = self.ready.first() {
            let id = self.entries[index as usize].id();
            match self.note(index) {
                Some(note) => return Ok(Some(note.event(id))),
                None => {
                    self.ready.take();
                }
            }
        }
        Ok(None)
    }

    /// The next event of one connection.
    fn note(&mut self, index: u32) -> Option<Note> {
        let entry = &mut self.entries[index as usize];
        let note = entry.note();
        match &note {
            Some(Note::HandshakeComplete) => {
                self.offer_keys(index);
                self.schedule(index);
            }
            Some(Note::Truncated) => self.finish(index, CloseReason::Truncated),
            Some(Note::Failed(_)) => self.finish(index, CloseReason::Failed),
            Some(Note::Closed(_)) => self.set_free(index),
            Some(Note::File(_)) | None => self.dirty.add(index),
            _ => {}
        }
        note
    }

    /// The plaintext that [`DriverEvent::Plaintext`] told of, lent where the kernel put the ciphertext. Dropping it consumes
    /// it all; [`Received::consume`] keeps the rest, and the next poll tells of it again. `None` if there is none (the
    /// application may have polled it out of the [`connection`](Self::connection)), or the connection is closing. Until it was
    /// called, nothing that lies behind is told.
    pub fn plaintext(&mut self, id: ConnectionId) -> Option<Received<'_>> {
        let index = self.find(id)?;
        let entry = &mut self.entries[index as usize];
        if !entry.has_plaintext {
            return None;
        }
        entry.has_plaintext = false;
        self.ready.add(index);
        // What was told of and not consumed, the engine lends again. If the application took it by itself, something else
        // comes next, which is to be told.
        match entry.conn.as_mut().filter(|conn| conn.unread() > 0)?.poll_event() {
            Ok(Some(Event::Plaintext(bytes))) => Some(bytes),
            _ => None,
        }
    }

    pub(super) fn set_free(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        *entry = Entry { generation: entry.generation.wrapping_add(1), ..Entry::free(index, self.now) };
        self.free.push(index);
    }

    /// Begins to end an open connection.
    pub(super) fn finish(&mut self, index: u32, reason: CloseReason) {
        let entry = &mut self.entries[index as usize];
        entry.reason = reason;
        entry.stage = Stage::Flushing;
        entry.closing = Instant::now();
        entry.shut_writers(WriterEnd::Connection(reason));
        entry.read_at_end();
        if entry.drain_writers_at_end(&self.ring)
            && let Some(conn) = &mut entry.conn
        {
            // Now, so that no write slips in behind; if there is no room yet, the pump tries again.
            let _: Result<Progress<()>, Error> = conn.close();
        }
        self.schedule(index);
        self.dirty.add(index);
    }

    /// Ends a connection without a word.
    pub(super) fn give_up(&mut self, index: u32, reason: CloseReason) {
        let entry = &mut self.entries[index as usize];
        entry.reason = reason;
        entry.reap();
        self.schedule(index);
        self.dirty.add(index);
    }

    /// Sets the deadline that its stage calls for.
    pub(super) fn schedule(&mut self, index: u32) {
        let deadline = self.entries[index as usize].deadline(&self.config);
        self.timers.set(index, deadline);
    }

    /// Submits all that the connections have to send and to receive, in one system call, and waits until something is
    /// complete, a deadline is over, the driver is [woken](crate::Waker::wake), or `timeout` is over; for ever without one.
    /// It does not wait while there are events to poll.
    ///
    /// # Errors
    ///
    /// [`DriverError::System`] if the ring refuses to work.
    pub fn turn(&mut self, timeout: Option<Duration>) -> Result<(), DriverError> {
        self.now = Instant::now();
        let all_done = self.pump();
        let limit = if all_done && self.ready.len() == 0 { self.limit(timeout) } else { Some(Duration::ZERO) };
        // The end of a connection, say, is told before there is anything to submit or to wait for. Never twice in a row: what
        // is ready may turn out to be nothing to tell, and who does not poll gets on, too.
        self.entered = !(self.entered && self.ready.len() > 0 && self.ring.has_nothing_to_submit());
        if self.entered {
            let waited = self.wait(limit);
            self.wake_up();
            waited?;
            self.now = Instant::now();
        }
        while let Some(completion) = self.ring.next() {
            self.complete(completion);
        }
        self.prefetch();
        self.expire();
        Ok(())
    }

    /// Has the processor fetch what the connections that may have an event need next, all at the same time: among many
    /// connections each has left the caches since its last request.
    fn prefetch(&self) {
        for index in self.ready.iter() {
            let entry = &self.entries[index as usize];
            entry.conn.iter().for_each(Connection::prefetch);
            self.ring.slab().prefetch_group(entry.slot);
        }
    }

    fn wait(&mut self, limit: Option<Duration>) -> Result<(), DriverError> {
        self.spin_or_sleep(limit).map_err(system("enter the ring"))
    }

    fn spin_or_sleep(&mut self, limit: Option<Duration>) -> io::Result<()> {
        let spin = self.config.spin.min(limit.unwrap_or(Duration::MAX));
        if spin.is_zero() {
            return self.sleep(limit);
        }
        loop {
            // Before any look: writers that have something at every turn must not keep what was armed from its submission.
            self.ring.enter(Some(Duration::ZERO))?;
            if self.ring.has_completions() || self.has_notices() {
                return Ok(());
            }
            if self.now.elapsed() >= spin {
                return self.sleep(limit);
            }
        }
    }

    /// Submits, and waits unless a writer has something.
    fn sleep(&mut self, limit: Option<Duration>) -> io::Result<()> {
        let awake = limit == Some(Duration::ZERO) || !self.fall_asleep();
        self.ring.enter(if awake { Some(Duration::ZERO) } else { limit })
    }

    /// Arms what has to be armed. False if the ring had no room for some of it.
    fn pump(&mut self) -> bool {
        self.take_notices();
        let mut all_done = self.wakeup.arm(&mut self.ring).is_ok() && self.pump_listeners().is_ok();
        for _ in 0..self.dirty.len() {
            let Some(index) = self.dirty.take() else { break };
            all_done &= self.pump_one(index).is_ok();
        }
        all_done
    }

    fn pump_one(&mut self, index: u32) -> Result<(), Full> {
        let entry = &mut self.entries[index as usize];
        let (before, rest) = (entry.stage, entry.rest);
        // The application itself may have polled the end of the handshake.
        let done = !entry.handshaken && entry.state().is_some_and(State::is_live);
        if done {
            entry.handshaken = true;
            self.offer_keys(index);
        }
        let entry = &mut self.entries[index as usize];
        let pumped = entry.pump(&mut self.ring);
        let (after, state) = (entry.stage, entry.state());
        let moved = done || before != after || rest != entry.rest;
        // What is told only behind a file is nothing to poll for before; nor is what nobody is told who closes.
        let writable = after == Stage::Open && entry.pending.writable && !entry.has_file();
        if writable || entry.pending.file.is_some() {
            self.ready.add(index);
        }
        match (after, state) {
            // Both directions have ended, by the application's own call.
            (Stage::Open, Some(State::Closed)) => self.finish(index, CloseReason::Done),
            // A write failed it; polling tells.
            (Stage::Open, Some(State::Failed)) => self.ready.add(index),
            (Stage::Done | Stage::Detached, _) if before != after => {
                self.schedule(index);
                self.ready.add(index);
            }
            _ if moved => self.schedule(index),
            _ => {}
        }
        pumped.inspect_err(|_| self.dirty.add(index))
    }

    /// How long a wait may take.
    fn limit(&self, timeout: Option<Duration>) -> Option<Duration> {
        let listeners = self.listeners.iter().flatten().filter_map(|listener| listener.deadline());
        let nearest = self.timers.nearest().map(|(deadline, _)| deadline).into_iter().chain(listeners).min();
        let until = nearest.map(|deadline| deadline.saturating_duration_since(self.now));
        match (timeout, until) {
            (Some(timeout), Some(until)) => Some(timeout.min(until)),
            (timeout, until) => timeout.or(until),
        }
    }

    fn expire(&mut self) {
        while let Some((deadline, index)) = self.timers.nearest()
            && deadline <= self.now
        {
            let real = self.entries[index as usize].deadline(&self.config);
            match real {
                // It was moved while the connection was active.
                Some(real) if real > self.now => self.timers.set(index, Some(real)),
                Some(_) => self.time_is_up(index),
                None => self.timers.set(index, None),
            }
        }
    }

    fn time_is_up(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        if entry.room.end_pause(self.now) {
            self.schedule(index);
            return self.dirty.add(index);
        }
        match entry.stage {
            Stage::Open if entry.handshaken && entry.idle_deadline(&self.config).is_none_or(|idle| idle > self.now) => {
                entry.rest = Rest::Falling;
                self.schedule(index);
                self.dirty.add(index);
            }
            Stage::Open if entry.handshaken => self.finish(index, CloseReason::IdleTimeout),
            Stage::Detached => self.finish(index, CloseReason::IdleTimeout),
            Stage::Open | Stage::Connecting => self.give_up(index, CloseReason::HandshakeTimeout),
            _ if entry.reason == CloseReason::Done => self.give_up(index, CloseReason::CloseTimeout),
            _ => {
                let reason = entry.reason;
                self.give_up(index, reason);
            }
        }
    }
}

impl Entry {
    pub(super) fn id(&self) -> ConnectionId {
        ConnectionId { index: self.index, generation: self.generation }
    }

    fn note(&mut self) -> Option<Note> {
        if let Some(listener) = self.pending.accepted.take() {
            return Some(Note::Accepted(listener));
        }
        if let Some(note) = self.note_file() {
            return Some(note);
        }
        match self.stage {
            Stage::Open => self.note_open(),
            Stage::Done => {
                self.pending = Pending::default();
                Some(Note::Closed(self.reason))
            }
            Stage::Detached => self.note_detached(),
            _ => None,
        }
    }

    fn note_open(&mut self) -> Option<Note> {
        // What was told of and is left where it lies waits, and so does all behind it; a failure leaves nothing to wait for.
        let failed = self.state() == Some(State::Failed);
        if (failed || !(self.paused || self.has_plaintext))
            && let Some(note) = self.note_engine()
        {
            return Some(note);
        }
        if let Some(errno) = self.pending.send_failed.take() {
            return Some(Note::SendFailed(errno));
        }
        // What is written while a file is under way finds no room.
        let writable = !self.has_file() && std::mem::take(&mut self.pending.writable) && self.handshaken;
        (writable && self.state().is_some_and(State::can_write)).then_some(Note::Writable)
    }

    /// The engine's next event.
    fn note_engine(&mut self) -> Option<Note> {
        let conn = self.conn.as_mut()?;
        let note = match conn.poll_event() {
            Ok(Some(Event::HandshakeComplete)) => Some(Note::HandshakeComplete),
            Ok(Some(Event::Plaintext(bytes))) => {
                bytes.consume(0);
                Some(Note::Plaintext)
            }
            Ok(Some(Event::PeerClosed)) => Some(Note::PeerClosed),
            // Somebody else may have met it before.
            Ok(Some(Event::Truncated)) | Err(Error::Truncated) => Some(Note::Truncated),
            Ok(_) => None,
            Err(error) => Some(Note::Failed(error)),
        };
        match &note {
            Some(Note::HandshakeComplete) => self.handshaken = true,
            Some(Note::Plaintext) => self.has_plaintext = true,
            None => {
                // Nothing of OpenSSL's has changed unless it was called, and its memory need not be looked at.
                let calls = conn.openssl_calls();
                if std::mem::replace(&mut self.openssl_calls, calls) != calls {
                    let now = self.handshaken && conn.openssl_state().0;
                    let before = std::mem::replace(&mut self.mid_message, now);
                    self.pending.writable |= before && !now;
                }
            }
            _ => {}
        }
        note
    }
}

impl Note {
    fn event(self, id: ConnectionId) -> DriverEvent {
        match self {
            Note::Accepted(listener) => DriverEvent::Accepted(id, ListenerId(listener)),
            Note::HandshakeComplete => DriverEvent::HandshakeComplete(id),
            Note::Writable => DriverEvent::Writable(id),
            Note::PeerClosed => DriverEvent::PeerClosed(id),
            Note::Truncated => DriverEvent::Truncated(id),
            Note::SendFailed(errno) => DriverEvent::SendFailed(id, std::io::Error::from_raw_os_error(errno)),
            Note::Failed(error) => DriverEvent::Failed(id, error),
            Note::Closed(reason) => DriverEvent::Closed(id, reason),
            Note::Plaintext => DriverEvent::Plaintext(id),
            Note::Detached => DriverEvent::Detached(id),
            Note::File(Ok(sent)) => DriverEvent::FileSent(id, sent),
            Note::File(Err(error)) => DriverEvent::FileFailed(id, error),
        }
    }
}
