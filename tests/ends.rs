//! Ends: clean or not, of one direction or both, once and for all.

use arenatls::{Error, Progress, State};
use arenatls_rig::mode::{Mode, for_each_mode, usual_pool};
use arenatls_rig::native::error_queue_is_empty;
use arenatls_rig::pair::{Conn, Pair, Seen, carry, events, feed, take_output};
use arenatls_rig::stock::Stock;

/// One poll.
fn poll(conn: &mut Conn) -> Result<Option<Seen>, Error> {
    let polled = conn.poll_event().map(|event| event.map(Seen::from));
    assert!(error_queue_is_empty());
    polled
}

fn connected(mode: &Mode) -> Pair {
    let mut pair = mode.connected();
    pair.settled();
    pair
}

/// Runs `test` with either end of a pair in traffic as the one under test (first), and the other.
fn for_each_end(mut test: impl FnMut(&mut Conn, &mut Conn)) {
    for_each_mode(|mode| {
        let mut pair = connected(mode);
        test(&mut pair.client, &mut pair.server);
        let mut pair = connected(mode);
        test(&mut pair.server, &mut pair.client);
    });
}

fn assert_truncated(conn: &mut Conn) {
    assert_eq!(poll(conn), Ok(Some(Seen::Truncated)), "once as an event");
    for _ in 0..2 {
        assert_eq!(poll(conn), Err(Error::Truncated), "then as the cause");
    }
    assert_eq!(conn.state(), State::Failed);
    assert_eq!(conn.failure(), Some(&Error::Truncated));
    assert_eq!(conn.write(b"x"), Err(Error::Truncated));
    assert_eq!(conn.close(), Err(Error::Truncated));
}

#[test]
fn a_transport_that_ends_without_close_notify_is_a_truncation_after_the_data_before_it() {
    for_each_end(|conn, peer| {
        assert_eq!(peer.write(b"abc").unwrap().done(), Some(3));
        carry(peer, conn);
        conn.backend_mut().end_of_input();
        assert_eq!(poll(conn), Ok(Some(Seen::Plaintext(b"abc".to_vec()))));
        assert_truncated(conn);
    });
}

#[test]
fn a_transport_that_ends_within_a_record_is_a_truncation() {
    for cut in [1, 4, 5, 6, 20] {
        for_each_end(|conn, peer| {
            assert_eq!(peer.write(b"abc").unwrap().done(), Some(3));
            let record = take_output(peer);
            feed(conn, &record[..cut]);
            assert_eq!(poll(conn), Ok(None));
            conn.backend_mut().end_of_input();
            assert_truncated(conn);
        });
    }
}

#[test]
fn a_transport_that_ends_after_our_close_is_a_truncation_all_the_same() {
    for_each_end(|conn, _| {
        assert!(conn.close().unwrap().done().is_some());
        take_output(conn);
        conn.backend_mut().end_of_input();
        assert_eq!(poll(conn), Ok(Some(Seen::Truncated)));
        assert_eq!(poll(conn), Err(Error::Truncated));
    });
}

#[test]
fn a_transport_that_ends_after_close_notify_is_a_clean_end() {
    for_each_end(|conn, peer| {
        assert_eq!(peer.write(b"abc").unwrap().done(), Some(3));
        assert!(peer.close().unwrap().done().is_some());
        carry(peer, conn);
        conn.backend_mut().end_of_input();
        assert_eq!(events(conn).unwrap(), [Seen::Plaintext(b"abc".to_vec()), Seen::PeerClosed]);
        assert_eq!(poll(conn), Ok(None), "and stays one");
        assert_eq!(conn.state(), State::ReceiveClosed);
        assert_eq!(conn.write(b"still").unwrap().done(), Some(5));
    });
}

#[test]
fn a_transport_that_ends_in_the_handshake_is_a_truncation() {
    for_each_mode(|mode| {
        // After nothing, in the hello, after the hello, in the server's flight.
        let mut idle = mode.pair();
        idle.server.backend_mut().end_of_input();
        assert_truncated(&mut idle.server);

        let mut pair = mode.pair();
        events(&mut pair.client).unwrap();
        let hello = take_output(&mut pair.client);
        for cut in [1, 5, 100, hello.len()] {
            let mut server = mode.pair().server;
            feed(&mut server, &hello[..cut]);
            let whole = cut == hello.len();
            if whole {
                events(&mut server).unwrap();
                take_output(&mut server);
            }
            server.backend_mut().end_of_input();
            assert_truncated(&mut server);
        }
        feed(&mut pair.server, &hello);
        events(&mut pair.server).unwrap();
        let flight = take_output(&mut pair.server);
        feed(&mut pair.client, &flight[..flight.len() - 30]);
        events(&mut pair.client).unwrap();
        pair.client.backend_mut().end_of_input();
        assert_truncated(&mut pair.client);
    });
}

