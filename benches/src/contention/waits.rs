//! What threads waited for, when, and how long.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

/// Events that a thread keeps; beyond, they are counted only.
const KEPT: usize = 50_000;

/// What a wait was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    /// A lock that another thread had.
    Lock,
    /// Room: in the socket, or in the writer's ring.
    Room,
}

/// One wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) waited_for: For,
    /// Since the run began.
    pub(super) at: Duration,
    pub(super) took: Duration,
}

/// Waits of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Waits {
    pub(super) count: u64,
    pub(super) total: Duration,
    pub(super) longest: Duration,
    /// Shorter than 1 µs, 10 µs, 100 µs, 1 ms, 10 ms, and longer.
    pub(super) decades: [u64; 6],
}

impl Waits {
    /// The heads of [`decades`](Self::decades).
    pub(super) const DECADES: [&str; 6] = ["< 1 µs", "1–10 µs", "10–100 µs", "0.1–1 ms", "1–10 ms", "≥ 10 ms"];

    fn add(&mut self, took: Duration) {
        self.count += 1;
        self.total += took;
        self.longest = self.longest.max(took);
        let decade = [1, 10, 100, 1000, 10_000].iter().position(|limit| took < Duration::from_micros(*limit));
        self.decades[decade.unwrap_or(5)] += 1;
    }

    pub(super) fn merge(&mut self, other: &Waits) {
        self.count += other.count;
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
        self.decades.iter_mut().zip(other.decades).for_each(|(all, more)| *all += more);
    }
}

/// What one thread has to tell of a run.
#[derive(Debug)]
pub(super) struct Notebook {
    begun: Instant,
    /// Times the thread took the lock.
    pub(super) entries: u64,
    pub(super) lock: Waits,
    pub(super) room: Waits,
    pub(super) events: Vec<Event>,
    /// Times that the thread gave up the processor of its own accord (slept), if the system tells.
    pub(super) sleeps: Option<u64>,
}

impl Notebook {
    /// For this thread, from here on.
    pub(super) fn begin() -> Notebook {
        let (lock, room) = (Waits::default(), Waits::default());
        let sleeps = voluntary_switches();
        Notebook { begun: Instant::now(), entries: 0, lock, room, events: Vec::with_capacity(4096), sleeps }
    }

    /// A wait that began at `since` and is over now.
    pub(super) fn waited(&mut self, waited_for: For, since: Instant) {
        let took = since.elapsed();
        match waited_for {
            For::Lock => self.lock.add(took),
            For::Room => self.room.add(took),
        }
        if self.events.len() < KEPT {
            self.events.push(Event { waited_for, at: since - self.begun, took });
        }
    }

    /// The thread, which still is the same, is done.
    pub(super) fn end(mut self) -> Notebook {
        self.sleeps = self.sleeps.and_then(|before| Some(voluntary_switches()?.saturating_sub(before)));
        self
    }
}

/// `voluntary_ctxt_switches` of this thread, where there is a Linux to tell it.
fn voluntary_switches() -> Option<u64> {
    let status = fs::read_to_string("/proc/thread-self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

/// Lines of comma-separated values, for `label` and each thread.
pub(super) fn lines(label: &str, notebooks: &[Notebook]) -> String {
    let mut text = String::new();
    for (thread, notebook) in notebooks.iter().enumerate() {
        for Event { waited_for, at, took } in &notebook.events {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{label},{thread},{waited_for:?},{},{}", at.as_nanos(), took.as_nanos());
        }
    }
    text
}

/// What [`lines`] consist of.
pub(super) const HEADING: &str = "tls,contender,run,thread,waited_for,at_ns,took_ns\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_fall_into_decades() {
        let mut waits = Waits::default();
        for micros in [0, 1, 9, 10, 999, 1000, 50_000] {
            waits.add(Duration::from_micros(micros));
        }
        assert_eq!((waits.decades, waits.count), ([1, 2, 1, 1, 1, 1], 7));
        let mut twice = waits;
        twice.merge(&waits);
        assert_eq!((twice.count, twice.longest, twice.total), (14, waits.longest, waits.total * 2));
    }

    #[test]
    fn a_thread_tells_its_sleeps_and_waits() {
        let mut notebook = Notebook::begin();
        let since = Instant::now();
        std::thread::sleep(Duration::from_millis(2));
        notebook.waited(For::Room, since);
        let notebook = notebook.end();
        assert!(!cfg!(target_os = "linux") || notebook.sleeps.unwrap() >= 1);
        assert_eq!((notebook.room.count, notebook.lock.count), (1, 0));
        let text = lines("1.3,x,0", &[notebook]);
        assert_eq!(text.trim().split(',').count(), HEADING.trim().split(',').count());
    }
}
