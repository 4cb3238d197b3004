//! What is legal once and an attack in numbers: bounded output, a typed end, and an alert for the peer.

use arenatls::{Blame, Error, Options, State};
use arenatls_rig::forge::{Forged, Forger, Secrets};
use arenatls_rig::mode::{Direction, Mode, for_each_mode, for_each_tls13_mode, smallest_pool, usual_pool};
use arenatls_rig::native::{error_queue_is_empty, renegotiate};
use arenatls_rig::pair::{Conn, Pair, Seen, events, feed, plaintext, take_output};
use arenatls_rig::stock::Stock;

const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
const HELLO_REQUEST: [u8; 4] = [0, 0, 0, 0];
const KEY_UPDATE_REQUESTED: [u8; 5] = [24, 0, 0, 1, 1];

/// A pair in traffic, and one that speaks in the place of the end `forged`.
fn pair_and_forger(mode: &Mode, forged: Forged) -> (Pair, Forger) {
    let mut server = arenatls_rig::contexts::server_builder(arenatls_rig::mode::identity(), &mode.terms().tickets(0));
    let secrets = Secrets::watch(&mut server);
    let mut pair = mode.pair_of(&mode.client(), &server.build(), usual_pool());
    pair.handshake();
    pair.settled();
    let forger = secrets.forger(pair.server.ssl(), forged, 0);
    (pair, forger)
}

/// Runs `test` in every mode on either end, whose peer's records are forged; the other end can still be told things.
fn for_each_victim(mut test: impl FnMut(&Mode, &mut Conn, &mut Forger, &mut Conn)) {
    for_each_mode(|mode| {
        let (mut pair, mut forger) = pair_and_forger(mode, Forged::Client);
        test(mode, &mut pair.server, &mut forger, &mut pair.client);
        let (mut pair, mut forger) = pair_and_forger(mode, Forged::Server);
        test(mode, &mut pair.client, &mut forger, &mut pair.server);
    });
}

/// Feeds everything, polling only when there is no more room: one poll may meet hundreds of records. Drains if asked
/// to. What was read, the most there was to send, and how it ended.
fn flood(conn: &mut Conn, mut bytes: &[u8]) -> (Vec<u8>, usize, Result<(), Error>) {
    let (mut read, mut most) = (Vec::new(), 0);
    loop {
        while !bytes.is_empty() {
            let n = feed(conn, bytes);
            bytes = &bytes[n..];
            if n == 0 {
                break;
            }
        }
        let polled = conn.poll_event().map(|event| event.map(Seen::from));
        assert!(error_queue_is_empty());
        most = most.max(conn.backend().unsent());
        match polled {
            Ok(Some(seen)) => read.extend(plaintext(&[seen])),
            Ok(None) if conn.want() == Some(arenatls::Want::Drain) => drop(take_output(conn)),
            Ok(None) if bytes.is_empty() => return (read, most, Ok(())),
            Ok(None) => {}
            Err(error) => return (read, most, Err(error)),
        }
    }
}

/// The peer is told with the alert `expected`.
fn assert_told(conn: &mut Conn, peer: &mut Conn, expected: &[u8]) {
    assert_eq!(conn.state(), State::Failed);
    let out = take_output(conn);
    assert!(!out.is_empty(), "an alert is on its way");
    feed(peer, &out);
    match events(peer) {
        Err(Error::PeerAlert(alert)) if expected.contains(&alert.0) => {}
        other => panic!("an alert of {expected:?}, not {other:?}"),
    }
}

#[test]
fn a_key_update_flood_is_cut_off_with_bounded_output() {
    for_each_victim(|mode, conn, _, peer| {
        if !mode.is_tls13() {
            return;
        }
        let mut records = Vec::new();
        for _ in 0..1000 {
            assert!(peer.key_update(true).unwrap().done().is_some());
            records.extend(take_output(peer));
        }
        let (read, most, end) = flood(conn, &records);
        assert_eq!(read, b"");
        assert!(most <= conn.backend().capacities().outbound(), "{most} bytes of answers");
        let error = end.expect_err("a thousand are an attack");
        assert!(matches!(error, Error::Flood { .. }), "{error:?}");
        assert_eq!(error.blame(), Blame::Peer);
        assert!(conn.backend().unsent() > 0, "the peer is told");
    });
}

