//! [`RingDriver`]: one ring, its connections, and their memory.

use std::fmt;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arenatls_engine::{Backend as _, Connection, Options, State};
use openssl::ssl::{Ssl, SslContext};

use crate::ring::why_not;
use crate::slot::{FdBackend, Slab, SlotCount};
use crate::submission::Ring;
use crate::timers::Timers;
use crate::todo::Todo;
use crate::ulp::Layer;
use crate::waker::{Waker, Wakeup};
use crate::writer::Notices;
use crate::{CloseReason, Config, ConnectionId, DriverError, ListenerId};

mod accept;
mod complete;
mod detach;
mod entry;
mod file;
mod kernel;
mod poll;
mod register;
mod rest;
mod room;
#[expect(unsafe_code, reason = "makes a descriptor")]
mod socket;
mod writers;

use accept::{LISTENERS, Listener};
pub use detach::{NotAdopted, NotTaken};
use entry::{Entry, Stage};
use register::Registration;

/// Which end of a connection we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role<'a> {
    /// The server's.
    Server,
    /// The client's, talking to a server that has to prove to be `name`: a host name or an IP address.
    Client {
        /// As for [`Connection::connect`].
        name: &'a str,
    },
}

/// One io_uring, and the TLS connections whose sockets and ciphertext memory it owns.
///
/// A driver belongs to the thread that made it, and is neither `Send` nor `Sync`; a program has one a thread.
///
/// | kind | methods |
/// |---|---|
/// | getters | [`slots`](Self::slots), [`connections`](Self::connections), [`resting`](Self::resting), [`peer_addr`](Self::peer_addr), [`sends`](Self::sends), [`receptions`](Self::receptions), [`ring_setup`](Self::ring_setup), [`has_kernel_tls`](Self::has_kernel_tls), [`unsealed_at_end`](Self::unsealed_at_end), [`waker`](Self::waker) |
/// | connections in | [`listen`](Self::listen), [`adopt`](Self::adopt), [`connect`](Self::connect), [`adopt_connection`](Self::adopt_connection) |
/// | connections out | [`detach`](Self::detach), [`take_detached`](Self::take_detached) |
/// | commands | [`connection`](Self::connection), [`writer`](Self::writer), [`send_file`](Self::send_file), [`close`](Self::close), [`abort`](Self::abort), [`pause`](Self::pause), [`resume`](Self::resume), [`stop_listening`](Self::stop_listening) |
/// | work out | [`poll_event`](Self::poll_event), [`plaintext`](Self::plaintext), [`turn`](Self::turn) |
///
/// The loop: poll events until there is none, acting on each; then take a turn, which submits all that came of it in one
/// system call, and waits.
///
/// ```no_run
/// use arenatls_fd_owner::{Config, DriverEvent, RingDriver};
/// # fn context() -> openssl::ssl::SslContext { unimplemented!() }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut driver = RingDriver::new(Config::default())?;
/// let listener = std::net::TcpListener::bind("127.0.0.1:4433")?;
/// driver.listen(listener.into(), context(), Default::default())?;
/// loop {
///     while let Some(event) = driver.poll_event()? {
///         match event {
///             DriverEvent::HandshakeComplete(id) => {
///                 if let Some(connection) = driver.connection(id) {
///                     let _ = connection.write(b"hello")?;
///                 }
///             }
///             DriverEvent::Plaintext(id) => {
///                 if let Some(bytes) = driver.plaintext(id) {
///                     println!("{} bytes", bytes.len()); // lent where they lie, and read with that
///                 }
///             }
///             DriverEvent::PeerClosed(id) => driver.close(id)?,
///             _ => {}
///         }
///     }
///     driver.turn(None)?;
/// }
/// # }
/// ```
///
/// Dropping it drops its connections without a word to their peers; first it cancels every operation and waits for each,
/// because the kernel may write to the memory until then. What cannot be waited for keeps its memory for ever
/// ([`leaked_rings`](crate::leaked_rings)).
///
/// It cannot go to another thread:
///
/// ```compile_fail,E0277
/// fn send<T: Send>() {}
/// send::<arenatls_fd_owner::RingDriver>();
/// ```
///
/// What it lends cannot be kept while it goes on:
///
/// ```compile_fail,E0499
/// # use arenatls_fd_owner::{ConnectionId, RingDriver};
/// fn hold(driver: &mut RingDriver, id: ConnectionId) {
///     if let Some(bytes) = driver.plaintext(id) {
///         driver.turn(None).unwrap();
///         assert!(bytes.len() > 0);
///     }
/// }
/// ```
pub struct RingDriver {
    // Dropped in this order: the ring, which waits for its operations; then what they used: sockets, connections (they
    // hold the slots' memory by reference count).
    ring: Ring,
    entries: Box<[Entry]>,
    listeners: Vec<Option<Listener>>,
    free: Vec<u32>,
    /// Entries that may have an event.
    ready: Todo,
    /// Entries that may have something to submit.
    dirty: Todo,
    timers: Timers,
    wakeup: Wakeup,
    /// Made with the first writer.
    notices: Option<Arc<Notices>>,
    config: Config,
    now: Instant,
    /// The last turn entered the ring.
    entered: bool,
    stray: u64,
}

