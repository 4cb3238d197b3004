//! What a write accepts is ciphertext when it returns, once, in order, whatever happens around it.

use std::io::IoSlice;

use arenatls::{Progress, Want};
use arenatls_rig::mode::{Direction, for_each_mode, for_each_tls13_mode, smallest_pool};
use arenatls_rig::native::error_queue_is_empty;
use arenatls_rig::pair::{Conn, Pair, Seen, carry, events, plaintext, take_output};
use arenatls_rig::wire;

const FULL: Progress<usize> = Progress::Want(Want::Drain);

/// Writes full records, then smaller ones, until not a byte more fits; all that was accepted.
fn fill(conn: &mut Conn, byte: u8) -> Vec<u8> {
    let mut accepted = Vec::new();
    for size in [16_384, 1024, 64, 1] {
        let piece = vec![byte; size];
        while let Some(n) = conn.write(&piece).expect("a write").done() {
            accepted.extend(&piece[..n]);
        }
    }
    assert_eq!(conn.write(b"x").unwrap(), FULL);
    accepted
}

/// Lets the server read until nothing is left on either side; the plaintext.
fn server_reads_all(pair: &mut Pair) -> Vec<u8> {
    let (_, seen) = pair.settled();
    plaintext(&seen)
}

#[test]
fn a_blocked_write_may_be_repeated_from_elsewhere() {
    for_each_mode(|mode| {
        let mut pair = mode.connected_in(smallest_pool());
        let before = fill(&mut pair.client, b'.');
        let data = vec![b'A'; 1024];
        assert_eq!(pair.client.write(&data).unwrap(), FULL);
        let moved = data.clone();
        drop(data);
        let mut read = server_reads_all(&mut pair);
        assert_eq!(pair.client.write(&moved).unwrap().done(), Some(1024));
        read.extend(server_reads_all(&mut pair));
        assert_eq!(read, [before, moved].concat());
    });
}

#[test]
fn a_blocked_write_may_be_cancelled_and_leaves_nothing_behind() {
    for_each_mode(|mode| {
        let mut pair = mode.connected_in(smallest_pool());
        let before = fill(&mut pair.client, b'.');
        assert_eq!(pair.client.write(&[b'A'; 64]).unwrap(), FULL);
        let mut read = server_reads_all(&mut pair);
        assert_eq!(pair.client.write(&[b'B'; 64]).unwrap().done(), Some(64));
        read.extend(server_reads_all(&mut pair));
        assert_eq!(read, [before, vec![b'B'; 64]].concat());
    });
}

#[test]
fn a_write_that_is_cut_short_says_how_much_it_took() {
    for_each_mode(|mode| {
        let mut pair = mode.connected_in(smallest_pool());
        let data: Vec<u8> = (0..100_000_u32).map(|i| i.to_le_bytes()[0]).collect();
        let n = pair.client.write(&data).unwrap().done().expect("some of it fits");
        assert!(n > 0 && n < data.len());
        assert_eq!(server_reads_all(&mut pair), &data[..n]);
    });
}

#[test]
fn a_key_update_asked_for_during_a_blocked_write_waits_or_goes_behind_it() {
    for_each_tls13_mode(|mode| {
        for ask_peer in [false, true] {
            let mut pair = mode.connected_in(smallest_pool());
            let mut expected = fill(&mut pair.client, b'.');
            assert_eq!(pair.client.write(&[b'A'; 1024]).unwrap(), FULL);
            let asked = pair.client.key_update(ask_peer).expect("busy is no failure");
            assert!(error_queue_is_empty());
            let mut read = server_reads_all(&mut pair);
            if asked.done().is_none() {
                assert!(pair.client.key_update(ask_peer).unwrap().done().is_some());
            }
            assert_eq!(pair.client.write(&[b'A'; 1024]).unwrap().done(), Some(1024));
            expected.extend([b'A'; 1024]);
            read.extend(server_reads_all(&mut pair));
            assert_eq!(read, expected);
            assert_eq!(pair.server.write(b"back").unwrap().done(), Some(4));
            assert_eq!(pair.to_client(), [Seen::Plaintext(b"back".to_vec())]);
        }
    });
}

