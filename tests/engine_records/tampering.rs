//! Genuine records and flights, tampered with at random: nothing is delivered but what the peer wrote, in its order, and
//! the rest ends in the right alert and a typed failure for good.

use arenatls::{Alert, BadRecord, Blame, Error, Options, Progress, Protection};
use arenatls_rig::pair::{Conn, Pair, Seen, carry, plaintext, take_output};
use proptest::prelude::*;

use crate::support::{CASES, Case, Live, VICTIMS, Victim, assert_sticky, protections, pump};

const MAC: Error = Error::Record(BadRecord::Mac);

fn cases(n: u32) -> ProptestConfig {
    // The same cases every time (fewer where PROPTEST_CASES says so), and no file of failures.
    let usual = ProptestConfig::default();
    ProptestConfig {
        cases: n.min(usual.cases),
        rng_seed: proptest::test_runner::RngSeed::Fixed(0x0040_5713),
        failure_persistence: None,
        ..usual
    }
}

fn any_options() -> impl Strategy<Value = Options> {
    prop::sample::select(protections(&Options::default()))
}

/// A stream of genuine records, to be tampered with.
#[derive(Clone, Debug)]
struct Stream {
    case: Case,
    victim: Victim,
    options: Options,
    texts: Vec<Vec<u8>>,
    /// How much arrives at once.
    chunk: usize,
}

fn streams() -> impl Strategy<Value = Stream> {
    let len = prop_oneof![1..40usize, 1000..3000usize];
    let text = len.prop_flat_map(|n| prop::collection::vec(any::<u8>(), n));
    let chunk = prop_oneof![Just(usize::MAX), 1..2000usize];
    let of = (prop::sample::select(CASES.to_vec()), prop::sample::select(VICTIMS.to_vec()), any_options());
    (of, prop::collection::vec(text, 1..5), chunk).prop_map(|((case, victim, options), texts, chunk)| Stream {
        case,
        victim,
        options,
        texts,
        chunk,
    })
}

impl Stream {
    /// The peer's own records, each apart.
    fn records(&self) -> (Live, Vec<Vec<u8>>) {
        let mut live = Live::new(self.case, self.victim, &self.options);
        let write = |text: &Vec<u8>| {
            assert_eq!(live.peer().write(text), Ok(Progress::Done(text.len())));
            take_output(live.peer())
        };
        let records = self.texts.iter().map(write).collect();
        (live, records)
    }

    /// Feeds `wire` and then the end. What was delivered are the first texts, whole; the victim has failed for good; the
    /// alert that calls for is heard. Returns how many texts came, and the failure.
    fn run(&self, live: &mut Live, wire: &[u8]) -> (usize, Error) {
        let library = live.victim().protection().1 == Protection::Library;
        let (mut seen, mut failure) = pump(live.victim(), wire, self.chunk);
        if failure.is_none() {
            live.victim().backend_mut().end_of_input();
            let end = pump(live.victim(), &[], self.chunk);
            seen.extend(end.0);
            failure = end.1;
        }
        let failure = failure.expect("tampering is not overlooked");
        assert_eq!(failure.blame(), Blame::Peer);
        seen.retain(|s| *s != Seen::Truncated);
        let delivered: Vec<Vec<u8>> = seen.iter().map(|s| plaintext(std::slice::from_ref(s))).collect();
        assert!(self.texts.starts_with(&delivered), "{seen:?}");
        let heard = live.failed(&failure);
        let right = match &failure {
            // OpenSSL says decode_error of it where it has to do with it.
            Error::Truncated => matches!(heard, None | Some(Alert(50))),
            Error::Record(BadRecord::Mac | BadRecord::TooShort { .. }) => heard == Some(Alert::BAD_RECORD_MAC),
            Error::Record(BadRecord::Overflow { .. }) => heard == Some(Alert::RECORD_OVERFLOW),
            Error::Record(BadRecord::Version(_)) => heard == Some(Alert::PROTOCOL_VERSION),
            Error::Record(BadRecord::ContentType(_)) => heard == Some(Alert::UNEXPECTED_MESSAGE),
            // OpenSSL's own words.
            Error::Protocol(_) => library && heard.is_some(),
            _ => false,
        };
        assert!(right, "{heard:?} after {failure:?}");
        (delivered.len(), failure)
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn a_changed_byte_of_data_is_noticed(stream in streams(), which in any::<prop::sample::Index>(),
                                         at in any::<prop::sample::Index>(), flip in 1..=255u8) {
        let (mut live, mut records) = stream.records();
        let which = which.index(records.len());
        let at = at.index(records[which].len());
        records[which][at] ^= flip;
        let (delivered, failure) = stream.run(&mut live, &records.concat());
        prop_assert_eq!(delivered, which);
        if at >= 5 {
            prop_assert_eq!(failure, MAC);
        }
    }

    #[test]
    fn records_left_out_doubled_or_swapped_are_noticed(stream in streams(), which in any::<prop::sample::Index>(),
                                                       deed in 0..3usize) {
        let (mut live, mut records) = stream.records();
        let which = which.index(records.len());
        let honest = records.concat();
        let before = match deed {
            0 => { records.remove(which); which }
            1 => { records.insert(which, records[which].clone()); which + 1 }
            _ => {
                let other = (which + 1) % records.len();
                records.swap(which, other);
                which.min(other)
            }
        };
        let (delivered, failure) = stream.run(&mut live, &records.concat());
        if honest.starts_with(&records.concat()) {
            // If anything is missing it is the last: that there is no end is all there is to notice.
            prop_assert_eq!((delivered, failure), (records.len(), Error::Truncated));
        } else {
            prop_assert_eq!((delivered, failure), (before, MAC));
        }
    }

    #[test]
    fn a_stream_cut_anywhere_is_a_truncation(stream in streams(), at in any::<prop::sample::Index>()) {
        let (mut live, records) = stream.records();
        let wire = records.concat();
        let at = at.index(wire.len());
        let whole = records.iter().scan(0, |end, r| { *end += r.len(); Some(*end) }).filter(|end| *end <= at).count();
        prop_assert_eq!(stream.run(&mut live, &wire[..at]), (whole, Error::Truncated));
    }

    #[test]
    fn bytes_of_anybody_are_never_delivered(stream in streams(), wire in prop::collection::vec(any::<u8>(), 0..200),
                                            frame in any::<bool>(), outer in 20..24u8) {
        let (mut live, _) = stream.records();
        let wire = if frame {
            [&[outer, 3, 3, 0, u8::try_from(wire.len()).unwrap()], &wire[..]].concat()
        } else {
            wire
        };
        prop_assert_eq!(stream.run(&mut live, &wire).0, 0);
    }
}

/// Both ends of a handshake that somebody meddles with.
struct Meddled {
    pair: Pair,
    done: [bool; 2],
    failures: [Option<Error>; 2],
}

impl Meddled {
    fn new(case: Case, options: &Options) -> Meddled {
        let (client, server) = case.contexts();
        Meddled { pair: Pair::new(client, server, options), done: [false; 2], failures: [None, None] }
    }

