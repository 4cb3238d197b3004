//! Keys handed over to a kernel, which is a forger here: what the engine then makes and takes are plain records.

use arenatls::options::Padding;
use arenatls::{Alert, BadRecord, Direction, Error, InPlace, Options, Progress, Protection, State, Takeover, Want};
use arenatls_rig::pair::{Conn, Seen, feed, plaintext, take_output};

use crate::forge::{ALERT, DATA, Forger, HANDSHAKE};
use crate::support::{Case, KEY_UPDATE, Live, assert_sticky, each, pump};

/// A kernel that has the keys of some directions.
#[derive(Default)]
struct Kernel {
    send: Option<Forger>,
    receive: Option<Forger>,
}

const BOTH: [Direction; 2] = [Direction::Send, Direction::Receive];

impl Kernel {
    /// Takes what the victim offers of `direction`.
    fn take(&mut self, conn: &mut Conn, direction: Direction, rekeys: bool) -> Result<Progress<bool>, Error> {
        conn.hand_over(direction, |info| {
            assert_eq!(format!("{info:?}"), format!("CryptoInfo({} bytes)", info.as_bytes().len()));
            let forger = Forger::from_crypto_info(info.as_bytes());
            assert_eq!(forger.sequence, info.sequence());
            *if direction == Direction::Send { &mut self.send } else { &mut self.receive } = Some(forger);
            Takeover::Taken { rekeys }
        })
    }

    /// What the victim has to send, as it is on the wire.
    fn seal(&mut self, conn: &mut Conn) -> Vec<u8> {
        let out = take_output(conn);
        match &mut self.send {
            Some(forger) => records(&out).iter().flat_map(|record| forger.record(record[0], &record[5..])).collect(),
            None => out,
        }
    }

    /// What comes over the wire, as the victim gets it.
    fn open(&mut self, wire: &[u8]) -> Vec<u8> {
        let Some(forger) = &mut self.receive else { return wire.to_vec() };
        let plain = |record: &Vec<u8>| {
            let (content_type, text) = forger.open(record);
            framed(content_type, &text)
        };
        records(wire).iter().flat_map(plain).collect()
    }

    /// The peer sees what the victim has to send.
    fn deliver(&mut self, live: &mut Live) -> (Vec<Seen>, Option<Error>) {
        let wire = self.seal(live.victim());
        pump(live.peer(), &wire, usize::MAX)
    }

    /// The victim sees what the peer has to send.
    fn bring(&mut self, live: &mut Live) -> (Vec<Seen>, Option<Error>) {
        let plain = self.open(&take_output(live.peer()));
        live.attack(&plain)
    }
}

fn framed(content_type: u8, text: &[u8]) -> Vec<u8> {
    [&[content_type, 3, 3][..], &u16::try_from(text.len()).unwrap().to_be_bytes(), text].concat()
}

fn records(mut wire: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while let [_, _, _, high, low, ..] = *wire {
        let (record, rest) = wire.split_at(5 + usize::from(u16::from_be_bytes([high, low])));
        all.push(record.to_vec());
        wire = rest;
    }
    assert!(wire.is_empty(), "whole records");
    all
}

/// Every case and end of Engine protection with `options`, after some records each way, with the keys of
/// `directions` in a kernel.
fn each_kernel(
    options: &Options,
    directions: &[Direction],
    rekeys: bool,
    mut f: impl FnMut(&mut Live, &mut Kernel, Case),
) {
    each(&options.keep_keys(true, true), |live, case, engine| {
        if !engine {
            return;
        }
        talk(&mut Kernel::default(), live, 3);
        let mut kernel = Kernel::default();
        for direction in directions {
            assert!(live.victim().offers_keys(*direction));
            assert_eq!(kernel.take(live.victim(), *direction, rekeys), Ok(Progress::Done(true)));
            assert!(!live.victim().offers_keys(*direction));
        }
        f(live, &mut kernel, case);
    });
}

/// Some records each way, of all lengths.
fn talk(kernel: &mut Kernel, live: &mut Live, rounds: u8) {
    for round in 0..rounds {
        for len in [1, 100, 16_384usize] {
            let text = vec![round; len];
            assert_eq!(live.victim().write(&text), Ok(Progress::Done(len)));
            let (seen, failure) = kernel.deliver(live);
            assert_eq!((plaintext(&seen), failure), (text.clone(), None));
            assert_eq!(live.peer().write(&text), Ok(Progress::Done(len)));
            let (seen, failure) = kernel.bring(live);
            assert_eq!((plaintext(&seen), failure), (text, None));
        }
    }
}

