//! One thread: a ring, a listening socket, and the connections it accepts.

use std::net::TcpListener;
use std::time::Duration;

use arenatls::Options;
use arenatls::fd_owner::{Config, DriverError, DriverEvent, RingDriver};
use openssl::ssl::SslContext;

use crate::site::{Root, Site};

/// Ciphertext memory of a connection, inbound and outbound (bytes, taken when they are first used). Outbound holds four
/// full records, so that a long answer leaves in few operations.
const MEMORY: (usize, usize) = (32 * 1024, 68 * 1024);

/// What every thread needs.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) context: SslContext,
    pub(crate) options: Options,
    pub(crate) root: Option<Root>,
    pub(crate) connections: u32,
    pub(crate) timeout: Duration,
}

/// Serves until it fails; calls `ready` once it accepts.
pub(crate) fn run(shared: &Shared, listener: TcpListener, ready: impl FnOnce()) -> Result<(), DriverError> {
    let (inbound, outbound) = MEMORY;
    let config = Config::default()
        .connections(shared.connections)
        .memory(inbound, outbound)
        .handshake_timeout(shared.timeout)
        .idle_timeout(Some(shared.timeout));
    let mut driver = RingDriver::new(config)?;
    driver.listen(listener.into(), shared.context.clone(), shared.options)?;
    let mut site = Site::new(shared.connections, shared.timeout, shared.root.clone());
    ready();
    loop {
        while let Some(event) = driver.poll_event()? {
            if let DriverEvent::AcceptFailed(_, error) = &event {
                eprintln!("http: {error}");
            }
            site.on(&mut driver, &event);
        }
        driver.turn(None)?;
    }
}