#[test]
fn key_updates_between_data_are_no_flood() {
    for_each_tls13_mode(|mode| {
        let mut pair = mode.connected_in(smallest_pool());
        pair.settled();
        for i in 0..200_u8 {
            assert!(pair.client.key_update(i % 2 == 0).unwrap().done().is_some());
            assert_eq!(pair.client.write(&[i]).unwrap().done(), Some(1));
            let (client, server) = pair.settled();
            assert_eq!((client, server), (vec![], vec![Seen::Plaintext(vec![i])]));
        }
        assert_eq!(pair.server.write(b"still here").unwrap().done(), Some(10));
        assert_eq!(pair.to_client(), [Seen::Plaintext(b"still here".to_vec())]);
        if mode.expected(Direction::Receive) == arenatls::Protection::Engine {
            assert_eq!(pair.server.received().key_generations, 201);
        }
    });
}

#[test]
fn the_limit_of_control_records_is_an_option_and_exact() {
    for_each_tls13_mode(|mode| {
        let options: Options = mode.options.control_limit(3);
        for (updates, fails) in [(3, false), (4, true)] {
            let mut pair = Pair::with(&mode.client(), &mode.server(), &mode.options, &options, usual_pool());
            pair.handshake();
            pair.settled();
            for _ in 0..updates {
                assert!(pair.client.key_update(false).unwrap().done().is_some());
            }
            assert_eq!(pair.client.write(b"x").unwrap().done(), Some(1));
            let result = pair.to_server_result();
            assert_eq!(matches!(result, Err(Error::Flood { limit: 3, .. })), fails, "{result:?}");
            if fails {
                assert_told(&mut pair.server, &mut pair.client, &[10, 20]);
            }
        }
    });
}

#[test]
fn a_hello_request_flood_is_cut_off_with_bounded_output() {
    for_each_mode(|mode| {
        if mode.is_tls13() {
            return;
        }
        let (mut pair, mut forger) = pair_and_forger(mode, Forged::Server);
        let records: Vec<u8> = (0..1000).flat_map(|_| forger.record(HANDSHAKE, &HELLO_REQUEST)).collect();
        let (_, most, end) = flood(&mut pair.client, &records);
        assert!(most <= pair.client.backend().capacities().outbound(), "{most} bytes of warnings");
        let error = end.expect_err("a thousand are an attack");
        assert_eq!(error.blame(), Blame::Peer, "{error:?}");
        assert_eq!(pair.client.state(), State::Failed);
    });
}

const NO_RENEGOTIATION: std::ffi::c_ulong = 0x0A00_0153;

/// What the stock end fails with.
fn refusal(stock: &mut Stock) -> std::ffi::c_ulong {
    let error = stock.read().expect_err("a refusal");
    let stack = error.ssl_error().expect("OpenSSL's words");
    stack.errors()[0].code()
}

#[test]
fn a_renegotiation_is_refused_and_nobody_hangs() {
    for_each_mode(|mode| {
        if mode.is_tls13() {
            return;
        }
        // The server asks: a client may say no and go on.
        let mut stock = Stock::server(&mode.server());
        let mut client = mode.pair().client;
        stock.handshake_with(&mut client);
        assert!(renegotiate(stock.ssl()));
        let _: Result<bool, _> = stock.handshake();
        let seen = stock.send_to(&mut client);
        let warning = take_output(&mut client);
        assert_eq!(warning.len(), 31, "a warning of 2 bytes under AES-GCM: {seen:?}");
        stock.feed(&warning);
        assert_eq!(refusal(&mut stock), NO_RENEGOTIATION, "the server has its answer");
        assert!(matches!(seen, Ok(seen) if seen.is_empty()));

        // The client asks.
        let mut context = mode.client_builder();
        context.clear_options(openssl::ssl::SslOptions::NO_RENEGOTIATION);
        let mut stock = Stock::client(&context.build());
        let mut server = mode.pair().server;
        stock.handshake_with(&mut server);
        assert!(renegotiate(stock.ssl()));
        let _: Result<bool, _> = stock.handshake();
        let seen = stock.send_to(&mut server);
        assert!(server.backend().unsent() > 0, "the client is told: {seen:?}");
        let warning = take_output(&mut server);
        stock.feed(&warning);
        assert_eq!(refusal(&mut stock), NO_RENEGOTIATION, "the client has its answer");
    });
}

#[test]
fn an_empty_record_is_no_end_and_no_event() {
    for_each_victim(|_, conn, forger, _| {
        feed(conn, &forger.record(DATA, &[]));
        assert_eq!(events(conn).unwrap(), []);
        assert_eq!((conn.state(), conn.want()), (State::Traffic, Some(arenatls::Want::Input)));
        feed(conn, &forger.record(DATA, b"A"));
        assert_eq!(events(conn).unwrap(), [Seen::Plaintext(b"A".to_vec())]);
    });
}

#[test]
fn thirty_two_empty_records_in_a_row_are_tolerated() {
    for_each_victim(|_, conn, forger, _| {
        let mut records: Vec<u8> = (0..32).flat_map(|_| forger.record(DATA, &[])).collect();
        records.extend(forger.record(DATA, b"A"));
        let (read, _, end) = flood(conn, &records);
        assert_eq!((read, end), (b"A".to_vec(), Ok(())));
    });
}

