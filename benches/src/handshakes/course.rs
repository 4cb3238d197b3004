//! One contender under one set of terms: its kits, and the ways to measure them.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use super::life::{Lived, Wires, live, live_with};
use super::watch::{Blind, CpuClock, Ledger, cpu_time, time_without_core};
use crate::count::Counts;
use crate::ends::{Kit, Parties, Terms};

/// Threads at work where there are several.
pub(super) const THREADS: usize = 2;

/// How long to go on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Until {
    /// So many handshakes.
    Done(u64),
    /// So long.
    Passed(Duration),
}

/// Who shares contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// All threads use the same.
    Shared,
    /// Each thread has its own, with ticket keys in common.
    Own,
}

/// What one handshake cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spent {
    /// Processor time of the client and of the server (nanoseconds).
    pub(super) time: [f64; 2],
}

/// What one handshake took of memory and wire.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    /// Over all that were counted, of the client and of the server.
    pub(super) counts: [Counts; 2],
    /// How many handshakes.
    pub(super) handshakes: u64,
    /// Bytes of one handshake, there and back.
    pub(super) sent: [usize; 2],
}

/// What threads achieved.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    /// Handshakes a second, of all threads.
    pub(super) per_second: f64,
    /// Processor time of a handshake, both ends (nanoseconds).
    pub(super) time: f64,
}

/// A contender, whatever its library.
pub(super) trait Course {
    /// Handshakes in this thread, timed.
    fn turn(&mut self, until: Until) -> Spent;
    /// Handshakes in this thread, counted.
    fn count(&mut self, handshakes: u64) -> Counted;
    /// Handshakes in so many threads.
    fn race(&mut self, threads: usize, sharing: Sharing, until: Until) -> Rate;
}

/// Makes a contender's course.
pub(super) fn course<K: Kit + 'static>(terms: &Terms, parties: &Parties) -> Box<dyn Course> {
    let first = K::new(terms, parties, None);
    let others = (1..THREADS).map(|_| K::new(terms, parties, Some(&first)));
    let others: Vec<K> = others.collect();
    let kits: Vec<K> = std::iter::once(first).chain(others).collect();
    let mut course = Kits { kits, terms: *terms, wires: Wires::new() };
    course.prime();
    Box::new(course)
}

struct Kits<K> {
    /// One for each thread; the first for everybody where contexts are shared.
    kits: Vec<K>,
    terms: Terms,
    wires: Wires,
}

impl<K: Kit> Kits<K> {
    /// Every kit's clients have a session of the first kit's servers; the first kit's have one for every thread, for there
    /// are libraries that use each but once. So where threads have their own contexts, all but the first begin with a
    /// session that another's server began.
    fn prime(&mut self) {
        if !self.terms.resumption {
            return;
        }
        let (first, wires) = (&self.kits[0], &mut self.wires);
        for (index, kit) in self.kits.iter().enumerate() {
            let sessions = if index == 0 { THREADS } else { 1 };
            // All are made before the first has a session to offer.
            let clients: Vec<K::Client> = (0..sessions).map(|_| kit.client()).collect();
            for client in clients {
                let full = live_with(client, first, wires, &mut Blind, |client| kit.keep(client));
                assert_eq!(full.agreed, [(); 2].map(|()| self.terms.expected(false)));
            }
        }
    }

    fn check(&self, lived: &Lived) {
        check(&self.terms, lived);
    }
}

/// A handshake came to what its row says.
fn check(terms: &Terms, lived: &Lived) {
    let expected = terms.expected(terms.resumption);
    for agreed in &lived.agreed {
        assert_eq!(*agreed, expected, "{terms:?}");
    }
}

impl Until {
    /// Does it over and over; returns how often.
    fn repeat(self, mut act: impl FnMut()) -> u64 {
        let begun = Instant::now();
        let mut done = 0;
        loop {
            act();
            done += 1;
            match self {
                Until::Done(wanted) if done >= wanted => return done,
                Until::Passed(time) if begun.elapsed() >= time => return done,
                _ => {}
            }
        }
    }
}

impl<K: Kit> Course for Kits<K> {
    fn turn(&mut self, until: Until) -> Spent {
        let mut clock = CpuClock::new();
        let done = until.repeat(|| {
            let kit = &self.kits[0];
            let lived = live(kit, kit, &mut self.wires, &mut clock);
            self.check(&lived);
        });
        Spent { time: clock.spent.map(|spent| spent as f64 / done as f64) }
    }

    fn count(&mut self, handshakes: u64) -> Counted {
        let mut ledger = Ledger::new();
        let mut sent = [0; 2];
        Until::Done(handshakes).repeat(|| {
            let kit = &self.kits[0];
            let lived = live(kit, kit, &mut self.wires, &mut ledger);
            self.check(&lived);
            sent = lived.sent;
        });
        Counted { counts: ledger.spent, handshakes, sent }
    }

    fn race(&mut self, threads: usize, sharing: Sharing, until: Until) -> Rate {
        let (start, terms) = (Barrier::new(threads), self.terms);
        let results: Vec<(f64, f64)> = thread::scope(|scope| {
            let runners = (0..threads).map(|index| {
                let kit = if sharing == Sharing::Own { &self.kits[index] } else { &self.kits[0] };
                let start = &start;
                scope.spawn(move || run(kit, &terms, start, until))
            });
            // All are started before the first is waited for.
            let runners: Vec<_> = runners.collect();
            runners.into_iter().map(|runner| runner.join().expect("a runner arrives")).collect()
        });
        let per_second = results.iter().map(|(per_second, _)| per_second).sum();
        Rate { per_second, time: results.iter().map(|(_, time)| time).sum::<f64>() / threads as f64 }
    }
}

/// Handshakes in one thread of several; returns how many a second it made, and the processor time of one.
fn run<K: Kit>(kit: &K, terms: &Terms, start: &Barrier, until: Until) -> (f64, f64) {
    let mut wires = Wires::new();
    let mut one = || check(terms, &live(kit, kit, &mut wires, &mut Blind));
    // A thread's first handshake makes what the thread has of its own.
    one();
    start.wait();
    let (begun, spent, stood) = (Instant::now(), cpu_time(), time_without_core());
    let done = until.repeat(one) as f64;
    let (passed, spent) = (begun.elapsed().as_nanos() as f64, (cpu_time() - spent) as f64);
    // What other processes took is not the contender's; what it spent waiting for a lock is.
    let stood = (time_without_core() - stood) as f64;
    (done * 1e9 / (passed - stood).max(spent), spent / done)
}
