//! New keys, in kernels that take them and in others.

use arenatls::openssl::ssl::{Ssl, SslVersion};
use arenatls::{Error, Options, Progress, Protection};
use arenatls_fd_owner::{CloseReason, Config, ConnectionId, DriverEvent, RingDriver};
use arenatls_rig::ring::{App, Told, driver, pattern, reasons, run_out, run_until};

use crate::support::{
    Caller, DIRECTIONS, SUITES, config, failure, kernel_has_it, kernel_rekeys, pair_of_contexts, watched,
};

/// A client on a ring without the kernel that asks for new keys once it has heard from the server.
fn asks_for_keys(
    ask_peer: bool,
    config: Config,
    act: impl FnMut(&mut RingDriver, ConnectionId) + 'static,
) -> (Vec<Told>, Vec<Told>) {
    let (client_context, server_context) = pair_of_contexts(SslVersion::TLS1_3, SUITES[0].1);
    let (server, _) = watched(config, server_context).unwrap();
    let mut ours = driver(Config::default().connections(1)).unwrap();
    let id = ours.connect(server.address, Ssl::new(&client_context).unwrap(), "localhost").unwrap();
    let (mut log, mut act) = (Vec::new(), act);
    let mut app = move |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::HandshakeComplete(id) => {
            assert_eq!(driver.connection(id).unwrap().write(b"first").unwrap(), Progress::Done(5));
        }
        DriverEvent::Plaintext(id) => {
            let got = driver.plaintext(id).unwrap().to_vec();
            if got == b"first" {
                let connection = driver.connection(id).unwrap();
                assert_eq!(connection.key_update(ask_peer).unwrap(), Progress::Done(()));
                assert_eq!(connection.write(b"second").unwrap(), Progress::Done(6));
            } else {
                assert_eq!(got, b"second");
                act(driver, id);
            }
        }
        _ => {}
    };
    run_out(&mut ours, &mut app, &mut log);
    assert_eq!(log.iter().filter(|told| **told == Told::HandshakeComplete(id)).count(), 1);
    (log, server.stop())
}

#[test]
fn new_keys_that_the_kernel_cannot_take_end_the_connection_with_a_word() {
    if !kernel_has_it() {
        return;
    }
    if kernel_rekeys() {
        eprintln!("SKIPPED: this kernel takes new keys");
        return;
    }
    let cases = [
        (false, config(true, true)),
        (true, config(true, true)),
        (false, config(false, true)),
        (true, config(true, false)),
    ];
    for (ask_peer, config) in cases {
        let (client, server) = asks_for_keys(ask_peer, config, |_, _| panic!("nothing can come back"));
        assert_eq!(failure(&server), Error::KernelCannotRekey.to_string());
        assert_eq!(failure(&client), "the peer sent the fatal alert internal_error (80)");
        assert_eq!(reasons(&server), [CloseReason::Failed]);
    }
}

/// Where the receiving keys are the engine's, or the kernel takes new ones.
#[test]
fn new_keys_that_can_be_taken_are_taken() {
    if !kernel_has_it() {
        return;
    }
    let mut cases = vec![(false, config(true, false)), (true, config(false, false))];
    if kernel_rekeys() {
        cases.extend(DIRECTIONS.map(|(sending, receiving)| (true, config(sending, receiving))));
    }
    for (ask_peer, config) in cases {
        let (client, server) = asks_for_keys(ask_peer, config, |driver, id| driver.close(id).unwrap());
        assert_eq!(reasons(&client), [CloseReason::Done], "{server:?}");
        assert_eq!(reasons(&server), [CloseReason::Done]);
    }
}

/// Sends so many bytes, and when they are back asks for new keys and sends them again.
struct Rounds {
    round: Vec<u8>,
    at: usize,
    back: Vec<u8>,
    left: u32,
    generations: (u64, u64),
}

impl App for Rounds {
    fn on(&mut self, driver: &mut RingDriver, event: &DriverEvent) {
        let id = match *event {
            DriverEvent::HandshakeComplete(id) | DriverEvent::Writable(id) => id,
            DriverEvent::Plaintext(id) => {
                self.back.extend_from_slice(&driver.plaintext(id).unwrap());
                id
            }
            _ => return,
        };
        let connection = driver.connection(id).unwrap();
        if self.back.len() == self.round.len() {
            assert!(self.back == self.round, "{} rounds before the end", self.left);
            self.back.clear();
            if self.left == 0 {
                self.generations = (connection.sent().key_generations, connection.received().key_generations);
                return driver.close(id).unwrap();
            }
            (self.at, self.left) = (0, self.left - 1);
            let _ = connection.key_update(true).unwrap();
        }
        if let Ok(Progress::Done(n)) = connection.write(&self.round[self.at..]) {
            self.at += n;
        }
    }
}

