//! What lies where at the moment of the exchange.

use std::io::Write as _;
use std::thread;
use std::time::Duration;

use arenatls::{Backend, Connection, Event, Progress};
use arenatls_fd_owner::Config;
use arenatls_rig::mode::{Mode, for_each_mode, for_each_tls13_mode, smallest_pool};
use arenatls_rig::native::is_resumable;
use arenatls_rig::pair::{Pair, carry, events, plaintext, take_output};
use arenatls_rig::ring::{Told, pattern, small_send_buffer};

use crate::world::{World, answer, hear, pump_some, sockets};

fn config() -> Config {
    Config::default().connections(2).queues(8, 16)
}

#[test]
fn a_connection_goes_from_memory_to_a_ring_and_back_and_again() {
    for_each_mode(|mode| {
        let Some((mut world, mut conn, mut socket)) = World::with(mode, config()) else { return };
        for _ in 0..5 {
            answer(&mut conn, b"from memory");
            let id = world.adopt(conn, socket);
            assert_eq!(world.peer_hears(11), b"from memory");
            world.say(b"to the ring");
            assert_eq!(world.read(id, 100), b"to the ring");
            answer(world.driver.connection(id).unwrap(), b"from the ring");
            assert_eq!(world.peer_hears(13), b"from the ring");
            assert!(world.driver.slots().lent == 1);
            (conn, socket) = world.take(id);
            assert!(world.is_empty(), "{:?}", world.driver);
            world.say(b"to memory");
            assert_eq!(hear(&mut conn, &mut socket, 9), b"to memory");
        }
        assert_eq!(conn.received().bytes, 5 * (11 + 9));
    });
}

/// The connection is `Send` again, and so is what lay in the slot.
#[test]
fn a_connection_off_a_ring_goes_to_another_thread() {
    for_each_mode(|mode| {
        let Some((mut world, id)) = World::on_ring(mode, config()) else { return };
        world.say(b"before");
        world.until_told(&Told::Plaintext(id));
        let (mut conn, mut socket) = world.take(id);
        let there = thread::spawn(move || {
            let heard = hear(&mut conn, &mut socket, 6);
            answer(&mut conn, b"from there");
            pump_some(&mut conn, &mut socket, usize::MAX);
            (heard, conn, socket)
        });
        let (heard, conn, socket) = there.join().unwrap();
        assert_eq!(heard, b"before");
        assert_eq!(world.peer_hears(10), b"from there");
        drop((conn, socket));
    });
}

#[test]
fn half_a_record_goes_along_both_ways() {
    for_each_mode(|mode| {
        let Some((mut world, mut conn, mut socket)) = World::with(mode, config()) else { return };
        for cut in [1, 4, 5, 6, 20, 30] {
            answer(&mut world.peer, b"a record in two");
            let record = take_output(&mut world.peer);
            // In memory first, whole on the ring.
            world.line.write_all(&record[..cut]).unwrap();
            while conn.backend_mut().input().len() < cut {
                pump_some(&mut conn, &mut socket, usize::MAX);
            }
            let id = world.adopt(conn, socket);
            world.line.write_all(&record[cut..]).unwrap();
            assert_eq!(world.read(id, 100), b"a record in two");
            // And the other way.
            answer(&mut world.peer, b"and another");
            let record = take_output(&mut world.peer);
            world.line.write_all(&record[..cut]).unwrap();
            world.until_input(id, cut);
            (conn, socket) = world.take_into(id, smallest_pool());
            world.line.write_all(&record[cut..]).unwrap();
            assert_eq!(hear(&mut conn, &mut socket, 11), b"and another");
        }
    });
}

