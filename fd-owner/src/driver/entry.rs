//! One connection of the driver: its socket, its slot, and its operations.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::time::Instant;

use arenatls_engine::{Connection, Direction, Progress, State, Want};

use super::file::Parcel;
use super::kernel::{Kernel, Reception};
use super::register::Registration;
use super::rest::Rest;
use super::room::Room;
use crate::slot::FdBackend;
use crate::submission::{Full, Ring};
use crate::token::{Kind, Token};
use crate::writer::{Desk, WriterEnd};
use crate::{CloseReason, Config, FileError, FileFailure};

/// Where a connection is in the driver's care.
///
/// ```text
///   Free ─▶ Connecting ─▶ Open ─ close, end, failure ─▶ Flushing ─▶ Lingering ─▶ Reaping ─▶ Done ─▶ Free
///              │            └───────── abort ──────────────────────────────────────▲
///              └─────────────────────── failure, deadline ─────────────────────────┘ deadline, from any before it
///
///   Open ─ detach ─▶ Detaching ─▶ Detached ─ taken ─▶ Free
///                        │             └─ deadline ─▶ Flushing
///                        └─ deadline ─▶ Reaping
/// ```
///
/// Flushing: what is committed leaves, close_notify or the alert last. Lingering: our direction is shut, and what the peer
/// still sends is read and thrown away, so that no reset destroys what it has not read yet. Reaping: the socket is shut
/// down, and every operation completes before it is closed. Detaching: what writers brought is sealed, then every operation
/// is cancelled, and completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Free,
    Connecting,
    Open,
    Flushing,
    Lingering,
    Reaping,
    Done,
    Detaching,
    Detached,
}

/// An operation's life: from its submission to its own last completion the kernel has what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Idle,
    InFlight,
    /// Its cancellation was submitted, too. It completes all the same.
    Cancelling,
}

/// What the application has still to be told.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// The listener it came from.
    pub(super) accepted: Option<u32>,
    pub(super) writable: bool,
    pub(super) send_failed: Option<i32>,
    pub(super) detached: bool,
    /// The peer's end was read on the way out.
    pub(super) peer_closed: bool,
    /// A write of the application itself found no room.
    pub(super) starved: bool,
    /// One was refused because of a file.
    pub(super) refused: bool,
    /// How a file ended: its length, or why it was not sent.
    pub(super) file: Option<Result<u64, FileError>>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) index: u32,
    pub(super) generation: u32,
    pub(super) stage: Stage,
    pub(super) conn: Option<Connection<FdBackend>>,
    pub(super) socket: Option<TcpStream>,
    pub(super) slot: u32,
    pub(super) peer: Option<SocketAddr>,
    pub(super) recv: Op,
    pub(super) send: Op,
    pub(super) connect: Op,
    pub(super) read: Op,
    pub(super) cancels: u8,
    pub(super) pending: Pending,
    /// Where writers on other threads bring what they write.
    pub(super) desk: Option<Box<Desk>>,
    pub(super) file: Option<Parcel>,
    pub(super) reason: CloseReason,
    pub(super) handshaken: bool,
    pub(super) paused: bool,
    /// The engine has a record's plaintext to lend.
    pub(super) has_plaintext: bool,
    /// Half a handshake message of the peer's is here; the engine may refuse to write until it has the rest.
    pub(super) mid_message: bool,
    /// Calls into OpenSSL when that was looked at.
    pub(super) openssl_calls: u64,
    pub(super) read_ended: bool,
    pub(super) write_shut: bool,
    /// What is in flight as a reception only watches the socket.
    pub(super) watched: bool,
    /// What is in flight as a reception goes on after it has brought something.
    pub(super) goes_on: bool,
    /// Wait for the socket before the next try.
    pub(super) recv_waits: bool,
    pub(super) registration: Registration,
    pub(super) room: Room,
    pub(super) rest: Rest,
    pub(super) kernel: Kernel,
    pub(super) born: Instant,
    pub(super) active: Instant,
    pub(super) closing: Instant,
}

impl Entry {
    pub(super) fn free(index: u32, now: Instant) -> Entry {
        Entry {
            index,
            generation: 0,
            stage: Stage::Free,
            conn: None,
            socket: None,
            slot: 0,
            peer: None,
            recv: Op::Idle,
            send: Op::Idle,
            connect: Op::Idle,
            read: Op::Idle,
            cancels: 0,
            pending: Pending::default(),
            desk: None,
            file: None,
            reason: CloseReason::Done,
            handshaken: false,
            paused: false,
            has_plaintext: false,
            mid_message: false,
            openssl_calls: 0,
            read_ended: false,
            write_shut: false,
            watched: false,
            goes_on: false,
            recv_waits: false,
            registration: Registration::default(),
            room: Room::default(),
            rest: Rest::Awake { since: now },
            kernel: Kernel::default(),
            born: now,
            active: now,
            closing: now,
        }
    }

