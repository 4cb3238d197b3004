//! The ring: operations in, completions out.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{Builder, IoUring, Probe, cqueue, opcode, squeue};

use crate::Config;
use crate::config::LONGEST;
use crate::registered::{Socket, Table};
use crate::slot::{Grant, Message, Slab};
use crate::token::{Kind, Token};

/// `IORING_RECVSEND_POLL_FIRST` of `linux/io_uring.h`: wait for the socket before trying it.
const POLL_FIRST: u16 = 1;
/// How long a ring that is dropped waits for its operations.
const DRAIN: Duration = Duration::from_secs(2);

/// Rings whose operations could not be waited for, with the slots that were left to them.
static LEAKED: AtomicUsize = AtomicUsize::new(0);

/// How many rings of this process were dropped and could not wait for their operations; the memory of their slots is
/// never freed.
pub fn leaked_rings() -> usize {
    LEAKED.load(Ordering::Relaxed)
}

/// No room in the submission queue, even after what it held was submitted. The operation was not taken.
#[derive(Debug)]
pub(crate) struct Full;

/// What the kernel says of an operation.
#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) token: Token,
    /// As the system call would give it, errors negative.
    pub(crate) result: i32,
    flags: u32,
}

impl Completion {
    /// True if the operation goes on, and there will be another completion of it.
    pub(crate) fn more(&self) -> bool {
        cqueue::more(self.flags)
    }

    /// True if the kernel took a provided buffer for it.
    pub(crate) fn took_buffer(&self) -> bool {
        cqueue::buffer_select(self.flags).is_some()
    }

    /// True if there is more to receive already.
    pub(crate) fn nonempty(&self) -> bool {
        cqueue::sock_nonempty(self.flags)
    }

