//! Files on their way into connections: the ring reads them, the engine seals what was read, and nothing gets in between.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Instant;

use arenatls_engine::Progress;

use super::complete::Then;
use super::entry::{Entry, Op, Stage};
use super::poll::Note;
use super::{RingDriver, system};
use crate::file::{FileError, FileFailure};
use crate::slot::Tray;
use crate::submission::{Completion, Full, Ring};
use crate::token::Kind;
use crate::{ConnectionId, DriverError};

/// A file under way.
///
/// ```text
///   waits for what was written before ─▶ [ read into the tray ─▶ sealed from there ] … ─▶ over ─▶ told
/// ```
///
/// It is gone when it is over and no read is in flight; what is left of it is what has to be told
/// (`Pending::file`). Until that was told, nothing else is written.
#[derive(Debug)]
pub(super) struct Parcel {
    file: Arc<File>,
    tray: Tray,
    /// What has still to be read.
    left: Range<u64>,
    /// Bytes sealed.
    sent: u64,
    /// All that writers had brought before it is sealed.
    began: bool,
    over: Option<Result<(), FileFailure>>,
}

impl RingDriver {
    /// Sends the bytes `range` of a regular file, behind all that was written until now, by the application and by
    /// [writers](crate::Writer), and before all that is written later. The ring reads it, so a slow disk keeps nobody waiting;
    /// a connection whose peer does not read stops reading the file.
    ///
    /// [`FileSent`](crate::DriverEvent::FileSent) tells that all of it is sealed, as a write's `Done` does, or
    /// [`FileFailed`](crate::DriverEvent::FileFailed) that it will not be. Until then writes to the
    /// [`connection`](Self::connection) find no room ([`Writable`](crate::DriverEvent::Writable) tells when they do), and those
    /// of writers wait. One file at a time. What is changed in the file meanwhile may be sent or not.
    ///
    /// A [`close`](Self::close) sends what is left of the file first, within [`Config::close_timeout`](crate::Config::close_timeout):
    /// for a file that may take longer, close when it is sent. [`Connection::close`](arenatls_engine::Connection::close) ends
    /// it in the middle, and so does [`abort`](Self::abort).
    ///
    /// A file opened with `O_DIRECT` cannot be read here.
    ///
    /// ```no_run
    /// # use arenatls_fd_owner::{ConnectionId, RingDriver};
    /// fn answer(driver: &mut RingDriver, id: ConnectionId) -> Result<(), Box<dyn std::error::Error>> {
    ///     let file = std::fs::File::open("page.html")?;
    ///     let length = file.metadata()?.len();
    ///     driver.send_file(id, file, 0..length)?; // an Arc<File> can be sent again and again
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`DriverError::Stale`]; [`DriverError::FileUnderWay`]; [`DriverError::BadRange`]; [`DriverError::NotAFile`] for a
    /// directory, pipe, socket or device; [`DriverError::System`] if the system does not say what it is.
    pub fn send_file(
        &mut self,
        id: ConnectionId,
        file: impl Into<Arc<File>>,
        range: Range<u64>,
    ) -> Result<(), DriverError> {
        let index = self.find(id).ok_or(DriverError::Stale)?;
        let entry = &mut self.entries[index as usize];
        if entry.has_file() {
            return Err(DriverError::FileUnderWay);
        }
        // Offsets are signed to the kernel, and -1 is none.
        if range.start > range.end || i64::try_from(range.end).is_err() {
            return Err(DriverError::BadRange);
        }
        let file = file.into();
        if !file.metadata().map_err(system("look at a file"))?.is_file() {
            return Err(DriverError::NotAFile);
        }
        let tray = self.ring.slab().lend_tray(entry.slot).ok_or(DriverError::FileUnderWay)?;
        entry.file = Some(Parcel { file, tray, left: range, sent: 0, began: false, over: None });
        if let Some(conn) = &mut entry.conn {
            conn.hold_writes();
        }
        if let Some(desk) = &mut entry.desk {
            desk.mark();
        }
        self.dirty.add(index);
        Ok(())
    }
}

impl Entry {
    /// Whether a file is under way, or its end was not told yet.
    pub(super) fn has_file(&self) -> bool {
        self.file.is_some() || self.pending.file.is_some()
    }

    /// Goes on with the file, if there is one.
    pub(super) fn pump_file(&mut self, ring: &mut Ring) -> Result<(), Full> {
        if self.file.is_none() {
            return Ok(());
        }
        match self.file_fails() {
            Some(why) => self.end_file(why),
            None if self.handshaken => self.seal_file(ring),
            None => {}
        }
        self.arm_read(ring)?;
        self.settle_file();
        Ok(())
    }