#[test]
fn the_kernel_goes_on_where_the_engine_was() {
    for directions in [&BOTH[..], &BOTH[..1], &BOTH[1..]] {
        each_kernel(&Options::default(), directions, false, |live, kernel, _| {
            let of = |direction| match directions.contains(&direction) {
                true => Protection::Kernel,
                false => Protection::Engine,
            };
            assert_eq!(live.victim().protection(), (of(Direction::Send), of(Direction::Receive)));
            let calls = live.victim().openssl_calls();
            talk(kernel, live, 2);
            assert_eq!(live.victim().openssl_calls(), calls, "data makes no call into OpenSSL");
            assert_eq!((live.victim().sent().records, live.victim().received().records), (15, 15));
        });
    }
}

#[test]
fn what_is_written_is_plaintext_behind_a_header() {
    each_kernel(&Options::default(), &BOTH, false, |live, _, _| {
        live.victim().write(b"plain").unwrap().done().unwrap();
        live.victim().close().unwrap().done().unwrap();
        assert_eq!(take_output(live.victim()), [framed(DATA, b"plain"), framed(ALERT, &[1, 0])].concat());
    });
}

#[test]
fn both_directions_end_cleanly() {
    each_kernel(&Options::default(), &BOTH, false, |live, kernel, _| {
        live.victim().close().unwrap().done().unwrap();
        assert_eq!(kernel.deliver(live), (vec![Seen::PeerClosed], None));
        live.peer().write(b"still here").unwrap().done().unwrap();
        live.peer().close().unwrap().done().unwrap();
        let seen = vec![Seen::Plaintext(b"still here".to_vec()), Seen::PeerClosed];
        assert_eq!(kernel.bring(live), (seen, None));
        assert_eq!(live.victim().state(), State::Closed);
    });
}

#[test]
fn a_record_that_the_kernel_would_not_open_ends_it_behind_those_that_it_did() {
    let cases = [
        (BadRecord::Mac, Alert::BAD_RECORD_MAC),
        (BadRecord::Overflow { length: 20_000, limit: 16_640 }, Alert::RECORD_OVERFLOW),
        (BadRecord::Version(0), Alert::PROTOCOL_VERSION),
    ];
    for (bad, alert) in cases {
        each_kernel(&Options::default(), &BOTH, false, |live, kernel, _| {
            let victim = live.victim();
            assert_eq!(feed(victim, &framed(DATA, b"good")), 9);
            victim.not_opened(bad);
            assert_eq!(pump(victim, &[], 1), (vec![Seen::Plaintext(b"good".to_vec())], Some(Error::Record(bad))));
            assert_eq!(
                victim.protection(),
                (Protection::Kernel, Protection::Kernel),
                "a failure is no reason to forget"
            );
            assert_eq!(kernel.deliver(live).1, Some(Error::PeerAlert(alert)));
        });
    }
}

#[test]
fn types_that_no_record_has_are_refused_in_the_kernel_too() {
    for content_type in [20, 24] {
        each_kernel(&Options::default(), &BOTH, false, |live, kernel, _| {
            let (seen, failure) = live.attack(&framed(content_type, b"x"));
            assert_eq!((seen, failure), (vec![], Some(Error::Record(BadRecord::ContentType(content_type)))));
            assert_eq!(kernel.deliver(live).1, Some(Error::PeerAlert(Alert::UNEXPECTED_MESSAGE)));
        });
    }
}

#[test]
fn an_alert_of_the_peer_is_heard() {
    each_kernel(&Options::default(), &BOTH, false, |live, _, _| {
        let (_, failure) = live.attack(&framed(ALERT, &[2, 80]));
        assert_eq!(failure, Some(Error::PeerAlert(Alert::INTERNAL_ERROR)));
    });
}

#[test]
fn nothing_is_handed_over_in_the_middle_of_something() {
    each(&Options::default().keep_keys(true, true), |live, _, engine| {
        if !engine {
            return;
        }
        let mut kernel = Kernel::default();
        live.victim().write(b"on its way").unwrap().done().unwrap();
        assert_eq!(kernel.take(live.victim(), Direction::Send, false), Ok(Progress::Want(Want::Drain)));
        let record = live.forger.data(b"half of it comes");
        feed(live.victim(), &record[..10]);
        assert_eq!(kernel.take(live.victim(), Direction::Receive, false), Ok(Progress::Want(Want::Input)));
        assert!(kernel.send.is_none() && kernel.receive.is_none(), "nothing was shown");
        feed(live.victim(), &record[10..]);
        assert_eq!(kernel.take(live.victim(), Direction::Receive, false), Ok(Progress::Want(Want::Input)));
        assert_eq!(pump(live.victim(), &[], 1).0, [Seen::Plaintext(b"half of it comes".to_vec())]);
        assert_eq!(kernel.take(live.victim(), Direction::Receive, false), Ok(Progress::Done(true)));
        assert_eq!(plaintext(&live.deliver()), b"on its way");
        assert_eq!(kernel.take(live.victim(), Direction::Send, false), Ok(Progress::Done(true)));
    });
}

