//! Clients: what moves the bytes of a [`Load`].

use std::net::SocketAddr;

use arenatls_fd_owner::Capabilities;

use super::load::Load;
use super::servers::{Role, Subject};

mod bare;
mod epoll;
mod ring;

pub use bare::Bare;
pub use epoll::Epoll;
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

/// The client of `subject`: the same for all who speak TLS, and the best there is.
#[must_use]
pub fn of(subject: &Subject) -> &'static dyn Client {
    match subject.role {
        Role::Floor => &Bare,
        Role::Ours | Role::Peer if Capabilities::probe().is_ok() => &Ring,
        Role::Ours | Role::Peer => &Epoll,
    }
}
