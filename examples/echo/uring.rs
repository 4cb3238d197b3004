//! On a ring: it owns the sockets, and the memory their bytes pass through.

use std::net::TcpListener;

use arenatls::Options;
use arenatls::fd_owner::{Config, ConnectionId, DriverEvent, RingDriver};
use arenatls::openssl::ssl::SslContext;

use crate::Failure;
use crate::app::{Echo, Wish};

/// Connections of one thread at a time.
const CONNECTIONS: u32 = 1024;

/// Serves until it fails; calls `ready` once it accepts.
pub(crate) fn serve(listener: TcpListener, context: &SslContext, ready: impl FnOnce()) -> Result<(), Failure> {
    let mut driver = RingDriver::new(Config::default().connections(CONNECTIONS))?;
    driver.listen(listener.into(), context.clone(), Options::default())?;
    let mut peers: Vec<Echo> = (0..CONNECTIONS).map(|_| Echo::default()).collect();
    ready();
    loop {
        while let Some(event) = driver.poll_event()? {
            on(&mut driver, &mut peers, event)?;
        }
        driver.turn(None)?;
    }
}

fn on(driver: &mut RingDriver, peers: &mut [Echo], event: DriverEvent) -> Result<(), Failure> {
    match event {
        DriverEvent::Accepted(id, _) => peers[id.index()].restart(),
        DriverEvent::Plaintext(id) => {
            if let Some(bytes) = driver.plaintext(id) {
                peers[id.index()].hear(&bytes);
            }
            answer(driver, &mut peers[id.index()], id)?;
        }
        DriverEvent::PeerClosed(id) => {
            peers[id.index()].hear_the_end();
            answer(driver, &mut peers[id.index()], id)?;
        }
        DriverEvent::Writable(id) => answer(driver, &mut peers[id.index()], id)?,
        DriverEvent::Failed(id, error) => eprintln!("echo: {id:?}: {error}"),
        DriverEvent::AcceptFailed(_, error) => eprintln!("echo: {error}"),
        _ => {}
    }
    Ok(())
}

fn answer(driver: &mut RingDriver, echo: &mut Echo, id: ConnectionId) -> Result<(), Failure> {
    let Some(connection) = driver.connection(id) else { return Ok(()) };
    match echo.answer(connection) {
        Ok(Wish::Read) => driver.resume(id)?,
        Ok(Wish::Room) => driver.pause(id)?,
        Ok(Wish::Close) => driver.close(id)?,
        // The driver reports it as well.
        Err(_) => {}
    }
    Ok(())
}