    fn end(&mut self, who: usize) -> &mut Conn {
        if who == 0 { &mut self.pair.client } else { &mut self.pair.server }
    }

    fn step(&mut self, who: usize, bytes: &[u8]) {
        let (seen, failure) = pump(self.end(who), bytes, usize::MAX);
        assert!(plaintext(&seen).is_empty());
        self.done[who] |= seen.contains(&Seen::HandshakeComplete);
        if self.failures[who].is_none() {
            self.failures[who] = failure;
        }
    }

    /// Runs it; `tamper` has flight number `flight`, the client's first being 0.
    fn run(&mut self, flight: usize, tamper: impl FnOnce(&mut Vec<u8>)) {
        let mut tamper = Some(tamper);
        for turn in 0..8 {
            let (from, to) = (turn % 2, 1 - turn % 2);
            self.step(from, &[]);
            let mut wire = take_output(self.end(from));
            if turn == flight
                && let Some(tamper) = tamper.take()
            {
                tamper(&mut wire);
            }
            self.step(to, &wire);
        }
        for who in [0, 1] {
            self.judge(who);
        }
        if self.failures == [None, None] {
            // What was changed is what no one needs to look at (RFC 8446 §5.1), and all is as it should be.
            let _ = self.pair.client.write(b"well").unwrap();
            carry(&mut self.pair.client, &mut self.pair.server);
            assert_eq!(pump(&mut self.pair.server, &[], 1).0, [Seen::Plaintext(b"well".to_vec())]);
        }
    }

    /// An end is done, or it failed for a reason of its peer's, or it will when there is no more to wait for.
    fn judge(&mut self, who: usize) {
        if self.failures[who].is_none() && !self.done[who] {
            self.end(who).backend_mut().end_of_input();
            self.step(who, &[]);
            assert!(self.failures[who].is_some(), "it cannot wait for ever: {:?}", self.end(who));
        }
        if let Some(failure) = self.failures[who].clone() {
            assert!(matches!(failure.blame(), Blame::Peer | Blame::Resource), "{failure:?}");
            assert_sticky(self.end(who), &failure);
        }
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_changed_byte_of_a_flight_is_noticed_or_does_not_matter(
        case in prop::sample::select(CASES.to_vec()), options in any_options(),
        flight in 0..4usize, at in any::<prop::sample::Index>(), flip in 1..=255u8,
    ) {
        Meddled::new(case, &options).run(flight, |wire| {
            if !wire.is_empty() {
                let at = at.index(wire.len());
                wire[at] ^= flip;
            }
        });
    }

    #[test]
    fn a_flight_cut_short_or_followed_by_anything_ends_well(
        case in prop::sample::select(CASES.to_vec()), options in any_options(),
        flight in 0..4usize, at in any::<prop::sample::Index>(), tail in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        Meddled::new(case, &options).run(flight, |wire| {
            let at = at.index(wire.len() + 1);
            wire.truncate(at);
            wire.extend(tail);
        });
    }
}

#[test]
fn what_is_no_client_hello_is_refused() {
    for case in CASES {
        for hello in
            [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\x80\x2e\x01\x00\x02", &[22, 2, 0, 0, 1, 1], &[0; 64], &[255; 64]]
        {
            let mut meddled = Meddled::new(case, &Options::default());
            meddled.step(1, hello);
            meddled.judge(1);
            assert_eq!(meddled.failures[1].as_ref().map(Error::blame), Some(Blame::Peer));
        }
    }
}
