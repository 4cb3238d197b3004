//! What a connection under Engine protection sends and reads; its peer leaves the records to OpenSSL.

use std::io::IoSlice;

use arenatls::options::{DynamicRecords, Padding};
use arenatls::{Error, Event, Options, Progress, State};
use arenatls_rig::pair::{Seen, carry, events, plaintext, take_output};

use crate::forge::{ALERT, CLOSE_NOTIFY, HANDSHAKE, Suite};
use crate::support::{CASES, Case, KEY_UPDATE, Live, assert_sticky, each, record_lens};

/// Every case and end under Engine protection.
fn each_engine(options: &Options, mut f: impl FnMut(&mut Live, Case)) {
    each(options, |live, case, engine| {
        if engine {
            f(live, case);
        }
    });
}

/// What a record adds to its plaintext (RFC 8446 §5.2; RFC 5288 §3; RFC 7905 §2), header included (bytes).
pub(crate) fn overhead(case: Case) -> usize {
    match (case.is_13(), case.suite) {
        (true, _) => 5 + 1 + 16,
        (false, Suite::ChaCha20Poly1305) => 5 + 16,
        (false, _) => 5 + 8 + 16,
    }
}

fn text(len: usize) -> Vec<u8> {
    (0..=250u8).cycle().take(len).collect()
}

/// Has the victim write `text` in one call; the plaintext lengths of its records, and that the peer reads it.
fn sizes(live: &mut Live, case: Case, text: &[u8]) -> Vec<usize> {
    assert_eq!(live.victim().write(text), Ok(Progress::Done(text.len())));
    let lens = record_lens(live.victim().backend().to_send());
    assert_eq!(plaintext(&live.deliver()), text);
    lens.iter().map(|len| len - overhead(case)).collect()
}

#[test]
fn three_slices_of_ten_bytes_are_one_record_of_52() {
    each_engine(&Options::default(), |live, case| {
        let slices = [IoSlice::new(&[1; 10]), IoSlice::new(&[2; 10]), IoSlice::new(&[3; 10])];
        assert_eq!(live.victim().write_vectored(&slices), Ok(Progress::Done(30)));
        let out = take_output(live.victim());
        assert_eq!(out.len(), 30 + overhead(case));
        assert!(!case.is_13() || out.len() == 52);
        assert_eq!(live.ear.open(&out).1, [[1; 10], [2; 10], [3; 10]].concat());
    });
}

#[test]
fn slices_are_cut_into_full_records_wherever_they_end() {
    each_engine(&Options::default().max_plaintext(100), |live, case| {
        let whole = text(1050);
        let (a, rest) = whole.split_at(99);
        let (b, c) = rest.split_at(2);
        let slices = [IoSlice::new(b""), IoSlice::new(a), IoSlice::new(b), IoSlice::new(b""), IoSlice::new(c)];
        assert_eq!(live.victim().write_vectored(&slices), Ok(Progress::Done(1050)));
        let lens = record_lens(live.victim().backend().to_send());
        let expected: Vec<usize> = (0..10).map(|_| 100).chain([50]).map(|n| n + overhead(case)).collect();
        assert_eq!(lens, expected);
        assert_eq!(plaintext(&live.deliver()), whole);
    });
}

#[test]
fn an_empty_write_is_nothing() {
    each_engine(&Options::default(), |live, _| {
        let calls = live.victim().openssl_calls();
        assert_eq!(live.victim().write(b""), Ok(Progress::Done(0)));
        assert_eq!(live.victim().write_vectored(&[]), Ok(Progress::Done(0)));
        assert_eq!(live.victim().write_vectored(&[IoSlice::new(b""); 3]), Ok(Progress::Done(0)));
        assert_eq!(live.victim().backend().unsent(), 0);
        assert_eq!((live.victim().openssl_calls(), live.victim().sent().records), (calls, 0));
    });
}

#[test]
fn records_carry_at_most_max_plaintext() {
    for max in [1, 7, 1000, 16_384] {
        each_engine(&Options::default().max_plaintext(max), |live, case| {
            let whole = text(3 * max.min(10_000) + 1);
            let sizes = sizes(live, case, &whole);
            assert!(sizes.iter().all(|size| *size <= max), "{sizes:?}");
            assert_eq!(sizes.len(), whole.len().div_ceil(max), "and no more of them than need be");
        });
    }
}