#[test]
fn thirty_three_empty_records_in_a_row_are_fatal_and_the_peer_is_told() {
    for_each_victim(|_, conn, forger, peer| {
        let records: Vec<u8> = (0..33).flat_map(|_| forger.record(DATA, &[])).collect();
        let (_, _, end) = flood(conn, &records);
        let error = end.expect_err("33 are an attack");
        assert_eq!(error.blame(), Blame::Peer);
        assert_told(conn, peer, &[10]);
    });
}

#[test]
fn a_byte_of_data_ends_the_row_of_empty_records() {
    for_each_victim(|_, conn, forger, _| {
        let mut records = Vec::new();
        for _ in 0..10 {
            (0..30).for_each(|_| records.extend(forger.record(DATA, &[])));
            records.extend(forger.record(DATA, b"x"));
        }
        let (read, _, end) = flood(conn, &records);
        assert_eq!((read, end), (b"xxxxxxxxxx".to_vec(), Ok(())));
    });
}

#[test]
fn padding_alone_is_no_message() {
    for_each_victim(|mode, conn, forger, peer| {
        if !mode.is_tls13() {
            return;
        }
        // All zeros: no content type at all (RFC 8446 section 5.4).
        feed(conn, &forger.padded(0, &[], 20));
        let error = events(conn).expect_err("it has no type");
        assert_eq!(error.blame(), Blame::Peer);
        assert_told(conn, peer, &[10]);
    });
}

#[test]
fn padding_is_taken_off() {
    for_each_victim(|mode, conn, forger, _| {
        if !mode.is_tls13() {
            return;
        }
        feed(conn, &forger.padded(DATA, b"text", 300));
        feed(conn, &forger.padded(DATA, &[], 300));
        feed(conn, &forger.padded(DATA, b"\0\0", 1));
        assert_eq!(events(conn).unwrap(), [Seen::Plaintext(b"text".to_vec()), Seen::Plaintext(vec![0, 0])]);
    });
}

#[test]
fn a_handshake_message_in_pieces_may_not_be_interleaved_with_data() {
    for_each_victim(|mode, conn, forger, peer| {
        if !mode.is_tls13() {
            return;
        }
        feed(conn, &forger.record(HANDSHAKE, &KEY_UPDATE_REQUESTED[..2]));
        feed(conn, &forger.record(DATA, b"between"));
        let error = events(conn).expect_err("RFC 8446 section 5.1 forbids it");
        assert_eq!(error.blame(), Blame::Peer);
        assert_told(conn, peer, &[10]);
    });
}

#[test]
fn a_certificate_request_after_the_handshake_is_unexpected() {
    for_each_tls13_mode(|mode| {
        let (mut pair, mut forger) = pair_and_forger(mode, Forged::Server);
        // CertificateRequest (RFC 8446 section 4.3.2): a context of one byte, signature_algorithms.
        let request = [13, 0, 0, 12, 1, 7, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3];
        feed(&mut pair.client, &forger.record(HANDSHAKE, &request));
        let error = events(&mut pair.client).expect_err("the client did not offer that");
        assert_eq!(error.blame(), Blame::Peer);
        assert_told(&mut pair.client, &mut pair.server, &[10]);
    });
}

#[test]
fn content_types_that_nobody_knows_are_refused() {
    for_each_victim(|_, conn, forger, peer| {
        feed(conn, &forger.record(24, b"heartbeat"));
        let error = events(conn).expect_err("there is no such type");
        assert_eq!(error.blame(), Blame::Peer);
        assert_told(conn, peer, &[10, 20]);
    });
}

#[test]
fn a_replayed_record_is_refused() {
    for_each_victim(|_, conn, forger, peer| {
        let record = forger.record(DATA, b"pay 10");
        feed(conn, &record);
        feed(conn, &record);
        let first = conn.poll_event().map(|event| event.map(Seen::from));
        assert_eq!(first, Ok(Some(Seen::Plaintext(b"pay 10".to_vec()))));
        events(conn).expect_err("once is enough");
        assert_told(conn, peer, &[20]);
    });
}

#[test]
fn a_flipped_bit_anywhere_is_refused() {
    for_each_victim(|_, conn, forger, peer| {
        let mut record = forger.record(DATA, b"pay 10");
        let last = record.len() - 1;
        record[last] ^= 1;
        feed(conn, &record);
        let error = events(conn).expect_err("it is not what was sent");
        assert_eq!(error, Error::Record(arenatls::BadRecord::Mac));
        assert_told(conn, peer, &[20]);
    });
}
