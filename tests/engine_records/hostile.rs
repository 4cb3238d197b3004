//! Hostile records, made with the peer's own keys: each ends in the right alert, heard by the peer, and in a typed failure
//! for good; nothing of them is delivered.

use arenatls::{Alert, BadRecord, Blame, Error, InPlace, Options, Progress, State};
use arenatls_rig::pair::{Seen, plaintext, take_output};

use crate::forge::{ALERT, CLOSE_NOTIFY, DATA, Forger, HANDSHAKE, Suite};
use crate::support::{CCS, KEY_UPDATE, Live, assert_sticky, each};

pub(crate) const DECODE_ERROR: Alert = Alert(50);
const INTERNAL_ERROR: Alert = Alert(80);
pub(crate) const USER_CANCELED: [u8; 2] = [1, 90];
pub(crate) const MAC: Error = Error::Record(BadRecord::Mac);

/// As [`each`], of TLS 1.3 alone.
pub(crate) fn each_13(mut f: impl FnMut(&mut Live, bool)) {
    each(&Options::default(), |live, case, engine| {
        if case.is_13() {
            f(live, engine);
        }
    });
}

/// What `bad` makes comes behind good data: nothing but that data is delivered, the failure is the peer's, and its
/// cause is `error` where that is known; the peer hears one of `alerts`.
#[track_caller]
pub(crate) fn refused(
    live: &mut Live,
    bad: impl FnOnce(&mut Forger) -> Vec<u8>,
    error: Option<&Error>,
    alerts: &[Alert],
) {
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
            let error = engine_says(engine, BadRecord::ContentType(outer));
            refused(live, |_| plain(outer, text), error.as_ref(), &[Alert::UNEXPECTED_MESSAGE]);
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
                let alerts =
                    if engine { &[Alert::BAD_RECORD_MAC][..] } else { &[Alert::BAD_RECORD_MAC, INTERNAL_ERROR] };
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