#[test]
fn records_start_small_and_grow() {
    let dynamic = DynamicRecords { first: 1000, until: 5000 };
    each_engine(&Options::default().dynamic_records(dynamic), |live, case| {
        assert_eq!(sizes(live, case, &text(2500)), [1000, 1000, 500]);
        assert_eq!(sizes(live, case, &text(20_000)), [1000, 1000, 1000, 16_384, 616]);
        assert_eq!(sizes(live, case, &text(3000)), [3000]);
    });
    each_engine(&Options::default().dynamic_records(dynamic).max_plaintext(300), |live, case| {
        assert_eq!(sizes(live, case, &text(700)), [300, 300, 100]);
    });
}

#[test]
fn padding_goes_to_the_multiple_and_the_peer_does_not_see_it() {
    for multiple in [2, 64, 256] {
        each_engine(&Options::default().padding(Padding::Multiple(multiple)), |live, case| {
            for len in [1, 63, 64, 65, 255, 256, 1000, 16_383, 16_384] {
                let whole = text(len);
                let padded = if case.is_13() { len.next_multiple_of(multiple).min(16_384) } else { len };
                assert_eq!(sizes(live, case, &whole), [padded], "{len} to {multiple}");
            }
        });
    }
}

#[test]
fn keys_are_replaced_in_the_midst_of_traffic() {
    each_engine(&Options::default().rekey_after(4), |live, case| {
        if !case.is_13() {
            return;
        }
        let mut whole = Vec::new();
        let mut read = Vec::new();
        for n in 0..50u8 {
            assert_eq!(live.victim().write(&[n; 30]), Ok(Progress::Done(30)));
            whole.extend([n; 30]);
            if n % 7 == 0 {
                read.extend(plaintext(&live.deliver()));
            }
        }
        read.extend(plaintext(&live.deliver()));
        assert_eq!(read, whole);
        let sent = live.victim().sent();
        // The first key and one more for each four records.
        assert_eq!((sent.records, sent.bytes), (50, 1500));
        assert_eq!((sent.key_generations, sent.control_records), (1 + 49 / 4, 49 / 4));
        assert_eq!(live.peer().received().control_records, 49 / 4);
        // And the other way it is as it was.
        let _ = live.peer().write(b"back").unwrap();
        let back = take_output(live.peer());
        assert_eq!(live.attack(&back).0, [Seen::Plaintext(b"back".to_vec())]);
        assert_eq!(live.victim().received().key_generations, 1);
    });
}

#[test]
fn a_large_write_goes_on_over_new_keys() {
    each_engine(&Options::default().rekey_after(3).max_plaintext(1000), |live, case| {
        if case.is_13() {
            let whole = text(20_000);
            assert_eq!(live.victim().write(&whole), Ok(Progress::Done(whole.len())));
            assert_eq!(live.victim().sent().key_generations, 1 + 19 / 3);
            assert_eq!(plaintext(&live.deliver()), whole);
        }
    });
}

#[test]
fn no_key_protects_more_records_than_it_may() {
    // By an ear that knows the keys: each KeyUpdate comes after three records of data, under the old key.
    each_engine(&Options::default().rekey_after(3), |live, case| {
        if !case.is_13() {
            return;
        }
        for _ in 0..10 {
            let _ = live.victim().write(b"text").unwrap();
        }
        let mut out = &take_output(live.victim())[..];
        let mut kinds = Vec::new();
        for len in record_lens(out) {
            let (record, rest) = out.split_at(len);
            let (content_type, plain) = live.ear.open(record);
            if content_type == HANDSHAKE {
                assert_eq!(plain, KEY_UPDATE);
                live.ear.next_generation();
            }
            kinds.push(content_type);
            out = rest;
        }
        assert_eq!(kinds, [23, 23, 23, 22, 23, 23, 23, 22, 23, 23, 23, 22, 23]);
    });
}

