//! A connection joined to a blocking socket: the loop that moves ciphertext, with a deadline.

use std::io::{self, ErrorKind, IoSlice, Read as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use arenatls::{ArenaBackend, Connection, Error, Event, Progress, State};

use super::failure::Failure;

/// What [`Link::next`] waited for and got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The handshake is done.
    Ready,
    /// Plaintext arrived and was handed over.
    Data,
    /// The peer ended its direction, cleanly.
    Closed,
}

/// One connection and its socket.
pub(crate) struct Link<'memory> {
    connection: Connection<ArenaBackend<'memory>>,
    socket: TcpStream,
    limit: Duration,
    deadline: Instant,
    awaited: &'static str,
    /// Why nothing can be sent any more. What the peer still has to say is heard all the same.
    mute: Option<io::Error>,
}

impl<'memory> Link<'memory> {
    /// Joins them. The peer has `limit` for the handshake.
    pub(crate) fn new(
        connection: Connection<ArenaBackend<'memory>>,
        socket: TcpStream,
        limit: Duration,
    ) -> Result<Link<'memory>, Failure> {
        // A record is sent when it is sealed; waiting for more would only add the peer's delayed acknowledgement.
        socket.set_nodelay(true).map_err(|cause| Failure::Network { doing: "set TCP_NODELAY".into(), cause })?;
        let deadline = Instant::now() + limit;
        Ok(Link { connection, socket, limit, deadline, awaited: "the handshake", mute: None })
    }

    /// The connection, to ask it what was negotiated.
    pub(crate) fn connection(&self) -> &Connection<ArenaBackend<'memory>> {
        &self.connection
    }

    /// Gives the peer its full time anew, for `awaited`.
    pub(crate) fn expect(&mut self, awaited: &'static str) {
        self.deadline = Instant::now() + self.limit;
        self.awaited = awaited;
    }

    /// Runs the handshake to its end.
    pub(crate) fn handshake(&mut self) -> Result<(), Failure> {
        match self.next(|_| {})? {
            Turn::Ready => Ok(()),
            turn => Err(Failure::Http(format!("{turn:?} before the handshake was done"))),
        }
    }

    /// Waits for the next thing that happens. Plaintext is lent to `take` where it lies.
    pub(crate) fn next(&mut self, mut take: impl FnMut(&[u8])) -> Result<Turn, Failure> {
        loop {
            let happened = match self.connection.poll_event() {
                Ok(Some(Event::HandshakeComplete)) => Ok(Some(Turn::Ready)),
                Ok(Some(Event::Plaintext(bytes))) => {
                    take(&bytes);
                    Ok(Some(Turn::Data))
                }
                Ok(Some(Event::PeerClosed)) => Ok(Some(Turn::Closed)),
                Ok(Some(Event::Truncated)) => Err(Error::Truncated),
                Ok(_) => Ok(None),
                Err(error) => Err(error),
            };
            match happened {
                Ok(Some(turn)) => return Ok(turn),
                Ok(None) if matches!(self.connection.state(), State::ReceiveClosed | State::Closed) => {
                    return Ok(Turn::Closed);
                }
                Ok(None) => self.exchange()?,
                Err(error) => return Err(self.cause_of(error)),
            }
        }
    }

    /// Sends all of `pieces`, gathered into as few records as they fit. False if the peer takes no more: what
    /// [`next`](Self::next) then reads may say why.
    pub(crate) fn send(&mut self, mut pieces: &mut [IoSlice<'_>]) -> Result<bool, Failure> {
        while !pieces.is_empty() {
            match self.connection.write_vectored(pieces)? {
                Progress::Done(n) => IoSlice::advance_slices(&mut pieces, n),
                Progress::Want(_) => self.flush()?,
            }
        }
        self.flush()?;
        Ok(self.mute.is_none())
    }

    /// Ends it: close_notify where that is still possible, the end of our direction, and then whatever the peer still
    /// sends until it ends its own. A socket closed over unread input would be reset, and a reset takes away from the
    /// peer what it has not read yet: the end of our answer, or the alert that says why.
    pub(crate) fn close(mut self, linger: Duration) {
        self.deadline = Instant::now() + linger;
        while let Ok(Progress::Want(_)) = self.connection.close() {
            if self.flush().is_err() {
                break;
            }
        }
        if self.flush().is_err() || self.socket.shutdown(Shutdown::Write).is_err() {
            return;
        }
        let mut discarded = [0; 4096];
        while self.arm().is_ok() {
            match self.socket.read(&mut discarded) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }

    /// Moves ciphertext: out if there is any, else in.
    fn exchange(&mut self) -> Result<(), Failure> {
        if self.connection.backend().unsent() > 0 { self.flush() } else { self.receive() }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        while self.connection.backend().unsent() > 0 {
            self.arm()?;
            let backend = self.connection.backend_mut();
            match backend.write_to(&self.socket) {
                Ok(_) => {}
                Err(error) if is_timeout(&error) => return Err(self.late()),
                Err(error) => {
                    let lost = backend.to_send().len();
                    backend.sent(lost).map_err(overrun)?;
                    self.mute.get_or_insert(error);
                }
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<(), Failure> {
        self.arm()?;
        let backend = self.connection.backend_mut();
        match backend.read_from(&self.socket) {
            Ok(_) => {}
            Err(error) if is_timeout(&error) => return Err(self.late()),
            // A reset is an end, only a rude one. Whether anything is missing is for TLS to say.
            Err(error) => {
                backend.end_of_input();
                self.mute.get_or_insert(error);
            }
        }
        Ok(())
    }

    /// TLS failed: its alert leaves now. Where the socket had failed before, that explains a missing end better.
    fn cause_of(&mut self, error: Error) -> Failure {
        if let (Error::Truncated, Some(cause)) = (&error, self.mute.take()) {
            return Failure::Network { doing: "go on talking to the peer".into(), cause };
        }
        // What is worth reporting is the cause, not that its alert could not be sent.
        let _ = self.flush();
        error.into()
    }

    /// Lets the next socket call last no longer than the deadline.
    fn arm(&self) -> Result<(), Failure> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.late());
        }
        let timeouts = self.socket.set_read_timeout(Some(left)).and(self.socket.set_write_timeout(Some(left)));
        timeouts.map_err(|cause| Failure::Network { doing: "set a time limit".into(), cause })
    }

    fn late(&self) -> Failure {
        Failure::Deadline { awaited: self.awaited, limit: self.limit }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn overrun(error: arenatls::Overrun) -> Failure {
    Failure::Local { doing: "account for the socket's bytes".into(), cause: error.into() }
}
