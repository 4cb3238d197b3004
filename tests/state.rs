//! Our state machine against OpenSSL's, and calls that the state does not allow.

use arenatls::state::Trigger;
use arenatls::{Error, IllegalTransition, Progress, State};
use arenatls_rig::mode::{Mode, for_each_mode, modes};
use arenatls_rig::native::error_queue_is_empty;
use arenatls_rig::pair::{Conn, Pair, Seen, carry, carry_chunks, events, feed};
use proptest::prelude::*;

/// `SSL_get_shutdown`'s bits.
const SENT: i32 = 1;
const RECEIVED: i32 = 2;

/// What OpenSSL must say of a connection in our state: whether it is in a handshake, and what was shut down. `None`
/// where it need not know (a connection that we gave up, or that failed).
fn assert_agrees(conn: &Conn, given_up: bool) {
    let (in_init, shutdown) = conn.openssl_state();
    match conn.state() {
        State::Idle => assert_eq!((in_init, shutdown), (true, 0)),
        // Done and sent, it stays in the handshake until it is polled.
        State::Handshake => assert_eq!(shutdown & SENT, 0),
        State::Traffic => assert_eq!((in_init, shutdown), (false, 0)),
        State::SendClosed => assert_eq!((in_init, shutdown), (false, SENT)),
        State::ReceiveClosed => assert_eq!((in_init, shutdown), (false, RECEIVED)),
        State::Closed if given_up => {}
        State::Closed => assert_eq!((in_init, shutdown), (false, SENT | RECEIVED)),
        State::Failed => assert!(conn.failure().is_some()),
    }
    assert_eq!(conn.failure().is_some(), conn.state() == State::Failed);
}

#[derive(Clone, Copy, Debug)]
enum Call {
    Poll,
    Write(usize),
    KeyUpdate(bool),
    Close,
    Abort,
    Carry(usize),
    End,
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        10 => Just(Call::Poll),
        4 => (0..20_000_usize).prop_map(Call::Write),
        2 => any::<bool>().prop_map(Call::KeyUpdate),
        1 => Just(Call::Close),
        10 => prop_oneof![1..300_usize, Just(usize::MAX)].prop_map(Call::Carry),
        1 => prop_oneof![9 => Just(Call::Poll), 1 => Just(Call::Abort), 2 => Just(Call::End)],
    ]
}

/// What the call, in this state, may do: the state afterwards, if it is not the peer's doing.
struct Model {
    given_up: [bool; 2],
}

impl Model {
    fn make(&mut self, ends: &mut [Conn; 2], end: usize, call: Call) {
        let [a, b] = ends;
        let (conn, peer) = if end == 0 { (a, b) } else { (b, a) };
        let (before, calls) = (conn.state(), conn.openssl_calls());
        let cause = conn.failure().cloned();
        match call {
            Call::Poll => {
                let event = conn.poll_event().map(|event| event.map(Seen::from));
                match (&event, conn.state()) {
                    (Ok(Some(Seen::HandshakeComplete)), after) => {
                        assert_eq!((before, after), (State::Handshake, State::Traffic))
                    }
                    (Ok(Some(Seen::PeerClosed)), after) => assert_eq!(Ok(after), before.after(Trigger::PeerClosed)),
                    (Ok(Some(Seen::Plaintext(_))), after) => assert!(after == before && before.can_read()),
                    (Ok(Some(Seen::Truncated)) | Err(_), after) => assert_eq!(after, State::Failed),
                    (Ok(None), State::Handshake) => {
                        assert!(conn.openssl_state().0 || conn.backend().unsent() > 0);
                        assert!(matches!(before, State::Idle | State::Handshake));
                    }
                    (Ok(None), after) => assert_eq!(after, before),
                }
            }
            Call::Write(0) => assert_eq!(conn.write(&[]), Ok(Progress::Done(0))),
            Call::Write(n) => self.judge(before, Trigger::Write, conn.write(&vec![7; n]).map(drop), cause, conn, calls),
            Call::KeyUpdate(_) if conn.ssl().version2() != Some(openssl::ssl::SslVersion::TLS1_3) => {}
            Call::KeyUpdate(ask) => {
                let result = conn.key_update(ask).map(drop);
                self.judge(before, Trigger::KeyUpdate, result, cause, conn, calls);
            }
            Call::Close => {
                let result = conn.close();
                self.given_up[end] |= matches!(before, State::Idle | State::Handshake);
                match result {
                    Ok(Progress::Done(())) => assert_eq!(Ok(conn.state()), before.after(Trigger::Close)),
                    Ok(Progress::Want(_)) => assert_eq!(conn.state(), before),
                    Err(error) => assert_eq!(Some(error), cause),
                }
            }
            Call::Abort => {
                conn.abort();
                self.given_up[end] |= before != State::Failed;
                assert_eq!(Ok(conn.state()), before.after(Trigger::Abort));
            }
            Call::Carry(n) => {
                carry_chunks(conn, peer, 1..=n);
            }
            Call::End => conn.backend_mut().end_of_input(),
        }
        assert!(error_queue_is_empty());
        for (conn, given_up) in ends.iter().zip(self.given_up) {
            assert_agrees(conn, given_up);
        }
    }

