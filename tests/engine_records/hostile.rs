//! Hostile records, made with the peer's own keys: each ends in the right alert, heard by the peer, and in a typed failure
//! for good; nothing of them is delivered.

use arenatls::{Alert, BadRecord, Blame, Error, InPlace, Options, Progress, State};
use arenatls_rig::pair::{Seen, plaintext, take_output};

use crate::forge::{ALERT, CCS, CLOSE_NOTIFY, DATA, Forger, HANDSHAKE, KEY_UPDATE, Suite, ticket};
use crate::support::{Live, Victim, assert_sticky, each, pump, record_lens};

const ILLEGAL_PARAMETER: Alert = Alert(47);
const DECODE_ERROR: Alert = Alert(50);
const INTERNAL_ERROR: Alert = Alert(80);
const USER_CANCELED: [u8; 2] = [1, 90];
const MAC: Error = Error::Record(BadRecord::Mac);

/// As [`each`], of TLS 1.3 alone.
fn each_13(mut f: impl FnMut(&mut Live, bool)) {
    each(&Options::default(), |live, case, engine| {
        if case.is_13() {
            f(live, engine);
        }
    });
}

/// What `bad` makes comes behind good data: nothing but that data is delivered, the failure is the peer's, and its
/// cause is `error` where that is known; the peer hears one of `alerts`.
#[track_caller]
fn refused(live: &mut Live, bad: impl FnOnce(&mut Forger) -> Vec<u8>, error: Option<&Error>, alerts: &[Alert]) {
    let good = live.forger.data(b"good");
    let bytes = [good, bad(&mut live.forger)].concat();
    let (seen, failure) = live.attack(&bytes);
    assert_eq!(seen, [Seen::Plaintext(b"good".to_vec())]);
    let failure = failure.expect("a failure");
    assert_eq!(failure.blame(), Blame::Peer, "{failure:?}");
    if let Some(error) = error {
        assert_eq!(&failure, error);
    }
    let heard = live.failed(&failure);
    assert!(heard.is_some_and(|heard| alerts.contains(&heard)), "the peer hears {heard:?} of {failure:?}");
}

fn engine_says(engine: bool, bad: BadRecord) -> Option<Error> {
    engine.then_some(Error::Record(bad))
}

/// An unprotected record.
fn plain(content_type: u8, text: &[u8]) -> Vec<u8> {
    [&[content_type, 3, 3, 0, u8::try_from(text.len()).expect("short")], text].concat()
}

fn flipped(mut record: Vec<u8>, from_end: usize) -> Vec<u8> {
    let at = record.len() - 1 - from_end;
    record[at] ^= 0x10;
    record
}

#[test]
fn the_forger_speaks_for_an_honest_peer() {
    each(&Options::default(), |live, _, _| {
        for text in [&b"first"[..], b"second", &[7; 16_384]] {
            let record = live.forger.data(text);
            assert_eq!(live.attack(&record), (vec![Seen::Plaintext(text.to_vec())], None));
            let _ = live.victim().write(text).unwrap();
            let out = take_output(live.victim());
            assert_eq!(live.ear.open(&out), (DATA, text.to_vec()));
        }
        let close = live.forger.record(ALERT, &CLOSE_NOTIFY);
        assert_eq!(live.attack(&close), (vec![Seen::PeerClosed], None));
        let _ = live.victim().close().unwrap();
        let out = take_output(live.victim());
        assert_eq!(live.ear.open(&out), (ALERT, CLOSE_NOTIFY.to_vec()));
    });
}

#[test]
fn a_tag_that_does_not_fit_is_a_bad_mac() {
    for from_end in [0, 15, 16] {
        each(&Options::default(), |live, _, _| {
            refused(live, |f| flipped(f.data(b"evil"), from_end), Some(&MAC), &[Alert::BAD_RECORD_MAC]);
        });
    }
}

#[test]
fn a_replayed_record_is_a_bad_mac() {
    each(&Options::default(), |live, _, _| {
        let replay = |f: &mut Forger| {
            f.sequence -= 1;
            f.data(b"good")
        };
        refused(live, replay, Some(&MAC), &[Alert::BAD_RECORD_MAC]);
    });
}

#[test]
fn a_record_out_of_order_is_a_bad_mac() {
    each(&Options::default(), |live, _, _| {
        let swap = |f: &mut Forger| {
            let first = f.data(b"first");
            [f.data(b"second"), first].concat()
        };
        refused(live, swap, Some(&MAC), &[Alert::BAD_RECORD_MAC]);
    });
}

