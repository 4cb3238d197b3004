//! The records of RFC 8448 §3 ("Simple 1-RTT Handshake", TLS_AES_128_GCM_SHA256).

use super::{AeadChoice, HEADER, Suite, TrafficKeys, Version, choices, hex, joined, seal};
use crate::error::BadRecord;
use crate::record::{ALERT, APPLICATION_DATA, HANDSHAKE};

const CLIENT_HANDSHAKE: (&str, &str) = ("dbfaa693d1762c5b666af5d950258d01", "5bd3c71b836e0b76bb73265f");
const CLIENT_TRAFFIC: (&str, &str) = ("17422dda596ed5d9acd890e3c63f5051", "5b78923dee08579033e523d9");
const SERVER_TRAFFIC: (&str, &str) = ("9f02283b6c9c07efc26bb9f2ac92e356", "cf782b88dd83549aadf1e984");

const CLIENT_FINISHED: &str = "17 03 03 00 35 75 ec 4d c2 38 cc e6 0b 29 80 44 a7 1e 21 9c 56 cc 77 b0 51 7f e9 b9 \
     3c 7a 4b fc 44 d8 7f 38 f8 03 38 ac 98 fc 46 de b3 84 bd 1c ae ac ab 68 67 d7 26 c4 05 46";
const SERVER_TICKET: &str = "17 03 03 00 de 3a 6b 8f 90 41 4a 97 d6 95 9c 34 87 68 0d e5 13 4a 2b 24 0e 6c ff ac 11 \
     6e 95 d4 1d 6a f8 f6 b5 80 dc f3 d1 1d 63 c7 58 db 28 9a 01 59 40 25 2f 55 71 3e 06 1d c1 3e 07 88 91 a3 8e fb \
     cf 57 53 ad 8e f1 70 ad 3c 73 53 d1 6d 9d a7 73 b9 ca 7f 2b 9f a1 b6 c0 d4 a3 d0 3f 75 e0 9c 30 ba 1e 62 97 2a \
     c4 6f 75 f7 b9 81 be 63 43 9b 29 99 ce 13 06 46 15 13 98 91 d5 e4 c5 b4 06 f1 6e 3f c1 81 a7 7c a4 75 84 00 25 \
     db 2f 0a 77 f8 1b 5a b0 5b 94 c0 13 46 75 5f 69 23 2c 86 51 9d 86 cb ee ac 87 aa c3 47 d1 43 f9 60 5d 64 f6 50 \
     db 4d 02 3e 70 e9 52 ca 49 fe 51 37 12 1c 74 bc 26 97 68 7e 24 87 46 d6 df 35 30 05 f3 bc e1 86 96 12 9c 81 53 \
     55 6b 3b 6c 67 79 b3 7b f1 59 85 68 4f";
const CLIENT_DATA: &str = "17 03 03 00 43 a2 3f 70 54 b6 2c 94 d0 af fa fe 82 28 ba 55 cb ef ac ea 42 f9 14 aa 66 bc \
     ab 3f 2b 98 19 a8 a5 b4 6b 39 5b d5 4a 9a 20 44 1e 2b 62 97 4e 1f 5a 62 92 a2 97 70 14 bd 1e 3d ea e6 3a ee bb \
     21 69 49 15 e4";
const SERVER_DATA: &str = "17 03 03 00 43 2e 93 7e 11 ef 4a c7 40 e5 38 ad 36 00 5f c4 a4 69 32 fc 32 25 d0 5f 82 aa \
     1b 36 e3 0e fa f9 7d 90 e6 df fc 60 2d cb 50 1a 59 a8 fc c4 9c 4b f2 e5 f0 a2 1c 00 47 c2 ab f3 32 54 0d d0 32 \
     e1 67 c2 95 5d";
const CLIENT_CLOSE: &str = "17 03 03 00 13 c9 87 27 60 65 56 66 b7 4d 7f f1 15 3e fd 6d b6 d0 b0 e3";
const SERVER_CLOSE: &str = "17 03 03 00 13 b5 8f d6 71 66 eb f5 99 d2 47 20 cf be 7e fa 7a 88 64 a9";

fn keys((key, iv): (&str, &str), sequence: u64) -> TrafficKeys {
    let iv = hex(iv);
    TrafficKeys::new(Version::Tls13, Suite::Aes128Gcm, &hex(key), [&iv[..4], &iv[4..]], sequence).unwrap()
}

/// Opens the records of one direction in their order, and seals the same again.
fn check(choice: AeadChoice, keys: &TrafficKeys, records: &[(&str, u8, Option<&[u8]>)]) {
    let (mut sealer, mut opener) = joined(choice, keys);
    for (record, content_type, plain) in records {
        let wire = hex(record);
        let mut memory = wire.clone();
        let opened = opener.open(&mut memory).expect("a record of the RFC");
        assert_eq!((opened.content_type, opened.offset), (*content_type, HEADER));
        let text = &memory[opened.offset..opened.offset + opened.len];
        if let Some(plain) = plain {
            assert_eq!(text, *plain);
        }
        assert_eq!(seal(&mut sealer, *content_type, text, 0), wire);
    }
}

#[test]
fn each_record_opens_and_seals_to_the_same_bytes() {
    let data: Vec<u8> = (0..50).collect();
    let close: &[u8] = &[1, 0];
    for choice in choices() {
        check(choice, &keys(CLIENT_HANDSHAKE, 0), &[(CLIENT_FINISHED, HANDSHAKE, None)]);
        let server = [
            (SERVER_TICKET, HANDSHAKE, None),
            (SERVER_DATA, APPLICATION_DATA, Some(&data[..])),
            (SERVER_CLOSE, ALERT, Some(close)),
        ];
        check(choice, &keys(SERVER_TRAFFIC, 0), &server);
        check(choice, &keys(SERVER_TRAFFIC, 1), &server[1..]);
        let client = [(CLIENT_DATA, APPLICATION_DATA, Some(&data[..])), (CLIENT_CLOSE, ALERT, Some(close))];
        check(choice, &keys(CLIENT_TRAFFIC, 0), &client);
    }
}

#[test]
fn the_ticket_of_the_rfc_is_one() {
    let (_, mut opener) = joined(AeadChoice::Evp, &keys(SERVER_TRAFFIC, 0));
    let mut record = hex(SERVER_TICKET);
    let opened = opener.open(&mut record).unwrap();
    // new_session_ticket, 201 bytes, lifetime 30 s.
    assert_eq!(record[opened.offset..][..8], [4, 0, 0, 201, 0, 0, 0, 30]);
    assert_eq!(opened.len, 205);
}

#[test]
fn no_record_opens_at_another_place_of_the_stream() {
    for choice in choices() {
        for wrong in [1, 2, 255, 256, 1 << 32, u64::MAX - 1] {
            let (_, mut opener) = joined(choice, &keys(CLIENT_TRAFFIC, wrong));
            assert_eq!(opener.open(&mut hex(CLIENT_DATA)), Err(BadRecord::Mac), "{wrong}");
        }
        let (_, mut opener) = joined(choice, &keys(SERVER_TRAFFIC, 0));
        assert_eq!(opener.open(&mut hex(CLIENT_DATA)), Err(BadRecord::Mac));
    }
}
