//! A ring without TLS, used as a driver uses its own: registered files, and receptions that go on (multishot) into a provided
//! buffer of each socket's own while its peer waits for answers; single-shot ones while there is more to come.

use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::{BufRingEntry, Fixed};
use io_uring::{IoUring, cqueue, opcode, squeue};

/// `IORING_RECVSEND_POLL_FIRST` of `linux/io_uring.h`: wait for the socket before trying it.
const POLL_FIRST: u16 = 1;
/// A group begins at one (bytes).
const PAGE: usize = 4096;
/// Submissions and completions that the ring holds.
const ENTRIES: (u32, u32) = (256, 1024);
/// In `user_data`: it is a send. The connection is in the lower half.
const SENDING: u64 = 1 << 32;

/// Sockets on a ring, each with memory of its own.
pub(super) struct BareRing {
    // Dropped first. Its operations are complete then, or their memory is left to them.
    ring: IoUring,
    sockets: Vec<TcpStream>,
    lines: Vec<Line>,
    /// A page for each socket's group of provided buffers, and where the first begins; nothing before Linux 6.0.
    groups: Option<(Box<[u8]>, usize)>,
    in_flight: usize,
    over: bool,
}

/// The memory of a socket, and what of it the operation under way has.
struct Line {
    memory: Box<[u8]>,
    from: usize,
    end: usize,
    /// A reception is under way that goes on.
    goes_on: bool,
    /// All that had come was received.
    drained: bool,
    /// Buffers ever provided.
    provided: u16,
    /// One of them was not taken.
    left: bool,
    /// A reception is asked for, and nothing has come.
    waits: bool,
}

/// An operation is over.
#[derive(Debug, Clone, Copy)]
pub(super) enum Done {
    /// Bytes of the memory were received.
    Received { which: usize, from: usize, to: usize },
    /// Bytes of the memory were sent, of those up to `end`.
    Sent { which: usize, from: usize, to: usize, end: usize },
    /// The peer has ended, or is gone.
    Ended,
}

impl BareRing {
    pub(super) fn new(sockets: Vec<TcpStream>, memory: usize) -> BareRing {
        sockets.iter().for_each(|socket| socket.set_nodelay(true).expect("a TCP socket"));
        let line = |_: &TcpStream| Line {
            memory: vec![7; memory].into_boxed_slice(),
            from: 0,
            end: 0,
            goes_on: false,
            drained: true,
            provided: 0,
            left: false,
            waits: false,
        };
        let lines = sockets.iter().map(line).collect();
        let (ring, groups) = (ring(), None);
        let files: Vec<_> = sockets.iter().map(|socket| socket.as_raw_fd()).collect();
        ring.submitter().register_files(&files).expect("Linux 5.1");
        let mut bare = BareRing { ring, sockets, lines, groups, in_flight: 0, over: false };
        bare.register_groups();
        bare
    }

    fn register_groups(&mut self) {
        let mut known = io_uring::Probe::new();
        let asked = self.ring.submitter().register_probe(&mut known).is_ok();
        // Receptions that go on came with it.
        if !asked || !known.is_supported(opcode::SendZc::CODE) {
            return;
        }
        let pages = vec![0; (self.lines.len() + 1) * PAGE].into_boxed_slice();
        let start = pages.as_ptr().align_offset(PAGE);
        self.groups = Some((pages, start));
        for which in 0..self.lines.len() {
            let list = self.group(which).expect("there are groups") as u64;
            let group = u16::try_from(which).expect("few connections");
            // SAFETY: a page of its own, which is there until the ring is gone (order of the fields), or for ever.
            let registered = unsafe { self.ring.submitter().register_buf_ring_with_flags(list, 1, group, 0) };
            if registered.is_err() {
                assert_eq!(which, 0, "the kernel wants no more groups: raise the limit of locked memory");
                self.groups = None;
                return;
            }
        }
    }

    /// The list of one entry that a group is.
    fn group(&mut self, which: usize) -> Option<*mut BufRingEntry> {
        let (pages, start) = self.groups.as_mut()?;
        Some(pages[*start + which * PAGE..].as_mut_ptr().cast())
    }

    /// Gives the kernel the rest of the memory to receive into.
    fn provide(&mut self, which: usize, list: *mut BufRingEntry) {
        let line = &mut self.lines[which];
        let room = &mut line.memory[line.from..];
        // SAFETY: the only reference there is; the kernel reads the entry only in a reception that has nothing else.
        let entry = unsafe { &mut *list };
        entry.set_addr(room.as_mut_ptr() as u64);
        entry.set_len(u32::try_from(room.len()).expect("a short buffer"));
        entry.set_bid(0);
        line.provided = line.provided.wrapping_add(u16::from(!line.left));
        line.left = true;
        // SAFETY: the list's first entry, which is live.
        let tail = unsafe { BufRingEntry::tail(list) };
        // SAFETY: two aligned bytes of it, which the kernel only reads.
        unsafe { AtomicU16::from_ptr(tail.cast_mut()) }.store(line.provided, Ordering::Release);
    }

