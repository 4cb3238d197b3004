//! Handshake messages after the handshake: in pieces, out of place, too many.

use arenatls::{Alert, Blame, Error, Options, Progress, State};
use arenatls_rig::pair::{Seen, take_output};

use crate::forge::{ALERT, CLOSE_NOTIFY, DATA, Forger, HANDSHAKE};
use crate::hostile::{DECODE_ERROR, MAC, USER_CANCELED, each_13, refused};
use crate::support::{KEY_UPDATE, Live, Victim, assert_sticky, each, pump, record_lens, ticket};

const ILLEGAL_PARAMETER: Alert = Alert(47);
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
fn user_canceled_and_then_close_notify_is_a_clean_end() {
    // RFC 8446 §6.1; some peers end each connection so.
    each_13(|live, _| {
        let data = live.forger.data(b"last");
        let canceled = live.forger.record(ALERT, &USER_CANCELED);
        let close = live.forger.record(ALERT, &CLOSE_NOTIFY);
        let seen = live.attack(&[data, canceled, close].concat());
        assert_eq!(seen, (vec![Seen::Plaintext(b"last".to_vec()), Seen::PeerClosed], None));
        assert_eq!(live.victim().state(), State::ReceiveClosed);
        live.victim().backend_mut().end_of_input();
        assert_eq!(live.attack(&[]), (vec![], None), "the transport may end then");
        assert_eq!(live.victim().close(), Ok(Progress::Done(())));
        let out = take_output(live.victim());
        assert_eq!(live.ear.open(&out), (ALERT, CLOSE_NOTIFY.to_vec()));
    });
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
