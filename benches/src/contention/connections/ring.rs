//! A ring driver at each end, each in its own thread.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use arenatls_engine::Progress;
use arenatls_fd_owner::{CloseReason, Config, ConnectionId, DriverEvent, RingDriver, Waker};
use openssl::ssl::{SslContext, SslSession};

use super::openssl_stream::client;
use super::{Made, Outcome, Plan};
use crate::contention::message::WATCHDOG;
use crate::setting::SERVER_NAME;

/// Warms up, and makes the connections that are timed.
///
/// # Errors
///
/// Says why there is no ring here.
pub(super) fn run((context, server): &(SslContext, SslContext), plan: Plan) -> Result<Outcome, String> {
    let config = Config::default().connections(u32::try_from(2 * plan.at_once).expect("at most 256 at a time"));
    let driver = RingDriver::new(config.clone()).map_err(|error| error.to_string())?;
    let (server, stop, (tell, hear)) = (server.clone(), Arc::new(AtomicBool::new(false)), mpsc::channel());
    let stopped = Arc::clone(&stop);
    let thread = thread::spawn(move || serve(config, server, &stopped, &tell));
    let (address, waker) = hear.recv().expect("the server's thread");
    let places = vec![None; 2 * plan.at_once];
    let mut clients = Clients { driver, context, address, resume: plan.resume, session: None, places };
    clients.make(plan.warm_up, plan.at_once);
    let outcome = Outcome::of(|| clients.make(plan.timed, plan.at_once));
    stop.store(true, Ordering::Release);
    waker.wake();
    thread.join().expect("the server");
    Ok(outcome)
}

fn serve(config: Config, context: SslContext, stop: &AtomicBool, tell: &mpsc::Sender<(SocketAddr, Waker)>) {
    let mut driver = RingDriver::new(config).expect("there was a ring before");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a port");
    driver.listen(listener.into(), context, Default::default()).expect("a first listener");
    tell.send((address, driver.waker())).expect("somebody waits for it");
    while !stop.load(Ordering::Acquire) {
        while let Some(event) = driver.poll_event().expect("the ring works") {
            match event {
                DriverEvent::Plaintext(id) => {
                    let byte = driver.plaintext(id).expect("it was told of")[0];
                    assert_eq!(write(&mut driver, id, byte), Progress::Done(1));
                }
                DriverEvent::PeerClosed(id) => driver.close(id).expect("it is open"),
                DriverEvent::Failed(_, error) => panic!("{error}"),
                _ => {}
            }
        }
        driver.turn(Some(WATCHDOG)).expect("the ring works");
    }
}

fn write(driver: &mut RingDriver, id: ConnectionId, byte: u8) -> Progress<usize> {
    driver.connection(id).expect("it is open").write(&[byte]).expect("it is up")
}

struct Clients<'a> {
    driver: RingDriver,
    context: &'a SslContext,
    address: SocketAddr,
    resume: bool,
    /// Of the first connection.
    session: Option<SslSession>,
    /// What is under way, by the place it has in the driver.
    places: Vec<Option<Made>>,
}

impl Clients<'_> {
    fn make(&mut self, count: usize, at_once: usize) -> Vec<Made> {
        let (mut begun, mut made) = (0, Vec::with_capacity(count));
        while made.len() < count {
            // Those that were made keep their places until the sockets' ends have come, too.
            while begun < count && begun - made.len() < at_once && self.driver.connections() < self.places.len() {
                self.begin();
                begun += 1;
            }
            self.driver.turn(Some(WATCHDOG)).expect("the ring works");
            while let Some(event) = self.driver.poll_event().expect("the ring works") {
                made.extend(self.on(&event));
            }
        }
        made
    }

    fn begin(&mut self) {
        let begun = Instant::now();
        let ssl = client(self.context, self.session.as_ref().filter(|_| self.resume));
        let id = self.driver.connect(self.address, ssl, SERVER_NAME).expect("there is a place");
        self.places[id.index()] = Some(Made { begun, took: Default::default(), resumed: false, session_id: None });
    }

    /// The connection whose ends have both said close_notify now.
    fn on(&mut self, event: &DriverEvent) -> Option<Made> {
        match *event {
            DriverEvent::HandshakeComplete(id) => assert_eq!(write(&mut self.driver, id, b'x'), Progress::Done(1)),
            DriverEvent::Plaintext(id) => {
                assert_eq!(*self.driver.plaintext(id).expect("it was told of"), *b"x");
                self.note(id);
                let connection = self.driver.connection(id).expect("it is open");
                assert_eq!(connection.close().expect("it is up"), Progress::Done(()));
            }
            // Both ends have said close_notify, and more is not waited for at blocking streams, either. The driver itself
            // goes on to the end of the socket.
            DriverEvent::PeerClosed(id) => {
                let made = self.places[id.index()].take()?;
                return Some(Made { took: made.begun.elapsed(), ..made });
            }
            DriverEvent::Closed(_, reason) => assert_eq!(reason, CloseReason::Done),
            DriverEvent::Failed(_, ref error) => panic!("{error}"),
            _ => {}
        }
        None
    }

    fn note(&mut self, id: ConnectionId) {
        let ssl = self.driver.connection(id).expect("it is open").ssl();
        let (resumed, session) = (ssl.session_reused(), ssl.session().expect("a session").to_owned());
        if let Some(made) = &mut self.places[id.index()] {
            (made.resumed, made.session_id) = (resumed, Some(session.id().to_vec()));
        }
        self.session.get_or_insert(session);
    }
}
