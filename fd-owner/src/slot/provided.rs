//! A slot's group of one provided buffer: how a reception that goes on is given its next room.
//!
//! The kernel takes the buffer when something comes, and says so with the completion. What is provided is a grant like any
//! other, and the next one follows it.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use arenatls_engine::prefetch;
use io_uring::types::BufRingEntry;

use super::{Grant, PAGE, Slab, update};

/// Where a slot stands with its group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Group {
    /// The kernel knows the group.
    registered: bool,
    /// A buffer lies in it that the kernel has not taken.
    full: bool,
    /// Buffers ever laid into it, as the kernel counts them.
    tail: u16,
}

impl Group {
    pub(super) fn is_registered(self) -> bool {
        self.registered
    }
}

impl Slab {
    /// The page that a slot's group begins with, of one entry.
    pub(crate) fn group(&self, slot: u32) -> u64 {
        self.list(slot).as_ptr() as u64
    }

    /// Has the processor fetch the group, if there is one.
    pub(crate) fn prefetch_group(&self, slot: u32) {
        if self.state(slot).group.get().registered {
            prefetch(self.list(slot).as_ptr(), size_of::<BufRingEntry>());
        }
    }

    /// The kernel knows the group, and takes it for empty.
    pub(crate) fn set_registered(&self, slot: u32) {
        self.state(slot).group.set(Group { registered: true, ..Group::default() });
    }

    /// The kernel has forgotten the group. Not before: it would read other entries than we write.
    pub(crate) fn set_unregistered(&self, slot: u32) {
        self.state(slot).group.set(Group::default());
        // SAFETY: R9: one entry, of plain bytes, in the slot's last page, which the kernel has forgotten.
        unsafe { self.list(slot).as_ptr().write_bytes(0, 1) };
    }

    /// Lays `grant` into the slot's group, for the reception under way or the next; what lies in it and was not taken is
    /// replaced, for which there must be no reception under way.
    pub(crate) fn provide(&self, slot: u32, grant: &Grant) {
        let list = self.list(slot);
        // SAFETY: R9: the slot's last page, which is live; the kernel reads it only, and only up to the tail, which is behind
        // it, or in a reception, of which there is none. The reference is gone before either changes.
        let entry = unsafe { &mut *list.as_ptr() };
        entry.set_addr(grant.pointer() as u64);
        entry.set_len(grant.len());
        entry.set_bid(0);
        let tail = update(&self.state(slot).group, |group| {
            group.tail = group.tail.wrapping_add(u16::from(!group.full));
            group.full = true;
            group.tail
        });
        // SAFETY: R9: the first entry of the list, which is live.
        let shared = unsafe { BufRingEntry::tail(list.as_ptr()) };
        // SAFETY: R9: two aligned bytes of the first entry, which the kernel only reads.
        unsafe { AtomicU16::from_ptr(shared.cast_mut()) }.store(tail, Ordering::Release);
    }

    /// The kernel has taken what lay in the slot's group.
    pub(crate) fn provided_is_taken(&self, slot: u32) {
        update(&self.state(slot).group, |group| group.full = false);
    }

    fn list(&self, slot: u32) -> NonNull<BufRingEntry> {
        let end = self.pages(slot).end;
        self.memory.at(&(end - PAGE..end)).cast()
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use arenatls_engine::Backend as _;

    use super::*;

    /// Address and length of what lies in the group, and how many buffers were ever laid there: what the kernel reads.
    fn read(slab: &Slab, slot: u32) -> (u64, u32, u16) {
        let list = slab.list(slot).as_ptr();
        // SAFETY: one live entry, on the thread that writes it.
        let entry = unsafe { &*list };
        // SAFETY: as above.
        let tail = unsafe { BufRingEntry::tail(list) };
        // SAFETY: as above.
        (entry.addr(), entry.len(), unsafe { tail.read() })
    }

    #[test]
    fn r9_what_is_provided_is_a_grant_and_is_replaced_only_where_the_kernel_has_not_taken_it() {
        let slab = Rc::new(Slab::new(2, 20_000, 20_000).unwrap());
        let (slot, mut backend) = slab.lend().unwrap();
        slab.set_registered(slot);
        let first = slab.grant_input(slot, 0, usize::MAX).unwrap();
        slab.provide(slot, &first);
        assert_eq!(read(&slab, slot), (first.pointer() as u64, first.len(), 1));
        // A reception ends that has taken nothing: another place for what lies there.
        slab.received(slot, 0);
        let second = slab.grant_input(slot, 0, 1000).unwrap();
        slab.provide(slot, &second);
        assert_eq!(read(&slab, slot), (second.pointer() as u64, 1000, 1));
        // The kernel takes it: the next is the second that it sees.
        slab.provided_is_taken(slot);
        slab.received(slot, 400);
        assert_eq!(backend.input().len(), 400);
        let third = slab.grant_input(slot, 0, usize::MAX).unwrap();
        assert_eq!(third.pointer(), second.pointer().wrapping_add(400));
        slab.provide(slot, &third);
        assert_eq!(read(&slab, slot), (third.pointer() as u64, third.len(), 2));
        slab.received(slot, 0);
        slab.set_unregistered(slot);
        assert_eq!(read(&slab, slot), (0, 0, 0), "as the kernel expects of a new one");
        drop(backend);
        slab.release(slot);
    }

    #[test]
    fn r9_a_slot_that_the_kernel_knows_keeps_its_memory() {
        let slab = Rc::new(Slab::new(2, 20_000, 20_000).unwrap());
        let (slot, mut backend) = slab.lend().unwrap();
        slab.set_registered(slot);
        assert!(!backend.give_back());
        slab.set_unregistered(slot);
        assert!(backend.give_back());
        drop(backend);
        slab.release(slot);
    }
}
