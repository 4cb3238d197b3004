//! Peers that speak another version, another protocol or out of turn; and that they are told so.

use arenatls::{Backend as _, Blame, Error, State, Want};
use arenatls_rig::mode::{Mode, for_each_mode, for_each_tls13_mode, smallest_pool, usual_pool};
use arenatls_rig::native::error_queue_is_empty;
use arenatls_rig::pair::{Conn, Pair, Seen, carry, events, feed, feed_all, take_output};
use arenatls_rig::wire::{self, CCS, Hello};
use openssl::ssl::SslOptions;

/// The alert `protocol_version`, fatal, as it is sent before there are keys, to a client whose hello says 3.3.
const VERSION_ALERT: [u8; 7] = [0x15, 3, 3, 0, 2, 2, 0x46];

fn assert_failed(conn: &mut Conn, error: &Error) {
    assert_eq!(conn.state(), State::Failed);
    assert_eq!(conn.failure(), Some(error));
    assert_eq!(events(conn).as_ref(), Err(error), "the cause sticks");
    assert_eq!(conn.write(b"x").as_ref().err(), Some(error));
    assert!(error_queue_is_empty());
}

#[test]
fn a_version_mismatch_is_answered_with_its_alert() {
    for_each_mode(|mode| {
        let mut server = mode.pair().server;
        feed(&mut server, &Hello::tls10().record());
        let error = events(&mut server).expect_err("TLS 1.0 is not spoken here");
        assert_eq!(error.blame(), Blame::Peer);
        assert_eq!(take_output(&mut server), VERSION_ALERT);
        assert_failed(&mut server, &error);

        // A record in reply has the version that the hello had.
        let mut server = mode.pair().server;
        feed(&mut server, &Hello { version: 0x0301, extensions: vec![], ..Hello::tls10() }.record());
        events(&mut server).expect_err("TLS 1.0 is not spoken here");
        assert_eq!(take_output(&mut server), [0x15, 3, 1, 0, 2, 2, 0x46]);
    });
}

#[test]
fn the_alert_leaves_even_if_the_queue_was_full() {
    for_each_mode(|mode| {
        for left in [512, 513, 514, 600, 1024] {
            let mut server = mode.pair_in(smallest_pool()).server;
            let room = server.backend_mut().room(1).len();
            server.backend_mut().room(1).fill(b'.');
            server.backend_mut().commit(room - left);
            feed(&mut server, &Hello::tls10().record());
            events(&mut server).expect_err("TLS 1.0 is not spoken here");
            let out = take_output(&mut server);
            assert_eq!(out[room - left..], VERSION_ALERT, "{left} bytes were free");
        }
    });
}

#[test]
fn with_less_than_the_reserve_the_peer_is_not_read_and_is_told_after_a_drain() {
    for_each_mode(|mode| {
        for left in [0, 1, 6, 7, 511] {
            let mut server = mode.pair_in(smallest_pool()).server;
            let room = server.backend_mut().room(1).len();
            server.backend_mut().commit(room - left);
            feed(&mut server, &Hello::tls10().record());
            assert_eq!(events(&mut server).expect("nothing was read yet"), []);
            assert_eq!(server.want(), Some(Want::Drain));
            take_output(&mut server);
            let error = events(&mut server).expect_err("TLS 1.0 is not spoken here");
            assert!(matches!(error, arenatls::Error::Incompatible(_)), "{error:?}");
            assert_eq!(take_output(&mut server), VERSION_ALERT);
        }
    });
}

/// Fills the output of `conn` to the last byte it takes.
fn fill(conn: &mut Conn) -> usize {
    let mut written = 0;
    for size in [16_384, 1024, 64, 1] {
        while let Some(n) = conn.write(&vec![b'.'; size]).expect("a write").done() {
            written += n;
        }
    }
    written
}

#[test]
fn an_alert_in_traffic_leaves_even_if_the_queue_was_full() {
    for_each_mode(|mode| {
        let mut pair = mode.connected_in(smallest_pool());
        let written = fill(&mut pair.server);
        // A record that cannot be authentic.
        let forged = wire::plain_record(23, &[0; 64]);
        feed(&mut pair.server, &forged);
        let error = events(&mut pair.server).expect_err("it is not authentic");
        assert_eq!(error.blame(), Blame::Peer);
        let out = take_output(&mut pair.server);
        let (mut read, mut told, mut left) = (0, None, &out[..]);
        while told.is_none() && !left.is_empty() {
            left = &left[feed(&mut pair.client, left)..];
            loop {
                match pair.client.poll_event().map(|event| event.map(Seen::from)) {
                    Ok(Some(Seen::Plaintext(bytes))) => read += bytes.len(),
                    Ok(Some(other)) => panic!("{other:?}"),
                    Ok(None) => break,
                    Err(error) => break told = Some(error),
                }
            }
        }
        assert_eq!(told, Some(Error::PeerAlert(arenatls::Alert::BAD_RECORD_MAC)));
        assert_eq!(read, written, "what was written before comes first");
        assert_failed(&mut pair.server, &error);
    });
}

