//! Live connections that come from another backend, and leave for one.

use std::error;
use std::fmt;
use std::os::fd::OwnedFd;
use std::time::Instant;

use arenatls_engine::{Backend, Connection, Event, Handover, Refused, State, Want};

use super::RingDriver;
use super::entry::{Entry, Op, Stage};
use super::poll::Note;
use crate::submission::{Full, Ring};
use crate::token::Kind;
use crate::writer::WriterEnd;
use crate::{ConnectionId, DriverError};

/// What [`RingDriver::adopt_connection`] was given, unchanged, and why it was refused.
pub struct NotAdopted<B: Backend> {
    /// The socket.
    pub socket: OwnedFd,
    /// The connection, over the backend it had.
    pub connection: Connection<B>,
    /// The reason.
    pub why: DriverError,
}

/// The backend that [`RingDriver::take_detached`] was given, and why it was refused.
pub struct NotTaken<C> {
    /// The backend.
    pub backend: C,
    /// The reason.
    pub why: DriverError,
}

impl RingDriver {
    /// Takes over a live connection and its socket from another backend. What that holds is copied into a slot
    /// ([`Connection::exchange`]): plaintext that waits is told of, and output leaves with the next turn. The end of the
    /// handshake, and an end of the peer's that was told before, are not told again; one
    /// [`Writable`](crate::DriverEvent::Writable) is told where writing is possible.
    ///
    /// # Errors
    ///
    /// [`NotAdopted`], with all that was given; the reason is [`DriverError::AtCapacity`] or [`DriverError::Exchange`].
    pub fn adopt_connection<B: Handover>(
        &mut self,
        socket: OwnedFd,
        connection: Connection<B>,
    ) -> Result<ConnectionId, Box<NotAdopted<B>>> {
        let (index, slot, backend) = match self.vacancy() {
            Ok(vacancy) => vacancy,
            Err(why) => return Err(Box::new(NotAdopted { socket, connection, why })),
        };
        match connection.exchange(backend) {
            Ok(conn) => self.settle_in(index, slot, conn, socket),
            Err(refused) => {
                self.ring.slab().release(slot);
                let Refused { connection, why, .. } = *refused;
                return Err(Box::new(NotAdopted { socket, connection, why: why.into() }));
            }
        }
        let entry = &mut self.entries[index as usize];
        // Nobody knows here of a write that found no room there.
        entry.pending.writable = true;
        Ok(entry.id())
    }

    /// Begins to give a connection out to another backend. Its operations are cancelled, the kernel takes nothing more and
    /// sends nothing more, and once every operation is complete [`DriverEvent::Detached`](crate::DriverEvent::Detached) is
    /// told. What has come until then and was not read, and what was not sent, is handed over by
    /// [`take_detached`](Self::take_detached).
    ///
    /// Writers on other threads learn that the driver is done with it ([`WriterEnd::Gone`](crate::WriterEnd::Gone)); what
    /// they had accepted is sealed before. A peer that takes too little of it for all of it to be sealed within
    /// [`Config::close_timeout`](crate::Config::close_timeout) ends the connection: it is closed with
    /// [`CloseReason::CloseTimeout`](crate::CloseReason), and the peer sees a truncation. Who wants to wait longer detaches when
    /// the writers are done.
    ///
    /// From here on [`connection`](Self::connection) is `None`: what would be written could not leave. Before
    /// [`Detached`](crate::DriverEvent::Detached) the driver tells nothing more of it but that sending has failed, or an
    /// end of the peer's that came before what a writer's message waited for. If it fails, that is told as ever instead, and
    /// it is closed. [`abort`](Self::abort) ends it all the same. If it is not taken within
    /// [`Config::idle_timeout`](crate::Config::idle_timeout) of that, it is closed as any idle connection is.
    ///
    /// # Errors
    ///
    /// [`DriverError::Stale`]; [`DriverError::FileUnderWay`]; [`DriverError::Exchange`] if its handshake is not done, it has failed, or keys of it are for the
    /// kernel ([`Config::kernel_tls`](crate::Config::kernel_tls)).
    pub fn detach(&mut self, id: ConnectionId) -> Result<(), DriverError> {
        let index = self.find(id).ok_or(DriverError::Stale)?;
        let entry = &mut self.entries[index as usize];
        if entry.has_file() {
            return Err(DriverError::FileUnderWay);
        }
        entry.conn.as_ref().ok_or(DriverError::Stale)?.is_exchangeable()?;
        entry.shut_writers(WriterEnd::Gone);
        entry.stage = Stage::Detaching;
        entry.closing = Instant::now();
        self.schedule(index);
        self.dirty.add(index);
        Ok(())
    }

