//! Connections whose records the kernel protects.

use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::time::Instant;

use arenatls_engine::record::frame::Frame;
use arenatls_engine::record::{APPLICATION_DATA, MAX_CIPHERTEXT_12, MAX_CIPHERTEXT_13};
use arenatls_engine::{Backend as _, BadRecord, Direction, Options, Progress, Want};

use super::RingDriver;
use super::complete::{Then, is_transient};
use super::entry::{Entry, Op, Stage};
use crate::submission::{Completion, Full, Ring};
use crate::token::Kind;
use crate::ulp::Mark;

/// What a connection remembers of its records in the kernel.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// The last record received was no application data: it may replace the key, so the engine sees it before the next.
    control: bool,
    /// The kernel would not open a record, and opens none from then on.
    deaf: bool,
    /// Where TCP stood when the kernel got the sending keys.
    mark: Option<Mark>,
    /// Plaintext sent since (bytes).
    sent: u64,
    /// What is in flight for the sending direction sends nothing: it waits for TCP to take what the layer has.
    waits: bool,
    /// The next wait is for a while, and not for the socket.
    tick: bool,
    /// A sending was tried again because of an error that belonged to the receiving direction.
    excused: bool,
}

impl Kernel {
    /// Whether TCP has all that the layer was given.
    fn has_all(&self, socket: &TcpStream) -> bool {
        self.mark.as_ref().is_none_or(|mark| mark.is_reached(socket.as_fd(), self.sent))
    }
}

/// How the next reception is to be made.
pub(super) enum Reception {
    /// At most so many bytes, as they come.
    Bytes(usize),
    /// One record, opened by the kernel.
    Record,
    /// Of the end only: no record can be opened any more.
    End,
    /// Not now: something else has to happen first.
    Later,
}

impl RingDriver {
    /// `options` for a new connection.
    pub(super) fn with_kernel_tls(&self, options: Options) -> Options {
        let (sending, receiving) = self.config.kernel_tls;
        if self.has_kernel_tls() { options.keep_keys(sending, receiving) } else { options }
    }

    /// Offers the keys of both directions to the kernel, when the handshake is done and before anything is written.
    pub(super) fn offer_keys(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        for direction in [Direction::Send, Direction::Receive] {
            entry.offer_keys(direction, &self.ring);
        }
    }
}

impl Entry {
    /// Offers the keys of a direction to the kernel, if there are some and nothing is on its way. True if it took them.
    pub(super) fn offer_keys(&mut self, direction: Direction, ring: &Ring) -> bool {
        let slab = ring.slab();
        let op = if direction == Direction::Send { self.send } else { self.recv };
        let (Some(layer), Some(conn), Some(socket)) = (slab.layer(), &mut self.conn, &self.socket) else {
            return false;
        };
        if op != Op::Idle
            || !self.handshaken
            || !conn.offers_keys(direction)
            || !conn.backend().is_lease_of(slab, self.slot)
            || direction == Direction::Send && !self.kernel.has_all(socket)
        {
            return false;
        }
        // A refusal is final, and a failure is told by the next poll.
        let mut mark = None;
        let taken = conn.hand_over(direction, |keys| {
            mark = Mark::new(socket.as_fd(), keys);
            layer.take(socket.as_fd(), direction, keys)
        });
        let taken = taken == Ok(Progress::Done(true));
        if taken {
            slab.set_kernel(self.slot, direction);
        }
        if taken && direction == Direction::Send {
            (self.kernel.mark, self.kernel.sent) = (mark, 0);
        }
        taken
    }

    /// Whether everything was sent under the key that the kernel has, and it shall have another.
    pub(super) fn wants_new_key(&self, ring: &Ring) -> bool {
        let slab = ring.slab();
        slab.is_kernel(self.slot, Direction::Send)
            && slab.unsent(self.slot) == 0
            && self.conn.as_ref().is_some_and(|conn| conn.offers_keys(Direction::Send))
    }

    /// Gives the kernel what it can take, now that a sending is complete. True if that was the key that writes waited for.
    pub(super) fn gave_new_key(&mut self, ring: &Ring) -> bool {
        let has_one = ring.slab().is_kernel(self.slot, Direction::Send);
        self.offer_keys(Direction::Send, ring) && has_one
    }

    pub(super) fn reception(&mut self, ring: &Ring) -> Reception {
        if ring.slab().layer().is_none() {
            return Reception::Bytes(usize::MAX);
        }
        self.offer_keys(Direction::Receive, ring);
        let offers = self.conn.as_ref().is_some_and(|conn| conn.offers_keys(Direction::Receive));
        let later = |now| if now { Reception::Record } else { Reception::Later };
        match (ring.slab().is_kernel(self.slot, Direction::Receive), &mut self.conn) {
            (true, _) if self.kernel.deaf => Reception::End,
            (true, Some(conn)) => later(!(offers || self.kernel.control && !conn.backend_mut().input().is_empty())),
            (true, None) => Reception::Record,
            (false, Some(conn)) if offers && !self.handshaken => match conn.want() {
                // All that has come was looked at, and the handshake ends when what waits has left: what comes next is
                // for the kernel.
                Some(Want::Drain) => Reception::Later,
                _ => Reception::Bytes(usize::MAX),
            },
            // Keys change hands between two records: the one under way is received to its end and no further.
            (false, Some(conn)) if offers => match Frame::parse(conn.backend_mut().input(), MAX_CIPHERTEXT_12) {
                Frame::Partial { needed } => Reception::Bytes(needed - conn.backend_mut().input().len()),
                Frame::Whole { .. } | Frame::Broken(_) => Reception::Later,
            },
            (false, _) => Reception::Bytes(usize::MAX),
        }
    }

