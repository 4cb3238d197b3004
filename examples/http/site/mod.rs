//! What is served: connections by their events, with the memory of each used again by the next.

use std::time::Duration;

use arenatls::fd_owner::{ConnectionId, DriverEvent, RingDriver};

mod body;
mod clock;
mod files;
mod head;
mod peer;
mod reply;
mod request;

use clock::Clock;
pub(crate) use files::Root;
use peer::{Peer, Sent};

/// The connections of one driver, and what each is about.
pub(crate) struct Site {
    peers: Vec<Peer>,
    clock: Clock,
    /// How long a request may take to come in.
    limit: Duration,
    root: Option<Root>,
}

impl Site {
    /// A site for a driver of so many connections, with the files below `root`.
    pub(crate) fn new(connections: u32, limit: Duration, root: Option<Root>) -> Site {
        Site { peers: (0..connections).map(|_| Peer::default()).collect(), clock: Clock::default(), limit, root }
    }

    /// Reacts to one event.
    pub(crate) fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        match *event {
            DriverEvent::Accepted(id, _) | DriverEvent::Closed(id, _) => self.peers[id.index()].restart(),
            DriverEvent::Plaintext(id) | DriverEvent::Writable(id) => self.serve(driver, id),
            DriverEvent::PeerClosed(id) => {
                self.peers[id.index()].hear_the_end();
                self.serve(driver, id);
            }
            DriverEvent::FileSent(id, _) => {
                self.peers[id.index()].file_is_sent();
                self.serve(driver, id);
            }
            // The length that was announced cannot be kept.
            DriverEvent::SendFailed(id, _) | DriverEvent::FileFailed(id, _) => give_up(driver, id),
            _ => {}
        }
    }

    /// Sends what waits, and only then looks at what has come: a peer that does not read is not read from.
    fn serve(&mut self, driver: &mut RingDriver, id: ConnectionId) {
        let peer = &mut self.peers[id.index()];
        if !send(driver, id, peer) {
            return;
        }
        if let Some(bytes) = driver.plaintext(id) {
            // What is left is told of again.
            let heard = peer.hear(&bytes, &mut self.clock, self.limit, self.root.as_ref());
            bytes.consume(heard);
            if !send(driver, id, peer) {
                return;
            }
        }
        if peer.is_done(&mut self.clock) && send(driver, id, peer) {
            // That it is closing already is as good.
            let _ = driver.close(id);
        }
    }
}

/// False if the peer has to take something first, or takes nothing any more.
fn send(driver: &mut RingDriver, id: ConnectionId, peer: &mut Peer) -> bool {
    let Some(connection) = driver.connection(id) else { return false };
    match peer.send(connection) {
        Ok(Sent::All) => true,
        Ok(Sent::Part) => false,
        Ok(Sent::File(file, length)) => {
            if driver.send_file(id, file, 0..length).is_err() {
                give_up(driver, id);
            }
            false
        }
        Ok(Sent::Nowhere) => {
            give_up(driver, id);
            false
        }
        // The driver tells of it, and closes.
        Err(_) => false,
    }
}

fn give_up(driver: &mut RingDriver, id: ConnectionId) {
    // That it is no more is as good.
    let _ = driver.abort(id);
}