#[test]
fn a_kernel_that_refuses_is_asked_once() {
    each(&Options::default().keep_keys(true, true), |live, _, engine| {
        if !engine {
            return;
        }
        for direction in BOTH {
            assert_eq!(live.victim().hand_over(direction, |_| Takeover::Refused), Ok(Progress::Done(false)));
            assert!(!live.victim().offers_keys(direction));
            let again = live.victim().hand_over(direction, |_| panic!("there is nothing to offer"));
            assert!(matches!(again, Err(Error::Misuse(_))));
        }
        assert_eq!(live.victim().protection(), (Protection::Engine, Protection::Engine));
        talk(&mut Kernel::default(), live, 1);
    });
}

#[test]
fn what_is_not_kept_is_not_offered() {
    let plain = Options::default();
    let padded = plain.keep_keys(true, true).padding(Padding::Multiple(64));
    for (options, receives) in [(plain, false), (padded, true), (plain.keep_keys(true, true).max_plaintext(100), true)]
    {
        each(&options, |live, _, engine| {
            assert!(!live.victim().offers_keys(Direction::Send));
            assert_eq!(live.victim().offers_keys(Direction::Receive), receives && engine);
        });
    }
}

#[test]
fn memory_of_ones_own_needs_the_engine() {
    each_kernel(&Options::default(), &BOTH, false, |live, _, _| {
        let victim = live.victim();
        assert_eq!(victim.sealed_len(1), None);
        assert!(matches!(victim.seal_into(b"x", &mut [0; 100]), Err(Error::Misuse(_))));
        assert!(matches!(victim.open_in(&mut framed(DATA, b"x")), Err::<Progress<InPlace>, _>(Error::Misuse(_))));
        assert_eq!(victim.backend().unsent(), 0);
    });
}

#[test]
fn a_key_update_ends_it_where_the_kernel_takes_no_other_key() {
    for (directions, ask) in [(&BOTH[..], false), (&BOTH[..], true), (&BOTH[1..], false), (&BOTH[..1], true)] {
        each_kernel(&Options::default(), directions, false, |live, kernel, case| {
            if !case.is_13() {
                return;
            }
            live.peer().key_update(ask).unwrap().done().unwrap();
            assert_eq!(kernel.bring(live), (vec![], Some(Error::KernelCannotRekey)));
            assert_sticky(live.victim(), &Error::KernelCannotRekey);
            assert_eq!(kernel.deliver(live).1, Some(Error::PeerAlert(Alert::INTERNAL_ERROR)));
        });
    }
}

#[test]
fn our_own_key_update_is_refused_where_the_kernel_takes_no_other_key() {
    for (directions, ask) in [(&BOTH[..1], false), (&BOTH[..1], true), (&BOTH[1..], true)] {
        each_kernel(&Options::default(), directions, false, |live, kernel, _| {
            let calls = live.victim().openssl_calls();
            assert!(matches!(live.victim().key_update(ask), Err(Error::Misuse(_))));
            assert_eq!((live.victim().openssl_calls(), live.victim().backend().unsent()), (calls, 0));
            talk(kernel, live, 1);
        });
    }
}

#[test]
fn a_kernel_that_takes_other_keys_is_given_them() {
    for directions in [&BOTH[..], &BOTH[..1], &BOTH[1..]] {
        each_kernel(&Options::default(), directions, true, |live, kernel, case| {
            if !case.is_13() {
                return;
            }
            for round in 0..3 {
                live.peer().key_update(true).unwrap().done().unwrap();
                assert_eq!(kernel.bring(live), (vec![], None));
                receive_key(kernel, live);
                send_key(kernel, live);
                talk(kernel, live, 1);
                live.victim().key_update(true).unwrap().done().unwrap();
                send_key(kernel, live);
                assert_eq!(kernel.bring(live), (vec![], None), "the answer");
                receive_key(kernel, live);
                talk(kernel, live, 1);
                assert_eq!(live.victim().sent().key_generations, 3 + 2 * round);
            }
        });
    }
}

