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
    asked: u64,
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
    /// The others (microseconds).
    pub(super) times: Vec<f64>,
    /// Requests a second in each round.
    pub(super) rates: Vec<f64>,
    /// How many took as long as a delayed acknowledgement.
    pub(super) stalls: usize,
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
        Lane { name: contender.name, ours: contender.ours, conversation, asked, found, share, limit }
    }

    /// Sends as many requests as a round has.
    pub(super) fn round(&mut self) {
        let (begun, before) = (Instant::now(), self.found.times.len());
        for _ in 0..self.share {
            let took = self.conversation.ask();
            self.found.times.push(took.as_secs_f64() * 1e6);
            self.found.stalls += usize::from(took >= STALL);
            if begun.elapsed() > self.limit {
                break;
            }
        }
        let asked = self.found.times.len() - before;
        self.asked += asked as u64;
        self.found.rates.push(asked as f64 / begun.elapsed().as_secs_f64());
    }

    /// Ends it and sums up.
    ///
    /// # Panics
    ///
    /// If arenatls submitted a write in pieces, or an identical request became longer or shorter.
    pub(super) fn end(self) -> (&'static str, bool, Found) {
        let Lane { name, ours, conversation, asked, mut found, .. } = self;
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
