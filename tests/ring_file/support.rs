//! A server that is driven on the test's thread, and a stock client on another.

use std::net::{TcpListener, TcpStream};
use std::thread;

use arenatls::Options;
use arenatls::openssl::ssl::{Ssl, SslContext, SslStream};
use arenatls_fd_owner::{Config, ConnectionId, DriverEvent, RingDriver, Role};
use arenatls_rig::ring::{Told, all_home, driver, reasons, run_until, small_buffers, tcp};

/// Lets `app` serve one client, which does `read`, until the connection is closed; what the client has read, and all that
/// happened. `None` where there is no ring.
pub(crate) fn serve<T: Send + 'static>(
    config: Config,
    (client_context, server_context): (SslContext, SslContext),
    mut app: impl FnMut(&mut RingDriver, &DriverEvent),
    read: impl FnOnce(SslStream<TcpStream>) -> T + Send + 'static,
) -> Option<(T, Vec<Told>)> {
    let (mut driver, _, reader) = start(config, (client_context, server_context), None, read)?;
    let mut log = Vec::new();
    run_until(&mut driver, &mut app, &mut log, |log| !reasons(log).is_empty());
    all_home(&driver);
    Some((reader.join().unwrap(), log))
}

/// A driver with one connection on its way, and the client's thread. Both sockets have buffers of `small` bytes, if that
/// is given.
pub(crate) fn start<T: Send + 'static>(
    config: Config,
    (client_context, server_context): (SslContext, SslContext),
    small: Option<i32>,
    read: impl FnOnce(SslStream<TcpStream>) -> T + Send + 'static,
) -> Option<(RingDriver, ConnectionId, thread::JoinHandle<T>)> {
    let mut driver = driver(config)?;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    if let Some(bytes) = small {
        small_buffers(&listener, bytes);
    }
    let socket = tcp(listener.local_addr().unwrap());
    if let Some(bytes) = small {
        small_buffers(&socket, bytes);
    }
    let accepted = listener.accept().unwrap().0;
    let id = driver.adopt(accepted.into(), Ssl::new(&server_context).unwrap(), Role::Server).unwrap();
    let reader = thread::spawn(move || {
        let mut ssl = Ssl::new(&client_context).unwrap();
        ssl.param_mut().set_host("localhost").unwrap();
        let mut stream = SslStream::new(ssl, socket).unwrap();
        stream.connect().unwrap();
        read(stream)
    });
    Some((driver, id, reader))
}

/// One connection at a time.
pub(crate) fn config() -> Config {
    Config::default().connections(2)
}

pub(crate) fn with(options: Options) -> Config {
    config().options(options)
}
