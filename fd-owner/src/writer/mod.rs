//! [`Writer`]: writing to one connection from other threads.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use thiserror::Error;

use crate::CloseReason;

mod desk;
mod lane;
mod notices;
mod run;
#[cfg(test)]
mod tests;

use desk::Group;
pub(crate) use desk::{Desk, Drained};
use lane::{Feed, Refused};
pub(crate) use notices::Notices;

/// Why a writer refused. Nothing of the message was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// There is too little room now.
    #[error("the writer's ring is full: there is room for a message of {room} bytes")]
    Full {
        /// The longest message there was room for (bytes).
        room: usize,
    },
    /// There will never be room.
    #[error("a message of {length} bytes is too long: the ring takes {most}")]
    TooLong {
        /// The message's length (bytes).
        length: usize,
        /// The longest that the ring takes (bytes).
        most: usize,
    },
    /// This clone came when the connection had as many writers as allowed; it asks again with every write.
    #[error("the connection has {most} writers, as many as allowed")]
    TooManyWriters {
        /// [`Config::writers`](crate::Config::writers).
        most: usize,
    },
    /// The deadline is over.
    #[error("there was no room in time")]
    TimedOut,
    /// Nothing can be written to this connection any more.
    #[error("nothing more can be written: {0}")]
    Closed(WriterEnd),
}

/// Why nothing can be written any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum WriterEnd {
    /// The connection is closing or closed.
    #[error("the connection ended ({0:?})")]
    Connection(CloseReason),
    /// Its owner ended the sending direction.
    #[error("the sending direction was ended")]
    SendClosed,
    /// The peer takes nothing more.
    #[error("the peer takes nothing more")]
    SendFailed,
    /// The connection has left its driver, or the driver was dropped.
    #[error("the driver is gone")]
    Gone,
}

/// Writes to one connection of a [`RingDriver`](crate::RingDriver) from any thread; made by
/// [`RingDriver::writer`](crate::RingDriver::writer).
///
/// Every writer has a ring of bytes of its own, and every write is a message: it is taken whole or not at all, and its
/// bytes stay together in the stream, whatever other writers do. Messages of one writer are sent in order; between writers
/// there is no order. The driver seals them in its next turn from where they lie in the ring, several to a record if they
/// are short, one writer after the other. So a byte is copied once, into the ring.
///
/// A write takes no lock and, while the driver is busy, makes no system call; it wakes a driver that sleeps. Nothing is
/// allocated for it.
///
/// | kind | methods |
/// |---|---|
/// | commands | [`try_write`](Self::try_write), [`write`](Self::write), [`write_before`](Self::write_before), [`try_clone`](Self::try_clone) |
/// | getters | [`is_closed`](Self::is_closed), [`end`](Self::end), [`unsealed`](Self::unsealed), [`counts`](Self::counts) |
///
/// A clone is another writer of the same connection, with another ring. If there are too many, its writes say so; it
/// joins with the first that succeeds. [`try_clone`](Self::try_clone) says so at once.
///
/// What was accepted is sealed before close_notify if the connection is closed by
/// [`RingDriver::close`](crate::RingDriver::close) and its peer reads on; a connection that ends in any other way drops
/// what is not sealed. [`unsealed`](Self::unsealed) tells how much that was of this writer's,
/// [`RingDriver::unsealed_at_end`](crate::RingDriver::unsealed_at_end) of all. A dropped writer's messages are still sent.
///
/// It goes to another thread, and no two threads use the same one:
///
/// ```
/// fn sent<T: Send + Clone>() {}
/// sent::<arenatls_fd_owner::Writer>();
/// ```
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<arenatls_fd_owner::Writer>();
/// ```
pub struct Writer {
    /// None if there were too many writers.
    feed: Option<Feed>,
    group: Arc<Group>,
    capacity: usize,
    counts: WriterCounts,
}

/// What a writer has done so far. A clone begins anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriterCounts {
    /// Messages accepted.
    pub messages: u64,
    /// Times that a write found no room.
    pub full: u64,
    /// Times that the thread waited for room.
    pub parks: u64,
    /// Times that the driver slept and was woken, with a system call.
    pub wakes: u64,
}

impl Writer {
    pub(crate) fn new(desk: &Desk, capacity: usize) -> Result<Writer, WriteError> {
        let group = Arc::clone(desk.group());
        let feed = Some(group.join(capacity)?);
        Ok(Writer { feed, group, capacity, counts: WriterCounts::default() })
    }

