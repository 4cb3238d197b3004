//! [`Connection`]: one TLS connection over a [`Backend`].

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use openssl::ssl::{Ssl, SslRef, SslVersion};

use crate::backend::Backend;
use crate::error::{BuildError, Error};
use crate::ffi::bio::Border;
use crate::ffi::tls::{Called, Role, Tls};
use crate::name::PeerName;
use crate::options::Options;
use crate::protection::{Counters, Protection};
use crate::record::CONTROL_RESERVE;
use crate::state::{State, Trigger};
use crate::want::Want;

mod close;
mod event;
mod exchange;
mod handshake;
pub(crate) mod inbound;
mod kernel;
mod keys;
pub(crate) mod outbound;
mod own;
mod read;
mod write;

pub use event::{Event, Received};
pub use exchange::{ExchangeError, Refused};
use inbound::Inbound;
use outbound::Outbound;
pub use own::InPlace;

/// One TLS connection: OpenSSL's protocol, the engine's state machine and record protection, the backend's memory.
///
/// It does no I/O, reads no clock and starts no thread. Every call returns at once.
///
/// | kind | methods |
/// |---|---|
/// | getters | [`state`](Self::state), [`want`](Self::want), [`ssl`](Self::ssl), [`protection`](Self::protection), [`sent`](Self::sent), [`received`](Self::received), [`openssl_calls`](Self::openssl_calls), [`backend`](Self::backend) |
/// | ciphertext in and out | by way of [`backend_mut`](Self::backend_mut) |
/// | commands | [`write`](Self::write), [`write_vectored`](Self::write_vectored), [`key_update`](Self::key_update), [`close`](Self::close), [`abort`](Self::abort) |
/// | work out | [`poll_event`](Self::poll_event) |
/// | another backend | [`is_exchangeable`](Self::is_exchangeable), [`exchange`](Self::exchange) |
/// | keys to the kernel | [`offers_keys`](Self::offers_keys), [`hand_over`](Self::hand_over), [`not_opened`](Self::not_opened) |
/// | records in memory of the caller's own | [`sealed_len`](Self::sealed_len), [`seal_into`](Self::seal_into), [`open_in`](Self::open_in) |
///
/// The order that always works: receive into the backend; poll events until there is none; write; send what the
/// backend holds; and once something was sent, poll again before waiting for input. An event may wait for output to
/// leave: the end of the handshake is reported only when the last flight is gone.
///
/// A connection is `Send` where its backend is, and never `Sync`:
///
/// ```compile_fail
/// fn shared<T: Sync>() {}
/// fn of<B: arenatls_engine::Backend + Sync>() {
///     shared::<arenatls_engine::Connection<B>>();
/// }
/// ```
///
/// What a read lends borrows the connection, so its memory cannot be reused under the reader:
///
/// ```compile_fail
/// # use arenatls_engine::{Backend, Connection, Event};
/// fn hold<B: Backend>(c: &mut Connection<B>) {
///     if let Ok(Some(Event::Plaintext(bytes))) = c.poll_event() {
///         c.backend_mut().consume(1);
///         assert!(bytes.len() > 0);
///     }
/// }
/// ```
pub struct Connection<B: Backend> {
    // Dropped in this order: the SSL first, then keys, then the memory.
    tls: Tls,
    outbound: Outbound,
    inbound: Inbound,
    state: State,
    cause: Option<Error>,
    want: Option<Want>,
    /// OpenSSL has finished the handshake; its last flight may still be unsent.
    handshaken: bool,
    /// OpenSSL has something of its own to finish before anything else: a control record to send, a callback to ask.
    blocked: Option<Want>,
    /// Writes are held back; whether one was refused for it.
    held: Option<bool>,
    options: Options,
    backend: B,
    not_sync: PhantomData<Cell<()>>,
}

impl<B: Backend> Connection<B> {
    /// The server's end.
    ///
    /// # Errors
    ///
    /// [`BuildError`]; the backend is dropped with it.
    pub fn accept(ssl: Ssl, backend: B) -> Result<Self, BuildError> {
        Self::accept_with(ssl, backend, &Options::default())
    }

    /// [`accept`](Self::accept), with options.
    ///
    /// # Errors
    ///
    /// [`BuildError`]; the backend is dropped with it.
    pub fn accept_with(mut ssl: Ssl, backend: B, options: &Options) -> Result<Self, BuildError> {
        // Early data is not offered: it can be replayed, and nothing here could say so to the reader.
        ssl.set_max_early_data(0)?;
        Self::build(ssl, Role::Server, backend, options)
    }

    /// The client's end, talking to `peer`: a host name (its trailing dot and upper case do not matter) or an IP
    /// address. The certificate has to be valid for it; a host name is also sent as SNI, an address never is.
    ///
    /// # Errors
    ///
    /// [`BuildError::BadName`] if `peer` is neither, [`BuildError::NotVerifying`] if the `Ssl` would accept any
    /// certificate, and others; the backend is dropped with it.
    pub fn connect(ssl: Ssl, peer: &str, backend: B) -> Result<Self, BuildError> {
        Self::connect_with(ssl, peer, backend, &Options::default())
    }

