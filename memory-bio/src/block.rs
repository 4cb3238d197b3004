//! Blocks of pool memory, lent to connections and taken back.
//!
//! The blocks lie in pieces of zeroed memory behind a mutex, next to the list of those that are free. A borrow of a piece
//! would end with the mutex's guard, while a connection's memory must stay as long as the pool is borrowed; the
//! list therefore holds the blocks as raw slices. Three facts make that sound, numbered as in `docs/unsafe.md`:
//!
//! - **M1** The pieces of a `Shelf` are dropped with the shelf and not before, so memory carved out of them
//!   is live for as long as the shelf is borrowed.
//! - **M2** For each carved piece of memory there is at any time either one `Block` or one loan of it, never both
//!   and never two: `Block` is not `Clone`, a loan consumes it, and a `Block` is made only of memory just carved
//!   or of the exclusive slices of the very loan that ends (checked by address). `ArenaBackend`, which has the
//!   queues over a loan, never takes one out.
//! - **M3** A `Block` has its memory to itself (M2), plain bytes without ties to a thread.

use crate::piece::Piece;
use crate::{Capacities, OutOfMemory, PoolError, Queue};
use std::mem;
use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where idle blocks wait, and where new ones come from.
#[derive(Debug)]
pub(crate) struct Shelf {
    stock: Mutex<Stock>,
}

#[derive(Debug)]
struct Stock {
    /// Idle blocks, the last one used on top: its pages are the most likely to be in a cache.
    free: Vec<Block>,
    /// Blocks carved so far, idle or lent. `free` has capacity for all of them.
    made: usize,
    pieces: Vec<Piece>,
}

/// Blocks in one piece, at most.
const BLOCKS: usize = 64;

impl Shelf {
    /// An empty shelf; its first blocks come out of `piece`, if there is one.
    pub(crate) fn new(piece: Option<Piece>) -> Self {
        let stock = Stock { free: Vec::new(), made: 0, pieces: piece.into_iter().collect() };
        Self { stock: Mutex::new(stock) }
    }

    /// Lends a free block, or a new one as long as there are fewer than `most`.
    pub(crate) fn lend(&self, size: Capacities, most: usize) -> Result<Memory<'_>, PoolError> {
        let block = self.stock().take(size, most)?;
        let label = block.label();
        // SAFETY: the block comes from this shelf's stock, thus out of a piece of this shelf.
        let (inbound, outbound) = unsafe { block.lend(self) };
        let mut memory = Memory::new(inbound, outbound);
        memory.home = Some(Home { shelf: self, label });
        Ok(memory)
    }

    /// Takes a block back whose loan has ended. Anything else stays out of circulation (M2).
    fn take_back(&self, block: Block, lent: Label) {
        if block.label() == lent {
            self.stock().free.push(block);
        }
    }

    /// Blocks lent and idle.
    pub(crate) fn count(&self) -> (usize, usize) {
        let stock = self.stock();
        (stock.made - stock.free.len(), stock.free.len())
    }

    /// Bytes taken from the global allocator, bookkeeping included.
    pub(crate) fn reserved(&self) -> usize {
        let stock = self.stock();
        let lists = stock.free.capacity() * size_of::<Block>() + stock.pieces.capacity() * size_of::<Piece>();
        stock.pieces.iter().map(Piece::len).sum::<usize>() + lists
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        // Every change to the stock is a single step, so a panic elsewhere leaves it whole.
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stock {
    fn take(&mut self, size: Capacities, most: usize) -> Result<Block, PoolError> {
        if let Some(block) = self.free.pop() {
            return Ok(block);
        }
        if self.made >= most {
            return Err(PoolError::Exhausted { connections: most });
        }
        let block = self.carve(size).ok_or(OutOfMemory { requested: size.total() })?;
        self.made += 1;
        Ok(block)
    }

    fn carve(&mut self, size: Capacities) -> Option<Block> {
        // Ahead of the need, so that giving a block back never allocates.
        self.free.try_reserve(self.made + 1).ok()?;
        let carved = self.pieces.last_mut().and_then(|piece| Block::carve(piece, size));
        carved.or_else(|| {
            self.pieces.try_reserve(1).ok()?;
            // As many as there are, within limits: or at least one.
            let many = size.total().checked_mul(self.made.clamp(1, BLOCKS)).and_then(Piece::new);
            let mut piece = many.or_else(|| Piece::new(size.total()))?;
            let block = Block::carve(&mut piece, size);
            self.pieces.push(piece);
            block
        })
    }
}

/// The addresses of a block's two halves.
type Label = [NonZero<usize>; 2];

/// One connection's memory while nobody uses it.
#[derive(Debug)]
struct Block {
    inbound: NonNull<[u8]>,
    outbound: NonNull<[u8]>,
}

// SAFETY: a block has its memory to itself, and the memory is plain bytes (M3).
unsafe impl Send for Block {}

impl Block {
    fn new(inbound: &mut [u8], outbound: &mut [u8]) -> Self {
        Self { inbound: NonNull::from(inbound), outbound: NonNull::from(outbound) }
    }

    fn carve(piece: &mut Piece, size: Capacities) -> Option<Self> {
        if size.total() > piece.left() {
            return None;
        }
        Some(Self { inbound: piece.carve(size.inbound())?, outbound: piece.carve(size.outbound())? })
    }

    /// Where the memory lies: tells one block from every other.
    fn label(&self) -> Label {
        [&self.inbound, &self.outbound].map(|half| half.cast::<u8>().addr())
    }

    /// The block's memory, for as long as its shelf is borrowed.
    ///
    /// # Safety
    ///
    /// The block was carved out of a piece of `_home`.
    #[expect(clippy::mut_from_ref, reason = "the memory is the block's, not the shelf's")]
    unsafe fn lend<'p>(mut self, _home: &'p Shelf) -> (&'p mut [u8], &'p mut [u8]) {
        // SAFETY: initialised when carved, live as long as `_home` is borrowed (M1), and `self` was the only way
        // to it (M2).
        let inbound: &'p mut [u8] = unsafe { self.inbound.as_mut() };
        // SAFETY: as above; the two were split apart when carved.
        let outbound: &'p mut [u8] = unsafe { self.outbound.as_mut() };
        (inbound, outbound)
    }
}

