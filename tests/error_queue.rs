//! OpenSSL's error queue is the thread's, and every connection's trouble its own.

use arenatls::{Backend as _, State, Want};
use arenatls_rig::mode::{Mode, for_each_mode, modes};
use arenatls_rig::native::{clean_error_queue, error_queue_is_empty, soil_error_queue};
use arenatls_rig::pair::{Conn, Pair, Seen, carry, events, feed, take_output};
use proptest::prelude::*;

fn idle_pair(mode: &Mode) -> Pair {
    let mut pair = mode.connected();
    pair.settled();
    pair
}

/// Polls an idle connection: nothing has happened to it.
fn assert_healthy(conn: &mut Conn) {
    assert_eq!(events(conn).expect("nobody did anything to it"), []);
    assert_eq!((conn.state(), conn.want()), (State::Traffic, Some(Want::Input)));
    assert!(error_queue_is_empty());
}

fn assert_works(pair: &mut Pair) {
    assert_eq!(pair.client.write(b"ping").unwrap().done(), Some(4));
    assert_eq!(pair.to_server(), [Seen::Plaintext(b"ping".to_vec())]);
    assert_eq!(pair.server.write(b"pong").unwrap().done(), Some(4));
    assert_eq!(pair.to_client(), [Seen::Plaintext(b"pong".to_vec())]);
}

#[test]
fn a_failing_neighbour_is_not_felt() {
    for_each_mode(|mode| {
        let mut healthy = idle_pair(mode);
        let mut failing = mode.pair().server;
        feed(&mut failing, b"GET / HTTP/1.1\r\n\r\n");
        assert!(events(&mut failing).is_err());
        assert!(error_queue_is_empty());
        assert_healthy(&mut healthy.client);
        drop(failing);
        assert!(error_queue_is_empty());
        assert_healthy(&mut healthy.server);
        assert_works(&mut healthy);
    });
}

#[test]
fn a_neighbour_that_is_closed_in_its_handshake_is_not_felt() {
    for_each_mode(|mode| {
        let mut healthy = idle_pair(mode);
        let mut other = mode.pair();
        events(&mut other.client).unwrap();
        other.to_server();
        for conn in [&mut other.client, &mut other.server] {
            assert!(conn.close().unwrap().done().is_some());
            assert!(error_queue_is_empty());
        }
        drop(other);
        assert!(error_queue_is_empty());
        assert_healthy(&mut healthy.client);
        assert_works(&mut healthy);
    });
}

#[test]
fn dirt_that_others_left_is_not_taken_for_ours() {
    for_each_mode(|mode| {
        let mut pair = idle_pair(mode);
        for _ in 0..2 {
            // Half a record makes OpenSSL ask for more, if it is asked at all.
            assert_eq!(pair.server.write(b"news").unwrap().done(), Some(4));
            let record = take_output(&mut pair.server);
            feed(&mut pair.client, &record[..7]);
            soil_error_queue();
            assert_eq!(events(&mut pair.client).expect("the dirt is not ours"), []);
            assert_eq!((pair.client.state(), pair.client.want()), (State::Traffic, Some(Want::Input)));
            feed(&mut pair.client, &record[7..]);
            soil_error_queue();
            assert_eq!(events(&mut pair.client).unwrap(), [Seen::Plaintext(b"news".to_vec())]);
            soil_error_queue();
            assert_eq!(pair.client.write(b"x").expect("the dirt is not ours").done(), Some(1));
            soil_error_queue();
            assert_eq!(pair.to_server(), [Seen::Plaintext(b"x".to_vec())]);
        }
        if mode.is_tls13() {
            soil_error_queue();
            assert!(pair.client.key_update(true).expect("the dirt is not ours").done().is_some());
            soil_error_queue();
            assert_eq!(pair.to_server(), []);
        }
        soil_error_queue();
        assert!(pair.client.close().expect("the dirt is not ours").done().is_some());
        clean_error_queue();
    });
}

