//! Instruments that know whose work is being done.

use std::fs;

use crate::count::{self, Count, Counts};

/// Whose work it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
    Nobody,
}

/// Told whose work comes next.
pub(super) trait Watch {
    fn turn_to(&mut self, side: Side);
}

/// Does not watch.
pub(super) struct Blind;

impl Watch for Blind {
    fn turn_to(&mut self, _side: Side) {}
}

/// The processor time of this thread, by side. On a busy machine it says more than a clock on the wall.
pub(super) struct CpuClock {
    side: Side,
    since: u64,
    /// Of the client and of the server (nanoseconds).
    pub(super) spent: [u64; 2],
}

impl CpuClock {
    pub(super) fn new() -> Self {
        Self { side: Side::Nobody, since: 0, spent: [0; 2] }
    }
}

impl Watch for CpuClock {
    fn turn_to(&mut self, side: Side) {
        let now = cpu_time();
        match self.side {
            Side::Client => self.spent[0] += now - self.since,
            Side::Server => self.spent[1] += now - self.since,
            Side::Nobody => {}
        }
        (self.side, self.since) = (side, now);
    }
}

/// Processor time of this thread (nanoseconds; `clock_gettime`, `CLOCK_THREAD_CPUTIME_ID`).
pub(super) fn cpu_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    let code = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(code, 0, "a thread has a clock");
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or(0) * 1_000_000_000 + nanoseconds.unwrap_or(0)
}

/// How long this thread was ready to run and had no core (nanoseconds; the second number of
/// `/proc/thread-self/schedstat`); 0 where that is not told.
pub(super) fn time_without_core() -> u64 {
    let told = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    told.split(' ').nth(1).and_then(|waited| waited.parse().ok()).unwrap_or(0)
}

/// Allocations and copies, by side.
pub(super) struct Ledger {
    side: Side,
    before: Counts,
    /// Of the client and of the server.
    pub(super) spent: [Counts; 2],
}

impl Ledger {
    pub(super) fn new() -> Self {
        count::start();
        Self { side: Side::Nobody, before: count::stop(), spent: [Counts::default(); 2] }
    }
}

impl Watch for Ledger {
    fn turn_to(&mut self, side: Side) {
        let now = count::stop();
        match self.side {
            Side::Client => add(&mut self.spent[0], now, self.before),
            Side::Server => add(&mut self.spent[1], now, self.before),
            Side::Nobody => {}
        }
        (self.side, self.before) = (side, now);
        if side != Side::Nobody {
            count::resume();
        }
    }
}

fn add(sum: &mut Counts, now: Counts, before: Counts) {
    let more = |sum: &mut Count, now: Count, before: Count| {
        sum.calls += now.calls - before.calls;
        sum.bytes += now.bytes - before.bytes;
    };
    more(&mut sum.rust, now.rust, before.rust);
    more(&mut sum.openssl, now.openssl, before.openssl);
    more(&mut sum.libc, now.libc, before.libc);
    more(&mut sum.copies, now.copies, before.copies);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_to_the_side_whose_work_it_is() {
        let mut clock = CpuClock::new();
        clock.turn_to(Side::Server);
        let mut sum = 0_u64;
        while clock.spent[1] < 1_000_000 {
            sum = std::hint::black_box(sum + 1);
            clock.turn_to(Side::Server);
        }
        clock.turn_to(Side::Nobody);
        let server = clock.spent[1];
        clock.turn_to(Side::Client);
        assert_eq!(clock.spent, [0, server], "nobody's time is nobody's");
    }
}
