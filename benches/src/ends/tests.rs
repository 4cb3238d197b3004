//! Every kit agrees on its terms, resumes, carries data, and says when it is over.

use super::*;
use crate::setting::Version;

/// Shakes hands, then goes on until nobody says anything.
fn settle(client: &mut impl End, server: &mut impl End) {
    let (mut there, mut back) = (Wire::new(), Wire::new());
    let (mut client_done, mut server_done) = (false, false);
    for _ in 0..8 {
        client_done |= client.go_on(&mut back, &mut there);
        back.reset();
        server_done |= server.go_on(&mut there, &mut back);
        there.reset();
    }
    assert!(client_done && server_done && back.is_empty());
}

fn every_terms() -> Vec<Terms> {
    let mut all = Vec::new();
    for version in [Version::Tls12, Version::Tls13] {
        for certificate in [Certificate::P256, Certificate::Rsa2048] {
            for group in [Group::X25519, Group::X25519Mlkem768] {
                for resumption in [false, true] {
                    all.push(Terms { version, certificate, group, resumption });
                }
            }
        }
    }
    all.retain(|terms| terms.version == Version::Tls13 || terms.group == Group::X25519);
    all
}

fn connect<K: Kit>(clients: &K, servers: &K) -> (K::Client, K::Server) {
    let (mut client, mut server) = (clients.client(), servers.server());
    settle(&mut client, &mut server);
    (client, server)
}

fn agrees<K: Kit>() {
    for terms in every_terms().into_iter().filter(K::can) {
        let kit = K::new(&terms, &Parties::new(terms.certificate), None);
        let (mut client, server) = connect(&kit, &kit);
        for agreed in [client.agreed(), server.agreed()] {
            assert_eq!(agreed, terms.expected(false), "{terms:?}");
        }
        kit.keep_if(terms.resumption, &mut client);
        let (mut client, mut server) = connect(&kit, &kit);
        for agreed in [client.agreed(), server.agreed()] {
            assert_eq!(agreed, terms.expected(terms.resumption), "{terms:?}");
        }
        echo(&mut client, &mut server);
    }
}

trait KeepIf: Kit {
    fn keep_if(&self, wanted: bool, client: &mut Self::Client) {
        if wanted {
            self.keep(client);
        }
    }
}

impl<K: Kit> KeepIf for K {}

fn echo(client: &mut impl End, server: &mut impl End) {
    let payload = crate::payload::of(16_384);
    let (mut there, mut back) = (Wire::new(), Wire::new());
    client.write(&payload, &mut there);
    let mut got = Vec::new();
    assert_eq!(server.read(&mut there, &mut |bytes| got.extend_from_slice(bytes)), payload.len());
    server.write(&got, &mut back);
    got.clear();
    client.read(&mut back, &mut |bytes| got.extend_from_slice(bytes));
    assert!(got[..] == payload[..], "what was sent comes back");
    server.rest();
    there.reset();
    client.write(b"after a rest", &mut there);
    assert_eq!(server.read(&mut there, &mut |_| {}), 12);
    there.reset();
    client.close(&mut there);
    assert!(!there.is_empty());
    server.go_on(&mut there, &mut back);
}

/// Two workers, each with contexts of its own: what one began, the other resumes if they share ticket keys, and only then.
fn resumes_at_a_sibling<K: Kit>() {
    for version in [Version::Tls12, Version::Tls13] {
        let terms = Terms { version, resumption: true, ..Terms::USUAL };
        let parties = Parties::new(terms.certificate);
        let first = K::new(&terms, &parties, None);
        for (second, resumed) in
            [(K::new(&terms, &parties, Some(&first)), true), (K::new(&terms, &parties, None), false)]
        {
            let clients = K::new(&terms, &parties, None);
            let (mut client, _server) = connect(&clients, &first);
            clients.keep(&mut client);
            let (client, server) = connect(&clients, &second);
            assert_eq!((client.agreed().resumed, server.agreed().resumed), (resumed, resumed), "{version:?}");
        }
    }
}

macro_rules! for_every_kit {
    ($($name:ident: $kit:ty;)*) => {
        $(mod $name {
            use super::*;

            #[test]
            fn agrees_on_its_terms() {
                agrees::<$kit>();
            }

            #[test]
            fn workers_resume_each_others_sessions_by_shared_ticket_keys() {
                resumes_at_a_sibling::<$kit>();
            }
        })*
    };
}

for_every_kit! {
    arenatls_engine: Arenatls<Engine>;
    arenatls_library: Arenatls<Library>;
    openssl_usual: Openssl<Usual>;
    openssl_without_idle_buffers: Openssl<WithoutIdleBuffers>;
    rustls_aws_lc_rs: Rustls<AwsLcRs>;
    rustls_ring: Rustls<Ring>;
    s2n: S2nTls;
}
