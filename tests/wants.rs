//! Handshakes that wait for the application, and wants that are gone once their reason is.

use std::sync::atomic::{AtomicUsize, Ordering};

use arenatls::{Backend as _, State, Want};
use arenatls_rig::contexts;
use arenatls_rig::mode::{authority, for_each_mode, for_each_tls13_mode, smallest_pool, usual_pool};
use arenatls_rig::native::{error_queue_is_empty, pause_certificate, pause_verification};
use arenatls_rig::pair::{Conn, Pair, Seen, carry, events, feed, take_output};
use arenatls_rig::stock::Stock;
use openssl::ssl::ClientHelloResponse;

/// Polls `conn` until it wants something other than `want`; how often it wanted that.
fn polls_while(conn: &mut Conn, want: Want) -> usize {
    for count in 0.. {
        assert_eq!(events(conn).expect("a pause is no failure"), []);
        assert!(error_queue_is_empty());
        if conn.want() != Some(want) {
            return count;
        }
        assert_eq!(conn.state(), State::Handshake);
        assert!(count < 100, "it wants {want:?} for ever");
    }
    unreachable!()
}

fn assert_completes(pair: &mut Pair) {
    pair.handshake();
    pair.settled();
    assert_eq!(pair.client.write(b"ping").unwrap().done(), Some(4));
    assert_eq!(pair.to_server(), [Seen::Plaintext(b"ping".to_vec())]);
}

#[test]
fn a_client_hello_callback_may_answer_later() {
    for_each_mode(|mode| {
        let mut builder = mode.server_builder();
        let left = AtomicUsize::new(3);
        builder.set_client_hello_callback(move |_, _| {
            let again = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok();
            Ok(if again { ClientHelloResponse::RETRY } else { ClientHelloResponse::SUCCESS })
        });
        let mut pair = mode.pair_of(&mode.client(), &builder.build(), usual_pool());
        events(&mut pair.client).unwrap();
        carry(&mut pair.client, &mut pair.server);
        assert_eq!(polls_while(&mut pair.server, Want::ClientHello), 3, "one poll asks once");
        assert_eq!(pair.server.want(), Some(Want::Input));
        assert_completes(&mut pair);
    });
}

#[test]
fn a_server_may_choose_its_certificate_later() {
    for_each_mode(|mode| {
        let mut builder = mode.server_builder();
        let left = pause_certificate(&mut builder, 2);
        let mut pair = mode.pair_of(&mode.client(), &builder.build(), usual_pool());
        events(&mut pair.client).unwrap();
        carry(&mut pair.client, &mut pair.server);
        assert_eq!(polls_while(&mut pair.server, Want::Certificate), 2);
        assert_eq!(left.load(Ordering::Relaxed), 0);
        assert_completes(&mut pair);
    });
}

#[test]
fn a_client_may_choose_its_certificate_later() {
    for_each_mode(|mode| {
        let somebody = authority().client("somebody");
        let server = contexts::mutual_server(&authority().server(), authority(), &mode.terms());
        let mut builder = contexts::mutual_client_builder(authority(), &somebody, &mode.terms());
        pause_certificate(&mut builder, 2);
        let mut pair = mode.pair_of(&builder.build(), &server, usual_pool());
        events(&mut pair.client).unwrap();
        pair.to_server();
        carry(&mut pair.server, &mut pair.client);
        assert_eq!(polls_while(&mut pair.client, Want::Certificate), 2);
        assert_completes(&mut pair);
        assert!(pair.server.ssl().peer_certificate().is_some());
    });
}

#[test]
fn a_verification_may_answer_later() {
    for_each_mode(|mode| {
        let mut builder = mode.client_builder();
        let left = pause_verification(&mut builder, 2);
        let mut pair = mode.pair_of(&builder.build(), &mode.server(), usual_pool());
        events(&mut pair.client).unwrap();
        pair.to_server();
        carry(&mut pair.server, &mut pair.client);
        assert_eq!(polls_while(&mut pair.client, Want::Verify), 2);
        assert_eq!(left.load(Ordering::Relaxed), 0);
        assert_completes(&mut pair);
    });
}

#[test]
fn what_arrives_while_a_client_chooses_is_kept() {
    // A TLS 1.3 server may speak before the client has answered; the client holds the keys for that already.
    for_each_tls13_mode(|mode| {
        let mut builder = mode.client_builder();
        pause_certificate(&mut builder, 5);
        let server = contexts::server_builder(&authority().server(), &mode.terms());
        let mut server = server;
        server.set_verify(openssl::ssl::SslVerifyMode::PEER);
        let mut stock = Stock::server(&server.build());
        let mut client = mode.pair_of(&builder.build(), &mode.server(), usual_pool()).client;
        events(&mut client).unwrap();
        stock.receive_from(&mut client);
        stock.write_early(b"welcome");
        feed(&mut client, &stock.take());
        assert_eq!(polls_while(&mut client, Want::Certificate), 5, "and no failure over data that came early");
        let flight = take_output(&mut client);
        assert_eq!(
            events(&mut client).expect("the data is authentic"),
            [Seen::HandshakeComplete, Seen::Plaintext(b"welcome".to_vec())]
        );
        stock.feed(&flight);
        assert!(stock.handshake().unwrap());
    });
}

