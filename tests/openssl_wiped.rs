//! What OpenSSL has read of a connection's data is gone when it gives its memory back.

use arenatls::{Connection, InPlace, Options, Progress, Protection};
use arenatls_rig::alloc::{count_openssl, left, look_for};
use arenatls_rig::contexts;
use arenatls_rig::forge::{Forged, Secrets};
use arenatls_rig::mode::{Mode, for_each_mode, identity, usual_pool};
use arenatls_rig::pair::{Pair, Seen, events, feed, write_all};
use arenatls_rig::stock::Stock;
use openssl::ssl::Ssl;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
const USER_CANCELED: [u8; 2] = [1, 90];
const MARK: &[u8] = b"for the two ends alone";

/// After a message of this the next record is shown to OpenSSL, whatever it is.
fn message(mode: &Mode) -> Vec<u8> {
    if !mode.is_tls13() {
        // HelloRequest.
        return vec![0; 4];
    }
    // NewSessionTicket (RFC 8446 section 4.6.1).
    let ticket = [&[0, 0, 0, 60, 1, 2, 3, 4, 1, 7, 0, 4][..], &[0xab; 4], &[0, 0]].concat();
    [&[4, 0, 0, 18][..], &ticket].concat()
}

/// Two ends that have shaken hands, the secrets of that, and an eye on memory that OpenSSL gives back.
fn watched(mode: &Mode) -> (Pair, Secrets) {
    let mut server = contexts::server_builder(identity(), &mode.terms().tickets(0));
    let secrets = Secrets::watch(&mut server);
    let (client, server) = (mode.client(), server.build());
    look_for(MARK);
    let mut pair = mode.pair_of(&client, &server, usual_pool());
    pair.handshake();
    (pair, secrets)
}

#[test]
fn data_that_openssl_reads_after_what_is_not_private() {
    count_openssl();
    for_each_mode(|mode| {
        let (mut pair, secrets) = watched(mode);
        let mut forger = secrets.forger(pair.server.ssl(), Forged::Server, 0);
        let records = [(HANDSHAKE, &message(mode)[..]), (ALERT, &USER_CANCELED), (DATA, MARK)];
        let calls = pair.client.openssl_calls();
        for (content_type, text) in records {
            let record = forger.record(content_type, text);
            assert_eq!(feed(&mut pair.client, &record), record.len());
            let seen = events(&mut pair.client).expect("it is legal");
            assert_eq!(seen, if content_type == DATA { vec![Seen::Plaintext(MARK.to_vec())] } else { vec![] });
        }
        assert_eq!(pair.client.openssl_calls() - calls, 3, "OpenSSL saw all of them");
        drop(pair);
        assert_eq!(left(), 0, "blocks with data in them");
    });
}

/// The same, where the application has the records in memory of its own.
#[test]
fn data_that_openssl_reads_in_the_callers_memory_after_what_is_not_private() {
    count_openssl();
    for_each_mode(|mode| {
        let (mut pair, secrets) = watched(mode);
        if pair.client.protection().1 != Protection::Engine {
            return;
        }
        let mut forger = secrets.forger(pair.server.ssl(), Forged::Server, 0);
        for (content_type, text) in [(HANDSHAKE, &message(mode)[..]), (ALERT, &USER_CANCELED), (DATA, MARK)] {
            let mut record = forger.record(content_type, text);
            let opened = pair.client.open_in(&mut record).expect("it is legal");
            assert_eq!(matches!(opened, Progress::Done(InPlace::Plaintext(_))), content_type == DATA, "{opened:?}");
            record.fill(0);
        }
        drop(pair);
        assert_eq!(left(), 0, "blocks with data in them");
    });
}

#[test]
fn a_stock_end_leaves_data_behind_so_they_would_be_found() {
    count_openssl();
    for_each_mode(|mode| {
        let (client, server) = (mode.client(), mode.server());
        look_for(MARK);
        let backend = usual_pool().backend().unwrap();
        let mut conn = Connection::accept_with(Ssl::new(&server).unwrap(), backend, &Options::default()).unwrap();
        let mut stock = Stock::client(&client);
        stock.handshake_with(&mut conn);
        write_all(&mut conn, MARK, |_| unreachable!("there is room"));
        stock.receive_from(&mut conn);
        assert_eq!(stock.read().unwrap(), MARK);
        drop(stock);
        assert!(left() > 0, "it has no reason to wipe them");
    });
}