impl RingDriver {
    /// Makes the ring and takes the address space of all slots.
    ///
    /// # Errors
    ///
    /// [`DriverError::Unsupported`] where there is no io_uring, and why; [`DriverError::BadConfig`];
    /// [`DriverError::System`].
    pub fn new(config: Config) -> Result<RingDriver, DriverError> {
        config.check()?;
        let most = config.connections as usize;
        let mut slab = Slab::new(most, config.inbound, config.outbound).map_err(system("take memory for the slots"))?;
        if config.kernel_tls != (false, false)
            && let Some(layer) = Layer::probe()
        {
            slab = slab.with_messages(layer).map_err(system("take memory for the kernel's messages"))?;
        }
        let mut ring = Ring::new(&config, Rc::new(slab)).map_err(why_not)?;
        if !ring.is_usable() {
            return Err(too_old());
        }
        // Now, while nothing is in flight: a filter may let a ring be made and not be used.
        ring.enter(Some(Duration::ZERO)).map_err(why_not)?;
        let now = Instant::now();
        Ok(RingDriver {
            ring,
            entries: (0..config.connections).map(|index| Entry::free(index, now)).collect(),
            listeners: Vec::new(),
            free: (0..config.connections).rev().collect(),
            ready: Todo::new(most),
            dirty: Todo::new(most),
            timers: Timers::new(most),
            wakeup: Wakeup::new().map_err(system("make a pipe"))?,
            notices: None,
            config,
            now,
            entered: true,
            stray: 0,
        })
    }

    /// Accepts connections on `listener`, a listening socket, until [`stop_listening`](Self::stop_listening).
    ///
    /// # Errors
    ///
    /// [`DriverError::AtCapacity`] beyond 1,024 listeners.
    pub fn listen(
        &mut self,
        listener: OwnedFd,
        context: SslContext,
        options: Options,
    ) -> Result<ListenerId, DriverError> {
        let most = crate::token::Token::OWNERS - LISTENERS;
        let which = u32::try_from(self.listeners.len()).ok().filter(|which| *which < most);
        let which = which.ok_or(DriverError::AtCapacity { connections: most })?;
        self.listeners.push(Some(Listener::new(listener, context, options)));
        Ok(ListenerId(which))
    }

    /// Takes over a connected stream socket on which no byte of TLS has passed.
    ///
    /// # Errors
    ///
    /// [`DriverError::AtCapacity`], [`DriverError::Build`]. The socket is closed then.
    pub fn adopt(&mut self, socket: OwnedFd, ssl: Ssl, role: Role<'_>) -> Result<ConnectionId, DriverError> {
        let options = self.config.options;
        let index = self.take_in(socket, ssl, role, &options)?;
        Ok(self.entries[index as usize].id())
    }

    /// Connects to the server `name` at `address`. That the address cannot be reached is told by
    /// [`DriverEvent::Closed`](crate::DriverEvent::Closed).
    ///
    /// # Errors
    ///
    /// [`DriverError::AtCapacity`], [`DriverError::Build`], [`DriverError::System`] if there is no socket to be had.
    pub fn connect(&mut self, address: SocketAddr, ssl: Ssl, name: &str) -> Result<ConnectionId, DriverError> {
        let socket = socket::stream(&address).map_err(system("make a socket"))?;
        let index = {
            let options = self.config.options;
            self.take_in(socket, ssl, Role::Client { name }, &options)?
        };
        let entry = &mut self.entries[index as usize];
        entry.stage = Stage::Connecting;
        entry.peer = Some(address);
        self.dirty.add(index);
        Ok(entry.id())
    }

