//! Memory that lives and is released as a whole.

use crate::{Budget, BudgetExceeded, OutOfMemory, budget::Account};
use bumpalo::Bump;
use std::cell::OnceCell;
use zeroize::Zeroize;

/// Bytes for connections, handed out one after another and given back all at once.
///
/// The whole [`Budget`] is taken from the global allocator in one piece, at the first allocation; from then on
/// [`reset`](Arena::reset) and allocation never go back to it. Pages that nobody has touched cost address space
/// only, on systems that hand out memory lazily.
///
/// What was handed out is zeroed when the arena is reset or dropped.
///
/// ```
/// use arenatls_memory_bio::{Arena, Budget};
///
/// let mut arena = Arena::new(Budget::bytes(1024));
/// let memory = arena.alloc_bytes(1000)?;
/// memory[0] = 1;
/// assert_eq!(arena.remaining(), 24);
/// assert!(arena.alloc_bytes(25).is_err());
/// arena.reset();
/// assert_eq!(arena.remaining(), 1024);
/// # Ok::<(), arenatls_memory_bio::ArenaError>(())
/// ```
///
/// Memory cannot outlive its arena:
///
/// ```compile_fail,E0505
/// use arenatls_memory_bio::{Arena, Budget};
///
/// let arena = Arena::new(Budget::bytes(1024));
/// let memory = arena.alloc_bytes(1000).unwrap();
/// drop(arena);
/// memory[0] = 1;
/// ```
///
/// nor a reset:
///
/// ```compile_fail,E0502
/// use arenatls_memory_bio::{Arena, Budget};
///
/// let mut arena = Arena::new(Budget::bytes(1024));
/// let memory = arena.alloc_bytes(1000).unwrap();
/// arena.reset();
/// memory[0] = 1;
/// ```
#[derive(Debug)]
pub struct Arena {
    /// One chunk of the whole budget, so that `wipe` reaches every byte that was ever handed out.
    bump: OnceCell<Bump>,
    account: Account,
}

/// Why an [`Arena`] refused. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArenaError {
    /// The caller asked for more than the budget has left.
    #[error(transparent)]
    BudgetExceeded(#[from] BudgetExceeded),
    /// The budget allowed it, the machine did not.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

impl Arena {
    /// An arena that hands out at most what `budget` says. Takes no memory yet.
    pub const fn new(budget: Budget) -> Self {
        Self { bump: OnceCell::new(), account: Account::new(budget) }
    }

    /// Hands out `n` zeroed bytes.
    ///
    /// # Errors
    ///
    /// [`ArenaError::BudgetExceeded`] if fewer than `n` bytes remain; [`ArenaError::OutOfMemory`] if the global
    /// allocator has no memory for the budget. Either way nothing has changed.
    pub fn alloc_bytes(&self, n: usize) -> Result<&mut [u8], ArenaError> {
        self.account.charge(n)?;
        self.carve(n).map_err(|refused| {
            self.account.refund(n);
            refused.into()
        })
    }

    /// Bytes handed out since the arena was made or last reset.
    pub fn used(&self) -> usize {
        self.account.used()
    }

    /// Bytes that may still be handed out.
    pub fn remaining(&self) -> usize {
        self.account.remaining()
    }

    /// Bytes taken from the global allocator, bookkeeping included.
    pub fn reserved(&self) -> usize {
        self.bump.get().map_or(0, Bump::allocated_bytes_including_metadata)
    }

    /// Zeroes what was handed out and gives the budget back. Keeps the memory for the next use.
    pub fn reset(&mut self) {
        self.wipe();
        self.account.refund(self.account.used());
    }

    fn carve(&self, n: usize) -> Result<&mut [u8], OutOfMemory> {
        self.bump()?.try_alloc_slice_fill_copy(n, 0_u8).map_err(|_| OutOfMemory { requested: n })
    }

    fn bump(&self) -> Result<&Bump, OutOfMemory> {
        if let Some(bump) = self.bump.get() {
            return Ok(bump);
        }
        let requested = self.account.limit();
        let bump = Bump::try_with_capacity(requested).map_err(|_| OutOfMemory { requested })?;
        Ok(self.bump.get_or_init(|| bump))
    }

    /// Zeroes what was handed out. The bump pointer falls through one chunk, so the first `used` bytes after a
    /// reset are the very bytes handed out before it.
    fn wipe(&mut self) {
        let used = self.account.used();
        let Some(bump) = self.bump.get_mut() else {
            return;
        };
        bump.reset();
        if let Ok(memory) = bump.try_alloc_slice_fill_copy(used, 0_u8) {
            // The fill alone could be optimised away as a dead store.
            memory.zeroize();
        }
        bump.reset();
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.wipe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_for_every_byte_and_takes_one_chunk() {
        let arena = Arena::new(Budget::bytes(100_000));
        assert_eq!(arena.reserved(), 0);
        let first = arena.alloc_bytes(1).unwrap();
        let taken = arena.reserved();
        assert!((100_000..110_000).contains(&taken), "{taken}");
        let second = arena.alloc_bytes(99_999).unwrap();
        assert_eq!((first.len(), second.len()), (1, 99_999));
        assert!(first.iter().chain(&*second).all(|&b| b == 0));
        assert_eq!((arena.used(), arena.remaining()), (100_000, 0));
        assert_eq!(arena.reserved(), taken);
    }

    #[test]
    fn a_refusal_changes_nothing() {
        let arena = Arena::new(Budget::bytes(100));
        let refusal = BudgetExceeded { requested: 101, remaining: 100 };
        assert_eq!(arena.alloc_bytes(101), Err(refusal.into()));
        assert_eq!((arena.used(), arena.reserved()), (0, 0));
        assert_eq!(arena.alloc_bytes(100).unwrap().len(), 100);
    }

    #[test]
    fn a_refusal_of_the_global_allocator_is_typed_and_changes_nothing() {
        let arena = Arena::new(Budget::bytes(usize::MAX));
        let refusal = OutOfMemory { requested: usize::MAX };
        assert_eq!(arena.alloc_bytes(8), Err(refusal.into()));
        assert_eq!(arena.used(), 0);
    }

    #[test]
    fn reset_gives_the_budget_back_and_keeps_the_chunk() {
        let mut arena = Arena::new(Budget::bytes(5000));
        arena.alloc_bytes(5000).unwrap().fill(0xa5);
        let taken = arena.reserved();
        arena.reset();
        assert_eq!((arena.used(), arena.remaining()), (0, 5000));
        assert_eq!(arena.reserved(), taken);
        assert!(arena.alloc_bytes(5000).unwrap().iter().all(|&b| b == 0));
    }

    #[test]
    fn an_empty_budget_hands_out_empty_memory() {
        let mut arena = Arena::new(Budget::bytes(0));
        assert_eq!(arena.alloc_bytes(0).unwrap().len(), 0);
        assert!(arena.alloc_bytes(1).is_err());
        arena.reset();
        assert_eq!(arena.reserved(), 0);
    }
}
