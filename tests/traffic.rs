//! Data both ways under every protection, version and suite.

use arenatls::{Options, Protection};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::identity::Authority;
use arenatls_rig::pair::{Pair, Seen};

#[test]
fn smoke() {
    let ca = Authority::new("ca");
    let terms = Terms::default();
    let (c, s) = (contexts::client(&ca, &terms), contexts::server(&ca.server(), &terms));
    for options in [Options::default().library_protection(), Options::default()] {
        let mut pair = Pair::connected(&c, &s, &options);
        eprintln!("{:?}\n{:?}", pair.client, pair.server);
        let _ = pair.client.write(b"hello").unwrap();
        assert_eq!(pair.to_server(), [Seen::Plaintext(b"hello".to_vec())]);
        let _ = pair.server.write(b"world").unwrap();
        assert_eq!(pair.to_client(), [Seen::Plaintext(b"world".to_vec())]);
        let _ = pair.client.key_update(true).unwrap();
        let (a, b) = pair.settle();
        eprintln!("{a:?} {b:?}");
        let _ = pair.client.write(b"hello").unwrap();
        assert_eq!(pair.to_server(), [Seen::Plaintext(b"hello".to_vec())]);
        let _ = pair.server.write(b"world").unwrap();
        assert_eq!(pair.to_client(), [Seen::Plaintext(b"world".to_vec())]);
        let _ = pair.client.close().unwrap();
        assert_eq!(pair.to_server(), [Seen::PeerClosed]);
        let _ = pair.server.close().unwrap();
        assert_eq!(pair.to_client(), [Seen::PeerClosed]);
        eprintln!("{:?}\n{:?}", pair.client, pair.server);
    }
    let _ = Protection::Engine;
}
