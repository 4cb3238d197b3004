//! Peers whose own direction has ended, and that do not read for a while: they get everything all the same, and meanwhile
//! cost no thread of the kernel's.

use std::io::Read as _;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use arenatls::openssl::ssl::{ShutdownState, SslStream};
use arenatls_fd_owner::{CloseReason, Config, ConnectionId, DriverEvent, RingDriver};
use arenatls_rig::ring::{App, Server, Told, client, contexts, pattern, reasons, small_buffers};

const PEERS: u32 = 6;
const LENGTH: usize = 600_000;

/// Sends so much to everybody.
struct Answer {
    bytes: Vec<u8>,
    at: Vec<usize>,
}

impl Answer {
    fn new() -> Answer {
        let places = PEERS as usize;
        Answer { bytes: pattern(3, LENGTH), at: vec![0; places] }
    }

    fn go_on(&mut self, driver: &mut RingDriver, id: ConnectionId) {
        let at = &mut self.at[id.index()];
        let Some(connection) = driver.connection(id) else { return };
        *at += connection.write(&self.bytes[*at..]).unwrap().done().unwrap_or(0);
        if *at == LENGTH {
            driver.close(id).unwrap();
        }
    }
}

impl App for Answer {
    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        match *event {
            DriverEvent::HandshakeComplete(id) | DriverEvent::Writable(id) | DriverEvent::PeerClosed(id) => {
                self.go_on(driver, id);
            }
            DriverEvent::Plaintext(id) => drop(driver.plaintext(id)),
            _ => {}
        }
    }
}

/// Threads of the kernel's that block in this process's operations.
fn workers() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.unwrap().path().join("comm"));
    tasks.filter_map(|task| name(task).ok()).filter(|name| name.starts_with("iou-wrk")).count()
}

/// The client ends its direction, close_notify and FIN.
fn half_close(stream: &mut SslStream<TcpStream>) {
    stream.shutdown().unwrap();
    assert!(stream.get_shutdown().contains(ShutdownState::SENT));
    stream.get_ref().shutdown(Shutdown::Write).unwrap();
}

#[test]
fn peers_that_have_half_closed_and_do_not_read_cost_no_thread_and_lose_nothing() {
    let (client_context, server_context) = contexts();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    small_buffers(&listener, 8192);
    let config = Config::default().connections(PEERS).close_timeout(Duration::from_secs(10));
    let Some(server) = Server::on(listener, config, server_context, Answer::new) else { return };
    let mut peers: Vec<_> = (0..PEERS).map(|_| client(server.address, &client_context)).collect();
    peers.iter_mut().for_each(half_close);
    // Long enough for a send that is tried in vain again and again to be handed to a thread.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(workers(), 0, "threads that block in a send");
    for peer in &mut peers {
        let mut got = Vec::new();
        peer.read_to_end(&mut got).unwrap();
        assert!(got == pattern(3, LENGTH), "{} bytes", got.len());
    }
    let log = server.stop();
    assert_eq!(reasons(&log), [CloseReason::Done; PEERS as usize], "{log:?}");
    assert!(!log.iter().any(|told| matches!(told, Told::SendFailed(_))), "{log:?}");
}
