//! `Queue` against a naive model.

use arenatls_memory_bio::Queue;
use proptest::prelude::*;
use std::collections::VecDeque;

#[derive(Debug, Clone)]
enum Step {
    /// Ask for that much room, fill and commit that share of it (of 255).
    Reserve(usize, u8),
    /// The same through `extend`.
    Extend(usize, u8),
    /// As `Reserve`, while the reader releases that share of what waits before the commit.
    Overlap(usize, u8, u8),
    /// Ask for room and never commit.
    Abandon(usize),
    /// Release that share of what waits (of 255).
    Consume(u8),
}

fn steps(extend: u32) -> impl Strategy<Value = Vec<Step>> {
    let size = 0..48_usize;
    let step = prop_oneof![
        4 => (size.clone(), any::<u8>()).prop_map(|(n, share)| Step::Reserve(n, share)),
        extend => (size.clone(), any::<u8>()).prop_map(|(n, share)| Step::Extend(n, share)),
        1 => (size.clone(), any::<u8>(), any::<u8>()).prop_map(|(n, s, c)| Step::Overlap(n, s, c)),
        1 => size.prop_map(Step::Abandon),
        5 => any::<u8>().prop_map(Step::Consume),
    ];
    proptest::collection::vec(step, 0..200)
}

fn share_of(n: usize, share: u8) -> usize {
    n * usize::from(share) / 255
}

/// The queue, the same as a list of commits, and a source of bytes that are never alike for long.
struct Rig<'a> {
    queue: Queue<'a>,
    commits: VecDeque<VecDeque<u8>>,
    next: u8,
}

impl Rig<'_> {
    fn waiting(&self) -> Vec<u8> {
        self.commits.iter().flatten().copied().collect()
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Reserve(n, share) => self.reserve(n, share),
            Step::Extend(n, share) => self.extend(n, share),
            Step::Overlap(n, share, released) => {
                let room = self.queue.reserve(n).len();
                let released = share_of(self.queue.len(), released);
                self.fill(|queue| queue.reserve(n), share_of(room, share), released);
            }
            Step::Abandon(n) => _ = self.queue.reserve(n),
            Step::Consume(share) => self.consume(share_of(self.queue.len(), share)),
        }
        self.check();
    }

    fn reserve(&mut self, n: usize, share: u8) {
        let (empty, capacity) = (self.queue.is_empty(), self.queue.capacity());
        let moved = self.queue.moved_bytes();
        let room = self.queue.reserve(n).len();
        assert!(room == 0 || room >= n);
        assert!(!empty || room == if n <= capacity { capacity } else { 0 });
        assert_eq!(self.queue.moved_bytes(), moved);
        self.fill(|queue| queue.reserve(n), share_of(room, share), 0);
    }

    fn extend(&mut self, min: usize, share: u8) {
        let free = self.queue.capacity() - self.queue.len();
        let in_place = self.queue.extend(0).len();
        let moved = self.queue.moved_bytes();
        let room = self.queue.extend(min).len();
        let has_moved = self.queue.moved_bytes() != moved;
        assert_eq!(has_moved, in_place < min && min <= free);
        let expected = match has_moved {
            true => free,
            false if min > free => 0,
            false => in_place,
        };
        assert_eq!(room, expected);
        self.fill(|queue| queue.extend(min), share_of(room, share), 0);
    }

    fn fill(&mut self, look: impl for<'q> FnOnce(&'q mut Queue<'_>) -> &'q mut [u8], n: usize, released: usize) {
        let room = look(&mut self.queue);
        let mut commit = VecDeque::new();
        for place in &mut room[..n] {
            self.next = self.next.wrapping_mul(5).wrapping_add(1);
            *place = self.next;
            commit.push_back(self.next);
        }
        self.consume(released);
        self.queue.commit(n);
        self.commits.push_back(commit);
    }

    fn consume(&mut self, n: usize) {
        self.queue.consume(n);
        for _ in 0..n {
            while self.commits.front().is_some_and(VecDeque::is_empty) {
                self.commits.pop_front();
            }
            self.commits[0].pop_front();
        }
    }

    fn check(&self) {
        let (older, newer) = self.queue.as_slices();
        assert_eq!([older, newer].concat(), self.waiting());
        assert_eq!(self.queue.peek(), older);
        assert_eq!(self.queue.len(), older.len() + newer.len());
        assert_eq!(self.queue.is_empty(), older.is_empty());
        assert!(self.queue.len() <= self.queue.capacity());
        assert!(self.queue.high_water() <= self.queue.capacity());
        // A commit lies in one region, so a reader who takes the older one whole takes whole commits.
        let ends = self.commits.iter().scan(0, |end, commit| {
            *end += commit.len();
            Some(*end)
        });
        assert!(newer.is_empty() || ends.collect::<Vec<_>>().contains(&older.len()));
    }
}

fn run(capacity: usize, steps: &[Step]) -> u64 {
    let mut memory = vec![0; capacity];
    let mut rig = Rig { queue: Queue::new(&mut memory), commits: VecDeque::new(), next: 0 };
    for step in steps {
        rig.step(step);
    }
    let moved = rig.queue.moved_bytes();
    rig.consume(rig.queue.len());
    assert_eq!(rig.queue.reserve(capacity).len(), capacity);
    assert!(rig.queue.into_memory().iter().all(|&b| b == 0));
    moved
}

proptest! {
    #[test]
    fn outbound_agrees_with_the_model_and_moves_nothing(capacity in 0..64_usize, steps in steps(0)) {
        prop_assert_eq!(run(capacity, &steps), 0);
    }

    #[test]
    fn both_ways_mixed_agree_with_the_model(capacity in 0..64_usize, steps in steps(4)) {
        run(capacity, &steps);
    }

    #[test]
    fn reserve_refuses_only_what_fits_nowhere(capacity in 1..64_usize, steps in steps(0), ask in 1..64_usize) {
        let mut memory = vec![0; capacity];
        let mut queue = Queue::new(&mut memory);
        for step in &steps {
            match *step {
                Step::Reserve(n, share) => {
                    let room = queue.reserve(n).len();
                    queue.commit(share_of(room, share));
                }
                Step::Consume(share) => queue.consume(share_of(queue.len(), share)),
                Step::Extend(..) | Step::Overlap(..) | Step::Abandon(_) => {}
            }
        }
        let (older, newer) = queue.as_slices();
        let free = capacity - older.len() - newer.len();
        let one_region = newer.is_empty();
        let room = queue.reserve(ask).len();
        prop_assert!(room <= free);
        // One region leaves free bytes before and after it, and both are too short.
        prop_assert!(room >= ask || !one_region || free < 2 * ask);
    }
}