    fn take_in(&mut self, socket: OwnedFd, ssl: Ssl, role: Role<'_>, options: &Options) -> Result<u32, DriverError> {
        let (index, slot, backend) = self.vacancy()?;
        let options = self.with_kernel_tls(*options);
        let made = match role {
            Role::Server => Connection::accept_with(ssl, backend, &options),
            Role::Client { name } => Connection::connect_with(ssl, name, backend, &options),
        };
        let conn = made.inspect_err(|_| self.ring.slab().release(slot))?;
        self.settle_in(index, slot, conn, socket);
        Ok(index)
    }

    /// A place for another connection, and its slot, which is released if the connection is not to be.
    fn vacancy(&self) -> Result<(u32, u32, FdBackend), DriverError> {
        let full = DriverError::AtCapacity { connections: self.config.connections };
        let Some(index) = self.free.last().copied() else { return Err(full) };
        let Some((slot, backend)) = self.ring.slab().lend() else { return Err(full) };
        Ok((index, slot, backend))
    }

    /// Gives the connection the place that [`vacancy`](Self::vacancy) found.
    fn settle_in(&mut self, index: u32, slot: u32, conn: Connection<FdBackend>, socket: OwnedFd) {
        self.free.pop();
        let socket = TcpStream::from(socket);
        // Not every stream socket is of TCP.
        let _ = socket.set_nodelay(true);
        let now = Instant::now();
        let generation = self.entries[index as usize].generation;
        self.entries[index as usize] = Entry {
            generation,
            stage: Stage::Open,
            handshaken: conn.state() != State::Idle,
            read_ended: conn.backend().input_ended(),
            conn: Some(conn),
            socket: Some(socket),
            slot,
            registration: Registration::to_come(&self.ring),
            ..Entry::free(index, now)
        };
        self.schedule(index);
        self.ready.add(index);
    }

    /// The connection behind a handle, to write, close its sending direction, or ask what was negotiated; `None` once it
    /// is closing or closed. What is written leaves with the next turn. Its events are the driver's to poll: one that is
    /// polled here is not told by [`poll_event`](Self::poll_event).
    pub fn connection(&mut self, id: ConnectionId) -> Option<&mut Connection<FdBackend>> {
        let index = self.find(id)?;
        self.dirty.add(index);
        self.entries[index as usize].conn.as_mut()
    }

    /// Ends the connection well: what was written leaves, a [file](Self::send_file) that is under way and what
    /// [writers](crate::Writer) had accepted included, then close_notify, then our direction is shut; the peer's end is
    /// awaited, at most for [`Config::close_timeout`], and what it still sends is thrown away. The last event is
    /// [`DriverEvent::Closed`](crate::DriverEvent::Closed).
    ///
    /// To end only the sending direction and go on reading, call [`Connection::close`] on
    /// [`connection`](Self::connection).
    ///
    /// # Errors
    ///
    /// [`DriverError::Stale`].
    pub fn close(&mut self, id: ConnectionId) -> Result<(), DriverError> {
        let index = self.find(id).ok_or(DriverError::Stale)?;
        if matches!(self.entries[index as usize].stage, Stage::Connecting) {
            return self.abort(id);
        }
        self.finish(index, CloseReason::Done);
        Ok(())
    }

    /// Gives the connection up: nothing more is sent, the peer sees a truncation.
    ///
    /// # Errors
    ///
    /// [`DriverError::Stale`].
    pub fn abort(&mut self, id: ConnectionId) -> Result<(), DriverError> {
        let index = self.find_closing(id).ok_or(DriverError::Stale)?;
        self.give_up(index, CloseReason::Aborted);
        Ok(())
    }

