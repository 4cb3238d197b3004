//! Any bytes, in every state: whatever a peer sends and whenever the owner calls,
//!
//! - nothing panics and nothing goes on for ever;
//! - no plaintext is delivered but what an authentic peer sent, in its order;
//! - OpenSSL's error queue is empty after every call;
//! - what leaves are authentic records, and their data is what was accepted;
//! - a failure stays the same for good, is never called a bug, and lets nothing more out;
//! - a call that is refused is refused by type, and changes nothing.

use arenatls::{Blame, Capacities, Error, Event, InPlace, Progress, State};
use arenatls_rig::pair::{Conn, feed, take_output};
use openssl::error::ErrorStack;

use crate::forge::{ALERT, CLOSE_NOTIFY, DATA, HANDSHAKE};
use crate::program::{Reader, Setting, Step};
use crate::world::World;

/// The most steps of one input.
const STEPS: usize = 200;
/// More events than the input can hold records.
const EVENTS: usize = 100_000;

/// Runs one input.
///
/// # Panics
///
/// If a promise is broken.
pub fn run(data: &[u8]) {
    let mut input = Reader::new(data);
    let setting = input.setting();
    let mut run = Run::new(World::new(setting, &mut input), input.byte());
    match setting {
        Setting::SendClosed => run.step(&Step::Close),
        Setting::ReceiveClosed => run.step(&Step::Record(ALERT, CLOSE_NOTIFY.to_vec())),
        _ => {}
    }
    for _ in 0..STEPS {
        let Some(step) = input.step() else { break };
        run.step(&step);
        run.check();
    }
    run.step(&Step::End);
    run.check();
}

struct Run {
    world: World,
    /// Bytes that arrive at once.
    chunk: usize,
    /// What authentic records held so far, as long as nothing else came.
    sent: Vec<u8>,
    tainted: bool,
    delivered: Vec<u8>,
    /// Data that was accepted, and data that has left (bytes).
    accepted: usize,
    left: usize,
    failure: Option<Error>,
}

impl Run {
    fn new(world: World, chunk: u8) -> Run {
        let chunk = if chunk == 0 { usize::MAX } else { chunk.into() };
        Run {
            world,
            chunk,
            sent: Vec::new(),
            tainted: false,
            delivered: Vec::new(),
            accepted: 0,
            left: 0,
            failure: None,
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Raw(bytes) => {
                self.tainted |= !bytes.is_empty();
                self.arrive(bytes);
            }
            Step::Flight(at, flip) => self.flight(*at, *flip),
            Step::Record(kind, plain) => {
                if let Some(record) = self.authentic(*kind, plain) {
                    self.arrive(&record);
                }
            }
            Step::Forged(outer, inner, at, flip) => self.forged(*outer, inner, *at, *flip),
            Step::Write(len) => self.write(usize::from(*len)),
            Step::Fill => {
                for len in [16_384, 500, 1] {
                    self.write(len);
                }
            }
            Step::Close => {
                let closed = self.world.victim.close();
                self.called(closed);
            }
            Step::KeyUpdate(ask) => {
                let updated = self.world.victim.key_update(*ask);
                self.called(updated);
            }
            Step::Drain => self.drain(),
            Step::End => {
                self.world.victim.backend_mut().end_of_input();
                self.poll();
            }
            Step::OpenIn(kind, plain) => self.open_in(*kind, plain),
            Step::SealInto(len, given) => self.seal_into(usize::from(*len), usize::from(*given)),
        }
    }

    /// What the peer would send of its own accord.
    fn flight(&mut self, at: u16, flip: u8) {
        if self.world.forger.is_some() {
            return;
        }
        while let Ok(Some(_)) = self.world.peer.poll_event() {}
        let mut wire = take_output(&mut self.world.peer);
        if !wire.is_empty() {
            let at = usize::from(at) % wire.len();
            wire[at] ^= flip;
        }
        self.arrive(&wire);
    }

    /// A record that the peer might send.
    fn authentic(&mut self, kind: u8, plain: &[u8]) -> Option<Vec<u8>> {
        let forger = self.world.forger.as_mut()?;
        let record = if kind == DATA { forger.data(plain) } else { forger.record(kind, plain) };
        let (kind, plain) = if forger.is_13() { without_padding(kind, plain) } else { (kind, plain) };
        self.note(kind, plain);
        Some(record)
    }

    /// What an authentic record holds.
    fn note(&mut self, kind: u8, plain: &[u8]) {
        if kind == DATA && !self.tainted {
            self.sent.extend(plain);
        }
        if let Some(forger) = &mut self.world.forger
            && forger.is_13()
            && kind == HANDSHAKE
            && matches!(plain, [24, 0, 0, 1, 0 | 1])
        {
            forger.next_generation();
        }
    }

    fn forged(&mut self, outer: u8, inner: &[u8], at: u16, flip: u8) {
        let Some(forger) = &mut self.world.forger else { return };
        let mut record = forger.inner(outer, inner);
        let at = usize::from(at) % record.len();
        record[at] ^= flip;
        match (flip, forger.is_13()) {
            (0, false) => self.note(outer, inner),
            (0, true) if outer == DATA => {
                let (kind, plain) = without_padding(0, inner);
                self.note(kind, plain);
            }
            _ => self.tainted = true,
        }
        self.arrive(&record);
    }

    fn arrive(&mut self, mut bytes: &[u8]) {
        loop {
            let n = feed(&mut self.world.victim, &bytes[..bytes.len().min(self.chunk)]);
            bytes = &bytes[n..];
            self.poll();
            if bytes.is_empty() || n == 0 {
                // What has no room is lost, and nothing that comes after it is authentic.
                self.tainted |= !bytes.is_empty();
                return;
            }
        }
    }

