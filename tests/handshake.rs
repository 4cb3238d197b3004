//! Handshakes arrive in any pieces, are as long as they are, and are done when they have been sent.

use arenatls::{Capacities, Event, State, Want};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::mode::{Mode, authority, for_each_mode, for_each_tls13_mode, smallest_pool, usual_pool};
use arenatls_rig::native::error_queue_is_empty;
use arenatls_rig::pair::{Conn, Pair, Seen, carry, carry_chunks, events, feed, take_output};
use arenatls_rig::wire;

/// Moves each flight from one end to the other with `deliver` until both are in traffic; the longest flight (bytes).
fn run(pair: &mut Pair, mut deliver: impl FnMut(&mut Conn, &[u8])) -> usize {
    let mut longest = 0;
    for _ in 0..10 {
        for client_speaks in [true, false] {
            let (from, to) = match client_speaks {
                true => (&mut pair.client, &mut pair.server),
                false => (&mut pair.server, &mut pair.client),
            };
            events(from).expect("the speaker's handshake");
            let flight = take_output(from);
            events(from).expect("the end of the speaker's handshake");
            longest = longest.max(flight.len());
            deliver(to, &flight);
        }
    }
    assert_eq!((pair.client.state(), pair.server.state()), (State::Traffic, State::Traffic));
    longest
}

fn assert_data_flows(pair: &mut Pair) {
    assert_eq!(pair.settled(), (vec![], vec![]));
    assert_eq!(pair.client.write(b"ping").unwrap().done(), Some(4));
    assert_eq!(pair.to_server(), [Seen::Plaintext(b"ping".to_vec())]);
    assert_eq!(pair.server.write(b"pong").unwrap().done(), Some(4));
    assert_eq!(pair.to_client(), [Seen::Plaintext(b"pong".to_vec())]);
}

#[test]
fn every_split_of_each_flight_into_two_feeds_completes() {
    for_each_mode(|mode| {
        let (client, server) = (mode.client(), mode.server());
        let (mut k, mut longest) = (1, 2);
        while k < longest {
            let mut pair = mode.pair_of(&client, &server, usual_pool());
            longest = run(&mut pair, |to, flight| {
                let (head, tail) = flight.split_at(k.min(flight.len()));
                assert_eq!(feed(to, head), head.len());
                events(to).expect("the first part");
                assert_eq!(feed(to, tail), tail.len());
                events(to).expect("the second part");
            });
            k += 1;
        }
        assert!(k > 500, "the longest flight was split everywhere");
    });
}

#[test]
fn one_byte_at_a_time_completes_with_one_want_a_feed_and_no_idle_calls() {
    for_each_mode(|mode| {
        let mut pair = mode.pair();
        run(&mut pair, |to, flight| {
            for byte in flight {
                let calls = to.openssl_calls();
                assert_eq!(feed(to, &[*byte]), 1);
                let mut wants = 0;
                while to.poll_event().expect("the handshake goes on").is_some() {}
                wants += u32::from(to.want() == Some(Want::Input));
                assert!(wants <= 1);
                assert!(to.openssl_calls() <= calls + 3, "a byte woke OpenSSL {} times", to.openssl_calls() - calls);
            }
        });
        let calls = pair.client.openssl_calls() + pair.server.openssl_calls();
        assert!(calls < 60, "OpenSSL is called for records, not for bytes: {calls}");
        assert_data_flows(&mut pair);
    });
}

#[test]
fn an_incomplete_record_does_not_wake_openssl() {
    for_each_mode(|mode| {
        let mut pair = mode.pair();
        events(&mut pair.client).unwrap();
        let hello = take_output(&mut pair.client);
        events(&mut pair.server).unwrap();
        let calls = pair.server.openssl_calls();
        for byte in &hello[..hello.len() - 1] {
            feed(&mut pair.server, &[*byte]);
            assert_eq!(events(&mut pair.server).unwrap(), []);
            assert_eq!(pair.server.want(), Some(Want::Input));
        }
        assert_eq!(pair.server.openssl_calls(), calls);
    });
}

