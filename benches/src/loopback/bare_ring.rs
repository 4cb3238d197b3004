//! A ring without TLS: single-shot receptions and sends, set up as a driver's is by default.

use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd as _;

use io_uring::types::Fd;
use io_uring::{IoUring, opcode, squeue};

/// `IORING_RECVSEND_POLL_FIRST` of `linux/io_uring.h`: wait for the socket before trying it.
const POLL_FIRST: u16 = 1;
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
    in_flight: usize,
    over: bool,
}

/// The memory of a socket, and what of it the operation under way has.
struct Line {
    memory: Box<[u8]>,
    from: usize,
    end: usize,
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
        let line = |_: &TcpStream| Line { memory: vec![7; memory].into_boxed_slice(), from: 0, end: 0 };
        let lines = sockets.iter().map(line).collect();
        BareRing { ring: ring(), sockets, lines, in_flight: 0, over: false }
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
        (line.from, line.end) = (from, line.memory.len());
        let room = &mut line.memory[from..];
        let (at, length) = (room.as_mut_ptr(), u32::try_from(room.len()).expect("a short buffer"));
        let fd = Fd(self.sockets[which].as_raw_fd());
        self.push(&opcode::Recv::new(fd, at, length).ioprio(POLL_FIRST).build().user_data(which as u64));
    }

    /// Sends the memory from `from` to `end`.
    pub(super) fn send(&mut self, which: usize, from: usize, end: usize) {
        let line = &mut self.lines[which];
        (line.from, line.end) = (from, end);
        let bytes = &line.memory[from..end];
        let (at, length) = (bytes.as_ptr(), u32::try_from(bytes.len()).expect("a short buffer"));
        let fd = Fd(self.sockets[which].as_raw_fd());
        let send = opcode::Send::new(fd, at, length).flags(libc::MSG_NOSIGNAL);
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
        for completion in self.ring.completion() {
            self.in_flight -= 1;
            let token = completion.user_data();
            let which = usize::try_from(token & (SENDING - 1)).expect("an index");
            let Line { from, end, .. } = self.lines[which];
            let n = usize::try_from(completion.result()).unwrap_or(0);
            done.push(match (n, token & SENDING) {
                (0, _) => Done::Ended,
                (n, 0) => Done::Received { which, from, to: from + n },
                (n, _) => Done::Sent { which, from, to: from + n, end },
            });
        }
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
