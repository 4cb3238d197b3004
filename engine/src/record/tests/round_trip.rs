//! What is sealed opens again, whatever its size, type, padding and pieces; nothing else opens.

use std::io::IoSlice;

use proptest::prelude::*;

use super::{
    AeadChoice, Gather, HEADER, MAX_PLAINTEXT, SUITES, Suite, VERSIONS, Version, choices, each, expected_len, joined, keys, seal,
};
use crate::error::BadRecord;
use crate::record::seal::MAX_PADDING;
use crate::record::{ALERT, APPLICATION_DATA, HANDSHAKE};

fn cases(n: u32) -> ProptestConfig {
    // The same cases every time, and no file of failures.
    ProptestConfig {
        cases: n,
        rng_seed: proptest::test_runner::RngSeed::Fixed(0x5ea1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn any_choice() -> impl Strategy<Value = (AeadChoice, Version, Suite)> {
    (prop::sample::select(choices()), prop::sample::select(VERSIONS.to_vec()), prop::sample::select(SUITES.to_vec()))
}

fn any_size() -> impl Strategy<Value = usize> {
    prop_oneof![0..64usize, 0..=MAX_PLAINTEXT, Just(MAX_PLAINTEXT), Just(MAX_PLAINTEXT - 1)]
}

/// Bytes that betray it if they move: none of them zero, so that padding shows.
fn text(len: usize) -> Vec<u8> {
    (1..=251u8).cycle().take(len).collect()
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn a_stream_of_records((choice, version, suite) in any_choice(),
                           records in prop::collection::vec((any_size(), 0..=MAX_PADDING, prop::sample::select(vec![APPLICATION_DATA, HANDSHAKE, ALERT])), 1..5),
                           sequence in prop_oneof![Just(0u64), any::<u64>().prop_map(|n| n / 2)]) {
        let (mut sealer, mut opener) = joined(choice, &keys(version, suite, sequence));
        for (n, (len, padding, content_type)) in records.into_iter().enumerate() {
            let padding = padding.min(MAX_PLAINTEXT - len);
            let plain = text(len);
            let mut record = seal(&mut sealer, content_type, &plain, padding);
            prop_assert_eq!(sealer.records(), n as u64 + 1);
            prop_assert_eq!(record.len(), expected_len(version, suite, len, padding));
            let outer = if version == Version::Tls13 { APPLICATION_DATA } else { content_type };
            prop_assert_eq!(&record[..3], &[outer, 3, 3]);
            prop_assert_eq!(usize::from(u16::from_be_bytes([record[3], record[4]])), record.len() - HEADER);
            let opened = opener.open(&mut record).unwrap();
            prop_assert_eq!((opened.content_type, opened.len), (content_type, len));
            prop_assert_eq!(&record[opened.offset..][..len], &plain[..]);
        }
    }

    #[test]
    fn pieces_seal_to_the_bytes_of_the_whole((choice, version, suite) in any_choice(),
                                             len in 0..2000usize,
                                             cuts in prop::collection::vec(0..2000usize, 0..6),
                                             padding in 0..=MAX_PADDING) {
        let plain = text(len);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(len)).collect();
        cuts.sort_unstable();
        let mut slices = Vec::new();
        let mut at = 0;
        for cut in cuts.into_iter().chain([len]) {
            slices.push(IoSlice::new(&plain[at..cut]));
            at = cut;
        }
        let keys = keys(version, suite, 3);
        let (mut one, _) = joined(choice, &keys);
        let (mut many, _) = joined(AeadChoice::Evp, &keys);
        let whole = seal(&mut one, APPLICATION_DATA, &plain, padding);
        let mut out = vec![0xee; whole.len() + 9];
        let n = many.seal(APPLICATION_DATA, Gather::many(&slices), padding, &mut out).unwrap();
        prop_assert_eq!(&out[..n], &whole[..]);
        prop_assert_eq!(&out[n..], &[0xee; 9]);
    }

    #[test]
    fn a_changed_byte_never_opens((choice, version, suite) in any_choice(),
                                  len in 0..300usize, at in any::<prop::sample::Index>(), flip in 1..=255u8) {
        let (mut sealer, mut opener) = joined(choice, &keys(version, suite, 0));
        let good = seal(&mut sealer, APPLICATION_DATA, &text(len), 0);
        let mut record = good.clone();
        let at = at.index(record.len());
        record[at] ^= flip;
        prop_assert!(opener.open(&mut record).is_err());
        // A record that was refused does not count: the stream may go on (TLS ends it; the opener need not).
        prop_assert!(opener.open(&mut good.clone()).is_ok());
    }
}

#[test]
fn a_record_opens_once_and_in_its_turn() {
    each(|choice, version, suite| {
        let (mut sealer, mut opener) = joined(choice, &keys(version, suite, 0));
        let [first, second] = [b"first ", b"second"].map(|text| seal(&mut sealer, APPLICATION_DATA, text, 0));
        assert_eq!(opener.open(&mut second.clone()), Err(BadRecord::Mac), "out of order");
        assert!(opener.open(&mut first.clone()).is_ok());
        assert_eq!(opener.open(&mut first.clone()), Err(BadRecord::Mac), "a replay");
        assert!(opener.open(&mut second.clone()).is_ok());
    });
}

#[test]
fn a_new_key_starts_anew_and_the_old_one_is_of_no_use() {
    each(|choice, version, suite| {
        let (mut sealer, mut opener) = joined(choice, &keys(version, suite, 0));
        let old = seal(&mut sealer, APPLICATION_DATA, b"under the old key", 0);
        let next = keys(version, suite, 5);
        let other = if suite == Suite::ChaCha20Poly1305 { Suite::Aes256Gcm } else { Suite::ChaCha20Poly1305 };
        for next in [next, keys(version, other, 0)] {
            sealer.rekey(&next).unwrap();
            opener.rekey(&next).unwrap();
            assert_eq!(sealer.records(), 0);
            let mut new = seal(&mut sealer, APPLICATION_DATA, b"new", 0);
            assert_eq!(opener.open(&mut old.clone()), Err(BadRecord::Mac), "{choice:?} {version:?} {suite:?}");
            assert!(opener.open(&mut new).is_ok(), "{choice:?} {version:?} {suite:?}");
        }
    });
}

#[test]
fn the_explicit_nonce_of_tls_1_2_is_read_from_the_record() {
    // RFC 5288 §3: the peer chooses it as it likes; only we use the sequence number.
    for choice in choices() {
        for suite in [Suite::Aes128Gcm, Suite::Aes256Gcm] {
            let (mut sealer, mut opener) = joined(choice, &keys(Version::Tls12, suite, 0));
            let record = seal(&mut sealer, APPLICATION_DATA, b"text", 0);
            assert_eq!(record[HEADER..HEADER + 8], [0; 8], "our nonce is the sequence number");
            let mut replaced = record.clone();
            replaced[HEADER] ^= 1;
            assert_eq!(opener.open(&mut replaced), Err(BadRecord::Mac), "it is authentic all the same");
            let next = seal(&mut sealer, APPLICATION_DATA, b"text", 0);
            assert_eq!(next[HEADER..HEADER + 8], 1u64.to_be_bytes());
        }
    }
}
