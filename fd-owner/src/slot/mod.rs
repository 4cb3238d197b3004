//! Slots: the ciphertext memory of connections, owned by the driver.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::ptr::NonNull;
use std::rc::Rc;

#[expect(unsafe_code, reason = "writes into memory that is about to be the kernel's")]
mod address;
#[expect(unsafe_code, reason = "makes the references to a slot's bytes")]
mod backend;
mod inbox;
mod map;
#[expect(unsafe_code, reason = "maps memory, part of which the kernel writes to")]
mod memory;
#[expect(unsafe_code, reason = "writes what the kernel reads of a message, and reads what it writes")]
mod message;
mod outbox;
#[expect(unsafe_code, reason = "writes what the kernel reads of a provided buffer")]
mod provided;
#[expect(unsafe_code, reason = "wipes and gives back memory of nobody's")]
mod regions;
#[expect(unsafe_code, reason = "makes the references to the bytes of a file")]
mod tray;

pub use backend::FdBackend;
use inbox::Inbox;
use map::{OwnershipMap, Port};
use memory::{Lease, Mapping};
use message::KernelPart;
pub(crate) use message::Message;
use outbox::Outbox;
use provided::Group;
use regions::Regions;
pub(crate) use tray::Tray;
use tray::TrayState;

/// Slots begin at multiples of this (bytes).
const PAGE: usize = 4096;
/// So many slots at home keep their memory for the next connections; others give it back.
const WARM: usize = 64;
/// A cache line (bytes), and how many of them the beginnings of slots are spread over.
const LINE: usize = 64;
const COLOURS: usize = 61;

/// Bytes that the kernel may have until the operation they are given to is complete. Made here only.
#[derive(Debug)]
pub(crate) struct Grant {
    bytes: NonNull<[u8]>,
}

impl Grant {
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.bytes.as_ptr().cast()
    }

    /// Length (bytes), as an operation has it.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }
}

/// How the slots of a driver stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotCount {
    /// Slots that nobody has.
    pub home: usize,
    /// Slots of connections, or waiting for operations of connections that are no more.
    pub lent: usize,
}

/// All slots of one driver.
#[derive(Debug)]
pub(crate) struct Slab {
    memory: Mapping,
    slots: Box<[SlotState]>,
    home: RefCell<Vec<u32>>,
    /// Slots at home that hold memory.
    warm: Cell<usize>,
    map: RefCell<OwnershipMap>,
    inbound: usize,
    stride: usize,
    /// Outbound memory begins here, of one region for each slot.
    out_start: usize,
    out_stride: usize,
    regions: RefCell<Regions>,
    kernel: Option<KernelPart>,
}

#[derive(Debug)]
struct SlotState {
    inbox: Cell<Inbox>,
    outbox: Cell<Outbox>,
    /// The outbound memory it has.
    region: Cell<Option<u32>>,
    ended: Cell<bool>,
    /// It is at home and holds memory.
    warm: Cell<bool>,
    /// Who keeps it from going home.
    backend: Cell<bool>,
    driver: Cell<bool>,
    tray: Cell<TrayState>,
    /// The kernel protects the records of this direction.
    kernel: [Cell<bool>; 2],
    group: Cell<Group>,
}

impl Slab {
    /// Memory for `slots` connections of `inbound` and `outbound` bytes each, and trays; address space only, until it is used.
    pub(crate) fn new(slots: usize, inbound: usize, outbound: usize) -> io::Result<Slab> {
        // The last page is the group's of provided buffers.
        let stride = (inbound + tray::LENGTH + COLOURS * LINE).next_multiple_of(PAGE) + PAGE;
        let out_stride = (outbound + COLOURS * LINE).next_multiple_of(PAGE);
        let all = (stride + out_stride).checked_mul(slots).ok_or(io::ErrorKind::OutOfMemory)?;
        let state = || SlotState {
            inbox: Cell::new(Inbox::new(inbound)),
            outbox: Cell::new(Outbox::new(outbound)),
            region: Cell::new(None),
            ended: Cell::new(false),
            warm: Cell::new(false),
            backend: Cell::new(false),
            driver: Cell::new(false),
            tray: Cell::new(TrayState::default()),
            kernel: [Cell::new(false), Cell::new(false)],
            group: Cell::default(),
        };
        let count = u32::try_from(slots).unwrap_or(u32::MAX);
        Ok(Slab {
            memory: Mapping::new(all)?,
            slots: (0..slots).map(|_| state()).collect(),
            home: RefCell::new((0..count).rev().collect()),
            warm: Cell::new(0),
            map: RefCell::new(OwnershipMap::new(slots)),
            inbound,
            stride,
            out_start: stride * slots,
            out_stride,
            regions: RefCell::new(Regions::new(count)),
            kernel: None,
        })
    }

