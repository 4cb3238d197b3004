//! The application: it knows connections, and not who moves their bytes.

use arenatls::{Backend, Connection, Error, Progress};

/// What one peer may have waiting before it is no longer read from (bytes).
const LIMIT: usize = 64 * 1024;

/// One peer's bytes that were not sent back yet.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    pending: Vec<u8>,
    peer_is_done: bool,
}

/// What the application wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// What the peer sends.
    Read,
    /// Room for what it has to send; nothing else until then.
    Room,
    /// The end.
    Close,
}

impl Echo {
    /// A new peer, in the place of an old one.
    pub(crate) fn restart(&mut self) {
        self.pending.clear();
        self.peer_is_done = false;
    }

    /// The peer said something.
    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// The peer will say no more.
    pub(crate) fn hear_the_end(&mut self) {
        self.peer_is_done = true;
    }

    /// Sends back as much as there is room for.
    pub(crate) fn answer<B: Backend>(&mut self, connection: &mut Connection<B>) -> Result<Wish, Error> {
        if let Progress::Done(n) = connection.write(&self.pending)? {
            self.pending.drain(..n);
        }
        Ok(match (self.pending.len(), self.peer_is_done) {
            (0, true) => Wish::Close,
            (0..=LIMIT, false) => Wish::Read,
            _ => Wish::Room,
        })
    }
}
