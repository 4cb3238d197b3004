//! arenatls on a ring, with the default settings of driver and engine.

use std::net::TcpListener;
use std::sync::Arc;

use arenatls_engine::{Options, Progress};
use arenatls_fd_owner::{Config, ConnectionId, DriverEvent, RingDriver};

use super::{LONG, Server};
use crate::loopback::work::{Answer, Job, Sink, Work};

pub(super) struct Ring;

/// With the crate `ring` as the record AEAD.
#[cfg(feature = "ring")]
pub(super) struct RingAead;

impl Server for Ring {
    fn serve(&self, listener: TcpListener, job: &Arc<Job>) {
        serve(listener, job, Options::default());
    }
}

#[cfg(feature = "ring")]
impl Server for RingAead {
    fn serve(&self, listener: TcpListener, job: &Arc<Job>) {
        serve(listener, job, Options::default().aead(arenatls_engine::AeadChoice::Ring));
    }
}

fn serve(listener: TcpListener, job: &Job, options: Options) {
    // One more than come: at its limit a driver pauses the listener, which is none of this bench's business.
    let most = u32::try_from(job.connections + 1).expect("no more than a driver takes");
    let config = Config::default().connections(most).handshake_timeout(LONG).idle_timeout(Some(LONG));
    let mut driver = RingDriver::new(config).expect("a ring");
    driver.listen(listener.into(), Job::setting().openssl_server(), options).expect("a listener");
    let mut app = App::new(job);
    loop {
        while let Some(event) = driver.poll_event().expect("the ring works") {
            app.on(&mut driver, &event);
        }
        if app.ended == job.connections {
            return;
        }
        driver.turn(Some(LONG)).expect("the ring works");
    }
}

struct App<'a> {
    job: &'a Job,
    answer: Answer,
    sink: Sink,
    record: Box<[u8]>,
    /// How much of a record of its stream each connection has sent.
    sent: Vec<usize>,
    ended: usize,
}

impl<'a> App<'a> {
    fn new(job: &'a Job) -> Self {
        let places = job.connections + 1;
        Self {
            job,
            answer: Answer::new(),
            sink: Sink::new(job, places),
            record: job.record(),
            sent: vec![0; places],
            ended: 0,
        }
    }

    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        match *event {
            DriverEvent::Plaintext(id) => self.hear(driver, id),
            DriverEvent::HandshakeComplete(id) | DriverEvent::Writable(id) if self.job.work == Work::Send => {
                self.stream(driver, id);
            }
            // The client is gone.
            DriverEvent::SendFailed(id, _) => driver.abort(id).expect("it is open"),
            DriverEvent::Closed(..) => self.ended += 1,
            DriverEvent::Failed(_, ref error) => panic!("a connection fails: {error}"),
            DriverEvent::AcceptFailed(_, ref error) => panic!("no connection: {error}"),
            _ => {}
        }
    }

    fn hear(&mut self, driver: &mut RingDriver, id: ConnectionId) {
        let Some(bytes) = driver.plaintext(id) else { return };
        if self.job.work == Work::Receive {
            return self.sink.take(self.job, id.index(), &bytes);
        }
        self.answer.to(&bytes);
        let Some(connection) = driver.connection(id) else { return };
        let written = connection.write(self.answer.bytes()).expect("the client is well");
        assert_eq!(written, Progress::Done(self.answer.bytes().len()), "there is room for one answer");
    }

    fn stream(&mut self, driver: &mut RingDriver, id: ConnectionId) {
        let Some(connection) = driver.connection(id) else { return };
        let sent = &mut self.sent[id.index()];
        while let Progress::Done(n) = connection.write(&self.record[*sent..]).expect("the client is well") {
            *sent = (*sent + n) % self.record.len();
            self.job.has_moved(n);
        }
    }
}
