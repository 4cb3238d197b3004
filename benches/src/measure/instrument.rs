//! Instruments: what is on while the measured end works.

use std::time::{Duration, Instant};

use super::median;
use crate::count::{self, Counts};

/// Something that is on between `begin` and `end`, many times.
pub trait Instrument {
    /// The measured end starts to work.
    fn begin(&mut self);

    /// The measured end has worked through so many records.
    fn end(&mut self, records: usize);
}

/// Takes the time of each batch.
#[derive(Debug)]
pub struct Stopwatch {
    begun: Instant,
    elapsed: Duration,
    batches: Vec<f64>,
}

impl Stopwatch {
    /// A stopwatch at zero.
    #[must_use]
    pub fn new() -> Self {
        Self { begun: Instant::now(), elapsed: Duration::ZERO, batches: Vec::with_capacity(4096) }
    }

    /// The time between all begins and ends so far.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Time of one record (nanoseconds): the median of the batches, so that one which was interrupted does not count.
    ///
    /// # Panics
    ///
    /// Panics if there was no batch.
    #[must_use]
    pub fn per_record(&self) -> f64 {
        median(&self.batches)
    }
}

impl Default for Stopwatch {
    fn default() -> Self {
        Self::new()
    }
}

impl Instrument for Stopwatch {
    #[inline]
    fn begin(&mut self) {
        self.begun = Instant::now();
    }

    #[inline]
    fn end(&mut self, records: usize) {
        let took = self.begun.elapsed();
        self.elapsed += took;
        self.batches.push(took.as_nanos() as f64 / records as f64);
    }
}

/// Opens the gate of the [`count`] module. Making one sets the counters to zero.
#[derive(Debug)]
pub struct Counter {
    counts: Counts,
}

impl Counter {
    /// A counter at zero.
    #[must_use]
    pub fn new() -> Self {
        count::start();
        Self { counts: count::stop() }
    }

    /// All that was counted between begins and ends so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

impl Instrument for Counter {
    fn begin(&mut self) {
        count::resume();
    }

    fn end(&mut self, _records: usize) {
        self.counts = count::stop();
    }
}
