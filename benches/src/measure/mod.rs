//! Measuring: one way to run records through a pair, and the instruments that watch it.

mod group;
mod instrument;
mod pin;
mod plan;
mod stats;

use std::hint::black_box;

use crate::contender::{Contender, Look};
use crate::payload;
use crate::wire::Wire;

pub use group::{Effort, Measured, measure};
pub use instrument::{Counter, Instrument, Stopwatch};
pub use pin::pin_to_one_core;
pub use plan::{Group, Transport, plan};
pub use stats::{Summary, median, ratios};

/// Which end's work is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The client protects a record and hands it to the wire.
    Write,
    /// The server takes a record, sealed beforehand, from the wire and opens it.
    Read,
    /// The one and then the other.
    Both,
}

impl Direction {
    /// Every direction.
    pub const ALL: [Self; 3] = [Self::Write, Self::Read, Self::Both];

    /// The direction as reports spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Both => "both",
        }
    }
}

/// Plaintext of one batch of records, at most (bytes): sealed beforehand, it stays in the second-level cache.
const BATCH_BYTES: usize = 128 * 1024;

/// Records of one batch, at most.
const BATCH_RECORDS: usize = 256;

/// Runs `records` records of `payload` through the pair, in batches, with `instrument` on for each batch while the
/// measured end works.
///
/// A pair that wrote in [`Direction::Write`] is out of step afterwards and good for nothing else.
///
/// # Panics
///
/// Panics if less or more plaintext comes out than went in.
pub fn run(
    direction: Direction,
    pair: &mut dyn Contender,
    wire: &mut Wire,
    payload: &[u8],
    records: usize,
    instrument: &mut impl Instrument,
) {
    let batch = (BATCH_BYTES / payload.len()).clamp(1, BATCH_RECORDS);
    let mut left = records;
    while left > 0 {
        let now = left.min(batch);
        wire.reset();
        let opened = match direction {
            Direction::Write => write(pair, wire, payload, now, instrument),
            Direction::Read => read(pair, wire, payload, now, instrument),
            Direction::Both => both(pair, wire, payload, now, instrument),
        };
        assert_eq!(opened, now * payload.len(), "all that was sent comes out");
        left -= now;
    }
}

fn write(
    pair: &mut dyn Contender,
    wire: &mut Wire,
    payload: &[u8],
    records: usize,
    instrument: &mut impl Instrument,
) -> usize {
    instrument.begin();
    for _ in 0..records {
        pair.write(payload, wire);
        wire.reset();
    }
    instrument.end(records);
    records * payload.len()
}

fn read(
    pair: &mut dyn Contender,
    wire: &mut Wire,
    payload: &[u8],
    records: usize,
    instrument: &mut impl Instrument,
) -> usize {
    for _ in 0..records {
        pair.write(payload, wire);
        wire.cut();
    }
    let mut opened = 0;
    instrument.begin();
    for _ in 0..records {
        opened += pair.read(wire, &mut glance);
    }
    instrument.end(records);
    opened
}

fn both(
    pair: &mut dyn Contender,
    wire: &mut Wire,
    payload: &[u8],
    records: usize,
    instrument: &mut impl Instrument,
) -> usize {
    let mut opened = 0;
    instrument.begin();
    for _ in 0..records {
        pair.write(payload, wire);
        wire.cut();
        opened += pair.read(wire, &mut glance);
        wire.reset();
    }
    instrument.end(records);
    opened
}

/// Looks at the ends of the plaintext, so that nobody gets away with not making it.
#[inline]
fn glance(plaintext: &[u8]) {
    black_box(plaintext.first());
    black_box(plaintext.last());
}

/// Sends records of `length` bytes through the pair, several of them in one go, and compares every byte.
///
/// # Panics
///
/// Panics, naming `who`, if anything else comes out than went in.
pub fn check(pair: &mut dyn Contender, wire: &mut Wire, length: usize, who: &str) {
    const RECORDS: usize = 3;
    let payload = payload::of(length);
    wire.reset();
    for _ in 0..RECORDS {
        pair.write(&payload, wire);
        wire.cut();
    }
    for _ in 0..RECORDS {
        let mut seen = Vec::new();
        let look: &mut Look<'_> = &mut |piece| seen.extend_from_slice(piece);
        let opened = pair.read(wire, look);
        assert_eq!(opened, length, "{who} returns the plaintext's length");
        assert!(seen[..] == payload[..], "{who} garbles {length} bytes");
    }
    assert!(wire.is_empty(), "{who} leaves bytes on the wire");
    wire.reset();
}
