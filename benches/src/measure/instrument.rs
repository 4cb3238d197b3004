//! Instruments: what is on while the measured end works.

use std::time::{Duration, Instant};

use crate::count::{self, Counts};

/// Something that is on between `begin` and `end`, perhaps many times.
pub trait Instrument {
    /// The measured end starts to work.
    fn begin(&mut self);

    /// The measured end has worked.
    fn end(&mut self);
}

/// Adds up time.
#[derive(Debug)]
pub struct Stopwatch {
    begun: Instant,
    elapsed: Duration,
}

impl Stopwatch {
    /// A stopwatch at zero.
    #[must_use]
    pub fn new() -> Self {
        Self { begun: Instant::now(), elapsed: Duration::ZERO }
    }

    /// The time between all begins and ends so far.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
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
    fn end(&mut self) {
        self.elapsed += self.begun.elapsed();
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

    fn end(&mut self) {
        self.counts = count::stop();
    }
}
