//! Libraries with blocking streams: as many threads at each end as there are connections at a time.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use super::{Made, Outcome, Plan};
use crate::contention::message::WATCHDOG;

/// One library, at both ends.
pub(super) trait Library: Sync {
    /// Serves one client to its end: sends one byte back.
    fn serve(&self, socket: TcpStream);

    /// Is such a client: whether the session was resumed, and its id if that is known.
    fn connect(&self, socket: TcpStream) -> (bool, Option<Vec<u8>>);
}

/// Warms up, and makes the connections that are timed.
pub(super) fn run(library: &impl Library, plan: Plan) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a port");
    let to_serve = AtomicUsize::new(plan.warm_up + plan.timed);
    thread::scope(|scope| {
        for _ in 0..plan.at_once {
            scope.spawn(|| {
                while take_one(&to_serve) {
                    library.serve(patient(listener.accept().expect("a client comes").0));
                }
            });
        }
        make(library, address, plan.warm_up, plan.at_once);
        Outcome::of(|| make(library, address, plan.timed, plan.at_once))
    })
}

fn make(library: &impl Library, address: SocketAddr, count: usize, at_once: usize) -> Vec<Made> {
    let left = AtomicUsize::new(count);
    let client = || {
        let mut made = Vec::new();
        while take_one(&left) {
            let begun = Instant::now();
            let socket = patient(TcpStream::connect(address).expect("somebody listens"));
            let (resumed, session_id) = library.connect(socket);
            made.push(Made { begun, took: begun.elapsed(), resumed, session_id });
        }
        made
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..at_once).map(|_| scope.spawn(client)).collect();
        clients.into_iter().flat_map(|client| client.join().expect("a client")).collect()
    })
}

fn take_one(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

fn patient(socket: TcpStream) -> TcpStream {
    socket.set_nodelay(true).expect("a TCP socket");
    socket.set_read_timeout(Some(WATCHDOG)).expect("a socket");
    socket
}
