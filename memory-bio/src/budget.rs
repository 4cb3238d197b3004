//! How many bytes an owner of memory may hand out, counted by ourselves.

use std::cell::Cell;

/// How much memory an [`Arena`](crate::Arena) or one connection of an [`ArenaPool`](crate::ArenaPool) may hand
/// out (bytes).
///
/// It counts the bytes asked for, exactly and in total. (bumpalo has a limit of its own, which it only looks at
/// when it takes another chunk from the global allocator.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Budget {
    limit: usize,
}

impl Budget {
    /// A budget of `limit` bytes.
    pub const fn bytes(limit: usize) -> Self {
        Self { limit }
    }

    /// The most that may be handed out at any one time (bytes).
    pub const fn limit(self) -> usize {
        self.limit
    }
}

/// A request for more memory than the budget has left. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{requested} bytes requested, {remaining} left in the budget")]
pub struct BudgetExceeded {
    /// What was asked for (bytes).
    pub requested: usize,
    /// What the budget had left (bytes).
    pub remaining: usize,
}

/// The global allocator had no memory for a request that the budget allowed. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the global allocator refused {requested} bytes")]
pub struct OutOfMemory {
    /// What was asked of the global allocator (bytes, without its or the arena's bookkeeping).
    pub requested: usize,
}

/// What of a [`Budget`] is spent.
#[derive(Debug)]
pub(crate) struct Account {
    budget: Budget,
    used: Cell<usize>,
}

impl Account {
    pub(crate) const fn new(budget: Budget) -> Self {
        Self { budget, used: Cell::new(0) }
    }

    pub(crate) fn limit(&self) -> usize {
        self.budget.limit()
    }

    pub(crate) fn used(&self) -> usize {
        self.used.get()
    }

    pub(crate) fn remaining(&self) -> usize {
        // `charge` keeps `used` within the limit.
        self.limit() - self.used()
    }

    pub(crate) fn charge(&self, requested: usize) -> Result<(), BudgetExceeded> {
        let remaining = self.remaining();
        if requested > remaining {
            return Err(BudgetExceeded { requested, remaining });
        }
        self.used.set(self.used() + requested);
        Ok(())
    }

    pub(crate) fn refund(&self, n: usize) {
        self.used.set(self.used() - n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spends_to_the_last_byte_and_not_beyond() {
        let account = Account::new(Budget::bytes(10));
        assert_eq!(account.charge(7), Ok(()));
        let refusal = BudgetExceeded { requested: 4, remaining: 3 };
        assert_eq!(account.charge(4), Err(refusal));
        assert_eq!(account.used(), 7, "a refusal changes nothing");
        assert_eq!(account.charge(3), Ok(()));
        assert_eq!(account.charge(0), Ok(()));
        assert_eq!(account.remaining(), 0);
    }

    #[test]
    fn a_request_near_the_top_of_usize_does_not_wrap() {
        let account = Account::new(Budget::bytes(usize::MAX));
        assert_eq!(account.charge(usize::MAX), Ok(()));
        assert!(account.charge(usize::MAX).is_err());
        account.refund(usize::MAX);
        assert_eq!(account.used(), 0);
    }
}