    pub(crate) fn count(&self) -> SlotCount {
        let home = self.home.borrow().len();
        SlotCount { home, lent: self.slots.len() - home }
    }

    /// A slot and its backend; nothing if none is at home. The driver gives it back by [`release`](Self::release).
    pub(crate) fn lend(self: &Rc<Self>) -> Option<(u32, FdBackend)> {
        let slot = self.home.borrow_mut().pop()?;
        let state = self.state(slot);
        self.map.borrow_mut().lend(slot as usize);
        state.backend.set(true);
        state.driver.set(true);
        if state.warm.take() {
            self.warm.set(self.warm.get() - 1);
        }
        // SAFETY: R1: the slot was at home, where no lease of it is; it goes home only when its backend is gone.
        let lease = unsafe { Lease::new() };
        Some((slot, FdBackend::new(Rc::clone(self), slot, lease)))
    }

    /// The driver is done with a slot: all its operations are complete. It goes home when its backend and tray are gone,
    /// too.
    pub(crate) fn release(&self, slot: u32) {
        let state = self.state(slot);
        assert!(
            state.inbox.get().is_whole() && state.outbox.get().is_whole() && !state.group.get().is_registered(),
            "slot {slot} is released under an operation"
        );
        state.driver.set(false);
        self.go_home(slot);
    }

    fn backend_is_gone(&self, slot: u32) {
        self.state(slot).backend.set(false);
        self.go_home(slot);
    }

    fn go_home(&self, slot: u32) {
        let state = self.state(slot);
        if state.backend.get() || state.driver.get() || state.tray.get().lent {
            return;
        }
        self.clean(slot);
        self.let_region_go(slot);
        self.trim();
        let (inbox, outbox) = (state.inbox.get(), state.outbox.get());
        state.inbox.set(Inbox::new(inbox.capacity()));
        state.outbox.set(Outbox::new(outbox.capacity()));
        state.ended.set(false);
        state.tray.set(TrayState::default());
        state.kernel.iter().for_each(|kernel| kernel.set(false));
        self.map.borrow_mut().home(slot as usize);
        self.home.borrow_mut().push(slot);
    }

    /// Zeroes what was used of a slot that comes home. Its pages stay, if few others' do.
    fn clean(&self, slot: u32) {
        let state = self.state(slot);
        let (inbound, tray) = (state.inbox.get().high_water(), state.tray.get().high_water);
        if inbound == 0 && tray == 0 {
            return;
        }
        if self.warm.get() >= WARM {
            // SAFETY: R1: the one lease is gone; R3: the driver released the slot, which it does when no operation is left.
            return unsafe { self.memory.give_back(&self.pages(slot)) };
        }
        self.warm.set(self.warm.get() + 1);
        state.warm.set(true);
        let start = self.start(slot);
        let file = start + self.inbound;
        for used in [start..start + inbound, file..file + tray] {
            // SAFETY: as above.
            unsafe { self.memory.wipe(&used) };
        }
    }

    /// All pages of a slot.
    fn pages(&self, slot: u32) -> Range<usize> {
        let start = slot as usize * self.stride;
        start..start + self.stride
    }

