//! How a driver learns which of its connections have writers' bytes, without a lock and mostly without a system call.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::thread::{self, ThreadId};

use crossbeam_queue::ArrayQueue;

use crate::waker::Waker;

/// One list for a driver: each connection is in it at most once, so that it is never full.
///
/// ```text
///   a writer                              the driver
///   puts bytes into its ring              takes a connection off the list
///   marks the connection; if it was not   clears its mark, then looks into the rings
///   marked: lists it, and wakes the       before it sleeps: says that it does, then looks
///   driver if that says that it sleeps    at the list again
/// ```
///
/// Marks are exchanged, never just written, so that who clears one sees the bytes of everybody who found it set. Between
/// "listed, asleep?" and "asleep, listed?" stand fences: one of the two sees the other.
#[derive(Debug)]
pub(crate) struct Notices {
    listed: ArrayQueue<u32>,
    marks: Box<[AtomicBool]>,
    asleep: AtomicBool,
    waker: Waker,
    driver: ThreadId,
    /// Bytes that were accepted from writers and never sealed.
    pub(super) lost: AtomicU64,
}

impl Notices {
    /// For the driver of this thread.
    pub(crate) fn new(connections: u32, waker: Waker) -> Notices {
        let most = connections as usize;
        Notices {
            listed: ArrayQueue::new(most.max(1)),
            marks: (0..most).map(|_| AtomicBool::new(false)).collect(),
            asleep: AtomicBool::new(false),
            waker,
            driver: thread::current().id(),
            lost: AtomicU64::new(0),
        }
    }

    /// A writer's word that connection `index` has to be looked at. True if the driver slept, and was woken.
    pub(super) fn tell(&self, index: u32) -> bool {
        if self.marks[index as usize].swap(true, Ordering::AcqRel) {
            // Whoever set the mark lists it.
            return false;
        }
        let listed = self.listed.push(index);
        debug_assert!(listed.is_ok(), "there is a place for each connection");
        fence(Ordering::SeqCst);
        let sleeps = self.asleep.load(Ordering::Relaxed);
        if sleeps {
            self.waker.wake();
        }
        sleeps
    }

    /// A connection that has to be looked at, now.
    pub(crate) fn take(&self) -> Option<u32> {
        let index = self.listed.pop()?;
        self.marks[index as usize].swap(false, Ordering::AcqRel);
        Some(index)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// The driver is about to sleep: from here on writers wake it. False if it must not, because there is something to
    /// take.
    pub(crate) fn fall_asleep(&self) -> bool {
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.is_empty()
    }

    pub(crate) fn wake_up(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// True on the driver's own thread.
    pub(super) fn is_driver(&self) -> bool {
        thread::current().id() == self.driver
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}
