//! The load that clients put on a server: what is asked, what must come back, and when what is measured.
//!
//! A [`Load`] moves no byte: a client of [`clients`](super::clients) does, and asks it what comes next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cores::ThreadClock;
use super::work::{Answer, Job, Stream, Work};
use crate::count::{self, Counts};

/// Answers on each connection before the warm-up may end.
const WARM: u64 = 4;

/// One answer of so many is compared byte by byte while the clock runs.
const SPOT_CHECK: u64 = 64;

/// How long a server may take to open all connections, or to say anything at all.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long each part of a turn takes.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Before anything is measured, at least; every byte is compared.
    pub warm_up: Duration,
    /// The timed part.
    pub timed: Duration,
    /// The part in which allocations, copies and system calls are counted.
    pub counted: Duration,
}

/// What was measured of a server in one turn.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// Processor time of the server's thread in the timed part.
    pub cpu: Duration,
    /// The timed part.
    pub wall: Duration,
    /// Requests, or bytes of plaintext, in it.
    pub units: u64,
    /// From before a request was sealed to after its answer was opened (nanoseconds), in the timed part.
    pub latencies: Vec<u32>,
    /// What the server's thread did in the counted part.
    pub counts: Counts,
    /// System calls of the server's thread in it.
    pub system_calls: u64,
    /// Requests, or bytes of plaintext, in it.
    pub counted: u64,
}

/// What a client has to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Now {
    /// As before.
    GoOn,
    /// All connections are there: let the active ones begin.
    Begin,
    /// It is over: drop all connections.
    Drop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening,
    WarmUp,
    Timed,
    Counted,
    Over,
}

/// One connection.
#[derive(Debug, Clone)]
struct Lane {
    sent: Instant,
    number: u64,
    answers: u64,
    stream: Stream,
}

/// The load of one turn.
#[derive(Debug)]
pub struct Load {
    job: Arc<Job>,
    plan: Plan,
    server: ThreadClock,
    /// Connections that do something; the others only are there.
    active: usize,
    lanes: Vec<Lane>,
    ready: usize,
    stage: Stage,
    until: Instant,
    request: Answer,
    record: Box<[u8]>,
    answers: u64,
    before: (u64, Duration, Instant),
    figures: Figures,
}

impl Load {
    /// A load on the server of that clock, of whose connections the first `active` do something.
    #[must_use]
    pub fn new(job: &Arc<Job>, plan: Plan, server: ThreadClock, active: usize) -> Self {
        let now = Instant::now();
        let lane = Lane { sent: now, number: 0, answers: 0, stream: Stream::default() };
        Self {
            job: Arc::clone(job),
            plan,
            server,
            active,
            lanes: vec![lane; job.connections],
            ready: 0,
            stage: Stage::Opening,
            until: now,
            request: Answer::new(),
            record: job.record(),
            answers: 0,
            before: (0, Duration::ZERO, now),
            figures: Figures { latencies: Vec::with_capacity(1 << 20), ..Figures::default() },
        }
    }

    /// What the server does.
    #[must_use]
    pub fn work(&self) -> Work {
        self.job.work
    }

