//! Limits of RFC 8446 §5 and RFC 5246 §6.2, and what is left in memory when a record breaks one.

use super::{
    AeadChoice, Gather, HEADER, MAX_PLAINTEXT, Opener, Suite, TrafficKeys, Version, choices, each, expected_len, hex,
    joined, keys, seal,
};
use crate::error::BadRecord;
use crate::record::aead::{Aead, AeadFailure, RecordAead, TAG};
use crate::record::seal::MAX_PADDING;
use crate::record::{
    ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, MAX_CIPHERTEXT_12, MAX_CIPHERTEXT_13, MAX_RECORD_IN,
    MAX_RECORD_OUT,
};

/// A record that the sealer would not make, straight from the RFCs: `inner` is the TLSInnerPlaintext of RFC 8446 §5.2,
/// or the plaintext of a TLS 1.2 record of `outer` type.
fn forge(choice: AeadChoice, keys: &TrafficKeys, outer: u8, inner: &[u8]) -> Vec<u8> {
    let mut aead = Aead::new(choice, keys.suite(), keys.key(), true).unwrap();
    let mut nonce = *keys.iv();
    let sequence = keys.sequence().to_be_bytes();
    let explicit: &[u8] = match (keys.version(), keys.suite()) {
        (Version::Tls12, Suite::Aes128Gcm | Suite::Aes256Gcm) => {
            nonce[4..].copy_from_slice(&sequence);
            &sequence
        }
        _ => {
            nonce[4..].iter_mut().zip(sequence).for_each(|(n, s)| *n ^= s);
            &[]
        }
    };
    let length = |n: usize| u16::try_from(n).unwrap().to_be_bytes();
    let [high, low] = length(explicit.len() + inner.len() + TAG);
    let header = [outer, 3, 3, high, low];
    let aad = match keys.version() {
        Version::Tls13 => header.to_vec(),
        Version::Tls12 => [&sequence[..], &[outer, 3, 3], &length(inner.len())].concat(),
    };
    let mut body = vec![0; inner.len() + TAG];
    aead.seal(&nonce, &aad, Gather::one(inner), b"", &mut body).unwrap();
    [&header[..], explicit, &body].concat()
}

fn wiped(record: &[u8]) -> bool {
    record[HEADER..].iter().all(|&b| b == 0)
}

fn opener(choice: AeadChoice, keys: &TrafficKeys) -> Opener {
    Opener::new(choice, keys, false).unwrap()
}

#[test]
fn what_is_forged_is_right_where_it_should_be() {
    each(|choice, version, suite| {
        let keys = keys(version, suite, 9);
        let inner: &[u8] = if version == Version::Tls13 { b"text\x17" } else { b"text" };
        let (mut sealer, _) = joined(choice, &keys);
        assert_eq!(forge(choice, &keys, APPLICATION_DATA, inner), seal(&mut sealer, APPLICATION_DATA, b"text", 0));
    });
}

#[test]
fn constants_are_those_of_the_rfcs() {
    assert_eq!(MAX_PLAINTEXT, 16_384);
    assert_eq!(MAX_CIPHERTEXT_13, 16_640);
    assert_eq!(MAX_CIPHERTEXT_12, 18_432);
    assert_eq!((MAX_RECORD_IN, MAX_RECORD_OUT), (18_437, 16_645));
}

#[test]
fn the_largest_record_is_made_and_taken_and_no_larger_one() {
    each(|choice, version, suite| {
        let keys = keys(version, suite, 0);
        let (mut sealer, mut opener) = joined(choice, &keys);
        let plain = vec![0x5a; MAX_PLAINTEXT];
        let mut record = seal(&mut sealer, APPLICATION_DATA, &plain, 0);
        assert_eq!(record.len(), expected_len(version, suite, MAX_PLAINTEXT, 0));
        assert!(record.len() <= MAX_RECORD_OUT);
        assert_eq!(opener.open(&mut record).map(|o| o.len), Ok(MAX_PLAINTEXT));

        let (mut sealer, _) = joined(choice, &keys);
        let mut out = vec![0; MAX_RECORD_IN + 1000];
        let larger = vec![0x5a; MAX_PLAINTEXT + 1];
        assert_eq!(sealer.seal(APPLICATION_DATA, Gather::one(&larger), 0, &mut out), Err(AeadFailure));
        assert_eq!(sealer.records(), 0);
    });
}

#[test]
fn authentic_plaintext_above_the_limit_is_an_overflow() {
    each(|choice, version, suite| {
        let keys = keys(version, suite, 0);
        let mut inner = vec![0x5a; MAX_PLAINTEXT + 1];
        if version == Version::Tls13 {
            inner.push(APPLICATION_DATA);
        }
        let mut record = forge(choice, &keys, APPLICATION_DATA, &inner);
        let refused = opener(choice, &keys).open(&mut record);
        assert!(matches!(refused, Err(BadRecord::Overflow { .. })), "{refused:?}");
        assert!(wiped(&record), "{choice:?} {version:?} {suite:?}");
    });
}