    /// A detached connection over `backend`, and its socket, which the driver has nothing to do with any more: the id is
    /// stale from here on, and no [`Closed`](crate::DriverEvent::Closed) is told. What the slot holds is copied to
    /// `backend` ([`Connection::exchange`]); the caller sends what is unsent. If the connection's sending direction has
    /// ended, shutting the socket's is the caller's, too, once all is sent.
    ///
    /// # Errors
    ///
    /// [`NotTaken`], with the backend; the reason is [`DriverError::Stale`], [`DriverError::NotDetached`] or
    /// [`DriverError::Exchange`], and nothing was changed: it can be taken with another backend.
    pub fn take_detached<C: Handover>(
        &mut self,
        id: ConnectionId,
        backend: C,
    ) -> Result<(OwnedFd, Connection<C>), Box<NotTaken<C>>> {
        let refuse = |backend, why| Err(Box::new(NotTaken { backend, why }));
        let Some(index) = self.find_closing(id) else { return refuse(backend, DriverError::Stale) };
        let entry = &mut self.entries[index as usize];
        if entry.stage != Stage::Detached {
            return refuse(backend, DriverError::NotDetached);
        }
        let Some((conn, socket)) = entry.conn.take().zip(entry.socket.take()) else {
            return refuse(backend, DriverError::Stale);
        };
        match conn.exchange(backend) {
            Ok(conn) => {
                self.ring.slab().release(entry.slot);
                self.timers.set(index, None);
                self.set_free(index);
                Ok((socket.into(), conn))
            }
            Err(refused) => {
                let Refused { connection, backend, why } = *refused;
                (entry.conn, entry.socket) = (Some(connection), Some(socket));
                refuse(backend, why.into())
            }
        }
    }
}

impl Entry {
    pub(super) fn pump_detaching(&mut self, ring: &mut Ring) -> Result<(), Full> {
        let drained = self.drain_writers(ring) || self.read_for_writers(ring)?;
        if self.state() == Some(State::Failed) {
            // Nobody can take it. It stays, and is told of.
            self.stage = Stage::Open;
            return Ok(());
        }
        if !drained {
            return self.arm_send(ring);
        }
        self.end_writers(WriterEnd::Gone);
        for kind in [Kind::Recv, Kind::Send] {
            self.cancel_until_complete(kind, ring)?;
        }
        if self.cancels == 0 && [self.recv, self.send] == [Op::Idle; 2] {
            self.unregister(ring);
            self.pending.detached = true;
            self.stage = Stage::Detached;
            self.active = Instant::now();
        }
        Ok(())
    }

    /// What writers brought may wait for the rest of a handshake message of the peer's. All else that is read stays for
    /// whoever takes the connection. True once nothing of the writers' is left.
    fn read_for_writers(&mut self, ring: &mut Ring) -> Result<bool, Full> {
        let Some(conn) = self.conn.as_mut().filter(|conn| conn.want() == Some(Want::Input)) else { return Ok(false) };
        match conn.poll_event() {
            Ok(Some(Event::Plaintext(bytes))) => bytes.consume(0),
            Ok(Some(Event::PeerClosed)) => self.pending.peer_closed = true,
            // A failure shows in the state.
            _ => {}
        }
        let drained = self.drain_writers(ring);
        if !drained {
            self.arm_recv(ring)?;
        }
        Ok(drained)
    }

    pub(super) fn note_detached(&mut self) -> Option<Note> {
        if let Some(errno) = self.pending.send_failed.take() {
            return Some(Note::SendFailed(errno));
        }
        if std::mem::take(&mut self.pending.peer_closed) {
            return Some(Note::PeerClosed);
        }
        std::mem::take(&mut self.pending.detached).then_some(Note::Detached)
    }
}

impl<B: Backend> fmt::Debug for NotAdopted<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotAdopted")
            .field("why", &self.why)
            .field("connection", &self.connection)
            .finish_non_exhaustive()
    }
}

impl<B: Backend> fmt::Display for NotAdopted<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl<B: Backend> error::Error for NotAdopted<B> {}

impl<C> fmt::Debug for NotTaken<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotTaken").field("why", &self.why).finish_non_exhaustive()
    }
}

impl<C> fmt::Display for NotTaken<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl<C> error::Error for NotTaken<C> {}
