//! epoll, level-triggered.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::time::Duration;

/// Events that are taken at a time.
const EVENTS: usize = 256;

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Something to read.
    Read,
    /// Room to write, or something to read.
    Write,
    /// Nothing more: it has ended.
    End,
}

/// An epoll instance. Descriptors leave it when they are closed.
pub(super) struct Epoll {
    fd: OwnedFd,
    events: Box<[libc::epoll_event]>,
}

impl Epoll {
    pub(super) fn new() -> Epoll {
        // SAFETY: no precondition.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        assert!(fd >= 0, "an epoll instance: {}", io::Error::last_os_error());
        // SAFETY: the descriptor is new, and nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Epoll { fd, events: vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS].into_boxed_slice() }
    }

    /// Watches `what` for the first time.
    pub(super) fn add(&self, what: &impl AsFd, name: usize, wish: Wish) {
        self.control(libc::EPOLL_CTL_ADD, what, name, wish);
    }

    /// Watches it for something else.
    pub(super) fn change(&self, what: &impl AsFd, name: usize, wish: Wish) {
        self.control(libc::EPOLL_CTL_MOD, what, name, wish);
    }

    fn control(&self, doing: i32, what: &impl AsFd, name: usize, wish: Wish) {
        let events = match wish {
            Wish::Read => libc::EPOLLIN,
            Wish::Write => libc::EPOLLIN | libc::EPOLLOUT,
            Wish::End => 0,
        };
        let mut event = libc::epoll_event { events: events.cast_unsigned(), u64: name as u64 };
        let fd = what.as_fd().as_raw_fd();
        // SAFETY: both descriptors are open, and `event` is readable.
        let code = unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), doing, fd, &mut event) };
        assert_eq!(code, 0, "epoll watches a socket: {}", io::Error::last_os_error());
    }

    /// Waits, for so long at most, and tells the names of all that is ready.
    pub(super) fn wait(&mut self, limit: Option<Duration>, ready: &mut Vec<usize>) {
        let (at, most) = (self.events.as_mut_ptr(), i32::try_from(self.events.len()).expect("a few events"));
        let limit = limit.map_or(-1, |limit| i32::try_from(limit.as_millis()).unwrap_or(i32::MAX));
        // SAFETY: the list is writable for `most` events.
        let count = unsafe { libc::epoll_wait(self.fd.as_raw_fd(), at, most, limit) };
        // It says -1 if a signal came.
        let count = usize::try_from(count).unwrap_or(0);
        ready.extend(self.events[..count].iter().map(|event| usize::try_from(event.u64).expect("a name")));
    }
}

/// Records of a stream that one connection sends before the others of its loop have their turn.
const SHARE: usize = 16;

/// Goes on with `step` until it says what it waits for, but no longer than its share: a peer that takes all as fast as it comes
/// would keep the loop to itself for ever.
pub(super) fn share(mut step: impl FnMut() -> Option<Wish>) -> Wish {
    (0..SHARE).find_map(|_| step()).unwrap_or(Wish::Write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_never_waits_does_not_keep_the_loop() {
        let mut steps = 0;
        let wish = share(|| {
            steps += 1;
            None
        });
        assert_eq!((wish, steps), (Wish::Write, SHARE));
        assert_eq!(share(|| Some(Wish::End)), Wish::End);
    }
}