    /// [`connect`](Self::connect), with options.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_with(mut ssl: Ssl, peer: &str, backend: B, options: &Options) -> Result<Self, BuildError> {
        PeerName::parse(peer)?.apply(&mut ssl)?;
        if !Tls::verifies(&ssl) {
            return Err(BuildError::NotVerifying);
        }
        Self::build(ssl, Role::Client, backend, options)
    }

    /// A client that checks only what the `Ssl` is configured to check: perhaps no name, perhaps no certificate at
    /// all. For tests, and for peers that are authenticated in another way.
    ///
    /// # Errors
    ///
    /// [`BuildError`]; the backend is dropped with it.
    pub fn connect_dangerous(ssl: Ssl, backend: B, options: &Options) -> Result<Self, BuildError> {
        Self::build(ssl, Role::Client, backend, options)
    }

    fn build(ssl: Ssl, role: Role, backend: B, options: &Options) -> Result<Self, BuildError> {
        options.check()?;
        let options = &options.settled();
        Ok(Connection {
            tls: Tls::new(ssl, role, options.take_keys)?,
            outbound: Outbound::new(*options),
            inbound: Inbound::new(*options),
            state: State::Idle,
            cause: None,
            want: None,
            handshaken: false,
            blocked: None,
            held: None,
            options: *options,
            backend,
            not_sync: PhantomData,
        })
    }

    /// Where the connection is in its life.
    pub fn state(&self) -> State {
        self.state
    }

    /// What the connection waits for, as of the last call; `None` if for nothing.
    pub fn want(&self) -> Option<Want> {
        self.want
    }

    /// Plaintext that the next [`poll_event`](Self::poll_event) lends of a record that is open already: told of before, and
    /// not [consumed](Received::consume) (bytes).
    pub fn unread(&self) -> usize {
        if self.state == State::Failed { 0 } else { self.inbound.lent.len }
    }

    /// Why the connection failed, once it has.
    pub fn failure(&self) -> Option<&Error> {
        self.cause.as_ref()
    }

    /// The `Ssl`, to ask what was negotiated: version, cipher, ALPN, session, peer certificate.
    pub fn ssl(&self) -> &SslRef {
        self.tls.ssl()
    }

    /// Who protects the records we send, and those we receive.
    pub fn protection(&self) -> (Protection, Protection) {
        (self.outbound.protection(), self.inbound.protection())
    }

    /// What was sent.
    pub fn sent(&self) -> Counters {
        self.outbound.counters
    }

    /// What was received.
    pub fn received(&self) -> Counters {
        self.inbound.counters
    }

    /// How many calls into OpenSSL's TLS code were made. In Engine protection data adds none.
    pub fn openssl_calls(&self) -> u64 {
        self.tls.calls()
    }

    /// `SSL_in_init` and `SSL_get_shutdown`, for tests that hold the two state machines against each other.
    #[doc(hidden)]
    pub fn openssl_state(&self) -> (bool, i32) {
        (self.tls.in_init(), self.tls.shutdown_bits())
    }

    /// The backend.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// The backend, to move ciphertext. Memory of plaintext that was read is free for it from here on.
    pub fn backend_mut(&mut self) -> &mut B {
        self.settle();
        &mut self.backend
    }

    /// Moves to the state after `event`, before anything native is called.
    fn transit(&mut self, event: Trigger) -> Result<(), Error> {
        self.state = self.state.after(event)?;
        let ended = matches!(self.state, State::ReceiveClosed | State::SendClosed | State::Closed);
        self.tls.ended_well = ended && self.handshaken;
        Ok(())
    }

    /// Checks that `event` is legal now; a failed connection answers with its cause.
    fn check(&self, event: Trigger) -> Result<(), Error> {
        if let (State::Failed, Some(cause)) = (self.state, &self.cause) {
            return Err(cause.clone());
        }
        self.state.after(event)?;
        Ok(())
    }

    /// Fails for good. Keys go; what is in the output (an alert, say) stays to be sent.
    fn fail(&mut self, error: Error) -> Error {
        if self.state.after(Trigger::Fail).is_ok() {
            self.state = State::Failed;
            self.tls.ended_well = false;
            self.cause.get_or_insert_with(|| error.clone());
        }
        self.want = None;
        self.outbound.drop_keys();
        self.inbound.drop_keys();
        error
    }

    /// Runs one call into OpenSSL with room for control records and no input, and commits what it wrote.
    fn native(&mut self, f: impl FnOnce(&mut Tls, &mut Border<'_>) -> Called) -> Called {
        self.native_with(CONTROL_RESERVE, f)
    }

    /// As [`native`](Self::native), with at least `room` bytes of contiguous room, which the caller saw to be there.
    fn native_with(&mut self, room: usize, f: impl FnOnce(&mut Tls, &mut Border<'_>) -> Called) -> Called {
        let room = self.backend.room(room);
        let mut border = Border::new(room, &mut self.outbound, &mut self.inbound);
        let outcome = f(&mut self.tls, &mut border);
        let put = border.put;
        self.backend.commit(put);
        outcome
    }

    fn is_tls13(&self) -> bool {
        self.ssl().version2() == Some(SslVersion::TLS1_3)
    }

    /// True if a control record of any kind fits the output: the condition for every call into OpenSSL.
    fn has_reserve(&mut self) -> bool {
        !self.backend.room(CONTROL_RESERVE).is_empty()
    }
}

impl<B: Backend> fmt::Debug for Connection<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("state", &self.state)
            .field("want", &self.want)
            .field("protection", &self.protection())
            .field("sent", &self.outbound.counters)
            .field("received", &self.inbound.counters)
            .field("unsent", &self.backend.unsent())
            .finish_non_exhaustive()
    }
}
