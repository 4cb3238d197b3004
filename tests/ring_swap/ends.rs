//! Ends before, after and in the middle of an exchange.

use std::net::Shutdown;
use std::time::{Duration, Instant};

use arenatls::{Backend as _, Event, State};
use arenatls_fd_owner::{CloseReason, Config, leaked_rings};
use arenatls_rig::mode::{for_each_mode, modes, usual_pool};
use arenatls_rig::pair::Seen;
use arenatls_rig::ring::{Told, reset_when_closed};

use crate::world::{World, answer, hear_the_end, pump_some, sockets};

fn text(bytes: &[u8]) -> Seen {
    Seen::Plaintext(bytes.to_vec())
}

#[test]
fn half_closed_connections_change_over() {
    for_each_mode(|mode| {
        // The peer has ended its direction, on the ring.
        let Some((mut world, id)) = World::on_ring(mode, Config::default()) else { return };
        world.say(b"last words");
        assert!(world.peer.close().unwrap().done().is_some());
        pump_some(&mut world.peer, &mut world.line, usize::MAX);
        assert_eq!(world.read(id, 100), b"last words");
        world.until_told(&Told::PeerClosed(id));
        let (mut conn, socket) = world.take(id);
        assert_eq!(conn.state(), State::ReceiveClosed);
        answer(&mut conn, b"reply");
        let id = world.adopt(conn, socket);
        world.driver.close(id).unwrap();
        assert_eq!(world.peer_sees_the_end(), [text(b"reply"), Seen::PeerClosed]);
        world.line.shutdown(Shutdown::Write).unwrap();
        world.until_told(&Told::Closed(id, CloseReason::Done));
        assert!(world.is_empty());
    });
}

#[test]
fn a_connection_that_has_closed_its_direction_reads_on_elsewhere() {
    for_each_mode(|mode| {
        let Some((mut world, mut conn, mut socket)) = World::with(mode, Config::default()) else { return };
        answer(&mut conn, b"over");
        assert!(conn.close().unwrap().done().is_some());
        // On the ring what waits is sent, and the socket's direction is shut.
        let id = world.adopt(conn, socket);
        assert_eq!(world.peer_hears(4), b"over");
        world.say(b"one more thing");
        assert_eq!(world.read(id, 3), b"one");
        (conn, socket) = world.take(id);
        assert_eq!(conn.state(), State::SendClosed);
        assert!(world.peer.close().unwrap().done().is_some());
        pump_some(&mut world.peer, &mut world.line, usize::MAX);
        assert_eq!(hear_the_end(&mut conn, &mut socket), [text(b" more thing"), Seen::PeerClosed]);
    });
}

#[test]
fn an_end_of_the_transport_that_comes_meanwhile_is_handed_over() {
    for_each_mode(|mode| {
        let Some((mut world, id)) = World::on_ring(mode, Config::default()) else { return };
        world.turn();
        world.say(b"cut off");
        world.driver.detach(id).unwrap();
        world.line.shutdown(Shutdown::Write).unwrap();
        let (mut conn, mut socket) = world.take_detached_into(id, usual_pool());
        assert_eq!(hear_the_end(&mut conn, &mut socket), [text(b"cut off"), Seen::Truncated]);
        assert!(world.is_empty());
    });
}

#[test]
fn the_end_of_the_transport_goes_along_to_a_ring() {
    for_each_mode(|mode| {
        // Once the socket's, and once only the caller's word.
        for of_the_socket in [true, false] {
            let Some((mut world, mut conn, mut socket)) = World::with(mode, Config::default()) else { return };
            world.say(b"cut off");
            if of_the_socket {
                world.line.shutdown(Shutdown::Write).unwrap();
            }
            while conn.backend_mut().input().is_empty() || (of_the_socket && !conn.backend().input_ended()) {
                pump_some(&mut conn, &mut socket, usize::MAX);
            }
            conn.backend_mut().end_of_input();
            let id = world.adopt(conn, socket);
            assert_eq!(world.read(id, 100), b"cut off");
            world.until_told(&Told::Closed(id, CloseReason::Truncated));
            assert!(world.is_empty());
        }
    });
}

#[test]
fn no_event_is_lost_behind_plaintext_that_the_application_took_by_itself() {
    for_each_mode(|mode| {
        for clean in [true, false] {
            let Some((mut world, mut conn, mut socket)) = World::with(mode, Config::default()) else { return };
            world.say(b"taken");
            if clean {
                assert!(world.peer.close().unwrap().done().is_some());
                pump_some(&mut world.peer, &mut world.line, usize::MAX);
            }
            world.line.shutdown(Shutdown::Write).unwrap();
            // So that the end lies behind the plaintext before that is told of.
            while !conn.backend().input_ended() {
                pump_some(&mut conn, &mut socket, usize::MAX);
            }
            let id = world.adopt(conn, socket);
            world.until_told(&Told::Plaintext(id));
            match world.driver.connection(id).unwrap().poll_event() {
                Ok(Some(Event::Plaintext(bytes))) => assert_eq!(&bytes[..], b"taken"),
                other => panic!("{other:?}"),
            }
            assert!(world.driver.plaintext(id).is_none(), "it was taken");
            world.until_told(&if clean { Told::PeerClosed(id) } else { Told::Truncated(id) });
        }
    });
}

