//! What servers have to do, the same for all.

use std::hint::black_box;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::contender::MAX_PLAINTEXT;
use crate::payload;
use crate::setting::{Parties, Setting, Suite};

/// Plaintext of a request, and of its answer (bytes).
pub const REQUEST: usize = 1024;

/// What a record of TLS 1.3 is longer than its plaintext: header, inner type, tag.
pub const EXPANSION: usize = 5 + 1 + 16;

/// A request begins with its number, and so does its answer.
const MARK: usize = 8;

static PARTIES: LazyLock<Parties> = LazyLock::new(Parties::new);

/// What a server does all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// It answers requests of [`REQUEST`] bytes with as many.
    Answer,
    /// It takes a stream of full records.
    Receive,
    /// It sends a stream of full records.
    Send,
}

impl Work {
    /// The work as reports spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Answer => "requests",
            Self::Receive => "receive",
            Self::Send => "send",
        }
    }

    /// Plaintext of one record (bytes).
    #[must_use]
    pub fn record(self) -> usize {
        match self {
            Self::Answer => REQUEST,
            Self::Receive | Self::Send => MAX_PLAINTEXT,
        }
    }
}

/// A server's job: it ends when so many connections have come and gone.
#[derive(Debug)]
pub struct Job {
    /// What to do for each.
    pub work: Work,
    /// Connections in all.
    pub connections: usize,
    /// What a record of a stream is longer than its plaintext, for those who protect nothing (bytes).
    pub expansion: usize,
    /// Bytes of streams that the server has taken, or given away.
    moved: AtomicU64,
    /// Whether every byte is compared with what it should be.
    checking: AtomicBool,
}

impl Job {
    /// A job of which nothing is done.
    #[must_use]
    pub fn new(work: Work, connections: usize, expansion: usize) -> Self {
        Self { work, connections, expansion, moved: AtomicU64::new(0), checking: AtomicBool::new(true) }
    }

    /// TLS 1.3 with AES-128-GCM, and who takes part.
    #[must_use]
    pub fn setting() -> Setting<'static> {
        Setting { suite: Suite::ALL[0], parties: &PARTIES }
    }

    /// What streams repeat: a record's plaintext, or bytes of a whole record's length.
    #[must_use]
    pub fn record(&self) -> Box<[u8]> {
        payload::of(self.work.record() + self.expansion)
    }

    /// Plaintext in so many bytes of a stream.
    #[must_use]
    pub fn plaintext(&self, bytes: u64) -> u64 {
        let record = self.work.record() as u64;
        bytes * record / (record + self.expansion as u64)
    }

    /// Bytes of streams that the server has taken, or given away, so far. What lies in the sockets between it and its
    /// clients may be many records, hence it is the server that counts.
    #[must_use]
    pub fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    /// The server has taken so many more, or given them away. Its thread alone says so.
    #[inline]
    pub fn has_moved(&self, bytes: usize) {
        self.moved.store(self.moved() + bytes as u64, Ordering::Relaxed);
    }

    /// Compares every byte from now on, or only glances.
    pub fn check(&self, every_byte: bool) {
        self.checking.store(every_byte, Ordering::Relaxed);
    }

    /// Whether every byte is compared.
    #[must_use]
    pub fn checking(&self) -> bool {
        self.checking.load(Ordering::Relaxed)
    }
}

/// A stream of full records that comes in.
#[derive(Debug, Default, Clone)]
pub struct Stream {
    at: usize,
}

impl Stream {
    /// The next piece of the stream, in which `record` is repeated.
    ///
    /// # Panics
    ///
    /// Panics if it is checked, and it is something else.
    #[inline]
    pub fn glance(&mut self, piece: &[u8], record: &[u8], checking: bool) {
        black_box(piece.first());
        black_box(piece.last());
        if checking {
            let mut rest = piece;
            let mut at = self.at;
            while !rest.is_empty() {
                let (now, later) = rest.split_at(rest.len().min(record.len() - at));
                assert!(now == &record[at..at + now.len()], "a stream's bytes at {at}");
                (at, rest) = ((at + now.len()) % record.len(), later);
            }
        }
        self.at = (self.at + piece.len()) % record.len();
    }
}

/// Takes the job's streams.
#[derive(Debug)]
pub struct Sink {
    record: Box<[u8]>,
    streams: Vec<Stream>,
}

impl Sink {
    /// For so many streams.
    #[must_use]
    pub fn new(job: &Job, streams: usize) -> Self {
        Self { record: job.record(), streams: vec![Stream::default(); streams] }
    }

    /// The next piece of a stream.
    #[inline]
    pub fn take(&mut self, job: &Job, which: usize, piece: &[u8]) {
        self.streams[which].glance(piece, &self.record, job.checking());
        job.has_moved(piece.len());
    }
}

/// An answer in the server's own memory.
#[derive(Debug)]
pub struct Answer {
    bytes: Box<[u8]>,
}

impl Answer {
    /// An answer to nobody.
    #[must_use]
    pub fn new() -> Self {
        Self { bytes: payload::of(REQUEST) }
    }

    /// Makes it the answer to `request`.
    ///
    /// # Panics
    ///
    /// Panics if that is not a whole request.
    #[inline]
    pub fn to(&mut self, request: &[u8]) {
        assert_eq!(request.len(), REQUEST, "a request is one record");
        self.number(number(request));
    }

    /// Makes it the request of this number, or its answer.
    #[inline]
    pub fn number(&mut self, number: u64) {
        self.bytes[..MARK].copy_from_slice(&number.to_ne_bytes());
    }

    /// All of it.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether `bytes` are this answer: its number if only a glance is wanted, else every byte.
    #[must_use]
    #[inline]
    pub fn is(&self, bytes: &[u8], every_byte: bool) -> bool {
        match every_byte {
            true => bytes == &self.bytes[..],
            false => bytes.len() == REQUEST && bytes[..MARK] == self.bytes[..MARK],
        }
    }
}

impl Default for Answer {
    fn default() -> Self {
        Self::new()
    }
}

/// The number that a request or an answer begins with.
#[inline]
fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk::<MARK>().map_or(0, |mark| u64::from_ne_bytes(*mark))
}