    /// When it has to be looked at, if nothing happens before.
    pub(super) fn deadline(&self, config: &Config) -> Option<Instant> {
        [self.deadline_of_stage(config), self.room.deadline()].into_iter().flatten().min()
    }

    fn deadline_of_stage(&self, config: &Config) -> Option<Instant> {
        match self.stage {
            Stage::Connecting => Some(self.born + config.handshake_timeout),
            Stage::Open if !self.handshaken => Some(self.born + config.handshake_timeout),
            Stage::Open => [self.idle_deadline(config), self.rest_deadline(config)].into_iter().flatten().min(),
            Stage::Detached => self.idle_deadline(config),
            Stage::Detaching | Stage::Flushing | Stage::Lingering => Some(self.closing + config.close_timeout),
            Stage::Free | Stage::Reaping | Stage::Done => None,
        }
    }

    pub(super) fn token(&self, kind: Kind) -> Token {
        Token { kind, index: self.index, generation: self.generation }
    }

    /// Does what its stage calls for, until it has to wait.
    pub(super) fn pump(&mut self, ring: &mut Ring) -> Result<(), Full> {
        loop {
            let before = self.stage;
            match self.stage {
                Stage::Free | Stage::Done | Stage::Detached => {}
                Stage::Connecting => self.arm_connect(ring)?,
                Stage::Open => self.pump_open(ring)?,
                Stage::Flushing => self.pump_flushing(ring)?,
                Stage::Lingering => self.pump_lingering(ring)?,
                Stage::Reaping => self.pump_reaping(ring)?,
                Stage::Detaching => self.pump_detaching(ring)?,
            }
            if self.stage == before {
                return Ok(());
            }
        }
    }

    fn pump_open(&mut self, ring: &mut Ring) -> Result<(), Full> {
        self.pump_file(ring)?;
        self.drain_writers(ring);
        self.arm_send(ring)?;
        self.settle(ring)?;
        if matches!(self.state(), Some(State::SendClosed | State::Closed))
            && self.is_flushed(ring)
            && self.tcp_has_all(ring)?
        {
            self.shut_write();
        }
        self.arm_recv(ring)
    }

    fn pump_flushing(&mut self, ring: &mut Ring) -> Result<(), Full> {
        self.read_at_end();
        self.pump_file(ring)?;
        if self.drain_writers_at_end(ring) {
            self.say_goodbye(ring);
        }
        self.arm_send(ring)?;
        if self.conn.is_none() && self.is_flushed(ring) && self.tcp_has_all(ring)? {
            self.shut_write();
            self.stage = Stage::Lingering;
        }
        // The peer may not read before we do.
        self.arm_recv(ring)
    }

    /// Has the engine say close_notify, if it can, and lets it go once that is done.
    fn say_goodbye(&mut self, ring: &Ring) {
        let flushed = self.is_flushed(ring);
        let Some(conn) = &mut self.conn else { return };
        let mut said = conn.close();
        if said == Ok(Progress::Want(Want::Input)) {
            // Half a handshake message is here, and OpenSSL says nothing before it has the rest.
            while let Ok(Some(_)) = conn.poll_event() {}
            said = conn.close();
        }
        let waits = match said {
            Ok(Progress::Want(Want::Input)) => !self.read_ended,
            // There is room once what is on its way has left.
            Ok(Progress::Want(_)) => !flushed,
            Ok(Progress::Done(())) | Err(_) => false,
        };
        if !waits || conn.backend().output_is_lost() {
            self.conn = None;
        }
    }

    fn pump_lingering(&mut self, ring: &mut Ring) -> Result<(), Full> {
        if self.read_ended {
            self.reap();
            return Ok(());
        }
        self.arm_recv(ring)
    }

    fn pump_reaping(&mut self, ring: &mut Ring) -> Result<(), Full> {
        for kind in [Kind::Recv, Kind::Send, Kind::Connect, Kind::Read] {
            self.cancel(kind, ring)?;
        }
        if self.cancels == 0 && [self.recv, self.send, self.connect, self.read] == [Op::Idle; 4] {
            self.settle_file();
            // The order matters: nothing of the kernel's knows the descriptor any more, then nothing has the slot.
            self.unregister(ring);
            self.conn = None;
            self.socket = None;
            ring.slab().release(self.slot);
            self.stage = Stage::Done;
        }
        Ok(())
    }