    /// A legal call does not fail and leaves the state; an illegal one is refused before OpenSSL hears of it.
    fn judge(
        &self,
        before: State,
        event: Trigger,
        result: Result<(), Error>,
        cause: Option<Error>,
        conn: &Conn,
        calls: u64,
    ) {
        assert_eq!(conn.state(), before);
        match before.after(event) {
            Ok(_) => assert_eq!(result, Ok(())),
            Err(illegal) => {
                assert_eq!(result, Err(cause.unwrap_or(Error::Illegal(illegal))));
                assert_eq!(conn.openssl_calls(), calls);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 160, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(4),
        ..ProptestConfig::default()
    })]

    #[test]
    fn our_state_is_openssls_over_random_calls(
        mode in 0..4_usize,
        connected in any::<bool>(),
        calls in prop::collection::vec((0..2_usize, call()), 0..150),
    ) {
        let mode = &modes()[mode];
        let pair = if connected { mode.connected() } else { mode.pair() };
        let mut ends = [pair.client, pair.server];
        let mut model = Model { given_up: [false; 2] };
        for (end, call) in calls {
            model.make(&mut ends, end, call);
        }
    }
}

/// A connection in `state`, and its peer.
fn in_state(mode: &Mode, state: State) -> (Conn, Conn) {
    let mut pair = match state {
        State::Idle | State::Handshake => mode.pair(),
        _ => mode.connected(),
    };
    match state {
        State::Idle | State::Traffic => {}
        State::Handshake => assert_eq!(events(&mut pair.client).unwrap(), []),
        State::SendClosed => assert!(pair.client.close().unwrap().done().is_some()),
        State::ReceiveClosed => {
            assert!(pair.server.close().unwrap().done().is_some());
            assert_eq!(pair.to_client(), [Seen::PeerClosed]);
        }
        State::Closed => {
            assert!(pair.server.close().unwrap().done().is_some());
            assert_eq!(pair.to_client(), [Seen::PeerClosed]);
            assert!(pair.client.close().unwrap().done().is_some());
        }
        State::Failed => {
            feed(&mut pair.client, &arenatls_rig::wire::plain_record(23, &[0; 40]));
            events(&mut pair.client).expect_err("it is not authentic");
        }
    }
    assert_eq!(pair.client.state(), state);
    (pair.client, pair.server)
}

/// Makes the call that is `trigger`; `None` where the caller has none.
fn pull(conn: &mut Conn, trigger: Trigger) -> Option<Result<(), Error>> {
    Some(match trigger {
        Trigger::Start | Trigger::Read => conn.poll_event().map(drop),
        Trigger::Write => conn.write(b"x").map(drop),
        Trigger::KeyUpdate => conn.key_update(false).map(drop),
        Trigger::Close => conn.close().map(drop),
        Trigger::Abort => {
            conn.abort();
            Ok(())
        }
        Trigger::HandshakeDone | Trigger::PeerClosed | Trigger::Fail => return None,
    })
}

#[test]
fn every_call_in_every_state_does_what_the_table_says() {
    for_each_mode(|mode| {
        for state in State::ALL {
            for trigger in Trigger::ALL {
                let (mut conn, _peer) = in_state(mode, state);
                let (calls, unsent) = (conn.openssl_calls(), conn.backend().unsent());
                let cause = conn.failure().cloned();
                let Some(result) = pull(&mut conn, trigger) else { continue };
                assert!(error_queue_is_empty());
                let untouched = (conn.openssl_calls(), conn.backend().unsent(), conn.state()) == (calls, unsent, state);
                match (state.after(trigger), trigger) {
                    // A poll is legal in any state; what it does depends on the state.
                    (_, Trigger::Start | Trigger::Read) => assert_eq!(result.err(), cause),
                    (Ok(_), Trigger::KeyUpdate) if !mode.is_tls13() => {
                        assert!(matches!(result, Err(Error::Misuse(_))) && untouched);
                    }
                    (Ok(after), _) => assert_eq!((result, conn.state()), (Ok(()), after), "{state:?} {trigger:?}"),
                    (Err(illegal), _) => {
                        assert_eq!(illegal, IllegalTransition { state, event: trigger });
                        let expected = cause.unwrap_or(Error::Illegal(illegal));
                        assert_eq!(result, Err(expected), "{state:?} {trigger:?}");
                        assert!(untouched, "{state:?} {trigger:?}: a refusal changes nothing");
                    }
                }
            }
        }
    });
}

#[test]
fn a_refused_call_leaves_the_connection_as_good_as_new() {
    for_each_mode(|mode| {
        let mut pair: Pair = mode.pair();
        for _ in 0..3 {
            assert!(pair.client.write(b"too early").is_err_and(|error| error.is_recoverable()));
            assert!(pair.client.key_update(true).is_err_and(|error| error.is_recoverable()));
            let _: Result<Vec<Seen>, Error> = events(&mut pair.client);
        }
        pair.handshake();
        if !mode.is_tls13() {
            assert!(matches!(pair.client.key_update(true), Err(Error::Misuse(_))));
        }
        assert_eq!(pair.client.write(b"now").unwrap().done(), Some(3));
        carry(&mut pair.client, &mut pair.server);
        assert_eq!(events(&mut pair.server).unwrap(), [Seen::Plaintext(b"now".to_vec())]);
    });
}
