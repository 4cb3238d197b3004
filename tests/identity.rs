//! Who the peer is: names, certificates, ALPN, resumption, and clients that must not be built.

use arenatls::{BuildError, Connection, Error, Options, State};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::identity::Identity;
use arenatls_rig::mode::{Mode, authority, for_each_mode, for_each_tls13_mode, modes, usual_pool};
use arenatls_rig::native::{error_queue_is_empty, is_resumable};
use arenatls_rig::pair::{Conn, Pair, Seen, events, take_output};
use arenatls_rig::wire;
use openssl::ssl::{
    AlpnError, NameType, Ssl, SslContext, SslMethod, SslOptions, SslSession, SslSessionCacheMode, SslVerifyMode,
};

fn client_of(context: &SslContext, name: &str, options: &Options) -> Result<Conn, BuildError> {
    Connection::connect_with(Ssl::new(context).unwrap(), name, usual_pool().backend().unwrap(), options)
}

/// Connects as `name` to a server with `identity`; the client's failure, if it has one.
fn connect_as(mode: &Mode, name: &str, identity: &Identity) -> Option<Error> {
    let server = contexts::server(identity, &mode.terms());
    let mut pair = mode.pair_of(&mode.client(), &server, usual_pool());
    pair.client = client_of(&mode.client(), name, &mode.options).expect("a client");
    let (client, server) = pair.settle();
    assert!(error_queue_is_empty());
    match client {
        Ok(seen) => {
            assert_eq!(seen, [Seen::HandshakeComplete]);
            server.expect("the server's handshake");
            None
        }
        Err(error) => {
            assert_eq!(pair.client.state(), State::Failed);
            let told = if mode.is_tls13() { pair.server.failure().cloned() } else { server.err() };
            assert!(matches!(told, Some(Error::PeerAlert(_))), "the server is told: {told:?}");
            Some(error)
        }
    }
}

fn code(error: Option<Error>) -> Option<i32> {
    match error {
        None => None,
        Some(Error::Certificate { code, .. }) => Some(code),
        Some(other) => panic!("not a certificate error: {other:?}"),
    }
}

#[test]
fn the_certificate_has_to_be_for_the_name_that_was_asked_for() {
    const HOSTNAME_MISMATCH: i32 = 62;
    const IP_MISMATCH: i32 = 64;
    let dns = authority().server_for(&["a.example", "*.wild.example"]);
    let ip = authority().server_for(&["127.0.0.1", "::1"]);
    for_each_mode(|mode| {
        for good in ["a.example", "A.Example", "a.example.", "x.wild.example"] {
            assert_eq!(code(connect_as(mode, good, &dns)), None, "{good}");
        }
        for bad in ["b.example", "example", "sub.a.example", "x.y.wild.example", "wild.example"] {
            assert_eq!(code(connect_as(mode, bad, &dns)), Some(HOSTNAME_MISMATCH), "{bad}");
        }
        for good in ["127.0.0.1", "::1", "[::1]"] {
            assert_eq!(code(connect_as(mode, good, &ip)), None, "{good}");
        }
        assert_eq!(code(connect_as(mode, "127.0.0.2", &ip)), Some(IP_MISMATCH));
        assert_eq!(code(connect_as(mode, "127.0.0.1", &dns)), Some(IP_MISMATCH));
    });
}

#[test]
fn an_address_written_as_a_dns_name_does_not_count() {
    let identity = authority().server_for_dns("127.0.0.1");
    for_each_mode(|mode| assert_eq!(code(connect_as(mode, "127.0.0.1", &identity)), Some(64)));
}

#[test]
fn a_certificate_of_a_stranger_is_refused() {
    let stranger = arenatls_rig::identity::Authority::new("stranger").server();
    for_each_mode(|mode| {
        let error = connect_as(mode, "localhost", &stranger).expect("nobody trusts it");
        assert_eq!(error.blame(), arenatls::Blame::Peer);
        assert!(matches!(error, Error::Certificate { code: 19..=21, .. }), "{error:?}");
    });
}

#[test]
fn no_client_is_built_without_a_name_or_without_verification() {
    let context = modes()[0].client();
    let long = [&"a".repeat(63)[..]; 4].join(".") + ".b";
    for name in
        ["", ".", "a\0b", "a..b", "a b", "*.example", "a.example:443", "ünter.example", "-", &long, "1.2.3.4.5/8"]
    {
        let built = client_of(&context, name, &Options::default());
        match built {
            Err(BuildError::BadName { name: told, .. }) => assert_eq!(told, name),
            // A lone hyphen is odd, and the certificate will not match it; it need not be refused.
            Ok(_) if name == "-" => {}
            other => panic!("{name:?}: {other:?}"),
        }
        assert!(error_queue_is_empty());
    }
    let mut builder = SslContext::builder(SslMethod::tls_client()).unwrap();
    builder.set_verify(SslVerifyMode::NONE);
    let built = client_of(&builder.build(), "localhost", &Options::default());
    assert_eq!(built.map(drop), Err(BuildError::NotVerifying));
}

