//! A live connection changes its backend: every byte arrives once, whatever lay in the old one.

use std::sync::LazyLock;

use arenatls::{
    ArenaBackend, ArenaPool, Backend as _, Budget, Capacities, Connection, Event, ExchangeError, Handover as _,
    Progress, Refused, State,
};
use arenatls_rig::mode::{Mode, for_each_mode, for_each_tls13_mode, smallest_pool, usual_pool};
use arenatls_rig::native::{error_queue_is_empty, is_resumable};
use arenatls_rig::pair::{Conn, Pair, Seen, carry, carry_chunks, events, feed, feed_all, plaintext, take_output};
use arenatls_rig::random::Random;
use arenatls_rig::wire::plain_record;

/// Memory of three sizes: the least there may be, the usual, and an odd one.
fn pools() -> [&'static ArenaPool; 3] {
    static ODD: LazyLock<ArenaPool> = LazyLock::new(|| ArenaPool::new(Budget::bytes(54_321)));
    [smallest_pool(), usual_pool(), &ODD]
}

fn backend(pool: &'static ArenaPool) -> ArenaBackend<'static> {
    pool.backend().unwrap()
}

/// The same connection in memory of `pool`; OpenSSL is not asked.
fn moved(conn: Conn, pool: &'static ArenaPool) -> Conn {
    let calls = conn.openssl_calls();
    let conn = conn.exchange(backend(pool)).unwrap();
    assert_eq!(conn.openssl_calls(), calls);
    conn
}

fn connected(mode: &Mode) -> Pair {
    let mut pair = mode.connected();
    pair.settled();
    pair
}

fn text(bytes: &[u8]) -> Seen {
    Seen::Plaintext(bytes.to_vec())
}

#[test]
fn a_connection_goes_on_in_memory_of_another_size() {
    for_each_mode(|mode| {
        let mut pair = connected(mode);
        let protection = pair.server.protection();
        for (round, pool) in pools().into_iter().cycle().take(9).enumerate() {
            pair.server = moved(pair.server, pool);
            pair.client = moved(pair.client, pools()[round / 3]);
            assert_eq!(pair.client.write(b"question").unwrap().done(), Some(8));
            assert_eq!(pair.to_server(), [text(b"question")]);
            assert_eq!(pair.server.write(&[7; 9000]).unwrap().done(), Some(9000));
            assert_eq!(plaintext(&pair.to_client()), [7; 9000]);
        }
        assert_eq!(pair.server.protection(), protection);
        assert_eq!((pair.server.received().bytes, pair.server.sent().bytes), (9 * 8, 9 * 9000));
    });
}

#[test]
fn half_a_record_is_handed_over_wherever_it_is_cut() {
    for_each_mode(|mode| {
        let mut pair = connected(mode);
        let mut pools = pools().into_iter().cycle();
        for cut in 0..60 {
            assert_eq!(pair.client.write(b"in two parts").unwrap().done(), Some(12));
            let record = take_output(&mut pair.client);
            let cut = cut.min(record.len());
            feed(&mut pair.server, &record[..cut]);
            let before = events(&mut pair.server).unwrap();
            pair.server = moved(pair.server, pools.next().unwrap());
            feed(&mut pair.server, &record[cut..]);
            assert_eq!([before, events(&mut pair.server).unwrap()].concat(), [text(b"in two parts")], "cut at {cut}");
        }
    });
}

/// The record that is open is read to `take`, and consumed only to there.
fn read_some(conn: &mut Conn, take: usize) -> Vec<u8> {
    let Some(Event::Plaintext(bytes)) = conn.poll_event().unwrap() else { panic!("no plaintext") };
    let read = bytes[..take].to_vec();
    bytes.consume(take);
    read
}

#[test]
fn what_is_left_of_an_open_record_is_lent_once_more() {
    for_each_mode(|mode| {
        let mut pair = connected(mode);
        for take in 0..=10 {
            for write in [&b"0123456789"[..], b"behind"] {
                assert!(pair.client.write(write).unwrap().done().is_some());
            }
            carry(&mut pair.client, &mut pair.server);
            let read = read_some(&mut pair.server, take);
            let mut server = pair.server;
            for pool in pools() {
                server = moved(server, pool);
            }
            assert_eq!(server.unread(), 10 - take);
            // What was read is not handed over, nor the memory that it took.
            let waits = server.backend_mut().pending().unwrap().input.len();
            assert!(waits < 100 - take, "{waits} bytes");
            let seen = events(&mut server).unwrap();
            assert_eq!([read, plaintext(&seen)].concat(), b"0123456789behind", "after {take} bytes");
            assert_eq!(server.received().records % 2, 0, "each record is counted once");
            pair.server = server;
        }
    });
}

#[test]
fn a_record_is_read_in_many_places() {
    for_each_mode(|mode| {
        let mut pair = connected(mode);
        let plain: Vec<u8> = (0..16_000_u32).map(|i| (i / 7).to_le_bytes()[0]).collect();
        assert_eq!(pair.client.write(&plain).unwrap().done(), Some(16_000));
        carry(&mut pair.client, &mut pair.server);
        let (mut server, mut read) = (pair.server, Vec::new());
        for pool in pools().into_iter().cycle().take(16) {
            read.extend(read_some(&mut server, 1000));
            server = moved(server, pool);
        }
        assert!(read == plain);
        assert_eq!(server.poll_event().unwrap().map(Seen::from), None);
        assert_eq!(server.backend_mut().input(), b"");
    });
}

#[test]
fn what_was_not_sent_leaves_from_the_new_memory() {
    for_each_mode(|mode| {
        let mut pair = connected(mode);
        // The output begins again at the front of its memory, so that it lies in two places.
        let mut wire = Vec::new();
        let mut sent = Vec::new();
        while pair.server.backend_mut().pending().unwrap().unsent[1].is_empty() {
            let piece = vec![u8::try_from(sent.len() % 251).unwrap(); 7000];
            if let Progress::Done(n) = pair.server.write(&piece).unwrap() {
                sent.extend_from_slice(&piece[..n]);
            }
            let (n, from) = (5000.min(pair.server.backend().to_send().len()), pair.server.backend_mut());
            wire.extend_from_slice(&from.to_send()[..n]);
            from.sent(n).unwrap();
        }
        let unsent = pair.server.backend().unsent();
        pair.server = moved(pair.server, usual_pool());
        assert_eq!(pair.server.backend().to_send().len(), unsent, "in one place");
        assert_eq!(pair.server.write(b"after").unwrap().done(), Some(5));
        wire.extend(take_output(&mut pair.server));
        sent.extend_from_slice(b"after");
        assert!(plaintext(&feed_all(&mut pair.client, &wire).unwrap()) == sent);
    });
}

#[test]
fn an_end_of_input_is_handed_over() {
    for_each_mode(|mode| {
        for closed in [true, false] {
            let mut pair = connected(mode);
            assert_eq!(pair.client.write(b"last words").unwrap().done(), Some(10));
            if closed {
                assert!(pair.client.close().unwrap().done().is_some());
            }
            carry(&mut pair.client, &mut pair.server);
            pair.server.backend_mut().end_of_input();
            let mut server = moved(pair.server, smallest_pool());
            assert!(server.backend_mut().receive_into().is_empty());
            let end = if closed { Seen::PeerClosed } else { Seen::Truncated };
            assert_eq!(events_to_the_end(&mut server), [text(b"last words"), end]);
        }
    });
}

fn events_to_the_end(conn: &mut Conn) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Ok(Some(event)) = conn.poll_event() {
        seen.push(event.into());
    }
    seen
}

