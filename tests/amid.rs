//! Calls that come at a bad moment: half a handshake message is here, a key has just changed, the queue has wrapped, a
//! flight is longer than the queue and its records come early.

use std::sync::mpsc;
use std::time::Duration;

use arenatls::{Options, Progress, Protection, State, Want};
use arenatls_rig::contexts;
use arenatls_rig::forge::{Forged, Forger, Secrets};
use arenatls_rig::mode::{Mode, authority, for_each_mode, for_each_tls13_mode, identity, smallest_pool, usual_pool};
use arenatls_rig::pair::{Conn, Pair, Seen, carry, events, feed, plaintext, pool, take_output};

const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
/// KeyUpdate, update_not_requested and update_requested (RFC 8446 §4.6.3).
const KEY_UPDATE: [u8; 5] = [24, 0, 0, 1, 0];
const KEY_UPDATE_REQUESTED: [u8; 5] = [24, 0, 0, 1, 1];

/// A client in traffic, its server's end, and one who speaks under the server's keys.
fn client_and_forger(mode: &Mode) -> (Pair, Forger) {
    let mut server = contexts::server_builder(identity(), &mode.terms().tickets(0));
    let secrets = Secrets::watch(&mut server);
    let mut pair = mode.pair_of(&mode.client(), &server.build(), usual_pool());
    pair.handshake();
    let forger = secrets.forger(pair.server.ssl(), Forged::Server, 0);
    (pair, forger)
}

/// All of a KeyUpdate but its last byte has arrived when `call` is made, that after it.
fn amid_a_message(call: impl Fn(&mut Conn)) {
    for_each_tls13_mode(|mode| {
        let (mut pair, mut forger) = client_and_forger(mode);
        feed(&mut pair.client, &forger.record(HANDSHAKE, &KEY_UPDATE[..4]));
        assert_eq!(events(&mut pair.client).unwrap(), []);
        call(&mut pair.client);
        assert_eq!(pair.client.state(), State::Traffic, "{}", mode.name);
        feed(&mut pair.client, &forger.record(HANDSHAKE, &KEY_UPDATE[4..]));
        assert_eq!(events(&mut pair.client).unwrap(), [], "{}", mode.name);

        // Now all of it works.
        assert_eq!(pair.client.write(b"after").unwrap(), Progress::Done(5));
        assert_eq!(pair.client.key_update(false).unwrap(), Progress::Done(()));
        assert_eq!(pair.client.close().unwrap(), Progress::Done(()));
        let seen = pair.to_server();
        assert!(plaintext(&seen).ends_with(b"after"), "{}: {seen:?}", mode.name);
        assert_eq!(seen.last(), Some(&Seen::PeerClosed));
    });
}

#[test]
fn a_write_amid_a_message_goes_out_or_waits_for_the_rest() {
    amid_a_message(|client| match client.write(b"amid") {
        Ok(Progress::Done(4)) => assert_eq!(client.protection().0, Protection::Engine),
        Ok(Progress::Want(Want::Input)) => assert_eq!(client.protection().0, Protection::Library),
        other => panic!("{other:?}"),
    });
}

#[test]
fn a_key_update_amid_a_message_waits_for_the_rest() {
    amid_a_message(|client| assert_eq!(client.key_update(true).unwrap(), Progress::Want(Want::Input)));
}

#[test]
fn a_close_amid_a_message_waits_for_the_rest_and_is_not_said_to_be_done() {
    amid_a_message(|client| assert_eq!(client.close().unwrap(), Progress::Want(Want::Input)));
}

#[test]
fn the_answer_to_a_key_update_leaves_at_once_and_before_the_next_record() {
    for_each_tls13_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        let before = pair.server.sent().key_generations;
        assert_eq!(pair.client.key_update(true).unwrap(), Progress::Done(()));
        assert_eq!(pair.to_server(), []);
        let answer = take_output(&mut pair.server);
        assert!((22..=64).contains(&answer.len()), "{}: {} bytes", mode.name, answer.len());
        if pair.server.protection().0 == Protection::Engine {
            assert_eq!(pair.server.sent().key_generations, before + 1);
        }
        assert_eq!(pair.server.write(b"under the new key").unwrap(), Progress::Done(17));
        feed(&mut pair.client, &answer);
        assert_eq!(pair.to_client(), [Seen::Plaintext(b"under the new key".to_vec())]);
    });
}

#[test]
fn keys_replaced_from_both_ends_again_and_again_stay_in_step() {
    for_each_tls13_mode(|mode| {
        let mut pair = mode.connected();
        for n in 0..6u8 {
            assert_eq!(pair.client.key_update(n % 2 == 0).unwrap(), Progress::Done(()));
            assert_eq!(pair.client.write(&[n; 3]).unwrap(), Progress::Done(3));
            assert_eq!(pair.server.key_update(n % 3 == 0).unwrap(), Progress::Done(()));
            assert_eq!(pair.server.write(&[n; 2]).unwrap(), Progress::Done(2));
            let (client, server) = pair.settled();
            assert_eq!((plaintext(&client), plaintext(&server)), (vec![n; 2], vec![n; 3]), "{}", mode.name);
        }
    });
}