    fn poll(&mut self) {
        for _ in 0..EVENTS {
            let step = match self.world.victim.poll_event() {
                Ok(None) => Ok(false),
                Ok(Some(Event::Plaintext(lent))) => {
                    self.delivered.extend(&*lent);
                    Ok(true)
                }
                Ok(Some(_)) => Ok(true),
                Err(error) => Err(error),
            };
            match step {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.failed(error),
            }
        }
        panic!("it goes round and round: {:?}", self.world.victim);
    }

    fn write(&mut self, len: usize) {
        // Each write that is taken takes room, of which there is an end.
        for _ in 0..EVENTS {
            let wrote = self.world.victim.write(&vec![b'w'; len]);
            let taken = wrote.as_ref().map_or(0, |progress| progress.done().unwrap_or(0));
            self.accepted += taken;
            self.called(wrote);
            if taken == 0 {
                return;
            }
        }
        panic!("there is no end of the room: {:?}", self.world.victim);
    }

    fn drain(&mut self) {
        let wire = take_output(&mut self.world.victim);
        if self.world.ear.is_some() {
            self.hear(&wire);
        } else {
            feed(&mut self.world.peer, &wire);
        }
        self.poll();
    }

    /// What we send, to one who has our keys.
    fn hear(&mut self, mut wire: &[u8]) {
        let Some(ear) = &mut self.world.ear else { return };
        while let [_, _, _, high, low, ..] = *wire {
            let (record, rest) = wire.split_at(5 + usize::from(u16::from_be_bytes([high, low])));
            match ear.open(record) {
                (DATA, plain) => self.left += plain.len(),
                (HANDSHAKE, message) if ear.is_13() => {
                    assert!(matches!(message[..], [24, 0, 0, 1, 0 | 1]), "a KeyUpdate is all there is to say");
                    ear.next_generation();
                }
                (ALERT, alert) => assert_eq!(alert.len(), 2),
                (kind, _) => panic!("a record of type {kind}"),
            }
            wire = rest;
        }
        assert!(wire.is_empty(), "whole records");
        assert_eq!(self.left, self.accepted, "what is accepted is ciphertext at once");
    }

    fn open_in(&mut self, kind: u8, plain: &[u8]) {
        let Some(mut record) = self.authentic(kind, plain) else { return };
        match self.world.victim.open_in(&mut record) {
            Ok(Progress::Done(InPlace::Plaintext(range))) => self.delivered.extend(&record[range]),
            Ok(Progress::Done(_)) => {}
            Ok(Progress::Want(_)) => self.tainted = true,
            Err(error) => {
                // The record was not taken, and is lost.
                self.tainted = true;
                self.called::<()>(Err(error));
            }
        }
    }

    fn seal_into(&mut self, len: usize, given: usize) {
        let needed = self.world.victim.sealed_len(len);
        let mut out = vec![0xee; given];
        let sealed = self.world.victim.seal_into(&vec![b's'; len], &mut out);
        match &sealed {
            Ok(Progress::Done(0)) => assert_eq!(len, 0),
            Ok(Progress::Done(n)) => {
                assert_eq!(needed, Some(*n));
                self.accepted += len;
                self.hear(&out[..*n]);
            }
            _ => assert!(out.iter().all(|b| *b == 0xee) || self.world.victim.state() == State::Failed),
        }
        self.called(sealed);
    }

    /// What a call came to.
    fn called<T>(&mut self, result: Result<Progress<T>, Error>) {
        let Err(error) = result else { return };
        if error.is_recoverable() {
            assert_ne!(self.world.victim.failure(), Some(&error));
        } else {
            self.failed(error);
        }
    }

    fn failed(&mut self, error: Error) {
        assert_ne!(error.blame(), Blame::Bug, "{error:?}");
        assert_ne!(error.blame(), Blame::Caller, "{error:?}");
        match &self.failure {
            Some(first) => assert_eq!(first, &error),
            None => self.failure = Some(error),
        }
    }

    fn check(&mut self) {
        assert!(ErrorStack::get().errors().is_empty(), "OpenSSL's queue is left empty");
        assert!(self.sent.starts_with(&self.delivered), "delivered {:?} of {:?}", self.delivered, self.sent);
        let victim: &mut Conn = &mut self.world.victim;
        assert!(victim.backend().unsent() <= Capacities::MINIMUM.outbound());
        assert_eq!(victim.failure(), self.failure.as_ref());
        let Some(failure) = &self.failure else {
            assert_ne!(victim.state(), State::Failed);
            return;
        };
        assert_eq!(victim.state(), State::Failed);
        let unsent = victim.backend().unsent();
        assert_eq!(victim.poll_event().map(|_| ()).as_ref(), Err(failure));
        assert_eq!(victim.write(b"w").as_ref(), Err(failure));
        assert_eq!(victim.close().as_ref(), Err(failure));
        assert_eq!(victim.backend_mut().unsent(), unsent, "a failed connection says nothing more");
    }
}

/// What a TLS 1.3 record of `plain` and then `kind` is: zeros at its end are padding (RFC 8446 §5.4).
fn without_padding(kind: u8, plain: &[u8]) -> (u8, &[u8]) {
    if kind != 0 {
        return (kind, plain);
    }
    match plain.iter().rposition(|b| *b != 0) {
        Some(at) => (plain[at], &plain[..at]),
        None => (0, &[]),
    }
}
