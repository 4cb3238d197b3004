//! Contexts, pairs in every setting, and a forger for either end.

use std::cell::RefCell;
use std::sync::LazyLock;

use arenatls::options::Padding;
use arenatls::{Connection, Options};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::identity::Authority;
use arenatls_rig::mode::smallest_pool;
use arenatls_rig::pair::{Conn, feed, take_output};
use openssl::ssl::{Ssl, SslContext, SslContextBuilder, SslVersion};

use crate::forge::{Forger, Suite, unhex};
use crate::program::{Reader, Setting};

const SUITES: [(SslVersion, Suite, &str); 6] = [
    (SslVersion::TLS1_3, Suite::Aes128Gcm, "TLS_AES_128_GCM_SHA256"),
    (SslVersion::TLS1_3, Suite::Aes256Gcm, "TLS_AES_256_GCM_SHA384"),
    (SslVersion::TLS1_3, Suite::ChaCha20Poly1305, "TLS_CHACHA20_POLY1305_SHA256"),
    (SslVersion::TLS1_2, Suite::Aes128Gcm, "ECDHE-ECDSA-AES128-GCM-SHA256"),
    (SslVersion::TLS1_2, Suite::Aes256Gcm, "ECDHE-ECDSA-AES256-GCM-SHA384"),
    (SslVersion::TLS1_2, Suite::ChaCha20Poly1305, "ECDHE-ECDSA-CHACHA20-POLY1305"),
];

thread_local! {
    /// The key log of the handshake under way.
    static SECRETS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

static CONTEXTS: LazyLock<Vec<(SslContext, SslContext)>> = LazyLock::new(|| {
    let authority = Authority::new("fuzz");
    let identity = authority.server();
    // P-256 is for signatures in TLS 1.2.
    let quick = |builder: &mut SslContextBuilder| builder.set_groups_list("X25519:P-256").expect("groups");
    let make = |(version, _, suite): &(SslVersion, Suite, &'static str)| {
        let terms = Terms::default().version(*version).suite(suite).tickets(0);
        let mut client = contexts::client_builder(&authority, &terms);
        let mut server = contexts::server_builder(&identity, &terms);
        quick(&mut client);
        quick(&mut server);
        client.set_keylog_callback(|_, line| SECRETS.with_borrow_mut(|lines| lines.push(line.to_owned())));
        (client.build(), server.build())
    };
    SUITES.iter().map(make).collect()
});

/// The end under test, its peer, and who speaks for the peer once there are keys.
pub(crate) struct World {
    pub(crate) victim: Conn,
    pub(crate) peer: Conn,
    /// Speaks to the victim as its peer would.
    pub(crate) forger: Option<Forger>,
    /// Hears what the victim says.
    pub(crate) ear: Option<Forger>,
}

impl World {
    /// What the first bytes of the input ask for; the handshake goes as far as it should.
    pub(crate) fn new(setting: Setting, input: &mut Reader<'_>) -> World {
        SECRETS.with_borrow_mut(Vec::clear);
        let bits = input.byte();
        let which = usize::from(bits >> 2 & 3).min(2) + 3 * usize::from(bits >> 1 & 1);
        let options = options(bits);
        let plain = Options::default().library_protection();
        let server_is_victim = bits & 1 == 1;
        let (client_options, server_options) = if server_is_victim { (plain, options) } else { (options, plain) };
        let (client_context, server_context) = &CONTEXTS[which];
        let backend = || smallest_pool().backend().expect("memory");
        let ssl = |context| Ssl::new(context).expect("an Ssl");
        let client = Connection::connect_with(ssl(client_context), "localhost", backend(), &client_options);
        let server = Connection::accept_with(ssl(server_context), backend(), &server_options);
        let (client, server) = (client.expect("a client"), server.expect("a server"));
        let (mut victim, mut peer) = if server_is_victim { (server, client) } else { (client, server) };
        let flights = match setting {
            Setting::Idle => 0,
            Setting::Handshake(flights) => flights,
            _ => 8,
        };
        for _ in 0..flights {
            exchange(&mut victim, &mut peer);
        }
        let (mut forger, mut ear) = (None, None);
        if flights == 8 {
            let (from_client, from_server) = forgers(which, if server_is_victim { &peer } else { &victim });
            let (from_peer, from_victim) =
                if server_is_victim { (from_client, from_server) } else { (from_server, from_client) };
            (forger, ear) = (Some(from_peer), Some(from_victim));
        }
        World { victim, peer, forger, ear }
    }
}

fn options(bits: u8) -> Options {
    let mut options = Options::default();
    if bits & 1 << 4 != 0 {
        options = options.library_protection();
    }
    if bits & 1 << 5 != 0 {
        options = options.padding(Padding::Multiple(64));
    }
    if bits & 1 << 6 != 0 {
        options = options.rekey_after(3).control_limit(5).max_plaintext(100);
    }
    options
}

/// A step of a handshake that nobody disturbs.
fn exchange(victim: &mut Conn, peer: &mut Conn) {
    let turn = |from: &mut Conn, to: &mut Conn| {
        while let Some(_event) = from.poll_event().expect("an honest handshake") {}
        let wire = take_output(from);
        assert_eq!(feed(to, &wire), wire.len(), "a flight fits");
    };
    turn(victim, peer);
    turn(peer, victim);
}

/// Both directions' keys.
fn forgers(which: usize, client: &Conn) -> (Forger, Forger) {
    let (version, suite, _) = SUITES[which];
    let secret = |label: &str| {
        let line = SECRETS.with_borrow(|lines| lines.iter().find(|line| line.starts_with(label)).cloned());
        unhex(&line.as_deref().and_then(|line| line.rsplit(' ').next()).expect("a secret").to_lowercase())
    };
    if version == SslVersion::TLS1_3 {
        let of = |label| Forger::tls13(suite, secret(label));
        return (of("CLIENT_TRAFFIC_SECRET_0"), of("SERVER_TRAFFIC_SECRET_0"));
    }
    let mut randoms = [[0; 32]; 2];
    client.ssl().server_random(&mut randoms[0]);
    client.ssl().client_random(&mut randoms[1]);
    Forger::tls12(suite, &secret("CLIENT_RANDOM"), &randoms.concat())
}
