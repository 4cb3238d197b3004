//! Ends of connections in memory, for the benches of whole connections: one trait, one file for each library.
//!
//! The ledger's contenders are pairs that are connected already. Here a client and a server are apart, so that the cost
//! of each can be told, and either may be made, shake hands and go by itself.

use crate::contender::Look;
use crate::wire::Wire;

mod arenatls;
mod openssl;
mod openssl_contexts;
mod parties;
mod rustls;
mod s2n_tls;
mod terms;

pub use arenatls::{Arenatls, Engine, LeastMemory, Library};
pub use openssl::{Openssl, OpensslEnd, Usual, WithoutIdleBuffers};
pub use openssl_contexts::Contexts;
pub use parties::Parties;
pub use rustls::{AwsLcRs, Ring, Rustls};
pub use s2n_tls::S2nTls;
pub use terms::{Agreed, Certificate, Group, Terms};

/// One end of a connection.
pub trait End {
    /// Takes all that `from` holds, and says what there is to say: handshake, tickets, close_notify. Returns whether the
    /// handshake is done.
    ///
    /// # Panics
    ///
    /// If the library refuses: there is nothing to measure then. So do all of these.
    fn go_on(&mut self, from: &mut Wire, to: &mut Wire) -> bool;

    /// What the handshake came to.
    fn agreed(&self) -> Agreed;

    /// Protects all of `plaintext`.
    fn write(&mut self, plaintext: &[u8], to: &mut Wire);

    /// Opens all that `from` holds; returns how many bytes that was.
    fn read(&mut self, from: &mut Wire, look: &mut Look<'_>) -> usize;

    /// Says close_notify.
    fn close(&mut self, to: &mut Wire);

    /// Gives back what memory the library knows how to give back while a connection has no traffic.
    fn rest(&mut self) {}
}

/// What a program makes once and connections share: contexts, configurations, pools.
pub trait Kit: Sized + Send + Sync {
    /// A client.
    type Client: End;
    /// A server.
    type Server: End;

    /// Whether the library can be made to agree on `terms` and nothing else.
    fn can(terms: &Terms) -> bool;

    /// A kit for `terms`. With a `sibling` it has the same ticket keys, so that its servers resume what those of the
    /// sibling began.
    fn new(terms: &Terms, parties: &Parties, sibling: Option<&Self>) -> Self;

    /// A client; it offers the session that was [kept](Kit::keep), if one was.
    fn client(&self) -> Self::Client;

    /// A server.
    fn server(&self) -> Self::Server;

    /// Keeps the session of `client` for the clients to come. A library whose configuration does that itself does
    /// nothing.
    fn keep(&self, client: &mut Self::Client);
}

#[cfg(test)]
mod tests;
