//! s2n-tls over callbacks, its memory Rust's and its cryptography that of aws-lc.
//!
//! Settings: records of full size (`prefer_throughput`), and header and body of a record read at once
//! (`set_receive_buffering`), which saves a tenth of the time of a read. What is agreed follows from
//! policies, which are lists by name: that of the server decides. There is none with ChaCha20-Poly1305 in front.

use s2n_tls::connection::Connection;
use s2n_tls::enums::Mode;

use super::{Contender, Look, MAX_PLAINTEXT};
use crate::s2n;
use crate::setting::{Aead, SERVER_NAME, Setting, Suite, Version};
use crate::wire::Wire;

struct Pair {
    client: Connection,
    server: Connection,
    /// The way back, on which nothing comes once the pair is connected.
    back: Wire,
    plaintext: Box<[u8]>,
}

/// Whether there are policies that agree on `suite`.
pub(super) fn speaks(suite: Suite) -> bool {
    suite.aead != Aead::ChaCha20Poly1305
}

/// Makes a connected pair.
pub(super) fn connect(setting: &Setting<'_>) -> Box<dyn Contender> {
    let (client, server) = policies(setting.suite);
    let (mut clients, mut servers) = (s2n::builder(client), s2n::builder(server));
    clients.trust_pem(setting.parties.authority.pem().as_bytes()).expect("s2n-tls takes the authority");
    let identity = &setting.parties.server;
    let (chain, key) = (identity.chain_pem(), identity.key_pem());
    servers.load_pem(chain.as_bytes(), key.as_bytes()).expect("s2n-tls takes the identity");
    let mut client = s2n::connection(Mode::Client);
    client.set_config(clients.build().expect("s2n-tls makes a configuration")).expect("it is for clients");
    client.set_server_name(SERVER_NAME).expect("the server's name is a host name");
    let mut server = s2n::connection(Mode::Server);
    server.set_receive_buffering(true).expect("s2n-tls reads ahead");
    server.set_config(servers.build().expect("s2n-tls makes a configuration")).expect("it is for servers");
    let mut pair = Pair { client, server, back: Wire::new(), plaintext: vec![0; MAX_PLAINTEXT].into_boxed_slice() };
    pair.shake();
    assert_eq!(pair.client.cipher_suite().ok(), Some(setting.suite.openssl()), "the policies agree on the suite");
    Box::new(pair)
}

/// The client's and the server's, by which they agree on `suite`.
fn policies(suite: Suite) -> (&'static str, &'static str) {
    match (suite.version, suite.aead) {
        (Version::Tls13, Aead::Aes256Gcm) => ("20190801", "20190801"),
        (Version::Tls13, _) => ("AWS-CRT-SDK-TLSv1.3", "AWS-CRT-SDK-TLSv1.3"),
        (Version::Tls12, Aead::Aes256Gcm) => ("CloudFront-Upstream-TLS-1-2", "CloudFront-Upstream-TLS-1-2"),
        (Version::Tls12, _) => ("20240501", "AWS-CRT-SDK-TLSv1.2"),
    }
}

impl Pair {
    fn shake(&mut self) {
        let mut there = Wire::new();
        loop {
            let client =
                s2n::over(&mut self.client, &mut self.back, &mut there, |end| end.poll_negotiate().map_ok(drop));
            let server =
                s2n::over(&mut self.server, &mut there, &mut self.back, |end| end.poll_negotiate().map_ok(drop));
            if client.and(server).is_some() {
                return;
            }
        }
    }
}

impl Contender for Pair {
    fn write(&mut self, payload: &[u8], wire: &mut Wire) {
        let sent = s2n::over(&mut self.client, &mut self.back, wire, |client| client.poll_send(payload));
        assert_eq!(sent, Some(payload.len()), "a record is taken whole");
    }

    fn read(&mut self, wire: &mut Wire, look: &mut Look<'_>) -> usize {
        let plaintext = &mut self.plaintext;
        let read = s2n::over(&mut self.server, wire, &mut self.back, |server| server.poll_recv(plaintext));
        let length = read.expect("a record is on the wire");
        look(&self.plaintext[..length]);
        length
    }
}
