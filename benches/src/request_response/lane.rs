//! One contender under one setting: what is counted, and what is timed.

use std::time::{Duration, Instant};

use arenatls_rig::talk::{Conversation, Traffic};

use super::contenders::Contender;

/// Linux delays an acknowledgement by 40 ms or more.
pub(super) const STALL: Duration = Duration::from_millis(30);

/// Requests each of which is looked at on the wire, at most.
const LOOKED_AT: u64 = 100;

/// A contender at work.
pub(super) struct Lane {
    name: &'static str,
    ours: bool,
    conversation: Conversation,
    looked_at: u64,
    found: Found,
    /// Requests a round.
    share: usize,
    /// Time for a round; a contender that stalls gets through fewer.
    limit: Duration,
}

/// What was found of it.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Who protected the requests.
    pub(super) protection: String,
    /// The first request (milliseconds).
    pub(super) first: f64,
    /// How many others were timed.
    pub(super) asked: u64,
    /// Requests a second in each round.
    pub(super) rates: Vec<f64>,
    /// What half of each round's requests took at most (microseconds), and what 99 of 100 did.
    pub(super) halves: Vec<f64>,
    pub(super) nearly_all: Vec<f64>,
    /// How many took as long as a delayed acknowledgement.
    pub(super) stalls: u64,
    /// Submissions for a write, requests and responses.
    pub(super) submissions: f64,
    /// Segments for a request.
    pub(super) segments: f64,
    /// The first request on the wire (bytes).
    pub(super) bytes: u64,
    /// Whether every later one had as many.
    pub(super) same: bool,
}

impl Lane {
    /// Connects, and sends the requests that are looked at one by one.
    pub(super) fn new(
        contender: &Contender,
        nagle: bool,
        lengths: (usize, usize),
        share: usize,
        limit: Duration,
    ) -> Lane {
        let mut conversation = Conversation::start(&contender.make, nagle, lengths.0, lengths.1);
        let first = conversation.ask().as_secs_f64() * 1e3;
        let Traffic { bytes, .. } = conversation.traffic();
        let (begun, mut asked, mut same) = (Instant::now(), 1, true);
        while asked < LOOKED_AT && begun.elapsed() < limit {
            conversation.ask();
            asked += 1;
            same &= conversation.traffic().bytes == asked * bytes;
        }
        let protection = conversation.protection();
        let found = Found { protection, first, bytes, same, ..Found::default() };
        Lane { name: contender.name, ours: contender.ours, conversation, looked_at: asked, found, share, limit }
    }

    /// Sends as many requests as a round has.
    pub(super) fn round(&mut self) {
        let mut times = Vec::with_capacity(self.share);
        let begun = Instant::now();
        for _ in 0..self.share {
            let took = self.conversation.ask();
            times.push(took.as_secs_f64() * 1e6);
            self.found.stalls += u64::from(took >= STALL);
            if begun.elapsed() > self.limit {
                break;
            }
        }
        self.found.rates.push(times.len() as f64 / begun.elapsed().as_secs_f64());
        times.sort_by(f64::total_cmp);
        self.found.halves.push(percentile(&times, 50));
        self.found.nearly_all.push(percentile(&times, 99));
        self.found.asked += times.len() as u64;
    }

    /// Ends it and sums up.
    ///
    /// # Panics
    ///
    /// If arenatls submitted a write in pieces, or an identical request became longer or shorter.
    pub(super) fn end(self) -> (&'static str, bool, Found) {
        let Lane { name, ours, conversation, looked_at, mut found, .. } = self;
        let asked = looked_at + found.asked;
        let (traffic, requests) = (conversation.traffic(), conversation.submissions());
        let served = conversation.end();
        found.same &= traffic.bytes == asked * found.bytes;
        found.segments = f64::from(traffic.segments) / asked as f64;
        found.submissions = (requests + served.submissions) as f64 / (asked + served.answers) as f64;
        if ours {
            assert!(found.same, "{name}: {asked} requests were {traffic:?}, the first of them {} B", found.bytes);
            assert_eq!(
                (requests, served.submissions),
                (asked, served.answers),
                "{name}: submissions for as many writes"
            );
        }
        (name, ours, found)
    }
}

/// The least of the values that `percent` of all do not exceed.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values: Vec<_> = (1..=200).map(f64::from).collect();
        assert_eq!((percentile(&values, 50), percentile(&values, 99)), (100.0, 198.0));
        assert_eq!((percentile(&values[..1], 99), percentile(&[], 50)), (1.0, 0.0));
    }
}