#[test]
fn half_closed_connections_move_too() {
    for_each_mode(|mode| {
        let mut pair = connected(mode);
        assert!(pair.client.close().unwrap().done().is_some());
        pair.client = moved(pair.client, usual_pool());
        assert_eq!(pair.client.state(), State::SendClosed);
        assert_eq!(pair.to_server(), [Seen::PeerClosed]);
        pair.server = moved(pair.server, usual_pool());
        assert_eq!(pair.server.state(), State::ReceiveClosed);
        assert_eq!(pair.server.write(b"reply").unwrap().done(), Some(5));
        assert!(pair.server.close().unwrap().done().is_some());
        assert_eq!(pair.to_client(), [text(b"reply"), Seen::PeerClosed]);
    });
}

#[test]
fn a_connection_that_moved_and_ended_well_leaves_its_session_behind() {
    for_each_mode(|mode| {
        // OpenSSL forgets a session whose connection is dropped without a clean end.
        for (ends_well, usable) in [(true, true), (false, false)] {
            let mut pair = connected(mode);
            pair.client = moved(pair.client, usual_pool());
            let session = pair.client.ssl().session().unwrap().to_owned();
            if ends_well {
                assert!(pair.client.close().unwrap().done().is_some());
            } else {
                pair.client.abort();
            }
            drop(pair);
            assert_eq!(is_resumable(&session), usable, "{}", mode.name);
        }
    });
}