    /// Another writer of the same connection.
    ///
    /// # Errors
    ///
    /// [`WriteError::TooManyWriters`], [`WriteError::Closed`].
    pub fn try_clone(&self) -> Result<Writer, WriteError> {
        let feed = Some(self.group.join(self.capacity)?);
        Ok(Writer { feed, group: Arc::clone(&self.group), capacity: self.capacity, counts: WriterCounts::default() })
    }

    /// Takes all of `message` for sending, or nothing. Never waits. An empty message does nothing.
    ///
    /// # Errors
    ///
    /// Any but [`WriteError::TimedOut`].
    pub fn try_write(&mut self, message: &[u8]) -> Result<(), WriteError> {
        if let Some(end) = self.end() {
            return Err(WriteError::Closed(end));
        }
        if message.is_empty() {
            return Ok(());
        }
        let feed = match &mut self.feed {
            Some(feed) => feed,
            none => none.insert(self.group.join(self.capacity)?),
        };
        let (put, tell) = feed.push(message);
        if tell {
            self.counts.wakes += u64::from(self.group.notices.tell(self.group.index));
        }
        match put {
            Ok(()) => self.counts.messages += 1,
            Err(refused) => return Err(self.refusal(refused, message.len())),
        }
        Ok(())
    }

    fn refusal(&mut self, refused: Refused, length: usize) -> WriteError {
        match refused {
            Refused::Full { room } => {
                self.counts.full += 1;
                WriteError::Full { room }
            }
            Refused::TooLong { most } => WriteError::TooLong { length, most },
            Refused::Shut => WriteError::Closed(self.end().unwrap_or(WriterEnd::Gone)),
        }
    }

    /// [`try_write`](Self::try_write), and waits for room if there is none: as long as it takes, or until the connection is
    /// closed.
    ///
    /// On the driver's own thread it does not wait, since nobody would make room.
    ///
    /// # Errors
    ///
    /// [`WriteError::TooLong`], [`WriteError::Closed`], [`WriteError::TooManyWriters`]; [`WriteError::Full`] on the driver's
    /// thread only.
    pub fn write(&mut self, message: &[u8]) -> Result<(), WriteError> {
        self.write_until(message, None)
    }

    /// [`write`](Self::write), and waits until `deadline` at most.
    ///
    /// # Errors
    ///
    /// [`WriteError::TimedOut`], and those of [`write`](Self::write).
    pub fn write_before(&mut self, message: &[u8], deadline: Instant) -> Result<(), WriteError> {
        self.write_until(message, Some(deadline))
    }

    fn write_until(&mut self, message: &[u8], deadline: Option<Instant>) -> Result<(), WriteError> {
        let mut wrote = self.try_write(message);
        if !matches!(wrote, Err(WriteError::Full { .. })) || self.group.notices.is_driver() {
            return wrote;
        }
        loop {
            self.want(message.len());
            // The driver may have made room before it could see that it is waited for.
            wrote = self.try_write(message);
            let Some(feed) = self.feed.as_ref().filter(|_| matches!(wrote, Err(WriteError::Full { .. }))) else {
                break;
            };
            if !feed.park(deadline) {
                wrote = Err(WriteError::TimedOut);
                break;
            }
            self.counts.parks += 1;
        }
        self.want(0);
        wrote
    }

    fn want(&self, message: usize) {
        if let Some(feed) = &self.feed {
            feed.want(message);
        }
    }

    /// Whether nothing can be written any more.
    pub fn is_closed(&self) -> bool {
        self.end().is_some()
    }

    /// Why nothing can be written any more, if so.
    pub fn end(&self) -> Option<WriterEnd> {
        self.group.end()
    }

    /// Accepted from this writer and not sealed (bytes): still to be sent, or, once the connection is no more, dropped.
    pub fn unsealed(&self) -> u64 {
        self.feed.as_ref().map_or(0, Feed::unsealed)
    }

    /// What it has done so far.
    pub fn counts(&self) -> WriterCounts {
        self.counts
    }
}

impl Clone for Writer {
    fn clone(&self) -> Writer {
        let (feed, group) = (self.group.join(self.capacity).ok(), Arc::clone(&self.group));
        Writer { feed, group, capacity: self.capacity, counts: WriterCounts::default() }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(feed) = self.feed.take() {
            drop(feed);
            // So that the driver lets go of the ring.
            let _: bool = self.group.notices.tell(self.group.index);
        }
    }
}

impl fmt::Debug for Writer {
    /// Lengths only: the bytes are plaintext.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("accepted", &self.feed.as_ref().map_or(0, Feed::accepted))
            .field("unsealed", &self.unsealed())
            .field("end", &self.end())
            .finish_non_exhaustive()
    }
}
