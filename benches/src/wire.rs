//! The wire: the one piece of memory every contender's ciphertext crosses, at the same price for all.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::moves;

/// Bytes a wire holds: a batch of the biggest records with room to spare.
pub const CAPACITY: usize = 512 * 1024;

/// Most segments under way at once.
const SEGMENTS: usize = 1024;

/// A fixed region of memory with a writing and a reading end; or, for those who want to see the kernel itself, a loopback
/// connection.
///
/// The memory stands for the kernel: handing ciphertext to it and taking ciphertext from it moves the bytes once, by
/// [`moves::forward`], which is no `memcpy`. So the wire is in every contender's time and in nobody's count of copies.
///
/// [`cut`](Wire::cut) ends a segment; one [`pull`](Wire::pull) never reaches past the end of one, as if each segment
/// had arrived by itself. A wire without cuts is a plain queue of bytes.
#[derive(Debug, Default)]
pub struct Wire {
    memory: Box<[u8]>,
    /// The writing and the reading end, if it is a loopback connection.
    sockets: Option<(TcpStream, TcpStream)>,
    pushed: usize,
    pulled: usize,
    ends: Vec<usize>,
    segment: usize,
}

impl Wire {
    /// A wire of [`CAPACITY`] bytes. (A default wire has none: it only holds another's place.)
    #[must_use]
    pub fn new() -> Self {
        Self { memory: vec![0; CAPACITY].into_boxed_slice(), ends: Vec::with_capacity(SEGMENTS), ..Self::default() }
    }

    /// A loopback connection. Its sockets block: what it carries at a time must fit into them.
    ///
    /// # Errors
    ///
    /// If there is none to be had.
    pub fn loopback() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        near.set_nodelay(true)?;
        let (far, _) = listener.accept()?;
        Ok(Self { sockets: Some((near, far)), ends: Vec::with_capacity(SEGMENTS), ..Self::default() })
    }

    /// Takes all of `bytes`.
    ///
    /// # Panics
    ///
    /// Panics if the wire is full, or a socket fails.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        let end = self.pushed + bytes.len();
        match &mut self.sockets {
            None => moves::forward(bytes, &mut self.memory[self.pushed..end]),
            Some((near, _)) => near.write_all(bytes).expect("a loopback connection takes bytes"),
        }
        self.pushed = end;
    }

    /// Gives the oldest bytes, at most to the end of their segment; returns how many.
    ///
    /// # Panics
    ///
    /// Panics if a socket fails.
    #[inline]
    pub fn pull(&mut self, into: &mut [u8]) -> usize {
        let length = self.oldest().min(into.len());
        let Some((_, far)) = &mut self.sockets else {
            return self.give(length, |from| moves::forward(from, &mut into[..from.len()]));
        };
        if length == 0 {
            return 0;
        }
        let length = far.read(&mut into[..length]).expect("a loopback connection gives bytes");
        self.took(length)
    }

    /// Shows the oldest bytes, at most `most` and at most to the end of their segment, and takes them off; returns how
    /// many.
    ///
    /// # Panics
    ///
    /// Panics if it is a loopback connection: there are no bytes to show.
    #[inline]
    pub fn give(&mut self, most: usize, take: impl FnOnce(&[u8])) -> usize {
        assert!(self.sockets.is_none(), "a loopback connection shows nothing");
        let length = self.oldest().min(most);
        take(&self.memory[self.pulled..self.pulled + length]);
        self.took(length)
    }

    #[inline]
    fn took(&mut self, length: usize) -> usize {
        self.pulled += length;
        if self.ends.get(self.segment) == Some(&self.pulled) {
            self.segment += 1;
        }
        length
    }

    /// Ends the segment: what was pushed since the last cut arrives by itself.
    ///
    /// # Panics
    ///
    /// Panics if too many segments are under way (a growing list would be counted as an allocation).
    #[inline]
    pub fn cut(&mut self) {
        assert!(self.ends.len() < SEGMENTS, "too many segments on the wire");
        self.ends.push(self.pushed);
    }

    /// Forgets everything, moves nothing.
    ///
    /// # Panics
    ///
    /// Panics if there still are bytes in a loopback connection: they would come later.
    #[inline]
    pub fn reset(&mut self) {
        assert!(self.sockets.is_none() || self.is_empty(), "a loopback connection forgets nothing");
        self.pushed = 0;
        self.pulled = 0;
        self.segment = 0;
        self.ends.clear();
    }

    /// Changes one bit of the byte pushed last.
    ///
    /// # Panics
    ///
    /// Panics if nothing was pushed, or it is a loopback connection.
    pub fn spoil(&mut self) {
        self.memory[self.pushed - 1] ^= 1;
    }

    /// Bytes pushed and not yet pulled.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pushed - self.pulled
    }

    /// Whether all that was pushed has been pulled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn oldest(&self) -> usize {
        let end = self.ends.get(self.segment).copied();
        end.unwrap_or(self.pushed) - self.pulled
    }
}

/// [`Wire::push`], for peers that write into a [`Write`].
impl Write for Wire {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes);
        Ok(bytes.len())
    }

    #[inline]
    fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        if let Some((near, _)) = &mut self.sockets {
            let taken = near.write_vectored(slices)?;
            self.pushed += taken;
            return Ok(taken);
        }
        slices.iter().for_each(|slice| self.push(slice));
        Ok(slices.iter().map(|slice| slice.len()).sum())
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// [`Wire::pull`], for peers that read from a [`Read`]. An empty wire would block; it has not ended.
impl Read for Wire {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.pull(into) {
            0 if !into.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            length => Ok(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_stops_at_a_cut() {
        let mut wire = Wire::new();
        wire.push(b"one");
        wire.cut();
        wire.push(b"three");
        wire.cut();
        let mut taken = [0; 16];
        assert_eq!(wire.pull(&mut taken[..2]), 2);
        assert_eq!(wire.pull(&mut taken[2..]), 1);
        assert_eq!(wire.pull(&mut taken[3..]), 5);
        assert_eq!(&taken[..8], b"onethree");
        assert_eq!(wire.pull(&mut taken), 0);
    }

    #[test]
    fn a_loopback_connection_behaves_like_memory() {
        let mut wire = Wire::loopback().unwrap();
        wire.push(b"one");
        wire.cut();
        assert_eq!(wire.write_vectored(&[io::IoSlice::new(b"th"), io::IoSlice::new(b"ree")]).unwrap(), 5);
        let mut taken = [0; 16];
        assert_eq!((wire.pull(&mut taken), wire.len()), (3, 5));
        assert_eq!((wire.pull(&mut taken[3..]), wire.len()), (5, 0));
        assert_eq!(&taken[..8], b"onethree");
        assert_eq!(wire.read(&mut taken).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        wire.reset();
    }

    #[test]
    fn without_cuts_it_is_a_queue_that_would_block_when_empty() {
        let mut wire = Wire::new();
        assert_eq!(wire.write_vectored(&[io::IoSlice::new(b"ab"), io::IoSlice::new(b"c")]).unwrap(), 3);
        let mut taken = [0; 8];
        assert_eq!(wire.read(&mut taken).unwrap(), 3);
        let empty = wire.read(&mut taken).unwrap_err();
        assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);
        assert!(wire.is_empty());
    }
}