#[test]
fn keys_are_replaced_before_during_and_after() {
    for_each_tls13_mode(|mode| {
        let mut pair = connected(mode);
        for (round, pool) in pools().into_iter().cycle().take(6).enumerate() {
            assert_eq!(pair.client.write(b"old key").unwrap().done(), Some(7));
            assert_eq!(pair.client.key_update(true).unwrap(), Progress::Done(()));
            assert_eq!(pair.client.write(b"new key").unwrap().done(), Some(7));
            pair.client = moved(pair.client, pool);
            let flight = take_output(&mut pair.client);
            let cut = flight.len() * round / 6;
            feed(&mut pair.server, &flight[..cut]);
            let before = events(&mut pair.server).unwrap();
            pair.server = moved(pair.server, pool);
            feed(&mut pair.server, &flight[cut..]);
            let after = events(&mut pair.server).unwrap();
            assert_eq!([before, after].concat(), [text(b"old key"), text(b"new key")]);
            // The answer to the KeyUpdate is in the old memory when it moves again.
            assert!(pair.server.backend().unsent() > 0);
            pair.server = moved(pair.server, pool);
            assert_eq!(pair.server.write(b"answer").unwrap().done(), Some(6));
            assert_eq!(pair.to_client(), [text(b"answer")]);
        }
    });
}

#[test]
fn tickets_and_an_answer_that_is_owed_move_along() {
    for_each_tls13_mode(|mode| {
        let mut pair = mode.pair();
        for _ in 0..8 {
            carry(&mut pair.client, &mut pair.server);
            events(&mut pair.server).unwrap();
            carry(&mut pair.server, &mut pair.client);
            events(&mut pair.client).unwrap();
        }
        assert_eq!((pair.client.state(), pair.server.state()), (State::Traffic, State::Traffic));
        pair.server = moved(pair.server, smallest_pool());
        // The peer asks for new keys while there is no room to answer.
        while let Progress::Done(_) = pair.server.write(&[1; 600]).unwrap() {}
        assert_eq!(pair.client.key_update(true).unwrap(), Progress::Done(()));
        assert_eq!(pair.client.write(b"go on").unwrap().done(), Some(5));
        carry(&mut pair.client, &mut pair.server);
        let before = events(&mut pair.server).unwrap();
        let sent = usize::try_from(pair.server.sent().bytes).unwrap();
        pair.server = moved(pair.server, usual_pool());
        let (client, server) = pair.settled();
        assert_eq!([before, server].concat(), [text(b"go on")]);
        assert_eq!(plaintext(&client), vec![1; sent]);
        assert_eq!(pair.server.write(b"under new keys").unwrap().done(), Some(14));
        assert_eq!(pair.to_client(), [text(b"under new keys")]);
    });
}

