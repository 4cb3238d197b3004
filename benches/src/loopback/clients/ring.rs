//! The client of all who speak TLS: arenatls on a ring.

use std::net::SocketAddr;
use std::time::Duration;

use arenatls_engine::Progress;
use arenatls_fd_owner::{Config, ConnectionId, DriverEvent, RingDriver};
use openssl::ssl::{Ssl, SslContext};

use super::{Client, OPENING};
use crate::loopback::load::{Load, Now};
use crate::loopback::servers::LONG;
use crate::loopback::work::{Job, Work};
use crate::setting::SERVER_NAME;

/// It looks at the time so often, at least.
const PULSE: Duration = Duration::from_millis(20);

/// arenatls on a ring.
#[derive(Debug, Clone, Copy)]
pub struct Ring;

impl Client for Ring {
    fn run(&self, address: SocketAddr, load: &mut Load) {
        let context = Job::setting().openssl_client();
        let mut clients = Clients::new(load.connections());
        loop {
            clients.open(address, &context, load);
            while let Some(event) = clients.driver.poll_event().expect("the ring works") {
                clients.on(event, load);
            }
            match load.now() {
                Now::GoOn => {}
                Now::Begin => (0..load.active()).for_each(|which| clients.begin(which, load)),
                Now::Drop => clients.drop_all(),
            }
            if clients.over && clients.driver.connections() == 0 {
                return;
            }
            clients.driver.turn(Some(PULSE)).expect("the ring works");
        }
    }
}

struct Clients {
    driver: RingDriver,
    /// In the order of their opening.
    ids: Vec<ConnectionId>,
    /// Which of them has that index in the driver.
    which: Vec<usize>,
    /// How much of a record of its stream each has sent.
    sent: Vec<usize>,
    over: bool,
}

impl Clients {
    fn new(connections: usize) -> Clients {
        let most = u32::try_from(connections).expect("no more than a driver takes");
        let config = Config::default().connections(most).handshake_timeout(LONG).idle_timeout(None);
        Clients {
            driver: RingDriver::new(config).expect("a ring"),
            ids: Vec::with_capacity(connections),
            which: vec![0; connections],
            sent: vec![0; connections],
            over: false,
        }
    }

    fn open(&mut self, address: SocketAddr, context: &SslContext, load: &Load) {
        while self.ids.len() < load.connections() && self.ids.len() - load.ready() < OPENING {
            let ssl = Ssl::new(context).expect("OpenSSL makes a client");
            let id = self.driver.connect(address, ssl, SERVER_NAME).expect("a connection is made");
            self.which[id.index()] = self.ids.len();
            self.ids.push(id);
        }
    }

    fn on(&mut self, event: DriverEvent, load: &mut Load) {
        match event {
            DriverEvent::HandshakeComplete(_) => load.one_more(),
            DriverEvent::Plaintext(id) => self.hear(id, load),
            DriverEvent::Writable(id) if load.work() == Work::Receive => self.stream(self.which[id.index()], load),
            DriverEvent::Closed(..) | DriverEvent::Writable(_) => {}
            event if !self.over => panic!("a client is told: {event:?}"),
            _ => {}
        }
    }

    fn begin(&mut self, which: usize, load: &mut Load) {
        match load.work() {
            Work::Answer => self.ask(which, load),
            Work::Receive => self.stream(which, load),
            Work::Send => {}
        }
    }

    fn hear(&mut self, id: ConnectionId, load: &mut Load) {
        let which = self.which[id.index()];
        let Some(bytes) = self.driver.plaintext(id) else { return };
        if load.work() == Work::Send {
            return load.streamed(which, &bytes);
        }
        load.answered(which, &bytes);
        self.ask(which, load);
    }

    fn ask(&mut self, which: usize, load: &mut Load) {
        let Some(request) = load.request(which) else { return };
        let connection = self.driver.connection(self.ids[which]).expect("it is open");
        let written = connection.write(request).expect("the server is well");
        assert_eq!(written, Progress::Done(request.len()), "there is room for one request");
    }

    fn stream(&mut self, which: usize, load: &Load) {
        let Some(connection) = self.driver.connection(self.ids[which]) else { return };
        let record = load.record();
        while let Progress::Done(n) = connection.write(&record[self.sent[which]..]).expect("the server is well") {
            self.sent[which] = (self.sent[which] + n) % record.len();
        }
    }

    /// Without a word: what servers do about that is in nobody's figures.
    fn drop_all(&mut self) {
        self.over = true;
        for &id in &self.ids {
            self.driver.abort(id).expect("it is open");
        }
    }
}
