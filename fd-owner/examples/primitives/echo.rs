//! Messages there and back: descriptors or fixed files, single-shot receptions or multishot into provided buffers.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use io_uring::types::{Fd, Fixed};
use io_uring::{IoUring, cqueue, opcode, squeue};

use crate::provided::Provided;
use crate::thread;

/// Of 1 KiB as one TLS record (bytes).
pub(crate) const MESSAGE: usize = 1046;
/// Messages of one measurement.
const MESSAGES: usize = 60_000;
const SENDING: u64 = 1 << 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Plain,
    FixedFiles,
    /// Into buffers that all connections share.
    Multishot,
    /// Each connection has a group of one buffer.
    MultishotOwn,
    MultishotOwnFixed,
}

impl Way {
    fn has_fixed_files(self) -> bool {
        matches!(self, Way::FixedFiles | Way::MultishotOwnFixed)
    }
}

/// Processor time of the server for one message there and back (nanoseconds).
pub(crate) fn cost_of_a_message(way: Way, connections: usize) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let messages = if connections == 1 { MESSAGES / 4 } else { MESSAGES };
    let clients = std::thread::spawn(move || {
        thread::pin(1);
        ask(address, connections, messages / connections);
    });
    let sockets: Vec<_> = (0..connections).map(|_| listener.accept().expect("a connection").0).collect();
    thread::pin(0);
    let cost = Server::new(way, sockets).run(messages / connections * connections);
    clients.join().expect("the clients are well");
    cost
}

fn ask(address: SocketAddr, connections: usize, rounds: usize) {
    let mut sockets: Vec<_> = (0..connections).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    sockets.iter().for_each(|socket| socket.set_nodelay(true).expect("a TCP socket"));
    let mut message = [7; MESSAGE];
    for _ in 0..rounds {
        sockets.iter_mut().for_each(|socket| socket.write_all(&message).expect("an open connection"));
        sockets.iter_mut().for_each(|socket| socket.read_exact(&mut message).expect("an open connection"));
    }
}

struct Server {
    // Dropped first: nothing is in flight then but receptions, whose peers are gone.
    ring: IoUring,
    way: Way,
    sockets: Vec<TcpStream>,
    buffers: Vec<[u8; 2 * MESSAGE]>,
    got: Vec<usize>,
    /// One for all connections, or one each.
    provided: Vec<Provided>,
    /// The provided buffer that a connection's message lies in.
    lent: Vec<u16>,
}

impl Server {
    fn new(way: Way, sockets: Vec<TcpStream>) -> Server {
        let ring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(4096).expect("a ring");
        sockets.iter().for_each(|socket| socket.set_nodelay(true).expect("a TCP socket"));
        if way.has_fixed_files() {
            let files: Vec<_> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
            ring.submitter().register_files(&files).expect("few files");
        }
        let provided = match way {
            Way::Plain | Way::FixedFiles => Vec::new(),
            Way::Multishot => vec![Provided::new(&ring, 0, 1024)],
            _ => (0..sockets.len()).map(|which| Provided::new(&ring, group(which), 1)).collect(),
        };
        let (buffers, got) = (vec![[0; 2 * MESSAGE]; sockets.len()], vec![0; sockets.len()]);
        Server { ring, way, lent: vec![0; sockets.len()], sockets, buffers, got, provided }
    }

    fn run(&mut self, messages: usize) -> f64 {
        (0..self.sockets.len()).for_each(|which| self.recv(which));
        let (mut done, mut seen, start) = (0, Vec::with_capacity(256), thread::used());
        while done < messages {
            self.ring.submit_and_wait(1).expect("the ring works");
            seen.extend(self.ring.completion().map(|c| (c.user_data(), c.result(), c.flags())));
            for (token, result, flags) in seen.drain(..) {
                let which = usize::try_from(token & (SENDING - 1)).expect("an index");
                let n = usize::try_from(result).unwrap_or(0);
                if token & SENDING != 0 {
                    done += 1;
                    let of = self.of(which);
                    if let Some(provided) = self.provided.get_mut(of) {
                        provided.give(self.lent[which]);
                    }
                } else if n > 0 {
                    self.received(which, n, flags);
                } else if result == -libc::ENOBUFS {
                    self.recv(which);
                }
            }
        }
        (thread::used() - start) / messages as f64
    }

    fn received(&mut self, which: usize, n: usize, flags: u32) {
        if let Some(provided) = self.provided.get(self.of(which)) {
            assert_eq!(n, MESSAGE, "a message in two pieces");
            self.lent[which] = cqueue::buffer_select(flags).expect("a reception into a provided buffer");
            let at = provided.at(self.lent[which]);
            self.send(which, at);
            if !cqueue::more(flags) {
                self.recv(which);
            }
            return;
        }
        self.got[which] += n;
        if self.got[which] == MESSAGE {
            self.got[which] = 0;
            self.send(which, self.buffers[which].as_ptr());
        }
        self.recv(which);
    }

    /// Whose provided buffers are used for a connection.
    fn of(&self, which: usize) -> usize {
        if self.way == Way::Multishot { 0 } else { which }
    }

    fn recv(&mut self, which: usize) {
        let fd = Fd(self.sockets[which].as_raw_fd());
        let room = &mut self.buffers[which][self.got[which]..];
        let (at, len) = (room.as_mut_ptr(), u32::try_from(room.len()).expect("a short buffer"));
        let entry = match self.way {
            Way::Plain => opcode::Recv::new(fd, at, len).ioprio(1).build(),
            Way::FixedFiles => opcode::Recv::new(index(which), at, len).ioprio(1).build(),
            Way::Multishot => opcode::RecvMulti::new(fd, 0).build(),
            Way::MultishotOwn => opcode::RecvMulti::new(fd, group(which)).build(),
            Way::MultishotOwnFixed => opcode::RecvMulti::new(index(which), group(which)).build(),
        };
        self.push(&entry.user_data(which as u64));
    }

    fn send(&mut self, which: usize, at: *const u8) {
        let len = u32::try_from(MESSAGE).expect("a short message");
        let entry = match self.way {
            way if way.has_fixed_files() => opcode::Send::new(index(which), at, len).flags(libc::MSG_NOSIGNAL).build(),
            _ => opcode::Send::new(Fd(self.sockets[which].as_raw_fd()), at, len).flags(libc::MSG_NOSIGNAL).build(),
        };
        self.push(&entry.user_data(which as u64 | SENDING));
    }

    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: the buffers never move and live as long as the ring. (An answer is sent from where the next message may
        // be received to; a client asks again only when it has the answer.)
        unsafe { self.ring.submission().push(entry) }.expect("room for two operations a connection");
    }
}

fn index(which: usize) -> Fixed {
    Fixed(u32::try_from(which).expect("few connections"))
}

fn group(which: usize) -> u16 {
    u16::try_from(which).expect("few connections")
}
