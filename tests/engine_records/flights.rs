//! Handshake flights larger than the output, and what arrives meanwhile.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use arenatls::{Capacities, Options, State, Want};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::identity::Authority;
use arenatls_rig::pair::{Pair, Seen, carry, events, feed, pool, take_output};
use openssl::ssl::{SslContext, SslVersion};

use crate::forge::{Forger, Suite};
use crate::support::{self, CASES};

/// A test of what would go on for ever if it were wrong.
fn in_time(test: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let handle = thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    match wait.recv_timeout(Duration::from_secs(20)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it goes round and round"),
        _ => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}

fn both() -> [Options; 2] {
    [Options::default(), Options::default().library_protection()]
}

#[test]
fn more_tickets_than_the_output_holds_leave_one_after_the_other() {
    for tickets in [70, 71, 72, 150] {
        for options in both() {
            in_time(move || {
                let ca = Authority::new("ca");
                let terms = Terms::default().version(SslVersion::TLS1_3).tickets(tickets);
                let (client, server) = (contexts::client(&ca, &terms), contexts::server(&ca.server(), &terms));
                let smallest = pool(Capacities::MINIMUM.total());
                let mut pair = Pair::with(&client, &server, &options, &options.control_limit(200), smallest);
                // What the client says is all there at once: its Finished and its first words.
                let _ = pair.client.poll_event().unwrap();
                carry(&mut pair.client, &mut pair.server);
                let _ = pair.server.poll_event().unwrap();
                carry(&mut pair.server, &mut pair.client);
                assert!(matches!(pair.client.poll_event(), Ok(None)));
                let finished = take_output(&mut pair.client);
                assert_eq!(events(&mut pair.client).unwrap(), [Seen::HandshakeComplete]);
                let _ = pair.client.write(b"first").unwrap();
                let _ = pair.client.write(b"second").unwrap();
                let words = take_output(&mut pair.client);
                feed(&mut pair.server, &[finished, words].concat());
                let mut seen = Vec::new();
                for _ in 0..100 {
                    seen.extend(events(&mut pair.server).expect("a server that goes on"));
                    if pair.server.backend().unsent() == 0 && pair.server.want() == Some(Want::Input) {
                        break;
                    }
                    take_output(&mut pair.server);
                }
                let texts = [&b"first"[..], b"second"].map(|text| Seen::Plaintext(text.to_vec()));
                assert_eq!(seen, [&[Seen::HandshakeComplete][..], &texts].concat());
            });
        }
    }
}

/// A client with a chain of certificates larger than its output, and a server that asks for it.
fn long_chain() -> (SslContext, SslContext) {
    let ca = Authority::new("ca");
    let terms = CASES[0].terms();
    let identity = ca.client("somebody").with_ballast(30, 2000);
    let mut client = contexts::mutual_client_builder(&ca, &identity, &terms);
    support::listen(&mut client);
    (client.build(), contexts::mutual_server(&ca.server(), &ca, &terms))
}

#[test]
fn what_the_server_says_before_our_finished_waits_and_is_opened_once() {
    for options in both() {
        in_time(move || {
            let (client, server) = long_chain();
            let mut pair = Pair::with(&client, &server, &options, &options, pool(Capacities::MINIMUM.total()));
            let _ = pair.client.poll_event().unwrap();
            carry(&mut pair.client, &mut pair.server);
            let _ = pair.server.poll_event().unwrap();
            let flight = take_output(&mut pair.server);
            feed(&mut pair.client, &flight);
            // The server has sent its Finished, and may write (RFC 8446 §4.4.4).
            assert!(matches!(pair.client.poll_event(), Ok(None)));
            assert_eq!((pair.client.state(), pair.client.want()), (State::Handshake, Some(Want::Drain)));
            let mut forger = Forger::tls13(Suite::Aes128Gcm, support::secret("server_traffic_secret_0", &pair.client));
            let early = [forger.data(b"early"), forger.data(b"bird")].concat();
            feed(&mut pair.client, &early);
            let mut seen = Vec::new();
            for _ in 0..20 {
                seen.extend(events(&mut pair.client).expect("a client that goes on"));
                take_output(&mut pair.client);
            }
            let texts = [&b"early"[..], b"bird"].map(|text| Seen::Plaintext(text.to_vec()));
            assert_eq!(seen, [&[Seen::HandshakeComplete][..], &texts].concat());
        });
    }
}