/// Writes until nothing more fits; the last byte too.
fn fill(conn: &mut Conn) {
    for size in [16_384, 1024, 64, 1] {
        while conn.write(&vec![b'.'; size]).expect("a write").done().is_some() {}
    }
}

#[test]
fn a_write_that_wanted_a_drain_goes_on_after_it_without_any_other_call() {
    for_each_mode(|mode| {
        let mut pair = mode.connected_in(smallest_pool());
        fill(&mut pair.client);
        assert_eq!(pair.client.write(b"parked").unwrap(), arenatls::Progress::Want(Want::Drain));
        take_output(&mut pair.client);
        assert_eq!(pair.client.write(b"parked").unwrap().done(), Some(6));
    });
}

#[test]
fn a_write_parked_behind_a_key_update_answer_goes_on_after_a_drain() {
    for_each_tls13_mode(|mode| {
        let mut pair = mode.connected_in(smallest_pool());
        pair.settled();
        fill(&mut pair.client);
        assert!(pair.server.key_update(true).unwrap().done().is_some());
        assert_eq!(pair.server.write(b"abc").unwrap().done(), Some(3));
        assert_eq!(pair.client.write(b"parked").unwrap().done(), None);
        carry(&mut pair.server, &mut pair.client);
        let mut seen = events(&mut pair.client).expect("a blocked write is no reason to fail");
        assert_eq!(pair.client.write(b"parked").unwrap().done(), None, "still full");
        while pair.client.backend().unsent() > 0 {
            carry(&mut pair.client, &mut pair.server);
            events(&mut pair.server).expect("the server decrypts it all");
        }
        // No feed, no poll: only the drain came in between.
        assert_eq!(pair.client.write(b"parked").unwrap().done(), Some(6));
        seen.extend(events(&mut pair.client).unwrap());
        assert_eq!(seen, [Seen::Plaintext(b"abc".to_vec())]);
        assert_eq!(arenatls_rig::pair::plaintext(&pair.to_server()), b"parked");
    });
}

#[test]
fn a_want_is_gone_once_its_reason_is() {
    for_each_mode(|mode| {
        let mut pair = mode.connected_in(smallest_pool());
        pair.settled();
        // The engine would leave its reserve; an owner who fills that too is asked to drain.
        let room = pair.client.backend_mut().room(1).len();
        pair.client.backend_mut().commit(room);
        assert_eq!(pair.server.write(b"news").unwrap().done(), Some(4));
        assert_eq!(pair.to_client(), []);
        assert_eq!(pair.client.want(), Some(Want::Drain));
        take_output(&mut pair.client);
        assert_eq!(pair.client.write(b"x").unwrap().done(), Some(1));
        assert_ne!(pair.client.want(), Some(Want::Drain), "the last call went through");
        assert_eq!(events(&mut pair.client).unwrap(), [Seen::Plaintext(b"news".to_vec())]);
        assert_eq!(pair.client.want(), Some(Want::Input));
    });
}

#[test]
fn reading_is_possible_while_writing_is_blocked_and_the_other_way_round() {
    for_each_mode(|mode| {
        let mut pair = mode.connected_in(smallest_pool());
        pair.settled();
        fill(&mut pair.client);
        assert_eq!(pair.server.write(b"news").unwrap().done(), Some(4));
        carry(&mut pair.server, &mut pair.client);
        let seen = match events(&mut pair.client).unwrap() {
            seen if seen.is_empty() => {
                // The reserve is used up: then the drain is what it waits for, and only that.
                assert_eq!(pair.client.want(), Some(Want::Drain));
                take_output(&mut pair.client);
                events(&mut pair.client).unwrap()
            }
            seen => seen,
        };
        assert_eq!(seen, [Seen::Plaintext(b"news".to_vec())]);

        // Half a record in the input is no reason not to write.
        assert_eq!(pair.server.write(b"more").unwrap().done(), Some(4));
        let record = take_output(&mut pair.server);
        feed(&mut pair.client, &record[..10]);
        assert_eq!(events(&mut pair.client).unwrap(), []);
        assert_eq!(pair.client.want(), Some(Want::Input));
        take_output(&mut pair.client);
        assert_eq!(pair.client.write(b"meanwhile").unwrap().done(), Some(9));
        feed(&mut pair.client, &record[10..]);
        assert_eq!(events(&mut pair.client).unwrap(), [Seen::Plaintext(b"more".to_vec())]);
    });
}
