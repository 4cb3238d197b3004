//! An echo server on a ring, and its clients, in one thread.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use arenatls_engine::Options;
use arenatls_fd_owner::{Config, RingDriver};
use openssl::ssl::SslStream;

use crate::ring::{Echo, Told, client, contexts, driver, pattern, poll};

/// As many clients as [`connected`] connects.
pub const CLIENTS: usize = 8;

/// The server's driver, what it does, what it told, and its clients.
pub type Connected = (RingDriver, Echo, Vec<Told>, Vec<SslStream<TcpStream>>);

/// An echo server, and clients that are connected to it; nothing where there is no io_uring. The clients' handshakes need
/// a thread: they wait for the server.
pub fn connected(config: Config) -> Option<Connected> {
    let (client_context, server_context) = contexts();
    let mut driver = driver(config)?;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    driver.listen(listener.into(), server_context, Options::default()).unwrap();
    let (mut echo, mut log) = (Echo::new(64), Vec::new());
    let clients =
        std::thread::spawn(move || (0..CLIENTS).map(|_| client(address, &client_context)).collect::<Vec<_>>());
    while !clients.is_finished() {
        turn(&mut driver, &mut echo, &mut log, 10);
    }
    let clients = clients.join().unwrap();
    turn(&mut driver, &mut echo, &mut log, 1);
    Some((driver, echo, log, clients))
}

/// Polls, waits for so long, and polls.
pub fn turn(driver: &mut RingDriver, echo: &mut Echo, log: &mut Vec<Told>, milliseconds: u64) {
    poll(driver, echo, log);
    driver.turn(Some(Duration::from_millis(milliseconds))).unwrap();
    poll(driver, echo, log);
}

/// One exchange, byte for byte.
pub fn exchange(
    driver: &mut RingDriver,
    echo: &mut Echo,
    log: &mut Vec<Told>,
    client: &mut SslStream<TcpStream>,
    n: usize,
) {
    let sent = pattern(n, n);
    client.write_all(&sent).unwrap();
    client.get_ref().set_nonblocking(true).unwrap();
    let mut got = Vec::new();
    while got.len() < n {
        turn(driver, echo, log, 1);
        let mut some = [0; 4096];
        match client.read(&mut some) {
            Ok(n) => got.extend_from_slice(&some[..n]),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{log:?}"),
        }
    }
    client.get_ref().set_nonblocking(false).unwrap();
    assert_eq!(got, sent);
}
