//! Servers: one trait, one file for each, and the list of them all.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::work::{EXPANSION, Job};

mod arena_epoll;
mod bare;
mod epoll_loop;
mod ring;
mod rustls_epoll;
mod ssl_set_fd;
mod tokio_echo;
mod tokio_openssl;
mod tokio_rustls;

/// No deadline of a server's matters here.
pub const LONG: Duration = Duration::from_secs(600);

/// A server, in the shape its library documents.
pub trait Server: Sync {
    /// Does `job` on this thread for the connections of `listener`, until all of them have come and gone.
    ///
    /// # Panics
    ///
    /// Panics if anything fails but a connection that its client has dropped.
    fn serve(&self, listener: TcpListener, job: &Arc<Job>);
}

/// An entry of the list of servers.
#[derive(Clone, Copy)]
pub struct Subject {
    /// The server's name in every report.
    pub name: &'static str,
    /// What it is to others.
    pub role: Role,
    /// Whether it needs io_uring.
    pub on_ring: bool,
    /// What a record is longer than its plaintext, if the server protects nothing (bytes).
    pub expansion: usize,
    /// The server.
    pub server: &'static dyn Server,
}

/// What a server is to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// arenatls itself.
    Ours,
    /// What everybody pays at least: the same ring without TLS.
    Floor,
    /// A peer.
    Peer,
}

/// All servers, in the order of their turns.
pub const SUBJECTS: &[Subject] = &[
    Subject { on_ring: true, ..subject("arenatls ring", Role::Ours, &ring::Ring) },
    #[cfg(feature = "ring")]
    Subject { on_ring: true, ..subject("arenatls ring, ring AEAD", Role::Ours, &ring::RingAead) },
    Subject { on_ring: true, expansion: EXPANSION, ..subject("bare ring", Role::Floor, &bare::Bare) },
    subject("arenatls arena + epoll", Role::Ours, &arena_epoll::ArenaEpoll),
    subject("tokio-rustls", Role::Peer, &tokio_rustls::TokioRustls),
    subject("rustls + epoll", Role::Peer, &rustls_epoll::RustlsEpoll),
    subject("tokio-openssl", Role::Peer, &tokio_openssl::TokioOpenssl),
    subject("epoll + SSL_set_fd", Role::Peer, &ssl_set_fd::SslSetFd),
];

const fn subject(name: &'static str, role: Role, server: &'static dyn Server) -> Subject {
    Subject { name, role, on_ring: false, expansion: 0, server }
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The job's connections, accepted.
fn accept_all(listener: &TcpListener, job: &Job) -> Vec<TcpStream> {
    (0..job.connections).map(|_| listener.accept().expect("a connection").0).collect()
}
