//! Completions: what the kernel says comes to the connection it is about.

use std::time::Instant;

use arenatls_engine::{Direction, Want, prefetch};

use super::RingDriver;
use super::entry::{Entry, Op, Stage};
use super::rest::Rest;
use crate::CloseReason;
use crate::submission::{Completion, Ring};
use crate::token::Kind;

/// What a completion makes the driver do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Arm what has to be armed.
    Pump,
    /// Ask the connection for events, then that.
    Poll,
}

impl RingDriver {
    pub(super) fn complete(&mut self, completion: Completion) {
        let token = completion.token;
        match token.kind {
            Kind::Accept | Kind::Other => return self.complete_accept(completion),
            Kind::Wake => return self.wakeup.complete(completion.result),
            Kind::Cancel if token.index >= super::accept::LISTENERS => return,
            _ => {}
        }
        let Some(entry) = self.entries.get_mut(token.index as usize) else { return self.strayed() };
        if entry.generation != token.generation || entry.stage == Stage::Free {
            return self.strayed();
        }
        let before = entry.rest;
        let then = match token.kind {
            Kind::Recv => entry.complete_recv(&completion, &self.ring, self.now),
            Kind::Send => entry.complete_send(&completion, &self.ring, self.now),
            Kind::Read => entry.complete_read(&completion, self.now),
            Kind::Connect => entry.complete_connect(&completion, &self.ring),
            _ => {
                entry.cancels -= 1;
                Then::Pump
            }
        };
        if then == Then::Poll {
            prefetch(&raw const *entry, size_of::<Entry>());
        }
        let put_off = entry.room.deadline().is_some();
        let woke = matches!((before, entry.rest), (Rest::Falling | Rest::Resting, Rest::Awake { .. }));
        if then == Then::Poll && entry.stage == Stage::Open {
            self.ready.add(token.index);
        } else {
            self.dirty.add(token.index);
        }
        if woke || put_off {
            self.schedule(token.index);
        }
    }

    /// An operation outlived its owner, which cannot be: an owner is free only when all its operations are complete.
    fn strayed(&mut self) {
        debug_assert!(false, "a completion of nobody's operation");
        self.stray += 1;
    }
}

/// True if the operation shall be tried again as it was. That it was cancelled says nothing of the socket.
pub(super) fn is_transient(errno: i32) -> bool {
    matches!(errno, libc::EAGAIN | libc::EINTR | libc::ECANCELED)
}

impl Entry {
    fn complete_recv(&mut self, completion: &Completion, ring: &Ring, now: Instant) -> Then {
        if !completion.more() {
            (self.recv, self.goes_on) = (Op::Idle, false);
        }
        if std::mem::take(&mut self.watched) {
            self.recv_waits = false;
            if completion.result >= 0 {
                self.stir(now);
            }
            return Then::Pump;
        }
        if ring.slab().is_kernel(self.slot, Direction::Receive) {
            return self.complete_record(completion, ring, now);
        }
        if completion.took_buffer() {
            ring.slab().provided_is_taken(self.slot);
        }
        let result = usize::try_from(completion.result);
        // One that goes on may have had nothing to receive into.
        if result.is_ok_and(|n| n > 0) || ring.slab().is_granted_input(self.slot) {
            ring.slab().received(self.slot, result.unwrap_or(0));
        }
        let Ok(n) = result else { return self.recv_failed(-completion.result, ring) };
        self.recv_waits = !completion.nonempty();
        if n == 0 {
            self.end_input(ring);
        }
        self.stir(now);
        Then::Poll
    }

    fn recv_failed(&mut self, errno: i32, ring: &Ring) -> Then {
        if errno == libc::ENOBUFS {
            // There is more than was provided for.
            self.recv_waits = false;
            return Then::Pump;
        }
        if is_transient(errno) {
            self.recv_waits = true;
            return Then::Pump;
        }
        // A reset is an end without close_notify; all that came before it has been received.
        self.end_input(ring);
        Then::Poll
    }

    pub(super) fn end_input(&mut self, ring: &Ring) {
        self.read_ended = true;
        ring.slab().end_input(self.slot);
    }

    fn complete_send(&mut self, completion: &Completion, ring: &Ring, now: Instant) -> Then {
        if self.room.is_watched() {
            return self.complete_watch(completion, now);
        }
        self.send = Op::Idle;
        if self.has_waited() {
            return self.after_send(ring);
        }
        let errno = match usize::try_from(completion.result) {
            Ok(n) => {
                self.count_sent(n, ring);
                self.room.was_there();
                self.stir(now);
                return self.after_send(ring);
            }
            Err(_) => -completion.result,
        };
        ring.slab().sent(self.slot, 0);
        if is_transient(errno) || self.excuses(errno, ring) {
            if errno == libc::EAGAIN {
                self.room.is_none();
            }
            return Then::Pump;
        }
        if matches!(self.stage, Stage::Open | Stage::Detaching) {
            self.pending.send_failed = Some(errno);
        }
        ring.slab().sink_output(self.slot);
        self.after_send(ring);
        Then::Poll
    }

    fn after_send(&mut self, ring: &Ring) -> Then {
        if let Some(conn) = &mut self.conn {
            conn.backend_mut().let_go();
        }
        let starved = ring.slab().take_starved(self.slot) | std::mem::take(&mut self.pending.starved);
        let starved = starved | self.gave_new_key(ring);
        self.pending.writable |= starved;
        let waits_for_input = self.conn.as_ref().is_some_and(|conn| conn.want() == Some(Want::Input));
        if starved || !waits_for_input { Then::Poll } else { Then::Pump }
    }

    fn complete_connect(&mut self, completion: &Completion, ring: &Ring) -> Then {
        self.connect = Op::Idle;
        ring.slab().received(self.slot, 0);
        match (self.stage, -completion.result) {
            (Stage::Connecting, 0) => self.stage = Stage::Open,
            (Stage::Connecting, errno) if !is_transient(errno) => {
                self.reason = CloseReason::NotConnected(errno);
                self.reap();
            }
            _ => {}
        }
        Then::Poll
    }
}