    /// Gives the memory of a slot back to the system, if nothing waits in it and no operation has any of it. False if
    /// that is not so. The caller has the slot's lease, exclusively.
    fn give_back(&self, slot: u32, lease: &mut Lease) -> bool {
        let state = self.state(slot);
        let (inbox, outbox, tray) = (state.inbox.get(), state.outbox.get(), state.tray.get());
        let idle = inbox.is_whole() && inbox.waiting().is_empty() && outbox.is_whole() && outbox.len() == 0;
        if !idle || tray.lent || state.group.get().is_registered() {
            return false;
        }
        // SAFETY: R6: slices borrow the lease, which the caller has: none is alive. The kernel has no byte of the slot (R3),
        // and there is none that anybody waits for.
        unsafe { self.memory.give_back(&self.pages(slot)) };
        update(&state.inbox, Inbox::forget_traces);
        self.let_go(slot, lease);
        self.trim();
        update(&state.tray, |tray| tray.high_water = 0);
        true
    }

    /// Room for the kernel to receive into, until [`received`](Self::received).
    /// `whole` is the length of the record under way, as far as it is known; 0 if that does not matter. At most `most` bytes.
    pub(crate) fn grant_input(&self, slot: u32, whole: usize, most: usize) -> Option<Grant> {
        let range = update(&self.state(slot).inbox, |inbox| inbox.grant(whole, most))?;
        Some(self.grant(slot, Port::In, self.start(slot), range))
    }

    /// Whether the kernel has room to receive into.
    pub(crate) fn is_granted_input(&self, slot: u32) -> bool {
        !self.state(slot).inbox.get().is_whole()
    }

    /// The reception is complete and brought `n` bytes.
    pub(crate) fn received(&self, slot: u32, n: usize) {
        self.map.borrow_mut().back(slot as usize, Port::In);
        update(&self.state(slot).inbox, |inbox| inbox.filled(n));
    }

    /// Nothing will come any more.
    pub(crate) fn end_input(&self, slot: u32) {
        self.state(slot).ended.set(true);
    }

    /// Throws away what waits for an engine that is no more. It stays if the backend is still there, with a connection that
    /// is not where it belongs: a slice of it may be alive (R2).
    pub(crate) fn discard_input(&self, slot: u32) {
        let state = self.state(slot);
        if !state.backend.get() {
            update(&state.inbox, Inbox::discard);
        }
    }

    /// What the kernel shall send next, until [`sent`](Self::sent).
    pub(crate) fn grant_output(&self, slot: u32) -> Option<Grant> {
        let range = update(&self.state(slot).outbox, Outbox::grant)?;
        let region = self.take_region(slot);
        Some(self.grant(slot, Port::Out, region, range))
    }

    /// The sending is complete and took `n` bytes.
    pub(crate) fn sent(&self, slot: u32, n: usize) {
        self.map.borrow_mut().back(slot as usize, Port::Out);
        update(&self.state(slot).outbox, |outbox| outbox.sent(n));
    }

    /// The peer takes nothing more: output, now and later, is thrown away.
    pub(crate) fn sink_output(&self, slot: u32) {
        update(&self.state(slot).outbox, Outbox::become_sink);
    }

    /// Bytes that wait to be sent.
    pub(crate) fn unsent(&self, slot: u32) -> usize {
        self.state(slot).outbox.get().len()
    }

    /// Whether somebody found too little room for output since this was asked last.
    pub(crate) fn take_starved(&self, slot: u32) -> bool {
        update(&self.state(slot).outbox, Outbox::take_starved)
    }

    /// Lays `address` into the room for input, for a connect operation to read until [`received`](Self::received).
    pub(crate) fn grant_address(&self, slot: u32, address: &SocketAddr) -> Option<(Grant, u32)> {
        let grant = self.grant_input(slot, 0, usize::MAX)?;
        // The kernel has the whole grant only from the operation on.
        let len = address::write(&grant, address);
        update(&self.state(slot).inbox, |inbox| inbox.leave_traces(len as usize));
        Some((grant, len))
    }

    fn grant(&self, slot: u32, port: Port, base: usize, range: Range<usize>) -> Grant {
        let range = base + range.start..base + range.end;
        self.map.borrow_mut().grant(slot as usize, port, &range);
        Grant { bytes: self.memory.at(&range) }
    }

    /// From positions in a slot's inbound region to those in the whole memory.
    fn inbound(&self, slot: u32, range: &Range<usize>) -> Range<usize> {
        let base = self.start(slot);
        base + range.start..base + range.end
    }

