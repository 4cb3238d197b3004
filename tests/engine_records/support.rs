//! Live pairs, and a forger who knows their keys.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use arenatls::{Alert, Error, Options, Protection, State};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::identity::Authority;
use arenatls_rig::pair::{Conn, Pair, Seen, feed, take_output};
use openssl::error::ErrorStack;
use openssl::ssl::{SslContext, SslContextBuilder, SslVersion};

use crate::forge::{self, Forger, Suite};

/// A version, a suite, and OpenSSL's name of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) version: SslVersion,
    pub(crate) suite: Suite,
    name: &'static str,
}

/// Everything that Engine protection covers.
pub(crate) const CASES: [Case; 6] = [
    Case { version: SslVersion::TLS1_3, suite: Suite::Aes128Gcm, name: "TLS_AES_128_GCM_SHA256" },
    Case { version: SslVersion::TLS1_3, suite: Suite::Aes256Gcm, name: "TLS_AES_256_GCM_SHA384" },
    Case { version: SslVersion::TLS1_3, suite: Suite::ChaCha20Poly1305, name: "TLS_CHACHA20_POLY1305_SHA256" },
    Case { version: SslVersion::TLS1_2, suite: Suite::Aes128Gcm, name: "ECDHE-ECDSA-AES128-GCM-SHA256" },
    Case { version: SslVersion::TLS1_2, suite: Suite::Aes256Gcm, name: "ECDHE-ECDSA-AES256-GCM-SHA384" },
    Case { version: SslVersion::TLS1_2, suite: Suite::ChaCha20Poly1305, name: "ECDHE-ECDSA-CHACHA20-POLY1305" },
];

impl Case {
    pub(crate) fn is_13(self) -> bool {
        self.version == SslVersion::TLS1_3
    }

    pub(crate) fn terms(self) -> Terms {
        Terms::default().version(self.version).suite(self.name).tickets(0)
    }

    /// The contexts of this case, without tickets after the handshake.
    pub(crate) fn contexts(self) -> &'static (SslContext, SslContext) {
        &CONTEXTS[CASES.iter().position(|c| *c == self).expect("one of the cases")]
    }
}

/// Secrets by their label and the client's random, in lower-case hexadecimal, as NSS key logs have them.
static SECRETS: LazyLock<Mutex<HashMap<(String, String), String>>> = LazyLock::new(Mutex::default);

static CONTEXTS: LazyLock<Vec<(SslContext, SslContext)>> = LazyLock::new(|| {
    let ca = Authority::new("ca");
    let server = ca.server();
    let make = |case: &Case| {
        let mut client = contexts::client_builder(&ca, &case.terms());
        listen(&mut client);
        (client.build(), contexts::server(&server, &case.terms()))
    };
    CASES.iter().map(make).collect()
});

/// Keeps the secrets of a context's connections.
pub(crate) fn listen(client: &mut SslContextBuilder) {
    client.set_keylog_callback(|_, line| {
        let mut words = line.split(' ').map(str::to_lowercase);
        if let (Some(label), Some(random), Some(secret)) = (words.next(), words.next(), words.next()) {
            SECRETS.lock().expect("no test panics here").insert((label, random), secret);
        }
    });
}

/// A secret of the connection that `client` is an end of.
pub(crate) fn secret(label: &str, client: &Conn) -> Vec<u8> {
    let mut random = [0; 32];
    client.ssl().client_random(&mut random);
    let hex: String = random.iter().map(|b| format!("{b:02x}")).collect();
    let secrets = SECRETS.lock().expect("no test panics here");
    forge::unhex(secrets.get(&(label.to_owned(), hex)).expect("a logged secret"))
}

/// Every case, end and protection; whether the records are the engine's.
pub(crate) fn each(options: &Options, mut f: impl FnMut(&mut Live, Case, bool)) {
    for case in CASES {
        for victim in VICTIMS {
            for (library, options) in [(true, options.library_protection()), (false, *options)] {
                eprintln!("{case:?} {victim:?} library: {library}");
                let mut live = Live::new(case, victim, &options);
                let engine = !library && is_engine(live.victim());
                f(&mut live, case, engine);
            }
        }
    }
}

/// Which end is under test; the other is the forger's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Victim {
    Client,
    Server,
}

pub(crate) const VICTIMS: [Victim; 2] = [Victim::Client, Victim::Server];

/// A pair in traffic, and what it takes to speak for either end.
pub(crate) struct Live {
    pub(crate) pair: Pair,
    pub(crate) victim: Victim,
    /// Speaks to the victim as its peer would.
    pub(crate) forger: Forger,
    /// Hears what the victim says.
    pub(crate) ear: Forger,
}

