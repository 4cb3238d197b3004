//! Connections that fail, or wait for their peer, while they are about to leave or nobody reads them.

use std::io::Write as _;

use arenatls::{Error, Progress, Want};
use arenatls_fd_owner::{CloseReason, Config};
use arenatls_rig::contexts;
use arenatls_rig::forge::{Forged, Secrets};
use arenatls_rig::mode::{for_each_tls13_mode, identity, modes, usual_pool};
use arenatls_rig::pair::{Pair, Seen, events};
use arenatls_rig::ring::Told;

use crate::world::{World, hear_the_end, pump_some};

const HANDSHAKE: u8 = 22;
/// KeyUpdate, update_not_requested (RFC 8446 §4.6.3).
const KEY_UPDATE: [u8; 5] = [24, 0, 0, 1, 0];

/// A server in TLS 1.2 whose key may protect two full records and no more.
fn worn_soon() -> Pair {
    let mode = modes()[2];
    let options = mode.options.rekey_after(2);
    let mut pair = Pair::with(&mode.client(), &mode.server(), &mode.options, &options, usual_pool());
    pair.handshake();
    pair.settled();
    pair
}

#[test]
fn writers_that_wait_for_the_rest_of_a_message_do_not_hold_a_detached_connection_for_ever() {
    for_each_tls13_mode(|mode| {
        let mut server = contexts::server_builder(identity(), &mode.terms().tickets(0));
        let secrets = Secrets::watch(&mut server);
        let mut pair = mode.pair_of(&mode.client(), &server.build(), usual_pool());
        pair.handshake();
        let mut forger = secrets.forger(pair.server.ssl(), Forged::Client, 0);
        let Some((mut world, conn, socket)) = World::of(Config::default(), pair) else { return };
        let before = conn.received().control_records;
        let id = world.adopt(conn, socket);
        world.line.write_all(&forger.record(HANDSHAKE, &KEY_UPDATE[..4])).unwrap();
        world.until(|world| (world.driver.connection(id)?.received().control_records > before).then_some(()));
        let mut writer = world.driver.writer(id, 100).unwrap();
        writer.try_write(b"accepted").unwrap();
        world.driver.detach(id).unwrap();
        (0..5).for_each(|_| world.turn());
        world.line.write_all(&forger.record(HANDSHAKE, &KEY_UPDATE[4..])).unwrap();
        let (mut conn, mut socket) = world.take_detached_into(id, usual_pool());
        assert_eq!(writer.unsealed(), 0);
        while conn.close().unwrap() == Progress::Want(Want::Input) {
            // Nothing of the writer's waited for it, and it is left to be read here.
            pump_some(&mut conn, &mut socket, usize::MAX);
            assert_eq!(events(&mut conn).unwrap(), []);
        }
        pump_some(&mut conn, &mut socket, usize::MAX);
        assert_eq!(
            hear_the_end(&mut world.peer, &mut world.line),
            [Seen::Plaintext(b"accepted".to_vec()), Seen::PeerClosed]
        );
    });
}

#[test]
fn a_connection_that_fails_on_its_way_out_is_not_detached_but_failed() {
    let Some((mut world, conn, socket)) = World::of(Config::default(), worn_soon()) else { return };
    let id = world.adopt(conn, socket);
    let mut writer = world.driver.writer(id, 100_000).unwrap();
    writer.try_write(&[1; 60_000]).unwrap();
    world.driver.detach(id).unwrap();
    world.until(|world| {
        pump_some(&mut world.peer, &mut world.line, usize::MAX);
        while let Ok(Some(_)) = world.peer.poll_event() {}
        matches!(world.log.last(), Some(Told::Failed(..) | Told::Detached(_))).then_some(())
    });
    assert!(matches!(world.log.last(), Some(Told::Failed(..))), "{:?}", world.log);
    assert!(writer.is_closed());
    world.driver.abort(id).unwrap();
    world.until_told(&Told::Closed(id, CloseReason::Aborted));
    assert!(world.is_empty());
}

#[test]
fn a_failure_is_told_of_a_connection_that_is_paused() {
    let Some((mut world, conn, socket)) = World::of(Config::default(), worn_soon()) else { return };
    let id = world.adopt(conn, socket);
    world.turn();
    world.driver.pause(id).unwrap();
    let connection = world.driver.connection(id).unwrap();
    let refused = (0..9).find_map(|_| connection.write(&[1; 16_384]).err());
    assert!(matches!(refused, Some(Error::KeysWornOut { .. })), "{refused:?}");
    world.until(|world| matches!(world.log.last(), Some(Told::Failed(..))).then_some(()));
    world.driver.abort(id).unwrap();
    world.until_told(&Told::Closed(id, CloseReason::Aborted));
    assert!(world.is_empty());
}