/// The exchange is refused; the connection and the backend come back.
fn refused(conn: Conn, to: ArenaBackend<'static>) -> (Conn, ArenaBackend<'static>, ExchangeError) {
    let shape = |conn: &Conn| (conn.state(), conn.want(), conn.sent(), conn.received(), conn.backend().unsent());
    let before = shape(&conn);
    let Refused { connection, backend, why } = *conn.exchange(to).unwrap_err();
    assert_eq!(shape(&connection), before);
    (connection, backend, why)
}

#[test]
fn a_connection_that_is_not_live_keeps_its_backend() {
    for_each_mode(|mode| {
        let mut pair = mode.pair();
        let (client, to, why) = refused(pair.client, backend(usual_pool()));
        assert_eq!(why, ExchangeError::NotLive(State::Idle));
        pair.client = client;
        events(&mut pair.client).unwrap();
        let (client, to, why) = refused(pair.client, to);
        assert_eq!(why, ExchangeError::NotLive(State::Handshake));
        pair.client = client;
        pair.handshake();
        let (mut failing, mut closing) = (pair.client, connected(mode).client);
        feed(&mut failing, &plain_record(23, &[0; 50]));
        events(&mut failing).expect_err("it is not authentic");
        let (_, to, why) = refused(failing, to);
        assert_eq!(why, ExchangeError::NotLive(State::Failed));
        closing.abort();
        assert_eq!(refused(closing, to).2, ExchangeError::NotLive(State::Closed));
        assert!(error_queue_is_empty());
    });
}