#[test]
fn a_body_without_room_for_a_tag_is_refused() {
    for length in [0u8, 1, 15, 16] {
        each(&Options::default(), |live, case, engine| {
            // RFC 7905: with ChaCha20 in TLS 1.2 a tag alone is a record.
            if length == 16 && case.suite == Suite::ChaCha20Poly1305 && !case.is_13() {
                return;
            }
            let short = plain(DATA, &vec![9; length.into()]);
            let error = engine_says(engine, BadRecord::TooShort { length: length.into() });
            // OpenSSL calls some of them its own fault.
            let alerts = if engine { &[Alert::BAD_RECORD_MAC][..] } else { &[Alert::BAD_RECORD_MAC, INTERNAL_ERROR] };
            refused(live, |_| short, error.as_ref(), alerts);
        });
    }
}

#[test]
fn a_length_above_the_limit_is_an_overflow_as_soon_as_it_is_seen() {
    each(&Options::default(), |live, case, engine| {
        let limit = if case.is_13() { 16_384 + 256 } else { 16_384 + 2048 };
        // OpenSSL is asked once there is a whole record, or none at all.
        let length: u16 = if engine { limit + 1 } else { u16::MAX };
        let [high, low] = length.to_be_bytes();
        let error = engine_says(engine, BadRecord::Overflow { length: length.into(), limit: limit.into() });
        refused(live, |_| vec![DATA, 3, 3, high, low], error.as_ref(), &[Alert::RECORD_OVERFLOW]);
    });
}

#[test]
fn plaintext_above_the_limit_is_an_overflow() {
    each(&Options::default(), |live, _, _| {
        refused(live, |f| f.data(&[1; 16_385]), None, &[Alert::RECORD_OVERFLOW]);
    });
}

#[test]
fn no_outer_type_but_application_data_is_taken_for_authentic() {
    // Above all not a close_notify that anybody on the way can write.
    for (outer, text) in [(ALERT, &CLOSE_NOTIFY[..]), (ALERT, &[2, 40]), (HANDSHAKE, &KEY_UPDATE), (CCS, &[1])] {
        each_13(|live, engine| {
            // OpenSSL's client ignores 32 bare change_cipher_specs for as long as its first handshake keys last.
            if engine || outer != CCS {
                let error = engine_says(engine, BadRecord::ContentType(outer));
                refused(live, |_| plain(outer, text), error.as_ref(), &[Alert::UNEXPECTED_MESSAGE]);
            }
        });
        each_13(|live, engine| {
            let error = engine_says(engine, BadRecord::ContentType(outer));
            let inner = [text, &[outer]].concat();
            refused(live, |f| f.inner(outer, &inner), error.as_ref(), &[Alert::UNEXPECTED_MESSAGE]);
        });
    }
}

#[test]
fn in_tls_1_2_an_unprotected_record_does_not_authenticate() {
    for (outer, text) in [(ALERT, &CLOSE_NOTIFY[..]), (ALERT, &[2, 40]), (HANDSHAKE, &[0, 0, 0, 0])] {
        each(&Options::default(), |live, case, engine| {
            if !case.is_13() {
                let error = engine_says(engine, BadRecord::TooShort { length: text.len() });
                let alerts = if engine { &[Alert::BAD_RECORD_MAC][..] } else { &[Alert::BAD_RECORD_MAC, INTERNAL_ERROR] };
                refused(live, |_| plain(outer, text), error.as_ref(), alerts);
            }
        });
    }
}

#[test]
fn what_is_no_content_type_is_unexpected() {
    for outer in [0, 19, 24, 0x80, 255] {
        each(&Options::default(), |live, _, engine| {
            let error = engine_says(engine, BadRecord::ContentType(outer));
            // OpenSSL takes some for a record of another kind, and its first bytes for a version.
            let alerts = [Alert::UNEXPECTED_MESSAGE, Alert::PROTOCOL_VERSION];
            let alerts = if engine { &alerts[..1] } else { &alerts };
            refused(live, |f| f.inner(outer, b"text\x17"), error.as_ref(), alerts);
        });
    }
}

