//! How far a run is.

use std::time::{Duration, Instant};

/// Tells on stderr what is being done, and how long the rest will take if it is like what was done.
#[derive(Debug)]
pub struct Progress {
    begun: Instant,
    done: u32,
    of: u32,
}

impl Progress {
    /// Nothing done of so many steps.
    #[must_use]
    pub fn new(steps: usize) -> Self {
        Self { begun: Instant::now(), done: 0, of: u32::try_from(steps).unwrap_or(u32::MAX) }
    }

    /// Begins a step.
    pub fn step(&mut self, what: &str) {
        let left = self.left().map_or(String::new(), |left| format!(" ({:.0} s left)", left.as_secs_f64()));
        self.done += 1;
        eprintln!("[{:>2}/{}] {what}{left}", self.done, self.of);
    }

    /// The time since the beginning.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn left(&self) -> Option<Duration> {
        let each = self.elapsed().checked_div(self.done)?;
        Some(each * self.of.saturating_sub(self.done))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_known_after_the_first_step() {
        let mut progress = Progress::new(2);
        assert_eq!(progress.left(), None);
        progress.step("one");
        std::thread::sleep(Duration::from_millis(2));
        assert!(progress.left().unwrap() >= Duration::from_millis(2));
        progress.step("two");
        assert_eq!(progress.left(), Some(Duration::ZERO));
    }
}
