//! Registered connections: named by a number instead of a descriptor, and with a group of provided buffers.
//!
//! The ring looks a registered file up in a table of its own, and a reception into provided buffers goes on (multishot), so
//! that it is neither submitted anew for each request nor waited for anew. Each connection has a group of its own, and in
//! it, at most, one buffer: the free room of its slot.

use std::os::fd::{AsRawFd as _, BorrowedFd};

use io_uring::types::Fd;
use io_uring::{IoUring, opcode, squeue};

use crate::submission::{Full, Ring};
use crate::token::Token;

/// A buffer group has a number of 16 bits.
const MOST: u32 = 1 << 16;

/// How an operation names its socket.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Socket<'a> {
    Descriptor(BorrowedFd<'a>),
    /// The place in the ring's table.
    Registered(u32),
}

impl Socket<'_> {
    pub(crate) fn number(self) -> Fd {
        match self {
            Socket::Descriptor(fd) => Fd(fd.as_raw_fd()),
            Socket::Registered(place) => Fd(place.cast_signed()),
        }
    }

    pub(crate) fn flags(self) -> squeue::Flags {
        match self {
            Socket::Descriptor(_) => squeue::Flags::empty(),
            Socket::Registered(_) => squeue::Flags::FIXED_FILE,
        }
    }
}

/// The ring's table of files.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Table {
    /// It may have one, of this many places.
    NotMade(u32),
    Made(u32),
    /// The kernel cannot do it.
    Refused,
}

impl Table {
    pub(crate) fn new(places: u32) -> Table {
        Table::NotMade(places.min(MOST))
    }

    /// How many places there are. The kernel refuses a table of more places than the process may have descriptors.
    fn make(&mut self, uring: &IoUring) -> u32 {
        if let Table::NotMade(places) = *self {
            let halves =
                std::iter::successors(Some(places), |places| Some(places / 2)).take_while(|places| *places > 0);
            let made = halves.into_iter().find(|places| uring.submitter().register_files_sparse(*places).is_ok());
            *self = made.map_or(Table::Refused, Table::Made);
        }
        if let Table::Made(places) = *self { places } else { 0 }
    }
}

impl Ring {
    /// Has the kernel know a socket, and the buffer group of `slot`, by the number of the slot. False if it will not.
    pub(crate) fn register(&mut self, fd: BorrowedFd<'_>, slot: u32) -> bool {
        let Ok(group) = u16::try_from(slot) else { return false };
        if slot >= self.table.make(&self.uring) {
            return false;
        }
        let (submitter, list) = (self.uring.submitter(), self.slab().group(slot));
        // SAFETY: R9: the slot's last page is the list's, of one entry, until the group is forgotten.
        if unsafe { submitter.register_buf_ring_with_flags(list, 1, group, 0) }.is_err() {
            return false;
        }
        if submitter.register_files_update(slot, &[fd.as_raw_fd()]).is_err() {
            let _ = submitter.unregister_buf_ring(group);
            return false;
        }
        self.slab().set_registered(slot);
        true
    }

    /// Has the kernel forget what it knows of `slot`, which no operation uses any more. The socket is closed only with
    /// this, if its owner has closed it before.
    pub(crate) fn unregister(&mut self, slot: u32) {
        let Ok(group) = u16::try_from(slot) else { return };
        let submitter = self.uring.submitter();
        let _ = submitter.register_files_update(slot, &[-1]);
        // It can fail only for a group that is not there.
        let _ = submitter.unregister_buf_ring(group);
        self.slab().set_unregistered(slot);
    }

    /// Receives into what is [provided](crate::slot::Slab::provide), again and again, until there is nothing provided or
    /// nothing left to come.
    pub(crate) fn recv_on(&mut self, slot: u32, token: Token) -> Result<(), Full> {
        let Ok(group) = u16::try_from(slot) else { return Err(Full) };
        let socket = Socket::Registered(slot);
        self.push(opcode::RecvMulti::new(socket.number(), group).build().flags(socket.flags()), token)?;
        self.receptions += 1;
        Ok(())
    }
}
