//! Our connection against another implementation, in memory: what they say to each other must not depend on how it is
//! cut into pieces, who updates keys when, or who protects our records.

use arenatls::{Options, Progress, Protection, State};
use arenatls_rig::mode::{Direction, engine_expected};
use arenatls_rig::pair::{Conn, Seen, events, feed, take_output};
use openssl::ssl::SslVersion;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// The other implementation's end of a connection. It panics where ours would report an error.
pub(crate) trait Peer {
    /// Goes on with the handshake; true once it is done.
    fn handshake(&mut self) -> bool;
    /// Writes all of `data`.
    fn write(&mut self, data: &[u8]);
    /// Reads what there is; true with it once our close_notify is there.
    fn read(&mut self) -> (Vec<u8>, bool);
    /// Updates its sending keys, and asks for ours to be updated if it can and `ask` says so.
    fn update_keys(&mut self, ask: bool);
    /// Sends close_notify.
    fn close(&mut self);
    /// Ciphertext for it.
    fn feed(&mut self, bytes: &[u8]);
    /// Ciphertext from it.
    fn take(&mut self) -> Vec<u8>;
}

/// One step of a conversation; numbers are bytes.
#[derive(Clone, Copy, Debug)]
enum Step {
    OursWrites(usize),
    TheirsWrites(usize),
    /// And asks the other end to do so, if true.
    OursUpdates(bool),
    TheirsUpdates(bool),
    ToOurs(usize),
    ToTheirs(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let data = || prop_oneof![Just(0), 1_usize..=64, Just(16_383), Just(16_384), Just(16_385), 0_usize..=40_000];
    let piece = || prop_oneof![1_usize..=40, 1_usize..=50_000];
    let step = prop_oneof![
        3 => data().prop_map(Step::OursWrites),
        3 => data().prop_map(Step::TheirsWrites),
        1 => any::<bool>().prop_map(Step::OursUpdates),
        1 => any::<bool>().prop_map(Step::TheirsUpdates),
        3 => piece().prop_map(Step::ToOurs),
        3 => piece().prop_map(Step::ToTheirs),
    ];
    proptest::collection::vec(step, 1..40)
}

/// Both ends, what is on its way between them, and what has to arrive.
pub(crate) struct Conversation<P> {
    pub(crate) ours: Conn,
    pub(crate) theirs: P,
    to_ours: Vec<u8>,
    to_theirs: Vec<u8>,
    written: usize,
    /// Accepted from us and not yet read by them; and the other way.
    due_theirs: Vec<u8>,
    due_ours: Vec<u8>,
    /// What each end saw of the other's close_notify.
    closed: (bool, bool),
}

impl<P: Peer> Conversation<P> {
    /// Runs the handshake to its end on both sides.
    pub(crate) fn start(ours: Conn, theirs: P) -> Conversation<P> {
        let (to_ours, to_theirs, due_theirs, due_ours) = Default::default();
        let mut both =
            Conversation { ours, theirs, to_ours, to_theirs, written: 0, due_theirs, due_ours, closed: (false, false) };
        for _ in 0..10 {
            let done = both.theirs.handshake();
            both.settle();
            if done && both.ours.state() == State::Traffic {
                both.settle();
                return both;
            }
        }
        panic!("the handshake does not end: {:?}", both.ours);
    }

    /// The next `n` bytes to write; no two alike in a row, so that nothing can be lost or doubled unseen.
    fn fresh(&mut self, n: usize) -> Vec<u8> {
        let from = self.written;
        self.written += n;
        (from..from + n).map(|i| u8::try_from(i % 251).expect("below 251")).collect()
    }

    fn step(&mut self, step: Step, is_tls13: bool) {
        match step {
            Step::OursWrites(n) => {
                let data = self.fresh(n);
                if let Progress::Done(n) = self.ours.write(&data).expect("a write") {
                    self.due_theirs.extend_from_slice(&data[..n]);
                }
            }
            Step::TheirsWrites(n) => {
                let data = self.fresh(n);
                self.theirs.write(&data);
                self.due_ours.extend_from_slice(&data);
            }
            Step::OursUpdates(ask) if is_tls13 => {
                // "Not now" is an answer too.
                let _: Progress<()> = self.ours.key_update(ask).expect("a KeyUpdate");
            }
            Step::TheirsUpdates(ask) if is_tls13 => self.theirs.update_keys(ask),
            Step::OursUpdates(_) | Step::TheirsUpdates(_) => {}
            Step::ToOurs(n) => drop(self.to_ours(n)),
            Step::ToTheirs(n) => drop(self.to_theirs(n)),
        }
    }

