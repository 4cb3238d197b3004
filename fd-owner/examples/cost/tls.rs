//! Echo and load by the driver.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use arenatls_engine::{Options, Progress};
use arenatls_fd_owner::{Config, DriverEvent, RingDriver};
use arenatls_rig::contexts::{client, server};
use arenatls_rig::identity::Authority;
use openssl::ssl::{Ssl, SslContext};

use crate::thread::{Cost, Meter};

/// Plaintext of a request, and of its answer (bytes).
pub(crate) const REQUEST: usize = 1024;

/// What is measured.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub(crate) address: SocketAddr,
    pub(crate) connections: usize,
    pub(crate) requests: usize,
}

impl Job {
    /// Requests before the count begins.
    pub(crate) fn warm_up(&self) -> usize {
        self.requests / 10
    }
}

pub(crate) fn contexts() -> (SslContext, SslContext) {
    let authority = Authority::new("cost");
    let terms = arenatls_rig::contexts::Terms::default().suite("TLS_AES_128_GCM_SHA256");
    (client(&authority, &terms), server(&authority.server(), &terms))
}

/// Answers until all connections are closed.
pub(crate) fn echo(listener: TcpListener, context: SslContext, job: &Job) -> Cost {
    let mut driver = RingDriver::new(Config::default()).expect("a ring");
    driver.listen(listener.into(), context, Options::default()).expect("a listener");
    let (mut done, mut turns, mut copy) = (0, 0, [0; REQUEST]);
    let (mut meter, mut cost) = (Meter::start(), None);
    while cost.is_none() || driver.connections() > 0 {
        while let Some(event) = driver.poll_event().expect("no failure") {
            match event {
                DriverEvent::Plaintext(id) => {
                    copy.copy_from_slice(&driver.plaintext(id).expect("what was told of"));
                    let written = driver.connection(id).map(|c| c.write(&copy));
                    assert_eq!(written, Some(Ok(Progress::Done(REQUEST))));
                    done += 1;
                    if done == job.warm_up() {
                        (meter, turns) = (Meter::start(), 0);
                    } else if done == job.warm_up() + job.requests {
                        cost = Some(meter.stop(job.requests, turns));
                    }
                }
                DriverEvent::PeerClosed(id) => driver.close(id).expect("it is open"),
                _ => {}
            }
        }
        driver.turn(Some(Duration::from_millis(100))).expect("the ring works");
        turns += 1;
    }
    cost.expect("counted")
}

/// Asks, on every connection again as soon as the answer is there.
pub(crate) fn load(job: &Job, context: &SslContext) {
    let mut driver = RingDriver::new(Config::default()).expect("a ring");
    for _ in 0..job.connections {
        driver.connect(job.address, Ssl::new(context).expect("an SSL"), "localhost").expect("a connection");
    }
    let mut asked = 0;
    while driver.connections() > 0 {
        while let Some(event) = driver.poll_event().expect("no failure") {
            let id = match event {
                DriverEvent::HandshakeComplete(id) => id,
                DriverEvent::Plaintext(id) => {
                    assert_eq!(driver.plaintext(id).map(|bytes| bytes.len()), Some(REQUEST));
                    id
                }
                _ => continue,
            };
            if asked < job.warm_up() + job.requests {
                let written = driver.connection(id).map(|c| c.write(&[7; REQUEST]));
                assert_eq!(written, Some(Ok(Progress::Done(REQUEST))));
                asked += 1;
            } else {
                driver.close(id).expect("it is open");
            }
        }
        driver.turn(Some(Duration::from_millis(100))).expect("the ring works");
    }
}
