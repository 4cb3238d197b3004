//! A connection moves between threads and is never shared by them. What must not compile at all is in the rig's
//! `ownership` module, as documentation tests.

use std::thread;

use arenatls::{ArenaBackend, Connection};
use arenatls_rig::mode::for_each_mode;
use arenatls_rig::native::error_queue_is_empty;
use arenatls_rig::pair::{Conn, Seen, carry, events};

/// Two answers to one question make it ambiguous, and compilation fails, where a type is `Sync`.
trait SyncOrNot<Answer> {
    const NOT_SYNC: bool = true;
}

impl<T: ?Sized> SyncOrNot<()> for T {}
impl<T: ?Sized + Sync> SyncOrNot<bool> for T {}

#[test]
fn a_connection_is_send_and_not_sync() {
    const fn send<T: Send>() {}
    const { send::<Conn>() };
    const { assert!(<Connection<ArenaBackend<'static>>>::NOT_SYNC) };
}

#[test]
fn a_connection_goes_on_in_another_thread() {
    for_each_mode(|mode| {
        let mut pair = mode.pair();
        events(&mut pair.client).unwrap();
        carry(&mut pair.client, &mut pair.server);
        // In the middle of its handshake, and again in traffic.
        let moved = thread::spawn(move || {
            events(&mut pair.server).unwrap();
            assert!(error_queue_is_empty());
            pair
        });
        let mut pair = moved.join().expect("no panic");
        pair.handshake();
        pair.settled();
        assert_eq!(pair.client.write(b"across").unwrap().done(), Some(6));
        let moved = thread::spawn(move || (pair.to_server(), pair));
        let (seen, mut pair) = moved.join().expect("no panic");
        assert_eq!(seen, [Seen::Plaintext(b"across".to_vec())]);
        assert_eq!(pair.server.write(b"back").unwrap().done(), Some(4));
        assert_eq!(pair.to_client(), [Seen::Plaintext(b"back".to_vec())]);
    });
}

#[test]
fn threads_with_connections_of_one_context_do_not_disturb_each_other() {
    for_each_mode(|mode| {
        let (client, server) = (mode.client(), mode.server());
        thread::scope(|scope| {
            for thread in 0..4_u8 {
                let (client, server) = (&client, &server);
                scope.spawn(move || {
                    for round in 0..10_u8 {
                        let mut pair = mode.pair_of(client, server, arenatls_rig::mode::usual_pool());
                        pair.handshake();
                        let data = vec![thread * 16 + round; 1000];
                        assert_eq!(pair.client.write(&data).unwrap().done(), Some(1000));
                        assert_eq!(pair.to_server(), [Seen::Plaintext(data)]);
                        assert!(error_queue_is_empty());
                    }
                });
            }
        });
    });
}