    fn outbound(&self, slot: u32, range: &Range<usize>) -> Range<usize> {
        let base = self.take_region(slot);
        base + range.start..base + range.end
    }

    /// Where a slot's memory begins. Not all at the same place in a page: the same lines of all slots would share a few
    /// sets of the processor's caches.
    fn start(&self, slot: u32) -> usize {
        slot as usize * self.stride + slot as usize % COLOURS * LINE
    }

    fn state(&self, slot: u32) -> &SlotState {
        &self.slots[slot as usize]
    }
}

fn update<T: Copy, R>(cell: &Cell<T>, change: impl FnOnce(&mut T) -> R) -> R {
    let mut value = cell.get();
    let result = change(&mut value);
    cell.set(value);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use arenatls_engine::{Backend as _, ExchangeError, Handover as _, Pending};

    fn slab() -> Rc<Slab> {
        Rc::new(Slab::new(3, 20_000, 20_000).unwrap())
    }

    #[test]
    fn slots_go_home_when_the_last_who_has_them_lets_go() {
        let slab = slab();
        let (one, backend) = slab.lend().unwrap();
        let (two, other) = slab.lend().unwrap();
        assert_eq!(slab.count(), SlotCount { home: 1, lent: 2 });
        drop(backend);
        slab.release(two);
        assert_eq!(slab.count().home, 1, "each is still held by one");
        slab.release(one);
        drop(other);
        assert_eq!(slab.count(), SlotCount { home: 3, lent: 0 });
    }

    #[test]
    fn no_more_are_lent_than_there_are() {
        let slab = slab();
        let all: Vec<_> = std::iter::from_fn(|| slab.lend()).collect();
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn r3_a_slot_comes_home_zeroed() {
        let slab = slab();
        for _ in 0..2 {
            let (slot, mut backend) = slab.lend().unwrap();
            receive_sevens(&slab, slot, &mut backend, 100);
            drop(backend);
            slab.release(slot);
        }
    }

    /// As the kernel would; what lay there before is zero.
    fn receive_sevens(slab: &Slab, slot: u32, backend: &mut FdBackend, n: usize) {
        slab.grant_input(slot, 0, usize::MAX).unwrap();
        slab.received(slot, n);
        assert!(backend.input().iter().all(|byte| *byte == 0));
        backend.input().fill(7);
    }

    /// After a peak, few slots keep their pages, and all are zero.
    #[test]
    fn r6_only_so_many_slots_at_home_hold_memory() {
        let many = u8::try_from(WARM + 10).unwrap();
        let slab = Rc::new(Slab::new(usize::from(many), 20_000, 20_000).unwrap());
        for _ in 0..2 {
            let mut lent: Vec<_> = (0..many).map(|_| slab.lend().unwrap()).collect();
            for (slot, backend) in &mut lent {
                receive_sevens(&slab, *slot, backend, 5000);
            }
            for (slot, backend) in lent {
                drop(backend);
                slab.release(slot);
            }
            assert_eq!(slab.warm.get(), WARM);
        }
    }

    #[test]
    fn r3_no_address_is_left_in_a_slot_that_comes_home() {
        let slab = slab();
        let (slot, backend) = slab.lend().unwrap();
        let _grant = slab.grant_address(slot, &"[ff::1]:443".parse().unwrap()).unwrap();
        slab.received(slot, 0);
        drop(backend);
        slab.release(slot);
        let (again, mut backend) = slab.lend().unwrap();
        assert_eq!(again, slot);
        // As if that much had come.
        let _grant = slab.grant_input(slot, 0, usize::MAX).unwrap();
        slab.received(slot, 100);
        assert_eq!(backend.input(), [0; 100]);
    }

    #[test]
    #[should_panic(expected = "released under an operation")]
    fn r3_a_slot_under_an_operation_is_not_released() {
        let slab = slab();
        let (slot, _backend) = slab.lend().unwrap();
        let _grant = slab.grant_input(slot, 0, usize::MAX).unwrap();
        slab.release(slot);
    }

    #[test]
    fn r2_nothing_is_handed_over_under_an_operation() {
        let slab = slab();
        let (one, mut from) = slab.lend().unwrap();
        let (two, mut to) = slab.lend().unwrap();
        let _reception = slab.grant_input(one, 0, usize::MAX).unwrap();
        assert!(from.pending().is_none());
        assert_eq!(from.take_over(&to.pending().unwrap()), Err(ExchangeError::Busy));
        slab.received(one, 7);
        from.room(9)[..9].fill(9);
        from.commit(9);
        let _send = slab.grant_output(one).unwrap();
        assert!(from.pending().is_none());
        slab.sent(one, 4);
        slab.end_input(one);
        let pending = from.pending().unwrap();
        assert_eq!((pending.input, pending.unsent_len(), pending.input_ended), (&[0; 7][..], 5, true));
        to.take_over(&pending).unwrap();
        assert_eq!(to.input(), [0; 7]);
        assert_eq!((to.unsent(), to.input_ended()), (5, true));
        let sent = slab.grant_output(two).unwrap();
        assert_eq!(sent.len(), 5);
        slab.sent(two, 5);
    }

    #[test]
    fn output_that_lies_in_two_places_is_handed_over_in_order() {
        let slab = slab();
        let (one, mut from) = slab.lend().unwrap();
        let (two, mut to) = slab.lend().unwrap();
        from.room(15_000)[..15_000].fill(1);
        from.commit(15_000);
        let _send = slab.grant_output(one).unwrap();
        slab.sent(one, 12_000);
        from.room(10_000)[..10_000].fill(2);
        from.commit(10_000);
        let pending = from.pending().unwrap();
        assert_eq!(pending.unsent, [&[1; 3000][..], &[2; 10_000]]);
        to.take_over(&pending).unwrap();
        assert_eq!(to.pending().unwrap().unsent, [&[[1; 3000].as_slice(), &[2; 10_000]].concat()[..], &[]]);
        assert_eq!(slab.grant_output(two).unwrap().len(), 13_000);
        slab.sent(two, 0);
    }

    #[test]
    fn what_is_too_much_for_a_slot_changes_nothing() {
        let slab = slab();
        let (_, mut to) = slab.lend().unwrap();
        let much = [1; 20_001];
        let pending = |input, output| Pending { input, unsent: [output, &much[..1]], input_ended: true };
        for (pending, why) in [
            (pending(&much, &[]), ExchangeError::InputTooLarge { pending: 20_001, room: 20_000 }),
            (pending(&[1], &much[..20_000]), ExchangeError::OutputTooLarge { pending: 20_001, room: 20_000 }),
        ] {
            assert_eq!(to.take_over(&pending), Err(why));
            assert_eq!((to.input().len(), to.unsent(), to.input_ended()), (0, 0, false));
        }
        to.take_over(&pending(&much[..20_000], &much[..19_999])).unwrap();
        assert_eq!((to.input().len(), to.unsent(), to.input_ended()), (20_000, 20_000, true));
        assert!(to.take_over(&pending(&much[..1], &[])).is_err(), "it is full");
    }

    #[test]
    fn r2_grants_and_slices_do_not_meet() {
        let slab = slab();
        let mut spans = Vec::new();
        for _ in 0..3 {
            let (slot, mut backend) = slab.lend().unwrap();
            let input = slab.grant_input(slot, 0, usize::MAX).unwrap();
            slab.received(slot, 100);
            let more = slab.grant_input(slot, 0, usize::MAX).unwrap();
            let room = backend.room(50).as_ptr() as usize;
            backend.commit(50);
            let output = slab.grant_output(slot).unwrap();
            assert_eq!((input.len(), more.len(), output.len()), (10_000, 9_900, 50));
            assert_eq!(output.pointer() as usize, room);
            spans.push((backend.input().as_ptr() as usize, 100));
            spans.push((more.pointer() as usize, 9_900));
            spans.push((room, 50));
            spans.push((backend.room(1).as_ptr() as usize, 19_950));
            std::mem::forget(backend);
        }
        spans.sort_unstable();
        assert!(spans.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0), "{spans:?}");
    }
}
