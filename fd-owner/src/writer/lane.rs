//! One writer's ring of bytes: messages in at one end, on one thread; plaintext out at the other, on the driver's.

use std::io::IoSlice;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arenatls_engine::{Error, Progress, Want};
use crossbeam_utils::sync::{Parker, Unparker};
use rtrb::{Consumer, Producer, RingBuffer};
use zeroize::Zeroize as _;

use super::run::{Content, HEADER, Run};

/// A message is on its way into the ring.
const BUSY: u8 = 1;
/// Nothing more gets in.
const SHUT: u8 = 2;

/// What both ends know.
#[derive(Debug, Default)]
struct Link {
    /// [`BUSY`] and [`SHUT`]. Who finds it shut did not get in; who finds it busy when shutting it waits for one more
    /// message. So what was accepted is known exactly.
    gate: AtomicU8,
    /// Room that the writer waits for (bytes); 0 while it does not wait.
    wanted: AtomicUsize,
    /// Plaintext sealed so far (bytes).
    sealed: AtomicU64,
    /// The writer was dropped.
    gone: AtomicBool,
    /// The half of the ring whose owner was the first to let go.
    half: Mutex<Option<Half>>,
}

#[derive(Debug)]
enum Half {
    Writers(Producer<u8>),
    Drivers(Consumer<u8>),
}

/// Why a message did not get in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Shut,
    Full { room: usize },
    TooLong { most: usize },
}

/// The writer's end.
#[derive(Debug)]
pub(super) struct Feed {
    /// There until the drop.
    ring: Option<Producer<u8>>,
    link: Arc<Link>,
    parker: Parker,
    accepted: u64,
}

/// The driver's end.
#[derive(Debug)]
pub(super) struct Lane {
    /// There until the drop.
    ring: Option<Consumer<u8>>,
    link: Arc<Link>,
    unparker: Unparker,
    /// Bytes to come of the message that was begun.
    rest: usize,
    /// Bytes of the ring that were there at the last [`mark`](Self::mark), and still are.
    marked: usize,
}

/// What came of a look into a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handed {
    /// There was no message.
    Nothing,
    /// Some of it was sealed.
    Bytes,
    /// Nothing could be sealed before this.
    Want(Want),
}

/// Both ends of a ring of `capacity` bytes.
pub(super) fn lane(capacity: usize) -> (Feed, Lane) {
    let (producer, consumer) = RingBuffer::new(capacity);
    let (link, parker) = (Arc::new(Link::default()), Parker::new());
    let unparker = parker.unparker().clone();
    let lane = Lane { ring: Some(consumer), link: Arc::clone(&link), unparker, rest: 0, marked: 0 };
    (Feed { ring: Some(producer), link, parker, accepted: 0 }, lane)
}

impl Feed {
    /// Takes all of `message`, or nothing. The flag says whether the driver has to be told, whatever came of it.
    pub(super) fn push(&mut self, message: &[u8]) -> (Result<(), Refused>, bool) {
        if !self.enter() {
            return (Err(Refused::Shut), false);
        }
        let put = self.put(message);
        let tell = self.leave() || put.is_ok();
        (put, tell)
    }