#[test]
fn an_open_record_that_is_read_in_part_is_lent_from_there_on() {
    for_each_mode(|mode| {
        let Some((mut world, id)) = World::on_ring(mode, config()) else { return };
        world.say(b"0123456789");
        world.say(b"behind");
        let mut read = world.read(id, 4);
        // Told of again, and not lent.
        world.turn();
        let (mut conn, socket) = world.take(id);
        let Some(Event::Plaintext(bytes)) = conn.poll_event().unwrap() else { panic!("no plaintext") };
        read.extend_from_slice(&bytes[..3]);
        bytes.consume(3);
        let id = world.adopt(conn, socket);
        while read.len() < 16 {
            read.extend(world.read(id, 2));
        }
        assert_eq!(read, b"0123456789behind");
        let records = world.driver.connection(id).unwrap().received().records;
        assert_eq!(records, 2);
    });
}

/// Writes until there is no room; how far it came.
fn fill<B: Backend>(connection: &mut Connection<B>, mut from: usize) -> usize {
    while let Progress::Done(n) = connection.write(&pattern(from, 3000)).unwrap() {
        from += n;
    }
    from
}

#[test]
fn output_that_the_peer_does_not_take_goes_along() {
    for_each_mode(|mode| {
        let Some((mut world, mut conn, mut socket)) = World::with(mode, config()) else { return };
        small_send_buffer(&socket, 4096);
        let (mut said, mut heard) = (0, Vec::new());
        for _ in 0..3 {
            let id = world.adopt(conn, socket);
            let mut before = 0;
            while before < said || said == 0 {
                before = said;
                said = fill(world.driver.connection(id).unwrap(), said);
                world.turn();
            }
            // The send that is in flight will not complete by itself.
            (conn, socket) = world.take(id);
            assert!(conn.backend().unsent() > 10_000, "{conn:?}");
            said = fill(&mut conn, said);
            while conn.backend().unsent() > 30_000 {
                pump_some(&mut conn, &mut socket, usize::MAX);
                pump_some(&mut world.peer, &mut world.line, usize::MAX);
                heard.extend(plaintext(&events(&mut world.peer).unwrap()));
            }
        }
        let id = world.adopt(conn, socket);
        heard.extend(world.peer_hears(said - heard.len()));
        assert!(heard == pattern(0, said));
        drop(world.take(id));
        assert!(world.is_empty());
    });
}

/// Bytes come in while the reception is being cancelled; whoever wins, they are there.
#[test]
fn a_reception_that_races_its_cancellation_loses_nothing() {
    let mode = &arenatls_rig::mode::modes()[3];
    let Some((mut world, mut conn, mut socket)) = World::with(mode, config()) else { return };
    for round in 0..300_usize {
        let id = world.adopt(conn, socket);
        world.turn();
        let say = |world: &mut World, part: u8| world.say(&[part; 20]);
        if round % 3 == 0 {
            say(&mut world, 1);
        }
        world.driver.detach(id).unwrap();
        if round % 3 == 1 {
            say(&mut world, 2);
        }
        world.driver.turn(Some(std::time::Duration::ZERO)).unwrap();
        if round % 3 == 2 {
            say(&mut world, 3);
        }
        (conn, socket) = world.take_detached_into(id, smallest_pool());
        let part = u8::try_from(round % 3 + 1).unwrap();
        assert_eq!(hear(&mut conn, &mut socket, 20), [part; 20]);
        world.log.clear();
    }
}

/// With a completion queue of two, what was received is told only after the connection began to leave.
#[test]
fn what_was_received_before_its_cancellation_and_is_told_after_it_is_kept() {
    for_each_mode(|mode| {
        let config = Config::default().connections(12).queues(1, 2);
        let Some((mut world, conn, socket)) = World::with(mode, config) else { return };
        let first = (world.adopt(conn, socket), None);
        let others = (1..12).map(|_| {
            let (Pair { client, server }, (line, socket)) = (mode.connected(), sockets());
            (world.adopt(server, socket), Some((client, line)))
        });
        let mut all: Vec<_> = std::iter::once(first).chain(others.collect::<Vec<_>>()).collect();
        for _ in 0..5 {
            (0..30).for_each(|_| world.turn());
            for (id, peer) in &mut all {
                let text = [u8::try_from(id.index()).unwrap(); 20];
                match peer {
                    None => world.say(&text),
                    Some((peer, line)) => {
                        answer(peer, &text);
                        pump_some(peer, line, usize::MAX);
                    }
                }
            }
            world.driver.turn(Some(Duration::ZERO)).unwrap();
            for (id, _) in &all {
                world.driver.detach(*id).unwrap();
            }
            for (id, _) in &mut all {
                let text = [u8::try_from(id.index()).unwrap(); 20];
                let (mut conn, mut socket) = world.take_detached_into(*id, smallest_pool());
                assert_eq!(hear(&mut conn, &mut socket, 20), text);
                *id = world.adopt(conn, socket);
            }
        }
    });
}