#[test]
fn an_inner_type_that_may_not_be_is_unexpected() {
    for inner in [CCS, 19, 24, 255] {
        each_13(|live, engine| {
            let error = engine_says(engine, BadRecord::ContentType(inner));
            refused(live, |f| f.record(inner, b"\x01"), error.as_ref(), &[Alert::UNEXPECTED_MESSAGE]);
        });
    }
    for zeros in [1, 100, 16_385] {
        each_13(|live, engine| {
            let error = engine_says(engine, BadRecord::ContentType(0));
            refused(live, |f| f.inner(DATA, &vec![0; zeros]), error.as_ref(), &[Alert::UNEXPECTED_MESSAGE]);
        });
    }
}

#[test]
fn a_change_cipher_spec_after_the_handshake_is_unexpected() {
    each(&Options::default(), |live, case, engine| {
        let error = engine_says(engine, BadRecord::ContentType(CCS));
        if !case.is_13() {
            refused(live, |f| f.record(CCS, &[1]), error.as_ref(), &[Alert::UNEXPECTED_MESSAGE]);
        }
    });
}

#[test]
fn a_version_that_cannot_be_is_refused() {
    for version in [[3, 1], [3, 4], [2, 0], [4, 3]] {
        each(&Options::default(), |live, _, engine| {
            let error = engine_says(engine, BadRecord::Version(u16::from_be_bytes(version)));
            let forge = |f: &mut Forger| {
                let mut record = f.data(b"evil");
                record[1..3].copy_from_slice(&version);
                record
            };
            let alerts = [Alert::PROTOCOL_VERSION, DECODE_ERROR];
            refused(live, forge, error.as_ref(), if engine { &alerts[..1] } else { &alerts });
        });
    }
}

#[test]
fn an_empty_handshake_or_alert_record_is_refused() {
    // RFC 8446 §5.1, §5.4.
    for content_type in [HANDSHAKE, ALERT] {
        each_13(|live, _| {
            refused(live, |f| f.record(content_type, b""), None, &[Alert::UNEXPECTED_MESSAGE]);
        });
    }
}

#[test]
fn an_alert_is_two_bytes() {
    for alert in [&[2][..], &[1, 0, 0], &[2, 40, 2, 40]] {
        each(&Options::default(), |live, _, _| {
            refused(live, |f| f.record(ALERT, alert), None, &[Alert::UNEXPECTED_MESSAGE, DECODE_ERROR]);
        });
    }
}

#[test]
fn nothing_comes_between_the_fragments_of_a_handshake_message() {
    // RFC 8446 §5.1.
    for at in [1, 3, 4] {
        each_13(|live, _| {
            let torn = |f: &mut Forger| {
                let head = f.record(HANDSHAKE, &KEY_UPDATE[..at]);
                [head, f.data(b"evil"), f.record(HANDSHAKE, &KEY_UPDATE[at..])].concat()
            };
            refused(live, torn, None, &[Alert::UNEXPECTED_MESSAGE]);
        });
    }
}

#[test]
fn not_even_after_an_alert_that_is_ignored() {
    for at in [1, 3, 4] {
        each_13(|live, _| {
            let torn = |f: &mut Forger| {
                let head = f.record(HANDSHAKE, &KEY_UPDATE[..at]);
                [head, f.record(ALERT, &USER_CANCELED), f.data(b"evil")].concat()
            };
            refused(live, torn, None, &[Alert::UNEXPECTED_MESSAGE]);
        });
    }
}

#[test]
fn fragments_of_a_handshake_message_are_one_message() {
    for at in 1..KEY_UPDATE.len() {
        each_13(|live, engine| {
            let mut bytes = live.forger.record(HANDSHAKE, &KEY_UPDATE[..at]);
            bytes.extend(live.forger.record(HANDSHAKE, &KEY_UPDATE[at..]));
            live.forger.next_generation();
            bytes.extend(live.forger.data(b"new"));
            assert_eq!(live.attack(&bytes), (vec![Seen::Plaintext(b"new".to_vec())], None));
            assert_eq!(live.victim().received().key_generations, if engine { 2 } else { 0 });
        });
    }
}

/// A message of the peer's that is not all there yet is no reason for any call of ours to fail. `f` does what it likes
/// with the victim, twice: with half the message, and when all is there.
fn with_half_a_message(mut f: impl FnMut(&mut Live, bool)) {
    for at in [1, 4, 10] {
        each_13(|live, _| {
            if live.victim == Victim::Client {
                let message = ticket(30);
                let head = live.forger.record(HANDSHAKE, &message[..at]);
                assert_eq!(live.attack(&head), (vec![], None));
                f(live, false);
                let rest = live.forger.record(HANDSHAKE, &message[at..]);
                let data = live.forger.data(b"on");
                let seen = live.attack(&[rest, data].concat());
                assert_eq!(seen, (vec![Seen::Plaintext(b"on".to_vec())], None));
                f(live, true);
            }
        });
    }
}

