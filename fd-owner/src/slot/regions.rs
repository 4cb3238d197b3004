//! Outbound memory: a connection has some only while something of its waits to be sent.
//!
//! Whoever has something to send gets the region that was used last, so that a few regions, which lie in the processor's
//! caches, serve thousands of connections.

use arenatls_engine::Direction;

use super::outbox::Outbox;
use super::{COLOURS, LINE, Lease, Slab, update};

/// So many regions that nobody has keep their memory; of others it is given back in time.
const WARM: usize = 64;

/// The regions that nobody has.
#[derive(Debug)]
pub(super) struct Regions {
    /// The one that was used last on top.
    home: Vec<u32>,
    /// So many at the bottom hold no memory.
    cold: usize,
}

impl Regions {
    /// As many as there are slots: whoever needs one finds one.
    pub(super) fn new(count: u32) -> Regions {
        Regions { home: (0..count).rev().collect(), cold: count as usize }
    }

    /// A region of somebody's own, until it is put back.
    pub(super) fn take(&mut self) -> Option<u32> {
        let region = self.home.pop();
        self.cold = self.cold.min(self.home.len());
        region
    }

    pub(super) fn put_back(&mut self, region: u32) {
        self.home.push(region);
    }

    /// One whose memory is to be given back, if more hold memory than need to: the one that has not been used for longest.
    pub(super) fn excess(&mut self) -> Option<u32> {
        let region = *self.home.get(self.cold)?;
        (self.home.len() - self.cold > WARM).then(|| {
            self.cold += 1;
            region
        })
    }
}

impl Slab {
    /// Puts the slot's outbound memory back, if nothing waits in it and the kernel has none of it. The caller has the
    /// slot's lease, exclusively.
    pub(super) fn let_go(&self, slot: u32, _lease: &mut Lease) {
        let state = self.state(slot);
        let outbox = state.outbox.get();
        if state.region.get().is_some() && outbox.is_whole() && outbox.len() == 0 {
            self.let_region_go(slot);
        }
    }

    /// Puts the slot's outbound memory back, which nobody has a byte of. It held ciphertext, unless the kernel protects.
    pub(super) fn let_region_go(&self, slot: u32) {
        let state = self.state(slot);
        let Some(region) = state.region.take() else { return };
        if self.is_kernel(slot, Direction::Send) {
            let start = self.region_start(region);
            // SAFETY: R10: no slice is alive, for the slot's lease is the caller's or gone, and the kernel has no byte.
            unsafe { self.memory.wipe(&(start..start + state.outbox.get().high_water())) };
        }
        update(&state.outbox, Outbox::forget_traces);
        self.map.borrow_mut().region_home(region as usize);
        self.regions.borrow_mut().put_back(region);
    }

    /// Gives memory back to the system that no connection needed for long.
    pub(super) fn trim(&self) {
        let Some(region) = self.regions.borrow_mut().excess() else { return };
        let start = self.out_start + region as usize * self.out_stride;
        // SAFETY: R10: nobody has the region.
        unsafe { self.memory.give_back(&(start..start + self.out_stride)) };
    }

    /// Where the slot's outbound memory begins. If it had none, it has from here on.
    pub(super) fn take_region(&self, slot: u32) -> usize {
        let state = self.state(slot);
        let region = state.region.get().unwrap_or_else(|| {
            // There are as many as slots, and a slot has one at most.
            let region = self.regions.borrow_mut().take().expect("a region for each slot");
            self.map.borrow_mut().region_lent(region as usize);
            state.region.set(Some(region));
            region
        });
        self.region_start(region)
    }

    fn region_start(&self, region: u32) -> usize {
        self.out_start + region as usize * self.out_stride + region as usize % COLOURS * LINE
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use arenatls_engine::Backend as _;

    use super::*;

    #[test]
    fn the_one_used_last_is_used_next() {
        let mut regions = Regions::new(1000);
        for _ in 0..3 {
            let taken = [regions.take().unwrap(), regions.take().unwrap()];
            assert_eq!(taken, [0, 1]);
            regions.put_back(1);
            regions.put_back(0);
        }
        assert_eq!(regions.excess(), None);
    }

    #[test]
    fn after_a_peak_all_but_some_give_their_memory_back_once() {
        let count = u32::try_from(WARM).unwrap() + 100;
        let mut regions = Regions::new(count);
        let peak: Vec<_> = std::iter::from_fn(|| regions.take()).collect();
        assert_eq!((peak.len(), regions.excess()), (WARM + 100, None));
        peak.iter().for_each(|region| regions.put_back(*region));
        let given: Vec<_> = std::iter::from_fn(|| regions.excess()).collect();
        assert_eq!(given, peak[..100]);
        let one = regions.take().unwrap();
        assert_eq!((Some(&one), regions.excess()), (peak.last(), None));
    }

    #[test]
    fn r10_a_region_is_had_by_one_slot_while_something_waits_in_it() {
        let slab = Rc::new(Slab::new(3, 20_000, 20_000).unwrap());
        let (one, mut first) = slab.lend().unwrap();
        let (two, mut second) = slab.lend().unwrap();
        let place = first.room(10).as_ptr();
        first.commit(10);
        assert_ne!(second.room(10).as_ptr(), place);
        second.let_go();
        first.let_go();
        let sent = slab.grant_output(one).unwrap();
        assert_eq!(sent.pointer().cast_const(), place, "it waits there");
        first.let_go();
        slab.sent(one, 10);
        first.let_go();
        second.room(10);
        second.commit(10);
        assert_eq!(slab.grant_output(two).unwrap().pointer().cast_const(), place, "and the next to write has it then");
        slab.sent(two, 10);
        drop(second);
        slab.release(two);
        assert_eq!(first.room(10).as_ptr(), place, "or when the slot goes home");
    }

    #[test]
    fn what_was_shown_and_let_go_can_still_be_committed() {
        let slab = Rc::new(Slab::new(2, 20_000, 20_000).unwrap());
        let (one, mut backend) = slab.lend().unwrap();
        backend.room(10);
        backend.let_go();
        backend.commit(10);
        assert_eq!(slab.grant_output(one).unwrap().len(), 10);
        slab.sent(one, 10);
    }
}