    /// The socket that was accepted. Once a completion.
    pub(crate) fn take_socket(&mut self) -> Option<OwnedFd> {
        if self.token.kind != Kind::Accept || self.result < 0 {
            return None;
        }
        let fd = std::mem::replace(&mut self.result, -libc::ECANCELED);
        // SAFETY: R4: the result of a successful accept is a descriptor that nobody else knows of, and it is taken once.
        Some(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

/// A ring, the memory its operations may use, and a count of those the kernel has.
pub(crate) struct Ring {
    // Dropped in this order: the ring first, then the memory.
    pub(crate) uring: IoUring,
    slab: Rc<Slab>,
    pub(crate) table: Table,
    register_after: Option<u32>,
    /// Operations that the kernel has, or will have by the next entry.
    in_flight: usize,
    /// Send operations taken so far, and receptions.
    sends: u64,
    pub(crate) receptions: u64,
    /// The kernel knows [`POLL_FIRST`]; an older one may refuse the operation for it.
    waits: bool,
    setup: &'static str,
}

type Setup = fn(&mut Builder);

/// Ways to set a ring up, best first.
const SETUPS: [(&str, Setup); 4] = [
    ("SINGLE_ISSUER | DEFER_TASKRUN", |b| {
        b.setup_single_issuer().setup_defer_taskrun();
    }),
    ("SINGLE_ISSUER | COOP_TASKRUN", |b| {
        b.setup_single_issuer().setup_coop_taskrun();
    }),
    ("COOP_TASKRUN", |b| {
        b.setup_coop_taskrun();
    }),
    ("none", |_| ()),
];

impl Ring {
    /// A ring with queues as the configuration has them, set up in the best way this kernel knows.
    pub(crate) fn new(config: &Config, slab: Rc<Slab>) -> io::Result<Ring> {
        let mut last = io::ErrorKind::Unsupported.into();
        for (setup, flags) in SETUPS {
            let mut builder = IoUring::builder();
            builder.setup_clamp().setup_cqsize(config.completions);
            flags(&mut builder);
            match builder.build(config.entries) {
                Ok(uring) => return Ok(Ring::of(uring, slab, setup, config)),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn of(uring: IoUring, slab: Rc<Slab>, setup: &'static str, config: &Config) -> Ring {
        let mut known = Probe::new();
        let asked = uring.submitter().register_probe(&mut known).is_ok();
        // There is no way to ask for either. The hint came in the release of `IORING_OP_SOCKET` (5.19). Receptions that go on
        // came in 6.0, but at first each request ended them, and until 6.13 a socket that had left the table stayed open as
        // long as any operation of that time was in flight, which one that goes on is for ever: `IORING_OP_READV_FIXED` is
        // of 6.15.
        let waits = asked && known.is_supported(opcode::Socket::CODE);
        let goes_on = asked && known.is_supported(opcode::ReadvFixed::CODE);
        let table = if goes_on { Table::new(config.connections) } else { Table::Refused };
        let register_after = config.register_after;
        Ring { uring, slab, table, register_after, in_flight: 0, sends: 0, receptions: 0, setup, waits }
    }

    /// The hint for a reception that is not worth a try before the socket has something.
    fn hint(&self, poll_first: bool) -> u16 {
        if poll_first && self.waits { POLL_FIRST } else { 0 }
    }

    /// The flags that the ring was made with.
    pub(crate) fn setup(&self) -> &'static str {
        self.setup
    }

    /// [`Config::register_after`].
    pub(crate) fn register_after(&self) -> Option<u32> {
        self.register_after
    }

    /// Send operations taken so far.
    pub(crate) fn sends(&self) -> u64 {
        self.sends
    }

    /// Reception operations taken so far.
    pub(crate) fn receptions(&self) -> u64 {
        self.receptions
    }

    pub(crate) fn slab(&self) -> &Rc<Slab> {
        &self.slab
    }

    /// Whether waiting can have a time limit (`IORING_FEAT_EXT_ARG`) and no completion is ever lost
    /// (`IORING_FEAT_NODROP`).
    pub(crate) fn is_usable(&self) -> bool {
        self.uring.params().is_feature_ext_arg() && self.uring.params().is_feature_nodrop()
    }

    pub(crate) fn accept(&mut self, fd: BorrowedFd<'_>, multishot: bool, token: Token) -> Result<(), Full> {
        let (fd, flags) = (Fd(fd.as_raw_fd()), libc::SOCK_CLOEXEC);
        let entry = if multishot {
            opcode::AcceptMulti::new(fd).flags(flags).build()
        } else {
            opcode::Accept::new(fd, std::ptr::null_mut(), std::ptr::null_mut()).flags(flags).build()
        };
        self.push(entry, token)
    }

    pub(crate) fn connect(&mut self, fd: BorrowedFd<'_>, to: &(Grant, u32), token: Token) -> Result<(), Full> {
        let (grant, len) = to;
        self.push(opcode::Connect::new(Fd(fd.as_raw_fd()), grant.pointer().cast(), *len).build(), token)
    }

    pub(crate) fn recv(
        &mut self,
        socket: Socket<'_>,
        grant: &Grant,
        poll_first: bool,
        token: Token,
    ) -> Result<(), Full> {
        let recv = opcode::Recv::new(socket.number(), grant.pointer(), grant.len()).ioprio(self.hint(poll_first));
        self.push(recv.build().flags(socket.flags()), token)?;
        self.receptions += 1;
        Ok(())
    }

    /// Sends what the socket has room for, and fails with `EAGAIN` if that is nothing. It never waits: the kernel's poll of a
    /// socket reports the end of the peer's direction, too, and for ever; a send that waits is tried in vain then, and in
    /// the end by a thread that blocks in it.
    pub(crate) fn send(&mut self, socket: Socket<'_>, grant: &Grant, token: Token) -> Result<(), Full> {
        let send = opcode::Send::new(socket.number(), grant.pointer(), grant.len());
        self.push(send.flags(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT).build().flags(socket.flags()), token)?;
        self.sends += 1;
        Ok(())
    }

    /// Sends records that the kernel protects; it does not wait, either.
    pub(crate) fn send_message(&mut self, fd: BorrowedFd<'_>, message: &Message, token: Token) -> Result<(), Full> {
        let flags = (libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT).unsigned_abs();
        self.push(opcode::SendMsg::new(Fd(fd.as_raw_fd()), message.pointer()).flags(flags).build(), token)?;
        self.sends += 1;
        Ok(())
    }

    /// Reads a file from the byte `offset` on.
    pub(crate) fn read(&mut self, fd: BorrowedFd<'_>, grant: &Grant, offset: u64, token: Token) -> Result<(), Full> {
        self.push(opcode::Read::new(Fd(fd.as_raw_fd()), grant.pointer(), grant.len()).offset(offset).build(), token)
    }

    /// Receives a record that the kernel opens.
    pub(crate) fn receive_message(
        &mut self,
        fd: BorrowedFd<'_>,
        message: &Message,
        poll_first: bool,
        token: Token,
    ) -> Result<(), Full> {
        let hint = self.hint(poll_first);
        self.push(opcode::RecvMsg::new(Fd(fd.as_raw_fd()), message.pointer()).ioprio(hint).build(), token)
    }

    /// Waits until the peer has ended its direction, or the connection.
    pub(crate) fn poll_end(&mut self, fd: BorrowedFd<'_>, token: Token) -> Result<(), Full> {
        self.poll(fd, libc::POLLRDHUP, token)
    }

    /// Waits for 5 ms.
    pub(crate) fn tick(&mut self, token: Token) -> Result<(), Full> {
        static TICK: Timespec = Timespec::new().nsec(5_000_000);
        self.push(opcode::Timeout::new(&raw const TICK).build(), token)
    }

    /// Waits until `fd` can be read.
    pub(crate) fn poll_in(&mut self, fd: BorrowedFd<'_>, token: Token) -> Result<(), Full> {
        self.poll(fd, libc::POLLIN, token)
    }

    /// Waits until `fd` takes something, or until its peer's direction has ended: the kernel tells both.
    pub(crate) fn poll_out(&mut self, fd: BorrowedFd<'_>, token: Token) -> Result<(), Full> {
        self.poll(fd, libc::POLLOUT, token)
    }

    fn poll(&mut self, fd: BorrowedFd<'_>, events: i16, token: Token) -> Result<(), Full> {
        self.push(opcode::PollAdd::new(Fd(fd.as_raw_fd()), u32::from(events.unsigned_abs())).build(), token)
    }

    /// Cancels the operation `victim`, under the name `token`. Both complete.
    pub(crate) fn cancel(&mut self, victim: Token, token: Token) -> Result<(), Full> {
        self.push(opcode::AsyncCancel::new(victim.encode()).build(), token)
    }

    pub(crate) fn push(&mut self, entry: squeue::Entry, token: Token) -> Result<(), Full> {
        let entry = entry.user_data(token.encode());
        if self.try_push(&entry) {
            return Ok(());
        }
        // A refusal (EBUSY: completions have to be taken first) shows in that there still is no room.
        let _ = self.uring.submit();
        if self.try_push(&entry) { Ok(()) } else { Err(Full) }
    }

    fn try_push(&mut self, entry: &squeue::Entry) -> bool {
        // SAFETY: R3: what the operation points to is a grant's, whose slot stays until the operation is complete, in
        // memory that `slab` keeps until `in_flight` is 0 (see `drop`); or it points to nothing. R5: the descriptor stays
        // open until then.
        let pushed = unsafe { self.uring.submission().push(entry) }.is_ok();
        self.in_flight += usize::from(pushed);
        pushed
    }

    /// Submits what was pushed, and waits for a completion for at most `limit`; for ever without one.
    pub(crate) fn enter(&mut self, limit: Option<Duration>) -> io::Result<()> {
        let entered = match limit {
            Some(limit) => {
                let limit = limit.min(LONGEST);
                let time = Timespec::new().sec(limit.as_secs()).nsec(limit.subsec_nanos());
                self.uring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&time))
            }
            None => self.uring.submitter().submit_and_wait(1),
        };
        match entered.map_err(|error| (error.raw_os_error(), error)) {
            Ok(_) => Ok(()),
            // The time is over; a signal; completions have to be taken first; memory is short for now.
            Err((Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN), _)) => Ok(()),
            Err((_, error)) => Err(error),
        }
    }

    /// Whether the kernel has taken all that was pushed.
    pub(crate) fn has_nothing_to_submit(&mut self) -> bool {
        self.uring.submission().is_empty()
    }

    /// Whether there is a completion to take.
    pub(crate) fn has_completions(&mut self) -> bool {
        !self.uring.completion().is_empty()
    }

    /// The next completion.
    pub(crate) fn next(&mut self) -> Option<Completion> {
        let entry = self.uring.completion().next()?;
        let token = Token::decode(entry.user_data());
        let completion = Completion { token, result: entry.result(), flags: entry.flags() };
        if !completion.more() {
            self.in_flight = self.in_flight.saturating_sub(1);
        }
        Some(completion)
    }

    /// Cancels everything and waits until the kernel has nothing any more. False if that does not come to pass.
    fn drain(&mut self) -> bool {
        let deadline = Instant::now() + DRAIN;
        let all = opcode::AsyncCancel2::new(CancelBuilder::any()).build();
        let mut cancelled = false;
        while self.in_flight > 0 {
            cancelled =
                cancelled || self.push(all.clone(), Token { kind: Kind::Other, index: 0, generation: 0 }).is_ok();
            if self.enter(Some(Duration::from_millis(10))).is_err() || Instant::now() > deadline {
                return false;
            }
            while let Some(mut completion) = self.next() {
                drop(completion.take_socket());
            }
        }
        true
    }
}

impl Drop for Ring {
    /// The kernel may write to the memory until the last operation is complete: if that cannot be waited for, it is
    /// leaked (R3).
    fn drop(&mut self) {
        if !self.drain() {
            LEAKED.fetch_add(1, Ordering::Relaxed);
            std::mem::forget(Rc::clone(&self.slab));
        }
        // The kernel is long in doing away with a ring, and sockets are not closed as long as its table has them.
        if let Table::Made(_) = self.table {
            let _ = self.uring.submitter().unregister_files();
        }
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").field("setup", &self.setup).field("in_flight", &self.in_flight).finish_non_exhaustive()
    }
}
