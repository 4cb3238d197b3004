//! Records made and read from nothing but RFC 8446 §5 and §7, RFC 5246 §6, RFC 5288 and RFC 7905; no code is shared with
//! the engine.

use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use openssl::symm::{Cipher, encrypt_aead};

/// alert.
pub(crate) const ALERT: u8 = 21;
/// handshake.
pub(crate) const HANDSHAKE: u8 = 22;
/// application_data.
pub(crate) const DATA: u8 = 23;
/// The alert close_notify, a warning.
pub(crate) const CLOSE_NOTIFY: [u8; 2] = [1, 0];
/// What protects the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suite {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
}

impl Suite {
    fn cipher(self) -> Cipher {
        match self {
            Suite::Aes128Gcm => Cipher::aes_128_gcm(),
            Suite::Aes256Gcm => Cipher::aes_256_gcm(),
            Suite::ChaCha20Poly1305 => Cipher::chacha20_poly1305(),
        }
    }

    fn hash(self) -> MessageDigest {
        if self == Suite::Aes256Gcm { MessageDigest::sha384() } else { MessageDigest::sha256() }
    }
}

/// One direction's keys and sequence number.
#[derive(Clone)]
pub(crate) struct Forger {
    suite: Suite,
    /// TLS 1.3's traffic secret; empty in TLS 1.2.
    secret: Vec<u8>,
    key: Vec<u8>,
    iv: Vec<u8>,
    pub(crate) sequence: u64,
}

impl Forger {
    /// RFC 8446 §7.3.
    pub(crate) fn tls13(suite: Suite, secret: Vec<u8>) -> Forger {
        let key = expand_label(suite, &secret, "key", suite.cipher().key_len());
        let iv = expand_label(suite, &secret, "iv", 12);
        Forger { suite, secret, key, iv, sequence: 0 }
    }

    /// RFC 5246 §6.3: the client's direction and the server's, right after their Finished.
    pub(crate) fn tls12(suite: Suite, master: &[u8], randoms: &[u8]) -> (Forger, Forger) {
        let (key, iv) = (suite.cipher().key_len(), if suite == Suite::ChaCha20Poly1305 { 12 } else { 4 });
        let seed = [b"key expansion", randoms].concat();
        let mut block = Vec::new();
        let mut a = hmac(suite, master, &seed);
        while block.len() < 2 * (key + iv) {
            block.extend(hmac(suite, master, &[&a[..], &seed].concat()));
            a = hmac(suite, master, &a);
        }
        let forger = |k: usize, i: usize| Forger {
            suite,
            secret: Vec::new(),
            key: block[k..k + key].to_vec(),
            iv: block[i..i + iv].to_vec(),
            sequence: 1,
        };
        (forger(0, 2 * key), forger(key, 2 * key + iv))
    }

    /// From the structs of `linux/tls.h` (6.1), as a kernel reads them.
    pub(crate) fn from_crypto_info(info: &[u8]) -> Forger {
        let number = |at: usize| u16::from_ne_bytes([info[at], info[at + 1]]);
        let (version, body) = (number(0), &info[4..]);
        let (suite, iv, key, salt) = match number(2) {
            51 => (Suite::Aes128Gcm, 8, 16, 4),
            52 => (Suite::Aes256Gcm, 8, 32, 4),
            54 => (Suite::ChaCha20Poly1305, 12, 32, 0),
            other => panic!("cipher type {other}"),
        };
        let (iv, rest) = body.split_at(iv);
        let (key, rest) = rest.split_at(key);
        let (salt, sequence) = rest.split_at(salt);
        let is_13 = version == 0x0304;
        let has_explicit = !is_13 && !salt.is_empty();
        assert!(!has_explicit || iv == sequence, "the explicit nonce goes on with the sequence number");
        Forger {
            suite,
            // Of TLS 1.3; the secret itself a kernel never has.
            secret: vec![0; usize::from(is_13)],
            key: key.to_vec(),
            iv: if has_explicit { salt.to_vec() } else { [salt, iv].concat() },
            sequence: u64::from_be_bytes(sequence.try_into().expect("eight bytes")),
        }
    }

    pub(crate) fn is_13(&self) -> bool {
        !self.secret.is_empty()
    }

    /// The keys after a KeyUpdate (RFC 8446 §7.2).
    pub(crate) fn next_generation(&mut self) {
        *self = Forger::tls13(self.suite, expand_label(self.suite, &self.secret, "traffic upd", self.secret.len()));
    }