/// What waited for the rest of the message may go on when it is there.
#[track_caller]
fn did<T: PartialEq + std::fmt::Debug>(progress: Result<Progress<T>, Error>, whole: bool) -> Option<T> {
    match progress.expect("the call is legal here") {
        Progress::Want(want) => {
            assert!(!whole, "it waits for {want:?}");
            assert_eq!(want, arenatls::Want::Input);
            None
        }
        Progress::Done(done) => Some(done),
    }
}

#[test]
fn half_a_message_does_not_keep_us_from_writing() {
    with_half_a_message(|live, whole| {
        if did(live.victim().write(b"text"), whole).is_some() {
            let out = take_output(live.victim());
            assert_eq!(live.ear.open(&out), (DATA, b"text".to_vec()));
        }
        assert_eq!(live.victim().backend().unsent(), 0);
    });
}

#[test]
fn half_a_message_does_not_keep_us_from_closing() {
    let mut closed = false;
    with_half_a_message(|live, whole| {
        let before = live.victim().state();
        closed &= whole;
        if did(live.victim().close(), whole).is_some() {
            let out = take_output(live.victim());
            if !closed {
                assert_eq!(live.ear.open(&out), (ALERT, CLOSE_NOTIFY.to_vec()));
            }
            closed = true;
            assert_eq!(live.victim().state(), State::SendClosed);
        } else {
            assert_eq!(live.victim().state(), before);
        }
    });
}

#[test]
fn half_a_message_does_not_keep_us_from_a_key_update() {
    with_half_a_message(|live, whole| {
        if did(live.victim().key_update(false), whole).is_some() {
            let out = take_output(live.victim());
            assert_eq!(live.ear.open(&out), (HANDSHAKE, KEY_UPDATE.to_vec()));
            live.ear.next_generation();
        }
    });
}

#[test]
fn a_key_update_is_the_last_of_its_record() {
    // RFC 8446 §5.1: messages do not span key changes.
    each_13(|live, _| {
        let twice = [KEY_UPDATE, KEY_UPDATE].concat();
        refused(live, |f| f.record(HANDSHAKE, &twice), None, &[Alert::UNEXPECTED_MESSAGE]);
    });
}

#[test]
fn a_key_update_asks_or_does_not() {
    each_13(|live, _| {
        refused(live, |f| f.record(HANDSHAKE, &[24, 0, 0, 1, 2]), None, &[ILLEGAL_PARAMETER]);
    });
    each_13(|live, _| {
        let long = [24, 0, 0, 2, 0, 0];
        refused(live, |f| f.record(HANDSHAKE, &long), None, &[DECODE_ERROR, ILLEGAL_PARAMETER]);
    });
}

#[test]
fn the_old_key_is_of_no_use_after_a_key_update() {
    each_13(|live, _| {
        let stale = |f: &mut Forger| {
            let update = f.record(HANDSHAKE, &KEY_UPDATE);
            [update, f.data(b"evil")].concat()
        };
        refused(live, stale, Some(&MAC), &[Alert::BAD_RECORD_MAC]);
    });
}

#[test]
fn handshake_messages_that_have_no_place_here_are_unexpected() {
    // Finished, ServerHello, EncryptedExtensions, CertificateVerify, message_hash: of both ends.
    for kind in [20, 2, 8, 15, 254] {
        each_13(|live, _| {
            refused(live, |f| f.record(HANDSHAKE, &[kind, 0, 0, 1, 0]), None, &[Alert::UNEXPECTED_MESSAGE]);
        });
    }
    each_13(|live, _| {
        if live.victim == Victim::Server {
            refused(live, |f| f.record(HANDSHAKE, &ticket(30)), None, &[Alert::UNEXPECTED_MESSAGE]);
        }
    });
}

#[test]
fn a_fatal_alert_ends_it_without_an_answer() {
    for description in [40, 20, 80, 255] {
        each(&Options::default(), |live, _, _| {
            let bytes = [live.forger.data(b"good"), live.forger.record(ALERT, &[2, description])].concat();
            let (seen, failure) = live.attack(&bytes);
            assert_eq!(seen, [Seen::Plaintext(b"good".to_vec())]);
            assert_eq!(failure, Some(Error::PeerAlert(Alert(description))));
            assert_sticky(live.victim(), &Error::PeerAlert(Alert(description)));
            assert_eq!(live.victim().backend().unsent(), 0);
        });
    }
}

