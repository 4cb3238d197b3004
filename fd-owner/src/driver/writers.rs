//! Writers on other threads: what they bring is sealed here, straight from their rings.

use std::sync::Arc;

use arenatls_engine::Want;

use super::RingDriver;
use super::entry::{Entry, Stage};
use crate::submission::Ring;
use crate::writer::{Desk, Drained, Notices, WriteError, Writer, WriterEnd};
use crate::{ConnectionId, DriverError};

/// The least ring of a writer, and the largest (bytes).
const CAPACITY: std::ops::RangeInclusive<usize> = 16..=1 << 30;

impl RingDriver {
    /// A handle to write to a connection from other threads, with a ring of `capacity` bytes, of which each message in it
    /// takes four beside its own. Clones have as much each.
    ///
    /// It can be made before the handshake is done; what is written waits for that.
    ///
    /// A program that uses writers does well to use one for what its own thread writes, too: bytes written through
    /// [`connection`](Self::connection) can come between the records of one message, and a message of a writer may wait
    /// for room that they take.
    ///
    /// # Errors
    ///
    /// [`DriverError::Stale`]; [`DriverError::TooManyWriters`]; [`DriverError::BadConfig`] if a ring cannot have that
    /// capacity: 16 bytes to 1 GiB.
    pub fn writer(&mut self, id: ConnectionId, capacity: usize) -> Result<Writer, DriverError> {
        let index = self.find(id).ok_or(DriverError::Stale)?;
        if !CAPACITY.contains(&capacity) {
            return Err(DriverError::BadConfig("a writer's ring has 16 bytes to 1 GiB"));
        }
        let (waker, connections, most) = (self.waker(), self.config.connections, self.config.writers);
        let notices = self.notices.get_or_insert_with(|| Arc::new(Notices::new(connections, waker)));
        let desk = &mut self.entries[index as usize].desk;
        let desk = desk.get_or_insert_with(|| Box::new(Desk::new(Arc::clone(notices), index, most)));
        // A new desk of a connection that can send no more is shut in the next turn.
        self.dirty.add(index);
        Writer::new(desk, capacity).map_err(|error| match error {
            WriteError::TooManyWriters { most } => DriverError::TooManyWriters { most },
            _ => DriverError::Stale,
        })
    }

    /// Bytes that writers had accepted and that were dropped with their connections, over the driver's life.
    pub fn unsealed_at_end(&self) -> u64 {
        self.notices.as_ref().map_or(0, |notices| notices.lost())
    }

    /// Puts those whose writers have something on the list.
    pub(super) fn take_notices(&mut self) {
        let Some(notices) = &self.notices else { return };
        // No more than there are connections, or writers could keep this going.
        for _ in 0..self.entries.len() {
            let Some(index) = notices.take() else { break };
            self.dirty.add(index);
        }
    }

    /// Whether a writer has something.
    pub(super) fn has_notices(&self) -> bool {
        self.notices.as_ref().is_some_and(|notices| !notices.is_empty())
    }

    /// From here on a writer's word is a system call. False if there was one already.
    pub(super) fn fall_asleep(&self) -> bool {
        self.notices.as_ref().is_none_or(|notices| notices.fall_asleep())
    }

    pub(super) fn wake_up(&self) {
        if let Some(notices) = &self.notices {
            notices.wake_up();
        }
    }
}

impl Entry {
    /// Seals what writers have brought, as far as there is room. True if there is nothing left to wait for.
    pub(super) fn drain_writers(&mut self, ring: &Ring) -> bool {
        if self.has_file() {
            return false;
        }
        let (Some(desk), Some(conn)) = (&mut self.desk, &mut self.conn) else { return true };
        let open = self.stage == Stage::Open;
        if open && !self.handshaken {
            return false;
        }
        if conn.backend().output_is_lost() {
            self.end_writers(WriterEnd::SendFailed);
            return true;
        }
        if !open && !self.handshaken && conn.failure().is_none() && !self.read_ended && desk.has_some() {
            // It is sent when the handshake is done, if that comes to pass before the deadline.
            return false;
        }
        if !conn.state().can_write() {
            // A failure is told by an event, and then to the writers.
            if !(open && conn.failure().is_some()) {
                self.end_writers(WriterEnd::SendClosed);
            }
            return true;
        }
        // Whether the application's own writes found no room is remembered apart, so that it is told only of that.
        self.pending.starved |= ring.slab().take_starved(self.slot);
        let drained = desk.drain(|pieces| conn.write_vectored(pieces));
        ring.slab().take_starved(self.slot);
        match drained {
            Ok(Drained::All) => true,
            Ok(Drained::Blocked(Want::Input)) if self.read_ended => true,
            Ok(Drained::Busy | Drained::Blocked(_)) => false,
            Err(_) => true,
        }
    }

    /// Throws away what the peer still sends, if something waits to be sealed: it may not read before it is rid of that. The
    /// handshake may come to its end here, of which nobody is told any more.
    pub(super) fn read_at_end(&mut self) {
        if let (true, Some(conn)) = (self.desk.is_some() || self.has_file(), &mut self.conn) {
            while let Ok(Some(_)) = conn.poll_event() {}
            self.handshaken |= conn.state().is_live();
        }
    }

    /// The last that writers have brought before close_notify, behind a [look](Self::read_at_end) at the peer. True once
    /// nothing of it is left.
    pub(super) fn drain_writers_at_end(&mut self, ring: &Ring) -> bool {
        let done = self.drain_writers(ring);
        if done {
            self.desk = None;
        }
        done
    }

    /// Takes nothing more from writers, and keeps what they brought.
    pub(super) fn shut_writers(&mut self, end: WriterEnd) {
        if let Some(desk) = &mut self.desk {
            desk.shut(end);
        }
    }

    /// Takes nothing more from writers, and drops what they brought.
    pub(super) fn end_writers(&mut self, end: WriterEnd) {
        if let Some(mut desk) = self.desk.take() {
            desk.shut(end);
        }
    }
}
