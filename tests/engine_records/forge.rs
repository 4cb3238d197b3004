//! Records made and read from nothing but RFC 8446 §5 and §7, RFC 5246 §6, RFC 5288 and RFC 7905; no code is shared with
//! the engine.

use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use openssl::symm::{Cipher, decrypt_aead, encrypt_aead};

/// change_cipher_spec.
pub(crate) const CCS: u8 = 20;
/// alert.
pub(crate) const ALERT: u8 = 21;
/// handshake.
pub(crate) const HANDSHAKE: u8 = 22;
/// application_data.
pub(crate) const DATA: u8 = 23;
/// The alert close_notify, a warning.
pub(crate) const CLOSE_NOTIFY: [u8; 2] = [1, 0];
/// A KeyUpdate that asks for none in return.
pub(crate) const KEY_UPDATE: [u8; 5] = [24, 0, 0, 1, 0];

/// A NewSessionTicket of RFC 8446 §4.6.1 with a ticket of `len` bytes.
pub(crate) fn ticket(len: u8) -> Vec<u8> {
    let mut message = vec![4, 0, 0, 14 + len];
    message.extend([0, 0, 0, 60, 1, 2, 3, 4, 1, 7, 0, len]);
    message.resize(message.len() + usize::from(len), 0xab);
    message.extend([0, 0]);
    message
}

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

    fn is_13(&self) -> bool {
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
        let mut tag = [0; 16];
        let sealed = encrypt_aead(self.suite.cipher(), &self.key, Some(&nonce), &aad, inner, &mut tag).expect("sealed");
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
        let mut plain = decrypt_aead(self.suite.cipher(), &self.key, Some(&nonce), &aad, text, tag).expect("authentic");
        self.sequence += 1;
        if !self.is_13() {
            return (header[0], plain);
        }
        plain.truncate(plain.iter().rposition(|b| *b != 0).expect("a content type") + 1);
        (plain.pop().unwrap_or_default(), plain)
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
