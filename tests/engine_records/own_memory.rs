//! Records in memory of the caller's own: `sealed_len`, `seal_into`, `open_in`.

use arenatls::options::Padding;
use arenatls::{Error, InPlace, Options, Progress, State, Want};
use arenatls_rig::pair::{Seen, feed, plaintext, take_output};

use crate::forge::{ALERT, CLOSE_NOTIFY, HANDSHAKE, KEY_UPDATE, ticket};
use crate::records::overhead;
use crate::support::{Case, Live, Victim, each, pump};

fn each_engine(options: &Options, mut f: impl FnMut(&mut Live, Case)) {
    each(options, |live, case, engine| {
        if engine {
            f(live, case);
        }
    });
}

fn sealed(live: &mut Live, text: &[u8]) -> Vec<u8> {
    let mut out = vec![0xee; live.victim().sealed_len(text.len()).expect("the engine's keys")];
    assert_eq!(live.victim().seal_into(text, &mut out), Ok(Progress::Done(out.len())));
    out
}

#[test]
fn the_length_is_known_before_and_the_peer_reads_it() {
    for padding in [Padding::None, Padding::Multiple(256)] {
        each_engine(&Options::default().padding(padding), |live, case| {
            let calls = live.victim().openssl_calls();
            for len in [1, 10, 256, 1000, 16_384usize] {
                let padded = match padding {
                    Padding::Multiple(of) if case.is_13() => len.next_multiple_of(of),
                    _ => len,
                };
                let text = vec![0x61; len];
                let record = sealed(live, &text);
                assert_eq!(record.len(), padded + overhead(case));
                assert_eq!(pump(live.peer(), &record, usize::MAX), (vec![Seen::Plaintext(text)], None));
            }
            assert_eq!(live.victim().backend().unsent(), 0);
            assert_eq!(live.victim().openssl_calls(), calls);
            assert_eq!(live.victim().sent().records, 5);
        });
    }
}

#[test]
fn memory_that_is_longer_is_left_alone_behind_the_record() {
    each_engine(&Options::default(), |live, _| {
        let needed = live.victim().sealed_len(4).unwrap();
        let mut out = vec![0xee; needed + 100];
        assert_eq!(live.victim().seal_into(b"text", &mut out), Ok(Progress::Done(needed)));
        assert!(out[needed..].iter().all(|b| *b == 0xee));
    });
}

#[test]
fn too_little_memory_changes_nothing() {
    each_engine(&Options::default(), |live, _| {
        let needed = live.victim().sealed_len(4).unwrap();
        for given in [0, 4, needed - 1] {
            let mut out = vec![0xee; given];
            let refused = live.victim().seal_into(b"text", &mut out);
            assert_eq!(refused, Err(Error::TooSmall { needed, given }));
            assert!(out.iter().all(|b| *b == 0xee));
        }
        assert_eq!((live.victim().state(), live.victim().sent().records), (State::Traffic, 0));
        let record = sealed(live, b"next");
        assert_eq!(plaintext(&pump(live.peer(), &record, usize::MAX).0), b"next", "no sequence number was spent");
    });
}

#[test]
fn what_no_record_holds_has_no_length() {
    each_engine(&Options::default(), |live, _| {
        assert!(live.victim().sealed_len(16_384).is_some());
        assert_eq!(live.victim().sealed_len(16_385), None);
        let mut out = vec![0; 20_000];
        assert!(matches!(live.victim().seal_into(&[0; 16_385], &mut out), Err(Error::Misuse(_))));
        let record = sealed(live, b"next");
        assert_eq!(plaintext(&pump(live.peer(), &record, usize::MAX).0), b"next");
    });
}

#[test]
fn max_plaintext_holds_here_too() {
    each_engine(&Options::default().max_plaintext(100), |live, _| {
        assert!(live.victim().sealed_len(100).is_some());
        assert_eq!(live.victim().sealed_len(101), None);
        assert!(matches!(live.victim().seal_into(&[0; 101], &mut [0; 200]), Err(Error::Misuse(_))));
    });
}

