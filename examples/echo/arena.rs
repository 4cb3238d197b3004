//! On memory of a pool: a blocking socket and a thread for each connection.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use arenatls::openssl::ssl::{Ssl, SslContext};
use arenatls::{ArenaBackend, ArenaPool, Budget, Connection, Event};

use crate::Failure;
use crate::app::{Echo, Wish};

/// Memory of one connection (bytes).
const PER_CONNECTION: usize = 64 * 1024;
/// How long a peer may neither send nor take anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Serves for ever; calls `ready` once it accepts.
pub(crate) fn serve(listener: &TcpListener, context: &SslContext, ready: impl FnOnce()) -> ! {
    let pool = ArenaPool::with_limit(Budget::bytes(PER_CONNECTION), 1024);
    ready();
    thread::scope(|scope| {
        loop {
            let (socket, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, say: some connection has to end first.
                    eprintln!("echo: cannot accept: {error}");
                    thread::sleep(Duration::from_millis(100));
                    continue;
                }
            };
            let pool = &pool;
            scope.spawn(move || {
                if let Err(failure) = converse(socket, context, pool) {
                    eprintln!("echo: {peer}: {failure}");
                }
            });
        }
    })
}

fn converse(mut socket: TcpStream, context: &SslContext, pool: &ArenaPool) -> Result<(), Failure> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let mut connection = Connection::accept(Ssl::new(context)?, pool.backend()?)?;
    let outcome = echo(&mut connection, &socket);
    // close_notify, or the alert that says what went wrong; then the rest of the peer's, or a reset would destroy it.
    let _ = connection.close();
    flush(&mut connection, &socket)?;
    socket.shutdown(Shutdown::Write)?;
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    let _ = io::copy(&mut socket, &mut io::sink());
    outcome
}

fn echo(connection: &mut Connection<ArenaBackend<'_>>, socket: &TcpStream) -> Result<(), Failure> {
    let mut echo = Echo::default();
    loop {
        let mut ready = false;
        while let Some(event) = connection.poll_event()? {
            match event {
                Event::HandshakeComplete => ready = true,
                Event::Plaintext(bytes) => {
                    echo.hear(&bytes);
                    ready = true;
                    break;
                }
                Event::PeerClosed => {
                    echo.hear_the_end();
                    ready = true;
                    break;
                }
                Event::Truncated => return Err("the peer hung up".into()),
                _ => {}
            }
        }
        let mut wish = if ready { echo.answer(connection)? } else { Wish::Read };
        let had_output = flush(connection, socket)?;
        while wish == Wish::Room {
            wish = echo.answer(connection)?;
            flush(connection, socket)?;
        }
        match wish {
            Wish::Close => return Ok(()),
            // Something may have waited for output to leave, or lie there already.
            _ if ready || had_output => {}
            _ => {
                connection.backend_mut().read_from(socket)?;
            }
        }
    }
}

fn flush(connection: &mut Connection<ArenaBackend<'_>>, socket: &TcpStream) -> io::Result<bool> {
    let had_output = connection.backend().unsent() > 0;
    while connection.backend_mut().write_to(socket)? > 0 {}
    Ok(had_output)
}