#[test]
fn a_peers_key_update_during_a_blocked_write_is_answered_behind_what_was_written() {
    for_each_tls13_mode(|mode| {
        let mut pair = mode.connected_in(smallest_pool());
        pair.settled();
        let mut expected = fill(&mut pair.client, b'.');
        assert!(pair.server.key_update(true).unwrap().done().is_some());
        assert_eq!(pair.server.write(b"abc").unwrap().done(), Some(3));
        carry(&mut pair.server, &mut pair.client);
        let mut news = events(&mut pair.client).expect("nothing is wrong");
        assert_eq!(pair.client.write(&[b'A'; 1024]).unwrap(), FULL);
        let (client, server) = pair.settled();
        news.extend(client);
        assert_eq!(news, [Seen::Plaintext(b"abc".to_vec())]);
        let mut read = plaintext(&server);
        assert_eq!(pair.client.write(&[b'B'; 1024]).unwrap().done(), Some(1024));
        expected.extend([b'B'; 1024]);
        read.extend(server_reads_all(&mut pair));
        assert_eq!(read, expected, "the server decrypts all of it, under both keys");
        assert_eq!(pair.server.received().control_records, 1, "the client has answered");
        if mode.expected(Direction::Send) == arenatls::Protection::Engine {
            assert_eq!(pair.client.sent().key_generations, 2);
        }
    });
}

#[test]
fn a_peers_key_update_is_answered_at_once_even_by_an_end_that_never_writes() {
    for_each_tls13_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        for server_asks in [true, false] {
            let (asks, answers) = match server_asks {
                true => (&mut pair.server, &mut pair.client),
                false => (&mut pair.client, &mut pair.server),
            };
            assert!(asks.key_update(true).unwrap().done().is_some());
            carry(asks, answers);
            assert_eq!(events(answers).unwrap(), []);
            assert!(answers.backend().unsent() > 0, "the answer is on its way");
            carry(answers, asks);
            assert_eq!(events(asks).unwrap(), []);
            assert!(asks.backend().unsent() == 0, "an answer is not answered");
        }
    });
}

#[test]
fn an_empty_write_does_nothing_in_any_state() {
    fn assert_nothing_happens(conn: &mut Conn) {
        let before = (conn.openssl_calls(), conn.state(), conn.backend().unsent(), conn.want());
        assert_eq!(conn.write(&[]), Ok(Progress::Done(0)));
        assert_eq!(conn.write_vectored(&[]), Ok(Progress::Done(0)));
        assert_eq!(conn.write_vectored(&[IoSlice::new(&[]), IoSlice::new(&[])]), Ok(Progress::Done(0)));
        assert_eq!((conn.openssl_calls(), conn.state(), conn.backend().unsent(), conn.want()), before);
        assert!(error_queue_is_empty());
    }
    for_each_mode(|mode| {
        let mut pair = mode.pair_in(smallest_pool());
        assert_nothing_happens(&mut pair.client);
        events(&mut pair.client).unwrap();
        assert_nothing_happens(&mut pair.client);
        pair.handshake();
        assert_nothing_happens(&mut pair.client);
        fill(&mut pair.client, b'.');
        assert_nothing_happens(&mut pair.client);
        server_reads_all(&mut pair);
        assert!(pair.client.close().unwrap().done().is_some());
        assert_nothing_happens(&mut pair.client);
        assert_eq!(pair.to_server(), [Seen::PeerClosed]);
        assert_nothing_happens(&mut pair.server);
        pair.client.backend_mut().end_of_input();
        assert_eq!(pair.client.poll_event().map(|event| event.map(Seen::from)), Ok(Some(Seen::Truncated)));
        assert_nothing_happens(&mut pair.client);
    });
}