#[test]
fn padding_counts_against_the_limit() {
    // RFC 8446 §5.4: the full TLSInnerPlaintext is at most 2^14 + 1 bytes.
    for choice in choices() {
        let keys = keys(Version::Tls13, Suite::Aes128Gcm, 0);
        let mut inner = vec![0; MAX_PLAINTEXT + 1];
        inner[0] = APPLICATION_DATA;
        let opened = opener(choice, &keys).open(&mut forge(choice, &keys, APPLICATION_DATA, &inner));
        assert_eq!(opened.map(|o| (o.content_type, o.len)), Ok((APPLICATION_DATA, 0)), "16384 zeros");
        inner.push(0);
        let mut record = forge(choice, &keys, APPLICATION_DATA, &inner);
        let refused = opener(choice, &keys).open(&mut record);
        assert!(matches!(refused, Err(BadRecord::Overflow { .. })), "{refused:?}");
        assert!(wiped(&record));
    }
}

#[test]
fn a_length_above_the_limit_is_an_overflow_before_anything_is_opened() {
    each(|choice, version, suite| {
        let keys = keys(version, suite, 0);
        let limit = if version == Version::Tls13 { MAX_CIPHERTEXT_13 } else { MAX_CIPHERTEXT_12 };
        let mut record = vec![0x11; HEADER + limit + 1];
        let [high, low] = u16::try_from(limit + 1).unwrap().to_be_bytes();
        record[..HEADER].copy_from_slice(&[APPLICATION_DATA, 3, 3, high, low]);
        let refused = opener(choice, &keys).open(&mut record);
        assert_eq!(refused, Err(BadRecord::Overflow { length: limit + 1, limit }));
        record.pop();
        let [high, low] = u16::try_from(limit).unwrap().to_be_bytes();
        record[3..HEADER].copy_from_slice(&[high, low]);
        assert_eq!(opener(choice, &keys).open(&mut record), Err(BadRecord::Mac), "at the limit it is looked at");
        assert!(wiped(&record));
    });
}

#[test]
fn no_content_type_at_all_is_not_allowed() {
    for choice in choices() {
        let keys = keys(Version::Tls13, Suite::ChaCha20Poly1305, 0);
        for zeros in [1, 2, 100, MAX_PLAINTEXT + 1] {
            let mut record = forge(choice, &keys, APPLICATION_DATA, &vec![0; zeros]);
            assert_eq!(opener(choice, &keys).open(&mut record), Err(BadRecord::ContentType(0)));
            assert!(wiped(&record));
        }
    }
}

#[test]
fn an_empty_inner_plaintext_is_too_short() {
    // RFC 8446 §5.2: there is always a content type. Nothing but a tag, even a good one, is no record.
    for choice in choices() {
        let keys = keys(Version::Tls13, Suite::Aes256Gcm, 0);
        let refused = opener(choice, &keys).open(&mut forge(choice, &keys, APPLICATION_DATA, b""));
        assert_eq!(refused, Err(BadRecord::TooShort { length: TAG }));
    }
}

#[test]
fn empty_plaintext_is_a_record() {
    each(|choice, version, suite| {
        let (mut sealer, mut opener) = joined(choice, &keys(version, suite, 0));
        for padding in [0, 3, MAX_PADDING] {
            let mut record = seal(&mut sealer, APPLICATION_DATA, b"", padding);
            assert_eq!(opener.open(&mut record).map(|o| (o.content_type, o.len)), Ok((APPLICATION_DATA, 0)));
        }
    });
}

#[test]
fn bodies_too_short_for_a_tag_are_refused() {
    each(|choice, version, suite| {
        let keys = keys(version, suite, 0);
        let shortest = expected_len(version, suite, 0, 0) - HEADER;
        for length in 0..shortest {
            let mut record = vec![0x22; HEADER + length];
            record[..HEADER].copy_from_slice(&[APPLICATION_DATA, 3, 3, 0, u8::try_from(length).unwrap()]);
            assert_eq!(opener(choice, &keys).open(&mut record), Err(BadRecord::TooShort { length }));
        }
        for length in 0..HEADER {
            assert!(opener(choice, &keys).open(&mut vec![APPLICATION_DATA; length]).is_err());
        }
    });
}

#[test]
fn the_version_is_that_of_tls_1_2() {
    each(|choice, version, suite| {
        let keys = keys(version, suite, 0);
        let (mut sealer, _) = joined(choice, &keys);
        let record = seal(&mut sealer, APPLICATION_DATA, b"text", 0);
        for bad in [[3, 1], [3, 4], [2, 3], [0, 0], [0xfe, 0xfd]] {
            let mut record = record.clone();
            record[1..3].copy_from_slice(&bad);
            let refused = opener(choice, &keys).open(&mut record);
            assert_eq!(refused, Err(BadRecord::Version(u16::from_be_bytes(bad))));
        }
    });
}