    /// Moves at most `n` bytes, and checks what comes of it; bytes moved.
    fn to_ours(&mut self, n: usize) -> usize {
        self.to_ours.extend(self.theirs.take());
        let n = n.min(self.to_ours.len());
        let fed = feed(&mut self.ours, &self.to_ours[..n]);
        self.to_ours.drain(..fed);
        for seen in events(&mut self.ours).expect("what the peer says is well said") {
            match seen {
                Seen::Plaintext(bytes) => take_due(&mut self.due_ours, &bytes),
                Seen::PeerClosed => self.closed.0 = true,
                Seen::HandshakeComplete => {}
                Seen::Truncated => panic!("nothing was cut"),
            }
        }
        fed
    }

    /// As [`to_ours`](Self::to_ours), the other way.
    fn to_theirs(&mut self, n: usize) -> usize {
        self.to_theirs.extend(take_output(&mut self.ours));
        let n = n.min(self.to_theirs.len());
        self.theirs.feed(&self.to_theirs[..n]);
        self.to_theirs.drain(..n);
        // Output has left, so there may be something to do.
        assert!(events(&mut self.ours).expect("nothing new").iter().all(|seen| *seen == Seen::HandshakeComplete));
        let (bytes, closed) =
            if self.ours.state() == State::Handshake { Default::default() } else { self.theirs.read() };
        take_due(&mut self.due_theirs, &bytes);
        self.closed.1 |= closed;
        n
    }

    /// Moves all there is, until nothing moves.
    fn settle(&mut self) {
        while self.to_theirs(usize::MAX) + self.to_ours(usize::MAX) > 0 {}
    }

    /// [`settle`](Self::settle), and nothing may be missing then.
    fn settle_up(&mut self) {
        self.settle();
        assert_eq!((self.due_theirs.len(), self.due_ours.len()), (0, 0), "nothing is on its way, but something is due");
    }

    /// Ends it: first one end, with the other still talking, then the other.
    pub(crate) fn end(&mut self, we_go_first: bool) {
        if we_go_first {
            assert_eq!(self.ours.close(), Ok(Progress::Done(())));
            self.settle_up();
            assert_eq!((self.closed, self.ours.state()), ((false, true), State::SendClosed));
            self.step(Step::TheirsWrites(20_000), false);
            self.settle_up();
            self.theirs.close();
        } else {
            self.theirs.close();
            self.settle_up();
            assert_eq!((self.closed, self.ours.state()), ((true, false), State::ReceiveClosed));
            self.step(Step::OursWrites(20_000), false);
            self.settle_up();
            assert_eq!(self.ours.close(), Ok(Progress::Done(())));
        }
        self.settle_up();
        assert_eq!((self.closed, self.ours.state()), ((true, true), State::Closed));
    }
}

fn take_due(due: &mut Vec<u8>, bytes: &[u8]) {
    assert!(due.starts_with(bytes), "{} bytes arrived that were not sent", bytes.len());
    due.drain(..bytes.len());
}

/// A version and a suite by OpenSSL's name of it.
pub(crate) const SUITES: [(SslVersion, &str); 6] = [
    (SslVersion::TLS1_3, "TLS_AES_128_GCM_SHA256"),
    (SslVersion::TLS1_3, "TLS_AES_256_GCM_SHA384"),
    (SslVersion::TLS1_3, "TLS_CHACHA20_POLY1305_SHA256"),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-AES128-GCM-SHA256"),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-AES256-GCM-SHA384"),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-CHACHA20-POLY1305"),
];

/// Talks in random ways over connections that `start` makes, under each protection and with each suite.
pub(crate) fn converse<P: Peer>(start: impl Fn(SslVersion, &'static str, Options) -> Conversation<P>) {
    for (version, suite) in SUITES {
        for asked in [Protection::Engine, Protection::Library] {
            let options = match asked {
                Protection::Engine => Options::default(),
                _ => Options::default().library_protection(),
            };
            let config = Config { cases: 24, failure_persistence: None, ..Config::default() };
            let talk = |steps: Vec<Step>, we_go_first| {
                let mut both = start(version, suite, options);
                assert_eq!(both.ours.protection(), expected(asked, version), "{suite}");
                steps.into_iter().for_each(|step| both.step(step, version == SslVersion::TLS1_3));
                both.settle_up();
                both.end(we_go_first);
                Ok(())
            };
            let outcome = TestRunner::new(config).run(&(steps(), any::<bool>()), |(steps, first)| talk(steps, first));
            outcome.unwrap_or_else(|failure| panic!("{suite}, {asked}: {failure}"));
        }
    }
}

/// What must be seen after the handshake: sending, receiving.
fn expected(asked: Protection, version: SslVersion) -> (Protection, Protection) {
    let one = |direction| match asked {
        Protection::Engine if engine_expected(version, direction) => Protection::Engine,
        _ => Protection::Library,
    };
    (one(Direction::Send), one(Direction::Receive))
}