#[test]
fn a_key_update_request_amid_a_message_of_many_records_is_answered_once() {
    for_each_tls13_mode(|mode| {
        let (mut pair, mut forger) = client_and_forger(mode);
        let records: Vec<u8> =
            KEY_UPDATE_REQUESTED.iter().flat_map(|byte| forger.record(HANDSHAKE, &[*byte])).collect();
        feed(&mut pair.client, &records);
        assert_eq!(events(&mut pair.client).unwrap(), []);
        let answer = take_output(&mut pair.client);
        assert_eq!(feed(&mut pair.server, &answer), answer.len());
        assert_eq!(events(&mut pair.server).unwrap(), []);
        assert_eq!(pair.server.received().control_records, 1, "{}", mode.name);
    });
}

#[test]
fn a_write_after_the_output_wrapped_finds_its_room() {
    for_each_mode(|mode| {
        let mut pair = mode.connected_in(pool(64 * 1024));
        pair.settled();
        let data = vec![7; 16_384];
        let mut accepted = 0;
        for round in 0..40 {
            // Never all of it is carried, so the queue wraps at every kind of offset.
            while let Progress::Done(n) = pair.client.write(&data[..16_384 - round * 100]).unwrap() {
                accepted += n;
            }
            let unsent = pair.client.backend().to_send().len();
            let ciphertext = pair.client.backend().to_send()[..unsent / 2 + 1].to_vec();
            assert_eq!(feed(&mut pair.server, &ciphertext), ciphertext.len());
            pair.client.backend_mut().sent(ciphertext.len()).unwrap();
            accepted -= plaintext(&events(&mut pair.server).unwrap()).len();
        }
        accepted -= plaintext(&pair.settled().1).len();
        assert_eq!(accepted, 0, "{}", mode.name);
    });
}

#[test]
fn tickets_beyond_the_queue_do_not_spin() {
    let (done, finished) = mpsc::channel();
    std::thread::spawn(move || {
        for_each_tls13_mode(|mode| {
            let server = contexts::server(identity(), &mode.terms().tickets(100));
            let options = mode.options.control_limit(100);
            let mut pair = Pair::with(&mode.client(), &server, &options, &options, smallest_pool());
            pair.handshake();
            assert_eq!(pair.client.received().control_records, 100, "{}", mode.name);
        });
        done.send(()).unwrap();
    });
    finished.recv_timeout(Duration::from_secs(30)).expect("the handshake came to its end, and no assertion failed");
}

#[test]
fn data_behind_a_finished_waits_for_a_flight_that_is_longer_than_the_queue() {
    // RFC 8446 §4.4.4: a server may send right after its Finished; the client is still busy with its own flight.
    let terms =
        contexts::Terms::default().version(openssl::ssl::SslVersion::TLS1_3).suite("TLS_AES_128_GCM_SHA256").tickets(0);
    let me = authority().client("me").with_ballast(60, 1000);
    for options in [Options::default(), Options::default().library_protection()] {
        let mut client = contexts::mutual_client_builder(authority(), &me, &terms);
        let secrets = Secrets::watch(&mut client);
        let server = contexts::mutual_server(identity(), authority(), &terms);
        let mut pair = Pair::with(&client.build(), &server, &options, &options, smallest_pool());
        let (mut early, mut seen) = (false, Vec::new());
        while pair.client.state() != State::Traffic {
            seen.extend(events(&mut pair.client).unwrap());
            // By now OpenSSL has logged its secret, the Finished is read and the client's flight is under way.
            if !early && pair.client.want() == Some(Want::Drain) {
                let mut forger = secrets.forger(pair.client.ssl(), Forged::Server, 0);
                feed(&mut pair.client, &forger.record(DATA, b"half a round trip early"));
                early = true;
            }
            carry(&mut pair.client, &mut pair.server);
            events(&mut pair.server).unwrap();
            if !early {
                carry(&mut pair.server, &mut pair.client);
            }
        }
        assert!(early);
        seen.extend(events(&mut pair.client).unwrap());
        assert_eq!(seen, [Seen::HandshakeComplete, Seen::Plaintext(b"half a round trip early".to_vec())]);
    }
}

#[test]
fn a_close_before_the_last_flight_has_left_still_says_goodbye() {
    for_each_tls13_mode(|mode| {
        let mut pair = mode.pair();
        events(&mut pair.client).unwrap();
        carry(&mut pair.client, &mut pair.server);
        events(&mut pair.server).unwrap();
        carry(&mut pair.server, &mut pair.client);
        assert_eq!(events(&mut pair.client).unwrap(), []);
        // OpenSSL is through, and the Finished has not left.
        assert_eq!((pair.client.state(), pair.client.want()), (State::Handshake, Some(Want::Drain)));
        assert_eq!(pair.client.close().unwrap(), Progress::Done(()));
        assert_eq!(pair.client.state(), State::Closed);
        let (_, server) = pair.settled();
        assert_eq!(server, [Seen::HandshakeComplete, Seen::PeerClosed], "{}", mode.name);
    });
}