    /// Operations that are not over.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The memory of a socket that has no operation under way.
    pub(super) fn memory(&mut self, which: usize) -> &mut [u8] {
        &mut self.lines[which].memory
    }

    /// Receives into the memory from `from` on.
    pub(super) fn receive(&mut self, which: usize, from: usize) {
        let line = &mut self.lines[which];
        (line.from, line.end, line.waits) = (from, line.memory.len(), true);
        let (goes_on, drained) = (line.goes_on, line.drained);
        if let Some(list) = self.group(which).filter(|_| goes_on || drained) {
            self.provide(which, list);
            if !goes_on {
                self.lines[which].goes_on = true;
                let group = u16::try_from(which).expect("few connections");
                self.push(&opcode::RecvMulti::new(place(which), group).build().user_data(which as u64));
            }
            return;
        }
        let hint = if drained { POLL_FIRST } else { 0 };
        let room = &mut self.lines[which].memory[from..];
        let (at, length) = (room.as_mut_ptr(), u32::try_from(room.len()).expect("a short buffer"));
        self.push(&opcode::Recv::new(place(which), at, length).ioprio(hint).build().user_data(which as u64));
    }

    /// Sends the memory from `from` to `end`.
    pub(super) fn send(&mut self, which: usize, from: usize, end: usize) {
        let line = &mut self.lines[which];
        (line.from, line.end) = (from, end);
        let bytes = &line.memory[from..end];
        let (at, length) = (bytes.as_ptr(), u32::try_from(bytes.len()).expect("a short buffer"));
        let send = opcode::Send::new(place(which), at, length).flags(libc::MSG_NOSIGNAL);
        self.push(&send.build().user_data(which as u64 | SENDING));
    }

    fn push(&mut self, entry: &squeue::Entry) {
        if self.over {
            return;
        }
        self.in_flight += 1;
        for _ in 0..2 {
            // SAFETY: the memory of a line stays where it is and lives as long as the ring's operations (`drop`); a
            // line has one operation at a time, and nobody touches its memory meanwhile.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return;
            }
            self.ring.submit().expect("the ring works");
        }
        panic!("no room in a queue that was submitted");
    }

    /// Submits all, waits for something, and tells all that is over.
    pub(super) fn turn(&mut self, done: &mut Vec<Done>) {
        self.ring.submit_and_wait(1).expect("the ring works");
        let mut again = Vec::new();
        for completion in self.ring.completion() {
            let (token, flags) = (completion.user_data(), completion.flags());
            self.in_flight -= usize::from(!cqueue::more(flags));
            let which = usize::try_from(token & (SENDING - 1)).expect("an index");
            let line = &mut self.lines[which];
            let n = usize::try_from(completion.result()).unwrap_or(0);
            if token & SENDING == 0 {
                line.goes_on &= cqueue::more(flags);
                line.drained = !cqueue::sock_nonempty(flags);
                line.left &= cqueue::buffer_select(flags).is_none();
                if completion.result() == -libc::ENOBUFS {
                    // There is more than was provided for. If that was received, the next reception is asked for already.
                    line.drained = false;
                    again.extend(line.waits.then_some(which));
                    continue;
                }
                line.waits = false;
            }
            let (from, end) = (line.from, line.end);
            done.push(match (n, token & SENDING) {
                (0, _) => Done::Ended,
                (n, 0) => Done::Received { which, from, to: from + n },
                (n, _) => Done::Sent { which, from, to: from + n, end },
            });
        }
        again.into_iter().for_each(|which| self.receive(which, self.lines[which].from));
    }

    /// Ends all connections, and with them their operations. No other begins.
    pub(super) fn shut_all(&mut self) {
        self.over = true;
        for socket in &self.sockets {
            // A peer that is gone has ended it.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for BareRing {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            // After a panic. The kernel may still write there.
            std::mem::forget(std::mem::take(&mut self.lines));
        }
    }
}

/// A ring of the best kind that this kernel knows.
fn ring() -> IoUring {
    let mut builder = IoUring::builder();
    builder.setup_clamp().setup_cqsize(ENTRIES.1);
    let plain = builder.clone();
    builder.setup_single_issuer().setup_defer_taskrun();
    builder.build(ENTRIES.0).or_else(|_| plain.build(ENTRIES.0)).expect("a ring")
}

/// A socket's place among the registered files.
fn place(which: usize) -> Fixed {
    Fixed(u32::try_from(which).expect("few connections"))
}
