//! The record layer against published vectors, and against the RFCs' words.
//!
//! That keys are zeroed when they are dropped or replaced is not tested: to look at memory that was given back is
//! undefined behaviour. It rests on `zeroize` for what is ours, and on `EVP_CIPHER_CTX_free`, which cleanses.

use super::aead::AeadChoice;
use super::gather::Gather;
use super::keys::{Suite, TrafficKeys, Version};
use super::open::Opener;
use super::seal::Sealer;
use super::{HEADER, MAX_PLAINTEXT};

mod limits;
mod rfc8448;
mod round_trip;
mod wycheproof;

const SUITES: [Suite; 3] = [Suite::Aes128Gcm, Suite::Aes256Gcm, Suite::ChaCha20Poly1305];
const VERSIONS: [Version; 2] = [Version::Tls12, Version::Tls13];

/// Every implementation that this build has.
fn choices() -> Vec<AeadChoice> {
    vec![
        AeadChoice::Evp,
        #[cfg(feature = "ring")]
        AeadChoice::Ring,
    ]
}

/// Every AEAD, version and suite.
fn each(mut f: impl FnMut(AeadChoice, Version, Suite)) {
    for choice in choices() {
        for version in VERSIONS {
            for suite in SUITES {
                f(choice, version, suite);
            }
        }
    }
}

fn keys(version: Version, suite: Suite, sequence: u64) -> TrafficKeys {
    let key: Vec<u8> = (0..suite.key_len()).map(|i| u8::try_from(i * 7 + 1).unwrap_or(9)).collect();
    TrafficKeys::new(version, suite, &key, [b"salt", b"the rest"], sequence).expect("lengths that fit")
}

/// Both ends of one direction.
fn joined(choice: AeadChoice, keys: &TrafficKeys) -> (Sealer, Opener) {
    (Sealer::new(choice, keys, false).expect("a sealer"), Opener::new(choice, keys, false).expect("an opener"))
}

/// What a record adds to `plain` bytes, from the RFCs: header; explicit nonce (RFC 5288 §3) or inner type (RFC 8446
/// §5.2); tag.
fn expected_len(version: Version, suite: Suite, plain: usize, padding: usize) -> usize {
    let beside = match (version, suite) {
        (Version::Tls13, _) => 1 + padding,
        (Version::Tls12, Suite::ChaCha20Poly1305) => 0,
        (Version::Tls12, _) => 8,
    };
    5 + beside + plain + 16
}

fn seal(sealer: &mut Sealer, content_type: u8, plain: &[u8], padding: usize) -> Vec<u8> {
    let mut out = vec![0xee; sealer.sealed_len(plain.len(), padding)];
    let n = sealer.seal(content_type, Gather::one(plain), padding, &mut out).expect("a record that may be sealed");
    assert_eq!(n, out.len());
    out
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).expect("two digits")).collect()
}