fn receive_key(kernel: &mut Kernel, live: &mut Live) {
    if kernel.receive.is_some() {
        assert!(live.victim().offers_keys(Direction::Receive));
        assert_eq!(kernel.take(live.victim(), Direction::Receive, true), Ok(Progress::Done(true)));
        assert_eq!(kernel.receive.as_ref().unwrap().sequence, 0);
    }
}

/// The KeyUpdate leaves under the old key, and nothing may be written before the kernel has the new one.
fn send_key(kernel: &mut Kernel, live: &mut Live) {
    if kernel.send.is_none() {
        assert_eq!(kernel.deliver(live), (vec![], None));
        return;
    }
    assert!(live.victim().backend().unsent() > 0, "a KeyUpdate");
    assert_eq!(kernel.take(live.victim(), Direction::Send, true), Ok(Progress::Want(Want::Drain)));
    assert_eq!(live.victim().write(b"too early"), Ok(Progress::Want(Want::Drain)));
    assert_eq!(live.victim().key_update(false), Ok(Progress::Want(Want::Drain)));
    assert_eq!(live.victim().close(), Ok(Progress::Want(Want::Drain)));
    assert_eq!(kernel.deliver(live), (vec![], None));
    assert_eq!(live.victim().write(b"too early"), Ok(Progress::Want(Want::Drain)));
    assert_eq!(live.victim().backend().unsent(), 0);
    assert_eq!(kernel.take(live.victim(), Direction::Send, true), Ok(Progress::Done(true)));
    assert_eq!(kernel.send.as_ref().unwrap().sequence, 0);
}

#[test]
fn new_keys_that_are_refused_after_all_end_it() {
    each_kernel(&Options::default(), &BOTH, true, |live, kernel, case| {
        if !case.is_13() {
            return;
        }
        live.peer().key_update(false).unwrap().done().unwrap();
        assert_eq!(kernel.bring(live), (vec![], None));
        let refused = live.victim().hand_over(Direction::Receive, |_| Takeover::Refused);
        assert_eq!(refused, Err(Error::KernelCannotRekey));
        assert_eq!(kernel.deliver(live).1, Some(Error::PeerAlert(Alert::INTERNAL_ERROR)));
    });
    each_kernel(&Options::default(), &BOTH, true, |live, kernel, case| {
        if !case.is_13() {
            return;
        }
        live.victim().key_update(false).unwrap().done().unwrap();
        assert_eq!(kernel.deliver(live), (vec![], None));
        let refused = live.victim().hand_over(Direction::Send, |_| Takeover::Refused);
        assert_eq!(refused, Err(Error::KernelCannotRekey));
        assert_eq!(live.victim().backend().unsent(), 0, "the peer would not understand a word");
    });
}

#[test]
fn a_key_that_has_done_its_work_is_replaced_or_the_end() {
    let options = Options::default().rekey_after(12);
    for rekeys in [true, false] {
        each_kernel(&options, &BOTH, rekeys, |live, kernel, case| {
            if !case.is_13() {
                return;
            }
            // Nine records were made before.
            for _ in 0..3 {
                live.victim().write(b"x").unwrap().done().unwrap();
                assert_eq!(kernel.deliver(live).1, None);
            }
            let last = live.victim().write(b"x");
            if rekeys {
                assert_eq!(last, Ok(Progress::Want(Want::Drain)));
                send_key(kernel, live);
                talk(kernel, live, 1);
            } else {
                assert_eq!(last, Err(Error::KeysWornOut { records: 12 }));
                assert_eq!(kernel.deliver(live).0.last(), Some(&Seen::PeerClosed));
            }
        });
    }
}

/// A handshake message over two records with something between them is refused by OpenSSL, which sees what follows.
#[test]
fn messages_are_not_interleaved_with_data_in_the_kernel_either() {
    each_kernel(&Options::default(), &BOTH, true, |live, kernel, case| {
        if !case.is_13() {
            return;
        }
        let attack = [framed(HANDSHAKE, &KEY_UPDATE[..3]), framed(DATA, b"between")].concat();
        let (seen, failure) = live.attack(&attack);
        assert!(seen.is_empty() && matches!(failure, Some(Error::Protocol(_))), "{seen:?} {failure:?}");
        assert_eq!(kernel.deliver(live).1, Some(Error::PeerAlert(Alert::UNEXPECTED_MESSAGE)));
    });
}
