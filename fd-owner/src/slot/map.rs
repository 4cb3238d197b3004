//! Who owns which bytes, written down a second time so that a mistake shows.

use std::ops::Range;

/// A direction of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    In,
    Out,
    /// Of the tray.
    File,
}

/// Which slots are lent, and which of their bytes the kernel has. Kept in debug builds; in others it is empty and every
/// check passes.
#[derive(Debug, Default)]
pub(crate) struct OwnershipMap {
    slots: Vec<Owner>,
    /// Which regions of outbound memory slots have.
    regions: Vec<bool>,
}

#[derive(Clone, Debug, Default)]
struct Owner {
    lent: bool,
    kernel: [Option<Range<usize>>; 3],
}

impl OwnershipMap {
    pub(crate) fn new(slots: usize) -> OwnershipMap {
        let slots = if cfg!(debug_assertions) { slots } else { 0 };
        OwnershipMap { slots: vec![Owner::default(); slots], regions: vec![false; slots] }
    }

    /// A slot leaves home.
    pub(crate) fn lend(&mut self, slot: usize) {
        let Some(owner) = self.slots.get_mut(slot) else { return };
        assert!(!owner.lent, "slot {slot} is lent twice");
        owner.lent = true;
    }

    /// A slot comes home.
    pub(crate) fn home(&mut self, slot: usize) {
        let Some(owner) = self.slots.get_mut(slot) else { return };
        assert!(owner.lent, "slot {slot} comes home twice");
        assert_eq!(owner.kernel, [None, None, None], "slot {slot} comes home while the kernel has bytes of it");
        owner.lent = false;
    }

    /// A slot gets a region of outbound memory.
    pub(crate) fn region_lent(&mut self, region: usize) {
        let Some(lent) = self.regions.get_mut(region) else { return };
        assert!(!std::mem::replace(lent, true), "region {region} is lent twice");
    }

    /// It puts it back.
    pub(crate) fn region_home(&mut self, region: usize) {
        let Some(lent) = self.regions.get_mut(region) else { return };
        assert!(std::mem::replace(lent, false), "region {region} comes home twice");
    }

    /// The kernel gets `range` of a slot (positions in the whole memory).
    pub(crate) fn grant(&mut self, slot: usize, port: Port, range: &Range<usize>) {
        let Some(owner) = self.slots.get_mut(slot) else { return };
        assert!(owner.lent, "slot {slot} is at home and granted");
        assert_eq!(owner.kernel[port as usize], None, "slot {slot}: {port:?} is granted twice");
        owner.kernel[port as usize] = Some(range.clone());
    }

    /// The kernel is done with what it had.
    pub(crate) fn back(&mut self, slot: usize, port: Port) {
        let Some(owner) = self.slots.get_mut(slot) else { return };
        assert!(owner.kernel[port as usize].take().is_some(), "slot {slot}: {port:?} comes back and was not granted");
    }

    /// `range` of a slot is about to be written by us.
    pub(crate) fn write(&self, slot: usize, range: &Range<usize>) {
        let Some(owner) = self.slots.get(slot) else { return };
        assert!(owner.lent, "slot {slot} is at home and written");
        for kernel in owner.kernel.iter().flatten() {
            let apart = range.is_empty() || range.end <= kernel.start || range.start >= kernel.end;
            assert!(apart, "slot {slot}: {range:?} is written and the kernel has {kernel:?}");
        }
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    fn lent() -> OwnershipMap {
        let mut map = OwnershipMap::new(2);
        map.lend(1);
        map
    }

    #[test]
    fn a_life_without_mistakes_passes() {
        let mut map = lent();
        map.grant(1, Port::In, &(10..20));
        map.grant(1, Port::Out, &(20..30));
        map.write(1, &(0..10));
        map.write(1, &(15..15));
        map.back(1, Port::In);
        map.write(1, &(10..20));
        map.back(1, Port::Out);
        map.home(1);
        map.lend(1);
    }

    #[test]
    #[should_panic(expected = "slot 1 is lent twice")]
    fn r1_one_lease_a_slot() {
        lent().lend(1);
    }

    #[test]
    #[should_panic(expected = "is written and the kernel has 10..20")]
    fn r2_what_the_kernel_has_is_not_written() {
        let mut map = lent();
        map.grant(1, Port::In, &(10..20));
        map.write(1, &(19..21));
    }

    #[test]
    #[should_panic(expected = "In is granted twice")]
    fn r2_one_reception_at_a_time() {
        let mut map = lent();
        map.grant(1, Port::In, &(10..20));
        map.grant(1, Port::In, &(20..30));
    }

    #[test]
    #[should_panic(expected = "comes home while the kernel has bytes of it")]
    fn r3_no_slot_comes_home_under_an_operation() {
        let mut map = lent();
        map.grant(1, Port::Out, &(20..30));
        map.home(1);
    }
}
