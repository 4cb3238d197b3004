//! Connection memory that is used again and again.

use crate::block::Shelf;
use crate::piece::Piece;
use crate::{ArenaBackend, Budget, BudgetExceeded, Capacities, OutOfMemory};

/// Memory for connections of one size, recycled: the next connection gets what the last one gave back.
///
/// The blocks are carved out of large pieces of zeroed memory, which live as long as the pool; a page of them that no
/// connection has used costs address space only, on systems that hand out memory lazily. A connection that starts or ends
/// takes a lock for a moment; no other use of its memory does. Once there have been as many connections at a
/// time as there will be, none of this takes memory from the global allocator.
///
/// Threads share a pool by reference, scoped or `'static`:
///
/// ```
/// use arenatls_memory_bio::{ArenaPool, Budget};
/// use std::sync::LazyLock;
///
/// static POOL: LazyLock<ArenaPool> = LazyLock::new(|| ArenaPool::new(Budget::bytes(64 * 1024)));
///
/// let backend = std::thread::spawn(|| POOL.backend()).join().unwrap()?;
/// assert_eq!((POOL.in_use(), POOL.idle()), (1, 0));
/// drop(backend);
/// assert_eq!((POOL.in_use(), POOL.idle()), (0, 1));
/// # Ok::<(), arenatls_memory_bio::PoolError>(())
/// ```
#[derive(Debug)]
pub struct ArenaPool {
    /// What one connection gets, or why the budget is too small for any.
    size: Result<Capacities, BudgetExceeded>,
    connections: usize,
    shelf: Shelf,
}

/// Why an [`ArenaPool`] refused. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// The budget of a connection is less than [`Capacities::MINIMUM`]; `remaining` is that budget.
    #[error("the budget is too small for any connection: {0}")]
    BudgetExceeded(#[from] BudgetExceeded),
    /// As many connections as the pool allows are in use.
    #[error("all {connections} connections of the pool are in use")]
    Exhausted {
        /// The most connections at a time.
        connections: usize,
    },
    /// The global allocator has no memory for another connection.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

impl ArenaPool {
    /// A pool that grows with the number of connections at a time. Takes no memory yet.
    ///
    /// Each connection gets all of `per_connection`, shared out as [`Capacities::split`] does. The pool takes ever
    /// larger pieces from the global allocator, of at most 64 connections.
    pub fn new(per_connection: Budget) -> Self {
        Self { size: Capacities::split(per_connection.limit()), connections: usize::MAX, shelf: Shelf::new(None) }
    }

    /// A pool of at most `connections` at a time.
    ///
    /// It asks the global allocator for all of its memory now, in one piece (address space only, until somebody
    /// uses it, on systems that hand out memory lazily); where that is refused, it grows like
    /// [`new`](ArenaPool::new).
    pub fn with_limit(per_connection: Budget, connections: usize) -> Self {
        let size = Capacities::split(per_connection.limit());
        let all = size.ok().and_then(|size| size.total().checked_mul(connections)).and_then(Piece::new);
        Self { size, connections, shelf: Shelf::new(all) }
    }

    /// Memory for one connection; dropping it zeroes what was used and gives it back.
    ///
    /// # Errors
    ///
    /// If the budget is too small for any connection, as many connections as allowed are in use, or the global
    /// allocator has no memory for another. Nothing has changed then.
    pub fn backend(&self) -> Result<ArenaBackend<'_>, PoolError> {
        let memory = self.shelf.lend(self.size?, self.connections)?;
        Ok(ArenaBackend::over(memory))
    }

    /// Connections that have memory of this pool now.
    pub fn in_use(&self) -> usize {
        self.shelf.count().0
    }

    /// Connections' worth of memory that waits to be used again.
    pub fn idle(&self) -> usize {
        self.shelf.count().1
    }

    /// Bytes taken from the global allocator, bookkeeping included.
    pub fn reserved(&self) -> usize {
        self.shelf.reserved()
    }
}

/// Threads share a pool.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<ArenaPool>();
};

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Budget = Budget::bytes(64 * 1024);

    #[test]
    fn gives_each_connection_the_whole_budget() {
        let pool = ArenaPool::new(USUAL);
        assert_eq!(pool.reserved(), 0);
        let backend = pool.backend().unwrap();
        assert_eq!(backend.capacities().total(), USUAL.limit());
    }

    #[test]
    fn the_last_block_back_is_the_first_to_go() {
        let pool = ArenaPool::new(USUAL);
        let [mut one, two] = [(); 2].map(|()| pool.backend().unwrap());
        let place = one.receive_into().as_ptr();
        drop(two);
        drop(one);
        assert_eq!(pool.idle(), 2);
        assert_eq!(pool.backend().unwrap().receive_into().as_ptr(), place);
    }

    #[test]
    fn a_limit_holds_and_is_taken_in_one_piece() {
        let pool = ArenaPool::with_limit(USUAL, 3);
        let all = 3 * USUAL.limit();
        assert!((all..all + 8192).contains(&pool.reserved()));
        let loans: Vec<_> = (0..3).map(|_| pool.backend().unwrap()).collect();
        let refusal = PoolError::Exhausted { connections: 3 };
        assert_eq!(pool.backend().unwrap_err(), refusal);
        assert_eq!((pool.in_use(), pool.idle()), (3, 0));
        drop(loans);
        assert!(pool.backend().is_ok());
        assert!((all..all + 8192).contains(&pool.reserved()));
    }

    #[test]
    fn a_limit_beyond_the_machine_grows_instead() {
        let pool = ArenaPool::with_limit(USUAL, usize::MAX);
        assert!(pool.backend().is_ok());
    }

    #[test]
    fn too_small_a_budget_is_refused() {
        let pool = ArenaPool::new(Budget::bytes(1000));
        let refusal = BudgetExceeded { requested: Capacities::MINIMUM.total(), remaining: 1000 };
        assert_eq!(pool.backend().unwrap_err(), refusal.into());
        assert_eq!((pool.in_use(), pool.idle(), pool.reserved()), (0, 0, 0));
    }
}