#[test]
fn a_client_hello_in_one_byte_records_is_answered() {
    for_each_mode(|mode| {
        let mut pair = mode.pair();
        events(&mut pair.client).unwrap();
        let hello = wire::recut(&take_output(&mut pair.client), 1);
        for chunk in hello.chunks(1000) {
            assert_eq!(feed(&mut pair.server, chunk), chunk.len());
            assert_eq!(events(&mut pair.server).expect("a fragmented hello is legal"), []);
        }
        pair.handshake();
        assert_data_flows(&mut pair);
    });
}

/// Polls without draining; nothing may be reported.
fn polls_to_nothing(conn: &mut Conn) {
    for _ in 0..3 {
        assert_eq!(events(conn).unwrap(), []);
        assert_eq!((conn.state(), conn.want()), (State::Handshake, Some(Want::Drain)));
        assert!(conn.write(b"too early").is_err_and(|e| e.is_recoverable()));
    }
}

#[test]
fn the_handshake_is_complete_only_when_its_last_flight_has_left() {
    for_each_mode(|mode| {
        let mut pair = mode.pair();
        events(&mut pair.client).unwrap();
        let mut last = [false, false];
        for _ in 0..4 {
            for is_client in [false, true] {
                let (from, to) = match is_client {
                    true => (&mut pair.server, &mut pair.client),
                    false => (&mut pair.client, &mut pair.server),
                };
                let flight = take_output(from);
                feed(to, &flight);
                if to.state() == State::Handshake && !flight.is_empty() || to.state() == State::Idle {
                    assert_eq!(events(to).unwrap(), []);
                }
                let done = !to.openssl_state().0;
                if done && to.state() == State::Handshake && to.backend().unsent() > 0 {
                    last[usize::from(is_client)] = true;
                    polls_to_nothing(to);
                    // All but one byte is not all.
                    let n = to.backend().to_send().len() - 1;
                    let head = to.backend().to_send()[..n].to_vec();
                    to.backend_mut().sent(n).unwrap();
                    polls_to_nothing(to);
                    let tail = take_output(to);
                    assert_eq!(events(to).unwrap(), [Seen::HandshakeComplete]);
                    assert_eq!(to.state(), State::Traffic);
                    let from = if is_client { &mut pair.server } else { &mut pair.client };
                    feed(from, &[head, tail].concat());
                    events(from).unwrap();
                }
            }
        }
        // TLS 1.3: the client's Finished, the server's tickets. TLS 1.2: the server's Finished is the last.
        let expected = if mode.is_tls13() { [true, true] } else { [true, false] };
        assert_eq!(last, expected, "[server, client] had a last flight to send");
        pair.settled();
        assert_data_flows(&mut pair);
    });
}

#[test]
fn a_completed_handshake_is_reported_once() {
    for_each_mode(|mode| {
        let mut pair = mode.pair();
        let (client, server) = pair.settle();
        assert_eq!(client.unwrap(), [Seen::HandshakeComplete]);
        assert_eq!(server.unwrap(), [Seen::HandshakeComplete]);
        assert_eq!(events(&mut pair.client).unwrap(), []);
        assert!(error_queue_is_empty());
    });
}

/// A handshake over the smallest queues in chunks of 4 KB: how often each end (client, server) wanted a drain while
/// its handshake was not done.
fn run_small(pair: &mut Pair) -> [u32; 2] {
    let mut drains = [0, 0];
    for _ in 0..2000 {
        for (conn, drains) in [&mut pair.client, &mut pair.server].into_iter().zip(&mut drains) {
            while let Some(event) = conn.poll_event().expect("the handshake goes on") {
                assert!(matches!(event, Event::HandshakeComplete), "{event:?}");
            }
            *drains += u32::from(conn.want() == Some(Want::Drain) && conn.openssl_state().0);
            assert!(error_queue_is_empty());
        }
        let moved = carry_chunks(&mut pair.client, &mut pair.server, 1..=4096)
            + carry_chunks(&mut pair.server, &mut pair.client, 1..=4096);
        if moved == 0 && pair.client.state() == State::Traffic && pair.server.state() == State::Traffic {
            return drains;
        }
    }
    panic!("the handshake hangs: {:?} {:?}", pair.client, pair.server);
}

