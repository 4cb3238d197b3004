//! A connection of arenatls in arena memory, and its non-blocking socket.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

use arenatls_engine::Connection;
use arenatls_memory_bio::{ArenaBackend, Budget};

/// Memory of one connection (bytes).
pub(super) const BUDGET: Budget = Budget::bytes(64 * 1024);

pub(super) struct Link<'memory> {
    pub(super) connection: Connection<ArenaBackend<'memory>>,
    socket: TcpStream,
}

/// What [`Link::receive`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// All there was, for now.
    All,
    /// As much as there was room for.
    More,
    /// The peer is gone.
    End,
}

/// What [`Link::flush`] has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// Nothing.
    Nothing,
    /// What the socket has no room for, for now.
    Some,
    /// What nobody takes any more: the peer is gone.
    ToNobody,
}

impl<'memory> Link<'memory> {
    pub(super) fn new(connection: Connection<ArenaBackend<'memory>>, socket: TcpStream) -> Self {
        socket.set_nodelay(true).expect("a TCP socket");
        socket.set_nonblocking(true).expect("a socket");
        Link { connection, socket }
    }

    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Moves ciphertext from the socket into the arena. Less than there was room for is all there was: trying again
    /// would only cost a system call.
    pub(super) fn receive(&mut self) -> Found {
        let backend = self.connection.backend_mut();
        let room = backend.receive_into();
        let most = room.len();
        match self.socket.read(room) {
            Ok(0) => Found::End,
            Ok(n) => {
                backend.received(n).expect("no more came than there was room for");
                if n < most { Found::All } else { Found::More }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Found::All,
            Err(_) => Found::End,
        }
    }

    /// Moves ciphertext from the arena to the socket.
    pub(super) fn flush(&mut self) -> Left {
        while self.connection.backend().unsent() > 0 {
            let backend = self.connection.backend_mut();
            match self.socket.write(backend.to_send()) {
                Ok(n) => backend.sent(n).expect("no more was sent than there was"),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Left::Some,
                Err(_) => return Left::ToNobody,
            }
        }
        Left::Nothing
    }
}
