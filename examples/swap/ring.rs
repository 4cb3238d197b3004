//! On a ring, which takes the connection in and gives it out.

use std::net::TcpStream;

use arenatls::fd_owner::{Config, DriverEvent, RingDriver};
use arenatls::{ArenaBackend, ArenaPool, Connection};

use crate::Failure;
use crate::app::App;

/// Reads one line on a ring of its own.
pub(crate) fn visit<'p>(
    connection: Connection<ArenaBackend<'_>>,
    socket: TcpStream,
    app: &mut App,
    pool: &'p ArenaPool,
) -> Result<(Connection<ArenaBackend<'p>>, TcpStream), Failure> {
    let mut driver = RingDriver::new(Config::default())?;
    // A refusal gives both back.
    let id = driver.adopt_connection(socket.into(), connection).map_err(|refused| refused.why)?;
    let lines = app.lines + 1;
    loop {
        match driver.poll_event()? {
            Some(DriverEvent::Plaintext(_) | DriverEvent::Writable(_)) => {
                if let Some(bytes) = driver.plaintext(id) {
                    app.hear(bytes, "on a ring");
                }
                if let Some(connection) = driver.connection(id) {
                    app.reply(connection)?;
                }
                if app.lines == lines {
                    driver.detach(id)?;
                }
            }
            Some(DriverEvent::Detached(_)) => break,
            Some(DriverEvent::Closed(_, reason)) => return Err(format!("it closed: {reason:?}").into()),
            Some(_) => {}
            None => driver.turn(None)?,
        }
    }
    let (socket, connection) = driver.take_detached(id, pool.backend()?).map_err(|refused| refused.why)?;
    Ok((connection, socket.into()))
}
