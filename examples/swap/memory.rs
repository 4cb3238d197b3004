//! In memory of a pool, over a blocking socket.

use std::io;
use std::net::TcpStream;

use arenatls::{ArenaBackend, Connection, Event};

use crate::Failure;
use crate::app::App;

/// Goes on until so many lines were read in all, or the peer is done.
pub(crate) fn serve(
    connection: &mut Connection<ArenaBackend<'_>>,
    socket: &TcpStream,
    app: &mut App,
    place: &str,
    lines: usize,
) -> Result<(), Failure> {
    while app.lines < lines && !app.peer_is_done {
        match connection.poll_event()? {
            Some(Event::Plaintext(bytes)) => {
                app.hear(bytes, place);
                app.reply(connection)?;
            }
            Some(Event::PeerClosed) => app.peer_is_done = true,
            Some(Event::Truncated) => return Err("the peer hung up".into()),
            Some(_) => {}
            None => {
                // Something may have waited for output to leave.
                if !flush(connection, socket)? {
                    connection.backend_mut().read_from(socket)?;
                }
                app.reply(connection)?;
            }
        }
    }
    Ok(())
}

/// Sends what waits; true if something did.
pub(crate) fn flush(connection: &mut Connection<ArenaBackend<'_>>, socket: &TcpStream) -> io::Result<bool> {
    let had_output = connection.backend().unsent() > 0;
    while connection.backend_mut().write_to(socket)? > 0 {}
    Ok(had_output)
}