#[test]
fn each_direction_ends_on_its_own() {
    for_each_end(|conn, peer| {
        assert!(conn.close().unwrap().done().is_some());
        assert_eq!(conn.state(), State::SendClosed);
        carry(conn, peer);
        assert_eq!(events(peer).unwrap(), [Seen::PeerClosed]);
        assert_eq!(peer.state(), State::ReceiveClosed);

        assert_eq!(peer.write(b"reply").unwrap().done(), Some(5));
        carry(peer, conn);
        assert_eq!(events(conn).unwrap(), [Seen::Plaintext(b"reply".to_vec())]);

        let calls = conn.openssl_calls();
        let refused = conn.write(b"more").expect_err("our direction has ended");
        assert!(refused.is_recoverable());
        assert_eq!(conn.openssl_calls(), calls);
        assert_eq!(conn.state(), State::SendClosed, "a refusal changes nothing");

        assert!(peer.close().unwrap().done().is_some());
        carry(peer, conn);
        assert_eq!(events(conn).unwrap(), [Seen::PeerClosed]);
        assert_eq!((conn.state(), peer.state()), (State::Closed, State::Closed));
        assert_eq!((poll(conn), poll(peer)), (Ok(None), Ok(None)));
    });
}

#[test]
fn data_that_was_on_its_way_when_we_closed_is_read() {
    for_each_end(|conn, peer| {
        for part in [&b"one"[..], b"two", b"three"] {
            assert_eq!(peer.write(part).unwrap().done(), Some(part.len()));
        }
        assert!(conn.close().unwrap().done().is_some());
        assert_eq!(conn.close(), Ok(Progress::Done(())), "a second close reads nothing away");
        carry(peer, conn);
        let seen = events(conn).expect("unread data is no error");
        assert_eq!(arenatls_rig::pair::plaintext(&seen), b"onetwothree");
    });
}

#[test]
fn a_second_close_sends_nothing_and_changes_nothing() {
    for_each_end(|conn, peer| {
        assert!(conn.close().unwrap().done().is_some());
        let (unsent, calls) = (conn.backend().unsent(), conn.openssl_calls());
        for _ in 0..3 {
            assert_eq!(conn.close(), Ok(Progress::Done(())));
        }
        assert_eq!((conn.backend().unsent(), conn.openssl_calls()), (unsent, calls));
        carry(conn, peer);
        assert_eq!(events(peer).unwrap(), [Seen::PeerClosed], "one close_notify");
        assert!(peer.close().unwrap().done().is_some());
        carry(peer, conn);
        assert_eq!(events(conn).unwrap(), [Seen::PeerClosed]);
        assert_eq!(conn.close(), Ok(Progress::Done(())));
    });
}

#[test]
fn a_close_during_the_handshake_sends_nothing_and_leaves_the_queue_clean() {
    for_each_mode(|mode| {
        let mut pair = mode.pair();
        assert_eq!(pair.server.close(), Ok(Progress::Done(())));
        assert_eq!(pair.server.state(), State::Closed);

        events(&mut pair.client).unwrap();
        take_output(&mut pair.client);
        let calls = pair.client.openssl_calls();
        assert_eq!(pair.client.close(), Ok(Progress::Done(())));
        assert_eq!((pair.client.state(), pair.client.backend().unsent()), (State::Closed, 0));
        assert_eq!(pair.client.openssl_calls(), calls, "no SSL_shutdown in a handshake");
        assert!(error_queue_is_empty());
        assert_eq!(poll(&mut pair.client), Ok(None));
        assert!(pair.client.write(b"x").is_err_and(|error| error.is_recoverable()));
    });
}

