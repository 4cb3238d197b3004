//! Deadlines: at most one for each connection, in memory taken once.

use std::time::Instant;

const NONE: u32 = u32::MAX;

/// A binary heap of deadlines that knows where each owner's is.
#[derive(Debug)]
pub(crate) struct Timers {
    heap: Vec<(Instant, u32)>,
    /// Where in the heap an owner's deadline is; [`NONE`] if it has none.
    place: Vec<u32>,
}

impl Timers {
    pub(crate) fn new(owners: usize) -> Timers {
        Timers { heap: Vec::with_capacity(owners), place: vec![NONE; owners] }
    }

    /// The nearest deadline, and whose it is.
    pub(crate) fn nearest(&self) -> Option<(Instant, u32)> {
        self.heap.first().copied()
    }

    /// Replaces the deadline of `owner`.
    pub(crate) fn set(&mut self, owner: u32, deadline: Option<Instant>) {
        let at = self.place[owner as usize];
        match (at, deadline) {
            (NONE, None) => {}
            (NONE, Some(deadline)) => {
                self.heap.push((deadline, owner));
                self.settle(self.heap.len() - 1);
            }
            (at, Some(deadline)) => {
                self.heap[at as usize].0 = deadline;
                self.settle(at as usize);
            }
            (at, None) => {
                self.heap.swap_remove(at as usize);
                self.place[owner as usize] = NONE;
                if (at as usize) < self.heap.len() {
                    self.settle(at as usize);
                }
            }
        }
    }

    /// Moves the entry at `at` to where it belongs.
    fn settle(&mut self, mut at: usize) {
        while at > 0 && self.heap[at].0 < self.heap[(at - 1) / 2].0 {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        loop {
            let children = 2 * at + 1..(2 * at + 3).min(self.heap.len());
            let Some(least) = children.min_by_key(|child| self.heap[*child].0) else { break };
            if self.heap[at].0 <= self.heap[least].0 {
                break;
            }
            self.swap(at, least);
            at = least;
        }
        self.note(at);
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.note(a);
        self.note(b);
    }

    fn note(&mut self, at: usize) {
        self.place[self.heap[at].1 as usize] = u32::try_from(at).unwrap_or(NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    proptest! {
        #[test]
        fn the_nearest_is_that_of_a_plain_list(steps in prop::collection::vec((0u32..8, prop::option::of(0u64..50)), 0..200)) {
            let start = Instant::now();
            let (mut timers, mut model) = (Timers::new(8), [None; 8]);
            for (owner, deadline) in steps {
                let deadline = deadline.map(|d| start + Duration::from_secs(d));
                timers.set(owner, deadline);
                model[owner as usize] = deadline;
                let nearest = model.iter().flatten().min().copied();
                prop_assert_eq!(timers.nearest().map(|(deadline, _)| deadline), nearest);
                if let Some((deadline, owner)) = timers.nearest() {
                    prop_assert_eq!(model[owner as usize], Some(deadline));
                }
            }
        }
    }
}
