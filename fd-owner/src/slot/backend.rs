//! The engine's side of a slot.

use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use arenatls_engine::{Backend, ExchangeError, Handover, Pending, Ports};

use super::inbox::{Inbox, whole};
use super::outbox::Outbox;
use super::{Lease, Slab, update};

/// One connection's ciphertext, in a slot that belongs to a [`RingDriver`](crate::RingDriver).
///
/// The kernel receives into it behind what waits, while the engine opens records in place at its front; and it sends
/// from it what the engine has sealed, while the engine seals more behind. Only the driver makes it.
///
/// Dropping it, with its connection, hands the slot to the driver, which keeps it until no operation has any of it. It
/// is zeroed then.
pub struct FdBackend {
    slab: Rc<Slab>,
    slot: u32,
    lease: Lease,
}

impl FdBackend {
    pub(super) fn new(slab: Rc<Slab>, slot: u32, lease: Lease) -> FdBackend {
        FdBackend { slab, slot, lease }
    }

    /// Ciphertext moved within the inbound memory so far (bytes): heads of records whose rest would not have fit behind
    /// them.
    pub fn moved_bytes(&self) -> u64 {
        self.slab.state(self.slot).inbox.get().moved_bytes()
    }

    /// True once the peer takes nothing more, or has reset the connection: what is written goes nowhere. What it sent
    /// before can still be read.
    pub fn output_is_lost(&self) -> bool {
        self.slab.state(self.slot).outbox.get().is_sink()
    }

    /// Whether it is the lease of this very slot: connections may have been exchanged.
    pub(crate) fn is_lease_of(&self, slab: &Rc<Slab>, slot: u32) -> bool {
        Rc::ptr_eq(&self.slab, slab) && self.slot == slot
    }

    /// Makes room for the rest of the record under way, if a reception shall be armed; how long that record is, as far as
    /// it is known (bytes).
    pub(crate) fn make_room(&mut self) -> usize {
        let inbox = self.slab.state(self.slot).inbox.get();
        let (waiting, whole) = (inbox.waiting(), whole(self.input()));
        if !inbox.must_move(self.input()) {
            return whole;
        }
        let all = self.inbound(&(0..waiting.end));
        self.slab.map.borrow().write(self.slot as usize, &all);
        // SAFETY: R1: this is the slot's lease. R2: `must_move` says yes only while the kernel has none of the inbox.
        let bytes = unsafe { self.lease.bytes(&self.slab.memory, &all) };
        bytes.copy_within(waiting, 0);
        update(&self.slab.state(self.slot).inbox, Inbox::moved);
        whole
    }

    /// Gives the slot's memory back to the system. False if something waits in it, or an operation has some of it.
    pub(crate) fn give_back(&mut self) -> bool {
        self.slab.give_back(self.slot, &mut self.lease)
    }

    /// Puts outbound memory back that nothing waits in.
    pub(crate) fn let_go(&mut self) {
        self.slab.let_go(self.slot, &mut self.lease);
    }

    /// Where the bytes of both directions lie, if the kernel has none of them.
    fn whole(&self) -> Option<(Inbox, Outbox)> {
        let state = self.slab.state(self.slot);
        let (inbox, outbox) = (state.inbox.get(), state.outbox.get());
        (inbox.is_whole() && outbox.is_whole()).then_some((inbox, outbox))
    }

    /// From positions in the inbound region to those in the whole memory.
    fn inbound(&self, range: &Range<usize>) -> Range<usize> {
        let base = self.slab.start(self.slot);
        base + range.start..base + range.end
    }

    fn take_room(&self, at_least: usize) -> Range<usize> {
        self.slab.outbound(self.slot, &update(&self.slab.state(self.slot).outbox, |outbox| outbox.room(at_least)))
    }
}

impl Backend for FdBackend {
    #[inline]
    fn input(&mut self) -> &mut [u8] {
        let range = self.inbound(&self.slab.state(self.slot).inbox.get().waiting());
        self.slab.map.borrow().write(self.slot as usize, &range);
        // SAFETY: R1: this is the slot's lease. R2: what waits ends where the kernel's grant begins.
        unsafe { self.lease.bytes(&self.slab.memory, &range) }
    }

