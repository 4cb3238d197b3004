//! Waiting for room in a socket.
//!
//! A send never waits in the kernel. If there is no room, the socket is watched; if that tells of nothing but the end of the
//! peer's direction, which it would do for ever, the send is tried again by the driver's clock.

use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use super::complete::Then;
use super::entry::{Entry, Op};
use crate::submission::{Completion, Full, Ring};
use crate::token::Kind;

/// The first pause between two tries, and the longest. Each is twice the one before it.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(128));

/// What is known of the room in a socket.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    now: Known,
    /// The pause before the last try.
    pause: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    /// There may be some.
    #[default]
    Perhaps,
    /// There was none.
    None,
    /// The socket is watched: that is what is in flight as a send.
    Watched,
    /// Watching is of no use: the next try comes then.
    Paused(Instant),
}

impl Room {
    /// When it has to be looked at.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if let Known::Paused(until) = self.now { Some(until) } else { None }
    }

    /// Ends a pause that is over. True if one was.
    pub(super) fn end_pause(&mut self, now: Instant) -> bool {
        let over = self.deadline().is_some_and(|until| until <= now);
        if over {
            self.now = Known::Perhaps;
        }
        over
    }

    /// A send found none.
    pub(super) fn is_none(&mut self) {
        self.now = Known::None;
    }

    /// A send found some.
    pub(super) fn was_there(&mut self) {
        *self = Room::default();
    }

    pub(super) fn is_watched(&self) -> bool {
        self.now == Known::Watched
    }

    /// What came of watching: events of poll(2), or an error.
    fn told(&mut self, result: i32, now: Instant) {
        let of_use = i32::from(libc::POLLOUT | libc::POLLERR | libc::POLLHUP);
        self.now = Known::Perhaps;
        if result >= 0 && result & of_use == 0 {
            self.pause = (self.pause * 2).clamp(PAUSES.0, PAUSES.1);
            self.now = Known::Paused(now + self.pause);
        }
    }
}

impl Entry {
    /// True if a send may be tried. If there was no room, the socket is watched from here on.
    pub(super) fn may_have_room(&mut self, ring: &mut Ring) -> Result<bool, Full> {
        if self.room.now == Known::None
            && ring.slab().unsent(self.slot) > 0
            && let Some(socket) = &self.socket
        {
            ring.poll_out(socket.as_fd(), self.token(Kind::Send))?;
            (self.send, self.room.now) = (Op::InFlight, Known::Watched);
        }
        Ok(self.room.now == Known::Perhaps)
    }

    /// The socket was watched, and something came of it.
    pub(super) fn complete_watch(&mut self, completion: &Completion, now: Instant) -> Then {
        self.send = Op::Idle;
        self.room.told(completion.result, now);
        Then::Pump
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_while_watching_is_of_no_use_and_are_over_with_the_first_success() {
        let (mut room, mut now) = (Room::default(), Instant::now());
        for milliseconds in [1, 2, 4, 8, 16, 32, 64, 128, 128] {
            room.is_none();
            room.told(i32::from(libc::POLLIN | libc::POLLRDHUP), now);
            assert_eq!(room.deadline(), Some(now + Duration::from_millis(milliseconds)));
            assert!(!room.end_pause(now));
            now += Duration::from_millis(milliseconds);
            assert!(room.end_pause(now) && !room.end_pause(now));
        }
        room.was_there();
        room.told(i32::from(libc::POLLRDHUP), now);
        assert_eq!(room.deadline(), Some(now + PAUSES.0));
    }

    #[test]
    fn room_or_an_error_is_looked_at_at_once() {
        for result in [i32::from(libc::POLLOUT), i32::from(libc::POLLERR | libc::POLLRDHUP), -libc::ECANCELED] {
            let mut room = Room::default();
            room.told(result, Instant::now());
            assert_eq!(room.deadline(), None);
        }
    }
}