#[test]
fn keys_are_replaced_in_the_middle_of_a_stream() {
    if !kernel_has_it() {
        return;
    }
    if !kernel_rekeys() {
        eprintln!("SKIPPED: this kernel takes no new keys");
        return;
    }
    for (_, suite) in &SUITES[..3] {
        let (client_context, server_context) = pair_of_contexts(SslVersion::TLS1_3, suite);
        let (server, seen) = watched(config(true, true), server_context).unwrap();
        // Keys last for three records, too, so that some are replaced within a round.
        let mut ours = driver(config(true, true).options(Options::default().rekey_after(3))).unwrap();
        ours.connect(server.address, Ssl::new(&client_context).unwrap(), "localhost").unwrap();
        let mut rounds = Rounds { round: pattern(5, 90_000), at: 0, back: Vec::new(), left: 20, generations: (0, 0) };
        let mut log = Vec::new();
        run_out(&mut ours, &mut rounds, &mut log);
        assert_eq!(reasons(&log), [CloseReason::Done], "{log:?}");
        assert!(rounds.generations.0 >= 40 && rounds.generations.1 == 21, "{suite}: {:?} keys", rounds.generations);
        assert_eq!(reasons(&server.stop()), [CloseReason::Done]);
        assert_eq!(*seen.lock().unwrap(), [(Protection::Kernel, Protection::Kernel)], "{suite}");
    }
}

#[test]
fn our_own_new_keys_are_refused_and_nothing_changes() {
    if !kernel_has_it() {
        return;
    }
    if kernel_rekeys() {
        eprintln!("SKIPPED: this kernel takes new keys");
        return;
    }
    for (sending, receiving) in DIRECTIONS {
        let (client_context, server_context) = pair_of_contexts(SslVersion::TLS1_3, SUITES[0].1);
        let (server, _) = watched(Config::default().connections(8), server_context).unwrap();
        let mut ours = driver(config(sending, receiving)).unwrap();
        let id = ours.connect(server.address, Ssl::new(&client_context).unwrap(), "localhost").unwrap();
        let mut log = Vec::new();
        let ready = |log: &[Told]| log.contains(&Told::HandshakeComplete(id));
        run_until(&mut ours, &mut |_: &mut RingDriver, _: &DriverEvent| {}, &mut log, ready);
        let connection = ours.connection(id).unwrap();
        assert!(matches!(connection.key_update(true), Err(Error::Misuse(_))));
        assert_eq!(matches!(connection.key_update(false), Err(Error::Misuse(_))), sending);
        assert!(
            connection.seal_into(b"x", &mut [0; 100]).is_err() == sending
                && connection.sealed_len(1).is_none() == sending
        );
        let mut caller = Caller::new(5000);
        caller.on(&mut ours, &DriverEvent::HandshakeComplete(id));
        run_out(&mut ours, &mut caller, &mut log);
        assert!(caller.back == caller.bytes, "{log:?}");
        assert_eq!(reasons(&log), [CloseReason::Done]);
        server.stop();
    }
}

#[test]
fn a_key_that_has_done_its_work_ends_the_connection() {
    if !kernel_has_it() {
        return;
    }
    if kernel_rekeys() {
        eprintln!("SKIPPED: this kernel takes new keys");
        return;
    }
    let (client_context, server_context) = pair_of_contexts(SslVersion::TLS1_3, SUITES[0].1);
    let (server, _) = watched(Config::default().connections(8), server_context).unwrap();
    let mut ours = driver(config(true, true).options(Options::default().rekey_after(10))).unwrap();
    let id = ours.connect(server.address, Ssl::new(&client_context).unwrap(), "localhost").unwrap();
    let (mut log, mut written) = (Vec::new(), 0);
    let mut app = |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::HandshakeComplete(id) => {
            let connection = driver.connection(id).unwrap();
            while let Ok(Progress::Done(n)) = connection.write(b"again") {
                written += n;
            }
        }
        DriverEvent::Plaintext(id) => drop(driver.plaintext(id)),
        _ => {}
    };
    run_out(&mut ours, &mut app, &mut log);
    assert_eq!(written, 50);
    assert_eq!(failure(&log), Error::KeysWornOut { records: 10 }.to_string());
    let log = server.stop();
    assert!(log.iter().any(|told| matches!(told, Told::PeerClosed(_))), "the last word was close_notify: {log:?}");
    let _ = id;
}