#[test]
fn what_comes_after_close_notify_is_not_read() {
    each(&Options::default(), |live, _, _| {
        let close = live.forger.record(ALERT, &CLOSE_NOTIFY);
        let bytes = [close, live.forger.data(b"late"), b"garbage".to_vec()].concat();
        assert_eq!(live.attack(&bytes), (vec![Seen::PeerClosed], None));
        assert_eq!(live.victim().state(), State::ReceiveClosed);
        let _ = live.victim().write(b"still").unwrap();
        let out = take_output(live.victim());
        assert_eq!(live.ear.open(&out), (DATA, b"still".to_vec()));
    });
}

#[test]
fn a_bad_record_after_our_close_notify_is_a_failure_without_an_alert() {
    each(&Options::default(), |live, _, _| {
        let _ = live.victim().close().unwrap();
        let out = take_output(live.victim());
        assert_eq!(live.ear.open(&out).0, ALERT);
        let bytes = [live.forger.data(b"good"), flipped(live.forger.data(b"evil"), 3)].concat();
        let (seen, failure) = live.attack(&bytes);
        assert_eq!(seen, [Seen::Plaintext(b"good".to_vec())]);
        assert_eq!(failure, Some(MAC));
        assert_sticky(live.victim(), &MAC);
        assert_eq!(live.victim().backend().unsent(), 0, "nothing follows close_notify");
    });
}

#[test]
fn empty_records_are_let_through_up_to_32_in_a_row() {
    for (empties, rounds) in [(1, 1), (32, 1), (30, 10)] {
        each(&Options::default(), |live, _, _| {
            let mut bytes = Vec::new();
            for _ in 0..rounds {
                (0..empties).for_each(|_| bytes.extend(live.forger.data(b"")));
                bytes.extend(live.forger.data(b"A"));
            }
            let (seen, failure) = live.attack(&bytes);
            assert_eq!((plaintext(&seen), failure), (vec![b'A'; rounds], None));
        });
    }
    each(&Options::default(), |live, _, engine| {
        let error = engine.then_some(Error::Flood { what: "empty records", limit: 32 });
        let empties = |f: &mut Forger| (0..33).flat_map(|_| f.data(b"")).collect();
        refused(live, empties, error.as_ref(), &[Alert::UNEXPECTED_MESSAGE]);
    });
}

#[test]
fn a_flood_of_key_updates_ends() {
    each(&Options::default().control_limit(10), |live, case, _| {
        if !case.is_13() {
            return;
        }
        for _ in 0..3 {
            let mut bytes = Vec::new();
            for _ in 0..10 {
                bytes.extend(live.forger.record(HANDSHAKE, &[24, 0, 0, 1, 1]));
                live.forger.next_generation();
            }
            bytes.extend(live.forger.data(b"breath"));
            assert_eq!(live.attack(&bytes), (vec![Seen::Plaintext(b"breath".to_vec())], None));
            let answers = take_output(live.victim());
            assert_eq!(record_lens(&answers), [27; 10], "an answer each");
            assert_eq!(pump(live.peer(), &answers, usize::MAX), (vec![], None));
        }
        let flood = |f: &mut Forger| {
            let mut bytes = Vec::new();
            for _ in 0..11 {
                bytes.extend(f.record(HANDSHAKE, &KEY_UPDATE));
                f.next_generation();
            }
            bytes
        };
        let error = Error::Flood { what: "records without application data", limit: 10 };
        refused(live, flood, Some(&error), &[Alert::UNEXPECTED_MESSAGE]);
    });
}

