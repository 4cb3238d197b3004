//! Data both ways, under every protection, version and suite.

use arenatls::{Event, Options, Protection};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::mode::{Direction, authority, engine_expected, for_each_mode, identity, usual_pool};
use arenatls_rig::pair::{Pair, Seen, carry, events, plaintext, write_all};
use arenatls_rig::stock::Stock;
use openssl::ssl::SslVersion;

/// Suites, and whether the engine has their AEAD.
const SUITES: [(SslVersion, &str, bool); 8] = [
    (SslVersion::TLS1_3, "TLS_AES_128_GCM_SHA256", true),
    (SslVersion::TLS1_3, "TLS_AES_256_GCM_SHA384", true),
    (SslVersion::TLS1_3, "TLS_CHACHA20_POLY1305_SHA256", true),
    (SslVersion::TLS1_3, "TLS_AES_128_CCM_SHA256", false),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-AES128-GCM-SHA256", true),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-AES256-GCM-SHA384", true),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-CHACHA20-POLY1305", true),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-AES128-SHA256", false),
];

#[test]
fn every_suite_carries_data_both_ways() {
    let data: Vec<u8> = (0..60_000_u32).map(|i| (i * 13).to_le_bytes()[0]).collect();
    for (version, suite, ours) in SUITES {
        for options in [Options::default(), Options::default().library_protection()] {
            eprintln!("{suite}, {options:?}");
            let terms = Terms::default().version(version).suite(suite);
            let client = contexts::client(authority(), &terms);
            let server = contexts::server(identity(), &terms);
            let mut pair = Pair::connected(&client, &server, &options);
            let expected =
                |direction| match ours && options == Options::default() && engine_expected(version, direction) {
                    true => Protection::Engine,
                    false => Protection::Library,
                };
            let protection = (expected(Direction::Send), expected(Direction::Receive));
            assert_eq!((pair.client.protection(), pair.server.protection()), (protection, protection));
            pair.settled();

            let (mut read, server) = (Vec::new(), &mut pair.server);
            write_all(&mut pair.client, &data, |client| {
                while carry(client, server) > 0 {
                    read.extend(plaintext(&events(server).expect("the server reads")));
                }
            });
            read.extend(plaintext(&pair.settled().1));
            assert_eq!(read, data);
            assert_eq!(pair.server.write(&data[..1000]).unwrap().done(), Some(1000));
            assert_eq!(plaintext(&pair.to_client()), &data[..1000]);
        }
    }
}

#[test]
fn every_length_up_to_a_block_and_around_a_record_arrives() {
    for_each_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        for len in (1..70).chain([255, 256, 16_383, 16_384, 16_385]) {
            let data = vec![u8::try_from(len % 251).unwrap(); len];
            assert_eq!(pair.client.write(&data).unwrap().done(), Some(len));
            assert_eq!(plaintext(&pair.settled().1), data, "{len}");
        }
    });
}

#[test]
fn what_a_reader_leaves_is_lent_again() {
    for_each_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        assert_eq!(pair.client.write(b"0123456789").unwrap().done(), Some(10));
        carry(&mut pair.client, &mut pair.server);
        for (take, sees) in [(0, &b"0123456789"[..]), (3, b"0123456789"), (1, b"3456789"), (99, b"456789")] {
            match pair.server.poll_event().unwrap() {
                Some(Event::Plaintext(bytes)) => {
                    assert_eq!(&*bytes, sees);
                    bytes.consume(take);
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(events(&mut pair.server).unwrap(), []);
    });
}

#[test]
fn what_was_lent_counts_as_read_whether_it_was_looked_at_or_not() {
    for_each_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        assert_eq!(pair.client.write(b"overlooked").unwrap().done(), Some(10));
        assert_eq!(pair.client.write(b"read").unwrap().done(), Some(4));
        carry(&mut pair.client, &mut pair.server);
        assert!(matches!(pair.server.poll_event(), Ok(Some(Event::Plaintext(_)))));
        assert_eq!(events(&mut pair.server).unwrap(), [Seen::Plaintext(b"read".to_vec())]);
    });
}

#[test]
fn what_is_lent_may_be_written_over_in_place() {
    for_each_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        for round in 0..3 {
            assert_eq!(pair.client.write(b"secret").unwrap().done(), Some(6));
            assert_eq!(pair.client.write(b"next").unwrap().done(), Some(4));
            carry(&mut pair.client, &mut pair.server);
            let Ok(Some(Event::Plaintext(mut bytes))) = pair.server.poll_event() else { panic!("round {round}") };
            bytes.fill(0);
            assert_eq!(events(&mut pair.server).unwrap(), [Seen::Plaintext(b"next".to_vec())]);
        }
    });
}

#[test]
fn more_may_arrive_while_some_is_left() {
    for_each_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        assert_eq!(pair.client.write(b"first").unwrap().done(), Some(5));
        carry(&mut pair.client, &mut pair.server);
        match pair.server.poll_event().unwrap() {
            Some(Event::Plaintext(bytes)) => bytes.consume(2),
            other => panic!("{other:?}"),
        }
        assert_eq!(pair.client.write(&[b'.'; 9000]).unwrap().done(), Some(9000));
        let seen = pair.to_server();
        assert_eq!(plaintext(&seen), [&b"rst"[..], &[b'.'; 9000]].concat());
    });
}

#[test]
fn stock_openssl_at_either_end_understands_us() {
    for_each_mode(|mode| {
        let mut stock = Stock::server(&mode.server());
        let mut client = mode.pair().client;
        stock.handshake_with(&mut client);
        let mut server = mode.pair_of(&mode.client(), &mode.server(), usual_pool()).server;
        let mut stock_client = Stock::client(&mode.client());
        stock_client.handshake_with(&mut server);
        for (stock, conn) in [(&mut stock, &mut client), (&mut stock_client, &mut server)] {
            for len in [1, 100, 16_384, 20_000] {
                let data = vec![b'd'; len];
                assert_eq!(conn.write(&data).unwrap().done(), Some(len));
                stock.receive_from(conn);
                assert_eq!(stock.read().unwrap(), data);
                stock.write(&data);
                let mut read = Vec::new();
                while read.len() < len {
                    read.extend(plaintext(&stock.send_to(conn).unwrap()));
                }
                assert_eq!(read, data);
            }
        }
    });
}

#[test]
fn what_was_sent_and_received_is_counted() {
    for_each_mode(|mode| {
        let mut pair = mode.connected();
        pair.settled();
        for len in [10, 20, 16_384 + 5] {
            assert_eq!(pair.client.write(&vec![b'.'; len]).unwrap().done(), Some(len));
            pair.settled();
        }
        let (sent, received) = (pair.client.sent(), pair.server.received());
        assert_eq!((sent.records, sent.bytes), (4, 16_419));
        assert_eq!((received.records, received.bytes), (4, 16_419));
    });
}
