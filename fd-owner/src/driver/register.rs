//! Connections that go on are registered with the ring, and receive by one operation that goes on.

use std::os::fd::AsFd as _;

use super::entry::{Entry, Op};
use crate::registered::Socket;
use crate::slot::Grant;
use crate::submission::{Full, Ring};
use crate::token::Kind;

/// Whether the ring knows a connection's socket, and its slot's group of provided buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Registration {
    /// It shall, after this many receptions more.
    After(u32),
    Made,
    /// It shall not, or will not.
    #[default]
    Never,
}

impl Registration {
    /// As [`Config::register_after`](crate::Config::register_after) says.
    pub(super) fn to_come(ring: &Ring) -> Registration {
        ring.register_after().map_or(Registration::Never, Registration::After)
    }
}

impl Entry {
    /// The socket, as operations name it.
    pub(super) fn operand(&self) -> Option<Socket<'_>> {
        let socket = self.socket.as_ref()?;
        let registered = self.registration == Registration::Made;
        Some(if registered { Socket::Registered(self.slot) } else { Socket::Descriptor(socket.as_fd()) })
    }

    /// Whether the reception under way has nothing to receive into.
    pub(super) fn wants_buffer(&self, ring: &Ring) -> bool {
        self.goes_on && self.recv == Op::InFlight && !ring.slab().is_granted_input(self.slot)
    }

    /// Receives into `grant`: by the operation that is under way, by one that goes on, or, while there is more to
    /// come than was granted, by one that does not.
    pub(super) fn receive(&mut self, grant: &Grant, ring: &mut Ring) -> Result<(), Full> {
        let goes_on = self.goes_on || self.recv_waits && self.is_registered(ring);
        if goes_on {
            ring.slab().provide(self.slot, grant);
        }
        let token = self.token(Kind::Recv);
        match self.operand() {
            _ if self.goes_on => {}
            Some(Socket::Registered(place)) if goes_on => ring.recv_on(place, token)?,
            Some(socket) => ring.recv(socket, grant, self.recv_waits, token)?,
            None => {}
        }
        self.goes_on = goes_on;
        Ok(())
    }

    /// Whether the ring knows the connection; it is told if it is time.
    fn is_registered(&mut self, ring: &mut Ring) -> bool {
        if let (Registration::After(left), Some(socket)) = (self.registration, &self.socket) {
            self.registration = match left.checked_sub(1) {
                Some(left) => Registration::After(left),
                // Receptions that the kernel opens need a message each.
                None if ring.slab().layer().is_none() && ring.register(socket.as_fd(), self.slot) => Registration::Made,
                None => Registration::Never,
            };
        }
        self.registration == Registration::Made
    }

    /// Has the ring forget the connection, of which nothing is in flight. One that goes on is made known again.
    pub(super) fn unregister(&mut self, ring: &mut Ring) {
        if self.registration == Registration::Made {
            ring.unregister(self.slot);
            self.registration = Registration::to_come(ring);
        }
    }
}