#[test]
fn in_tls_1_3_no_outer_type_but_application_data_is_looked_at() {
    for choice in choices() {
        let keys = keys(Version::Tls13, Suite::Aes128Gcm, 0);
        for outer in [CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, 24] {
            // Authentic but for that: it is the type that counts.
            let mut record = forge(choice, &keys, outer, b"\x01\x00\x15");
            assert_eq!(opener(choice, &keys).open(&mut record), Err(BadRecord::ContentType(outer)));
            assert!(wiped(&record));
        }
    }
}

#[test]
fn in_tls_1_2_the_type_is_authenticated() {
    for choice in choices() {
        for suite in super::SUITES {
            let keys = keys(Version::Tls12, suite, 0);
            let record = forge(choice, &keys, HANDSHAKE, b"text");
            assert_eq!(opener(choice, &keys).open(&mut record.clone()).map(|o| o.content_type), Ok(HANDSHAKE));
            let mut other = record;
            other[0] = APPLICATION_DATA;
            assert_eq!(opener(choice, &keys).open(&mut other), Err(BadRecord::Mac));
        }
    }
}

#[test]
fn a_sequence_number_is_never_used_twice() {
    // RFC 8446 §5.3: it must not wrap. 2^64 - 2 is the last that either end uses.
    each(|choice, version, suite| {
        let (mut sealer, mut opener) = joined(choice, &keys(version, suite, u64::MAX - 1));
        let mut last = seal(&mut sealer, APPLICATION_DATA, b"last", 0);
        assert_eq!(opener.open(&mut last).map(|o| o.len), Ok(4));
        let mut out = [0; 100];
        assert_eq!(sealer.seal(APPLICATION_DATA, Gather::one(b"more"), 0, &mut out), Err(AeadFailure));
        assert_eq!(sealer.records(), 1);
        let mut wrapped = forge(choice, &keys(version, suite, u64::MAX), APPLICATION_DATA, b"more\x17");
        assert_eq!(opener.open(&mut wrapped), Err(BadRecord::SequenceWrap));
        let mut wrapped = forge(choice, &keys(version, suite, 0), APPLICATION_DATA, b"more\x17");
        assert_eq!(opener.open(&mut wrapped), Err(BadRecord::SequenceWrap));
    });
}

#[test]
fn nothing_of_a_record_that_does_not_open_is_left() {
    each(|choice, version, suite| {
        let keys = keys(version, suite, 0);
        let (mut sealer, _) = joined(choice, &keys);
        let record = seal(&mut sealer, APPLICATION_DATA, &[0x77; 1000], 0);
        for at in [HEADER, HEADER + 500, record.len() - 1] {
            let mut record = record.clone();
            record[at] ^= 1;
            assert_eq!(opener(choice, &keys).open(&mut record), Err(BadRecord::Mac));
            assert!(wiped(&record), "{choice:?} {version:?} {suite:?} {at}");
        }
    });
}

#[test]
fn padding_is_only_of_tls_1_3_and_of_at_most_255_bytes() {
    each(|choice, version, suite| {
        let (mut sealer, _) = joined(choice, &keys(version, suite, 0));
        let mut out = vec![0; 1000];
        let n = sealer.seal(APPLICATION_DATA, Gather::one(b"text"), 10, &mut out).unwrap();
        assert_eq!(n, sealer.sealed_len(4, 10));
        let padded = if version == Version::Tls13 { 10 } else { 0 };
        assert_eq!(n, expected_len(version, suite, 4, padded));
        let n = sealer.seal(APPLICATION_DATA, Gather::one(b"text"), 256, &mut out).unwrap();
        let padded = if version == Version::Tls13 { 255 } else { 0 };
        assert_eq!(n, expected_len(version, suite, 4, padded));
    });
}

#[test]
fn a_record_that_does_not_fit_changes_nothing() {
    each(|choice, version, suite| {
        let keys = keys(version, suite, 0);
        let (mut sealer, mut opener) = joined(choice, &keys);
        let mut short = vec![0xee; expected_len(version, suite, 4, 0) - 1];
        assert_eq!(sealer.seal(APPLICATION_DATA, Gather::one(b"text"), 0, &mut short), Err(AeadFailure));
        assert_eq!(sealer.records(), 0);
        let mut record = seal(&mut sealer, APPLICATION_DATA, b"text", 0);
        assert!(opener.open(&mut record).is_ok(), "the sequence number is still 0");
    });
}

#[test]
fn keys_of_wrong_lengths_are_none() {
    let iv = hex("000102030405060708090a0b");
    for suite in super::SUITES {
        for len in [0, 15, 17, 31, 33] {
            let key = vec![0; len];
            assert!(TrafficKeys::new(Version::Tls13, suite, &key, [&iv, b""], 0).is_none());
        }
        let key = vec![0; suite.key_len()];
        assert!(TrafficKeys::new(Version::Tls13, suite, &key, [&iv, b"x"], 0).is_none());
        assert!(TrafficKeys::new(Version::Tls13, suite, &key, [&iv[1..], b""], 0).is_none());
        let keys = TrafficKeys::new(Version::Tls13, suite, &key, [&iv[..4], &iv[4..]], 0).unwrap();
        assert_eq!(keys.iv()[..], iv);
        assert!(!format!("{keys:?}").contains("[0"), "Debug shows no key");
    }
}