#[test]
fn it_is_misuse_where_the_records_are_openssls() {
    each(&Options::default(), |live, _, engine| {
        if !engine {
            assert_eq!(live.victim().sealed_len(4), None);
            assert!(matches!(live.victim().seal_into(b"text", &mut [0; 100]), Err(Error::Misuse(_))));
            let mut record = live.forger.data(b"text");
            assert!(matches!(live.victim().open_in(&mut record.clone()), Err(Error::Misuse(_))));
            assert_eq!(live.attack(&record.split_off(0)), (vec![Seen::Plaintext(b"text".to_vec())], None));
        }
    });
}

#[test]
fn what_was_written_before_leaves_before() {
    each_engine(&Options::default(), |live, _| {
        let _ = live.victim().write(b"first").unwrap();
        let mut out = vec![0xee; 100];
        assert_eq!(live.victim().seal_into(b"second", &mut out), Ok(Progress::Want(Want::Drain)));
        assert!(out.iter().all(|b| *b == 0xee));
        assert_eq!(live.deliver(), [Seen::Plaintext(b"first".to_vec())]);
        let record = sealed(live, b"second");
        assert_eq!(plaintext(&pump(live.peer(), &record, usize::MAX).0), b"second");
    });
}

#[test]
fn a_key_update_that_falls_due_leaves_before_the_record() {
    each_engine(&Options::default().rekey_after(3), |live, case| {
        if !case.is_13() {
            return;
        }
        for n in 0..10u8 {
            let mut out = vec![0; live.victim().sealed_len(5).unwrap()];
            if live.victim().seal_into(&[n; 5], &mut out).unwrap() == Progress::Want(Want::Drain) {
                let update = take_output(live.victim());
                assert_eq!(live.ear.open(&update), (HANDSHAKE, KEY_UPDATE.to_vec()));
                live.ear.next_generation();
                assert_eq!(live.victim().seal_into(&[n; 5], &mut out), Ok(Progress::Done(out.len())));
            }
            assert_eq!(live.ear.open(&out).1, [n; 5]);
        }
        assert_eq!(live.victim().sent().key_generations, 4);
    });
}

#[test]
fn a_record_opens_where_it_lies() {
    each_engine(&Options::default(), |live, case| {
        let calls = live.victim().openssl_calls();
        for len in [1, 100, 16_384] {
            let text = vec![0x62; len];
            let _ = live.peer().write(&text).unwrap();
            let mut record = take_output(live.peer());
            let Ok(Progress::Done(InPlace::Plaintext(range))) = live.victim().open_in(&mut record) else {
                panic!("plaintext");
            };
            assert_eq!(range.len(), len);
            assert_eq!(range.start, if overhead(case) == 29 { 13 } else { 5 });
            assert_eq!(record[range], text);
        }
        let mut empty = live.forger.clone();
        empty.sequence += 3;
        assert_eq!(live.victim().open_in(&mut empty.data(b"")), Ok(Progress::Done(InPlace::Control)));
        assert_eq!(live.victim().openssl_calls(), calls);
        assert_eq!((live.victim().received().records, live.victim().received().bytes), (3, 16_485));
    });
}

