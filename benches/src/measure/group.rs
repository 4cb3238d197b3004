//! Measuring one group: count each contender, then let all take turns at the clock.

use std::time::{Duration, Instant};

use super::{Counter, Direction, Group, Stopwatch, Transport, check, run};
use crate::contender::{Contender, Subject};
use crate::count::Counts;
use crate::payload;
use crate::setting::{Parties, Setting};
use crate::wire::Wire;

/// How hard to measure.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// How many turns every contender has.
    pub rounds: usize,
    /// How long a turn takes, about, the untimed sealing of records to be read included.
    pub turn: Duration,
    /// Records before anything is measured, to let buffers grow.
    pub warm_up: usize,
    /// Records over which allocations and copies are counted.
    pub counted: usize,
}

/// What was measured of one contender.
#[derive(Debug)]
pub struct Measured {
    /// Who it was.
    pub subject: &'static Subject,
    /// How it protected the records that were measured.
    pub protection: String,
    /// Nanoseconds per operation, one for each round.
    pub times: Vec<f64>,
    /// What was counted.
    pub counts: Counts,
    /// Over how many records.
    pub counted: usize,
}

/// Measures a group; `progress` is called after each round.
///
/// # Panics
///
/// Panics if a contender does not work.
#[must_use]
pub fn measure(group: &Group, parties: &Parties, effort: &Effort, mut progress: impl FnMut()) -> Vec<Measured> {
    let mut course = Course::new(group);
    let setting = Setting { suite: group.suite, parties };
    let subjects = group.subjects.iter();
    let mut lanes: Vec<_> = subjects.map(|subject| Lane::new(subject, &setting, group, &mut course.wire)).collect();
    for lane in &mut lanes {
        lane.prepare(&mut course, effort);
    }
    for _ in 0..effort.rounds {
        for lane in &mut lanes {
            lane.turn(&mut course);
        }
        progress();
    }
    lanes.into_iter().map(|lane| lane.result).collect()
}

/// What is the same for all lanes of a group.
struct Course {
    direction: Direction,
    payload: Box<[u8]>,
    wire: Wire,
}

impl Course {
    fn new(group: &Group) -> Self {
        let wire = match group.transport {
            Transport::Memory => Wire::new(),
            Transport::Loopback => Wire::loopback().expect("there is a loopback interface"),
        };
        Self { direction: group.direction, payload: payload::of(group.payload), wire }
    }
}

/// One contender at work.
struct Lane {
    pair: Box<dyn Contender>,
    records: usize,
    result: Measured,
}

impl Lane {
    fn new(subject: &'static Subject, setting: &Setting<'_>, group: &Group, wire: &mut Wire) -> Self {
        let mut pair = (subject.connect)(setting);
        check(&mut *pair, wire, group.payload, subject.name);
        let protection = pair.protections().of(group.direction);
        Self {
            pair,
            records: 1,
            result: Measured { subject, protection, times: Vec::new(), counts: Counts::default(), counted: 0 },
        }
    }

    /// Warms up, counts, and finds out how many records make a turn.
    fn prepare(&mut self, course: &mut Course, effort: &Effort) {
        self.clock(course, effort.warm_up);
        let mut counter = Counter::new();
        let Course { direction, payload, wire } = course;
        run(*direction, &mut *self.pair, wire, payload, effort.counted, &mut counter);
        self.result.counts = counter.counts();
        self.result.counted = effort.counted;
        self.calibrate(course, effort.turn);
        self.result.times.reserve(effort.rounds);
    }

    fn calibrate(&mut self, course: &mut Course, turn: Duration) {
        loop {
            let begun = Instant::now();
            self.clock(course, self.records);
            let took = begun.elapsed();
            if took * 4 >= turn {
                let fitting = self.records as f64 * turn.as_secs_f64() / took.as_secs_f64();
                self.records = (fitting as usize).max(1);
                return;
            }
            self.records *= 2;
        }
    }

    fn turn(&mut self, course: &mut Course) {
        let time = self.clock(course, self.records).per_record();
        self.result.times.push(time);
    }

    fn clock(&mut self, course: &mut Course, records: usize) -> Stopwatch {
        let mut stopwatch = Stopwatch::new();
        let Course { direction, payload, wire } = course;
        run(*direction, &mut *self.pair, wire, payload, records, &mut stopwatch);
        stopwatch
    }
}
