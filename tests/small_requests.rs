//! Small requests, one at a time, over loopback TCP: one submission for a write however many records it is, the same bytes
//! on the wire for the same request, and so nothing for Nagle's algorithm and delayed acknowledgements to meet over.
//!
//! A library that gave each record to the kernel by itself once took a service from 7,400 requests a second to 124, when
//! the records of TLS 1.0 CBC were split: the second waited for the acknowledgement of the first, which was delayed.

#![cfg(target_os = "linux")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use arenatls::Options;
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::identity::Authority;
use arenatls_rig::talk::{Conversation, Make, Role, Talker, has_a_ring, over_a_ring, over_plain_sockets};
use openssl::ssl::{SslContext, SslOptions, SslVersion};

const LENGTH: usize = 100;
const REQUESTS: usize = 300;
/// Linux delays an acknowledgement by 40 ms or more.
const STALL: Duration = Duration::from_millis(30);
/// A machine that is busy elsewhere may stop us for so long, too, but hardly in each of these.
const ATTEMPTS: usize = 4;

/// A version, the suite spoken in it, and whether OpenSSL puts an empty record before each of CBC.
type Speech = (SslVersion, &'static str, bool);

const CBC: &str = "ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0";
const SPLIT: Speech = (SslVersion::TLS1, CBC, true);
const SPEECHES: [Speech; 5] = [
    SPLIT,
    (SslVersion::TLS1, CBC, false),
    (SslVersion::TLS1_1, CBC, false),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-AES128-GCM-SHA256", false),
    (SslVersion::TLS1_3, "TLS_AES_128_GCM_SHA256", false),
];

fn contexts((version, suite, split): Speech) -> (SslContext, SslContext) {
    let authority = Authority::new("small requests");
    let terms = Terms::default().version(version).suite(suite).tickets(0);
    let builders =
        [contexts::client_builder(&authority, &terms), contexts::server_builder(&authority.server(), &terms)];
    let [client, server] = builders.map(|mut builder| {
        if !split {
            builder.set_options(SslOptions::DONT_INSERT_EMPTY_FRAGMENTS);
        }
        builder.build()
    });
    (client, server)
}

type Over = fn(TcpStream, Role, &SslContext, &Options) -> Box<dyn Talker>;

fn ends(over: Over, speech: Speech, options: Options) -> Make {
    let (client, server) = contexts(speech);
    Arc::new(move |socket, role| {
        let context = if role == Role::Client { &client } else { &server };
        over(socket, role, context, &options)
    })
}

/// Runs `test` for each backend, each way to protect records, and each speech.
fn for_each(mut test: impl FnMut(&Make, Speech)) {
    let mut backends: Vec<(&str, Over)> = vec![("arena", over_plain_sockets)];
    if has_a_ring() {
        backends.push(("ring", over_a_ring));
    }
    for (name, over) in backends {
        for speech in SPEECHES {
            for options in [Options::default(), Options::default().library_protection()] {
                eprintln!("{name}, {speech:?}, {options:?}");
                test(&ends(over, speech, options), speech);
            }
        }
    }
}

/// Stalls among so many requests, the first left out: in TLS 1.3 it follows the client's last flight, which nobody answers
/// at once, so that with Nagle's algorithm it waits for that acknowledgement whoever sends it.
fn stalls(conversation: &mut Conversation, requests: usize) -> usize {
    conversation.ask();
    (0..requests).filter(|_| conversation.ask() >= STALL).count()
}

#[test]
fn no_request_waits_for_a_delayed_acknowledgement() {
    for_each(|make, _| {
        for nagle in [true, false] {
            let seen = (0..ATTEMPTS).map(|_| stalls(&mut Conversation::start(make, nagle, LENGTH, LENGTH), REQUESTS));
            let seen: Vec<_> = seen.scan(true, |go_on, n| std::mem::replace(go_on, n > 0).then_some(n)).collect();
            assert_eq!(
                seen.last(),
                Some(&0),
                "stalls of {REQUESTS} requests, Nagle {nagle}, in each attempt: {seen:?}"
            );
        }
    });
}

#[test]
fn a_write_is_one_submission() {
    for_each(|make, _| {
        // Several full records of any version, too.
        for length in [1, LENGTH, 16_384, 40_000] {
            let mut conversation = Conversation::start(make, false, length, length);
            for asked in 1..=20 {
                conversation.ask();
                assert_eq!(conversation.submissions(), asked, "{length} bytes");
            }
            let served = conversation.end();
            assert_eq!((served.answers, served.submissions), (19, 19), "{length} bytes");
        }
    });
}

#[test]
fn the_same_request_is_the_same_length_on_the_wire_every_time() {
    for_each(|make, speech| {
        let mut conversation = Conversation::start(make, true, LENGTH, LENGTH);
        let mut before = conversation.traffic();
        let lengths = (0..REQUESTS).map(|_| {
            conversation.ask();
            let now = conversation.traffic();
            assert_eq!(now.since(before).segments, 1, "all records of a request in one segment");
            std::mem::replace(&mut before, now)
        });
        let totals: Vec<_> = lengths.skip(1).map(|traffic| traffic.bytes).collect();
        let first = totals[0];
        assert!(first > LENGTH as u64, "{first}");
        let expected: Vec<_> = (1..REQUESTS as u64).map(|n| n * first).collect();
        assert_eq!(totals, expected);
        if speech == SPLIT {
            // Header, padded plaintext and MAC, of the empty record and of the other.
            assert_eq!(first, (5 + 16 + 20) + (5 + 112 + 20));
        }
    });
}

/// What the library of the story did, without its TLS.
struct TwoWrites(TcpStream);

impl Talker for TwoWrites {
    fn send(&mut self, plaintext: &[u8]) {
        for part in [&plaintext[..1], &plaintext[1..]] {
            assert_eq!(self.0.write(part).unwrap(), part.len());
        }
    }

    fn receive(&mut self, into: &mut [u8]) -> bool {
        self.0.read_exact(into).is_ok()
    }

    fn submissions(&self) -> u64 {
        0
    }
}

/// That these tests can see what they are there for.
#[test]
fn two_submissions_for_a_request_would_be_seen_to_stall() {
    let make: Make = Arc::new(|socket, _| Box::new(TwoWrites(socket)));
    let mut apart = Conversation::start(&make, true, LENGTH, LENGTH);
    let stalled = stalls(&mut apart, 40);
    assert!(stalled >= 5, "{stalled} of 40");
    assert!(apart.traffic().segments > 60, "{:?}", apart.traffic());
}
