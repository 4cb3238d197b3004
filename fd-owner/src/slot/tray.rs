//! Where bytes of a file lie between the ring, which reads them, and the engine, which seals them.

use std::ops::Range;
use std::rc::Rc;

use arenatls_engine::record::MAX_PLAINTEXT;

use super::{Grant, Lease, Port, Slab, update};

/// Length of a tray (bytes): a few full records, so that one read feeds several sends and more.
pub(super) const LENGTH: usize = 4 * MAX_PLAINTEXT;

/// What a slot remembers of its tray.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TrayState {
    pub(super) lent: bool,
    /// One past the last byte ever granted, since it was all zero.
    pub(super) high_water: usize,
}

/// A lease of the region of a slot that the kernel reads files into, behind the two regions of ciphertext (R8).
///
/// ```text
///   0        at             end           length
///   [ taken  | read, to be  |             ]      or the kernel's, from 0 on, while a read is in flight
///   [        | sealed       |             ]
/// ```
#[derive(Debug)]
pub(crate) struct Tray {
    slab: Rc<Slab>,
    slot: u32,
    lease: Lease,
    at: usize,
    end: usize,
    /// Length of what was granted to the kernel; 0 if nothing is.
    granted: usize,
}

impl Slab {
    /// The tray of a slot that is lent; nothing if somebody has it.
    pub(crate) fn lend_tray(self: &Rc<Self>, slot: u32) -> Option<Tray> {
        if update(&self.state(slot).tray, |tray| std::mem::replace(&mut tray.lent, true)) {
            return None;
        }
        // SAFETY: R8: nobody had the tray's lease, and this one is used for the tray alone.
        let lease = unsafe { Lease::new() };
        Some(Tray { slab: Rc::clone(self), slot, lease, at: 0, end: 0, granted: 0 })
    }
}

impl Tray {
    /// Grants the kernel room for `most` bytes, or as many as there is room for; nothing if something is left in it, or it
    /// has a grant already.
    pub(crate) fn grant(&mut self, most: u64) -> Option<Grant> {
        let len = usize::try_from(most).unwrap_or(usize::MAX).min(LENGTH);
        if self.granted > 0 || self.at < self.end || len == 0 {
            return None;
        }
        (self.at, self.end, self.granted) = (0, 0, len);
        // A read that fails may have written some of it.
        update(&self.slab.state(self.slot).tray, |tray| tray.high_water = tray.high_water.max(len));
        let range = self.range(&(0..len));
        self.slab.map.borrow_mut().grant(self.slot as usize, Port::File, &range);
        Some(Grant { bytes: self.slab.memory.at(&range) })
    }

    /// The read is complete and brought `n` bytes.
    pub(crate) fn filled(&mut self, n: usize) {
        assert!(n <= self.granted, "{n} bytes read, {} granted", self.granted);
        self.slab.map.borrow_mut().back(self.slot as usize, Port::File);
        (self.end, self.granted) = (n, 0);
    }

    /// What was read and not taken.
    pub(crate) fn waiting(&mut self) -> &[u8] {
        let range = self.range(&(self.at..self.end));
        self.slab.map.borrow().write(self.slot as usize, &range);
        // SAFETY: R8: this is the tray's lease, and nothing waits in it while the kernel has a grant: `grant` and `filled`
        // set `end`.
        unsafe { self.lease.bytes(&self.slab.memory, &range) }
    }

    /// The `n` oldest bytes of that are sealed.
    pub(crate) fn take(&mut self, n: usize) {
        assert!(n <= self.end - self.at, "{n} bytes taken, {} wait", self.end - self.at);
        self.at += n;
    }

    /// From positions in the tray to those in the whole memory.
    fn range(&self, range: &Range<usize>) -> Range<usize> {
        let base = self.slab.start(self.slot) + self.slab.inbound;
        base + range.start..base + range.end
    }
}

impl Drop for Tray {
    /// With a read in flight that is only where its driver ends, which has waited for it; the slot stays lent then.
    fn drop(&mut self) {
        update(&self.slab.state(self.slot).tray, |tray| tray.lent = false);
        self.slab.go_home(self.slot);
    }
}

#[cfg(test)]
mod tests {
    use arenatls_engine::Backend as _;

    use super::super::SlotCount;
    use super::*;

    fn slab() -> Rc<Slab> {
        Rc::new(Slab::new(2, 20_000, 40_000).unwrap())
    }

    #[test]
    fn r8_one_lease_a_tray_apart_from_both_directions_and_from_the_next_slot() {
        let slab = slab();
        let mut spans = Vec::new();
        for _ in 0..2 {
            let (slot, mut backend) = slab.lend().unwrap();
            let mut tray = slab.lend_tray(slot).unwrap();
            assert!(slab.lend_tray(slot).is_none());
            let read = tray.grant(u64::MAX).unwrap();
            assert!(tray.grant(1).is_none() && tray.waiting().is_empty());
            let room = backend.room(1);
            spans.push((room.as_ptr() as usize, room.len()));
            let input = slab.grant_input(slot, 0, usize::MAX).unwrap();
            spans.push((input.pointer() as usize, input.len() as usize));
            spans.push((read.pointer() as usize, read.len() as usize));
            std::mem::forget((backend, tray));
        }
        spans.sort_unstable();
        assert!(spans.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0), "{spans:?}");
    }

    #[test]
    fn r8_a_slot_comes_home_only_without_its_tray_and_zeroed() {
        let slab = slab();
        let (slot, backend) = slab.lend().unwrap();
        let mut tray = slab.lend_tray(slot).unwrap();
        let grant = tray.grant(100).unwrap();
        // SAFETY: as the kernel would: granted memory of this length.
        unsafe { grant.pointer().write_bytes(7, 100) };
        tray.filled(60);
        assert!(tray.waiting() == [7; 60]);
        tray.take(20);
        assert_eq!(tray.waiting().len(), 40);
        drop(backend);
        slab.release(slot);
        assert_eq!(slab.count(), SlotCount { home: 1, lent: 1 });
        drop(tray);
        assert_eq!(slab.count(), SlotCount { home: 2, lent: 0 });
        let (again, _backend) = slab.lend().unwrap();
        let mut tray = slab.lend_tray(again).unwrap();
        tray.grant(100).unwrap();
        tray.filled(100);
        assert_eq!((again, tray.waiting()), (slot, &[0; 100][..]), "those that a failed read left, too");
    }

    #[test]
    fn r6_memory_is_not_given_back_under_a_tray() {
        let slab = slab();
        let (slot, mut backend) = slab.lend().unwrap();
        let tray = slab.lend_tray(slot).unwrap();
        assert!(!backend.give_back());
        drop(tray);
        assert!(backend.give_back());
    }
}
