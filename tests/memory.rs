//! Memory: who takes how much, how often, and that all of it comes back.

use arenatls::{ArenaPool, Budget, Connection, Event, Options, Protection};
use arenatls_rig::alloc::{CountingAllocator, Counts, count_openssl};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::mode::{Direction, Mode, authority, for_each_mode, identity};
use arenatls_rig::pair::{Conn, Pair, Seen, carry, events, take_output};
use arenatls_rig::wire;
use openssl::ssl::{Ssl, SslContext, SslVersion};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const PER_CONNECTION: Budget = Budget::bytes(64 * 1024);

fn server_over(pool: &'static ArenaPool, context: &SslContext, mode: &Mode) -> Conn {
    Connection::accept_with(Ssl::new(context).unwrap(), pool.backend().unwrap(), &mode.options).unwrap()
}

fn client_over(pool: &'static ArenaPool, context: &SslContext, mode: &Mode) -> Conn {
    let backend = pool.backend().unwrap();
    Connection::connect_with(Ssl::new(context).unwrap(), "localhost", backend, &mode.options).unwrap()
}

/// A pool for one test alone: others run at the same time.
fn own_pool() -> &'static ArenaPool {
    Box::leak(Box::new(ArenaPool::new(PER_CONNECTION)))
}

#[test]
fn ten_thousand_connections_come_and_go_without_a_trace() {
    count_openssl();
    for_each_mode(|mode| {
        let pool = own_pool();
        let (client, server) = (mode.client(), mode.server());
        let make_and_drop = |n| {
            for _ in 0..n {
                drop(server_over(pool, &server, mode));
                drop(client_over(pool, &client, mode));
            }
        };
        make_and_drop(10);
        let before = Counts::now();
        // Two ends a round, in each of four modes.
        make_and_drop(1250);
        let grown = Counts::now().since(before);
        assert_eq!((grown.rust.live, grown.openssl.live), (0, 0), "{grown:?}");
        assert_eq!((pool.in_use(), pool.idle()), (0, 1), "one block was enough");
    });
}

/// A pair in traffic that has exchanged something and ended in one of several ways.
fn live_and_end(pool: &'static ArenaPool, contexts: &(SslContext, SslContext), mode: &Mode, how: u32) {
    let mut pair = mode.pair_of(&contexts.0, &contexts.1, pool);
    if how == 0 {
        // In the middle of the handshake.
        events(&mut pair.client).unwrap();
        pair.to_server();
        return;
    }
    pair.handshake();
    assert!(pair.client.write(&[b'.'; 20_000]).unwrap().done().is_some());
    match how {
        // Data unread and unsent on both sides.
        1 => drop(carry(&mut pair.client, &mut pair.server)),
        2 => {
            pair.settled();
            assert!(pair.client.close().unwrap().done().is_some());
            pair.to_server();
        }
        3 => {
            arenatls_rig::pair::feed(&mut pair.server, &wire::plain_record(23, &[0; 50]));
            events(&mut pair.server).expect_err("it is not authentic");
        }
        _ => pair.client.abort(),
    }
}

#[test]
fn all_memory_comes_back_however_a_connection_ends() {
    count_openssl();
    for_each_mode(|mode| {
        let pool = own_pool();
        let contexts = (mode.client(), uncached(mode));
        let round = || (0..5).for_each(|how| live_and_end(pool, &contexts, mode, how));
        round();
        round();
        let before = Counts::now();
        (0..10).for_each(|_| round());
        let grown = Counts::now().since(before);
        assert_eq!((grown.rust.live, grown.openssl.live), (0, 0), "{grown:?}");
        assert_eq!(pool.in_use(), 0);
    });
}

/// A server without a session cache, which grows by design.
fn uncached(mode: &Mode) -> SslContext {
    let mut builder = mode.server_builder();
    builder.set_session_cache_mode(openssl::ssl::SslSessionCacheMode::OFF);
    builder.build()
}

/// `n` records of `len` bytes from `from` to `to`, read where they lie.
fn exchange(from: &mut Conn, to: &mut Conn, plain: &[u8], n: usize) {
    for _ in 0..n {
        assert_eq!(from.write(plain).unwrap().done(), Some(plain.len()));
        let bytes = from.backend().to_send();
        let room = to.backend_mut().receive_into();
        room[..bytes.len()].copy_from_slice(bytes);
        let moved = bytes.len();
        to.backend_mut().received(moved).unwrap();
        from.backend_mut().sent(moved).unwrap();
        match to.poll_event().unwrap() {
            Some(Event::Plaintext(read)) => assert_eq!(read.len(), plain.len()),
            other => panic!("{other:?}"),
        }
        assert!(to.poll_event().unwrap().is_none());
    }
}

