//! Listeners.

use std::collections::VecDeque;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use arenatls_engine::Options;
use openssl::ssl::{Ssl, SslContext};

use super::entry::Op;
use super::{RingDriver, Role};
use crate::submission::{Completion, Full};
use crate::token::{Kind, Token};
use crate::{DriverError, DriverEvent, ListenerId};

/// Owners from here on are listeners.
pub(super) const LISTENERS: u32 = Token::OWNERS - 1024;
/// How long a listener pauses when the system has no descriptor, or no memory, for another connection.
const SHORTAGE: Duration = Duration::from_millis(100);
/// Connections that the kernel accepted while the driver came to its limit: they wait here for a place.
const PARKED: usize = 64;

pub(super) struct Listener {
    fd: OwnedFd,
    context: SslContext,
    options: Options,
    op: Op,
    multishot: bool,
    /// Closed by the application.
    closed: bool,
    /// It paused for lack of places, and the application has to be told.
    at_capacity: bool,
    paused: bool,
    failed: Option<DriverError>,
    not_before: Option<Instant>,
    parked: VecDeque<OwnedFd>,
}

impl Listener {
    pub(super) fn new(fd: OwnedFd, context: SslContext, options: Options) -> Listener {
        Listener {
            fd,
            context,
            options,
            op: Op::Idle,
            multishot: true,
            closed: false,
            at_capacity: false,
            paused: false,
            failed: None,
            not_before: None,
            parked: VecDeque::with_capacity(PARKED),
        }
    }

    /// When it has to be looked at, if nothing happens before.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.not_before
    }

    fn token(which: usize, kind: Kind) -> Token {
        Token { kind, index: LISTENERS + u32::try_from(which).unwrap_or(0), generation: 0 }
    }
}

impl RingDriver {
    pub(super) fn pump_listeners(&mut self) -> Result<(), Full> {
        for which in 0..self.listeners.len() {
            self.admit_parked(which);
            let full = self.free.is_empty();
            let now = self.now;
            let Some(listener) = &mut self.listeners[which] else { continue };
            let paused = full && !listener.closed;
            listener.at_capacity |= paused && !listener.paused;
            listener.paused = paused;
            listener.not_before = listener.not_before.filter(|time| *time > now);
            let wanted = !full && !listener.closed && listener.not_before.is_none();
            match listener.op {
                Op::Idle if wanted => {
                    let token = Listener::token(which, Kind::Accept);
                    self.ring.accept(listener.fd.as_fd(), listener.multishot, token)?;
                    listener.op = Op::InFlight;
                }
                Op::Idle if listener.closed => self.listeners[which] = None,
                Op::InFlight if !wanted => {
                    let accept = Listener::token(which, Kind::Accept);
                    self.ring.cancel(accept, Listener::token(which, Kind::Cancel))?;
                    listener.op = Op::Cancelling;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn admit_parked(&mut self, which: usize) {
        while let Some(listener) = &mut self.listeners[which]
            && !self.free.is_empty()
            && let Some(socket) = listener.parked.pop_front()
        {
            self.admit(which, socket);
        }
    }

    pub(super) fn complete_accept(&mut self, mut completion: Completion) {
        let Some(which) = completion.token.index.checked_sub(LISTENERS) else { return };
        let Some(Some(listener)) = self.listeners.get_mut(which as usize) else { return };
        if !completion.more() {
            listener.op = Op::Idle;
        }
        if let Some(socket) = completion.take_socket() {
            return self.admit(which as usize, socket);
        }
        match -completion.result {
            libc::ECANCELED | libc::EAGAIN | libc::EINTR | libc::ECONNABORTED => {}
            // A kernel that does not know multishot.
            libc::EINVAL if listener.multishot => listener.multishot = false,
            errno => {
                let cause = std::io::Error::from_raw_os_error(errno);
                listener.failed = Some(DriverError::System { doing: "accept a connection", cause });
                listener.not_before = Some(self.now + SHORTAGE);
            }
        }
    }

    fn admit(&mut self, which: usize, socket: OwnedFd) {
        let Some(Some(listener)) = self.listeners.get_mut(which) else { return };
        if listener.closed {
            return;
        }
        if self.free.is_empty() {
            // Beyond the bound it is closed: the peer sees that at once.
            if listener.parked.len() < PARKED {
                listener.parked.push_back(socket);
            }
            return;
        }
        let options = listener.options;
        let made = Ssl::new(&listener.context)
            .map_err(|stack| DriverError::System { doing: "make an SSL", cause: std::io::Error::other(stack) });
        match made.and_then(|ssl| self.take_in(socket, ssl, Role::Server, &options)) {
            Ok(index) => self.entries[index as usize].pending.accepted = u32::try_from(which).ok(),
            Err(error) => {
                if let Some(listener) = &mut self.listeners[which] {
                    listener.failed = Some(error);
                }
            }
        }
    }

    pub(super) fn poll_listeners(&mut self) -> Option<DriverEvent> {
        for (which, listener) in (0..).zip(&mut self.listeners) {
            let Some(listener) = listener else { continue };
            if std::mem::take(&mut listener.at_capacity) {
                return Some(DriverEvent::AtCapacity(ListenerId(which)));
            }
            if let Some(error) = listener.failed.take() {
                return Some(DriverEvent::AcceptFailed(ListenerId(which), error));
            }
        }
        None
    }

    /// Stops listening: no further connection is accepted, and the descriptor is closed as soon as the kernel lets go
    /// of it. Connections that were accepted go on.
    pub fn stop_listening(&mut self, id: ListenerId) {
        if let Some(Some(listener)) = self.listeners.get_mut(id.0 as usize) {
            listener.closed = true;
            listener.parked.clear();
        }
    }
}
