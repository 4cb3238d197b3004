//! Bytes one way: with a copy into the kernel, without, and from memory that is registered.

use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;

use io_uring::types::Fd;
use io_uring::{IoUring, cqueue, opcode, squeue};

use crate::thread;

/// Sent for one measurement (bytes).
const TOTAL: usize = 128 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Send,
    ZeroCopy,
    ZeroCopyRegistered,
}

/// Processor time of the sender for 1,024 bytes (nanoseconds), `size` bytes at a time.
pub(crate) fn cost_of_a_kib(way: Way, size: usize) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let reader = std::thread::spawn(move || {
        thread::pin(1);
        let mut socket = TcpStream::connect(address).expect("a connection");
        let (mut bytes, mut total) = (vec![0; 1 << 20], 0);
        loop {
            match socket.read(&mut bytes).expect("a connection that ends well") {
                0 => return total,
                n => total += n,
            }
        }
    });
    let socket = listener.accept().expect("a connection").0;
    thread::pin(0);
    let bytes = vec![7_u8; size];
    // Dropped before the bytes: every operation is complete by then.
    let mut ring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(8).expect("a ring");
    if way == Way::ZeroCopyRegistered {
        let memory = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: size };
        // SAFETY: the memory outlives the ring, and is only read while it is registered.
        unsafe { ring.submitter().register_buffers(&[memory]) }.expect("memory that may be locked");
    }
    let (start, mut sent) = (thread::used(), 0);
    while sent < TOTAL {
        sent += send(&mut ring, &entry(way, &socket, &bytes));
    }
    let cost = (thread::used() - start) / (sent as f64 / 1024.0);
    drop(socket);
    assert_eq!(reader.join().expect("the reader is well"), sent);
    cost
}

fn entry(way: Way, socket: &TcpStream, bytes: &[u8]) -> squeue::Entry {
    let (fd, at) = (Fd(socket.as_raw_fd()), bytes.as_ptr());
    let len = u32::try_from(bytes.len()).expect("a length of 32 bits");
    match way {
        Way::Send => opcode::Send::new(fd, at, len).flags(libc::MSG_NOSIGNAL).build(),
        Way::ZeroCopy => opcode::SendZc::new(fd, at, len).flags(libc::MSG_NOSIGNAL).build(),
        Way::ZeroCopyRegistered => {
            opcode::SendZc::new(fd, at, len).flags(libc::MSG_NOSIGNAL).buf_index(Some(0)).build()
        }
    }
}

/// One operation, to its last completion: what it sent.
fn send(ring: &mut IoUring, entry: &squeue::Entry) -> usize {
    // SAFETY: the bytes stay where they are, and are only read, until the last completion, which is awaited here.
    unsafe { ring.submission().push(entry) }.expect("room for the only operation");
    let (mut sent, mut in_flight) = (0, true);
    while in_flight {
        ring.submit_and_wait(1).expect("the ring works");
        for completion in ring.completion() {
            in_flight = cqueue::more(completion.flags());
            if !cqueue::notif(completion.flags()) {
                sent += usize::try_from(completion.result()).expect("a send that works");
            }
        }
    }
    sent
}