    #[inline]
    fn consume(&mut self, n: usize) {
        update(&self.slab.state(self.slot).inbox, |inbox| inbox.consume(n));
    }

    #[inline]
    fn input_ended(&self) -> bool {
        self.slab.state(self.slot).ended.get()
    }

    #[inline]
    fn room(&mut self, at_least: usize) -> &mut [u8] {
        let range = self.take_room(at_least);
        self.slab.map.borrow().write(self.slot as usize, &range);
        // SAFETY: R1: this is the slot's lease. R2: room holds no committed byte, and the kernel has only such.
        unsafe { self.lease.bytes(&self.slab.memory, &range) }
    }

    #[inline]
    fn commit(&mut self, n: usize) {
        update(&self.slab.state(self.slot).outbox, |outbox| outbox.commit(n));
    }

    #[inline]
    fn ports(&mut self, at_least: usize) -> Ports<'_> {
        let input = self.inbound(&self.slab.state(self.slot).inbox.get().waiting());
        let room = self.take_room(at_least);
        self.slab.map.borrow().write(self.slot as usize, &input);
        self.slab.map.borrow().write(self.slot as usize, &room);
        // SAFETY: R1 and R2, as in `input` and `room`.
        let [input, room] = unsafe { self.lease.both(&self.slab.memory, [&input, &room]) };
        Ports { input, room }
    }

    #[inline]
    fn unsent(&self) -> usize {
        self.slab.unsent(self.slot)
    }
}

impl Handover for FdBackend {
    /// `None` while an operation is in flight.
    fn pending(&mut self) -> Option<Pending<'_>> {
        let (inbox, outbox) = self.whole()?;
        let (input, [older, newer]) = (inbox.waiting(), outbox.waiting());
        let input_ended = self.input_ended();
        let (input, out) = (self.inbound(&input), self.slab.outbound(self.slot, &(0..outbox.capacity())));
        self.slab.map.borrow().write(self.slot as usize, &input);
        self.slab.map.borrow().write(self.slot as usize, &out);
        // SAFETY: R1: this is the slot's lease. R2: the kernel has nothing of it (`whole`).
        let [input, out] = unsafe { self.lease.both(&self.slab.memory, [&input, &out]) };
        Some(Pending { input, unsent: [&out[older], &out[newer]], input_ended })
    }

    fn take_over(&mut self, pending: &Pending<'_>) -> Result<(), ExchangeError> {
        let (inbox, outbox) = self.whole().ok_or(ExchangeError::Busy)?;
        let at = inbox.waiting().end;
        pending.check_room(inbox.capacity() - at, outbox.capacity() - outbox.len())?;
        let range = self.inbound(&(at..at + pending.input.len()));
        self.slab.map.borrow().write(self.slot as usize, &range);
        // SAFETY: R1: this is the slot's lease. R2: the kernel has nothing of it (`whole`).
        unsafe { self.lease.bytes(&self.slab.memory, &range) }.copy_from_slice(pending.input);
        // As a reception would have brought it.
        update(&self.slab.state(self.slot).inbox, |inbox| {
            inbox.grant_within(1..=usize::MAX).map(|_| inbox.filled(pending.input.len()))
        });
        for part in pending.unsent {
            self.room(part.len())[..part.len()].copy_from_slice(part);
            self.commit(part.len());
        }
        self.slab.state(self.slot).ended.set(pending.input_ended);
        Ok(())
    }
}

impl Drop for FdBackend {
    fn drop(&mut self) {
        self.slab.backend_is_gone(self.slot);
    }
}

impl fmt::Debug for FdBackend {
    /// Lengths only: the bytes may be plaintext.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (inbox, outbox) = (self.slab.state(self.slot).inbox.get(), self.slab.state(self.slot).outbox.get());
        f.debug_struct("FdBackend")
            .field("slot", &self.slot)
            .field("pending", &inbox.waiting().len())
            .field("unsent", &Outbox::len(&outbox))
            .field("moved_bytes", &inbox.moved_bytes())
            .field("input_ended", &self.input_ended())
            .finish_non_exhaustive()
    }
}