#[test]
fn control_records_are_seen_to() {
    each_engine(&Options::default(), |live, case| {
        let done = |what| Ok(Progress::Done(what));
        if case.is_13() {
            if live.victim == Victim::Client {
                let mut record = live.forger.record(HANDSHAKE, &ticket(40));
                assert_eq!(live.victim().open_in(&mut record), done(InPlace::Control));
            }
            let mut request = live.forger.record(HANDSHAKE, &[24, 0, 0, 1, 1]);
            assert_eq!(live.victim().open_in(&mut request), done(InPlace::Control));
            live.forger.next_generation();
            let mut record = live.forger.data(b"new");
            assert!(matches!(live.victim().open_in(&mut record), Ok(Progress::Done(InPlace::Plaintext(_)))));
            // The answer leaves with the next thing that is asked of the connection.
            assert!(matches!(live.victim().poll_event(), Ok(None)));
            let answer = take_output(live.victim());
            assert_eq!(live.ear.open(&answer), (HANDSHAKE, KEY_UPDATE.to_vec()));
            live.ear.next_generation();
            let record = sealed(live, b"mine");
            assert_eq!(live.ear.open(&record).1, b"mine");
        }
        let mut close = live.forger.record(ALERT, &CLOSE_NOTIFY);
        assert_eq!(live.victim().open_in(&mut close), done(InPlace::PeerClosed));
        assert_eq!(live.victim().state(), State::ReceiveClosed);
        assert!(matches!(live.victim().open_in(&mut [0; 30]), Err(Error::Illegal(_))));
        let record = sealed(live, b"still");
        assert_eq!(live.ear.open(&record).1, b"still");
    });
}

#[test]
fn an_answer_is_owed_and_seal_into_lets_it_leave_first() {
    each_engine(&Options::default(), |live, case| {
        if !case.is_13() {
            return;
        }
        let mut request = live.forger.record(HANDSHAKE, &[24, 0, 0, 1, 1]);
        assert_eq!(live.victim().open_in(&mut request), Ok(Progress::Done(InPlace::Control)));
        let mut out = [0; 100];
        assert_eq!(live.victim().seal_into(b"text", &mut out), Ok(Progress::Want(Want::Drain)));
        let answer = take_output(live.victim());
        assert_eq!(live.ear.open(&answer), (HANDSHAKE, KEY_UPDATE.to_vec()));
        live.ear.next_generation();
        let record = sealed(live, b"text");
        assert_eq!(live.ear.open(&record).1, b"text");
    });
}

#[test]
fn what_is_not_exactly_one_record_is_misuse_and_changes_nothing() {
    each_engine(&Options::default(), |live, _| {
        let record = live.forger.data(b"text");
        let longer = [&record[..], &[0]].concat();
        let shorter = &record[..record.len() - 1];
        for wrong in [&longer[..], shorter, &record[..4], &[]] {
            let mut memory = wrong.to_vec();
            assert!(matches!(live.victim().open_in(&mut memory), Err(Error::Misuse(_))));
            assert_eq!(memory, wrong);
        }
        assert_eq!(live.victim().state(), State::Traffic);
        assert!(matches!(live.victim().open_in(&mut record.clone()), Ok(Progress::Done(InPlace::Plaintext(_)))));
    });
}

#[test]
fn input_that_the_backend_holds_comes_first() {
    each_engine(&Options::default(), |live, _| {
        let first = live.forger.data(b"first");
        let mut second = live.forger.data(b"second");
        feed(live.victim(), &first[..7]);
        assert!(matches!(live.victim().open_in(&mut second.clone()), Err(Error::Misuse(_))));
        assert_eq!(live.attack(&first[7..]), (vec![Seen::Plaintext(b"first".to_vec())], None));
        assert!(matches!(live.victim().open_in(&mut second), Ok(Progress::Done(InPlace::Plaintext(_)))));
    });
}

#[test]
fn without_room_for_an_answer_nothing_is_opened() {
    each_engine(&Options::default(), |live, _| {
        while live.victim().write(&[0; 1000]).unwrap() != Progress::Want(Want::Drain) {}
        while live.victim().write(&[0; 1]).unwrap() != Progress::Want(Want::Drain) {}
        let record = live.forger.data(b"text");
        // What is left is the reserve, which is room enough.
        assert!(matches!(live.victim().open_in(&mut record.clone()), Ok(Progress::Done(InPlace::Plaintext(_)))));
        let room = arenatls::Backend::room(live.victim().backend_mut(), 1).len();
        arenatls::Backend::commit(live.victim().backend_mut(), room);
        let mut next = live.forger.data(b"next");
        let before = next.clone();
        assert_eq!(live.victim().open_in(&mut next), Ok(Progress::Want(Want::Drain)));
        assert_eq!(next, before);
    });
}
