//! Clients: what moves the bytes of a [`Load`].

use std::net::SocketAddr;

use super::load::Load;

mod bare;
mod ring;

pub use bare::Bare;
pub use ring::Ring;

/// Connections that are opened at a time: no more than a listener's queue holds.
const OPENING: usize = 256;

/// Puts a load on a server.
pub trait Client: Sync {
    /// Opens all connections of `load` to `address`, goes on until it is over, and drops them.
    ///
    /// # Panics
    ///
    /// Panics if the server does not what it should.
    fn run(&self, address: SocketAddr, load: &mut Load);
}