#[test]
fn plain_http_is_a_typed_error_and_gets_no_alert() {
    for_each_mode(|mode| {
        let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        for piece in [request.len(), 5, 1] {
            let mut server = mode.pair().server;
            let mut failure = None;
            for part in request.chunks(piece) {
                feed(&mut server, part);
                if let Err(error) = events(&mut server) {
                    failure = Some(error);
                    break;
                }
            }
            let error = failure.expect("that is not TLS");
            let Error::Protocol(native) = error else { panic!("{error:?}") };
            assert_eq!(native.code(), 0x0A00_009C, "http request");
            assert_eq!(take_output(&mut server), b"");
            assert_failed(&mut server, &error);
        }
    });
}

#[test]
fn garbage_is_a_typed_error_for_a_client_too() {
    for_each_mode(|mode| {
        for junk in [&b"SSH-2.0-OpenSSH_9.9\r\n"[..], b"220 mail ready\r\n", &[0; 40], &[0xff; 40]] {
            let mut client = mode.pair().client;
            events(&mut client).unwrap();
            take_output(&mut client);
            feed(&mut client, junk);
            let error = events(&mut client).expect_err("that is not TLS");
            assert_eq!(error.blame(), Blame::Peer, "{error:?}");
            assert_failed(&mut client, &error);
        }
    });
}

/// A pair whose client sends no compatibility ChangeCipherSpec of its own, up to the server's flight.
fn up_to_the_servers_flight(mode: &Mode) -> Pair {
    let mut client = mode.client_builder();
    client.clear_options(SslOptions::ENABLE_MIDDLEBOX_COMPAT);
    let mut pair = mode.pair_of(&client.build(), &mode.server(), usual_pool());
    events(&mut pair.client).unwrap();
    pair.to_server();
    pair
}

#[test]
fn a_few_compatibility_ccs_are_tolerated_before_finished() {
    for_each_tls13_mode(|mode| {
        for count in [1, 32] {
            let mut pair = up_to_the_servers_flight(mode);
            assert_eq!(feed_all(&mut pair.server, &CCS.repeat(count)).expect("they are legal"), []);
            pair.handshake();
        }
        let mut pair = up_to_the_servers_flight(mode);
        let error = feed_all(&mut pair.server, &CCS.repeat(33)).expect_err("they are too many");
        assert_eq!(error.blame(), Blame::Peer);
        assert_failed(&mut pair.server, &error);
        assert!(pair.server.backend().unsent() > 0, "the peer is told");
    });
}

#[test]
fn a_ccs_after_finished_is_fatal_and_answered_with_its_alert() {
    for_each_tls13_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        for server_gets_it in [true, false] {
            let mut pair = mode.connected();
            pair.settled();
            let (to, other) = match server_gets_it {
                true => (&mut pair.server, &mut pair.client),
                false => (&mut pair.client, &mut pair.server),
            };
            feed(to, &CCS);
            let error = events(to).expect_err("it is too late for that");
            assert_eq!(error.blame(), Blame::Peer);
            assert_failed(to, &error);
            let alert = take_output(to);
            feed(other, &alert);
            assert_eq!(events(other), Err(Error::PeerAlert(arenatls::Alert::UNEXPECTED_MESSAGE)));
        }
    });
}

#[test]
fn unknown_code_points_in_a_hello_are_ignored() {
    for_each_mode(|mode| {
        let mut builder = mode.server_builder();
        builder.set_alpn_select_callback(|_, offered| {
            openssl::ssl::select_next_proto(b"\x08http/1.1", offered).ok_or(openssl::ssl::AlpnError::ALERT_FATAL)
        });
        let mut pair = mode.pair_of(&mode.client(), &builder.build(), usual_pool());
        let hello = Hello::grease(!mode.is_tls13()).record();
        for byte in &hello {
            feed(&mut pair.server, &[*byte]);
            assert_eq!(events(&mut pair.server).expect("unknown is not wrong"), []);
        }
        let flight = take_output(&mut pair.server);
        assert_eq!((flight[0], flight[5]), (22, 2), "a ServerHello, no alert");
        assert_eq!(pair.server.ssl().selected_alpn_protocol(), Some(&b"http/1.1"[..]));
    });
}

#[test]
fn a_record_that_is_too_long_is_refused_before_it_is_received() {
    for_each_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        feed(&mut pair.server, &[23, 3, 3, 0xff, 0xff]);
        let error = events(&mut pair.server).expect_err("65,535 bytes are too many");
        assert_eq!(error.blame(), Blame::Peer);
        assert_failed(&mut pair.server, &error);
        let told = pair.to_client_result();
        assert_eq!(told, Err(Error::PeerAlert(arenatls::Alert::RECORD_OVERFLOW)));
    });
}

#[test]
fn a_failure_of_one_end_leaves_the_data_before_it_readable() {
    for_each_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        assert_eq!(pair.server.write(b"last words").unwrap().done(), Some(10));
        feed(&mut pair.server, &wire::plain_record(23, &[0; 64]));
        events(&mut pair.server).expect_err("it is not authentic");
        carry(&mut pair.server, &mut pair.client);
        let first = pair.client.poll_event().expect("the data came before the alert").map(Seen::from);
        assert_eq!(first, Some(Seen::Plaintext(b"last words".to_vec())));
        assert_eq!(events(&mut pair.client), Err(Error::PeerAlert(arenatls::Alert::BAD_RECORD_MAC)));
    });
}