#[test]
fn what_cannot_be_is_not_built() {
    let context = modes()[0].client();
    let built = client_of(&context, "localhost", &Options::default().max_plaintext(0));
    assert!(matches!(built, Err(BuildError::BadOption(_))), "{built:?}");
    let mut dtls = SslContext::builder(SslMethod::dtls()).unwrap();
    dtls.set_verify(SslVerifyMode::PEER);
    let built = client_of(&dtls.build(), "localhost", &Options::default());
    assert_eq!(built.map(drop), Err(BuildError::Datagram));
    assert!(error_queue_is_empty());
}

#[test]
fn without_a_name_any_certificate_passes_only_by_the_dangerous_call() {
    let other = authority().server_for(&["elsewhere.example"]);
    for_each_mode(|mode| {
        let server = contexts::server(&other, &mode.terms());
        let mut pair = mode.pair_of(&mode.client(), &server, usual_pool());
        let ssl = Ssl::new(&mode.client()).unwrap();
        let backend = usual_pool().backend().unwrap();
        pair.client = Connection::connect_dangerous(ssl, backend, &mode.options).unwrap();
        pair.handshake();
    });
}

#[test]
fn a_host_name_is_sent_in_lower_case_and_an_address_never() {
    for_each_mode(|mode| {
        for (name, sent) in [("LocalHost.", Some("localhost")), ("127.0.0.1", None), ("::1", None)] {
            let mut pair = mode.pair();
            pair.client = client_of(&mode.client(), name, &mode.options).unwrap();
            events(&mut pair.client).unwrap();
            let hello = take_output(&mut pair.client);
            let sni = wire::hello_extensions(&hello).into_iter().find(|(kind, _)| *kind == 0);
            let expected = sent.map(|name| {
                let len = u8::try_from(name.len()).unwrap();
                [&[0, len + 3, 0, 0, len][..], name.as_bytes()].concat()
            });
            assert_eq!(sni.map(|(_, body)| body), expected, "{name}");

            arenatls_rig::pair::feed(&mut pair.server, &hello);
            assert_eq!(events(&mut pair.server).expect("the server does not mind"), []);
            assert_eq!(pair.server.ssl().servername(NameType::HOST_NAME), sent);
        }
    });
}

#[test]
fn alpn_is_agreed_on_or_refused_with_its_alert() {
    for_each_mode(|mode| {
        let mut server = mode.server_builder();
        server.set_alpn_select_callback(|_, offered| {
            openssl::ssl::select_next_proto(b"\x02h2\x08http/1.1", offered).ok_or(AlpnError::ALERT_FATAL)
        });
        let server = server.build();
        for (offer, agreed) in [(&b"\x08http/1.1\x02h2"[..], Some(&b"h2"[..])), (b"\x03foo", None)] {
            let mut client = mode.client_builder();
            client.set_alpn_protos(offer).unwrap();
            let mut pair = mode.pair_of(&client.build(), &server, usual_pool());
            let (client, server) = pair.settle();
            if agreed.is_some() {
                assert_eq!((client.unwrap().len(), server.unwrap().len()), (1, 1));
                for conn in [&pair.client, &pair.server] {
                    assert_eq!(conn.ssl().selected_alpn_protocol(), agreed);
                }
            } else {
                assert_eq!(client, Err(Error::PeerAlert(arenatls::Alert(120))));
                assert!(matches!(server, Err(Error::Incompatible(_))), "{server:?}");
            }
        }
    });
}

#[test]
fn both_ends_see_each_others_certificate() {
    for_each_mode(|mode| {
        let somebody = authority().client("somebody");
        let client = contexts::mutual_client(authority(), &somebody, &mode.terms());
        let server = contexts::mutual_server(&authority().server(), authority(), &mode.terms());
        let mut pair = mode.pair_of(&client, &server, usual_pool());
        pair.handshake();
        let seen = pair.server.ssl().peer_certificate().expect("the client's certificate");
        assert_eq!(seen.to_der().unwrap(), somebody.leaf_der());
        assert!(pair.client.ssl().peer_certificate().is_some());
    });
}

#[test]
fn a_client_certificate_that_is_missing_is_refused_however_late() {
    for_each_mode(|mode| {
        let server = contexts::mutual_server(&authority().server(), authority(), &mode.terms());
        let mut pair = mode.pair_of(&mode.client(), &server, usual_pool());
        if !mode.is_tls13() {
            let (client, server) = pair.settle();
            assert_eq!(client, Err(Error::PeerAlert(arenatls::Alert(40))));
            assert!(matches!(server, Err(Error::Incompatible(_))), "{server:?}");
            return;
        }
        // The client is done, and may have written, before it can know.
        events(&mut pair.client).unwrap();
        pair.to_server();
        assert_eq!(pair.to_client(), []);
        arenatls_rig::pair::carry(&mut pair.client, &mut pair.server);
        assert_eq!(events(&mut pair.client).unwrap(), [Seen::HandshakeComplete]);
        assert_eq!(pair.client.write(b"GET").unwrap().done(), Some(3));
        let error = events(&mut pair.server).expect_err("it asks for one");
        assert!(matches!(error, Error::Incompatible(_)), "{error:?}");
        arenatls_rig::pair::carry(&mut pair.server, &mut pair.client);
        let refused = Err(Error::PeerAlert(arenatls::Alert::CERTIFICATE_REQUIRED));
        assert_eq!(events(&mut pair.client), refused);
        assert_eq!(pair.client.write(b"more").map(drop), refused.clone().map(drop), "the cause sticks");
        assert_eq!(events(&mut pair.client), refused);
    });
}