#[test]
fn a_backend_that_is_not_empty_is_not_taken() {
    for_each_mode(|mode| {
        let mut pair = connected(mode);
        let dirty: [fn(&mut ArenaBackend<'_>); 3] = [
            |b| {
                b.receive_into()[0] = 1;
                b.received(1).unwrap();
            },
            |b| {
                b.room(1)[0] = 1;
                b.commit(1);
            },
            |b| b.end_of_input(),
        ];
        for dirty in dirty {
            let mut to = backend(usual_pool());
            dirty(&mut to);
            let (client, _, why) = refused(pair.client, to);
            assert_eq!(why, ExchangeError::NotEmpty);
            pair.client = client;
        }
        assert_eq!(pair.client.write(b"all is well").unwrap().done(), Some(11));
        assert_eq!(pair.to_server(), [text(b"all is well")]);
    });
}

#[test]
fn what_does_not_fit_stays_where_it_is() {
    for_each_mode(|mode| {
        let mut pair = connected(mode);
        let (least, plain) = (Capacities::MINIMUM, vec![3; 30_000]);
        for end in 0..2 {
            assert_eq!(pair.client.write(&plain).unwrap().done(), Some(30_000));
            let unsent = pair.client.backend().unsent();
            let (mut client, to, why) = refused(pair.client, backend(smallest_pool()));
            assert_eq!(why, ExchangeError::OutputTooLarge { pending: unsent, room: least.outbound() });
            if end == 0 {
                // A larger one is good enough.
                client = moved(client, usual_pool());
            }
            pair.client = client;
            carry(&mut pair.client, &mut pair.server);
            let waits = pair.server.backend_mut().input().len();
            let (mut server, _, why) = refused(pair.server, to);
            assert_eq!(why, ExchangeError::InputTooLarge { pending: waits, room: least.inbound() });
            // And so is this one, once a record was read.
            let mut read = read_some(&mut server, 16_000);
            server = moved(server, smallest_pool());
            read.extend(plaintext(&events(&mut server).unwrap()));
            assert!(read == plain, "{} bytes", read.len());
            pair.server = moved(server, usual_pool());
        }
    });
}

/// One end of the random schedule: what it has still to say, and what it has heard.
struct End {
    conn: Option<Conn>,
    sent: usize,
    heard: usize,
}

impl End {
    fn conn(&mut self) -> &mut Conn {
        self.conn.as_mut().unwrap()
    }

    fn write(&mut self, random: &mut Random) {
        let piece: Vec<u8> = (0..random.next(9000)).map(|i| byte(self.sent + i)).collect();
        if let Progress::Done(n) = self.conn().write(&piece).unwrap() {
            self.sent += n;
        }
    }

    fn read(&mut self, random: &mut Random) {
        let heard = self.heard;
        if let Some(Event::Plaintext(bytes)) = self.conn().poll_event().unwrap() {
            let n = random.next(bytes.len() + 1);
            assert!(bytes[..n].iter().enumerate().all(|(i, b)| *b == byte(heard + i)), "wrong from {heard}");
            bytes.consume(n);
            self.heard += n;
        }
    }

    fn exchange(&mut self, random: &mut Random) -> bool {
        let before = self.conn.take().unwrap();
        let (conn, done) = match before.exchange(backend(pools()[random.next(3)])) {
            Ok(conn) => (conn, true),
            Err(refused) => (refused.connection, false),
        };
        self.conn = Some(conn);
        done
    }
}

fn byte(at: usize) -> u8 {
    (at ^ at >> 8 ^ at >> 16).to_le_bytes()[0]
}

/// Both ends write, read, update keys and move, at random; bytes between them come in pieces.
fn run(seed: u64, mode: &Mode) {
    let mut random = Random::new(seed);
    let Pair { client, server } = connected(mode);
    let end = |conn| End { conn: Some(conn), sent: 0, heard: 0 };
    let mut ends = [end(client), end(server)];
    let mut exchanged = 0;
    for _ in 0..4000 {
        let which = random.next(2);
        let [one, two] = &mut ends;
        let (this, other) = if which == 0 { (one, two) } else { (two, one) };
        match random.next(8) {
            0 | 1 => this.write(&mut random),
            2 | 3 => drop(carry_chunks(this.conn(), other.conn(), 1..=1 + random.next(20_000))),
            4 | 5 => this.read(&mut random),
            6 => exchanged += usize::from(this.exchange(&mut random)),
            _ if mode.is_tls13() && random.once_in(8) => drop(this.conn().key_update(random.once_in(2)).unwrap()),
            _ => {}
        }
    }
    for end in &mut ends {
        end.exchange(&mut random);
    }
    let [mut one, mut two] = ends;
    let (mut client, mut server) = (one.conn.take().unwrap(), two.conn.take().unwrap());
    let finish = |end: &mut End, conn: &mut Conn| {
        for byte_heard in plaintext(&events(conn).unwrap()) {
            assert_eq!(byte_heard, byte(end.heard), "seed {seed}");
            end.heard += 1;
        }
    };
    loop {
        finish(&mut one, &mut client);
        finish(&mut two, &mut server);
        if carry(&mut client, &mut server) + carry(&mut server, &mut client) == 0 {
            break;
        }
    }
    assert_eq!((one.heard, two.heard), (two.sent, one.sent), "seed {seed}");
    assert!(exchanged > 100 && one.sent + two.sent > 300_000, "seed {seed}: {exchanged} exchanges, {}", one.sent);
}

/// `EXCHANGE_SEED=7 cargo test --test exchange` replays one.
#[test]
fn a_random_schedule_of_exchanges_loses_no_byte_and_doubles_none() {
    let seeds =
        std::env::var("EXCHANGE_SEED").ok().and_then(|seed| seed.parse().ok()).map_or(1..=5, |seed| seed..=seed);
    for_each_mode(|mode| seeds.clone().for_each(|seed| run(seed, mode)));
}

/// A connection of a type that the pair does not have, so that the types do change.
#[test]
fn the_new_backend_may_be_of_another_lifetime() {
    let mode = &arenatls_rig::mode::modes()[3];
    let Pair { client, mut server } = connected(mode);
    let pool = ArenaPool::new(Budget::bytes(70_000));
    let mut client: Connection<ArenaBackend<'_>> = client.exchange(pool.backend().unwrap()).unwrap();
    assert_eq!(client.write(b"short-lived").unwrap().done(), Some(11));
    let bytes = client.backend().to_send().to_vec();
    feed(&mut server, &bytes);
    assert_eq!(events(&mut server).unwrap(), [text(b"short-lived")]);
}
