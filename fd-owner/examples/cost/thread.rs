//! This thread's processor, and what it has used of it.

use std::fmt;
use std::time::{Duration, Instant};

/// Runs this thread on processor `which`, if there is one.
pub(crate) fn pin(which: usize) {
    // SAFETY: a set of processors is plain bits, and none is a valid set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `which` is far below the size of the set.
    unsafe { libc::CPU_SET(which, &mut set) };
    // SAFETY: the set is live, and its size is what is said. A refusal leaves the thread where it is.
    let _ = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
}

/// A stretch of work.
pub(crate) struct Meter {
    start: Instant,
    used: Duration,
}

/// What it cost.
pub(crate) struct Cost {
    cpu: Duration,
    wall: Duration,
    requests: usize,
    turns: usize,
}

impl Meter {
    pub(crate) fn start() -> Meter {
        Meter { start: Instant::now(), used: used() }
    }

    pub(crate) fn stop(&self, requests: usize, turns: usize) -> Cost {
        Cost { cpu: used() - self.used, wall: self.start.elapsed(), requests, turns }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = |time: Duration| time.as_secs_f64() * 1e6 / self.requests as f64;
        let turns = self.turns as f64 / self.requests as f64;
        write!(f, "CPU {:6.2}  wall {:6.2}  turns {turns:5.3}", each(self.cpu), each(self.wall))
    }
}

/// User and system time of this thread.
fn used() -> Duration {
    // SAFETY: the structure is plain numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is live and writable.
    let got = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    assert_eq!(got, 0, "a thread may ask what it has used");
    let time = |t: libc::timeval| {
        let micros = t.tv_sec * 1_000_000 + t.tv_usec;
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}
