//! Records that no well-behaved peer would send, under the peer's own keys.

use std::sync::{Arc, Mutex};

use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use openssl::ssl::{SslContextBuilder, SslRef, SslVersion};
use openssl::symm::{Cipher, encrypt_aead};

/// The traffic secrets of a context's connections, as its key log tells them.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    lines: Arc<Mutex<Vec<String>>>,
}

/// Whose records are forged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forged {
    /// What the client sends.
    Client,
    /// What the server sends.
    Server,
}

/// Seals records of AES-128-GCM with SHA-256 in TLS 1.2 or 1.3, in the place of one end of a connection.
pub struct Forger {
    tls13: bool,
    key: Vec<u8>,
    iv: Vec<u8>,
    sequence: u64,
}

impl Secrets {
    /// Listens to the key log of the connections of `builder`.
    #[must_use]
    pub fn watch(builder: &mut SslContextBuilder) -> Secrets {
        let secrets = Secrets::default();
        let lines = Arc::clone(&secrets.lines);
        builder.set_keylog_callback(move |_, line| lines.lock().expect("no panic").push(line.to_owned()));
        secrets
    }

    /// Takes the place of `end` of the connection of `ssl` (either end of it), which has sent `sequence` records under
    /// its traffic keys so far.
    ///
    /// # Panics
    ///
    /// If its handshake is not done, or its suite is another.
    #[must_use]
    pub fn forger(&self, ssl: &SslRef, end: Forged, sequence: u64) -> Forger {
        if ssl.version2() == Some(SslVersion::TLS1_3) {
            let secret = self.traffic_secret(ssl, end);
            let (key, iv) = (expand_label(&secret, "key", 16), expand_label(&secret, "iv", 12));
            return Forger { tls13: true, key, iv, sequence };
        }
        let (key, iv) = key_block(ssl, end);
        // The Finished was the first record.
        Forger { tls13: false, key, iv, sequence: sequence + 1 }
    }

    fn traffic_secret(&self, ssl: &SslRef, end: Forged) -> Vec<u8> {
        let label = match end {
            Forged::Client => "CLIENT_TRAFFIC_SECRET_0",
            Forged::Server => "SERVER_TRAFFIC_SECRET_0",
        };
        let mut random = [0; 32];
        ssl.client_random(&mut random);
        let start = format!("{label} {} ", hex(&random));
        let lines = self.lines.lock().expect("no panic");
        let secret = lines.iter().find_map(|line| line.strip_prefix(&start)).expect("the secret was logged");
        unhex(secret)
    }
}

impl Forger {
    /// One record of `content_type`.
    pub fn record(&mut self, content_type: u8, plain: &[u8]) -> Vec<u8> {
        self.padded(content_type, plain, 0)
    }

    /// As [`record`](Self::record), with `padding` zeros (TLS 1.3).
    ///
    /// # Panics
    ///
    /// If the record is longer than its length field can say.
    pub fn padded(&mut self, content_type: u8, plain: &[u8], padding: usize) -> Vec<u8> {
        let sequence = self.sequence.to_be_bytes();
        self.sequence += 1;
        let len = |n: usize| u16::try_from(n).expect("it fits its length field").to_be_bytes();
        let mut tag = [0; 16];
        if self.tls13 {
            let inner = [plain, &[content_type], &vec![0; padding]].concat();
            let mut nonce = self.iv.clone();
            nonce[4..].iter_mut().zip(sequence).for_each(|(byte, s)| *byte ^= s);
            let head = [&[23, 3, 3][..], &len(inner.len() + 16)].concat();
            let text = seal(&self.key, &nonce, &head, &inner, &mut tag);
            return [head, text, tag.to_vec()].concat();
        }
        let nonce = [&self.iv[..], &sequence].concat();
        let aad = [&sequence[..], &[content_type, 3, 3], &len(plain.len())].concat();
        let text = seal(&self.key, &nonce, &aad, plain, &mut tag);
        let head = [&[content_type, 3, 3][..], &len(8 + text.len() + 16)].concat();
        [head, sequence.to_vec(), text, tag.to_vec()].concat()
    }
}

impl std::fmt::Debug for Forger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forger").field("tls13", &self.tls13).field("sequence", &self.sequence).finish_non_exhaustive()
    }
}

fn seal(key: &[u8], nonce: &[u8], aad: &[u8], plain: &[u8], tag: &mut [u8]) -> Vec<u8> {
    encrypt_aead(Cipher::aes_128_gcm(), key, Some(nonce), aad, plain, tag).expect("AES-GCM seals")
}

/// Client and server key, client and server salt (RFC 5246 section 6.3, RFC 5288).
fn key_block(ssl: &SslRef, end: Forged) -> (Vec<u8>, Vec<u8>) {
    let session = ssl.session().expect("a session");
    let mut master = vec![0; session.master_key_len()];
    session.master_key(&mut master);
    let mut seed = b"key expansion".to_vec();
    let (mut client, mut server) = ([0; 32], [0; 32]);
    ssl.client_random(&mut client);
    ssl.server_random(&mut server);
    seed.extend(server);
    seed.extend(client);
    let block = p_sha256(&master, &seed, 40);
    match end {
        Forged::Client => (block[..16].to_vec(), block[32..36].to_vec()),
        Forged::Server => (block[16..32].to_vec(), block[36..40].to_vec()),
    }
}

/// `P_SHA256` (RFC 5246 section 5).
fn p_sha256(secret: &[u8], seed: &[u8], len: usize) -> Vec<u8> {
    let (mut out, mut a) = (Vec::new(), seed.to_vec());
    while out.len() < len {
        a = hmac(secret, &a);
        out.extend(hmac(secret, &[&a, seed].concat()));
    }
    out.truncate(len);
    out
}

/// `HKDF-Expand-Label` without context (RFC 8446 section 7.1), for outputs of one hash at most.
fn expand_label(secret: &[u8], label: &str, len: u8) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let label_len = u8::try_from(label.len()).expect("a short label");
    let info = [&[0, len, label_len], label.as_bytes(), &[0, 1]].concat();
    let mut out = hmac(secret, &info);
    out.truncate(usize::from(len));
    out
}

fn hmac(key: &[u8], data: &[u8]) -> Vec<u8> {
    let key = PKey::hmac(key).expect("a key");
    let mut signer = Signer::new(MessageDigest::sha256(), &key).expect("a signer");
    signer.sign_oneshot_to_vec(data).expect("a MAC")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).filter_map(|d| u8::try_from(d).ok()).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
