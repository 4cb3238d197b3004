//! Rest: a connection without traffic holds no memory of its slot.
//!
//! The reception it waits with would hold some, so it is taken back, and the socket watched instead; the first byte that
//! comes arms a reception again.

use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use arenatls_engine::Direction;

use super::entry::{Entry, Op};
use crate::Config;
use crate::submission::{Full, Ring};
use crate::token::Kind;

/// Who cannot rest, because something waits in its slot, is looked at again no sooner.
const LEAST: Duration = Duration::from_millis(1);

/// Whether a connection holds memory of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// It may; it had traffic, or was last looked at, then.
    Awake { since: Instant },
    /// It shall give it back as soon as no operation has it.
    Falling,
    /// It holds none that was not written since. If no reception is in flight, the socket is watched.
    Resting,
}

impl Entry {
    pub(super) fn idle_deadline(&self, config: &Config) -> Option<Instant> {
        config.idle_timeout.map(|limit| self.active + limit)
    }

    pub(super) fn rest_deadline(&self, config: &Config) -> Option<Instant> {
        let Rest::Awake { since } = self.rest else { return None };
        config.rest_after.map(|limit| since + limit.max(LEAST))
    }

    /// Traffic.
    pub(super) fn stir(&mut self, now: Instant) {
        self.active = now;
        self.rest = Rest::Awake { since: now };
    }

    /// Goes to rest if it shall: takes the reception back, then gives the memory back.
    pub(super) fn settle(&mut self, ring: &mut Ring) -> Result<(), Full> {
        if self.rest != Rest::Falling {
            return Ok(());
        }
        match self.recv {
            // A record that the kernel has opened and not given yet is not always seen by a watch (Linux 7.2).
            _ if ring.slab().is_kernel(self.slot, Direction::Receive) => {
                self.rest = Rest::Awake { since: Instant::now() };
                Ok(())
            }
            Op::InFlight | Op::Cancelling if !self.watched => self.cancel_until_complete(Kind::Recv, ring),
            _ => {
                self.unregister(ring);
                // What waits for the application, or for the peer to read, stays; it is looked at again later.
                let given = self.conn.as_mut().is_some_and(|conn| conn.backend_mut().give_back());
                self.rest = if given { Rest::Resting } else { Rest::Awake { since: Instant::now() } };
                Ok(())
            }
        }
    }

    /// Waits for the first byte without memory for it.
    pub(super) fn arm_watch(&mut self, ring: &mut Ring) -> Result<(), Full> {
        let Some(socket) = &self.socket else { return Ok(()) };
        ring.poll_in(socket.as_fd(), self.token(Kind::Recv))?;
        (self.recv, self.watched) = (Op::InFlight, true);
        Ok(())
    }
}