    /// A record of `content_type` as an honest peer makes it.
    pub(crate) fn record(&mut self, content_type: u8, plain: &[u8]) -> Vec<u8> {
        if self.is_13() {
            return self.inner(23, &[plain, &[content_type]].concat());
        }
        self.inner(content_type, plain)
    }

    /// Application data.
    pub(crate) fn data(&mut self, plain: &[u8]) -> Vec<u8> {
        self.record(23, plain)
    }

    /// A record of `outer` type, with exactly this under the AEAD.
    pub(crate) fn inner(&mut self, outer: u8, inner: &[u8]) -> Vec<u8> {
        let sequence = self.sequence.to_be_bytes();
        let explicit = self.explicit();
        let nonce = self.nonce(&sequence);
        let header = [&[outer, 3, 3], &length(explicit + inner.len() + 16)[..]].concat();
        let aad = self.aad(&header, inner.len());
        let (sealed, tag) = self.seal(&nonce, &aad, inner);
        self.sequence += 1;
        [&header, &sequence[..explicit], &sealed, &tag].concat()
    }

    /// The content type and plaintext of the next record.
    pub(crate) fn open(&mut self, record: &[u8]) -> (u8, Vec<u8>) {
        let (header, body) = record.split_at(5);
        let (explicit, body) = body.split_at(self.explicit());
        let (text, tag) = body.split_at(body.len() - 16);
        let nonce = if explicit.is_empty() { self.nonce(&self.sequence.to_be_bytes()) } else { self.nonce(explicit) };
        let aad = self.aad(header, text.len());
        // All are stream ciphers: to seal what was sealed gives what it was made of. That is then sealed for its tag, so
        // that memcheck has no quarrel with the way in which OpenSSL compares one.
        let (mut plain, _) = self.seal(&nonce, &aad, text);
        let made = self.seal(&nonce, &aad, &plain);
        assert_eq!(made, (text.to_vec(), tag.to_vec()), "it is authentic");
        self.sequence += 1;
        if !self.is_13() {
            return (header[0], plain);
        }
        plain.truncate(plain.iter().rposition(|b| *b != 0).expect("a content type") + 1);
        (plain.pop().unwrap_or_default(), plain)
    }

    /// Ciphertext and tag.
    fn seal(&self, nonce: &[u8], aad: &[u8], plain: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let mut tag = vec![0; 16];
        let sealed = encrypt_aead(self.suite.cipher(), &self.key, Some(nonce), aad, plain, &mut tag).expect("sealed");
        (sealed, tag)
    }

    fn explicit(&self) -> usize {
        if self.iv.len() == 4 { 8 } else { 0 }
    }

    fn nonce(&self, sequence: &[u8]) -> Vec<u8> {
        let mut nonce = self.iv.clone();
        if self.explicit() > 0 {
            nonce.extend(sequence);
        } else {
            nonce[4..].iter_mut().zip(sequence).for_each(|(n, s)| *n ^= s);
        }
        nonce
    }

    fn aad(&self, header: &[u8], plain: usize) -> Vec<u8> {
        if self.is_13() {
            return header.to_vec();
        }
        [&self.sequence.to_be_bytes()[..], &header[..3], &length(plain)].concat()
    }
}

fn length(n: usize) -> [u8; 2] {
    u16::try_from(n).expect("a record's length").to_be_bytes()
}

fn hmac(suite: Suite, key: &[u8], data: &[u8]) -> Vec<u8> {
    let key = PKey::hmac(key).expect("a key");
    let mut signer = Signer::new(suite.hash(), &key).expect("HMAC");
    signer.sign_oneshot_to_vec(data).expect("HMAC")
}

/// HKDF-Expand-Label with an empty context (RFC 8446 §7.1); nothing longer than one hash is ever asked for.
fn expand_label(suite: Suite, secret: &[u8], label: &str, len: usize) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let name_len = u8::try_from(label.len()).expect("a short label");
    let info = [&length(len)[..], &[name_len], label.as_bytes(), &[0, 1]].concat();
    let mut out = hmac(suite, secret, &info);
    out.truncate(len);
    out
}

/// Bytes of lower-case hexadecimal.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digit = |b: u8| u8::try_from(char::from(b).to_digit(16).expect("a digit")).expect("below 16");
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
