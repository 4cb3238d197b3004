//! What is refused, and that nothing is lost by it.

use arenatls::{Backend as _, ExchangeError, State};
use arenatls_fd_owner::{Config, DriverError, NotTaken, Role};
use arenatls_rig::mode::{for_each_mode, modes, smallest_pool, usual_pool};
use arenatls_rig::pair::feed;
use arenatls_rig::ring::Told;
use arenatls_rig::wire::plain_record;
use openssl::ssl::Ssl;

use crate::world::{World, answer, hear, pump_some, sockets, stream};

fn least() -> Config {
    let (inbound, outbound) = Config::LEAST_MEMORY;
    Config::default().connections(1).memory(inbound, outbound)
}

#[test]
fn a_full_driver_gives_everything_back() {
    for_each_mode(|mode| {
        let Some((mut world, first)) = World::on_ring(mode, least()) else { return };
        let Some((mut other, conn, socket)) = World::with(mode, least()) else { return };
        let back = world.driver.adopt_connection(socket.into(), conn).unwrap_err();
        assert!(matches!(back.why, DriverError::AtCapacity { connections: 1 }), "{back:?}");
        let (mut conn, mut socket) = (back.connection, stream(back.socket));
        other.say(b"still here");
        assert_eq!(hear(&mut conn, &mut socket, 10), b"still here");
        drop(world.take(first));
        world.adopt(conn, socket);
    });
}

#[test]
fn what_does_not_fit_a_slot_comes_back_and_fits_later() {
    for_each_mode(|mode| {
        let Some((mut world, mut conn, mut socket)) = World::with(mode, least()) else { return };
        let (inbound, outbound) = Config::LEAST_MEMORY;
        // Output first.
        answer(&mut conn, &[5; 30_000]);
        let unsent = conn.backend().unsent();
        let back = world.driver.adopt_connection(socket.into(), conn).unwrap_err();
        let expected = ExchangeError::OutputTooLarge { pending: unsent, room: outbound };
        assert!(matches!(back.why, DriverError::Exchange(why) if why == expected), "{back:?}");
        assert!(world.is_empty());
        (conn, socket) = (back.connection, stream(back.socket));
        while conn.backend().unsent() > 0 {
            pump_some(&mut conn, &mut socket, usize::MAX);
            pump_some(&mut world.peer, &mut world.line, usize::MAX);
            arenatls_rig::pair::events(&mut world.peer).unwrap();
        }
        // Then input.
        world.say(&[6; 30_000]);
        while conn.backend_mut().input().len() < 30_000 {
            pump_some(&mut conn, &mut socket, usize::MAX);
        }
        let waits = conn.backend_mut().input().len();
        let back = world.driver.adopt_connection(socket.into(), conn).unwrap_err();
        let expected = ExchangeError::InputTooLarge { pending: waits, room: inbound };
        assert!(matches!(back.why, DriverError::Exchange(why) if why == expected), "{back:?}");
        (conn, socket) = (back.connection, stream(back.socket));
        let Some(arenatls::Event::Plaintext(bytes)) = conn.poll_event().unwrap() else { panic!("no plaintext") };
        let mut heard = bytes.to_vec();
        let id = world.adopt(conn, socket);
        while heard.len() < 30_000 {
            heard.extend(world.read(id, usize::MAX));
        }
        assert!(heard == [6; 30_000]);
    });
}

#[test]
fn what_does_not_fit_memory_stays_on_the_ring() {
    for_each_mode(|mode| {
        let config = Config::default().connections(1).memory(80_000, 80_000);
        let Some((mut world, id)) = World::on_ring(mode, config) else { return };
        world.say(&[8; 30_000]);
        world.until_input(id, 30_000);
        world.driver.detach(id).unwrap();
        world.until_told(&Told::Detached(id));
        let back = world.driver.take_detached(id, smallest_pool().backend().unwrap()).unwrap_err();
        assert!(matches!(back.why, DriverError::Exchange(ExchangeError::InputTooLarge { .. })), "{back:?}");
        let mut dirty = usual_pool().backend().unwrap();
        dirty.end_of_input();
        let back = world.driver.take_detached(id, dirty).unwrap_err();
        assert!(matches!(back.why, DriverError::Exchange(ExchangeError::NotEmpty)), "{back:?}");
        let (socket, mut conn) = world.driver.take_detached(id, usual_pool().backend().unwrap()).unwrap();
        assert!(hear(&mut conn, &mut stream(socket), 30_000) == [8; 30_000]);
        assert!(world.is_empty());
    });
}

#[test]
fn only_live_connections_come_and_go() {
    for_each_mode(|mode| {
        let Some((mut world, mut conn, socket)) = World::with(mode, least().connections(2)) else { return };
        feed(&mut conn, &plain_record(23, &[0; 50]));
        arenatls_rig::pair::events(&mut conn).expect_err("it is not authentic");
        let back = world.driver.adopt_connection(socket.into(), conn).unwrap_err();
        let failed = ExchangeError::NotLive(State::Failed);
        assert!(matches!(back.why, DriverError::Exchange(why) if why == failed), "{back:?}");
        assert!(world.is_empty());

        let (_line, socket) = sockets();
        let ssl = Ssl::new(&mode.server()).unwrap();
        let id = world.driver.adopt(socket.into(), ssl, Role::Server).unwrap();
        world.turn();
        let early = world.driver.detach(id).unwrap_err();
        let expected = ExchangeError::NotLive(State::Handshake);
        assert!(matches!(early, DriverError::Exchange(why) if why == expected), "{early:?}");
        assert!(world.driver.connection(id).is_some(), "it goes on");
    });
}

#[test]
fn while_it_leaves_it_can_only_be_taken_or_given_up() {
    let Some((mut world, id)) = World::on_ring(&modes()[3], Config::default()) else { return };
    world.turn();
    world.driver.detach(id).unwrap();
    let empty = || usual_pool().backend().unwrap();
    let why = |back: Box<NotTaken<_>>| back.why;
    for detached in [false, true] {
        if detached {
            world.until_told(&Told::Detached(id));
        } else {
            let early = why(world.driver.take_detached(id, empty()).unwrap_err());
            assert!(matches!(early, DriverError::NotDetached), "{early:?}");
        }
        let driver = &mut world.driver;
        assert!(driver.connection(id).is_none() && driver.plaintext(id).is_none());
        let stale = [driver.detach(id), driver.close(id), driver.pause(id), driver.resume(id)];
        assert!(stale.iter().all(|result| matches!(result, Err(DriverError::Stale))), "{stale:?}");
        driver.peer_addr(id).unwrap();
    }
    world.driver.take_detached(id, empty()).unwrap();
    let late = why(world.driver.take_detached(id, empty()).unwrap_err());
    assert!(matches!(late, DriverError::Stale), "{late:?}");
    assert!(world.is_empty());
}