    /// False if the gate is shut.
    pub(super) fn enter(&self) -> bool {
        self.link.gate.compare_exchange(0, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// True if the gate was shut meanwhile, and the driver waits for a word.
    pub(super) fn leave(&self) -> bool {
        self.link.gate.fetch_and(!BUSY, Ordering::AcqRel) & SHUT != 0
    }

    fn put(&mut self, message: &[u8]) -> Result<(), Refused> {
        let Some(ring) = &mut self.ring else { return Err(Refused::Shut) };
        let most = ring.buffer().capacity() - HEADER;
        let length = u32::try_from(message.len()).ok().filter(|_| message.len() <= most);
        let Some(length) = length else { return Err(Refused::TooLong { most }) };
        let room = match ring.cached_slots() {
            cached if cached >= HEADER + message.len() => cached,
            _ => ring.slots(),
        };
        if room < HEADER + message.len() {
            return Err(Refused::Full { room: room.saturating_sub(HEADER) });
        }
        // There is room for both; and the driver begins no message before all of it is there.
        let put = ring.push_entire_slice(&length.to_le_bytes()).and_then(|()| ring.push_entire_slice(message));
        debug_assert!(put.is_ok(), "only this thread takes room");
        self.accepted += message.len() as u64;
        Ok(())
    }

    /// Says what room is waited for, or that none is. After it the caller tries once more, and only then waits.
    pub(super) fn want(&self, message: usize) {
        let wanted = if message == 0 { 0 } else { HEADER + message };
        self.link.wanted.store(wanted, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Waits until the driver has something to say, or has said it since the last wait. False if it is too late.
    pub(super) fn park(&self, deadline: Option<Instant>) -> bool {
        match deadline {
            Some(deadline) if deadline <= Instant::now() => return false,
            Some(deadline) => self.parker.park_deadline(deadline),
            None => self.parker.park(),
        }
        true
    }

    /// Plaintext taken so far (bytes).
    pub(super) fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Of that, what is not sealed (bytes).
    pub(super) fn unsealed(&self) -> u64 {
        self.accepted - self.link.sealed.load(Ordering::Acquire)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        if let Some(ring) = self.ring.take() {
            self.link.part(Half::Writers(ring));
        }
        // Only now: the driver lets go of a lane whose writer has.
        self.link.gone.store(true, Ordering::Release);
    }
}

impl Lane {
    /// Remembers how much there is.
    pub(super) fn mark(&mut self) {
        self.marked = self.ring.as_ref().map_or(0, Consumer::slots);
    }

    /// Gives `write` messages from where they lie; what it takes is gone from the ring.
    pub(super) fn hand_over(
        &mut self,
        write: &mut impl FnMut(&[IoSlice<'_>]) -> Result<Progress<usize>, Error>,
    ) -> Result<Handed, Error> {
        self.hand_over_most(usize::MAX, write)
    }

    /// As [`hand_over`](Self::hand_over), of what was there at the last mark.
    pub(super) fn hand_over_marked(
        &mut self,
        write: &mut impl FnMut(&[IoSlice<'_>]) -> Result<Progress<usize>, Error>,
    ) -> Result<Handed, Error> {
        let handed = self.hand_over_most(self.marked, write)?;
        if handed == Handed::Nothing {
            // A message that was on its way into the ring, and so was not accepted yet.
            self.marked = 0;
        }
        Ok(handed)
    }

    fn hand_over_most(
        &mut self,
        most: usize,
        write: &mut impl FnMut(&[IoSlice<'_>]) -> Result<Progress<usize>, Error>,
    ) -> Result<Handed, Error> {
        let Some(ring) = &mut self.ring else { return Ok(Handed::Nothing) };
        let Ok(chunk) = ring.read_chunk(ring.slots().min(most)) else { return Ok(Handed::Nothing) };
        let bytes = Content(chunk.as_slices());
        let run = Run::of(bytes, self.rest);
        if run.is_empty() {
            return Ok(Handed::Nothing);
        }
        let n = match write(run.slices())? {
            Progress::Done(n) => n,
            Progress::Want(want) => return Ok(Handed::Want(want)),
        };
        let taken = bytes.pass(&mut self.rest, n);
        chunk.commit(taken);
        self.marked = self.marked.saturating_sub(taken);
        let sealed = self.link.sealed.load(Ordering::Relaxed) + n as u64;
        self.link.sealed.store(sealed, Ordering::Release);
        self.tell_of_room();
        Ok(Handed::Bytes)
    }

    fn tell_of_room(&self) {
        let Some(ring) = &self.ring else { return };
        fence(Ordering::SeqCst);
        let wanted = self.link.wanted.load(Ordering::Relaxed);
        if wanted != 0 && ring.buffer().capacity() - ring.slots() >= wanted {
            self.link.wanted.store(0, Ordering::Relaxed);
            self.unparker.unpark();
        }
    }

    /// Lets nothing more in, and wakes the writer if it waits.
    pub(super) fn shut(&self) {
        self.link.gate.fetch_or(SHUT, Ordering::AcqRel);
        self.unparker.unpark();
    }

    /// A message is on its way in. Once it is shut, the last.
    pub(super) fn is_busy(&self) -> bool {
        self.link.gate.load(Ordering::Acquire) & BUSY != 0
    }

    /// A message was begun and has to be finished before another lane's turn.
    pub(super) fn is_amid(&self) -> bool {
        self.rest > 0
    }

    /// The writer is no more. What it left in the ring is all there is.
    pub(super) fn is_gone(&self) -> bool {
        self.link.gone.load(Ordering::Acquire)
    }

    /// Plaintext in the ring (bytes).
    pub(super) fn unsealed(&mut self) -> u64 {
        let rest = self.rest;
        let Some(ring) = &mut self.ring else { return 0 };
        ring.read_chunk(ring.slots()).map_or(0, |chunk| Content(chunk.as_slices()).plaintext(rest))
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.shut();
        if let Some(ring) = self.ring.take() {
            self.link.part(Half::Drivers(ring));
        }
    }
}

impl Link {
    /// Whoever lets go last has both halves, and wipes the memory they share.
    fn part(&self, half: Half) {
        let mut place = self.half.lock().unwrap_or_else(PoisonError::into_inner);
        match (place.take(), half) {
            (Some(Half::Writers(writers)), Half::Drivers(drivers))
            | (Some(Half::Drivers(drivers)), Half::Writers(writers)) => wipe(writers, drivers),
            (_, half) => *place = Some(half),
        }
    }
}

fn wipe(mut writers: Producer<u8>, mut drivers: Consumer<u8>) {
    if let Ok(chunk) = drivers.read_chunk(drivers.slots()) {
        chunk.commit_all();
    }
    if let Ok(mut chunk) = writers.write_chunk(writers.slots()) {
        let (one, two) = chunk.as_mut_slices();
        one.zeroize();
        two.zeroize();
    }
}
