//! Echo and load of bare bytes: single-shot receptions and sends on one ring, set up as the driver's is.

use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;

use io_uring::types::Fd;
use io_uring::{IoUring, opcode};

use crate::thread::{Cost, Meter};
use crate::tls::{Job, REQUEST};

/// A request as one record: header, inner type, tag.
const WIRE: usize = REQUEST + 22;
const SENDING: u64 = 1 << 32;

struct Bare {
    // Dropped first. Its operations are complete then, or the process ends.
    ring: IoUring,
    sockets: Vec<TcpStream>,
    buffers: Vec<[u8; 2 * WIRE]>,
    /// Received of the message under way.
    got: Vec<usize>,
    in_flight: usize,
    turns: usize,
}

impl Bare {
    fn new(sockets: Vec<TcpStream>) -> Bare {
        let mut builder = IoUring::builder();
        builder.setup_single_issuer().setup_defer_taskrun();
        let ring = builder.build(256).expect("a ring");
        let buffers = sockets.iter().map(|_| [7; 2 * WIRE]).collect();
        let got = vec![0; sockets.len()];
        sockets.iter().for_each(|socket| socket.set_nodelay(true).expect("a TCP socket"));
        Bare { ring, sockets, buffers, got, in_flight: 0, turns: 0 }
    }

    fn push(&mut self, entry: &io_uring::squeue::Entry) {
        // SAFETY: the list of buffers never grows, so that each stays where it is, and lives as long as the ring; one operation at a time has it.
        unsafe { self.ring.submission().push(entry) }.expect("room for one operation a connection");
        self.in_flight += 1;
    }

    fn recv(&mut self, which: usize) {
        let got = self.got[which];
        let room = &mut self.buffers[which][got..];
        let (at, len) = (room.as_mut_ptr(), u32::try_from(room.len()).expect("a short buffer"));
        let fd = Fd(self.sockets[which].as_raw_fd());
        self.push(&opcode::Recv::new(fd, at, len).ioprio(1).build().user_data(which as u64));
    }

    /// Sends one message. These are short, and sockets take them whole.
    fn send(&mut self, which: usize) {
        let at = self.buffers[which].as_ptr();
        let fd = Fd(self.sockets[which].as_raw_fd());
        let send = opcode::Send::new(fd, at, u32::try_from(WIRE).expect("a short message"));
        self.push(&send.flags(libc::MSG_NOSIGNAL).build().user_data(which as u64 | SENDING));
    }

    /// Goes on until nothing is in flight; `next` is told of every message, and says whether to send one back.
    fn run(&mut self, mut next: impl FnMut(&mut Bare) -> bool) {
        let mut seen = Vec::with_capacity(256);
        while self.in_flight > 0 {
            self.ring.submit_and_wait(1).expect("the ring works");
            self.turns += 1;
            seen.extend(self.ring.completion().map(|c| (c.user_data(), c.result())));
            for (token, result) in seen.drain(..) {
                self.in_flight -= 1;
                let which = usize::try_from(token & (SENDING - 1)).expect("an index");
                let n = usize::try_from(result).unwrap_or(0);
                if token & SENDING != 0 {
                    assert_eq!(n, WIRE, "a short send");
                    self.recv(which);
                } else if n > 0 {
                    self.got[which] += n;
                    if self.got[which] < WIRE {
                        self.recv(which);
                    } else {
                        self.got[which] = 0;
                        if next(self) {
                            self.send(which);
                        } else {
                            self.sockets[which].shutdown(std::net::Shutdown::Write).expect("an open socket");
                            self.recv(which);
                        }
                    }
                }
            }
        }
    }
}

pub(crate) fn echo(listener: &TcpListener, job: &Job) -> Cost {
    let sockets = (0..job.connections).map(|_| listener.accept().expect("a connection").0).collect();
    let mut bare = Bare::new(sockets);
    (0..job.connections).for_each(|which| bare.recv(which));
    let (mut done, mut meter, mut cost) = (0, Meter::start(), None);
    bare.run(|bare| {
        done += 1;
        if done == job.warm_up() {
            (meter, bare.turns) = (Meter::start(), 0);
        } else if done == job.warm_up() + job.requests {
            cost = Some(meter.stop(job.requests, bare.turns));
        }
        true
    });
    cost.expect("counted")
}

pub(crate) fn load(job: &Job) {
    let sockets = (0..job.connections).map(|_| TcpStream::connect(job.address).expect("a connection")).collect();
    let mut bare = Bare::new(sockets);
    (0..job.connections).for_each(|which| bare.send(which));
    let mut asked = job.connections;
    bare.run(|_| {
        asked += 1;
        asked <= job.warm_up() + job.requests
    });
}
