//! A client that asks and a server that answers.

use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{Make, Role, Talker, Traffic, Watch, joined};
use crate::ring::{WATCHDOG, pattern};

/// A connection on which requests are sent and answered, one at a time: the client here, the server in a thread.
pub struct Conversation {
    // Dropped in this order: the server's thread ends when the client has.
    client: Box<dyn Talker>,
    server: Server,
    request: Vec<u8>,
    response: Vec<u8>,
    expected: Vec<u8>,
    watch: Watch,
    before: Traffic,
    submitted_before: u64,
}

struct Server {
    thread: Option<JoinHandle<Served>>,
    ready: Receiver<()>,
}

/// What a server has done, its last answer left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Requests that it answered.
    pub answers: u64,
    /// Submissions that it took for that.
    pub submissions: u64,
}

impl Conversation {
    /// Connects both ends as `make` does it; requests and responses have so many bytes each.
    ///
    /// # Panics
    ///
    /// If the handshake fails.
    #[must_use]
    pub fn start(make: &Make, nagle: bool, request: usize, response: usize) -> Conversation {
        let (client, server) = joined();
        let (client_watch, watch) = (Watch::of(&client), Watch::of(&server));
        // The server waits as long as there is a client; the client waits only for answers.
        client.set_read_timeout(Some(WATCHDOG)).expect("a time limit");
        let (tell, ready) = channel();
        let make_server = make.clone();
        let server_watch = Watch::of(&server);
        let thread = thread::spawn(move || {
            let mut talker = make_server(server, Role::Server);
            // Only now: a driver sets it as it thinks right.
            server_watch.set_nagle(nagle);
            let _ = tell.send(());
            serve(&mut *talker, request, response)
        });
        let server = Server { thread: Some(thread), ready };
        let client = make(client, Role::Client);
        client_watch.set_nagle(nagle);
        // The server's handshake is over once all of the client's has come: what comes from now on are requests.
        server.ready.recv().expect("a server that lives");
        let (before, submitted_before) = (watch.traffic(), client.submissions());
        let (request, expected) = (pattern(0, request), pattern(1, response));
        Conversation { client, server, request, response: vec![0; response], expected, watch, before, submitted_before }
    }

    /// Sends a request and waits for the response; how long that took.
    ///
    /// # Panics
    ///
    /// If another response comes than the server sent.
    pub fn ask(&mut self) -> Duration {
        let begun = Instant::now();
        self.client.send(&self.request);
        let answered = self.client.receive(&mut self.response);
        let took = begun.elapsed();
        assert!(answered, "a server that answers");
        assert!(self.response == self.expected, "what the server sent");
        took
    }

    /// What has come in at the server since the first request, as its kernel counts it. All of the last request is in it
    /// once that was answered.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.watch.traffic().since(self.before)
    }

    /// The client's submissions since the first request.
    #[must_use]
    pub fn submissions(&self) -> u64 {
        self.client.submissions() - self.submitted_before
    }

    /// Who protects the requests.
    #[must_use]
    pub fn protection(&mut self) -> String {
        self.client.protection()
    }

    /// Ends the connection; what the server did.
    ///
    /// # Panics
    ///
    /// If the server did.
    #[must_use]
    pub fn end(self) -> Served {
        let Conversation { client, mut server, .. } = self;
        drop(client);
        server.thread.take().expect("it was not joined").join().expect("a server that ends well")
    }
}

fn serve(talker: &mut dyn Talker, request: usize, response: usize) -> Served {
    let (expected, answer) = (pattern(0, request), pattern(1, response));
    let mut asked = vec![0; request];
    let before = talker.submissions();
    let (mut answered, mut served) = (0, Served { answers: 0, submissions: 0 });
    while talker.receive(&mut asked) {
        // Every answer so far has left. What leaves after the last may be a farewell.
        served = Served { answers: answered, submissions: talker.submissions() - before };
        assert!(asked == expected, "what the client sent");
        talker.send(&answer);
        answered += 1;
    }
    served
}