#[test]
fn a_flood_of_hello_requests_ends() {
    each(&Options::default().control_limit(10), |live, case, engine| {
        if case.is_13() || live.victim == Victim::Server {
            return;
        }
        let bytes: Vec<u8> = (0..10).flat_map(|_| live.forger.record(HANDSHAKE, &[0; 4])).collect();
        let data = live.forger.data(b"breath");
        let seen = live.attack(&[bytes, data].concat());
        assert_eq!(seen, (vec![Seen::Plaintext(b"breath".to_vec())], None));
        let mut answers = &take_output(live.victim())[..];
        for len in record_lens(answers) {
            let (answer, rest) = answers.split_at(len);
            assert_eq!(live.ear.open(answer), (ALERT, vec![1, 100]), "no_renegotiation");
            answers = rest;
        }
        let bytes: Vec<u8> = (0..11).flat_map(|_| live.forger.record(HANDSHAKE, &[0; 4])).collect();
        let failure = live.attack(&bytes).1.expect("a flood");
        assert_eq!(failure, Error::Flood { what: "records without application data", limit: 10 });
        assert_sticky(live.victim(), &failure);
        let out = take_output(live.victim());
        let lens = record_lens(&out);
        let last = out.len() - lens.last().expect("an alert");
        live.ear.sequence += lens.len() as u64 - 1;
        let (content_type, alert) = live.ear.open(&out[last..]);
        assert_eq!((content_type, alert[0]), (ALERT, 2), "a fatal one");
        // What OpenSSL says for its own records it says in its own way.
        assert!(!engine || alert[1] == 10, "unexpected_message, not {alert:?}");
    });
}

#[test]
fn renegotiation_is_refused() {
    each(&Options::default(), |live, case, _| {
        if case.is_13() || live.victim == Victim::Client {
            return;
        }
        // A ClientHello of the least there can be.
        let mut hello = vec![1, 0, 0, 41, 3, 3];
        hello.extend([7; 32]);
        hello.extend([0, 0, 2, 0xc0, 0x2b, 1, 0]);
        let bytes = live.forger.record(HANDSHAKE, &hello);
        let (seen, failure) = live.attack(&bytes);
        assert_eq!(seen, []);
        let out = take_output(live.victim());
        let (content_type, alert) = live.ear.open(&out[..record_lens(&out)[0]]);
        assert_eq!((content_type, alert[1]), (ALERT, 100), "no_renegotiation");
        if let Some(failure) = failure {
            assert_eq!(failure.blame(), Blame::Peer, "{failure:?}");
            assert_sticky(live.victim(), &failure);
        }
    });
}

#[test]
fn a_flood_of_warnings_ends() {
    each(&Options::default(), |live, case, _| {
        let warning = if case.is_13() { USER_CANCELED } else { [1, 110] };
        let flood = |f: &mut Forger| (0..70).flat_map(|_| f.record(ALERT, &warning)).collect();
        refused(live, flood, None, &[Alert::UNEXPECTED_MESSAGE]);
    });
}

#[test]
fn a_record_that_is_not_all_there_is_a_truncation() {
    each(&Options::default(), |live, _, _| {
        let good = live.forger.data(b"good");
        let torn = live.forger.data(b"torn");
        let bytes = [&good, &torn[..torn.len() - 1]].concat();
        assert_eq!(live.attack(&bytes), (vec![Seen::Plaintext(b"good".to_vec())], None));
        live.victim().backend_mut().end_of_input();
        assert_eq!(live.attack(&[]), (vec![Seen::Truncated], Some(Error::Truncated)));
        assert_sticky(live.victim(), &Error::Truncated);
    });
}

#[test]
fn records_in_memory_of_ones_own_are_refused_alike() {
    each(&Options::default(), |live, case, engine| {
        if !engine {
            return;
        }
        let mut good = live.forger.data(b"good");
        let Ok(Progress::Done(InPlace::Plaintext(text))) = live.victim().open_in(&mut good) else {
            panic!("plaintext");
        };
        assert_eq!(&good[text], b"good");
        let mut evil = flipped(live.forger.data(b"evil"), 2);
        let failure = live.victim().open_in(&mut evil).expect_err("a bad record");
        assert_eq!(failure, MAC);
        assert!(evil[5..].iter().all(|b| *b == 0), "nothing of it is left");
        assert_eq!(live.failed(&failure), Some(Alert::BAD_RECORD_MAC), "{case:?}");
    });
    for alert_between in [false, true] {
        each_13(|live, engine| {
            if engine {
                let mut fragment = live.forger.record(HANDSHAKE, &KEY_UPDATE[..4]);
                assert_eq!(live.victim().open_in(&mut fragment), Ok(Progress::Done(InPlace::Control)));
                if alert_between {
                    let mut alert = live.forger.record(ALERT, &USER_CANCELED);
                    assert_eq!(live.victim().open_in(&mut alert), Ok(Progress::Done(InPlace::Control)));
                }
                let mut data = live.forger.data(b"evil");
                let failure = live.victim().open_in(&mut data).expect_err("interleaved");
                assert_eq!(live.failed(&failure), Some(Alert::UNEXPECTED_MESSAGE));
            }
        });
    }
}