#[test]
fn a_request_for_new_keys_is_answered_at_once() {
    // RFC 8446 §4.6.3: before the next application data.
    each(&Options::default(), |live, case, engine| {
        if !case.is_13() {
            return;
        }
        for round in 2..5 {
            let request = live.forger.record(HANDSHAKE, &[24, 0, 0, 1, 1]);
            live.forger.next_generation();
            assert_eq!(live.attack(&request), (vec![], None));
            let answer = take_output(live.victim());
            assert_eq!(live.ear.open(&answer), (HANDSHAKE, KEY_UPDATE.to_vec()));
            live.ear.next_generation();
            let _ = live.victim().write(b"text").unwrap();
            let out = take_output(live.victim());
            assert_eq!(live.ear.open(&out).1, b"text");
            if engine {
                let generations = (live.victim().sent().key_generations, live.victim().received().key_generations);
                assert_eq!(generations, (round, round));
            }
        }
        // One that does not ask is not answered.
        let update = live.forger.record(HANDSHAKE, &KEY_UPDATE);
        assert_eq!(live.attack(&update), (vec![], None));
        assert_eq!(live.victim().backend().unsent(), 0);
    });
}

/// Writes until the keys are worn out, the peer reading along; what the connection said it took, how much of it came,
/// and how it ended.
fn wear_out(live: &mut Live, len: usize) -> (usize, usize, Error) {
    let (mut taken, mut came) = (0, 0);
    loop {
        match live.victim().write(&vec![b'x'; len]) {
            Ok(Progress::Done(n)) => taken += n,
            Ok(Progress::Want(want)) => panic!("there is room, and still {want:?}"),
            Err(error) => {
                let mut seen = live.deliver();
                assert_eq!(seen.pop(), Some(Seen::PeerClosed), "close_notify is the last it says");
                return (taken, came + plaintext(&seen).len(), error);
            }
        }
        if live.victim().state() != State::Failed {
            came += plaintext(&live.deliver()).len();
        }
    }
}

#[test]
fn in_tls_1_2_worn_out_keys_end_the_connection_and_nothing_is_lost() {
    // Two full-sized records' worth of AES blocks, in small records, and in one write that is longer.
    for (len, max) in [(1000, 16_384), (40_000, 1000)] {
        each_engine(&Options::default().rekey_after(2).max_plaintext(max), |live, case| {
            if case.is_13() || case.suite == Suite::ChaCha20Poly1305 {
                return;
            }
            let (taken, came, error) = wear_out(live, len);
            assert_eq!(taken, came, "what was taken is what came");
            assert!((30_000..=2 * 16_384).contains(&taken), "{taken}");
            assert!(matches!(error, Error::KeysWornOut { records: 31..=33 }), "{error:?}");
            assert_eq!(error.blame(), arenatls::Blame::Resource);
            assert_sticky(live.victim(), &error);
        });
    }
}

#[test]
fn in_tls_1_2_chacha20_has_no_limit_but_its_sequence_numbers() {
    each_engine(&Options::default().rekey_after(1), |live, case| {
        if !case.is_13() && case.suite == Suite::ChaCha20Poly1305 {
            for _ in 0..5 {
                assert_eq!(sizes(live, case, &text(32_768)), [16_384, 16_384]);
            }
        }
    });
}

#[test]
fn data_makes_no_call_into_openssl() {
    each_engine(&Options::default(), |live, _| {
        let calls = live.victim().openssl_calls();
        let (mut sent, mut received) = (0, 0);
        for n in 0..500usize {
            let len = 1 + n * 37 % 3000;
            assert_eq!(live.victim().write(&text(len)), Ok(Progress::Done(len)));
            sent += len as u64;
            assert_eq!(plaintext(&live.deliver()).len(), len);
            let len = 1 + n * 61 % 3000;
            let _ = live.peer().write(&text(len)).unwrap();
            received += len as u64;
            let back = take_output(live.peer());
            assert_eq!(plaintext(&live.attack(&back).0), text(len));
        }
        assert_eq!(live.victim().openssl_calls(), calls);
        let (out, inn) = (live.victim().sent(), live.victim().received());
        assert_eq!((out.records, out.bytes, out.key_generations), (500, sent, 1));
        assert_eq!((inn.records, inn.bytes, inn.key_generations), (500, received, 1));
    });
}

