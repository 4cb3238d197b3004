//! Numbers that a seed replays.

/// `SplitMix64`.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next, below `below`.
    ///
    /// # Panics
    ///
    /// If `below` is 0.
    pub fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % below as u64).expect("it is below a usize")
    }

    /// True about once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.next(times) == 0
    }
}