#[test]
fn keys_are_replaced_around_exchanges() {
    for_each_tls13_mode(|mode| {
        let Some((mut world, mut conn, mut socket)) = World::with(mode, config()) else { return };
        for _ in 0..3 {
            // The KeyUpdate, and the answer it asks for, wait in memory when they go.
            assert_eq!(conn.key_update(true).unwrap(), Progress::Done(()));
            answer(&mut conn, b"new key");
            let id = world.adopt(conn, socket);
            assert_eq!(world.peer_hears(7), b"new key");
            assert_eq!(world.peer.key_update(true).unwrap(), Progress::Done(()));
            world.say(b"newer key");
            world.until_input(id, 1);
            (conn, socket) = world.take(id);
            assert_eq!(hear(&mut conn, &mut socket, 9), b"newer key");
            answer(&mut conn, b"newest");
            pump_some(&mut conn, &mut socket, usize::MAX);
            assert_eq!(world.peer_hears(6), b"newest");
        }
        assert_eq!(world.peer.state(), conn.state());
    });
}

/// A client whose server's tickets have not come yet, and those tickets.
fn before_its_tickets(mode: &Mode) -> (Pair, Vec<u8>) {
    let Pair { mut client, mut server } = mode.pair();
    events(&mut client).unwrap();
    carry(&mut client, &mut server);
    events(&mut server).unwrap();
    carry(&mut server, &mut client);
    events(&mut client).unwrap();
    carry(&mut client, &mut server);
    events(&mut client).unwrap();
    events(&mut server).unwrap();
    let tickets = take_output(&mut server);
    events(&mut server).unwrap();
    (Pair { client, server }, tickets)
}

#[test]
fn tickets_that_come_in_two_parts_are_taken() {
    for_each_tls13_mode(|mode| {
        for part in 1..8 {
            let (Pair { client, server }, tickets) = before_its_tickets(mode);
            let cut = tickets.len() * part / 8;
            // It is the client that moves.
            let pair = Pair { client: server, server: client };
            let Some((mut world, conn, socket)) = World::of(config(), pair) else { return };
            let id = world.adopt(conn, socket);
            world.line.write_all(&tickets[..cut]).unwrap();
            (0..3).for_each(|_| world.turn());
            let (mut conn, mut socket) = world.take(id);
            world.line.write_all(&tickets[cut..]).unwrap();
            world.say(b"after the tickets");
            assert_eq!(hear(&mut conn, &mut socket, 17), b"after the tickets", "cut at {cut}");
            assert!(is_resumable(conn.ssl().session().unwrap()));
        }
    });
}

#[test]
fn a_connection_leaves_from_its_rest() {
    for_each_mode(|mode| {
        let config = config().rest_after(Some(Duration::from_millis(5)));
        let Some((mut world, mut conn, mut socket)) = World::with(mode, config) else { return };
        for comes_first in [false, true] {
            let id = world.adopt(conn, socket);
            world.until(|world| (world.driver.resting() == 1).then_some(()));
            if comes_first {
                world.say(b"while it rests");
            }
            world.driver.detach(id).unwrap();
            if !comes_first {
                world.say(b"while it rests");
            }
            (conn, socket) = world.take_detached_into(id, smallest_pool());
            assert_eq!(hear(&mut conn, &mut socket, 14), b"while it rests");
        }
        assert!(world.is_empty());
    });
}