impl Live {
    /// `options` are the victim's; its peer leaves the records to OpenSSL.
    pub(crate) fn new(case: Case, victim: Victim, options: &Options) -> Live {
        let (client, server) = case.contexts();
        let theirs = Options::default().library_protection();
        let (c, s) = if victim == Victim::Client { (options, &theirs) } else { (&theirs, options) };
        let pool = arenatls_rig::pair::pool(arenatls_rig::pair::BUDGET);
        let mut pair = Pair::with(client, server, c, s, pool);
        pair.handshake();
        let (from_client, from_server) = forgers(case, &pair.client);
        let (forger, ear) =
            if victim == Victim::Client { (from_server, from_client) } else { (from_client, from_server) };
        Live { pair, victim, forger, ear }
    }

    pub(crate) fn victim(&mut self) -> &mut Conn {
        if self.victim == Victim::Client { &mut self.pair.client } else { &mut self.pair.server }
    }

    pub(crate) fn peer(&mut self) -> &mut Conn {
        if self.victim == Victim::Client { &mut self.pair.server } else { &mut self.pair.client }
    }

    /// Hands what the victim has to send over to its peer; what that sees.
    pub(crate) fn deliver(&mut self) -> Vec<Seen> {
        let out = take_output(self.victim());
        let (seen, failure) = pump(self.peer(), &out, usize::MAX);
        assert_eq!(failure, None);
        seen
    }

    /// Feeds the victim.
    pub(crate) fn attack(&mut self, bytes: &[u8]) -> (Vec<Seen>, Option<Error>) {
        pump(self.victim(), bytes, usize::MAX)
    }

    /// That the victim failed with `error` for good; what its peer hears of it.
    pub(crate) fn failed(&mut self, error: &Error) -> Option<Alert> {
        assert_sticky(self.victim(), error);
        let out = take_output(self.victim());
        match pump(self.peer(), &out, usize::MAX).1 {
            None => None,
            Some(Error::PeerAlert(alert)) => Some(alert),
            other => panic!("the peer sees {other:?} after {error:?}"),
        }
    }
}

/// Both directions' keys right after a handshake without tickets.
fn forgers(case: Case, client: &Conn) -> (Forger, Forger) {
    if case.is_13() {
        let of = |label| Forger::tls13(case.suite, secret(label, client));
        return (of("client_traffic_secret_0"), of("server_traffic_secret_0"));
    }
    let mut randoms = [[0; 32]; 2];
    client.ssl().server_random(&mut randoms[0]);
    client.ssl().client_random(&mut randoms[1]);
    Forger::tls12(case.suite, &secret("client_random", client), &randoms.concat())
}

/// Gives all of `bytes` in pieces of at most `chunk`, polling after each; stops at the first failure.
pub(crate) fn pump(conn: &mut Conn, mut bytes: &[u8], chunk: usize) -> (Vec<Seen>, Option<Error>) {
    let mut seen = Vec::new();
    loop {
        let n = feed(conn, &bytes[..bytes.len().min(chunk)]);
        bytes = &bytes[n..];
        let before = seen.len();
        loop {
            let step = conn.poll_event().map(|event| event.map(Seen::from));
            assert!(ErrorStack::get().errors().is_empty(), "OpenSSL's queue is left empty");
            match step {
                Ok(Some(event)) => seen.push(event),
                Ok(None) => break,
                Err(error) => return (seen, Some(error)),
            }
        }
        if bytes.is_empty() || (n == 0 && seen.len() == before) {
            return (seen, None);
        }
    }
}

/// That the connection failed with `error`, now and for every call.
pub(crate) fn assert_sticky(conn: &mut Conn, error: &Error) {
    assert_eq!(conn.state(), State::Failed, "{error:?}");
    assert_eq!(conn.failure(), Some(error));
    let unsent = conn.backend().unsent();
    for _ in 0..2 {
        assert_eq!(conn.poll_event().map(|_| ()).as_ref(), Err(error));
        assert_eq!(conn.write(b"more").as_ref(), Err(error));
        assert_eq!(conn.close().as_ref(), Err(error));
        assert_eq!(conn.open_in(&mut [0; 30]).as_ref(), Err(error));
    }
    assert_eq!(conn.backend().unsent(), unsent, "a failed connection says nothing more");
}

/// True if the connection's records are the engine's in both directions; where OpenSSL was built for that, they must be.
pub(crate) fn is_engine(conn: &Conn) -> bool {
    let engine = conn.protection() == (Protection::Engine, Protection::Engine);
    assert!(engine || !cfg!(feature = "vendored"), "the vendored OpenSSL hands its keys over: {conn:?}");
    engine
}

/// The lengths of the records that `wire` is made of (bytes, headers included).
pub(crate) fn record_lens(mut wire: &[u8]) -> Vec<usize> {
    let mut lens = Vec::new();
    while let [_, _, _, high, low, ..] = *wire {
        let len = 5 + usize::from(u16::from_be_bytes([high, low]));
        lens.push(len);
        wire = &wire[len..];
    }
    assert!(wire.is_empty(), "whole records");
    lens
}
