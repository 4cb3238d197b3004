//! A mutex that tells how often a thread found another one inside, and how long it waited.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

use super::waits::{For, Notebook};

/// A [`Mutex`] of the standard library, instrumented: an entry that `try_lock` does not get is contended.
#[derive(Debug, Default)]
pub(super) struct Gate<T>(Mutex<T>);

impl<T> Gate<T> {
    pub(super) fn new(inside: T) -> Gate<T> {
        Gate(Mutex::new(inside))
    }

    pub(super) fn lock(&self, notebook: &mut Notebook) -> MutexGuard<'_, T> {
        notebook.entries += 1;
        match self.0.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let since = Instant::now();
                let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                notebook.waited(For::Lock, since);
                guard
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn only_contended_entries_are_waits() {
        let (gate, barrier) = (Gate::new(0), Barrier::new(2));
        let mut notebook = Notebook::begin();
        for _ in 0..5 {
            *gate.lock(&mut notebook) += 1;
        }
        assert_eq!((notebook.entries, notebook.lock.count), (5, 0));
        thread::scope(|scope| {
            scope.spawn(|| {
                let _inside = gate.lock(&mut Notebook::begin());
                barrier.wait();
                thread::sleep(Duration::from_millis(5));
            });
            barrier.wait();
            *gate.lock(&mut notebook) += 1;
        });
        assert_eq!((notebook.entries, notebook.lock.count), (6, 1));
        assert!(notebook.lock.longest >= Duration::from_millis(1), "{notebook:?}");
    }
}