/// Resumes `session` and runs the handshake.
fn resume(mode: &Mode, client: &SslContext, server: &SslContext, session: &SslSession) -> Pair {
    let mut pair = mode.pair_of(client, server, usual_pool());
    let mut ssl = Ssl::new(client).unwrap();
    // SAFETY: the session was made by a connection of this very context.
    unsafe { ssl.set_session(session) }.unwrap();
    let backend = usual_pool().backend().unwrap();
    pair.client = Connection::connect_with(ssl, "localhost", backend, &mode.options).unwrap();
    pair.handshake();
    pair
}

/// Contexts without tickets in TLS 1.2, so that the server's cache decides.
fn caching_contexts(mode: &Mode) -> (SslContext, SslContext) {
    let mut server = mode.server_builder();
    server.set_session_id_context(b"suite").unwrap();
    server.set_session_cache_mode(SslSessionCacheMode::SERVER);
    if !mode.is_tls13() {
        server.set_options(SslOptions::NO_TICKET);
    }
    (mode.client(), server.build())
}

fn session_of(conn: &Conn) -> SslSession {
    conn.ssl().session().expect("a session").to_owned()
}

#[test]
fn a_session_is_resumed_after_a_clean_end() {
    for_each_mode(|mode| {
        let (client, server) = caching_contexts(mode);
        let mut pair = mode.pair_of(&client, &server, usual_pool());
        pair.handshake();
        assert!(!pair.client.ssl().session_reused());
        assert!(pair.client.close().unwrap().done().is_some());
        assert_eq!(pair.to_server(), [Seen::PeerClosed]);
        assert!(pair.server.close().unwrap().done().is_some());
        assert_eq!(pair.to_client(), [Seen::PeerClosed]);
        let session = session_of(&pair.client);
        drop(pair);
        assert!(is_resumable(&session));
        let pair = resume(mode, &client, &server, &session);
        assert!(pair.client.ssl().session_reused() && pair.server.ssl().session_reused());
    });
}

#[test]
fn a_session_is_resumed_after_a_clean_end_of_one_side_only() {
    // The peer said close_notify; that we did not answer is no reason to throw the session away.
    for_each_mode(|mode| {
        let (client, server) = caching_contexts(mode);
        let mut pair = mode.pair_of(&client, &server, usual_pool());
        pair.handshake();
        assert!(pair.client.close().unwrap().done().is_some());
        assert_eq!(pair.to_server(), [Seen::PeerClosed]);
        let session = session_of(&pair.client);
        drop(pair);
        assert!(is_resumable(&session));
        assert!(resume(mode, &client, &server, &session).server.ssl().session_reused());
    });
}

#[test]
fn a_session_is_not_resumed_after_a_truncation() {
    for_each_mode(|mode| {
        let (client, server) = caching_contexts(mode);
        let mut pair = mode.pair_of(&client, &server, usual_pool());
        pair.handshake();
        let session = session_of(&pair.client);
        for conn in [&mut pair.client, &mut pair.server] {
            conn.backend_mut().end_of_input();
            assert_eq!(events(conn), Err(Error::Truncated));
        }
        drop(pair);
        assert!(!is_resumable(&session));
    });
}

#[test]
fn early_data_is_off_unless_somebody_turns_it_on_behind_our_back() {
    for_each_tls13_mode(|mode| {
        let mut server = mode.server_builder();
        server.set_max_early_data(16_384).unwrap();
        for server in [mode.server(), server.build()] {
            let mut pair = mode.pair_of(&mode.client(), &server, usual_pool());
            pair.handshake();
            pair.settled();
            let session = session_of(&pair.client);
            assert!(is_resumable(&session), "a ticket has come");
            assert_eq!(session.max_early_data(), 0);
        }
    });
}

#[test]
fn the_default_terms_resume_with_the_tickets_that_come_after_the_handshake() {
    for options in [Options::default(), Options::default().library_protection()] {
        let terms = Terms::default();
        let client = contexts::client(authority(), &terms);
        let server = contexts::server(&authority().server(), &terms);
        let mode = Mode { options, ..modes()[1] };
        let mut pair = mode.pair_of(&client, &server, usual_pool());
        pair.handshake();
        pair.settled();
        assert!(pair.client.received().control_records >= 2, "two tickets: {:?}", pair.client.received());
        let session = session_of(&pair.client);
        assert!(resume(&mode, &client, &server, &session).client.ssl().session_reused());
    }
}