fn big_pair(mode: &Mode, client_links: usize, server_links: usize) -> Pair {
    let terms = mode.terms();
    let client = authority().client("somebody").with_ballast(client_links, 40);
    let server = authority().server().with_ballast(server_links, 40);
    let client = contexts::mutual_client(authority(), &client, &terms);
    let server = contexts::mutual_server(&server, authority(), &terms);
    let pair = mode.pair_of(&client, &server, smallest_pool());
    assert_eq!(pair.client.backend().capacities(), Capacities::MINIMUM);
    pair
}

#[test]
fn chains_longer_than_the_queue_pass_through_it() {
    for_each_mode(|mode| {
        for links in [60, 220] {
            let mut pair = big_pair(mode, 0, links);
            let [client, server] = run_small(&mut pair);
            assert!(server > 0, "a flight of {links} certificates does not fit the queue");
            assert_eq!(client, 0);
            assert_data_flows(&mut pair);

            let mut pair = big_pair(mode, links, 0);
            let [client, server] = run_small(&mut pair);
            assert!(client > 0, "a flight of {links} certificates does not fit the queue");
            assert_eq!(server, 0);
            assert_data_flows(&mut pair);
        }
    });
}

#[test]
fn a_chain_above_max_cert_list_is_a_typed_error_and_no_hang() {
    for_each_mode(|mode| {
        let mut pair = big_pair(mode, 0, 330);
        let (client, _) = pair.settle();
        let error = client.expect_err("120 kB are more than 102,400 bytes");
        assert_eq!(error.blame(), arenatls::Blame::Peer, "{error:?}");
        assert!(matches!(error, arenatls::Error::Protocol(_)), "{error:?}");
        // The server has to get rid of the rest of its flight to hear why.
        let told = loop {
            take_output(&mut pair.server);
            if let Err(error) = events(&mut pair.server) {
                break error;
            }
        };
        assert!(matches!(told, arenatls::Error::PeerAlert(_)), "{told:?}");
    });
}

#[test]
fn data_that_follows_the_servers_finished_at_once_is_read() {
    // TLS 1.3 lets a server speak before the client has finished (data of 0.5 round trips), and a client that is still
    // busy with its own flight must keep it.
    for_each_tls13_mode(|mode| {
        let mut server = mode.server_builder();
        server.set_max_early_data(0).unwrap();
        let mut stock = arenatls_rig::stock::Stock::server(&server.build());
        let mut client = mode.pair().client;
        events(&mut client).unwrap();
        stock.receive_from(&mut client);
        stock.write_early(b"welcome");
        feed(&mut client, &stock.take());
        assert_eq!(events(&mut client).unwrap(), []);
        let flight = take_output(&mut client);
        assert_eq!(events(&mut client).unwrap(), [Seen::HandshakeComplete, Seen::Plaintext(b"welcome".to_vec())]);
        stock.feed(&flight);
        assert!(stock.handshake().unwrap());
    });
}

#[test]
fn both_ends_may_be_fed_before_their_first_poll() {
    for_each_mode(|mode| {
        let mut pair = mode.pair();
        events(&mut pair.client).unwrap();
        carry(&mut pair.client, &mut pair.server);
        assert_eq!(pair.server.state(), State::Idle);
        pair.handshake();
        for conn in [&pair.client, &pair.server] {
            let seen = conn.protection();
            use arenatls_rig::mode::Direction;
            assert_eq!(seen, (mode.expected(Direction::Send), mode.expected(Direction::Receive)));
        }
    });
}

#[test]
fn suites_and_groups_of_openssl_s_own_choice_work_too() {
    for options in [arenatls::Options::default(), arenatls::Options::default().library_protection()] {
        let terms = Terms::default();
        let client = contexts::client(authority(), &terms);
        let server = contexts::server(&authority().server(), &terms);
        let mut pair = Pair::with(&client, &server, &options, &options, smallest_pool());
        run_small(&mut pair);
        assert_data_flows(&mut pair);
    }
}