#[test]
fn a_peer_that_closes_in_the_handshake_is_a_typed_failure() {
    for_each_mode(|mode| {
        let mut pair = mode.pair();
        events(&mut pair.client).unwrap();
        carry(&mut pair.client, &mut pair.server);
        events(&mut pair.server).unwrap();
        take_output(&mut pair.server);
        // close_notify, before there are keys.
        feed(&mut pair.client, &[21, 3, 3, 0, 2, 1, 0]);
        let error = events(&mut pair.client).expect_err("there is no connection to close yet");
        assert_eq!(error, Error::ClosedInHandshake);
        assert_eq!(events(&mut pair.client), Err(error));
    });
}

#[test]
fn an_abort_is_silent_and_the_peer_sees_a_truncation() {
    for_each_end(|conn, peer| {
        assert_eq!(conn.write(b"last").unwrap().done(), Some(4));
        let calls = conn.openssl_calls();
        conn.abort();
        assert_eq!((conn.state(), conn.openssl_calls()), (State::Closed, calls));
        assert_eq!(poll(conn), Ok(None));
        assert!(conn.write(b"x").is_err());
        conn.abort();
        carry(conn, peer);
        peer.backend_mut().end_of_input();
        assert_eq!(poll(peer), Ok(Some(Seen::Plaintext(b"last".to_vec()))));
        assert_eq!(poll(peer), Ok(Some(Seen::Truncated)));
    });
}

#[test]
fn a_failure_keeps_its_first_cause() {
    for_each_end(|conn, peer| {
        feed(conn, &arenatls_rig::wire::plain_record(23, &[0; 40]));
        let cause = events(conn).expect_err("it is not authentic");
        assert_eq!(peer.write(b"good data").unwrap().done(), Some(9));
        carry(peer, conn);
        conn.backend_mut().end_of_input();
        for _ in 0..2 {
            assert_eq!(events(conn).as_ref(), Err(&cause));
            assert_eq!(conn.write(b"x").as_ref().err(), Some(&cause));
            assert_eq!(conn.close().as_ref().err(), Some(&cause));
            assert!(error_queue_is_empty());
        }
        conn.abort();
        assert_eq!((conn.state(), conn.failure()), (State::Failed, Some(&cause)));
    });
}

#[test]
fn a_close_waits_for_room_and_then_goes_behind_the_data() {
    for_each_mode(|mode| {
        use arenatls::{Backend as _, Want};
        let mut pair = mode.connected_in(arenatls_rig::mode::smallest_pool());
        pair.settled();
        assert_eq!(pair.client.write(b"data").unwrap().done(), Some(4));
        let out = take_output(&mut pair.client);
        let room = pair.client.backend_mut().room(1).len();
        pair.client.backend_mut().commit(room);
        assert_eq!(pair.client.close(), Ok(Progress::Want(Want::Drain)));
        assert_eq!(pair.client.state(), State::Traffic, "nothing has happened yet");
        take_output(&mut pair.client);
        assert_eq!(pair.client.close(), Ok(Progress::Done(())));
        feed(&mut pair.server, &out);
        carry(&mut pair.client, &mut pair.server);
        assert_eq!(events(&mut pair.server).unwrap(), [Seen::Plaintext(b"data".to_vec()), Seen::PeerClosed]);
    });
}

#[test]
fn a_stock_peer_understands_our_end_and_we_understand_its() {
    for_each_mode(|mode| {
        let mut stock = Stock::server(&mode.server());
        let mut client = mode.pair().client;
        stock.handshake_with(&mut client);
        assert_eq!(client.write(b"bye").unwrap().done(), Some(3));
        assert!(client.close().unwrap().done().is_some());
        stock.receive_from(&mut client);
        let end = stock.read().expect_err("a clean end, after the data");
        assert_eq!(end.code(), openssl::ssl::ErrorCode::ZERO_RETURN);
        stock.write(b"answer");
        stock.shutdown();
        let seen = stock.send_to(&mut client).unwrap();
        assert_eq!(seen, [Seen::Plaintext(b"answer".to_vec()), Seen::PeerClosed]);
        assert_eq!(client.state(), State::Closed);
    });
}

#[test]
fn what_was_received_is_still_read_after_a_failed_pair_of_ends_is_dropped_one_by_one() {
    for_each_mode(|mode| {
        let mut pair = connected(mode);
        assert_eq!(pair.server.write(b"kept").unwrap().done(), Some(4));
        carry(&mut pair.server, &mut pair.client);
        let Pair { mut client, server } = pair;
        drop(server);
        assert_eq!(events(&mut client).unwrap(), [Seen::Plaintext(b"kept".to_vec())]);
        drop(client);
        assert!(usual_pool().idle() > 0);
    });
}
