//! The process that is measured, with a `RingDriver`: servers on sockets, their ciphertext in the driver's slots.

use std::io;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use arenatls_engine::{Options, Progress};
use arenatls_fd_owner::{Config, DriverError, DriverEvent, RingDriver};
use openssl::ssl::SslMode;

use super::frame::Op;
use super::holder::Holder;
use super::reading::Reading;
use super::{PAYLOAD, Readings};
use crate::ends::{Certificate, Contexts, Parties, Terms};

/// Nothing takes longer.
const WATCHDOG: Duration = Duration::from_secs(180);
/// Files that a process has open beside its connections.
const SPARE_DESCRIPTORS: usize = 64;
/// How long a turn waits at most: the holder's answers wake nobody.
const TURN: Duration = Duration::from_millis(5);

/// So many servers on loopback.
pub(super) fn on_a_ring(connections: usize) -> io::Result<Readings> {
    allow_descriptors(connections)?;
    let parties = Parties::new(Certificate::P256);
    let mut holder = Holder::start(&parties)?;
    let contexts = Contexts::new(&Terms::USUAL, &parties, None, SslMode::empty());
    // What a library or the system makes once, it makes now.
    serve(1, &contexts, &mut holder)?;
    Reading::now();
    serve(connections, &contexts, &mut holder)
}

fn serve(connections: usize, contexts: &Contexts, holder: &mut Holder) -> io::Result<Readings> {
    let before = Reading::now();
    let mut ring = Ring::new(connections, contexts)?;
    let port = ring.port.to_le_bytes();
    ring.turn_while(holder, |holder| holder.ask(Op::Connect, connections, &port))?;
    ring.turn_until(|ring| ring.shaken == connections)?;
    let shaken = Reading::now();
    ring.turn_until(|ring| ring.driver.resting() == connections)?;
    let idle = Reading::now();
    ring.turn_while(holder, |holder| holder.ask(Op::Echo, 0, &[]))?;
    ring.turn_until(|ring| ring.echoed == connections * PAYLOAD)?;
    let echoed = Reading::now();
    holder.ask(Op::Drop, 0, &[])?;
    ring.turn_until(|ring| ring.driver.connections() == 0)?;
    let dropped = Reading::now();
    Ok([shaken, idle, echoed, dropped].map(|reading| reading.since(before)))
}

struct Ring {
    driver: RingDriver,
    port: u16,
    shaken: usize,
    echoed: usize,
    plaintext: Vec<u8>,
}

impl Ring {
    fn new(connections: usize, contexts: &Contexts) -> io::Result<Self> {
        let most = u32::try_from(connections).map_err(io::Error::other)?;
        // The first ones shall still be awake when the last ones have shaken hands.
        let rest_after = Duration::from_millis(300 + u64::from(most) * 2);
        let config = Config::default()
            .connections(most)
            .handshake_timeout(WATCHDOG)
            .idle_timeout(None)
            .rest_after(Some(rest_after));
        let mut driver = RingDriver::new(config).map_err(refusal)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        driver.listen(listener.into(), contexts.for_servers().clone(), Options::default()).map_err(refusal)?;
        Ok(Self { driver, port, shaken: 0, echoed: 0, plaintext: Vec::new() })
    }

    /// Turns while the holder does what it is asked.
    fn turn_while<T: Send>(
        &mut self,
        holder: &mut Holder,
        ask: impl FnOnce(&mut Holder) -> io::Result<T> + Send,
    ) -> io::Result<T> {
        thread::scope(|scope| {
            let asking = scope.spawn(|| ask(holder));
            while !asking.is_finished() {
                self.turn()?;
            }
            asking.join().map_err(|_| io::Error::other("the holder was asked in vain"))?
        })
    }

    fn turn_until(&mut self, done: impl Fn(&Ring) -> bool) -> io::Result<()> {
        let end = Instant::now() + WATCHDOG;
        while !done(self) {
            self.turn()?;
            if Instant::now() > end {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }

    fn turn(&mut self) -> io::Result<()> {
        self.driver.turn(Some(TURN)).map_err(refusal)?;
        while let Some(event) = self.driver.poll_event().map_err(refusal)? {
            match event {
                DriverEvent::HandshakeComplete(_) => self.shaken += 1,
                DriverEvent::Plaintext(id) => {
                    self.plaintext.clear();
                    if let Some(received) = self.driver.plaintext(id) {
                        self.plaintext.extend_from_slice(&received);
                    }
                    let connection = self.driver.connection(id).ok_or(io::ErrorKind::NotConnected)?;
                    let written = connection.write(&self.plaintext).map_err(io::Error::other)?;
                    assert_eq!(written, Progress::Done(self.plaintext.len()), "a slot holds an echo");
                    self.echoed += self.plaintext.len();
                }
                DriverEvent::Failed(_, error) => return Err(io::Error::other(error)),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Raises the limit of open files, which the holder inherits, as far as it has to be and may be.
fn allow_descriptors(connections: usize) -> io::Result<()> {
    let wanted = libc::rlim_t::try_from(connections + SPARE_DESCRIPTORS).map_err(io::Error::other)?;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if limit.rlim_cur >= wanted {
        return Ok(());
    }
    if limit.rlim_max < wanted {
        let why = format!("a process may have {} files open, {wanted} are needed", limit.rlim_max);
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    limit.rlim_cur = wanted;
    // SAFETY: `limit` is readable.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn refusal(error: DriverError) -> io::Error {
    let kind = match &error {
        DriverError::Unsupported(_) => io::ErrorKind::Unsupported,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