#[test]
fn a_record_in_steady_state_costs_no_allocation() {
    count_openssl();
    for_each_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        for len in [1, 64, 1024, 16_384] {
            let plain = vec![b'.'; len];
            for client_writes in [true, false] {
                let (from, to) = match client_writes {
                    true => (&mut pair.client, &mut pair.server),
                    false => (&mut pair.server, &mut pair.client),
                };
                exchange(from, to, &plain, 4);
                let before = Counts::now();
                exchange(from, to, &plain, 100);
                let cost = Counts::now().since(before);
                assert_eq!(cost.rust.calls, 0, "{len} bytes: {cost:?}");
                let engine = mode.expected(Direction::Send) == Protection::Engine
                    && mode.expected(Direction::Receive) == Protection::Engine;
                if engine {
                    assert_eq!(cost.openssl.calls, 0, "{len} bytes: {cost:?}");
                }
                assert_eq!(cost.openssl.live, 0);
                eprintln!("{len} bytes: {} OpenSSL allocations in 100 records both ways", cost.openssl.calls);
            }
        }
    });
}

#[test]
fn a_key_update_costs_no_rust_allocation() {
    count_openssl();
    arenatls_rig::mode::for_each_tls13_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        let round = |pair: &mut Pair| {
            assert!(pair.client.key_update(true).unwrap().done().is_some());
            carry(&mut pair.client, &mut pair.server);
            assert!(pair.server.poll_event().unwrap().is_none());
            carry(&mut pair.server, &mut pair.client);
            assert!(pair.client.poll_event().unwrap().is_none());
            exchange(&mut pair.client, &mut pair.server, b"x", 1);
        };
        round(&mut pair);
        let before = Counts::now();
        (0..10).for_each(|_| round(&mut pair));
        let cost = Counts::now().since(before);
        assert_eq!(cost.rust.calls, 0, "{cost:?}");
        assert_eq!(cost.openssl.live, 0, "{cost:?}");
    });
}

/// OpenSSL's record buffers are of no use where the keys are ours.
#[test]
fn engine_connections_hold_none_of_openssls_record_buffers() {
    // 16.5 KB, or a little less.
    const BUFFERS: i64 = 15 * 1024;
    count_openssl();
    let mut held = std::collections::HashMap::new();
    for_each_mode(|mode| {
        let contexts = (mode.client(), mode.server());
        let settled = || {
            let mut pair = mode.pair_of(&contexts.0, &contexts.1, arenatls_rig::mode::usual_pool());
            pair.handshake();
            pair.settled();
            pair
        };
        drop(settled());
        let before = Counts::now();
        let pair = settled();
        let both = Counts::now().since(before).openssl.live;
        drop(pair);
        let engine = mode.expected(Direction::Send) == Protection::Engine
            && mode.expected(Direction::Receive) == Protection::Engine;
        eprintln!("{both} bytes at both ends");
        held.insert((mode.is_tls13(), engine), both);
    });
    for tls13 in [false, true] {
        let library = held[&(tls13, false)];
        // Each end has one for reading; in TLS 1.2 one for writing, too, which TLS 1.3 has given up. Not every OpenSSL
        // lends its keys.
        let buffers = if tls13 { 2 } else { 4 };
        if let Some(engine) = held.get(&(tls13, true)) {
            assert!(engine + buffers * BUFFERS <= library, "{engine} and {library} bytes");
        }
    }
}

#[test]
fn accepting_takes_no_memory_for_our_part() {
    count_openssl();
    for_each_mode(|mode| {
        let pool = own_pool();
        let context = mode.server();
        (0..4).for_each(|_| drop(server_over(pool, &context, mode)));
        let before = Counts::now();
        drop(Ssl::new(&context).unwrap());
        let ssl_alone = Counts::now().since(before);
        let before = Counts::now();
        drop(server_over(pool, &context, mode));
        let whole = Counts::now().since(before);
        eprintln!("an Ssl alone: {ssl_alone:?}; with the connection: {whole:?}");
        assert_eq!(whole.rust.calls, ssl_alone.rust.calls, "Rust allocations beside the Ssl's own");
    });
}