    /// Why nothing more of it can be sent. A failure of the connection is told by an event first.
    fn file_fails(&self) -> Option<FileFailure> {
        let open = matches!(self.stage, Stage::Connecting | Stage::Open);
        let Some(conn) = &self.conn else { return Some(FileFailure::Connection(self.reason)) };
        if conn.backend().output_is_lost() {
            return Some(FileFailure::SendFailed);
        }
        // Before the end of the handshake nothing can be written, either, and that is nobody's end.
        let ended = if conn.failure().is_some() { !open } else { self.handshaken && !conn.state().can_write() };
        ended.then_some(if open { FileFailure::SendClosed } else { FileFailure::Connection(self.reason) })
    }

    /// It will not go on. What was sealed of it leaves.
    pub(super) fn end_file(&mut self, why: FileFailure) {
        if let Some(parcel) = &mut self.file {
            parcel.over.get_or_insert(Err(why));
        }
    }

    /// Seals what was read, as far as there is room; before that, what writers had brought before it.
    fn seal_file(&mut self, ring: &Ring) {
        let (Some(parcel), Some(conn)) = (&mut self.file, &mut self.conn) else { return };
        // That there was no room for a file is nothing that the application waits for.
        self.pending.starved |= ring.slab().take_starved(self.slot);
        self.pending.refused |= conn.resume_writes();
        if !parcel.began {
            // An error is a failure of the connection, which is told by an event.
            let drained = self.desk.as_mut().map(|desk| desk.drain_marked(|pieces| conn.write_vectored(pieces)));
            parcel.began = drained.is_none_or(|drained| drained == Ok(true));
        }
        while parcel.began && parcel.over.is_none() {
            let bytes = parcel.tray.waiting();
            match conn.write(bytes) {
                Ok(Progress::Done(n)) if n > 0 => {
                    parcel.tray.take(n);
                    parcel.sent += n as u64;
                }
                Ok(Progress::Done(_)) if parcel.left.is_empty() && self.read == Op::Idle => parcel.over = Some(Ok(())),
                _ => break,
            }
        }
        conn.hold_writes();
        ring.slab().take_starved(self.slot);
    }

    /// Reads on, once all that was read is sealed.
    fn arm_read(&mut self, ring: &mut Ring) -> Result<(), Full> {
        let token = self.token(Kind::Read);
        let Some(parcel) = self.file.as_mut().filter(|parcel| parcel.began && parcel.over.is_none()) else {
            return Ok(());
        };
        let Some(grant) = parcel.tray.grant(parcel.left.end - parcel.left.start) else { return Ok(()) };
        let armed = ring.read(parcel.file.as_fd(), &grant, parcel.left.start, token);
        armed.inspect_err(|_| parcel.tray.filled(0))?;
        self.read = Op::InFlight;
        Ok(())
    }

    pub(super) fn complete_read(&mut self, completion: &Completion, now: Instant) -> Then {
        self.read = Op::Idle;
        let Some(parcel) = &mut self.file else { return Then::Pump };
        let n = usize::try_from(completion.result);
        parcel.tray.filled(n.unwrap_or(0));
        match (n, -completion.result) {
            (Ok(0), _) => self.end_file(FileFailure::TooShort),
            (Ok(n), _) => {
                parcel.left.start += n as u64;
                self.stir(now);
            }
            // It is tried again, unless the file is over.
            (Err(_), libc::ECANCELED | libc::EINTR) => {}
            (Err(_), errno) => self.end_file(FileFailure::Unreadable(std::io::Error::from_raw_os_error(errno))),
        }
        Then::Pump
    }

    /// Lets go of a file that is over and that no read has any more.
    pub(super) fn settle_file(&mut self) {
        if self.read != Op::Idle {
            return;
        }
        if let Some(parcel) = self.file.take_if(|parcel| parcel.over.is_some()) {
            let sent = parcel.sent;
            let told = parcel.over.unwrap_or(Ok(())).map(|()| sent).map_err(|why| FileError { sent, why });
            self.pending.file = Some(told);
        }
    }

    /// Tells how a file ended; from here on others may write.
    pub(super) fn note_file(&mut self) -> Option<Note> {
        let told = self.pending.file.take()?;
        let refused = self.conn.as_mut().is_some_and(|conn| conn.resume_writes());
        self.pending.writable |= std::mem::take(&mut self.pending.refused) | refused;
        Some(Note::File(told))
    }
}