#[test]
fn a_slow_peer_is_felt_and_costs_no_more_than_the_queue() {
    for_each_mode(|mode| {
        let mut pair = mode.connected_in(smallest_pool());
        let free = arenatls::Backend::room(pair.client.backend_mut(), 1).len();
        let capacity = pair.client.backend().capacities().outbound();
        let reserved = smallest_pool().reserved();
        let mut accepted = 0;
        for _ in 0..64 {
            if let Progress::Done(n) = pair.client.write(&[b'.'; 16_384]).unwrap() {
                accepted += n;
            }
            assert!(pair.client.backend().unsent() <= capacity);
        }
        assert!((1..=capacity).contains(&accepted));
        assert_eq!(server_reads_all(&mut pair).len(), accepted);
        assert_eq!(arenatls::Backend::room(pair.client.backend_mut(), 1).len(), free, "all the room is back");
        assert_eq!(smallest_pool().reserved(), reserved, "and nothing was taken on the way");
    });
}

#[test]
fn a_gathered_write_is_one_record() {
    for_each_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        let pieces = [&[b'a'; 10], &[b'b'; 10], &[b'c'; 10]].map(|piece| IoSlice::new(piece));
        assert_eq!(pair.client.write_vectored(&pieces).unwrap().done(), Some(30));
        let out = take_output(&mut pair.client);
        assert_eq!(wire::records(&out).len(), 1);
        // Header, text, TLS 1.3's content type or 1.2's explicit nonce, tag.
        assert_eq!(out.len(), if mode.is_tls13() { 5 + 30 + 1 + 16 } else { 5 + 8 + 30 + 16 });
        arenatls_rig::pair::feed(&mut pair.server, &out);
        assert_eq!(events(&mut pair.server).unwrap(), [Seen::Plaintext([[b'a'; 10], [b'b'; 10], [b'c'; 10]].concat())]);
    });
}

#[test]
fn a_long_gathered_write_makes_full_records() {
    for_each_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        let data: Vec<u8> = (0..20_000_u32).map(|i| (i * 7).to_le_bytes()[0]).collect();
        let pieces: Vec<IoSlice<'_>> = data.chunks(999).map(IoSlice::new).collect();
        assert_eq!(pair.client.write_vectored(&pieces).unwrap().done(), Some(20_000));
        assert_eq!(wire::records(pair.client.backend().to_send()).len(), 2);
        assert_eq!(plaintext(&pair.to_server()), data);
    });
}

#[test]
fn records_are_as_small_as_asked_for() {
    for_each_mode(|mode| {
        let mut pair = Pair::with(
            &mode.client(),
            &mode.server(),
            &mode.options.max_plaintext(100),
            &mode.options,
            arenatls_rig::mode::usual_pool(),
        );
        pair.handshake();
        pair.settled();
        assert_eq!(pair.client.write(&[b'.'; 250]).unwrap().done(), Some(250));
        let lens: Vec<usize> =
            pair.to_server().iter().map(|seen| plaintext(std::slice::from_ref(seen)).len()).collect();
        assert_eq!(lens, [100, 100, 50]);
    });
}

/// For a backend that is in the middle of something: no data gets into it, and what the protocol has to say does.
#[test]
fn held_writes_find_no_room_and_control_records_do() {
    for_each_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        pair.client.hold_writes();
        assert_eq!(pair.client.write(b"").unwrap(), Progress::Done(0));
        assert_eq!(pair.client.backend().unsent(), 0);
        assert!(!pair.client.resume_writes(), "nothing was refused");
        pair.client.hold_writes();
        assert_eq!(pair.client.write(b"data").unwrap(), FULL);
        assert_eq!(pair.client.want(), Some(Want::Drain));
        // Said twice is said once.
        pair.client.hold_writes();
        assert_eq!(pair.client.backend().unsent(), 0);
        if mode.is_tls13() {
            assert_eq!(pair.client.key_update(true).unwrap(), Progress::Done(()));
        }
        assert_eq!(server_reads_all(&mut pair), b"");
        assert!(pair.client.resume_writes() && !pair.client.resume_writes());
        assert_eq!(pair.client.write(b"data").unwrap().done(), Some(4));
        assert_eq!(server_reads_all(&mut pair), b"data");
    });
}