    /// Gives up what is under way. The peer sees the end at once, whatever operations are in flight.
    pub(super) fn reap(&mut self) {
        self.end_writers(WriterEnd::Connection(self.reason));
        self.end_file(FileFailure::Connection(self.reason));
        self.conn = None;
        // Where both directions have ended, nothing is left to shut.
        if let (Some(socket), false) = (&self.socket, self.write_shut && self.read_ended) {
            // It may never have been connected, or be gone.
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.stage = Stage::Reaping;
    }

    pub(super) fn state(&self) -> Option<State> {
        self.conn.as_ref().map(Connection::state)
    }

    /// Asks for the end of an operation. It completes all the same, and so does the asking.
    pub(super) fn cancel(&mut self, kind: Kind, ring: &mut Ring) -> Result<(), Full> {
        if *self.op(kind) == Op::InFlight {
            ring.cancel(self.token(kind), self.token(Kind::Cancel))?;
            *self.op(kind) = Op::Cancelling;
            self.cancels += 1;
        }
        Ok(())
    }

    /// As [`cancel`](Self::cancel), and once more for an operation that is still there when all cancellations are complete: it
    /// was being tried at that moment, and missed.
    pub(super) fn cancel_until_complete(&mut self, kind: Kind, ring: &mut Ring) -> Result<(), Full> {
        if *self.op(kind) == Op::Cancelling && self.cancels == 0 {
            *self.op(kind) = Op::InFlight;
        }
        self.cancel(kind, ring)
    }

    pub(super) fn op(&mut self, kind: Kind) -> &mut Op {
        match kind {
            Kind::Recv => &mut self.recv,
            Kind::Send => &mut self.send,
            Kind::Read => &mut self.read,
            _ => &mut self.connect,
        }
    }

    fn is_flushed(&self, ring: &Ring) -> bool {
        self.send == Op::Idle && ring.slab().unsent(self.slot) == 0
    }

    fn shut_write(&mut self) {
        if let (false, Some(socket)) = (self.write_shut, &self.socket) {
            self.write_shut = true;
            // A peer that has reset the connection needs no FIN.
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    fn arm_connect(&mut self, ring: &mut Ring) -> Result<(), Full> {
        let (Op::Idle, Some(peer), Some(socket)) = (self.connect, &self.peer, &self.socket) else { return Ok(()) };
        let Some(address) = ring.slab().grant_address(self.slot, peer) else { return Ok(()) };
        let token = self.token(Kind::Connect);
        ring.connect(socket.as_fd(), &address, token).inspect_err(|_| ring.slab().received(self.slot, 0))?;
        self.connect = Op::InFlight;
        Ok(())
    }

    pub(super) fn arm_recv(&mut self, ring: &mut Ring) -> Result<(), Full> {
        if self.recv != Op::Idle && !self.wants_buffer(ring) || self.read_ended || self.socket.is_none() {
            return Ok(());
        }
        if self.rest == Rest::Resting {
            return self.arm_watch(ring);
        }
        let most = match self.reception(ring) {
            Reception::Bytes(most) => most,
            Reception::Record => return self.arm_record(ring),
            Reception::End => return self.arm_end(ring),
            Reception::Later => return Ok(()),
        };
        let whole = match &mut self.conn {
            Some(conn) => conn.backend_mut().make_room(),
            None => {
                ring.slab().discard_input(self.slot);
                0
            }
        };
        let Some(grant) = ring.slab().grant_input(self.slot, whole, most) else { return Ok(()) };
        self.receive(&grant, ring).inspect_err(|_| ring.slab().received(self.slot, 0))?;
        self.recv = Op::InFlight;
        Ok(())
    }

    pub(super) fn arm_send(&mut self, ring: &mut Ring) -> Result<(), Full> {
        if self.send != Op::Idle {
            return Ok(());
        }
        if !self.may_have_room(ring)? || self.wants_new_key(ring) && !self.tcp_has_all(ring)? {
            return Ok(());
        }
        if self.gave_new_key(ring) {
            self.pending.writable = true;
            self.pump_file(ring)?;
        }
        if ring.slab().is_kernel(self.slot, Direction::Send) {
            return self.arm_message(ring);
        }
        let token = self.token(Kind::Send);
        let Some(grant) = ring.slab().grant_output(self.slot) else {
            // It may have been looked for room, and nothing written.
            self.conn.iter_mut().for_each(|conn| conn.backend_mut().let_go());
            return Ok(());
        };
        let Some(socket) = self.operand() else { return Ok(()) };
        let armed = ring.send(socket, &grant, token);
        armed.inspect_err(|_| ring.slab().sent(self.slot, 0))?;
        self.send = Op::InFlight;
        Ok(())
    }
}
