//! Requests and responses over loopback TCP: both ends of a connection, each in a thread of its own, and what the kernel
//! saw of it.

mod arena;
mod conversation;
mod ring;
mod tcp;

use std::net::TcpStream;
use std::sync::Arc;

pub use arena::over_plain_sockets;
pub use conversation::{Conversation, Served};
pub use ring::{has_a_ring, over_a_ring};
pub use tcp::{Traffic, Watch, joined};

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that asks.
    Client,
    /// The one that answers.
    Server,
}

/// One end of a connection, its handshake done, as a small blocking program uses it.
///
/// Methods panic if the library refuses: there is nothing to test or to measure then.
pub trait Talker {
    /// Writes all of `plaintext` by one call of the library. It has left when this returns, or leaves as soon as
    /// [`receive`](Self::receive) begins to wait.
    fn send(&mut self, plaintext: &[u8]);

    /// Waits until `into` is full; false if the peer ended before the first byte of it.
    fn receive(&mut self, into: &mut [u8]) -> bool;

    /// How often ciphertext was submitted to the kernel so far: system calls that send, or send operations of a ring.
    fn submissions(&self) -> u64;

    /// Who protects the records it sends; `own` for everybody but arenatls.
    fn protection(&mut self) -> String {
        "own".into()
    }
}

/// Makes an end of a connected socket, handshake included, in the thread that will use it.
pub type Make = Arc<dyn Fn(TcpStream, Role) -> Box<dyn Talker> + Send + Sync>;