#[test]
fn what_is_not_consumed_is_lent_again() {
    each(&Options::default(), |live, _, _| {
        let record = live.forger.data(b"one two three");
        let next = live.forger.data(b"four");
        assert_eq!(live.attack(&[]), (vec![], None));
        let bytes = [record, next].concat();
        arenatls_rig::pair::feed(live.victim(), &bytes);
        let mut lend = |expected: &[u8], consume: usize| match live.victim().poll_event() {
            Ok(Some(Event::Plaintext(lent))) => {
                assert_eq!(&*lent, expected);
                lent.consume(consume);
            }
            other => panic!("{other:?}"),
        };
        lend(b"one two three", 4);
        lend(b"two three", 0);
        lend(b"two three", 8);
        lend(b"e", 100);
        lend(b"four", 4);
        assert!(matches!(live.victim().poll_event(), Ok(None)));
        let received = live.victim().received();
        assert_eq!((received.records, received.bytes), (2, 17), "each byte is counted once");
    });
}

#[test]
fn what_is_left_stays_where_it_is_while_more_arrives() {
    each(&Options::default(), |live, _, _| {
        let record = live.forger.data(&text(10_000));
        arenatls_rig::pair::feed(live.victim(), &record);
        for round in 0..10usize {
            match live.victim().poll_event() {
                Ok(Some(Event::Plaintext(lent))) => {
                    assert_eq!(&*lent, &text(10_000)[round * 1000..]);
                    lent.consume(1000);
                }
                other => panic!("{other:?}"),
            }
            let more = live.forger.data(&text(3000));
            assert_eq!(arenatls_rig::pair::feed(live.victim(), &more), more.len());
        }
        let seen = events(live.victim()).unwrap();
        assert_eq!(seen, vec![Seen::Plaintext(text(3000)); 10]);
    });
}

#[test]
fn lent_bytes_may_be_changed_and_put_back() {
    each(&Options::default(), |live, _, _| {
        let record = live.forger.data(b"lend");
        arenatls_rig::pair::feed(live.victim(), &record);
        match live.victim().poll_event() {
            Ok(Some(Event::Plaintext(mut lent))) => {
                lent.reverse();
                lent.consume(0);
            }
            other => panic!("{other:?}"),
        }
        // It was not consumed, then.
        assert_eq!(events(live.victim()).unwrap(), [Seen::Plaintext(b"dnel".to_vec())]);
        let next = live.forger.data(b"next");
        assert_eq!(live.attack(&next), (vec![Seen::Plaintext(b"next".to_vec())], None));
    });
}

#[test]
fn both_ends_may_be_the_engines_and_replace_keys_as_they_like() {
    for case in CASES {
        let (client, server) = case.contexts();
        let options = Options::default().rekey_after(if case.is_13() { 2 } else { 1000 });
        let mut pair = arenatls_rig::pair::Pair::connected(client, server, &options);
        for n in 0..40u8 {
            let _ = pair.client.write(&[n; 100]).unwrap();
            let _ = pair.server.write(&[n; 100]).unwrap();
            if case.is_13() && n % 5 == 0 {
                let _ = pair.client.key_update(n % 2 == 0).unwrap();
            }
            let (to_client, to_server) = pair.settle();
            assert_eq!(to_client.unwrap(), [Seen::Plaintext(vec![n; 100])], "{case:?}");
            assert_eq!(to_server.unwrap(), [Seen::Plaintext(vec![n; 100])], "{case:?}");
        }
        if case.is_13() {
            assert_eq!(pair.client.sent().key_generations, pair.server.received().key_generations);
            assert_eq!(pair.server.sent().key_generations, pair.client.received().key_generations);
        }
        let _ = pair.client.close().unwrap();
        carry(&mut pair.client, &mut pair.server);
        assert_eq!(events(&mut pair.server).unwrap(), [Seen::PeerClosed]);
        assert_eq!(pair.server.state(), State::ReceiveClosed);
    }
}

#[test]
fn close_notify_is_the_last_record() {
    each_engine(&Options::default(), |live, _| {
        let _ = live.victim().write(b"last").unwrap();
        assert_eq!(live.victim().close(), Ok(Progress::Done(())));
        assert_eq!(live.victim().close(), Ok(Progress::Done(())));
        let out = take_output(live.victim());
        let lens = record_lens(&out);
        assert_eq!(lens.len(), 2);
        assert_eq!(live.ear.open(&out[..lens[0]]).1, b"last");
        assert_eq!(live.ear.open(&out[lens[0]..]), (ALERT, CLOSE_NOTIFY.to_vec()));
        assert!(matches!(live.victim().write(b"more"), Err(Error::Illegal(_))));
    });
}