    pub(super) fn arm_record(&mut self, ring: &mut Ring) -> Result<(), Full> {
        if self.conn.is_none() {
            ring.slab().discard_input(self.slot);
        }
        let (Some(socket), Some(message)) = (&self.socket, ring.slab().grant_record(self.slot)) else { return Ok(()) };
        let token = self.token(Kind::Recv);
        let armed = ring.receive_message(socket.as_fd(), &message, self.recv_waits, token);
        armed.inspect_err(|_| ring.slab().received(self.slot, 0))?;
        self.recv = Op::InFlight;
        Ok(())
    }

    /// Waits for the end of the peer's direction once nothing else is left to wait for.
    pub(super) fn arm_end(&mut self, ring: &mut Ring) -> Result<(), Full> {
        let (Stage::Flushing | Stage::Lingering, Some(socket)) = (self.stage, &self.socket) else { return Ok(()) };
        ring.poll_end(socket.as_fd(), self.token(Kind::Recv))?;
        self.recv = Op::InFlight;
        Ok(())
    }

    pub(super) fn arm_message(&mut self, ring: &mut Ring) -> Result<(), Full> {
        let (Some(socket), Some(message)) = (&self.socket, ring.slab().grant_message(self.slot)) else {
            return Ok(());
        };
        let token = self.token(Kind::Send);
        let armed = ring.send_message(socket.as_fd(), &message, token);
        armed.inspect_err(|_| ring.slab().sent(self.slot, 0))?;
        self.send = Op::InFlight;
        Ok(())
    }

    /// Whether all that was sent lies in TCP's queue, so that our direction can be shut behind it; if not, waits for that.
    pub(super) fn tcp_has_all(&mut self, ring: &mut Ring) -> Result<bool, Full> {
        let (Some(socket), false) = (&self.socket, self.write_shut) else { return Ok(true) };
        if self.kernel.has_all(socket) {
            return Ok(true);
        }
        // When there is room, the layer goes on a little later.
        let token = self.token(Kind::Send);
        if self.kernel.tick {
            ring.tick(token)?
        } else {
            ring.poll_out(socket.as_fd(), token)?
        }
        self.send = Op::InFlight;
        (self.kernel.tick, self.kernel.waits) = (!self.kernel.tick, true);
        Ok(false)
    }

    /// Whether what is complete was only that wait.
    pub(super) fn has_waited(&mut self) -> bool {
        std::mem::take(&mut self.kernel.waits)
    }

    pub(super) fn count_sent(&mut self, n: usize, ring: &Ring) {
        if ring.slab().is_kernel(self.slot, Direction::Send) {
            ring.slab().message_sent(self.slot, n);
            self.kernel.sent += n as u64;
        } else {
            ring.slab().sent(self.slot, n);
        }
    }

    pub(super) fn complete_record(&mut self, completion: &Completion, ring: &Ring, now: Instant) -> Then {
        if self.kernel.deaf {
            self.end_input(ring);
            return Then::Poll;
        }
        // What the layer has opened and not given yet, a poll does not always see (a KeyUpdate, on Linux 7.2): the next
        // reception is tried first.
        self.recv_waits = false;
        let Ok(n) = usize::try_from(completion.result) else { return self.record_failed(-completion.result, ring) };
        match ring.slab().message_received(self.slot, n) {
            Some(content_type) => self.kernel.control = content_type != APPLICATION_DATA,
            None => self.end_input(ring),
        }
        self.stir(now);
        Then::Poll
    }

    fn record_failed(&mut self, errno: i32, ring: &Ring) -> Then {
        ring.slab().received(self.slot, 0);
        if is_transient(errno) {
            self.recv_waits = true;
            return Then::Pump;
        }
        match bad_record(errno) {
            Some(bad) => self.cannot_open(bad),
            // A reset.
            None => self.end_input(ring),
        }
        Then::Poll
    }

    /// The kernel would not open a record, and says so once more to whoever uses the socket next, which is the alert.
    fn cannot_open(&mut self, bad: BadRecord) {
        self.kernel.deaf = true;
        self.forget_error();
        if let Some(conn) = &mut self.conn {
            conn.not_opened(bad);
        }
    }

    /// Whether a sending failed for what the receiving direction did, which is tried again once.
    pub(super) fn excuses(&mut self, errno: i32, ring: &Ring) -> bool {
        let receives = ring.slab().is_kernel(self.slot, Direction::Receive);
        if !receives || self.kernel.excused || bad_record(errno).is_none() {
            return false;
        }
        self.kernel.excused = true;
        self.forget_error();
        true
    }

    fn forget_error(&self) {
        if let Some(socket) = &self.socket {
            // Reading it clears it (SO_ERROR).
            let _ = socket.take_error();
        }
    }
}

/// What the kernel says of a record that it would not open; nothing if it is about something else. It does not say what it
/// saw: the length is the least that is too long, and the version is none.
fn bad_record(errno: i32) -> Option<BadRecord> {
    const LIMIT: usize = MAX_CIPHERTEXT_13;
    Some(match errno {
        libc::EBADMSG | libc::EKEYEXPIRED => BadRecord::Mac,
        libc::EMSGSIZE => BadRecord::Overflow { length: LIMIT + 1, limit: LIMIT },
        libc::EINVAL => BadRecord::Version(0),
        _ => return None,
    })
}
