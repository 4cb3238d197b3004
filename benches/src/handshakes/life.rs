//! The life of a connection that carries nothing: made, shaken, closed, dropped.

use super::watch::{Side, Watch};
use crate::ends::{Agreed, End, Kit};
use crate::wire::Wire;

/// Both ways between client and server.
pub(super) struct Wires {
    there: Wire,
    back: Wire,
}

impl Wires {
    pub(super) fn new() -> Self {
        Self { there: Wire::new(), back: Wire::new() }
    }
}

/// What a life came to.
pub(super) struct Lived {
    /// What the client's handshake came to, and the server's.
    pub(super) agreed: [Agreed; 2],
    /// Bytes that the client sent, and the server; close_notify is not among them.
    pub(super) sent: [usize; 2],
}

/// Lives one: both ends are made, shake hands until nobody has anything to say (tickets included), the client says
/// close_notify, the server hears it, both are dropped. `watch` knows whose work it is, and looks away from what is
/// neither's.
pub(super) fn live<K: Kit>(clients: &K, servers: &K, wires: &mut Wires, watch: &mut impl Watch) -> Lived {
    watch.turn_to(Side::Client);
    let client = clients.client();
    live_with(client, servers, wires, watch, |_| {})
}

/// As [`live`], for a client that is made already. `met` sees it before it closes.
pub(super) fn live_with<K: Kit>(
    mut client: K::Client,
    servers: &K,
    wires: &mut Wires,
    watch: &mut impl Watch,
    met: impl FnOnce(&mut K::Client),
) -> Lived {
    let Wires { there, back } = wires;
    let mut sent = [0; 2];
    watch.turn_to(Side::Client);
    client.go_on(back, there);
    watch.turn_to(Side::Server);
    let mut server = servers.server();
    loop {
        sent[0] += there.len();
        let server_done = server.go_on(there, back);
        sent[1] += back.len();
        there.reset();
        watch.turn_to(Side::Client);
        let client_done = client.go_on(back, there);
        back.reset();
        if client_done && server_done && there.is_empty() {
            break;
        }
        watch.turn_to(Side::Server);
    }
    watch.turn_to(Side::Nobody);
    let agreed = [client.agreed(), server.agreed()];
    met(&mut client);
    close::<K>(client, server, wires, watch);
    Lived { agreed, sent }
}

fn close<K: Kit>(mut client: K::Client, mut server: K::Server, wires: &mut Wires, watch: &mut impl Watch) {
    let Wires { there, back } = wires;
    watch.turn_to(Side::Client);
    client.close(there);
    drop(client);
    watch.turn_to(Side::Server);
    server.go_on(there, back);
    drop(server);
    watch.turn_to(Side::Nobody);
    there.reset();
    back.reset();
}