/// A call of the application's, or a detach that read on for writers, may have met it before the driver's own poll.
#[test]
fn a_truncation_that_was_met_on_the_way_is_told_as_one() {
    for_each_mode(|mode| {
        let Some((mut world, mut conn, mut socket)) = World::with(mode, Config::default()) else { return };
        world.line.shutdown(Shutdown::Write).unwrap();
        while !conn.backend().input_ended() {
            pump_some(&mut conn, &mut socket, usize::MAX);
        }
        let id = world.adopt(conn, socket);
        assert!(matches!(world.driver.connection(id).unwrap().poll_event(), Ok(Some(Event::Truncated))));
        world.until_told(&Told::Truncated(id));
        world.until_told(&Told::Closed(id, CloseReason::Truncated));
    });
}

#[test]
fn a_connection_that_closes_before_it_was_told_to_be_writable_is_no_reason_to_be_busy() {
    let mode = &modes()[3];
    let wait = Duration::from_millis(100);
    let Some((mut world, id)) = World::on_ring(mode, Config::default()) else { return };
    world.driver.close(id).unwrap();
    // The peer hears the end, and says nothing.
    assert_eq!(world.peer_sees_the_end(), [Seen::PeerClosed]);
    (0..5).for_each(|_| world.turn());
    let begun = Instant::now();
    assert!(world.driver.poll_event().unwrap().is_none());
    world.driver.turn(Some(wait)).unwrap();
    assert!(begun.elapsed() >= wait, "{:?}", begun.elapsed());
}

#[test]
fn giving_up_on_the_way_is_sound() {
    for_each_mode(|mode| {
        for detached in [false, true] {
            let Some((mut world, id)) = World::on_ring(mode, Config::default()) else { return };
            answer(world.driver.connection(id).unwrap(), &[1; 30_000]);
            world.turn();
            world.say(b"unread");
            world.driver.detach(id).unwrap();
            if detached {
                world.until_told(&Told::Detached(id));
            }
            world.driver.abort(id).unwrap();
            world.until_told(&Told::Closed(id, CloseReason::Aborted));
            assert!(world.is_empty());
            assert!(world.log.iter().filter(|told| matches!(told, Told::Closed(..))).count() == 1);
        }
    });
}

#[test]
fn a_driver_that_is_dropped_on_the_way_leaves_nothing_behind() {
    for_each_mode(|mode| {
        for turns in 0..4 {
            let Some((mut world, id)) = World::on_ring(mode, Config::default()) else { return };
            answer(world.driver.connection(id).unwrap(), &[1; 30_000]);
            world.turn();
            world.driver.detach(id).unwrap();
            (0..turns).for_each(|_| world.driver.turn(Some(Duration::ZERO)).unwrap());
            let World { driver, mut peer, mut line, .. } = world;
            drop(driver);
            // The peer sees an end that is no clean one.
            assert_eq!(hear_the_end(&mut peer, &mut line).last(), Some(&Seen::Truncated));
        }
    });
    assert_eq!(leaked_rings(), 0);
}

#[test]
fn who_is_not_taken_is_closed_as_idle() {
    let mode = &modes()[3];
    let config =
        Config::default().idle_timeout(Some(Duration::from_millis(60))).close_timeout(Duration::from_millis(200));
    let Some((mut world, id)) = World::on_ring(mode, config) else { return };
    world.turn();
    answer(world.driver.connection(id).unwrap(), b"not sent yet");
    world.driver.detach(id).unwrap();
    world.until_told(&Told::Detached(id));
    world.until_told(&Told::Closed(id, CloseReason::IdleTimeout));
    assert!(world.is_empty());
    assert_eq!(hear_the_end(&mut world.peer, &mut world.line), [text(b"not sent yet"), Seen::PeerClosed]);
}

#[test]
fn a_send_that_failed_is_told_before_the_connection_is_given_out() {
    for_each_mode(|mode| {
        let Some((mut world, id)) = World::on_ring(mode, Config::default()) else { return };
        world.turn();
        reset_when_closed(&world.line);
        world.line = sockets().0;
        // Nobody polls, so nobody has been told.
        for _ in 0..3 {
            answer(world.driver.connection(id).unwrap(), b"to nobody");
            world.driver.turn(Some(Duration::from_millis(5))).unwrap();
        }
        let (mut conn, _socket) = world.take(id);
        assert!(matches!(world.log[..], [.., Told::SendFailed(_), Told::Detached(_)]), "{:?}", world.log);
        assert_eq!(conn.backend().unsent(), 0, "what went nowhere is not handed over");
        assert_eq!(conn.poll_event().unwrap().map(Seen::from), Some(Seen::Truncated));
        assert!(world.is_empty());
    });
}