#[test]
fn held_memory_is_back_at_its_baseline_after_a_drain() {
    count_openssl();
    for_each_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        let rounds = |pair: &mut Pair, n: u32| {
            for _ in 0..n {
                for _ in 0..64 {
                    let _: arenatls::Progress<usize> = pair.client.write(&[b'.'; 16_384]).unwrap();
                }
                drop(take_output(&mut pair.client));
            }
        };
        rounds(&mut pair, 2);
        let before = Counts::now();
        rounds(&mut pair, 5);
        let grown = Counts::now().since(before);
        assert_eq!((grown.rust.live, grown.openssl.live), (0, 0), "{grown:?}");
    });
}

#[test]
fn tls_1_0_splits_records_and_nobody_notices() {
    count_openssl();
    for options in [arenatls::Options::default(), arenatls::Options::default().library_protection()] {
        let terms = Terms::default().version(SslVersion::TLS1);
        let mut client = contexts::client_builder(authority(), &terms);
        let mut server = contexts::server_builder(identity(), &terms);
        for builder in [&mut client, &mut server] {
            builder.set_security_level(0);
            builder.set_cipher_list("ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0").unwrap();
        }
        let mut pair = Pair::new(&client.build(), &server.build(), &options);
        pair.handshake();
        assert_eq!(pair.client.protection(), (Protection::Library, Protection::Library));
        assert_eq!(pair.client.write(&[b'.'; 100]).unwrap().done(), Some(100));
        let out = pair.client.backend().to_send();
        assert_eq!((wire::records(out).len(), out.len()), (2, 178), "0/n splitting");
        assert_eq!(pair.to_server(), [Seen::Plaintext(vec![b'.'; 100])], "and no empty event");
        // One record at a time, too.
        assert_eq!(pair.client.write(&[b'.'; 100]).unwrap().done(), Some(100));
        let out = take_output(&mut pair.client);
        let records = wire::records(&out);
        arenatls_rig::pair::feed(&mut pair.server, records[0]);
        assert_eq!(events(&mut pair.server).unwrap(), []);
        arenatls_rig::pair::feed(&mut pair.server, records[1]);
        assert_eq!(events(&mut pair.server).unwrap(), [Seen::Plaintext(vec![b'.'; 100])]);
        let full = vec![b'.'; 16_384];
        assert_eq!(pair.client.write(&full).unwrap().done(), Some(full.len()));
        assert_eq!(arenatls_rig::pair::plaintext(&pair.to_server()), full);
    }
}

#[test]
fn an_exchange_takes_no_memory_for_its_part() {
    count_openssl();
    for_each_mode(|mode| {
        let pools = [own_pool(), own_pool()];
        let mut pair = mode.connected_in(pools[0]);
        pair.settled();
        let mut conn = pair.server.exchange(pools[1].backend().unwrap()).unwrap();
        // Input and output go along.
        assert_eq!(pair.client.write(&[b'.'; 5000]).unwrap().done(), Some(5000));
        carry(&mut pair.client, &mut conn);
        assert_eq!(conn.write(&[b'.'; 5000]).unwrap().done(), Some(5000));
        let before = Counts::now();
        for _ in 0..10 {
            for pool in pools {
                conn = conn.exchange(pool.backend().unwrap()).unwrap();
            }
        }
        let grown = Counts::now().since(before);
        let nothing = arenatls_rig::alloc::Count { calls: 0, live: 0 };
        assert_eq!(grown, Counts { rust: nothing, openssl: nothing });
        assert_eq!(events(&mut conn).unwrap(), [Seen::Plaintext(vec![b'.'; 5000])]);
    });
}

/// A suite that the engine leaves to OpenSSL, though it asks for keys: as if it had not asked.
#[test]
fn where_openssl_keeps_the_keys_it_keeps_its_buffers() {
    count_openssl();
    let suites = [(SslVersion::TLS1_2, "ECDHE-ECDSA-AES128-SHA256"), (SslVersion::TLS1_3, "TLS_AES_128_CCM_SHA256")];
    for (version, suite) in suites {
        let terms = Terms::default().version(version).suite(suite);
        let (client, server) = (contexts::client(authority(), &terms), contexts::server(identity(), &terms));
        let [asked, not] = [Options::default(), Options::default().library_protection()].map(|options| {
            let mut pair = Pair::new(&client, &server, &options);
            pair.handshake();
            pair.settled();
            assert_eq!(pair.client.protection(), (Protection::Library, Protection::Library));
            exchange(&mut pair.client, &mut pair.server, b"some", 4);
            let before = Counts::now();
            exchange(&mut pair.client, &mut pair.server, b"some", 100);
            Counts::now().since(before).openssl.calls
        });
        assert_eq!(asked, not, "{suite}");
    }
}
