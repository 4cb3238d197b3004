//! Ending a driver's wait from another thread.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::submission::{Full, Ring};
use crate::token::{Kind, Token};

/// Ends a wait in [`RingDriver::turn`](crate::RingDriver::turn), or the next one. To be cloned, and used from any thread.
#[derive(Clone, Debug)]
pub struct Waker {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// A byte is in the pipe, or on its way.
    woken: AtomicBool,
    pipe: PipeWriter,
    /// As long as anybody can write, so that it is never a write to nobody: that would be a SIGPIPE, which a host that is
    /// not a Rust program may not ignore.
    reader: PipeReader,
}

impl Waker {
    /// Wakes the driver. What was stored before is seen by its thread after the turn. Nothing happens if the driver is
    /// no more.
    pub fn wake(&self) {
        if !self.shared.woken.swap(true, Ordering::AcqRel) {
            // One byte at most is ever in the pipe, so that this does not block.
            let _ = (&self.shared.pipe).write(&[1]);
        }
    }
}

/// The driver's end.
#[derive(Debug)]
pub(crate) struct Wakeup {
    shared: Arc<Shared>,
    armed: bool,
}

impl Wakeup {
    pub(crate) fn new() -> io::Result<Wakeup> {
        let (reader, pipe) = io::pipe()?;
        let shared = Arc::new(Shared { woken: AtomicBool::new(false), pipe, reader });
        Ok(Wakeup { shared, armed: false })
    }

    pub(crate) fn waker(&self) -> Waker {
        Waker { shared: Arc::clone(&self.shared) }
    }

    pub(crate) fn arm(&mut self, ring: &mut Ring) -> Result<(), Full> {
        if !self.armed {
            ring.poll_in(self.shared.reader.as_fd(), Token { kind: Kind::Wake, index: 0, generation: 0 })?;
            self.armed = true;
        }
        Ok(())
    }

    /// The operation is complete: there is a byte, if the result says so.
    pub(crate) fn complete(&mut self, result: i32) {
        self.armed = false;
        if result > 0 {
            // It is there; a failure shows in that the next operation completes at once.
            let _ = (&self.shared.reader).read(&mut [0]);
            self.shared.woken.swap(false, Ordering::AcqRel);
        }
    }
}