    /// Connections in all.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.job.connections
    }

    /// Connections that do something: the first so many.
    #[must_use]
    pub fn active(&self) -> usize {
        self.active
    }

    /// A full record of a stream.
    #[must_use]
    pub fn record(&self) -> &[u8] {
        &self.record
    }

    /// Connections that are ready.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.ready
    }

    /// One more connection is ready.
    pub fn one_more(&mut self) {
        self.ready += 1;
    }

    /// The next request of a connection, unless it has asked enough.
    #[inline]
    pub fn request(&mut self, which: usize) -> Option<&[u8]> {
        if self.stage == Stage::Over {
            return None;
        }
        let lane = &mut self.lanes[which];
        lane.number += 1;
        self.request.number(lane.number << 20 | which as u64);
        lane.sent = Instant::now();
        Some(self.request.bytes())
    }

    /// The answer to the last request of a connection.
    ///
    /// # Panics
    ///
    /// Panics if it is not that.
    #[inline]
    pub fn answered(&mut self, which: usize, answer: &[u8]) {
        let lane = &mut self.lanes[which];
        let every_byte = self.stage != Stage::Timed || lane.number.is_multiple_of(SPOT_CHECK);
        self.request.number(lane.number << 20 | which as u64);
        assert!(self.request.is(answer, every_byte), "an answer of {} bytes to another request", answer.len());
        lane.answers += 1;
        self.answers += 1;
        if self.stage == Stage::Timed && self.figures.latencies.len() < self.figures.latencies.capacity() {
            let nanos = lane.sent.elapsed().as_nanos();
            self.figures.latencies.push(u32::try_from(nanos).unwrap_or(u32::MAX));
        }
    }

    /// A piece of a stream that the server sends.
    ///
    /// # Panics
    ///
    /// Panics if it is something else.
    #[inline]
    pub fn streamed(&mut self, which: usize, piece: &[u8]) {
        let checking = self.job.checking();
        self.lanes[which].stream.glance(piece, &self.record, checking);
        self.lanes[which].answers += 1;
    }

    /// What is to be done, by the time. Ask once in each pass through a client's loop.
    ///
    /// # Panics
    ///
    /// Panics if the server has ended, or takes too long for anything.
    pub fn now(&mut self) -> Now {
        let now = Instant::now();
        match self.stage {
            Stage::Opening if self.ready == self.job.connections => {
                (self.stage, self.until) = (Stage::WarmUp, now + self.plan.warm_up);
                Now::Begin
            }
            Stage::WarmUp if now >= self.until && self.is_warm() => {
                self.job.check(false);
                self.enter(Stage::Timed, self.plan.timed);
                Now::GoOn
            }
            Stage::Timed if now >= self.until && self.has_moved() => {
                let (units, cpu) = (self.units(), self.cpu());
                self.figures.units = units - self.before.0;
                self.figures.cpu = cpu - self.before.1;
                self.figures.wall = self.before.2.elapsed();
                self.enter(Stage::Counted, self.plan.counted);
                count::start();
                Now::GoOn
            }
            Stage::Counted if now >= self.until && self.has_moved() => {
                self.figures.counts = count::stop();
                self.figures.system_calls = count::system_calls();
                self.figures.counted = self.units() - self.before.0;
                self.stage = Stage::Over;
                Now::Drop
            }
            _ => {
                let answers = || self.lanes.iter().take(16).map(|lane| lane.answers).collect::<Vec<_>>();
                let (stage, ready) = (self.stage, self.ready);
                assert!(now < self.until + PATIENCE, "no end of {stage:?}; {ready} ready, answers {:?}", answers());
                Now::GoOn
            }
        }
    }

    fn enter(&mut self, stage: Stage, time: Duration) {
        let now = Instant::now();
        self.before = (self.units(), self.cpu(), now);
        (self.stage, self.until) = (stage, now + time);
    }

    fn is_warm(&self) -> bool {
        match self.job.work {
            Work::Receive => self.job.moved() > 0,
            _ => self.lanes[..self.active].iter().all(|lane| lane.answers >= WARM),
        }
    }

    /// Whether the server did anything in this stage: on a busy machine a thread may sleep through a short one.
    fn has_moved(&self) -> bool {
        self.units() > self.before.0 && self.cpu() > self.before.1
    }

    fn units(&self) -> u64 {
        match self.job.work {
            Work::Answer => self.answers,
            Work::Receive | Work::Send => self.job.plaintext(self.job.moved()),
        }
    }

    fn cpu(&self) -> Duration {
        self.server.read().expect("the server goes on")
    }

    /// What was measured.
    #[must_use]
    pub fn figures(self) -> Figures {
        self.figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> (Load, Vec<u8>) {
        let second = Duration::from_secs(1);
        let plan = Plan { warm_up: second, timed: second, counted: second };
        let mut load = Load::new(&Arc::new(Job::new(Work::Answer, 2, 0)), plan, ThreadClock::mine(), 2);
        let request = load.request(1).unwrap().to_vec();
        load.request(0).unwrap();
        (load, request)
    }

    #[test]
    fn the_answer_to_ones_own_request_is_right() {
        let (mut load, answer) = asked();
        load.answered(1, &answer);
        assert_eq!(load.answers, 1);
    }

    #[test]
    #[should_panic(expected = "another request")]
    fn the_answer_to_anothers_is_wrong() {
        let (mut load, answer) = asked();
        load.answered(0, &answer);
    }

    #[test]
    #[should_panic(expected = "another request")]
    fn a_changed_byte_is_wrong() {
        let (mut load, mut answer) = asked();
        answer[1000] ^= 1;
        load.answered(1, &answer);
    }

    #[test]
    #[should_panic(expected = "a stream's bytes")]
    fn a_lost_byte_of_a_stream_is_wrong() {
        let mut stream = Stream::default();
        stream.glance(&[1, 2, 3, 1, 2], &[1, 2, 3], true);
        stream.glance(&[1, 2, 3], &[1, 2, 3], true);
    }
}