/// A connection's memory as its two queues. Zeroes what was used when dropped, then gives it back to its shelf.
#[derive(Debug)]
pub(crate) struct Memory<'a> {
    pub(crate) inbound: Queue<'a>,
    pub(crate) outbound: Queue<'a>,
    home: Option<Home<'a>>,
}

/// Where lent memory goes back to.
#[derive(Debug)]
struct Home<'a> {
    shelf: &'a Shelf,
    label: Label,
}

impl<'a> Memory<'a> {
    /// Two queues over memory that belongs to no shelf.
    pub(crate) fn new(inbound: &'a mut [u8], outbound: &'a mut [u8]) -> Self {
        Self { inbound: Queue::new(inbound), outbound: Queue::new(outbound), home: None }
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // By value, so that nothing refers to the memory any more when the next connection gets it.
        let inbound = mem::take(&mut self.inbound).into_memory();
        let outbound = mem::take(&mut self.outbound).into_memory();
        if let Some(home) = self.home.take() {
            home.shelf.take_back(Block::new(inbound, outbound), home.label);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shelf() -> Shelf {
        Shelf::new(None)
    }

    fn lend(shelf: &Shelf) -> Memory<'_> {
        shelf.lend(Capacities::MINIMUM, usize::MAX).unwrap()
    }

    #[test]
    fn m1_lent_memory_stays_while_the_shelf_grows_and_the_shelf_has_moved() {
        let elsewhere = Box::new(shelf());
        drop(lend(&elsewhere));
        let shelf = *elsewhere;
        let mut loans: Vec<_> = (0..20).map(|_| lend(&shelf)).collect();
        for (mark, loan) in (0..).zip(&mut loans) {
            loan.inbound.reserve(1).fill(mark);
            loan.inbound.commit(loan.inbound.capacity());
        }
        for (mark, loan) in (0..).zip(&loans) {
            assert!(loan.inbound.peek().iter().all(|&b| b == mark));
        }
    }

    #[test]
    fn m2_no_two_loans_share_a_byte() {
        let shelf = shelf();
        for _ in 0..3 {
            let mut loans: Vec<_> = (0..5).map(|_| lend(&shelf)).collect();
            let mut spans: Vec<_> = loans
                .iter_mut()
                .flat_map(|loan| [&mut loan.inbound, &mut loan.outbound])
                .map(|queue| queue.reserve(1).as_ptr_range())
                .collect();
            spans.sort_by_key(|span| span.start);
            assert!(spans.windows(2).all(|two| two[0].end <= two[1].start));
            assert_eq!(shelf.count(), (5, 0));
            drop(loans);
            assert_eq!(shelf.count(), (0, 5));
        }
    }

    #[test]
    fn m2_memory_that_is_not_the_loan_is_not_taken_back() {
        let (one, two) = (shelf(), shelf());
        let (mut a, mut b) = (lend(&one), lend(&two));
        mem::swap(&mut a.inbound, &mut b.inbound);
        drop((a, b));
        assert_eq!((one.count(), two.count()), ((1, 0), (1, 0)));
    }

    #[test]
    fn m3_loans_come_and_go_on_many_threads() {
        let shelf = shelf();
        std::thread::scope(|scope| {
            for mark in 1..=4 {
                let shelf = &shelf;
                scope.spawn(move || {
                    for _ in 0..200 {
                        let mut loan = lend(shelf);
                        let room = loan.outbound.reserve(9);
                        assert!(room[..9].iter().all(|&b| b == 0));
                        room[..9].fill(mark);
                        loan.outbound.commit(9);
                        assert_eq!(loan.outbound.peek(), [mark; 9]);
                    }
                });
            }
        });
        let (lent, idle) = shelf.count();
        assert_eq!(lent, 0);
        assert!((1..=4).contains(&idle), "{idle}");
    }

    #[test]
    fn a_panic_while_the_stock_is_held_leaves_it_usable() {
        let shelf = shelf();
        std::thread::scope(|scope| {
            let holder = scope.spawn(|| {
                let _stock = shelf.stock();
                panic!("on purpose");
            });
            assert!(holder.join().is_err());
        });
        assert!(shelf.stock.is_poisoned());
        drop(lend(&shelf));
        assert_eq!(shelf.count(), (0, 1));
    }

    #[test]
    fn a_refusal_of_the_global_allocator_changes_nothing() {
        let shelf = shelf();
        let size = Capacities::new(usize::MAX, 0);
        let refusal = OutOfMemory { requested: usize::MAX };
        assert_eq!(shelf.lend(size, 1).unwrap_err(), refusal.into());
        assert_eq!(shelf.count(), (0, 0));
        drop(lend(&shelf));
    }
}