    /// Stops reading: no [`Plaintext`](crate::DriverEvent::Plaintext) and no end of the peer's direction is reported until
    /// [`resume`](Self::resume). What has come waits in the slot, and once that is full in the peer.
    ///
    /// # Errors
    ///
    /// [`DriverError::Stale`].
    pub fn pause(&mut self, id: ConnectionId) -> Result<(), DriverError> {
        let index = self.find(id).ok_or(DriverError::Stale)?;
        self.entries[index as usize].paused = true;
        Ok(())
    }

    /// Goes on reading. Plaintext that was told of and not lent is told of again.
    ///
    /// # Errors
    ///
    /// [`DriverError::Stale`].
    pub fn resume(&mut self, id: ConnectionId) -> Result<(), DriverError> {
        let index = self.find(id).ok_or(DriverError::Stale)?;
        let entry = &mut self.entries[index as usize];
        (entry.paused, entry.has_plaintext) = (false, false);
        self.ready.add(index);
        Ok(())
    }

    /// The address of a connection's peer (`getpeername`).
    ///
    /// # Errors
    ///
    /// [`DriverError::Stale`]; [`DriverError::System`] if the peer is gone, or no TCP peer.
    pub fn peer_addr(&self, id: ConnectionId) -> Result<SocketAddr, DriverError> {
        let index = self.find_closing(id).ok_or(DriverError::Stale)?;
        let socket = self.entries[index as usize].socket.as_ref().ok_or(DriverError::Stale)?;
        socket.peer_addr().map_err(system("learn the peer's address"))
    }

    /// How the slots stand.
    pub fn slots(&self) -> SlotCount {
        self.ring.slab().count()
    }

    /// Connections that are not closed yet, and those whose end was not polled yet.
    pub fn connections(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Connections that have had no traffic for [`Config::rest_after`] and hold no memory of their slot. It looks at each.
    pub fn resting(&self) -> usize {
        self.entries.iter().filter(|entry| entry.stage == Stage::Open && entry.rest == rest::Rest::Resting).count()
    }

    /// Whether this kernel has a `tls` layer for what [`Config::kernel_tls`] asks of it; false if nothing was asked.
    pub fn has_kernel_tls(&self) -> bool {
        self.ring.slab().layer().is_some()
    }

    /// Send operations that the ring has taken so far: one for all that a connection wrote before a turn, unless the socket
    /// took only a part of it.
    pub fn sends(&self) -> u64 {
        self.ring.sends()
    }

    /// Reception operations that the ring has taken so far. One that goes on ([`Config::register_after`]) is one.
    pub fn receptions(&self) -> u64 {
        self.ring.receptions()
    }

    /// The flags the ring was made with: the best this kernel knows.
    pub fn ring_setup(&self) -> &'static str {
        self.ring.setup()
    }

    /// Ends a wait in [`turn`](Self::turn) from any thread.
    pub fn waker(&self) -> Waker {
        self.wakeup.waker()
    }

    /// An open connection.
    fn find(&self, id: ConnectionId) -> Option<u32> {
        self.find_closing(id).filter(|index| {
            let entry = &self.entries[*index as usize];
            matches!(entry.stage, Stage::Connecting | Stage::Open)
        })
    }

    /// One that is open, or not done with closing.
    fn find_closing(&self, id: ConnectionId) -> Option<u32> {
        let entry = self.entries.get(id.index as usize).filter(|entry| entry.generation == id.generation)?;
        let there = !matches!(entry.stage, Stage::Free | Stage::Reaping | Stage::Done);
        there.then_some(id.index)
    }
}

fn system(doing: &'static str) -> impl FnOnce(std::io::Error) -> DriverError {
    move |cause| DriverError::System { doing, cause }
}

/// A ring whose kernel lacks what the driver cannot do without.
fn too_old() -> DriverError {
    let needed = crate::Feature::WaitTimeout.since();
    match crate::kernel::Surroundings::read().release {
        Some(release) if release < needed => crate::Unsupported::KernelTooOld { release, needed }.into(),
        _ => crate::Unsupported::Other { errno: libc::EOPNOTSUPP }.into(),
    }
}

impl fmt::Debug for RingDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingDriver")
            .field("ring", &self.ring)
            .field("connections", &self.connections())
            .field("slots", &self.slots())
            .field("stray", &self.stray)
            .finish_non_exhaustive()
    }
}