#[test]
fn a_handshake_goes_through_dirt() {
    for_each_mode(|mode| {
        let mut pair = mode.pair();
        for _ in 0..6 {
            for conn in [&mut pair.client, &mut pair.server] {
                soil_error_queue();
                events(conn).expect("the dirt is not ours");
            }
            carry(&mut pair.client, &mut pair.server);
            carry(&mut pair.server, &mut pair.client);
        }
        clean_error_queue();
        assert_eq!((pair.client.state(), pair.server.state()), (State::Traffic, State::Traffic));
    });
}

/// A call on one of four connections: two pairs, of which one may be harmed.
#[derive(Clone, Copy, Debug)]
enum Call {
    Poll,
    Write(usize),
    WriteNothing,
    KeyUpdate(bool),
    Close,
    Abort,
    /// Everything it has to send arrives at its peer.
    Carry,
    /// Bytes that nobody sent arrive at it (only where harm may be done).
    Junk(u8),
    /// Its transport ends (only where harm may be done).
    End,
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        6 => Just(Call::Poll),
        3 => (0..20_000_usize).prop_map(Call::Write),
        1 => Just(Call::WriteNothing),
        1 => any::<bool>().prop_map(Call::KeyUpdate),
        1 => Just(Call::Close),
        1 => Just(Call::Abort),
        5 => Just(Call::Carry),
        1 => any::<u8>().prop_map(Call::Junk),
        1 => Just(Call::End),
    ]
}

/// Makes the call; in a healthy pair only what does no harm.
fn make(conns: &mut [Conn; 2], end: usize, call: Call, harmful: bool) {
    let [a, b] = conns;
    let (conn, peer) = if end == 0 { (a, b) } else { (b, a) };
    match call {
        Call::Poll => drop(conn.poll_event().map(drop)),
        Call::Write(n) => drop(conn.write(&vec![b'.'; n])),
        Call::WriteNothing => drop(conn.write(&[])),
        Call::KeyUpdate(ask) => drop(conn.key_update(ask)),
        Call::Carry => drop(carry(conn, peer)),
        Call::Close if harmful => drop(conn.close()),
        Call::Abort if harmful => conn.abort(),
        Call::Junk(byte) if harmful => drop(feed(conn, &[byte, 3, 3, 0, 2, byte, 1])),
        Call::End if harmful => conn.backend_mut().end_of_input(),
        Call::Close | Call::Abort | Call::Junk(_) | Call::End => {}
    }
    assert!(error_queue_is_empty(), "after {call:?}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(8),
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_queue_is_empty_after_every_call_and_the_healthy_stay_healthy(
        mode in 0..4_usize,
        calls in prop::collection::vec((any::<bool>(), 0..2_usize, call()), 0..150),
    ) {
        let mode = &modes()[mode];
        let split = |pair: Pair| [pair.client, pair.server];
        let (mut healthy, mut harmed) = (split(mode.pair()), split(mode.pair()));
        for (harm, end, call) in calls {
            make(if harm { &mut harmed } else { &mut healthy }, end, call, harm);
        }
        drop(harmed);
        prop_assert!(error_queue_is_empty());
        let [client, server] = healthy;
        let mut pair = Pair { client, server };
        let (client, server) = pair.settle();
        prop_assert!(client.is_ok() && server.is_ok(), "{:?} {:?}", client, server);
        prop_assert_eq!((pair.client.state(), pair.server.state()), (State::Traffic, State::Traffic));
    }
}

#[test]
fn a_full_queue_leaves_no_dirt() {
    for_each_mode(|mode| {
        let mut pair = idle_pair(mode);
        let room = pair.client.backend_mut().room(1).len();
        pair.client.backend_mut().commit(room);
        let _: Result<_, _> = pair.client.write(b"x");
        assert!(error_queue_is_empty());
        let _: Result<_, _> = pair.client.key_update(true);
        assert!(error_queue_is_empty());
        let _: Result<_, _> = pair.client.close();
        assert!(error_queue_is_empty());
        assert_eq!(pair.client.state(), State::Traffic);
    });
}
